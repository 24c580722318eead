"""The outcomes of trainings, from the store or by training: the one place where a search waits for its trainings."""

import time
from collections.abc import Callable, Iterator
from contextlib import closing

import numpy as np

from jaxbandit.decide.tuning.configs import failed
from jaxbandit.decide.tuning.evidence import Request
from jaxbandit.decide.tuning.seeds import pull_words
from jaxbandit.decide.tuning.settings import Settings
from jaxbandit.decide.tuning.store import Outcome, Store
from jaxbandit.decide.tuning.training import Training
from jaxbandit.engine.driver import interrupts

SECONDS = 1.0  # between two writes of outcomes, because each of them waits for the disk


class Trainer:
    """What trains configurations, judges their scores, and stores them."""

    def __init__(
        self,
        store: Store,
        training: Training,
        given: Settings,
        seed: int,
        *,
        paired: bool = True,
        deadline: float | None = None,
    ):
        """Prepare the training function; `deadline` is a time of time.monotonic() after which no training begins."""
        self.store, self.training, self.given = store, training, given
        self.waited, self.lost = 0.0, 0  # seconds, and attempts that failed without an outcome
        self._seed, self._paired, self._deadline = seed, paired, deadline
        self._evaluate = training.evaluate(store)
        self.report: Callable[[int], None] = lambda ended: None  # is told how many trainings have just ended

    @property
    def attempts(self) -> int:
        """How often a training may be begun."""
        return self.training.retries + 1

    def known(self, arm: int, seed: int) -> Outcome | None:
        """Return a stored outcome, None if there is none, or if it failed and may be tried more often."""
        outcome = self.store.outcome(arm, seed)
        again = outcome is not None and np.isnan(outcome.score) and outcome.attempts < self.attempts
        return None if again else outcome

    def outcomes(self, request: Request, places: np.ndarray, attempts: int | None = None) -> list[Outcome | None]:
        """Return the outcomes of trainings, None for those that the deadline or the budget has cut.

        Args:
          request: the trainings, by the numbers of their configurations in the store.
          places: their configurations in the space of the training function, int64[n].
          attempts: how often each may be begun, if the budget ends before `self.attempts`; None: as often as that.
        """
        pulls, final = request.pulls, attempts is None or attempts >= self.attempts
        with interrupts.heard(lambda: None):
            missing = [i for i, pull in enumerate(pulls) if not self.known(*pull)]
            while missing and not interrupts.asked() and not self._late():
                self._train(request.arms[missing], request.seeds[missing], places[missing], attempts, final)
                if not final:
                    break
                missing = [i for i in missing if not self.known(*pulls[i])]  # an executor may lose the result of a call
        return [self.known(*pull) for pull in pulls]

    def score(self, arm: int, place: int, outcome: Outcome) -> float:
        """Return the score of an outcome, NaN if it has none; raise an error if the search does not allow it."""
        if what := self.given.refusal(outcome):
            raise self._error(arm, place, what)
        return self.given.score(outcome)

    def _error(self, arm: int, place: int, what: str) -> BaseException:
        if place < 0:
            return ValueError(f"configuration {arm} of the directory, which is not given now, {what}")
        return failed(self.training.space, place, what)

    def _late(self) -> bool:
        return self._deadline is not None and time.monotonic() >= self._deadline

    def _train(
        self, arms: np.ndarray, seeds: np.ndarray, places: np.ndarray, attempts: int | None, final: bool
    ) -> None:
        """Run trainings and store their outcomes as they end."""
        words = pull_words(self._seed, seeds, arms, paired=self._paired, integer=self.training.integer)
        ended: list[tuple[int, Outcome]] = []

        def write() -> None:
            rows = [i for i, _ in ended]
            self.store.add(arms[rows].tolist(), seeds[rows].tolist(), [outcome for _, outcome in ended])
            ended.clear()

        before = last = time.perf_counter()
        parts: Iterator = self._evaluate(words, places, attempts or self.attempts, self._deadline)
        with closing(parts):  # pyright: ignore[reportArgumentType]
            try:
                for part in parts:
                    now = time.perf_counter()
                    self.waited += now - before
                    outcomes, refusal = self.given.taken(part, final=final)
                    ended += outcomes
                    if refusal is not None:
                        raise self._error(int(arms[refusal[0]]), int(places[refusal[0]]), refusal[1])
                    self.lost += part.attempts * (len(part.places) - len(outcomes))
                    if now - last > SECONDS:
                        write()
                        last = time.perf_counter()
                    self.report(len(outcomes))
                    if interrupts.asked():
                        break
                    before = time.perf_counter()
                else:
                    self.waited += time.perf_counter() - before
            finally:
                write()
