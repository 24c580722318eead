"""Proposals and their first scores, and further trainings of the choice: the parts of a search beside the race.

Seed number s has the key fold_in(root, s), as in a comparison, whose seeds are 0, 1, .. and stay below 2^31.
"""

import math
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any, NamedTuple

import numpy as np

from jaxbandit.decide.tuning import configs as search_space
from jaxbandit.decide.tuning import training
from jaxbandit.decide.tuning.calls import Train
from jaxbandit.decide.tuning.configs import failed
from jaxbandit.decide.tuning.progress import SearchProgress
from jaxbandit.decide.tuning.proposing import Proposer, Space
from jaxbandit.decide.tuning.searching import Evaluate
from jaxbandit.decide.tuning.seeds import pull_words
from jaxbandit.decide.tuning.settings import Settings
from jaxbandit.decide.tuning.store import Outcome, Store
from jaxbandit.decide.tuning.training import Training
from jaxbandit.engine.driver.execution import Execution
from jaxbandit.support.refusals import BadInput

WHERE = "search"
PROPOSALS = 2**31  # seed of the first proposal
FURTHER = 2**31 + 2**30  # first further seed of the choice


class OwnSeeds(NamedTuple):
    """How trainings at seeds that no comparison uses are made and judged."""

    store: Store
    given: Settings
    seed: int
    same_train: bool
    report: Callable[[int], None]  # receives the number of trainings that have just ended

    def enter(self, training: Training, first: int) -> None:
        """Add configurations as the proposals from number `first` on, or check that the store has the same ones."""
        known = self.store.entries[first : first + len(training.entries)]
        for i, (entry, new) in enumerate(zip(known, training.entries, strict=False)):
            if entry.key != new.key:
                what = f"another proposal {first + i} than {training.space.text(i)}"
                remedy = "give the same space and proposer, and a sampler its seed, or another directory"
                raise BadInput(f"{WHERE}: the directory holds {what}; {remedy}")
            if entry.program != new.program and not self.same_train:
                remedy = "give another directory, or same_train=True if it computes the same as before"
                raise BadInput(f"{WHERE}: the directory holds scores of another train function; {remedy}")
        if new := training.entries[len(known) :]:
            self.store.enter(new, blind=True, delta=self.given.criterion.delta)

    def outcomes(
        self,
        training: Training,
        evaluate: Evaluate,
        places: Sequence[int],
        numbers: Sequence[int],
        seeds: Sequence[int],
        deadline: float | None,
    ) -> list[Outcome | None]:
        """Return the outcomes of trainings, None for those that the deadline has cut.

        Args:
          training: the training function with its configurations.
          evaluate: function that runs trainings.
          places: the configuration of each training among those of `training`.
          numbers: the same among the proposals.
          seeds: the seed of each training.
          deadline: time of time.monotonic() after which no training begins.
        """
        pairs, given = list(zip(numbers, seeds, strict=True)), self.given
        while missing := [i for i, pair in enumerate(pairs) if self._known(training, *pair) is None]:
            if deadline is not None and time.monotonic() >= deadline:
                break
            at, arms, index = (np.array(x, np.int64)[missing] for x in (places, numbers, seeds))
            words = pull_words(self.seed, index, arms, paired=True, integer=training.integer)
            with closing(evaluate(words, at, training.retries + 1, deadline)) as parts:  # pyright: ignore[reportArgumentType]
                for part in parts:  # those that an executor does not return are asked for again
                    ended, refusal = given.taken(part, final=True)
                    rows = [row for row, _ in ended]
                    self.store.add(arms[rows].tolist(), index[rows].tolist(), [outcome for _, outcome in ended])
                    self.report(len(rows))
                    if refusal is not None:
                        raise failed(WHERE, training.space, int(at[refusal[0]]), refusal[1])
        known = [self._known(training, *pair) for pair in pairs]
        for place, outcome in zip(places, known, strict=True):
            if outcome is not None and (what := given.refusal(outcome)):
                raise failed(WHERE, training.space, place, what)
        return known

    def _known(self, training: Training, number: int, seed: int) -> Outcome | None:
        return self.given.ended(self.store.outcome(number, seed), training.retries)


