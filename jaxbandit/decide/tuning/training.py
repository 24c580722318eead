"""The training function of a search: traced by JAX, or called directly, and what identifies its scores."""

from typing import NamedTuple

import numpy as np

from jaxbandit.decide.tuning import traced
from jaxbandit.decide.tuning.calls import Calls, Evaluate, Train
from jaxbandit.decide.tuning.configs import Configs
from jaxbandit.decide.tuning.digests import function_digest
from jaxbandit.decide.tuning.inspection import awaits, takes_integer, uses_jax
from jaxbandit.decide.tuning.items import Items
from jaxbandit.decide.tuning.recorded import no_training
from jaxbandit.decide.tuning.seeds import pull_words
from jaxbandit.decide.tuning.store import Entry, Store
from jaxbandit.engine.driver.execution import Execution
from jaxbandit.support import checks
from jaxbandit.support.refusals import error_line

AWAITED = 32  # calls of a coroutine function under way by default


class Training(NamedTuple):
    """A training function with the configurations that it is given."""

    train: Train
    space: Configs
    integer: bool  # whether its seeds are integers
    program: traced.Traced | None  # None if train is called directly
    calls: Calls | None
    entries: list[Entry]  # what identifies the scores of each configuration
    notes: tuple[str, ...]
    batch: int | None = None
    retries: int = 0  # of a failed training; a traced one would fail again
    items: Items | None = None  # what takes the place of seeds

    def words(self, seed: int, seeds: np.ndarray, arms: np.ndarray, *, paired: bool) -> np.ndarray:
        """Return the words of the random seeds of trainings, uint32[n, 2], the last of which are numbers of items."""
        if self.items is None:
            return pull_words(seed, seeds, arms, paired=paired, integer=self.integer)
        return np.stack([np.zeros(len(seeds), np.uint32), seeds.astype(np.uint32)], axis=-1)

    def origin(self, seed: int) -> str:
        """Return what number `seed` of the seeds is, for messages."""
        return f"seed {seed}" if self.items is None else f"item {self.items.order[seed]}"

    def evaluate(self, store: Store) -> Evaluate:
        """Return the function that runs trainings, with the batch sizes of the store if it has them."""
        if self.program is None:
            assert self.calls is not None
            return self.calls
        names = self.program.digests
        try:
            if self.batch is not None:
                sizes = [self.batch] * len(names)
            elif all(name in store.batches for name in names):
                sizes = [store.batches[name] for name in names]
            else:
                found = traced.batches(self.program)
                sizes = [store.batches.get(name, size) for name, size in zip(names, found, strict=True)]
            for name, size in zip(names, sizes, strict=True):
                if store.batches.get(name, size) != size:
                    what = f"scores with batch = {store.batches[name]}, but batch = {size}"
                    raise ValueError(f"the directory holds {what}; leave it out, or give another directory")
            store.set_batches(dict(zip(names, sizes, strict=True)))
            return traced.Trainings(self.program, sizes)
        except NotImplementedError as error:
            raise ValueError(
                f"train can be traced, but not vmapped over configurations: {error_line(error)}"
            ) from error


def read(train: Train, space: Configs, execution: Execution, items: Items | None = None) -> Training:
    """Return the training function of a search, which is identified if its scores are stored."""
    batch, executor, tracing, stored = execution.batch, execution.executor, execution.traced, bool(execution.directory)
    retries = execution.retries
    apart = "executor" if executor is not None else "workers" if execution.workers is not None else None
    if apart and batch is not None:
        raise ValueError(f"batch and {apart} are both given; batch requires a train that JAX can trace; give only one")
    if (tracing and apart) or (tracing is False and batch is not None):
        other = apart if tracing else "batch"
        raise ValueError(f"traced = {tracing} and {other} are both given, which exclude each other; give only one")
    if not callable(train):
        checks.wrong("train", train, "a function of (key, config), or of (seed: int, config)")
    program, notes, integer = None, (), takes_integer(train)
    # A call with tracers is a call that may cost money, or that runs for hours.
    if items is not None and (tracing or batch is not None):
        raise ValueError("pool is given, but JAX cannot trace a train of items; leave out traced and batch")
    direct = apart or awaits(train) or items is not None
    if tracing or batch is not None or (tracing is None and not direct and uses_jax(train)):
        try:
            program = traced.trace(train, space, integer=integer)
        except traced.NotTraceable as error:
            if batch is not None or tracing:
                given = "traced = True" if tracing else f"batch = {batch}"
                raise ValueError(f"{given}, but train cannot be traced ({error}); leave it out") from error
            notes = (f"trainings ran one at a time, because train cannot be traced: {error}",)
    timeout = None if execution.seconds_each is None else float(execution.seconds_each)
    if program is not None and timeout is not None:
        what = f"seconds_each = {timeout:g}, but JAX traces train, and a compiled program cannot be left one by one"
        raise ValueError(f"{what}; leave it out, or give traced=False")
    keys = [space.key(i) if stored else str(i) for i in range(space.count)]
    if program is None:
        digest = function_digest(train) if stored else ""
        workers = execution.workers or (AWAITED if executor is None and awaits(train) else None)
        calls = Calls(train, space, executor, integer=integer, timeout=timeout, workers=workers, items=items)
        entries = [Entry(key, digest) for key in keys]
        return Training(train, space, integer, None, calls, entries, notes, None, retries, items)
    pairs = zip(program.digests, program.groups, strict=True)
    programs = {row: digest for digest, group in pairs for row in group.rows.tolist()}
    entries = [Entry(key, programs[i]) for i, key in enumerate(keys)]
    return Training(train, space, integer, program, None, entries, notes, batch)


def of_table(space: Configs) -> Training:
    """Return what stands in the place of a training function if all scores are known."""
    calls = Calls(no_training, space, None, integer=True)
    return Training(no_training, space, True, None, calls, [Entry(str(i), "") for i in range(space.count)], ())


def enter(store: Store, training: Training, *, blind: bool, delta: float, same_train: bool) -> np.ndarray:
    """Add configurations that a store does not have, and return the numbers of all of them, int64[space.count]."""
    known = {entry.key: number for number, entry in enumerate(store.entries)}
    entries = training.entries
    if training.items is not None and not blind and store.entries and any(e.key not in known for e in entries):
        what = "configurations that are added by somebody who has seen scores need other items than those of the pool"
        raise ValueError(f"{what}; give blind=True if nobody has, or another directory")
    programs = {entry.program for entry in store.entries}
    mine = {entry.program for entry in entries}
    changed = any(e.key in known and store.entries[known[e.key]].program != e.program for e in entries)
    changed |= training.program is None and bool(programs) and not mine <= programs
    if changed and not same_train:
        remedy = "give another directory, or same_train=True if it computes the same as before"
        raise ValueError(f"the directory holds scores of another train function, or one with other data; {remedy}")
    if new := [entry for entry in entries if entry.key not in known]:
        store.enter(new, blind=blind, delta=delta)
        known |= {entry.key: len(known) + i for i, entry in enumerate(new)}
    return np.array([known[entry.key] for entry in entries], np.int64)
