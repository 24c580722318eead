"""The function `tune`, which finds the best configuration over random seeds with a bandit rule."""

import hashlib
import time
from collections.abc import Callable
from concurrent.futures import Executor
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from jaxbandit.base import checks
from jaxbandit.base.contract import Algorithm
from jaxbandit.base.refusals import BadInput, error_line, refuse, wrong
from jaxbandit.base.types import PyTree, Scalar
from jaxbandit.decide.sessions.certifying import certificate
from jaxbandit.decide.sessions.directory import session_directory
from jaxbandit.decide.sessions.rewards import LARGEST
from jaxbandit.decide.sessions.session import session
from jaxbandit.decide.sessions.stored import ABOUT, read_about
from jaxbandit.decide.tuning import configs as search_space
from jaxbandit.decide.tuning import traced
from jaxbandit.decide.tuning.calls import Calls, Train
from jaxbandit.decide.tuning.configs import Configs
from jaxbandit.decide.tuning.progress import Progress, reporting
from jaxbandit.decide.tuning.result import TuneResult, tune_result
from jaxbandit.decide.tuning.resuming import resumable
from jaxbandit.decide.tuning.rules import check_agreement, chosen, default_rule, one_of
from jaxbandit.decide.tuning.sweep import InMemory, Scores, history, play
from jaxbandit.engine.rounds import fit
from jaxbandit.running.distribution.executors import crew_of

DIFFERENT = {  # how a stored search may differ besides its rule and seed, for messages
    "configs": "other configurations",
    "train": "another train function, or one with other data",
    "traced": "traced trainings where these are not traced, or the other way around",
    "maximize": "another value of maximize",
}


def tune(
    train: Train,
    configs: PyTree,
    rule: Algorithm | None = None,
    *,
    delta: Scalar | None = None,
    epsilon: float | None = None,
    seed: int = 0,
    paired: bool = True,
    batch: int | None = None,
    directory: str | Path | None = None,
    executor: Executor | None = None,
    on_failure: float | None = None,
    progress: bool | Callable[[Progress], None] | None = None,
    maximize: bool = True,
) -> TuneResult:
    """Find the configuration with the best mean score over random seeds, with a guarantee for that choice.

    A pull of the rule is a training: `train(key, config)` returns the score of the configuration for the seed `key`. If
    JAX can trace `train`, it is vmapped over many configurations and compiled once for each group of configurations
    with equal static values. Otherwise `train` is called directly, one training at a time or on `executor`. With
    `paired`, seed number i of configuration c has the key fold_in(root, i), so that all configurations share the same
    seeds; otherwise it has fold_in(fold_in(root, i), c). Here root is jax.random.key(seed) of the generator
    threefry2x32.

    The guarantee is that of the rule for the means of the scores over seeds, under the rule's assumptions, which the
    certificate lists. The default rule `paired_race` assumes that the differences between the scores of two
    configurations with the same seed are normal. Rare events break its guarantee in both directions: a configuration
    that fails now and then, by a diverging training or `on_failure`, is chosen before a failure has occurred (measured
    error rates of 0.71, 0.54 and 0.27 at delta = 0.1 if a rival fails in 6, 10 and 20 % of its trainings), and one that
    owes its mean to rare large scores is dropped (0.35 at delta = 0.05). For scores in a known range `betting_race` is
    valid in both cases. Nothing is guaranteed for data that `train` does not use.

    A score depends only on the seed, the configuration, the machine, the version of JAX and `batch`. It does not depend
    on which configurations are left, on interruptions, or on the order in which trainings end.

    Args:
      train: function (key, config) -> score, a single number. `config` has the structure of `configs`. Its numbers are
        traced, or Python numbers if `train` is called directly; static values are passed unchanged.
      configs: a pytree whose leaves have one entry per configuration along their first axis, such as `grid` and
        `random_configs` return. Leaves of strings or objects are static, as `static` explains.
      rule: an Algorithm with a stopping rule and one arm per configuration. None uses `paired_race`, or `student_race`
        for more than 5,000 configurations.
      delta: error probability of the default rule, in (0, 1). None means 0.05.
      epsilon: tolerated simple regret of the mean score for the default rule `paired_race`, >= 0, in units of the
        score. It is required, because with 0 two equally good configurations are compared without end. `student_race`
        takes none.
      seed: seed of all trainings and of the rule's random draws, in [0, 2^32).
      paired: whether all configurations share the same seeds (common random numbers).
      batch: number of trainings side by side on one device, >= 1. None uses as many as the memory of the compiled
        program allows, but not more than are useful. If it is given and `train` cannot be traced, an error is raised.
      directory: directory in which every score is stored before it is used. If the search is interrupted or killed,
        the same call resumes with the batch size found at first, and ends with the same result. Only the order of the
        lines in log.jsonl is that in which trainings ended. None keeps everything in memory.
      executor: a PEP 3148 executor on which `train` is called directly. For an executor of processes, which must not be
        forked, `train` must be picklable.
      on_failure: score of a training that raises an exception or returns a number that is not finite or of modulus
        above 1e150. None stops the search with an error. Rare failures break the guarantee of rules for normal scores,
        as above.
      progress: a function that receives the Progress; True or False to show a bar on stderr or not; None to show a bar
        if stderr is a terminal.
      maximize: whether large scores are good. Otherwise the rule receives their negatives or, for bounded rewards,
        their mirror image in the range.

    Returns:
      A TuneResult. It has no certificate if the rule has no guarantee.

    Raises:
      ValueError: an argument is wrong, a training fails, or the directory holds another search. The message has one
        line. Scores are kept in the directory.
      RuntimeError: the executor has lost its workers or a training. Scores are kept in the directory.
      KeyboardInterrupt: the search was interrupted. Scores are kept in the directory.
    """
    start = time.perf_counter()
    if executor is not None:
        crew_of(executor)
    space = search_space.read("tune", configs)
    rule = _rule(rule, space, delta, epsilon)
    if batch is not None:
        batch = checks.integer("tune", "batch", batch, 1)
    if executor is not None and batch is not None:
        refuse(
            "tune",
            ": batch and executor are both given; batch requires a train that JAX can trace; give only one of them",
        )
    low, high = map(float, fit.limits(rule.rewards))
    scores = Scores(maximize, low + high if np.isfinite(low) and np.isfinite(high) else 0.0)
    if on_failure is not None:
        on_failure = float(checks.number("tune", "on_failure", on_failure, low=-LARGEST, high=LARGEST))
    failure = None if on_failure is None else scores.rewards(on_failure)
    options: Any = {"seed": seed, "paired": paired, "on_failure": failure}

    program, reason = (None, "") if executor is not None else _traced(train, space, batch)
    path = None if directory is None else Path(directory)
    identity = {
        "kind": "tune",
        "configs": _digest(space),
        "train": f"{getattr(train, '__module__', '')}.{getattr(train, '__qualname__', type(train).__name__)}",
        "traced": program is not None,
        "maximize": maximize,
    }
    if program is not None:
        identity["train"] = hashlib.sha256(program.digest.encode()).hexdigest()
    sizes = None if path is None else _stored(path, identity)
    if program is not None:
        try:
            sizes = [batch] * len(program.groups) if batch is not None else sizes or traced.batches(program)
            evaluate = traced.Trainings(program, sizes)
        except NotImplementedError as error:
            refuse("tune", f": train can be traced, but not vmapped over configurations: {error_line(error)}")
        identity["batch"] = sizes
    else:
        evaluate = Calls(train, space, executor)
    names = [space.text(i) for i in range(space.count)]
    fresh = session(rule, **options)
    one_of("tune", fresh, space.count)
    place = (
        nullcontext(InMemory(fresh))
        if path is None
        else session_directory(path, rule, meta={**identity, "names": names}, **options)
    )
    with resumable(path), place as store, reporting(progress, int(store.session.counts.sum())) as report:
        waited = play(store, evaluate, space, scores, report)
        end, rows = store.session, history(store, scores)
    proof = None if rule.promise is None else certificate(end)
    limits = (
        None if proof is None or proof.low is None or proof.high is None else scores.interval(proof.low, proof.high)
    )
    notes = (f"trainings ran one at a time, because train cannot be traced: {reason}",) if reason else ()
    return tune_result(
        space,
        chosen(end),
        rows,
        survivors=np.ones(space.count, bool) if end.survivors is None else end.survivors,
        certificate=proof,
        intervals=limits,
        maximize=maximize,
        notes=notes,
        seconds={"total": time.perf_counter() - start, "trainings": waited},
    )