class First(NamedTuple):
    """All proposals and their first scores."""

    rows: list[dict[str, Any]]  # the configurations
    scores: np.ndarray  # float64[n], NaN if it failed or was not trained
    attempts: np.ndarray  # int64[n], how often each was trained
    waited: float  # seconds
    reused: int  # trainings whose scores were stored before
    same: list[int]  # the first proposal that equals each one


class Best:
    """The progress of the proposals."""

    def __init__(self, report: Callable[[SearchProgress], None], maximize: bool):
        """Begin without trainings; `report` receives the progress."""
        self._report, self._maximize = report, maximize
        self._trained, self.count, self.best, self.score = 0, 0, 0, math.nan

    def add(self, ended: int) -> None:
        """Report that so many more trainings have ended."""
        self._trained += ended
        self._report(SearchProgress(self._trained, self.count, self.best, self.score))

    def see(self, number: int, score: float) -> None:
        """Take the score of a proposal, which may be the best one."""
        better = score > self.score if self._maximize else score < self.score
        if better or (math.isnan(self.score) and not math.isnan(score)):
            self.best, self.score = number, score


def propose(
    own: OwnSeeds,
    source: Proposer,
    space: Space,
    train: Train,
    execution: Execution,
    count: int,
    at_once: int,
    deadline: float | None,
    best: Best,
) -> First:
    """Propose configurations and train each of them once."""
    rows, scores, attempts, waited, reused = [], [], [], 0.0, 0
    while (left := count - sum(attempts)) > 0:
        first = len(rows)
        new = [source.propose() for _ in range(min(at_once, left))]
        rows += new
        numbers = range(first, len(rows))
        known = [own.store.outcome(number, PROPOSALS + number) for number in numbers]
        trained = _read(space, new, train, execution)
        own.enter(trained, first)
        best.count = len(rows)
        before = time.perf_counter()
        evaluate = trained.evaluate(own.store)
        seeds = [PROPOSALS + number for number in numbers]
        ended = own.outcomes(trained, evaluate, range(len(new)), numbers, seeds, deadline)
        waited += time.perf_counter() - before
        reused += sum(outcome is not None for outcome in known)
        for number, outcome in zip(numbers, ended, strict=True):
            score = math.nan if outcome is None else own.given.score(outcome)
            scores.append(score)
            attempts.append(0 if outcome is None else outcome.attempts)
            best.see(number, score)
            if outcome is not None:
                source.tell(number, score)
        if any(outcome is None for outcome in ended):
            break  # the deadline
    same = search_space.firsts(search_space.read(WHERE, space.columns(rows), distinct=False)) if rows else []
    return First(rows, np.array(scores), np.array(attempts, np.int64), waited, reused, same)


def ranking(first: First, maximize: bool) -> list[int]:
    """Return the numbers of different proposals from the best first score on."""
    order = np.argsort(-first.scores if maximize else first.scores, kind="stable")
    ranked: dict[int, int] = {}
    for i in order.tolist():
        if not math.isnan(first.scores[i]):
            ranked.setdefault(first.same[i], i)
    return [*ranked.values()]


def further(
    own: OwnSeeds,
    space: Space,
    train: Train,
    execution: Execution,
    first: First,
    winner: int,
    extra: int,
    deadline: float | None,
) -> tuple[np.ndarray, float, int]:
    """Return the scores of the choice at further seeds, the seconds that they took, and how many were stored before."""
    if not extra:
        return np.zeros(0), 0.0, 0
    trained, before = _read(space, [first.rows[winner]], train, execution), time.perf_counter()
    seeds = range(FURTHER, FURTHER + extra)
    known = sum(own.store.outcome(winner, s) is not None for s in seeds)
    evaluate = trained.evaluate(own.store)
    ended: list[Outcome | None] = own.outcomes(trained, evaluate, [0] * extra, [winner] * extra, seeds, deadline)
    scores = np.array([own.given.score(outcome) for outcome in ended if outcome is not None])
    return scores[~np.isnan(scores)], time.perf_counter() - before, known


def _read(space: Space, rows: list[dict[str, Any]], train: Train, execution: Execution) -> training.Training:
    return training.read(train, search_space.read(WHERE, space.columns(rows), distinct=False), execution)
