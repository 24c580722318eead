"""What a search decides by: which property of the scores, under which assumption, at which error probability.

Configurations may enter a search in stages. Comparisons of one that entered in stage g have the level
delta_g / (K_g - 1) for ever, where K_g is the number of configurations after that stage. If scores may have been looked
at before it, they use only seeds that nobody had asked for by then (docs/mathematics.md, "Arms that enter later").
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from jaxbandit.decide.core.goal import DELTA, Goal
from jaxbandit.theory.comparisons import betting, pairs
from jaxbandit.theory.comparisons.betting import BoundedDifferences
from jaxbandit.theory.comparisons.pairs import PairedDifferences
from jaxbandit.theory.quantile_bounds import QuantileBounds
from jaxbandit.theory.shortfall_bounds import ShortfallBounds, worst_mean

UNSEEN = 14  # default of min_trainings: at delta = 0.05, what happens in 19 % of the trainings has been seen

NORMAL = "the differences between two configurations' scores at the same seed are normal"
NORMAL_ARMS = "the scores of each configuration are normal"
RARE = (
    "the guarantee fails for rare events in either direction: if a rival has rare failures, which have not occurred "
    "when it is compared, and if the best configuration owes its mean to rare large scores"
)


class Stage(NamedTuple):
    """Configurations that entered a search together."""

    size: int  # number of configurations after it, K_g
    first: int  # first seed that counts in comparisons with them
    blind: bool  # whether nobody had looked at scores, or the configurations do not depend on them


def first_seeds(stages: Sequence[Stage]) -> np.ndarray:
    """Return the first seed at which each configuration is trained, int64[K]."""
    return np.repeat([stage.first for stage in stages], np.diff([0, *(stage.size for stage in stages)]))


@dataclass(frozen=True)
class Criterion(Goal):
    """A goal of which every field that decides has a value; none of them is checked again."""

    delta: float = DELTA
    min_trainings: int = 1
    on_failure: float | str = "stop"
    growth: bool = False  # whether stages were announced, so that their error probabilities add up to delta
    unpaired: bool = False  # whether seeds of equal numbers have nothing in common
    pool: int | None = None  # number of items over which means are, of which each takes the place of one seed

    def __post_init__(self) -> None:
        pass

    @property
    def p(self) -> float | None:
        """The quantile of the rewards that is compared, which are negated scores if small scores are good."""
        return self.quantile if self.quantile is None or self.maximize else 1 - self.quantile

    @property
    def by_arms(self) -> bool:
        """Whether each configuration has bounds of its own, in place of bounds for pairs."""
        return self.of_samples or self.max_failure_rate is not None

    @property
    def of_samples(self) -> bool:
        """Whether what is compared is another property of a sample than its mean."""
        return self.quantile is not None or self.worst is not None

    def estimate(self, rewards: Sequence[float]) -> float:
        """Return what is compared of a sample that is not empty, if it is not a mean."""
        if self.worst is not None:
            return worst_mean(rewards, self.worst)
        return float(np.quantile(rewards, self.p or 0.0, method="inverted_cdf"))  # a reward, as the bounds are

    def sample_bounds(self, alpha: float) -> QuantileBounds | ShortfallBounds:
        """Return bounds of it before the first reward, each of which may be wrong with probability alpha."""
        if self.worst is None:
            return QuantileBounds(self.p or 0.0, alpha)
        assert self.score_range is not None
        least, most = self.score_range
        return ShortfallBounds(self.worst, alpha, *((least, most) if self.maximize else (-most, -least)))

    @property
    def rule(self) -> str:
        """The name of the race that the criterion defines."""
        if self.of_samples:
            return "quantile_race" if self.worst is None else "shortfall race"
        return "paired_race" if self.score_range is None else "bounded paired_race"

    def deltas(self, stages: Sequence[Stage]) -> list[float]:
        """Return the error probability of each stage."""
        if self.growth:
            return [self.delta / ((g + 1) * (g + 2)) for g in range(len(stages))]
        return [self.delta / 2**g for g in range(len(stages))]

    def error(self, stages: Sequence[Stage]) -> float:
        """Return the probability that some statement about these stages is wrong, at most."""
        if not self.separately(stages):
            return self.delta if self.growth else math.fsum(self.deltas(stages))
        levels = self.arm_levels(stages)
        before = [levels[: stage.size].max() for stage in stages[:-1]]  # the best so far needs a lower bound later
        return math.fsum([*levels, *before])

    def separately(self, stages: Sequence[Stage]) -> bool:
        """Whether configurations are compared by bounds of their own."""
        most = (pairs if self.score_range is None else betting).MOST_ARMS
        return self.unpaired or self.by_arms or stages[-1].size > most

    def arm_levels(self, stages: Sequence[Stage]) -> np.ndarray:
        """Return the error probability of each configuration, float64[K], if they are compared by bounds of their own.

        It is delta_g over the number of newcomers of stage g, and from stage 1 on half of that, because the lower bound
        of the best one so far may be needed too.
        """
        sizes = np.diff([0, *(stage.size for stage in stages)])
        shares = [
            delta / size / (2 if g else 1)
            for g, (delta, size) in enumerate(zip(self.deltas(stages), sizes, strict=True))
        ]
        return np.repeat(shares, sizes)

    def differences(self, stages: Sequence[Stage]) -> PairedDifferences | BoundedDifferences:
        """Return the comparison of all pairs before the first score."""
        count, level, first = stages[-1].size, self.pair_levels(stages), self.first_seeds(stages)
        if self.score_range is not None:
            width = self.score_range[1] - self.score_range[0]
            return BoundedDifferences(count, level, width, first=first, min_size=self.min_trainings, pool=self.pool)
        options = {"min_size": self.min_trainings, "resolution": self.resolution, "pool": self.pool}
        return PairedDifferences(count, level, first=first, **options)

    def pair_levels(self, stages: Sequence[Stage]) -> np.ndarray:
        """Return the log of the level of each pair, float64[] or float64[K, K]."""
        logs = [math.log(d) - math.log(max(s.size - 1, 1)) for d, s in zip(self.deltas(stages), stages, strict=True)]
        return np.asarray(logs[0]) if len(stages) == 1 else np.array(logs)[_later(stages)]

    def first_seeds(self, stages: Sequence[Stage]) -> np.ndarray | int:
        """Return the first seed that counts for each pair, int[K, K], or 0 for all."""
        return 0 if len(stages) == 1 else np.array([stage.first for stage in stages])[_later(stages)]

    def needed(self, stages: Sequence[Stage]) -> int | None:
        """Return the trainings of each configuration without which nothing is known; None if none is needed."""
        if self.score_range is not None or self.by_arms:
            return None
        level = math.log(self.arm_levels(stages).min()) if self.separately(stages) else self.pair_levels(stages).min()
        least = max(pairs.smallest_sample(level), self.min_trainings)
        return least if self.pool is None else min(least, self.pool)

    def assumptions(self, stages: Sequence[Stage], paired: bool) -> list[str]:
        """Return what is assumed about the scores, in sentences."""
        seeds = "seeds of all configurations are" if paired else "seeds of each configuration are"
        taken = [f"the {seeds} independent draws from one distribution"]
        if self.pool is not None:
            taken = [f"means are those over the {self.pool:,} items of the pool, which are scored in a random order"]
        if self.quantile is None and self.score_range is None:
            by_arm = self.separately(stages)
            taken += [NORMAL_ARMS if by_arm else NORMAL, RARE]
            if self.resolution:
                taken[1] += (
                    f" before they are rounded to multiples of {self.resolution:g}; means are those before rounding"
                )
        if self.score_range is not None:
            taken.append(f"all scores are in [{self.score_range[0]:g}, {self.score_range[1]:g}]")
        for stage in stages[1:]:
            if stage.blind:
                taken.append("configurations that were added as blind were chosen without looking at any score")
        return list(dict.fromkeys(taken))


def _later(stages: Sequence[Stage]) -> np.ndarray:
    """The later of the two stages of each pair of configurations, int[K, K]."""
    of_arm = np.repeat(np.arange(len(stages)), np.diff([0, *(stage.size for stage in stages)]))
    return np.maximum(of_arm[:, None], of_arm)
