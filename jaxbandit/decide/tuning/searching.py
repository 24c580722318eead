"""The main loop of a search: answer the requests of an allocation, from the store or by trainings, within a budget."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from jaxbandit.decide.tuning.allocation import Allocation
from jaxbandit.decide.tuning.calls import Part
from jaxbandit.decide.tuning.configs import Configs, failed
from jaxbandit.decide.tuning.evidence import Evidence, Request
from jaxbandit.decide.tuning.progress import SearchProgress
from jaxbandit.decide.tuning.seeds import pull_words
from jaxbandit.decide.tuning.settings import Settings
from jaxbandit.decide.tuning.store import LATE, Outcome, Store
from jaxbandit.engine.driver import interrupts
from jaxbandit.support.refusals import BadInput

SECONDS = 1.0  # between two writes of outcomes, because each of them waits for the disk

Evaluate = Callable[..., Iterator[Part]]  # (words of keys, configurations, attempts, deadline) -> what has ended


class Terms(NamedTuple):
    """How scores are judged, and what the search may spend."""

    given: Settings
    paired: bool
    integer: bool  # whether train receives integers as seeds, and not keys
    seed: int
    retries: int
    max_trainings: int | None
    deadline: float | None  # by time.monotonic


@dataclass
class Rows:
    """The trainings of a search in the order of its requests."""

    config: list[int] = field(default_factory=list)
    seed: list[int] = field(default_factory=list)
    score: list[float] = field(default_factory=list)
    batch: list[int] = field(default_factory=list)
    attempts: list[int] = field(default_factory=list)
    failed: list[bool] = field(default_factory=list)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the columns, with the number of each row as `id`."""
        kinds = {"config": np.int64, "seed": np.int64, "score": np.float64, "batch": np.int64, "attempts": np.int64}
        columns = {name: np.array(getattr(self, name), kinds.get(name, bool)) for name in vars(self)}
        return {"id": np.arange(len(self.config)), **columns}


