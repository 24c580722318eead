"""The main loop of a search: answer the requests of an allocation, from the store or by trainings, within a budget."""

import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from jaxbandit.decide.tuning.allocation import Allocation
from jaxbandit.decide.tuning.evidence import Evidence, Pull, Request
from jaxbandit.decide.tuning.progress import SearchProgress
from jaxbandit.decide.tuning.store import LATE
from jaxbandit.decide.tuning.trainer import Trainer
from jaxbandit.engine.driver import interrupts

SECONDS = 1.0  # between two reports
AHEAD = 10  # trainings for each worker that are begun before they are asked for, while one of a request is slow


class Row(NamedTuple):
    """A training of a search."""

    config: int
    seed: int
    score: float  # NaN if it failed and has none
    batch: int  # number of the decision that used it
    attempts: int
    failed: bool


def columns(rows: Sequence[Row]) -> dict[str, np.ndarray]:
    """Return the fields of rows as columns, with the number of each row as `id`."""
    kinds = {"score": np.float64, "failed": bool}
    found = {name: np.array([getattr(row, name) for row in rows], kinds.get(name, np.int64)) for name in Row._fields}
    return {"id": np.arange(len(rows)), **found}


class Search:
    """A search that is played."""

    def __init__(
        self,
        trainer: Trainer,
        evidence: Evidence,
        numbers: np.ndarray,
        max_trainings: int | None,
        report: Callable[[SearchProgress], None],
    ):
        """Begin a search of configurations that have these numbers in the store."""
        self.rows: list[Row] = []
        self.spent, self.reused, self.max_trainings = 0, 0, max_trainings
        store = trainer.store
        self.places = np.full(len(store.entries), -1)  # in the space, -1 for configurations that are not given now
        self.places[numbers] = np.arange(len(numbers))
        self._numbers = numbers
        self.present = self.places >= 0
        self._trainer, self._evidence, self._report = trainer, evidence, report
        trainer.report = self._report_now_and_then
        self._requests, self._reported = 0, time.perf_counter()
        self.late: list[str] = []  # trainings that did not end within seconds_each
        for arm in np.flatnonzero(~self.present).tolist():  # they stay rivals, with all that is known of them
            known = list(store.all_of(arm, store.next_seed()))
            self.spent += sum(outcome.attempts for _, outcome in known)
            rewards = np.array([self._sign * trainer.score(arm, -1, outcome) for _, outcome in known])
            lost = np.array([np.isnan(outcome.score) for _, outcome in known], bool)
            evidence.enter(np.full(len(known), arm), np.array([seed for seed, _ in known], np.int64), rewards, lost)

    @property
    def _sign(self) -> float:
        return 1.0 if self._trainer.given.criterion.maximize else -1.0

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
                while done < len(request.arms):
                    left = request._replace(arms=request.arms[done:], seeds=request.seeds[done:])
                    part, attempts = self._affordable(left)
                    if not len(part.arms):
                        return "max_trainings"
                    if not self._answer(part, attempts):
                        return "max_trainings" if self._left() == 0 else "timeout"
                    done += len(part.arms)
                self._requests += 1
                after()
                self._report_now_and_then()
        self._report(self.progress())
        return "done"

    def names(self) -> list[str]:
        """Return texts of all configurations of the store."""
        absent, text = "a configuration that is not given now", self._trainer.training.space.text
        return [f"configuration {i} ({text(i)})" if i >= 0 else absent for i in self.places.tolist()]

    def _left(self) -> float:
        return np.inf if self.max_trainings is None else max(self.max_trainings - self._all_spent(), 0)

    def _all_spent(self) -> int:
        return self.spent + self._trainer.lost

    def _affordable(self, request: Request) -> tuple[Request, int]:
        """The first trainings of a request that the budget allows, and the attempts that each may have."""
        left, most = self._left(), self._trainer.attempts
        if np.isinf(left):
            return request, most
        known = [self._trainer.known(*pull) for pull in request.pulls]
        costs = np.cumsum([most if outcome is None else outcome.attempts for outcome in known])
        count = int((costs <= left).sum())
        if count == 0 and left and known[0] is None:
            return Request(request.arms[:1], request.seeds[:1]), int(left)
        return request._replace(arms=request.arms[:count], seeds=request.seeds[:count]), most

    def _answer(self, request: Request, attempts: int) -> bool:
        """Enter the outcomes of these trainings; return False if some are missing, with those after them."""
        trainer, places = self._trainer, self.places[request.arms]
        stored = [trainer.known(*pull) is not None and pull not in trainer.ahead for pull in request.pulls]
        outcomes = trainer.outcomes(request, places, attempts, self._next_trainings(request))
        cut: set[int] = set()  # configurations of which a training is missing: their later ones do not count either
        rewards, keep, lost = [], [], []
        for i, ((arm, seed), place, outcome) in enumerate(zip(request.pulls, places.tolist(), outcomes, strict=True)):
            if outcome is None or arm in cut:
                cut.add(arm)
                continue
            score, missed = self._trainer.score(arm, place, outcome), bool(np.isnan(outcome.score))
            keep.append(i)
            rewards.append(self._sign * score)
            self.reused += stored[i]
            self.spent += outcome.attempts
            if outcome.failure and outcome.failure.kind == LATE:
                self.late.append(f"configuration {place} at {trainer.training.origin(seed)}")
            lost.append(missed)
            self.rows.append(Row(place, seed, score, self._requests, outcome.attempts, missed))
        self._evidence.enter(request.arms[keep], request.seeds[keep], np.array(rewards), np.array(lost, bool))
        return not cut

    def _next_trainings(self, request: Request) -> Iterator[tuple[int, int, int]]:
        """What to begin after a request before it is answered, as far as the budget allows it."""
        calls = self._trainer.training.calls
        most = AHEAD * ((calls and calls.workers) or 0)
        if np.isfinite(left := self._left()):
            most = min(most, max(int(left) // self._trainer.attempts - len(request.arms), 0))
        for arm, seed in itertools.islice(request.sequel(self._reward), most):
            yield arm, seed, int(self.places[arm])

    def _reward(self, pull: Pull) -> float | None:
        outcome = self._trainer.known(*pull)
        return None if outcome is None else self._sign * self._trainer.given.score(outcome)

    @property
    def spare(self) -> int:
        """The number of trainings that were begun ahead and that no decision has used."""
        return len(self._trainer.ahead - {(int(self._numbers[row.config]), row.seed) for row in self.rows})

    def _report_now_and_then(self, ended: int = 0) -> None:
        if time.perf_counter() - self._reported >= SECONDS:
            self._report(self.progress())
            self._reported = time.perf_counter()

    def progress(self) -> SearchProgress:
        """Return the progress of the search."""
        location = self._evidence.location()
        left = self.present & ~self._evidence.excluded()
        known = np.where(left & np.isfinite(location), location, -np.inf)
        best = int(np.argmax(known))
        score = self._sign * float(known[best]) if np.isfinite(known[best]) else float("nan")
        return SearchProgress(self._all_spent(), int(left.sum()), int(self.places[best]), score)
