"""The arguments of a search, checked: what is compared, which rule decides, and what happens to failed trainings."""

import math
from typing import Any, NamedTuple

from jaxbandit.base.contract import Algorithm
from jaxbandit.decide.sessions.rewards import LARGEST
from jaxbandit.decide.tuning.configs import Configs
from jaxbandit.decide.tuning.criterion import UNSEEN, Criterion
from jaxbandit.decide.tuning.rules import DELTA, check_agreement
from jaxbandit.engine.rounds import fit
from jaxbandit.support import checks
from jaxbandit.support.refusals import refuse, show

WORDS = ("stop", "separate")  # values of on_failure besides numbers


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
    space: Configs,
    rule: Algorithm | None,
    *,
    delta: Any,
    epsilon: Any,
    max_trainings: int | None,
    timeout: Any,
    on_failure: Any,
    max_failure_rate: Any,
    min_trainings: Any,
    score_range: Any,
    quantile: Any,
    resolution: Any,
    growth: bool,
    maximize: bool,
) -> Settings:
    """Return the checked arguments of a search; `where` is the name of the caller, the others are those of `tune`."""
    if space.count < 2:
        refuse(where, ": configs holds 1 configuration, must hold 2 or more")
    if rule is not None:
        _check_rule(where, rule, space, delta, epsilon, max_trainings is not None or timeout is not None)
        if rule.promise is not None:
            delta = float(rule.promise.delta)
    elif epsilon is None and max_trainings is None and timeout is None:
        allowed = "give the tolerated difference from the best mean score, such as epsilon=0.005, or a budget"
        refuse(where, f": epsilon, max_trainings and timeout are all missing; {allowed}")
    delta = _number(where, "delta", DELTA if delta is None else delta, 0.0, 1.0, open=True)
    if epsilon is not None:
        epsilon = _number(where, "epsilon", epsilon, 0.0)
    limits = -math.inf, math.inf
    whose = ""
    if rule is not None and rule.rewards is not None:
        low, high = fit.limits(rule.rewards)
        mirrored = maximize or math.isfinite(low + high)  # a finite range is that of the mirror images, too
        limits = (float(low), float(high)) if mirrored else (0.0 - float(high), 0.0 - float(low))
        whose = f"for which {rule.name} is made"
    if score_range is not None:
        limits, whose = _range(where, score_range), "given by score_range"
    bounded = all(map(math.isfinite, limits))
    if quantile is not None:
        quantile = _number(where, "quantile", quantile, 0.0, 1.0, open=True)
        _alone(where, "quantile", score_range=score_range, rule=rule, max_failure_rate=max_failure_rate)
        quantile = quantile if maximize else 1 - quantile
    resolution = _number(where, "resolution", resolution, 0.0)
    if resolution:
        _alone(where, "resolution", score_range=score_range, quantile=quantile)
    failure = _failure(where, on_failure, max_failure_rate, rule, limits)
    if failure == "separate":
        _alone(where, 'on_failure="separate"', score_range=score_range, quantile=quantile)
        max_failure_rate = _number(where, "max_failure_rate", max_failure_rate, 0.0, 1.0, open=True)
    if min_trainings is not None:
        min_trainings = checks.integer(where, "min_trainings", min_trainings, 1)
    elif rule is not None or quantile is not None:
        min_trainings = 1
    else:
        few = UNSEEN if max_trainings is None else max_trainings // (2 * space.count)
        min_trainings = max(min(UNSEEN, few), 1)
    criterion = Criterion(
        delta=delta,
        epsilon=epsilon,
        score_range=(limits[0], limits[1]) if bounded else None,
        quantile=quantile,
        resolution=resolution,
        min_trainings=min_trainings,
        max_failure_rate=max_failure_rate,
        maximize=bool(maximize),
        growth=bool(growth),
    )
    return Settings(criterion, rule, limits[0], limits[1], whose, failure)


def _check_rule(where: str, rule: Algorithm, space: Configs, delta: Any, epsilon: Any, budget: bool) -> None:
    fit.check_kind(f"{where}: rule", rule, Algorithm)
    check_agreement(where, rule, delta, epsilon)
    if rule.stop is None and not budget:
        what = f": rule = {rule.name} never stops by itself; give max_trainings or timeout, or a rule that stops"
        refuse(where, f"{what}, such as paired_race")
    if rule.arms is not None and (rule.arms.set_size is not None or rule.arms.num_contexts is not None):
        refuse(where, f": rule = {rule.name} pulls sets of arms or is given contexts, must pull single arms")


def _number(where: str, name: str, value: Any, low: float, high: float = math.inf, *, open: bool = False) -> float:
    return float(checks.number(where, name, value, low=low, high=high, open_low=open, open_high=open))


def _range(where: str, score_range: Any) -> tuple[float, float]:
    try:
        low, high = map(float, score_range)
    except (TypeError, ValueError):
        refuse(where, f": score_range = {show(score_range)}, must be two numbers, (low, high)")
    if not -LARGEST <= low < high <= LARGEST:
        refuse(where, f": score_range = {show(score_range)}, must be finite with low < high")
    return low, high


def _failure(
    where: str, on_failure: Any, max_failure_rate: Any, rule: Algorithm | None, limits: tuple[float, float]
) -> float | str:
    """What happens to failed trainings: a score, "stop" or "separate"."""
    if (on_failure == "separate") != (max_failure_rate is not None):
        refuse(
            where, ': on_failure="separate" and max_failure_rate must be given together, such as max_failure_rate=0.1'
        )
    if on_failure is None:
        return "stop"
    if isinstance(on_failure, str):
        if on_failure not in WORDS:
            refuse(where, f': on_failure = {show(on_failure)}, must be a number, "stop" or "separate"')
        if on_failure == "separate" and rule is not None:
            refuse(
                where, f': on_failure = "separate" is given with rule = {rule.name}, which needs a score; give a number'
            )
        return on_failure
    low, high = max(limits[0], -LARGEST), min(limits[1], LARGEST)
    return float(checks.number(where, "on_failure", on_failure, low=low, high=high))


def _alone(where: str, name: str, **others: Any) -> None:
    """Raise an error if an argument is given together with one that it excludes."""
    for other, value in others.items():
        if value is not None:
            refuse(where, f": {name} and {other} are both given; give one of them")
