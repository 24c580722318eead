"""Replay of an algorithm on logged data: Li, Chu, Langford and Wang (2011).

The coin is what makes the replay unbiased if the logging policy was not uniform; the paper has a uniform one.
"""

import time
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from jaxbandit.base.arguments import Count, NumRuns, RunSeed
from jaxbandit.base.calls import checked
from jaxbandit.base.contract import Algorithm, Arms, Environment, Offer, Outcome, Rewards
from jaxbandit.decide.logs.log import Log
from jaxbandit.decide.logs.policy_of import contexts_of
from jaxbandit.decide.logs.replaying import Inputs, Order, Replayed, replayed
from jaxbandit.engine.driver.records import Record
from jaxbandit.engine.driver.simulate import default_checkpoints
from jaxbandit.engine.rounds import fit
from jaxbandit.engine.rounds.fit import Allow
from jaxbandit.engine.rounds.moments import Moments
from jaxbandit.running.results.regret import RegretResult
from jaxbandit.support import checks
from jaxbandit.support.checks import of_list
from jaxbandit.support.domains import integer, several


@checked
def replay(
    algorithm: Algorithm,
    log: Log,
    *,
    num_runs: NumRuns,
    horizon: Count | None = None,
    seed: RunSeed = 0,
    order: Order = "shuffle",
    checkpoints: Sequence[int] | None = None,
    allow: Allow = (),
    name: str | None = None,
    instance: str = "log",
) -> RegretResult:
    """Return the rewards that an algorithm would have collected, from the rows of a log that another policy wrote.

    The rows are presented one by one. If the algorithm chooses the action of the row, and a coin with probability c /
    propensity falls, its reward counts and the algorithm learns it; else the row is skipped, and the state and the
    round of the algorithm stay as they are. c is `log.least_propensity`, or the smallest propensity of the rows. If the
    rows of the log are independent, the replay is unbiased for as many rounds as were accepted, and needs horizon / c
    rows on average. A log without propensities is taken for a uniform one, which the first line of the result says.

    The runs differ by the order of the rows, and by the draws of the algorithm. So the interval over runs is one over
    orders of this log; it says nothing about other logs.

    Args:
      algorithm: an algorithm for single arms with the contexts of the log.
      log: the logged data, as `read_log` and `session.log()` return it.
      num_runs: number of runs.
      horizon: number of accepted rows after which a run ends. Default: as many as almost every run reaches. A run
        whose rows end before has the outcome `MAX_ROUNDS`; it is counted, and left out of the means.
      seed: seed of the orders, coins and draws. With equal seeds, two algorithms see the same orders.
      order: "shuffle" permutes the rows in each run, "bootstrap" draws n rows with replacement, "as_is" takes them in
        their order.
      checkpoints: numbers of accepted rows at which the mean reward is recorded, increasing from at least 1; the
        horizon is added. Default: about 100.
      allow: in what the algorithm need not fit the log, as for `simulate`, such as "context".
      name: name of the algorithm in the result.
      instance: name of the log in the result.

    Returns:
      A `RegretResult` with `measure` "feedback": the mean reward of the accepted rows up to each checkpoint, `pulls`
      int32[runs, K], and in `arrays` the number of rows that each run looked at, `rows` int32[runs].

    Raises:
      ValueError: the algorithm is not one for the arms, contexts or rewards of the log.
    """
    if not isinstance(log, Log):
        checks.wrong("log", log, "a Log, as read_log returns it")
    fit.check_kind("algorithm", algorithm, Algorithm)
    chance, least = _chances(log)
    rows = Inputs(contexts_of(algorithm, log, "replay"), log.action, log.reward, chance)
    world = environment_of(algorithm, log, rows.context)
    checks.take("allow", allow, fit.ALLOW)
    misfits = fit.marks_of(algorithm, world, allow)
    horizon = _default(len(log), least) if horizon is None else horizon
    checks.take("horizon", horizon, integer(1, len(log)))
    marks = _checkpoints(checkpoints, horizon)
    start = time.perf_counter()
    runs, sound = replayed(algorithm, rows, log.num_arms, marks, order, seed, num_runs)
    about: dict[str, Any] = {"log": log.origin, "rows": len(log), "order": order, "least_propensity": least}
    about["uniform"] = log.propensity is None
    record = _record(runs, sound, marks, time.perf_counter() - start, {"replay": about})
    return RegretResult.from_record(
        record,
        instance=instance,
        algorithm=name or algorithm.name or "algorithm",
        params={},
        seed=seed,
        precision="float64",
        truth={},
        **misfits,
    )


def _chances(log: Log) -> tuple[np.ndarray, float]:
    """The probability of the coin of each row, and the least propensity."""
    if log.propensity is not None:
        propensity = log.propensity
    elif log.available is not None:
        propensity = 1 / log.available.sum(axis=1)
    else:
        propensity = np.full(len(log), 1 / log.num_arms)
    least = float(propensity.min()) if log.least_propensity is None else log.least_propensity
    return np.minimum(least / propensity, 1.0), least


def environment_of(algorithm: Algorithm, log: Log, rows: Any) -> Environment:
    """Return the log as far as an algorithm has to fit it."""
    indexed = None if algorithm.arms is None else algorithm.arms.num_contexts
    shape = None if log.context is None or indexed is not None else log.context.shape[1:]
    first = jax.tree.map(lambda x: x[0], rows)
    arms = Arms(log.num_arms, num_contexts=indexed, context=shape, available=isinstance(rows, Offer))
    world = Environment(lambda key: (), lambda *_: 0.0, arms=arms, rewards=Rewards(*log.rewards), name="the log")
    return world if log.context is None and log.available is None else world._replace(observe=lambda *_: first)


def _default(n: int, least: float) -> int:
    """A number of accepted rows that almost every run reaches."""
    return max(int(n * least - 4 * np.sqrt(n * least * (1 - least))), 1)


def _checkpoints(given: Sequence[int] | None, horizon: int) -> np.ndarray:
    if given is None:
        return default_checkpoints(horizon)
    rounds = of_list(several(integer(1, horizon), "a list of numbers of rows", empty=True))
    return np.unique(np.array([*checks.take("checkpoints", given, rounds), horizon], np.int64))


def _record(runs: Replayed, sound: np.ndarray, marks: np.ndarray, seconds: float, identity: dict[str, Any]) -> Record:
    """The runs as the engine would record them."""
    outcome = np.where(runs.accepted < marks[-1], Outcome.MAX_ROUNDS, Outcome.STOPPED)
    outcome = np.where(sound, outcome, Outcome.NONFINITE).astype(np.int8)
    moments, keep = Moments(len(marks)), outcome == Outcome.STOPPED
    moments.add(runs.sums.T, keep)
    return Record(
        checkpoints=marks.astype(np.int64),
        measure="feedback",
        counted=moments.count,
        regret=runs.sums,
        mean=moments.mean(),
        variance=moments.variance(),
        pulls=runs.pulls,
        pulls_mean=runs.pulls[keep].mean(axis=0) if keep.any() else None,
        outcome=outcome,
        compile_seconds=0.0,
        run_seconds=seconds,
        run_steps=int(runs.rows.sum()),
        devices=[jax.devices()[0].platform],
        identity=identity,
        more={"rows": runs.rows},
    )
