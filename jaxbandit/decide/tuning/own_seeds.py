"""Trainings at seeds that no comparison uses: the first one of each proposal, and further ones of the choice.

Seed number s has the key fold_in(root, s), as in a comparison, whose seeds are 0, 1, .. and stay below 2^31.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import NamedTuple

import numpy as np

from jaxbandit.decide.sessions.rewards import usable
from jaxbandit.decide.tuning.calls import Part, remedy
from jaxbandit.decide.tuning.configs import failed
from jaxbandit.decide.tuning.searching import Evaluate
from jaxbandit.decide.tuning.seeds import pull_words
from jaxbandit.decide.tuning.settings import Settings
from jaxbandit.decide.tuning.store import Outcome, Store
from jaxbandit.decide.tuning.training import Training
from jaxbandit.support import domains
from jaxbandit.support.refusals import BadInput

PROPOSALS = 2**31  # seed of the first proposal
FURTHER = 2**31 + 2**30  # first further seed of the choice
WHERE = "search"


class OwnSeeds(NamedTuple):
    """How trainings at seeds of their own are made and judged."""

    store: Store
    given: Settings
    seed: int
    retries: int
    same_train: bool
    report: Callable[[int], None]  # receives the number of trainings that have just ended

    def enter(self, training: Training, first: int) -> None:
        """Add configurations as the proposals from number `first` on, or check that the store has the same ones.

        Raises:
          BadInput: it has others.
        """
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

        Raises:
          BadInput: a training failed, and nothing replaces its score. Other outcomes are stored first.
        """
        pairs = list(zip(numbers, seeds, strict=True))
        while missing := [i for i, pair in enumerate(pairs) if self._known(*pair) is None]:
            if deadline is not None and time.monotonic() >= deadline:
                break
            at, arms, index = (np.array(x, np.int64)[missing] for x in (places, numbers, seeds))
            words = pull_words(self.seed, index, arms, paired=True, integer=training.integer)
            with closing(evaluate(words, at, self.retries + 1, deadline)) as parts:  # pyright: ignore[reportArgumentType]
                for part in parts:  # those that an executor does not return are asked for again
                    self._take(training, part, at, arms, index)
        return [self._known(*pair) for pair in pairs]

    def score(self, outcome: Outcome) -> float:
        """Return the score of an outcome, NaN for a failed training that has none."""
        if not np.isnan(outcome.score) or isinstance(self.given.on_failure, str):
            return outcome.score
        return self.given.on_failure

    def _known(self, number: int, seed: int) -> Outcome | None:
        outcome = self.store.outcome(number, seed)
        if outcome is None or (np.isnan(outcome.score) and outcome.attempts <= self.retries):
            return None
        return outcome

    def _take(self, training: Training, part: Part, at: np.ndarray, numbers: np.ndarray, seeds: np.ndarray) -> None:
        good, given, refusal = usable(part.scores), self.given, ""
        rows, ended = [], []
        for i, (row, score) in enumerate(zip(part.places.tolist(), part.scores.tolist(), strict=True)):
            if good[i]:
                outcome = Outcome(score, part.attempts)
                if not given.low <= score <= given.high:
                    refusal = f"returns {score}, must be in {domains.interval(given.low, given.high)}, {given.whose}"
            else:
                reason = part.reason or f"returns {score}{'' if np.isnan(score) else ', |score| > 1e150'}"
                outcome = Outcome(np.nan, max(part.attempts, self.retries + 1), reason)
                if part.fatal or given.on_failure == "stop":
                    refusal = reason if part.fatal else f"{reason}; {remedy(reason)}"
            if refusal:
                break
            rows.append(row)
            ended.append(outcome)
        self.store.add(numbers[rows].tolist(), seeds[rows].tolist(), ended)
        self.report(len(rows))
        if refusal:
            raise failed(WHERE, training.space, int(at[part.places[len(rows)]]), refusal)
