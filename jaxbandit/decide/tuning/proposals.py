"""Proposals and their first scores, and further trainings of the choice: the parts of a search beside the race.

Seed number s has the key fold_in(root, s), as in a comparison, whose seeds are 0, 1, .. and stay below 2^31.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jaxbandit.decide.tuning import configs as search_space
from jaxbandit.decide.tuning import training
from jaxbandit.decide.tuning.calls import Train
from jaxbandit.decide.tuning.evidence import Request
from jaxbandit.decide.tuning.progress import SearchProgress
from jaxbandit.decide.tuning.proposing import Proposer, Space
from jaxbandit.decide.tuning.settings import Settings
from jaxbandit.decide.tuning.store import Outcome, Store
from jaxbandit.decide.tuning.trainer import Trainer
from jaxbandit.engine.driver.execution import Execution

PROPOSALS = 2**31  # seed of the first proposal
FURTHER = 2**31 + 2**30  # first further seed of the choice


class Proposals:
    """All proposals of a search with their first scores, at seeds that no comparison uses."""

    def __init__(
        self,
        store: Store,
        given: Settings,
        train: Train,
        space: Space,
        execution: Execution,
        seed: int,
        report: Callable[[SearchProgress], None],
    ):
        """Begin without proposals."""
        self.rows: list[dict[str, Any]] = []  # the configurations
        self.scores: list[float] = []  # NaN if it failed or was not trained
        self.attempts: list[int] = []  # how often each was trained
        self.waited, self.reused = 0.0, 0  # seconds, and trainings whose scores were stored before
        self._store, self._given, self._train, self._space = store, given, train, space
        self._execution, self._seed, self._report = execution, seed, report
        self._maximize = given.criterion.maximize
        self._trained, self._best = 0, (0, math.nan)  # the number and score of the best proposal

    def propose(self, source: Proposer, count: int, at_once: int, deadline: float | None) -> None:
        """Propose configurations and train each of them once."""
        while (left := count - sum(self.attempts)) > 0:
            first = len(self.rows)
            self.rows += [source.propose() for _ in range(min(at_once, left))]
            numbers = np.arange(first, len(self.rows))
            trained = self._training(self.rows[first:])
            self._enter(trained, first)
            ended = self._outcomes(trained, Request(numbers, PROPOSALS + numbers), numbers - first, deadline)
            for number, outcome in zip(numbers.tolist(), ended, strict=True):
                score = math.nan if outcome is None else self._given.score(outcome)
                self.scores.append(score)
                self.attempts.append(0 if outcome is None else outcome.attempts)
                best = self._best[1]
                better = score > best if self._maximize else score < best
                if better or (math.isnan(best) and not math.isnan(score)):
                    self._best = number, score
                if outcome is not None:
                    source.tell(number, score)
            if None in ended:
                return  # the deadline

    def configs(self) -> search_space.Configs:
        """Return all proposals."""
        return search_space.read(self._space.columns(self.rows), distinct=False)

    def ranking(self) -> list[int]:
        """Return the numbers of different proposals from the best first score on."""
        scores, same = np.array(self.scores), search_space.firsts(self.configs()) if self.rows else []
        ranked: dict[int, int] = {}
        for i in np.argsort(-scores if self._maximize else scores, kind="stable").tolist():
            if not math.isnan(scores[i]):
                ranked.setdefault(same[i], i)
        return [*ranked.values()]

    def further(self, winner: int, extra: int, deadline: float | None) -> np.ndarray:
        """Return the scores of a proposal at further seeds."""
        if not extra:
            return np.zeros(0)
        request = Request(np.full(extra, winner), FURTHER + np.arange(extra))
        ended = self._outcomes(self._training([self.rows[winner]]), request, np.zeros(extra, np.int64), deadline)
        scores = np.array([self._given.score(outcome) for outcome in ended if outcome is not None])
        return scores[~np.isnan(scores)]

    def _training(self, rows: Sequence[dict[str, Any]]) -> training.Training:
        space = search_space.read(self._space.columns(rows), distinct=False)
        return training.read(self._train, space, self._execution)

    def _enter(self, trained: training.Training, first: int) -> None:
        """Add configurations as the proposals from number `first` on, or check that the store has the same ones."""
        known = self._store.entries[first : first + len(trained.entries)]
        for i, (entry, new) in enumerate(zip(known, trained.entries, strict=False)):
            if entry.key != new.key:
                what = f"another proposal {first + i} than {trained.space.text(i)}"
                remedy = "give the same space and proposer, and a sampler its seed, or another directory"
                raise ValueError(f"the directory holds {what}; {remedy}")
            if entry.program != new.program and not self._execution.same_train:
                remedy = "give another directory, or same_train=True if it computes the same as before"
                raise ValueError(f"the directory holds scores of another train function; {remedy}")
        if new := trained.entries[len(known) :]:
            self._store.enter(new, blind=True, delta=self._given.criterion.delta)

    def _outcomes(
        self, trained: training.Training, request: Request, places: np.ndarray, deadline: float | None
    ) -> list[Outcome | None]:
        trainer = Trainer(self._store, trained, self._given, self._seed, deadline=deadline)
        trainer.report = self._ended
        self.reused += sum(self._store.outcome(*pull) is not None for pull in request.pulls)
        try:
            ended = trainer.outcomes(request, places)
        finally:
            trainer.close()
        self.waited += trainer.waited
        for number, place, outcome in zip(request.arms.tolist(), places.tolist(), ended, strict=True):
            if outcome is not None:
                trainer.score(number, place, outcome)  # raises an error if it is not allowed
        return ended

    def _ended(self, trainings: int) -> None:
        self._trained += trainings
        self._report(SearchProgress(self._trained, len(self.rows), *self._best))
