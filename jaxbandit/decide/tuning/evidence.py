"""What the scores of a search tell, at any moment: which configurations are excluded, and what is achieved.

Rewards are scores of which larger ones are better: scores that are minimized are negated.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from jaxbandit.decide.tuning.criterion import Criterion, Stage
from jaxbandit.support import special
from jaxbandit.theory.comparisons import achieved
from jaxbandit.theory.comparisons.arms import ArmBounds, normal_arms
from jaxbandit.theory.comparisons.contradiction import Differences
from jaxbandit.theory.comparisons.outliers import outlier
from jaxbandit.theory.proportions import rate_bounds, upper_rate

PROBABLE = 0.9  # that a configuration meets the constraint on failures, to be recommended although nothing is certain


Pull = tuple[int, int]  # (number of the configuration, number of the seed)
Known = Callable[[Pull], float | None]  # the reward of a training, None if it has not ended


class Request(NamedTuple):
    """Trainings to make before the next decision."""

    arms: np.ndarray  # int64[n]
    seeds: np.ndarray  # int64[n]
    # What will probably be asked for after it, given what has ended of it: nothing is decided by it.
    sequel: Callable[[Known], Iterable[Pull]] = lambda known: ()

    @property
    def pulls(self) -> list[Pull]:
        """The trainings one by one."""
        return list(zip(self.arms.tolist(), self.seeds.tolist(), strict=True))


class Outlier(NamedTuple):
    """A difference that normal numbers do not have."""

    rival: int
    deviation: float  # from the mean of the differences, in standard deviations
    size: int  # number of differences


class Evidence:
    """The rewards of a search, and the comparison of its configurations."""

    def __init__(self, criterion: Criterion, stages: Sequence[Stage]):
        """Begin without rewards."""
        self.criterion, self.stages = criterion, list(stages)
        self.count = self.stages[-1].size
        self.samples: list[list[float]] = [[] for _ in range(self.count)]  # by seed, NaN where there is none
        # scores that each configuration can have in all
        self.pool = np.full(self.count, criterion.pool or np.iinfo(np.int64).max)
        self.trainings = np.zeros(self.count, np.int64)  # with an outcome
        self.failures = np.zeros(self.count, np.int64)  # with or without a reward
        self._rewarded = np.zeros(self.count, np.int64)
        # the first reward, the mean deviation from it, and squared deviations from the mean
        self._origin, self._means, self._squares = np.zeros((3, self.count))
        self._begin()

    def _begin(self) -> None:
        """Begin the comparison."""
        self._changed = set(range(self.count))  # configurations with rewards that are not yet compared
        self._apart = self.criterion.separately(self.stages)
        if self._apart:
            self._levels = self.criterion.arm_levels(self.stages)
        else:
            self._pairs = self.criterion.differences(self.stages)
        if self._apart and self.criterion.of_samples:
            self._of_samples = [self.criterion.sample_bounds(float(level)) for level in self._levels]
            self._taken = [0] * self.count

    def enter(self, arms: np.ndarray, seeds: np.ndarray, rewards: np.ndarray, failed: np.ndarray | None = None) -> None:
        """Take the rewards of trainings, float64[n]; NaN is a failed training that has no reward.

        `failed`, bool[n], says which of them failed; None: those without a reward.
        """
        np.add.at(self.failures, arms, np.isnan(rewards) if failed is None else failed)
        for arm, seed, reward in zip(arms.tolist(), seeds.tolist(), rewards.tolist(), strict=True):
            sample = self.samples[arm]
            sample.extend([math.nan] * (seed + 1 - len(sample)))
            sample[seed] = reward
            self._changed.add(arm)
            self.trainings[arm] += 1
            if not math.isnan(reward):
                self._rewarded[arm] += 1
                if self._rewarded[arm] == 1:
                    self._origin[arm] = reward
                deviation = reward - self._origin[arm]
                apart = deviation - self._means[arm]
                self._means[arm] += apart / self._rewarded[arm]
                self._squares[arm] += apart * (deviation - self._means[arm])

    def rewards(self, request: Request) -> list[float]:
        """Return the rewards of trainings that have been made."""
        return [self.samples[arm][seed] for arm, seed in request.pulls]

    def decide_by(self, criterion: Criterion) -> None:
        """Change the criterion, which is valid only where the change has probability 0 if the old one is right."""
        self.criterion = criterion
        self._begin()

    def comparison(self) -> Differences:
        """Return the comparison of all configurations with the rewards so far."""
        if not self._apart:
            if self._changed:
                self._pairs.enter(self.samples, sorted(self._changed))
                self._changed.clear()
            return self._pairs
        return ArmBounds(*self.bounds())

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Return lower and upper bounds of each configuration for comparisons by arms, float64[K] each."""
        if self.criterion.of_samples:
            for i, sample in enumerate(self.samples):
                self._of_samples[i].add([x for x in sample[self._taken[i] :] if not math.isnan(x)])
                self._taken[i] = len(sample)
            low, high = np.array([each.ends for each in self._of_samples]).T
            return low, high
        n, means, variances = self.moments()
        share = 1 if self.criterion.max_failure_rate is None else 2  # the other half is for the failure rates
        if self.criterion.score_range is not None:  # too many configurations for their pairs
            low, high = self._bounded(n, means)
        else:
            low, high = normal_arms(n, means, variances, np.log(self._levels / share))
        early = n < self.criterion.min_trainings
        return np.where(early, -np.inf, low), np.where(early, np.inf, high)

    def _bounded(self, n: np.ndarray, means: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        assert self.criterion.score_range is not None
        least, most = self.criterion.score_range
        least, most = (least, most) if self.criterion.maximize else (-most, -least)
        share = np.clip((np.where(n > 0, means, least) - least) / (most - least), 0.0, 1.0)
        low, high = rate_bounds(n * share, n, self._levels)
        return least + (most - least) * low, least + (most - least) * high

    def crossed(self) -> bool:
        """Whether bounds at two times exclude each other, after which nothing can be known any more."""
        if not self.criterion.of_samples:
            return False
        low, high = self.bounds()
        return bool((low > high).any())

    def moments(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the number, mean and variance (divisor n) of the rewards of each configuration."""
        n = self._rewarded.copy()
        known = n > 0
        means = self._origin + self._means
        return n, np.where(known, means, math.nan), np.where(known, self._squares / np.maximum(n, 1), math.nan)

    def location(self) -> np.ndarray:
        """Return what the criterion compares, by its estimates, float64[K]."""
        if not self.criterion.of_samples:
            return self.moments()[1]
        rewards = [[x for x in sample if not math.isnan(x)] for sample in self.samples]
        return np.array([self.criterion.estimate(x) if x else math.nan for x in rewards])

    def failure_rates(self) -> np.ndarray:
        """Return the upper bounds of the failure rates if there is a constraint on them, float64[K]."""
        return upper_rate(self.failures, self.trainings, self._levels / 2)

    def allowed(self) -> np.ndarray:
        """Return which configurations meet the constraint on failures, bool[K]; all of them if there is none."""
        most = self.criterion.max_failure_rate
        return np.ones(self.count, bool) if most is None else self.failure_rates() <= most

    def _reliable(self, present: np.ndarray) -> np.ndarray:
        """The configurations that are the least likely to miss the constraint on failures, bool[K]."""
        most, k, n = self.criterion.max_failure_rate, self.failures, self.trainings
        if most is None or not n[present].any():
            return present
        likely = present & (special.betainc(1 + k, 1 + n - k, most) >= PROBABLE)  # all rates are equally likely before
        if likely.any():
            return likely
        rates = np.where(present & (n > 0), k / np.maximum(n, 1), np.inf)
        return rates == rates.min()

    def achieved(self, arm: int) -> float:
        """Return the epsilon that a configuration achieves; inf if nothing is known."""
        return achieved.achieved_epsilon(self.comparison(), [arm])

    def excluded(self) -> np.ndarray:
        """Return which configurations are excluded, bool[K]."""
        return self.comparison().excluded()

    def dropped(self) -> np.ndarray:
        """Return which configurations need no more trainings, bool[K]: those that are excluded.

        With a constraint on failures, those that are excluded by one that meets it, or that are known to miss it.
        """
        most = self.criterion.max_failure_rate
        if most is None:
            return self.excluded()
        least, _ = rate_bounds(self.failures, self.trainings, self._levels / 2)
        return (self.comparison().claims() & self.allowed()).any(axis=1) | (least > most)

    def recommended(self, present: np.ndarray) -> int:
        """Return the configuration to recommend, of those that are present and meet the constraint on failures.

        If none is known to meet it, it is one of those that probably do, or else of those that have failed least.
        """
        allowed = present & self.allowed()
        if not allowed.any():
            allowed = self._reliable(present)
        left = allowed & ~self.dropped()
        allowed = left if left.any() else allowed
        # Seeds before the last stage had only the older configurations.
        counts = np.maximum([len(sample) - self.stages[-1].first for sample in self.samples], 0)
        return achieved.recommendation(
            self.comparison(), counts, self.location(), allowed if allowed.any() else present
        )

    def best(self, arms: np.ndarray) -> int:
        """Return the one of these configurations, bool[K], with the best estimate; the first one without any."""
        location = self.location()
        return int(np.argmax(np.where(arms, np.where(np.isnan(location), -1e300, location), -math.inf)))

    def excluder(self, arm: int) -> int | None:
        """Return a configuration that excludes this one, None if there is none."""
        claims = self.comparison().claims()[arm]
        return int(np.argmax(claims)) if claims.any() else None

    def varies(self) -> bool:
        """Whether some configuration had two different rewards."""
        return any(len({x for x in sample if not math.isnan(x)}) > 1 for sample in self.samples)

    def outliers(self, arm: int) -> list[Outlier]:
        """Return the rivals that are not excluded, with whom the differences of a configuration are not normal."""
        if self._apart or self.criterion.score_range is not None:
            return []
        rivals = [int(i) for i in np.flatnonzero(~self.excluded()) if i != arm]
        found = []
        for rival in rivals:
            first = max(self.stages[_stage(self.stages, i)].first for i in (arm, rival))
            pairs = zip(self.samples[rival][first:], self.samples[arm][first:], strict=False)
            apart = np.array([x - y for x, y in pairs])
            if np.isnan(apart).any():
                apart = apart[: int(np.argmax(np.isnan(apart)))]
            if (deviation := outlier(apart, len(rivals))) is not None:
                found.append(Outlier(rival, deviation, len(apart)))
        return found


def _stage(stages: Sequence[Stage], arm: int) -> int:
    return next(g for g, stage in enumerate(stages) if arm < stage.size)
