"""The function `no_worse`: is a new version worse than an old one by more than a margin?"""

import time
from collections.abc import Callable, Generator
from contextlib import closing
from typing import Annotated, Any

import numpy as np

from jaxbandit.base.arguments import Count, RunSeed, Share, Whole
from jaxbandit.base.calls import checked
from jaxbandit.base.parameters import Arg
from jaxbandit.decide.core.goal import DELTA, Goal
from jaxbandit.decide.gate import subjects
from jaxbandit.decide.gate.result import GateResult
from jaxbandit.decide.gate.statement import statement
from jaxbandit.decide.gate.subjects import Commands, LateError, Measure, Subject
from jaxbandit.engine.driver import interrupts
from jaxbandit.support import durations
from jaxbandit.support.domains import UINT32, number

Margin = Annotated[float, Arg(number(1))]
Timeout = Annotated[float | str, Arg(durations.SOME_SECONDS)]
NAMES = ("old", "new")
WHOSE = {
    "function": "pairs of calls are independent of each other and alike, in this process and in any other",
    "command": "pairs of processes are independent of each other and alike",
    "column": "the rows are independent of each other and alike",
}


@checked
def no_worse(
    old: Subject,
    new: Subject,
    *,
    margin: Margin = 1.05,
    quantile: Share | None = 0.5,
    maximize: bool = False,
    delta: Share = DELTA,
    score_range: tuple[float, float] | None = None,
    max_calls: Count = 6000,
    timeout: Timeout = "60s",
    warm_up: Whole = 1,
    from_output: bool = False,
    seed: RunSeed = 0,
) -> GateResult:
    """Decide whether a new version is worse than an old one by more than a margin: pass, fail or undecided.

    The two versions are called in pairs, one after the other in random order, until the verdict is known. What is
    compared with the margin is a ratio, of new to old if small values are good, and with `maximize` of old to new:

    - by default the median of the ratio of the two values of a pair: in half of the pairs the new version is at most so
      many times worse. What slows down both calls of a pair, such as another load of the machine, cancels;
    - with another `quantile`, the ratio of the quantiles of the two versions, which such a change can falsify;
    - with quantile=None, the ratio of their means, by the differences within pairs.

    The verdict is "pass" once the ratio is known to be at most the margin, and "fail" once it is known to be above it.
    It is wrong with probability at most delta, although one looks after each pair: the bounds hold at all numbers of
    pairs at once. If the calls or the time are spent, it is "undecided", with the bounds so far. Quantiles assume only
    that pairs (calls of a version) are independent and alike; what rarely happens does not count. Means assume values
    in a known range, or normal differences within a pair. If the values contradict an assumption, such as by a trend of
    the ratio, the verdict is "undecided", and says so.

    What is compared are two of the same kind:

    - commands, texts that are divided into words without a shell, or lists of words: the seconds of a process from
      its start to its end. One that fails ends the gate with an error, and one that is late is ended;
    - functions without an argument, which are timed, or with one, the integer seed of the pair, which return a number.
      They are called here, one after the other, and waited for; compare commands if processes differ;
    - columns, the recorded numbers of both versions, a pair in each row, such as times, or the scores of two models on
      the same questions: then `max_calls`, `timeout`, `warm_up` and `seed` mean nothing, and all rows are used.

    Args:
      old: the version in use: a command, a function or a column. Values are >= 0, in any unit.
      new: the version in question.
      margin: how many times worse is tolerated, >= 1.
      quantile: p in (0, 1), the p-quantile is compared; None compares means.
      maximize: whether large values are good.
      delta: probability with which the verdict may be wrong.
      score_range: (low, high) such that all values are in it, for means. Columns of 0 and 1 need none.
      max_calls: calls of both versions together, without those to warm up.
      timeout: seconds after which no call begins, or a text such as "60s"; a command that runs then is ended, too.
      warm_up: calls of each version before the first one that counts.
      from_output: whether the value of a command is the number on its last line of output, in place of its seconds.
      seed: seed of the order within pairs and of the seeds that functions are given.

    Returns:
      A GateResult.

    Raises:
      ValueError: a command or function fails, or a value is negative or no number; or no pair has ended.
      KeyboardInterrupt: the calls were interrupted; its text says what is known. Nothing is kept.

    Source: `theory.quantile_bounds` and `theory.comparisons` have the bounds and their proofs.
    """
    start, kinds = time.perf_counter(), [subjects.kind_of(name, x) for name, x in zip(NAMES, (old, new), strict=True)]
    if kinds[0] != kinds[1]:
        raise ValueError(f"old is a {kinds[0]} and new a {kinds[1]}, must be two of the same kind")
    if from_output and kinds[0] != "command":
        raise ValueError(f"from_output = True means nothing for a {kinds[0]}; leave it out")
    low, high = Goal(quantile=quantile, score_range=score_range).score_range or (0.0, np.inf)
    if low < 0:
        raise ValueError(f"score_range = {score_range}, must be a pair of numbers >= 0, of which ratios have a meaning")
    order = [0, 1] if maximize else [1, 0]  # the version that has to be the smaller one first
    names = (NAMES[order[0]], NAMES[order[1]])
    columns = _columns(old, new) if kinds[0] == "column" else None
    if columns is not None and quantile is None and score_range is None and np.isin(columns, (0.0, 1.0)).all():
        score_range, high = (0.0, 1.0), 1.0
    known = statement(names, margin=margin, quantile=quantile, delta=delta, score_range=score_range)
    if columns is not None:
        pairs, max_calls = (each for each in [columns]), columns.size
    else:
        seconds = float(durations.SOME_SECONDS.take(timeout))
        pairs = _pairs(kinds[0], (old, new), seconds, warm_up, np.random.default_rng(seed), from_output)
    values, verdict, ended = np.zeros((0, 2)), "", "timeout"
    with closing(pairs):
        while not verdict and 2 * len(values) + 2 <= max_calls:
            try:
                pair = next(pairs, None)
            except KeyboardInterrupt:
                pair, ended = None, "interrupted"
            if pair is None:
                break
            _check_range(pair, low, high)
            values = np.concatenate([values, pair])
            known.enter(pair[:, order])
            verdict = known.verdict()
        else:
            ended = "max_calls" if columns is None else "rows"
    if verdict and score_range is None and np.isin(values, (0.0, 1.0)).all():
        raise ValueError("all values are 0 or 1; give quantile=None and score_range=(0, 1), which compare their rates")
    if not len(values):
        if ended == "interrupted":
            raise KeyboardInterrupt("undecided: interrupted before the first pair had ended")
        raise ValueError(f"no pair of calls has ended within timeout = {timeout!r} and max_calls = {max_calls}")
    contradiction, notes = known.alert()
    result = GateResult(
        verdict="undecided" if contradiction or not verdict else verdict,
        why="contradiction" if contradiction else "decided" if verdict else ended,
        claim=known.words,
        margin=margin,
        quantile=quantile,
        statistic=known.statistic,
        maximize=maximize,
        delta=delta,
        values=dict(zip(NAMES, values.T, strict=True)),
        bounds=known.bounds(),
        seconds=time.perf_counter() - start,
        assumptions=tuple(filter(None, (WHOSE[kinds[0]], known.assumption))),
        notes=notes,
        contradiction=contradiction,
    )
    if ended == "interrupted":
        raise KeyboardInterrupt(f"{result.words} after {len(values):,} pairs, which are not kept")
    return result


