"""Executors that misbehave: the same bytes as without one, or an error of one line; no hang."""

import functools
import os
import random
import time
from concurrent.futures import CancelledError, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from typing import Any

import jaxbandit as jb
from jaxbandit.support.refusals import Unfinished

from .arrays import numbers_of
from .outcomes import HARMLESS, REFUSED, Failure, python
from .workshop import Workshop

KINDS = (
    "swap repeat delay cancel raise broken nothing garbage bytes list none object closed late_error exits "
    "cancelled_error odd_error forked dies"
).split()
SECONDS = 20


class OddError(Exception):
    """An error that cannot be shown."""

    def __str__(self) -> str:
        raise RuntimeError("no text")


class Misbehaving(ThreadPoolExecutor):
    """Answers some of the calls in its own way."""

    def __init__(self, kind: str, chance: random.Random):
        super().__init__(2)
        self.kind, self.chance, self.waiting, self.calls = kind, chance, [], 0

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
        self.calls += 1
        if self.calls == 1 or self.chance.random() < 0.5:
            return super().submit(fn, *args, **kwargs)
        return getattr(self, f"answer_{self.kind}", self._answer)(fn, *args, **kwargs)

    def _answer(self, fn: Any, *args: Any) -> Any:
        future: Future = Future()
        answers: dict[str, Any] = {"garbage": {"cell": "x"}, "bytes": b"\x00" * 9, "list": [1], "none": None}
        answers |= {"object": object()}
        errors: dict[str, BaseException] = {
            "broken": BrokenProcessPool("a worker died"),
            "late_error": OSError("the network is down"),
            "cancelled_error": CancelledError(),
            "odd_error": OddError(),
            "exits": SystemExit(5),
        }
        if self.kind in errors:
            future.set_exception(errors[self.kind])
        else:
            future.set_result(answers[self.kind])
        return future

    def answer_swap(self, fn: Any, *args: Any) -> Any:
        future: Future = Future()

        def late() -> None:
            time.sleep(self.chance.uniform(0, 0.05))
            future.set_result(fn(*args))

        super().submit(late)
        return future

    answer_delay = answer_swap

    def answer_repeat(self, fn: Any, *args: Any) -> Any:
        super().submit(fn, *args)
        return super().submit(fn, *args)

    def answer_cancel(self, fn: Any, *args: Any) -> Any:
        future: Future = Future()
        future.cancel()
        future.set_running_or_notify_cancel()
        return future

    def answer_raise(self, fn: Any, *args: Any) -> Any:
        raise RuntimeError("submit fails\nin two lines")

    def answer_closed(self, fn: Any, *args: Any) -> Any:
        self.shutdown(wait=False)
        return super().submit(fn, *args)

    def answer_nothing(self, fn: Any, *args: Any) -> Any:
        return None


def train(key: Any, config: Any) -> float:
    """A score that depends on the key."""
    import jax

    word = int(jax.random.key_data(key)[-1])
    return float(config["x"]) + 0.01 * (word % (97 + int(10 * config["x"]))) / 97


def dying_train(key: Any, config: Any) -> float:
    """A training that takes its worker along."""
    os._exit(3)


def play(executor: Any) -> Any:
    """Runs divided among workers."""
    world = functools.partial(jb.environments.bernoulli, [0.1, 0.5, 0.9])
    how = {} if executor is None else {"execution": jb.Execution(executor=executor, runs_per_task=6)}
    return numbers_of([jb.simulate(functools.partial(jb.algorithms.ucb1, 3), world, horizon=30, num_runs=24, **how)])


def search(executor: Any, function: Any = train) -> Any:
    """A search whose trainings are divided."""
    found = jb.tune(function, jb.space.grid(x=[0.1, 0.2, 0.3]), goal=0.05, execution=jb.Execution(executor=executor))
    summary = found.to_json()
    return {name: value for name, value in summary.items() if name != "seconds"}


@functools.cache
def _clean(function: Any) -> Any:
    # A search without an executor may trace `train`; with one it calls it, which need not give the same bytes.
    with ThreadPoolExecutor(1) as one:
        return function(one if function is search else None)


def one(workshop: Workshop, number: int, chance: random.Random) -> str:
    """One way to misbehave, of runs or of a search."""
    kind = KINDS[number // 2 % len(KINDS)]
    function = (play, search)[number % 2]
    clean = _clean(function)
    what = f"{function.__name__} with an executor: {kind}"
    if kind in ("forked", "dies"):
        context = get_context("fork" if kind == "forked" else "spawn")
        if kind == "dies" and function is play:
            return REFUSED  # runs are not the user's code
        with ProcessPoolExecutor(1, mp_context=context) as pool:
            try:
                return _outcome(what, lambda: search(pool, dying_train) if kind == "dies" else function(pool), clean)
            finally:
                for process in (getattr(pool, "_processes", None) or {}).values():
                    process.kill()
    executor = Misbehaving(kind, chance)
    try:
        return _outcome(what, lambda: function(executor), clean)
    finally:
        executor.shutdown(wait=False)


def _outcome(what: str, function: Any, clean: Any) -> str:
    try:
        outcome, said = python(what, function)
    except Failure as failure:
        if isinstance(failure.__context__, Unfinished) and "\n" not in str(failure.__context__):
            return REFUSED
        raise
    if outcome == HARMLESS and said != clean:
        raise Failure(f"{what}: other numbers, and no error")
    return outcome
