"""A search over random splits, by a race, by halving if the budget is too small for one, or by a rule of the user."""

import dataclasses
import math
from collections.abc import Iterator

import numpy as np

from jaxbandit.base.contract import Algorithm, Promise
from jaxbandit.decide.core.certificate import Certificate
from jaxbandit.decide.core.goal import DELTA
from jaxbandit.decide.integrations.sklearn_ranges import NO_RANGE, Range
from jaxbandit.decide.sessions.certifying import COMMON_KEYS, certificate
from jaxbandit.decide.sessions.session import Session, session
from jaxbandit.decide.tuning.allocation import halving, race
from jaxbandit.decide.tuning.criterion import RARE, Criterion, Stage
from jaxbandit.decide.tuning.evidence import Evidence, Request
from jaxbandit.decide.tuning.plays import RulePlay
from jaxbandit.decide.tuning.reporting import what_scores_say, withdrawn
from jaxbandit.engine.rounds import fit
from jaxbandit.theory.comparisons.arms import normal_arms
from jaxbandit.theory.comparisons.betting import stated_interval
from jaxbandit.theory.comparisons.contradiction import Differences

SPLITS = (
    "each score comes from one random split of this data set; the means are over all its splits, and nothing is "
    "guaranteed for other data"
)
RANDOM = "splits are independent draws given the data"
NORMAL = "the differences between two configurations' scores on the same split are normal"
NORMAL_ARMS = "the scores of each configuration are normal"
INTERVALS = (
    "for the intervals, the scores of each configuration are normal; an interval does not contain the mean if a rare "
    "event matters to it and has not occurred yet"
)
RELIABLE = "a configuration whose fits have not failed never fails; those that failed do not count as rivals"


