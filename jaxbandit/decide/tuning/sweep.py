"""The main loop of `tune`: run the trainings that the rule asks for until it stops."""

import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxbandit.base import domains
from jaxbandit.base.types import ArrayLike
from jaxbandit.decide.sessions.ask_tell import ask, pull_keys, tell
from jaxbandit.decide.sessions.directory import SessionDirectory, new_arms
from jaxbandit.decide.sessions.pulls import Pulls
from jaxbandit.decide.sessions.rewards import earlier, usable
from jaxbandit.decide.sessions.session import Session
from jaxbandit.decide.tuning.calls import Part
from jaxbandit.decide.tuning.configs import Configs, failed
from jaxbandit.decide.tuning.progress import Progress
from jaxbandit.engine.driver import interrupts
from jaxbandit.engine.rounds import fit

MOST = 2**20  # most pulls that are requested at once
CONSTANT = 32  # number of equal scores that cannot be a coincidence
SECONDS = 1.0  # between two reports of rewards, because each of them waits for the disk

Evaluate = Callable[[np.ndarray, np.ndarray], Iterator[Part]]  # (words of keys, configurations) -> what has ended


class Scores(NamedTuple):
    """The rewards of scores: the scores themselves, or their mirror images if small scores are good."""

    maximize: bool
    mirror: float  # sum of a score and its mirror image

    def rewards(self, scores: Any) -> Any:
        """Convert scores to rewards, or rewards to scores."""
        return scores if self.maximize else self.mirror - scores

    def interval(self, low: Any, high: Any) -> tuple[Any, Any]:
        """Convert the endpoints of intervals of rewards, which are numbers or arrays, to those of scores."""
        return (low, high) if self.maximize else (self.mirror - high, self.mirror - low)


class InMemory:
    """A session with the interface of a session directory that is kept in memory only."""

    def __init__(self, session: Session):
        self.session = session
        self.asked: list[list[int]] = []

    def ask(self, limit: int | None = None) -> Pulls:
        """Return the pulls to make now."""
        after, pulls = ask(self.session, limit=limit)
        new = new_arms(self.session, pulls)
        self.asked += [new] if new else []
        self.session = after
        return pulls

    def tell(self, ids: ArrayLike, rewards: ArrayLike) -> None:
        """Report the rewards of pulls."""
        self.session = tell(self.session, ids, rewards)


Store = SessionDirectory | InMemory


def play(
    store: Store, evaluate: Evaluate, configs: Configs, scores: Scores, report: Callable[[Progress], None]
) -> float:
    """Run the trainings that the rule asks for until it stops, and return the seconds spent in trainings.

    Args:
      store: the session, in a directory or in memory.
      evaluate: function that runs trainings.
      configs: the configurations.
      scores: conversion between scores and rewards.
      report: function that receives the progress after every report of rewards.

    Raises:
      BadInput: a training failed, or the rule would never stop because scores do not vary. All scores are stored first.
      KeyboardInterrupt: the search was interrupted. All scores are stored first.
    """
    limit = MOST if store.session.programs.kind == "batch" else None
    waited = 0.0
    with interrupts.heard(lambda: None):
        while not store.session.stopped and not interrupts.asked():
            if len(store.asked) >= CONSTANT and not len(store.asked) & (len(store.asked) - 1):
                _decidable(store, configs, scores)
            pulls = store.ask(limit)
            waited += _played(store, evaluate, pulls, configs, scores, report)
    return waited