def _rule(rule: Algorithm | None, space: Configs, delta: Scalar | None, epsilon: float | None) -> Algorithm:
    """Return the rule after checking it."""
    if space.count < 2:
        refuse("tune", ": configs holds 1 configuration, must hold 2 or more")
    if rule is None:
        return default_rule("tune", space.count, delta, epsilon)
    fit.check_kind("tune: rule", rule, Algorithm)
    check_agreement("tune", rule, delta, epsilon)
    if rule.stop is None:
        refuse("tune", f": rule = {rule.name} never stops by itself, must have a stopping rule, such as paired_race")
    if rule.arms is not None and (rule.arms.set_size is not None or rule.arms.num_contexts is not None):
        refuse("tune", f": rule = {rule.name} pulls sets of arms or is given contexts, must pull single arms")
    return rule


def _traced(train: Train, space: Configs, batch: int | None) -> tuple[traced.Traced | None, str]:
    """The traced train function, or the reason why JAX cannot trace it."""
    if not callable(train):
        wrong("tune: train", train, "a function of (key, config)")
    try:
        return traced.trace(train, space), ""
    except traced.NotTraceable as error:
        if batch is not None:
            refuse("tune", f": batch = {batch}, but train cannot be traced ({error}); leave batch out")
        return None, str(error)


def _digest(space: Configs) -> str:
    digest = hashlib.sha256()
    for name, column in zip(space.names, space.columns, strict=True):
        content = repr(column.tolist()) if column.dtype == object else column.tobytes().hex()
        digest.update(repr((name, str(column.dtype), column.shape, content)).encode())
    return digest.hexdigest()


def _stored(path: Path, identity: dict[str, Any]) -> list[int] | None:
    """The batch sizes stored in the directory, None if it is new; raise an error if it holds another search."""
    if not (path / ABOUT).exists():
        return None
    meta = read_about(path)["meta"]
    if not isinstance(meta, dict) or meta.get("kind") != "tune":
        raise BadInput(f"tune: directory = {path} holds a session that tune has not started; give another directory")
    for name, words in DIFFERENT.items():
        if meta.get(name) != identity[name]:
            raise BadInput(
                f"tune: directory = {path} holds a search of {words}; give another directory, or repeat the first call"
            )
    sizes = meta.get("batch")
    return None if sizes is None else [int(size) for size in sizes]
