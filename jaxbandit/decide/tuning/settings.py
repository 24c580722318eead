"""What a goal means for a search: what is compared, which rule decides, and what happens to failed trainings."""

import math
from typing import NamedTuple

from jaxbandit.base.contract import Algorithm
from jaxbandit.decide.core.goal import Goal
from jaxbandit.decide.tuning.criterion import UNSEEN, Criterion
from jaxbandit.decide.tuning.rules import DELTA, check_agreement
from jaxbandit.engine.rounds import fit
from jaxbandit.support import checks
from jaxbandit.support.refusals import refuse


class Settings(NamedTuple):
    """Checked arguments of a search."""

    criterion: Criterion
    rule: Algorithm | None
    low: float  # range of scores
    high: float
    whose: str  # of this range, for messages
    on_failure: float | str


def settings(
    where: str,
    count: int,
    rule: Algorithm | None,
    goal: Goal,
    *,
    trainings: int | None = None,
    ends: bool = False,
    growth: bool = False,
) -> Settings:
    """Return what a goal means for a search.

    Args:
      where: name of the caller, for messages.
      count: number of configurations.
      rule: the rule that decides what is trained, or None.
      goal: the goal.
      trainings: the budget of trainings, or None.
      ends: whether something else will end the search.
      growth: as for `tune`.
    """
    if count < 2:
        refuse(where, ": configs holds 1 configuration, must hold 2 or more")
    budget, delta = trainings is not None or ends, goal.delta
    if rule is not None:
        _check_rule(where, rule, goal, budget)
        if rule.promise is not None:
            delta = rule.promise.delta
    elif goal.epsilon is None and not budget:
        allowed = "give the tolerated difference from the best mean score, such as goal=0.005, or a budget"
        refuse(where, f": epsilon and a budget are both missing; {allowed}")
    limits, whose = (-math.inf, math.inf), ""
    if rule is not None and rule.rewards is not None:
        low, high = map(float, fit.limits(rule.rewards))
        mirrored = goal.maximize or math.isfinite(low + high)  # a finite range is that of the mirror images, too
        limits, whose = (low, high) if mirrored else (0.0 - high, 0.0 - low), f"for which {rule.name} is made"
    if goal.score_range is not None:
        limits, whose = goal.score_range, "given by score_range"
    if isinstance(goal.on_failure, float):
        checks.number(where, "on_failure", goal.on_failure, low=limits[0], high=limits[1])
    return Settings(
        Criterion(
            delta=DELTA if delta is None else float(delta),
            epsilon=goal.epsilon,
            score_range=limits if all(map(math.isfinite, limits)) else None,
            quantile=goal.quantile if goal.quantile is None or goal.maximize else 1 - goal.quantile,
            resolution=goal.resolution,
            min_trainings=goal.min_trainings or _min_trainings(goal, rule, trainings, count),
            max_failure_rate=goal.max_failure_rate,
            maximize=goal.maximize,
            growth=growth,
        ),
        rule,
        *limits,
        whose,
        "stop" if goal.on_failure is None else goal.on_failure,
    )


def _min_trainings(goal: Goal, rule: Algorithm | None, trainings: int | None, count: int) -> int:
    if rule is not None or goal.quantile is not None:
        return 1
    return max(min(UNSEEN, UNSEEN if trainings is None else trainings // (2 * count)), 1)


def _check_rule(where: str, rule: Algorithm, goal: Goal, budget: bool) -> None:
    fit.check_kind(f"{where}: rule", rule, Algorithm)
    check_agreement(where, rule, goal.delta, goal.epsilon)
    if rule.stop is None and not budget:
        what = f": rule = {rule.name} never stops by itself; give a budget, or a rule that stops"
        refuse(where, f"{what}, such as paired_race")
    if rule.arms is not None and (rule.arms.set_size is not None or rule.arms.num_contexts is not None):
        refuse(where, f": rule = {rule.name} pulls sets of arms or is given contexts, must pull single arms")
    if goal.quantile is not None:
        refuse(where, ": quantile and rule are both given; give one of them")
    if goal.on_failure == "separate":
        what = f': on_failure = "separate" is given with rule = {rule.name}, which needs a score; give a number'
        refuse(where, what)