def _played(
    store: Store,
    evaluate: Evaluate,
    pulls: Pulls,
    configs: Configs,
    scores: Scores,
    report: Callable[[Progress], None],
) -> float:
    """Run the trainings of these pulls and report their rewards to the session."""
    words = np.asarray(jax.random.key_data(pull_keys(store.session, pulls)))
    rule = store.session.rule
    low, high = map(np.float64, fit.limits(rule.rewards))
    ids, rewards = [], []
    waited, before = 0.0, time.perf_counter()
    last = before
    parts = evaluate(words, pulls.arm)

    def report_scores() -> None:
        if ids:
            store.tell(np.concatenate(ids), np.concatenate(rewards))
            ids.clear()
            rewards.clear()
            report(_progress(store.session, scores))

    try:
        for part in parts:
            waited += (now := time.perf_counter()) - before
            known, values = usable(part.scores), scores.rewards(part.scores)
            outside = known & ((values < low) | (values > high))
            good = ~outside & (known | (store.session.on_failure is not None and not part.fatal))
            ids.append(pulls.id[part.places[good]])
            rewards.append(values[good])
            if not good.all():
                place = int(np.argmin(good))
                reason = part.reason or f"returns {part.scores[place]}"
                if outside[place]:
                    reason += (
                        f", must be in {domains.interval(*scores.interval(low, high))}, for which {rule.name} is made"
                    )
                elif not part.reason:
                    limit = "" if np.isnan(part.scores[place]) else ", |score| > 1e150"
                    reason += f"{limit}; set on_failure to the score that such a training should have"
                raise failed("tune", configs, int(pulls.arm[part.places[place]]), reason)
            if now - last > SECONDS:
                report_scores()
                last = time.perf_counter()
            if interrupts.asked():
                break
            before = time.perf_counter()
        waited += time.perf_counter() - before
    except BaseException:
        parts.close()  # pyright: ignore[reportAttributeAccessIssue]
        report_scores()
        raise
    report_scores()
    return waited


def _decidable(store: Store, configs: Configs, scores: Scores) -> None:
    """Raise an error if scores do not vary, because a rule for unknown variances would then never stop."""
    name, survivors = store.session.rule.name, store.session.survivors
    if survivors is None or name not in ("paired_race", "student_race"):
        return
    rows, left = history(store, scores), np.flatnonzero(survivors)
    order = np.lexsort((rows["seed"], rows["config"]))
    seen = np.stack([rows["score"][order][rows["config"][order] == arm] for arm in left])
    if seen.shape[1] < CONSTANT or len(left) < 2:
        return
    if name == "student_race":
        steady = left[np.ptp(seen, axis=1) == 0]
        if len(steady):
            reason = f"has the same score at all {seen.shape[1]} seeds, so that student_race never stops; drop it"
            raise failed("tune", configs, int(steady[0]), reason)
        return
    leader = int(np.argmax(scores.rewards(seen).mean(axis=1)))
    apart = seen - seen[leader]
    steady = left[(np.ptp(apart, axis=1) <= 1e-12 * np.abs(seen).max()) & (left != left[leader])]
    if len(steady):
        other = f"differs by a constant from configuration {left[leader]} at all {seen.shape[1]} seeds"
        remedy = "drop one, or score more finely"
        raise failed(
            "tune", configs, int(steady[0]), f"{other}, so that the rule never distinguishes the two; {remedy}"
        )


def _progress(session: Session, scores: Scores) -> Progress:
    """The progress of the search. With a rule that reports no survivors, all configurations count as survivors."""
    means = session.totals.means
    left = np.ones(len(means), bool) if session.survivors is None else session.survivors
    known = np.where(left & np.isfinite(means), means, -np.inf)
    best = int(np.argmax(known))
    score = float(scores.rewards(means[best])) if np.isfinite(known[best]) else float("nan")
    return Progress(int(session.counts.sum()), int(left.sum()), best, score)


def history(store: Store, scores: Scores) -> dict[str, np.ndarray]:
    """Return one row per training of a session, as in `TuneResult.history`."""
    rewards = np.concatenate([np.zeros(0), *store.session.history])
    arms = np.concatenate([np.zeros(0, np.int64), *store.asked]).astype(np.int64)[: len(rewards)]
    batch = np.repeat(np.arange(len(store.asked)), [len(part) for part in store.asked])[: len(rewards)]
    score = np.asarray(scores.rewards(rewards), np.float64)
    return {"id": np.arange(len(arms)), "config": arms, "seed": earlier(arms), "score": score, "batch": batch}