class _Without:
    """A comparison that takes no notice of some configurations, which are excluded."""

    def __init__(self, comparison: Differences, ignored: np.ndarray):
        """Ignore some configurations, bool[K]."""
        self._comparison, self._ignored, self.num_arms = comparison, ignored, comparison.num_arms

    def excluded(self) -> np.ndarray:
        return self.claims().any(axis=1) | self._ignored

    def upper(self, arm: int) -> np.ndarray:
        return self._comparison.upper(arm)

    def claims(self) -> np.ndarray:
        return self._comparison.claims() & ~self._ignored

    def differences(self, arm: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        low, estimates, high = self._comparison.differences(arm)
        return np.where(self._ignored, -np.inf, low), estimates, np.where(self._ignored, np.inf, high)

    def ever(self) -> np.ndarray:
        return self._comparison.ever() & ~self._ignored | np.diag(self._ignored)

    def crossed(self, arm: int) -> np.ndarray:
        return self._comparison.crossed(arm) & ~self._ignored


class SplitEvidence(Evidence):
    """The scores on random splits. A configuration with a failed fit is neither recommended nor a rival.

    The statements are about those configurations whose fits never fail. What one that has failed excluded before is
    withdrawn.
    """

    def comparison(self) -> Differences:
        """Return the comparison of the configurations that have not failed."""
        full = super().comparison()
        return _Without(full, self.failures > 0) if self.failures.any() else full

    def location(self) -> np.ndarray:
        """Return the means, float64[K], NaN without a score or after a failure."""
        return np.where(self.failures > 0, math.nan, super().location())


class SplitSearch:
    """The scores of configurations on random splits, and which are needed next."""

    def __init__(self, count: int, criterion: Criterion, limits: Range, *, max_fits: int | None, seed: int):
        """Begin a race, or halving if `max_fits` is less than twice the fits without which nothing is known.

        `limits` are those of a score, for intervals. Whoever fits has to obey `max_fits`.
        """
        self.count, self.criterion, self._limits, self._seed = count, criterion, limits, seed
        stages = [Stage(count, 0, True)]
        self.evidence = SplitEvidence(criterion, stages)
        self._present = np.ones(count, bool)
        self.needed = criterion.needed(stages) or Criterion(criterion.delta, None).needed(stages) or 1
        self.halving = max_fits if max_fits is not None and count > 1 and max_fits < 2 * count * self.needed else None
        self._ended = False

    def requests(self) -> Iterator[Request]:
        """Yield the pairs of a configuration and a split to score next."""
        if self.count == 1:
            yield Request(np.zeros(self.criterion.min_trainings, np.int64), np.arange(self.criterion.min_trainings))
        elif self.halving is not None:
            yield from halving(self.evidence, self._present.copy(), self.halving, self._seed)
        else:
            yield from race(self.evidence, self._present)
        self._ended = self.halving is None

    def enter(self, arms: np.ndarray, indices: np.ndarray, scores: np.ndarray) -> None:
        """Take scores, NaN for a fit without a score."""
        self.evidence.enter(arms, indices, scores)
        self._present[:] = self.evidence.failures == 0

    @property
    def fits(self) -> np.ndarray:
        """Number of fits of each configuration, int64[K]."""
        return self.evidence.trainings

    @property
    def failed(self) -> np.ndarray:
        """Which configurations had a fit without a score, bool[K]."""
        return self.evidence.failures > 0

    @property
    def stopped(self) -> bool:
        """Whether the search ended by itself."""
        return self._ended

    @property
    def best(self) -> int:
        """The recommended configuration."""
        return self.evidence.recommended(self._present) if self._present.any() else 0

    def achieved(self, arm: int) -> float:
        """Return by how much at most the mean of a configuration is below the best one; inf if nothing is known."""
        return math.inf if self.failed[arm] else self.evidence.achieved(arm)

    def certificate(self, arm: int, names: tuple[str, ...], remarks: tuple[str, ...]) -> Certificate:
        """Return what is known of a configuration."""
        delta, race = self.criterion.delta, self.halving is None
        low, high = self._intervals()
        outliers = self._outliers(arm, names)
        made = Certificate(
            rule=self.criterion.rule if race else "sequential_halving",
            guarantee=Promise(delta, self.criterion.epsilon or 0.0, 1, not outliers) if race else None,
            stopped=self.stopped,
            means=self.evidence.location(),
            low=low,
            high=high,
            coverage=1 - delta,
            assumptions=tuple(self._assumptions()),
            achieved=self.achieved(arm),
            needed=self.needed if self.criterion.score_range is None else None,
            **what_scores_say(self.evidence, arm, names, delta, (*remarks, *outliers)),
        )
        return withdrawn(made)

    def _outliers(self, arm: int, names: tuple[str, ...]) -> tuple[str, ...]:
        """Remarks on differences that are not normal."""
        return tuple(
            f"the differences with {names[rival]} are not normal (one of {size} is {deviation:.1f} standard deviations "
            "from the mean): the error probability may exceed delta; with a known range give score_range="
            for rival, deviation, size in (self.evidence.outliers(arm) if self.count > 1 else [])
        )

    def _intervals(self) -> tuple[np.ndarray, np.ndarray]:
        """Intervals that contain all means at all times, float64[K] each, within the range of a score."""
        n, means, variances = self.evidence.moments()
        level = self.criterion.delta / (2 * self.count)
        if self.criterion.score_range is None:
            low, high = normal_arms(n, means, variances, math.log(level))
            return np.maximum(low, self._limits[0]), np.minimum(high, self._limits[1])
        least, most = self.criterion.score_range
        ends = []
        for sample in self.evidence.samples:
            x = (np.array([score for score in sample if not math.isnan(score)]) - least) / (most - least)
            ends.append(stated_interval(x, level))
        low, high = least + (most - least) * np.array(ends).T
        return low, high

    def _assumptions(self) -> list[str]:
        taken = [RANDOM]
        if self.criterion.score_range is None:
            by_arm = self.criterion.separately(self.evidence.stages)
            taken += [NORMAL_ARMS if by_arm else NORMAL, RARE, *([] if by_arm else [INTERVALS])]
        else:
            taken.append("each score is in [{:g}, {:g}]".format(*self.criterion.score_range))
        return [*taken, *([RELIABLE] if self.failed.any() else []), SPLITS]


class RuleSearch(SplitSearch):
    """A search whose rule the user has given."""

    def __init__(self, rule: Algorithm, count: int, limits: Range, *, seed: int):
        """Begin the rule's session."""
        low, high = map(float, fit.limits(rule.rewards))
        bounded = (low, high) if math.isfinite(high - low) else None
        delta = DELTA if rule.promise is None else float(rule.promise.delta)
        criterion = Criterion(delta, score_range=bounded)
        super().__init__(count, criterion, limits if bounded is None else NO_RANGE, max_fits=None, seed=seed)
        self.rule, self.range = rule, (low, high)
        arms = np.arange(count)
        self._play = RulePlay(session(rule, seed=seed, paired=True), arms, np.zeros_like(arms))

    @property
    def session(self) -> Session:
        """The rule's session."""
        return self._play.session

    def requests(self) -> Iterator[Request]:
        """Yield the pairs of a configuration and a split that the rule asks for."""
        yield from self._play.requests(self.evidence)

    @property
    def stopped(self) -> bool:
        """Whether the rule has stopped."""
        return self._play.session.stopped

    @property
    def best(self) -> int:
        """The configuration that the rule recommends."""
        return self._play.arm

    def certificate(self, arm: int, names: tuple[str, ...], remarks: tuple[str, ...]) -> Certificate:
        """Return the rule's certificate, with what is known of a configuration."""
        own = certificate(self._play.session)
        low, high = own.low, own.high
        assert low is not None and high is not None
        assumptions = [line for line in own.assumptions if line != COMMON_KEYS]
        notes = (*remarks, *self._outliers(arm, names))
        said = what_scores_say(self.evidence, arm, names, self.criterion.delta, notes)
        said |= {"survivors": own.survivors, "contradiction": own.contradiction or said["contradiction"]}
        made = dataclasses.replace(
            own,
            means=self.evidence.location(),
            low=np.maximum(low, self._limits[0]),
            high=np.minimum(high, self._limits[1]),
            assumptions=(*assumptions, RANDOM, SPLITS),
            achieved=self.achieved(arm),
            **said,
        )
        return withdrawn(made)
