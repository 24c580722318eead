"""The outcomes of trainings, from the store or by training: the one place where a search waits for its trainings."""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing

import numpy as np

from jaxbandit.decide.tuning.configs import failed
from jaxbandit.decide.tuning.evidence import Pull, Request
from jaxbandit.decide.tuning.settings import Settings
from jaxbandit.decide.tuning.store import Outcome, Store
from jaxbandit.decide.tuning.training import Training
from jaxbandit.engine.driver import interrupts

SECONDS = 1.0  # at most between two writes of outcomes, each of which waits for the disk,
SHARE = 20  # and at most so many times what the last one took; where nothing has ended, outcomes are written at once


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
        self._places: list[tuple[int, int, int]] = []  # (configuration, seed, its place in the space) of trainings
        self._numbers: dict[Pull, int] = {}  # the numbers of those that were begun before the search asked for them
        self._refused: dict[Pull, str] = {}  # why trainings that were begun ahead end a search that asks for them
        self.ahead: set[Pull] = set()  # trainings that were begun before the search asked for them
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

    def outcomes(
        self, request: Request, places: np.ndarray, attempts: int | None = None, ahead: Iterable[tuple] = ()
    ) -> list[Outcome | None]:
        """Return the outcomes of trainings, None for those that the deadline or the budget has cut.

        Args:
          request: the trainings, by the numbers of their configurations in the store.
          places: their configurations in the space of the training function, int64[n].
          attempts: how often each may be begun, if the budget ends before `self.attempts`; None: as often as that.
          ahead: trainings to begin when a worker is free, as (configuration, seed, place of the configuration).
        """
        pulls, final = request.pulls, attempts is None or attempts >= self.attempts
        ahead = iter(ahead)
        for pull, place in zip(pulls, places.tolist(), strict=True):
            if pull in self._refused:
                raise self._error(pull[0], place, self._refused[pull])
        with interrupts.heard(lambda: None):
            missing = [i for i, pull in enumerate(pulls) if not self.known(*pull)]
            while missing and not interrupts.asked() and not self._late():
                self._train([(*pulls[i], int(places[i])) for i in missing], attempts, final, ahead)
                if not final:
                    break
                missing = [i for i in missing if not self.known(*pulls[i])]  # an executor may lose the result of a call
        return [self.known(*pull) for pull in pulls]

    def close(self) -> None:
        """Wait for no training any more."""
        if self.training.calls is not None:
            self.ahead -= {self._places[place][:2] for place in self.training.calls.close()}

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

    def _enter(self, pulls: list[tuple[int, int, int]]) -> tuple[list[int], np.ndarray, np.ndarray]:
        """The numbers of trainings, the words of their seeds, and their places."""
        first = len(self._places)
        self._places += pulls
        arms, seeds, places = np.array(pulls, np.int64).T
        words = self.training.words(self._seed, seeds, arms, paired=self._paired)
        return list(range(first, len(self._places))), words, places

    def _more(self, ahead: Iterator[tuple]) -> tuple[int, np.ndarray, int] | None:
        """The next training that is begun before it is asked for, None if there is none."""
        for arm, seed, place in ahead:
            if (arm, seed) not in self.ahead and not self.known(arm, seed):
                self.ahead.add((arm, seed))
                [number], [words], [place] = self._enter([(arm, seed, place)])
                self._numbers[arm, seed] = number
                return number, words, int(place)
        return None

    def _train(
        self, pulls: list[tuple[int, int, int]], attempts: int | None, final: bool, ahead: Iterator[tuple]
    ) -> None:
        """Run trainings and store their outcomes as they end."""
        numbers, words, places = self._enter(pulls)
        numbers = [self._numbers.get((arm, seed), n) for n, (arm, seed, _) in zip(numbers, pulls, strict=True)]
        wanted = set(numbers)
        ended: list[tuple[int, Outcome]] = []

        def write() -> float:
            rows = [self._places[number] for number, _ in ended]
            before = time.perf_counter()
            self.store.add([a for a, _, _ in rows], [s for _, s, _ in rows], [outcome for _, outcome in ended])
            ended.clear()
            return min(SHARE * (time.perf_counter() - before), SECONDS)

        before = last = time.perf_counter()
        most, wait = attempts or self.attempts, 0.0
        calls = self.training.calls
        if calls is None:
            parts: Iterator = self._evaluate(words, places, most, self._deadline)
        else:
            parts = calls(words, places, most, self._deadline, numbers, lambda: self._more(ahead))
        with closing(parts):  # pyright: ignore[reportArgumentType]
            try:
                for part in parts:
                    now = time.perf_counter()
                    self.waited += now - before
                    if calls is None:
                        part = part._replace(places=np.array(numbers)[part.places])
                    outcomes, refusal = self.given.taken(part, final=final)
                    ended += outcomes
                    if refusal is not None:
                        arm, seed, place = self._places[refusal[0]]
                        if refusal[0] in wanted:
                            raise self._error(arm, place, refusal[1])
                        self._refused[arm, seed] = refusal[1]
                    else:
                        self.lost += part.attempts * (len(part.places) - len(outcomes))
                    if now - last > wait or (calls is not None and calls.idle):
                        wait, last = write(), time.perf_counter()
                    self.report(len(outcomes))
                    if interrupts.asked():
                        break
                    before = time.perf_counter()
                else:
                    self.waited += time.perf_counter() - before
            finally:
                write()