class Search:
    """A search that is played."""

    def __init__(
        self,
        store: Store,
        evidence: Evidence,
        space: Configs,
        numbers: np.ndarray,
        evaluate: Evaluate,
        terms: Terms,
        report: Callable[[SearchProgress], None],
    ):
        """Begin a search."""
        self.rows, self.spent, self.reused, self.waited = Rows(), 0, 0, 0.0
        self.places = np.full(len(store.entries), -1)  # in the space, -1 for configurations that are not given now
        self.places[numbers] = np.arange(space.count)
        self.present = self.places >= 0
        self._store, self._evidence, self._space = store, evidence, space
        self._evaluate, self.terms, self._report = evaluate, terms, report
        self._requests, self._reported = 0, time.perf_counter()
        self.late: list[str] = []  # trainings that did not end within seconds_each
        for arm in np.flatnonzero(~self.present).tolist():  # they stay rivals, with all that is known of them
            known = list(store.all_of(arm, store.next_seed()))
            self.spent += sum(outcome.attempts for _, outcome in known)
            rewards = np.array([self._reward(arm, outcome) for _, outcome in known])
            lost = np.array([np.isnan(outcome.score) for _, outcome in known], bool)
            evidence.enter(np.full(len(known), arm), np.array([seed for seed, _ in known], np.int64), rewards, lost)

    def play(self, allocation: Allocation, after: Callable[[], None] = lambda: None) -> str:
        """Make the trainings that an allocation requests, and return why the search has ended.

        That is "done" if the allocation has ended, "max_trainings", "timeout", or "table" if it asks for more than
        there is. `after` is called after each request that was answered. If a training failed or the search was
        interrupted, all outcomes are stored before that is raised.
        """
        with interrupts.heard(lambda: None):
            for request in allocation:
                if (request.seeds >= self._evidence.pool[request.arms]).any():
                    return "table"
                done = 0
                while done < len(request.arms) and not interrupts.asked():
                    part, attempts = self._affordable(Request(request.arms[done:], request.seeds[done:]))
                    if not len(part.arms):
                        return "max_trainings"
                    if not self._answer(part, attempts):
                        return "max_trainings" if self._left() == 0 else "timeout"
                    done += len(part.arms)
                if interrupts.asked():
                    break
                self._requests += 1
                after()
                self._report_now_and_then()
        self._report(self.progress())
        return "done"

    def names(self) -> list[str]:
        """Return texts of all configurations of the store."""
        absent = "a configuration that is not given now"
        return [f"configuration {i} ({self._space.text(i)})" if i >= 0 else absent for i in self.places.tolist()]

    def _late(self) -> bool:
        return self.terms.deadline is not None and time.monotonic() >= self.terms.deadline

    def _left(self) -> float:
        most = self.terms.max_trainings
        return np.inf if most is None else max(most - self.spent, 0)

    def _known(self, arm: int, seed: int) -> Outcome | None:
        return self.terms.given.ended(self._store.outcome(arm, seed), self.terms.retries)

    def _affordable(self, request: Request) -> tuple[Request, int]:
        """The first trainings of a request that the budget allows, and the attempts that each may have."""
        left, most = self._left(), self.terms.retries + 1
        if np.isinf(left):
            return request, most
        known = (self._known(*pull) for pull in request.pulls)
        costs = np.cumsum([most if outcome is None else outcome.attempts for outcome in known])
        count = int((costs <= left).sum())
        if count == 0 and left and self._known(*request.pulls[0]) is None:
            return Request(request.arms[:1], request.seeds[:1]), int(left)
        return Request(request.arms[:count], request.seeds[:count]), most

    def _answer(self, request: Request, attempts: int) -> bool:
        """Enter the outcomes of these trainings; return False if some are missing, with those after them."""
        arms, seeds, pairs = *request, request.pulls
        first = missing = [i for i, pair in enumerate(pairs) if not self._known(*pair)]
        while missing and not interrupts.asked() and not self._late():
            self._train(arms[missing], seeds[missing], attempts)
            missing = [i for i in missing if not self._known(*pairs[i])]  # an executor may lose the result of a call
            if attempts <= self.terms.retries:
                break  # the budget has ended
        outcomes = [self._known(*pair) for pair in pairs]
        trained = set(first)
        cut: set[int] = set()  # configurations of which a training is missing: their later ones do not count either
        rewards, keep, lost = [], [], []
        for i, ((arm, seed), outcome) in enumerate(zip(pairs, outcomes, strict=True)):
            if outcome is None or arm in cut:
                cut.add(arm)
                continue
            keep.append(i)
            rewards.append(self._reward(arm, outcome))
            self.reused += i not in trained
            self.spent += outcome.attempts
            place, missed = int(self.places[arm]), bool(np.isnan(outcome.score))
            if outcome.failure and outcome.failure.kind == LATE:
                self.late.append(f"configuration {place} at seed {seed}")
            lost.append(missed)
            row = place, seed, self.terms.given.score(outcome), self._requests, outcome.attempts, missed
            for column, value in zip(vars(self.rows).values(), row, strict=True):
                column.append(value)
        self._evidence.enter(arms[keep], seeds[keep], np.array(rewards), np.array(lost, bool))
        return not cut

    def _reward(self, arm: int, outcome: Outcome) -> float:
        """The reward of an outcome; raise an error if it is not one that the search allows."""
        given = self.terms.given
        if what := given.refusal(outcome):
            self._refuse(arm, what)
        return given.score(outcome) if given.criterion.maximize else -given.score(outcome)

    def _refuse(self, arm: int, what: str) -> Any:
        place = int(self.places[arm])
        if place < 0:
            raise BadInput(f"tune: configuration {arm} of the directory, which is not given now, {what}")
        raise failed("tune", self._space, place, what)

    def _train(self, arms: np.ndarray, seeds: np.ndarray, attempts: int) -> None:
        """Run trainings and store their outcomes as they end."""
        terms = self.terms
        words = pull_words(terms.seed, seeds, arms, paired=terms.paired, integer=terms.integer)
        ended: list[tuple[int, Outcome]] = []

        def write() -> None:
            rows = [i for i, _ in ended]
            self._store.add(arms[rows].tolist(), seeds[rows].tolist(), [outcome for _, outcome in ended])
            ended.clear()

        before = last = time.perf_counter()
        parts = self._evaluate(words, self.places[arms], attempts, self.terms.deadline)
        try:
            for part in parts:
                now = time.perf_counter()
                self.waited += now - before
                self._take(part, arms, attempts, ended)
                if now - last > SECONDS:
                    write()
                    last = time.perf_counter()
                self._report_now_and_then()
                if interrupts.asked() or self._late():
                    break
                before = time.perf_counter()
            self.waited += time.perf_counter() - before
        finally:
            parts.close()  # pyright: ignore[reportAttributeAccessIssue]
            write()

    def _take(self, part: Part, arms: np.ndarray, attempts: int, ended: list[tuple[int, Outcome]]) -> None:
        """Judge what has ended; raise an error if a training failed and nothing replaces its score."""
        final = attempts > self.terms.retries  # else the budget has ended before all attempts were made
        outcomes, refusal = self.terms.given.taken(part, final=final)
        ended += outcomes
        if refusal is not None:
            self._refuse(int(arms[refusal[0]]), refusal[1])
        self.spent += part.attempts * (len(part.places) - len(outcomes))

    def _report_now_and_then(self) -> None:
        if time.perf_counter() - self._reported >= SECONDS:
            self._report(self.progress())
            self._reported = time.perf_counter()

    def progress(self) -> SearchProgress:
        """Return the progress of the search."""
        location = self._evidence.location()
        left = self.present & ~self._evidence.excluded()
        known = np.where(left & np.isfinite(location), location, -np.inf)
        best = int(np.argmax(known))
        score = float(known[best]) if np.isfinite(known[best]) else float("nan")
        score = score if self.terms.given.criterion.maximize else -score
        return SearchProgress(self.spent, int(left.sum()), int(self.places[best]), score)
