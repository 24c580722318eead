"""What a decision has to reach: which property of the scores is compared, how exactly, and with what probability."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from jaxbandit.base.arguments import Count, Distance, Share
from jaxbandit.base.calls import record
from jaxbandit.base.parameters import Arg
from jaxbandit.support import checks
from jaxbandit.support.columns import LARGEST
from jaxbandit.support.domains import RANGE, Domain, Outside, number

DELTA = 0.05  # by default
WORDS = "stop", "separate"  # values of on_failure besides numbers


def _range(value: Any) -> tuple[float, float]:
    low, high = RANGE.take(value)
    if max(-low, high) > LARGEST:
        raise Outside(value, RANGE.allowed)
    return low, high


def _failure(given: Mapping[str, Any]) -> Domain:
    score = number(*(given["score_range"] or (-LARGEST, LARGEST)))
    allowed = f'{score.allowed}, "stop" or "separate"'

    def take(value: Any) -> Any:
        if isinstance(value, str) and value in WORDS:
            return value
        try:
            return score.take(value)
        except Outside:
            raise Outside(value, allowed) from None

    return Domain(allowed, take)


@record
@dataclass(frozen=True)
class Goal:
    """What a decision has to reach. Every field is checked when the record is made; verbs take a number as `epsilon`.

    Attributes:
      delta: error probability of all statements together, in (0, 1). None means 0.05, or that of a given rule.
      epsilon: tolerated difference from the best, >= 0, in units of the score, at which the decision ends. None means
        0, with which two equally good choices are compared until the budget ends.
      quantile: p in (0, 1), to compare p-quantiles of the scores instead of means, for any law of the scores.
      worst: w in (0, 1), to compare the means of the worst share w of the scores, such as 0.25 for the worst quarter:
        the smallest ones, or the largest ones if small scores are good. It needs score_range, without which nothing is
        known of such a mean.
      score_range: (low, high) such that all scores are in this range. The statements are then proved without assuming
        that scores are normal.
      resolution: distance between neighboring values of a score, such as 1/360 for accuracies on 360 examples, >= 0.
      maximize: whether large scores are good.
      min_trainings: number of common seeds before which nothing is dropped and the decision does not end by epsilon,
        >= 1. None means 14, or fewer where the budget does not allow it. It bounds the rare events that a certificate
        cannot exclude: with 14 trainings, those in fewer than 19 % of them, at level 0.05.
      on_failure: what happens if a training raises an exception, or returns a number that is not finite or of modulus
        above 1e150. None, or "stop", ends the search with an error. A number is the score of such a training.
        "separate" means that the mean is that over the other trainings, and that only those are recommended that are
        known to fail in at most a share `max_failure_rate` of their trainings; as long as this is known of none, only
        those that do so with a probability of 0.9 a posteriori, or else those that have failed least.
      max_failure_rate: largest tolerated failure rate for "separate", in (0, 1).

    Raises:
      ValueError: a field is out of range, or excludes another one that is given.
    """

    delta: Share | None = None
    epsilon: Distance | None = None
    quantile: Share | None = None
    worst: Share | None = None
    score_range: Annotated[tuple[float, float], Arg(Domain(RANGE.allowed, _range))] | None = None
    resolution: Distance = 0.0
    maximize: bool = True
    min_trainings: Count | None = None
    on_failure: Annotated[float | str, Arg(_failure)] | None = None
    max_failure_rate: Share | None = None

    def __post_init__(self) -> None:
        if (self.on_failure == "separate") != (self.max_failure_rate is not None):
            both = 'on_failure="separate" and max_failure_rate must be given together, such as max_failure_rate=0.1'
            raise ValueError(both)
        if self.worst is not None and self.score_range is None:
            raise ValueError("worst needs score_range, the range of the scores, such as score_range=(0, 1)")
        separate = None if self.max_failure_rate is None else 'on_failure="separate"'
        pairs = ("quantile", "score_range"), ("resolution", "score_range"), ("resolution", "quantile")
        given = {name for name in ("quantile", "score_range", "resolution") if getattr(self, name) not in (None, 0.0)}
        for one, other in (*pairs, *((separate, name) for name in ("score_range", "quantile") if separate)):
            if other in given and (one in given or one == separate):
                raise ValueError(f"{one} and {other} are both given; give one of them")


def goal_of(goal: Any) -> Goal:
    """Return what the argument `goal` of a verb means: a Goal, a number as its epsilon, or None for the default."""
    if isinstance(goal, Goal):
        return goal
    if goal is None:
        return Goal()
    if isinstance(goal, bool) or not hasattr(goal, "__float__"):
        checks.wrong("goal", goal, "a jb.Goal, or a number, the tolerated difference from the best")
    return Goal(epsilon=goal)