def _columns(old: Any, new: Any) -> np.ndarray:
    """Return two columns as float64[rows, 2]."""
    columns = [subjects.column(name, x) for name, x in zip(NAMES, (old, new), strict=True)]
    if len(columns[0]) != len(columns[1]):
        sizes = " and ".join(f"{len(x):,}" for x in columns)
        raise ValueError(f"old and new have {sizes} rows, must have equally many, a pair in each row")
    if not len(columns[0]):
        raise ValueError("old and new are empty, must have a pair of numbers in each row")
    return np.stack(columns, axis=1)


def _check_range(values: np.ndarray, low: float, high: float) -> None:
    outside = (values < low) | (values > high)
    if outside.any():
        row, version = np.argwhere(outside)[0].tolist()
        allowed = f"in [{low:g}, {high:g}], given by score_range"
        raise ValueError(f"{NAMES[version]} has the value {values[row, version]:g}, must be {allowed}")


def _pairs(
    kind: str, given: tuple, seconds: float, warm_up: int, rng: np.random.Generator, from_output: bool
) -> Generator[np.ndarray]:
    """Yield the values of pairs of calls, float64[1, 2], until the time is over."""
    end, calls = time.monotonic() + seconds, [0, 0]
    with closing(Commands(seconds, from_output)) as commands, interrupts.heard(commands.close, at_once=True):
        make: Callable[[str, Any], Measure] = commands.measure if kind == "command" else subjects.measure_of_function
        measures = [make(name, x) for name, x in zip(NAMES, given, strict=True)]
        try:
            for number_of_pair in range(-warm_up, 10**9):
                values, shared = np.empty((1, 2)), int(rng.integers(UINT32, endpoint=True))
                for version in rng.permutation(2):
                    if interrupts.asked() or time.monotonic() >= end:
                        return
                    values[0, version] = measures[version](shared)
                    calls[version] += 1
                if number_of_pair >= 0:
                    yield values
        except LateError as error:
            if min(calls) <= warm_up and str(error) and not interrupts.asked():
                raise ValueError(str(error)) from None
