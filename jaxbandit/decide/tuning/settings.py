"""What a goal means for a search: what is compared, which rule decides, and what happens to failed trainings."""

import math
from typing import NamedTuple

from jaxbandit.base.contract import Algorithm
from jaxbandit.decide.core.goal import DELTA, Goal
from jaxbandit.decide.sessions.rewards import usable
from jaxbandit.decide.tuning.calls import Part, remedy
from jaxbandit.decide.tuning.criterion import UNSEEN, Criterion, Stage
from jaxbandit.decide.tuning.store import VALUE, Failure, Outcome
from jaxbandit.engine.rounds import fit
from jaxbandit.support import checks, domains
from jaxbandit.support.types import Scalar


class Settings(NamedTuple):
    """Checked arguments of a search."""

    criterion: Criterion
    rule: Algorithm | None
    low: float  # range of scores
    high: float
    whose: str  # of this range, for messages

    @property
    def mirror(self) -> float:
        """What is added to a reward before a rule is told, so that minus a loss is in the range of the rule."""
        return 0.0 if self.criterion.maximize or not math.isfinite(self.low + self.high) else self.low + self.high

    def score(self, outcome: Outcome) -> float:
        """Return the score of an outcome, NaN for a failed training that has none."""
        value = self.criterion.on_failure
        return value if math.isnan(outcome.score) and not isinstance(value, str) else outcome.score

    def refusal(self, outcome: Outcome) -> str:
        """Return why an outcome ends the search, in words that follow the configuration; "" if it does not."""
        score = self.score(outcome)
        if math.isnan(score):
            return (
                _told(outcome.failure or Failure(VALUE, "returns nan")) if self.criterion.on_failure == "stop" else ""
            )
        if self.low <= score <= self.high:
            return ""
        return f"returns {score}, must be in {domains.interval(self.low, self.high)}, {self.whose}"

    def taken(self, part: Part, *, final: bool) -> tuple[list[tuple[int, Outcome]], tuple[int, str] | None]:
        """Return the outcomes of trainings by their places, and the first place that ends the search with the reason.

        Unless they are `final`, failed ones will be tried again, and have no outcome.
        """
        ended, refusal = [], None
        for place, score in zip(part.places.tolist(), part.scores.tolist(), strict=True):
            limit = "" if math.isnan(score) else ", |score| > 1e150"
            failure = None if usable(score) else part.failure or Failure(VALUE, f"returns {score}{limit}")
            if failure and (part.fatal or self.criterion.on_failure == "stop"):
                refusal = refusal or (place, failure.text if part.fatal else _told(failure))
            elif final or not failure:
                ended.append((place, Outcome(math.nan if failure else score, part.attempts, failure)))
        return ended, refusal


def settings(
    count: int,
    rule: Algorithm | None,
    goal: Goal,
    *,
    trainings: int | None = None,
    ends: bool = False,
    growth: bool = False,
    pool: int | None = None,
) -> Settings:
    """Return what a goal means for a search; `ends` says whether something else than the trainings will end it.

    With a `pool`, means over so many items are compared.
    """
    if count < 2:
        raise ValueError("configs holds 1 configuration, must hold 2 or more")
    budget, delta = trainings is not None or ends, goal.delta
    if rule is not None:
        _check_rule(rule, goal, budget)
        if rule.promise is not None:
            delta = rule.promise.delta
    elif goal.epsilon is None and not budget:
        allowed = "give the tolerated difference from the best mean score, such as goal=0.005, or a budget"
        raise ValueError(f"epsilon and a budget are both missing; {allowed}")
    limits, whose = (-math.inf, math.inf), ""
    if rule is not None and rule.rewards is not None:
        low, high = map(float, fit.limits(rule.rewards))
        mirrored = goal.maximize or math.isfinite(low + high)  # a finite range is that of the mirror images, too
        limits, whose = (low, high) if mirrored else (0.0 - high, 0.0 - low), f"for which {rule.name} is made"
    if goal.score_range is not None:
        limits, whose = goal.score_range, "given by score_range"
    if isinstance(goal.on_failure, float):
        checks.take("on_failure", goal.on_failure, domains.number(*limits))
    resolved = {
        "delta": DELTA if delta is None else float(delta),
        "score_range": limits if all(map(math.isfinite, limits)) else None,
        "min_trainings": goal.min_trainings or _min_trainings(goal, rule, trainings, count),
        "on_failure": "stop" if goal.on_failure is None else goal.on_failure,
    }
    if pool is not None:
        resolved["min_trainings"] = min(resolved["min_trainings"], pool)
    criterion = Criterion(**{**vars(goal), **resolved}, growth=growth, pool=pool)
    if pool is not None and criterion.separately([Stage(count, 0, False)]):
        raise ValueError(f"pool compares pairs, and {count:,} configurations are too many; give fewer")
    return Settings(criterion, rule, *limits, whose)


def _told(failure: Failure) -> str:
    return f"{failure.text}; {remedy(failure)}"


def _min_trainings(goal: Goal, rule: Algorithm | None, trainings: int | None, count: int) -> int:
    if rule is not None or goal.quantile is not None or goal.worst is not None:
        return 1
    return max(min(UNSEEN, UNSEEN if trainings is None else trainings // (2 * count)), 1)


def _check_rule(rule: Algorithm, goal: Goal, budget: bool) -> None:
    fit.check_kind("rule", rule, Algorithm)
    check_agreement(rule, goal.delta, goal.epsilon)
    if rule.stop is None and not budget:
        what = f"rule = {rule.name} never stops by itself; give a budget, or a rule that stops"
        raise ValueError(f"{what}, such as paired_race")
    if rule.arms is not None and (rule.arms.set_size is not None or rule.arms.num_contexts is not None):
        raise ValueError(f"rule = {rule.name} pulls sets of arms or is given contexts, must pull single arms")
    for name in ("quantile", "worst"):
        if getattr(goal, name) is not None:
            raise ValueError(f"{name} and rule are both given; give one of them")
    if goal.on_failure == "separate":
        what = f'on_failure = "separate" is given with rule = {rule.name}, which needs a score; give a number'
        raise ValueError(what)


def check_agreement(rule: Algorithm, delta: Scalar | None, epsilon: float | None) -> None:
    """Check that a delta or an epsilon given next to a rule equals the rule's own."""
    for name, value in (("delta", delta), ("epsilon", epsilon)):
        if value is None:
            continue
        own = None if rule.promise is None else float(getattr(rule.promise, name))
        if own != value:
            says = "has no guarantee" if own is None else f"has {name} = {own:g}"
            raise ValueError(
                f"{name} = {value} is given with rule = {rule.name}, which {says}; give it to the rule only"
            )
