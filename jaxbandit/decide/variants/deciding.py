"""The decision between the variants of a log whose visitors are ready to be compared."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from jaxbandit.decide.variants import bounds, covariates, order, remarks
from jaxbandit.decide.variants import stages as staging
from jaxbandit.decide.variants.bounds import NO_LIFT, Contrast, Lift
from jaxbandit.decide.variants.guardrails import Guardrail
from jaxbandit.decide.variants.outcomes import Kind
from jaxbandit.decide.variants.pairs import AllPairs, Pairs
from jaxbandit.decide.variants.quantiles import Quantiles
from jaxbandit.decide.variants.result import ABResult, Variant
from jaxbandit.decide.variants.segments import segments
from jaxbandit.decide.variants.split import LEVEL, split_p
from jaxbandit.decide.variants.stages import Stages
from jaxbandit.decide.variants.visitors import Visitors
from jaxbandit.theory.comparisons import achieved
from jaxbandit.theory.comparisons.contradiction import contradiction, contradictory


class Question(NamedTuple):
    """What is asked of a log."""

    control: int
    delta: float
    epsilon: float
    maximize: bool
    removed: list[int]
    planned: np.ndarray | None  # float64[variants], shares up to a factor; None if they are not fixed
    metric: str = ""
    guardrails: tuple[Guardrail, ...] = ()
    other_metrics: tuple[ABResult, ...] = ()  # of further metrics
    variance_removed: float = math.nan  # by a covariate
    harmful: Sequence[int] = ()  # variants that break a guardrail


class Knowledge(NamedTuple):
    """What is known of each variant, and how much it costs at most."""

    value: np.ndarray  # float64[variants], NaN without an outcome
    interval: list[tuple[float, float]]
    contrast: list[Contrast]  # with the control
    lift: list[Lift]  # over the control
    cost: np.ndarray  # float64[variants]
    excluded: np.ndarray  # bool[variants]
    missing: str
    contradiction: str  # the first line of a result whose bounds contradict each other, or ""

    def withdrawn(self, contradiction: str) -> "Knowledge":
        """Return the estimates without anything that is claimed."""
        unknown = np.full(len(self.cost), np.inf)
        contrast = [Contrast(d.pairs, d.value, -np.inf, np.inf) if d.pairs else d for d in self.contrast]
        intervals = [(-np.inf, np.inf)] * len(contrast)
        lifts = [Lift(lift.value) for lift in self.lift]
        return Knowledge(self.value, intervals, contrast, lifts, unknown, unknown < 0, self.missing, contradiction)


def decided(asked: Question, log: Visitors, kind: Kind, stages: Stages, assumptions: tuple[str, ...],
            notes: tuple[str, ...]) -> ABResult:  # fmt: skip
    """Return the decision; there is none if bounds contradict each other, or if the split is not as planned."""
    c, variants = asked.control, range(len(log.names))
    p = None if asked.planned is None else split_p(log, stages, asked.planned)
    broken = {g.variant for g in asked.guardrails if g.state == "broken"}
    asked = asked._replace(harmful=[v for v in variants if log.names[v] in broken])
    pairs = Pairs(log, stages, kind, asked.planned)
    found = _of_means(asked, stages, pairs) if kind.p is None else _of_quantiles(asked, stages, pairs, kind.p)
    changes = [change for v in variants if v != c and (change := remarks.change(pairs, v, c)) is not None]
    certain = [change.words for change in changes if not log.ordered and change.p < order.LEVEL]
    if contradicted := found.contradiction or (contradiction(found=certain[0]) if certain else ""):
        found = found.withdrawn(contradicted)
    alerts = [contradicted, covariates.imbalance(pairs, c), "" if p is None or p >= LEVEL else remarks.split(p)]
    alerts += [line for other in asked.other_metrics for line in other.alerts]
    alerts = tuple(filter(None, dict.fromkeys(alerts)))
    sign = 1 if asked.maximize else -1
    values = -sign * np.nan_to_num(found.value, nan=-np.inf * sign)
    allowed = [v for v in variants if v not in asked.removed and v not in asked.harmful]
    choice = min(allowed, key=lambda v: (found.excluded[v], found.cost[v], values[v]))
    unsure = tuple(g for g in asked.guardrails if g.variant == log.names[choice] and g.state != "kept")
    sure = not alerts and not unsure and bool(found.cost[choice] <= asked.epsilon)
    left = [v for v in allowed if alerts or not found.excluded[v]]
    shown = [choice] if sure else left or [choice]
    level = staging.pair_levels(stages, _comparisons(asked, stages))
    parts = segments(pairs, stages, level, c) if kind.p is None and not contradicted else []
    open_ = ~(log.final & np.isfinite(log.outcome))
    states = [
        Variant(
            name=log.names[v],
            visitors=int((log.variant == v).sum()),
            open=int(open_[log.variant == v].sum()),
            mean=float(found.value[v]),
            low=found.interval[v][0],
            high=found.interval[v][1],
            pairs=found.contrast[v].pairs,
            difference=found.contrast[v].value,
            difference_low=found.contrast[v].low,
            difference_high=found.contrast[v].high,
            lift=found.lift[v].value,
            lift_low=found.lift[v].low,
            lift_high=found.lift[v].high,
            costs_at_most=float(found.cost[v]),
            excluded=bool(found.excluded[v]),
            removed=v in asked.removed,
            stage=int(stages.stage[v]),
            entry=int(stages.entry[v]),
            share=1 / len(shown) if v in shown else 0.0,
            path=found.contrast[v].path,
        )
        for v in variants
    ]
    return ABResult(
        variants=tuple(sorted(states, key=lambda v: (v.name != log.names[c], v.stage, v.name))),
        control=log.names[c],
        choice=log.names[choice],
        decision="go on" if not sure else "keep" if choice == c else "ship",
        costs_at_most=float(found.cost[choice]),
        delta=asked.delta,
        epsilon=asked.epsilon,
        maximize=asked.maximize,
        outcomes=kind.words,
        statistic=kind.statistic,
        alerts=alerts,
        missing=found.missing,
        split_p=p,
        assumptions=assumptions,
        notes=(*notes, *(change.words for change in changes)),
        metric=asked.metric,
        variance_removed=asked.variance_removed,
        guardrails=asked.guardrails,
        other_metrics=asked.other_metrics,
        segments=tuple(parts),
        plan=None,
    )


def _comparisons(asked: Question, stages: Stages) -> np.ndarray:
    """Return how many comparisons with the control each stage has, int64[stages]."""
    later = np.maximum(np.delete(stages.stage, asked.control), stages.stage[asked.control])
    return np.bincount(later, minlength=len(stages.level))


def _of_means(asked: Question, stages: Stages, pairs: Pairs) -> Knowledge:
    """Return what is known of the means, from pairs of visitors."""
    variants, c = range(len(stages.stage)), asked.control
    level = staging.pair_levels(stages, _comparisons(asked, stages))  # all intervals together
    contrasts = [_of_control(pairs, c) if v == c else pairs.contrast(v, c, float(level[v, c]) / 2, history=True)
                 for v in variants]  # fmt: skip
    known = [math.isfinite(contrast.low) for contrast in contrasts]
    lifts = [NO_LIFT if v == c else pairs.lift(v, c, float(level[v, c]) / 2, stated=known[v]) for v in variants]
    first = {(c, v): contrasts[v].contradicted for v in variants if contrasts[v].contradicted}
    size = np.array([(stages.stage <= g).sum() - 1 for g in range(len(stages.level))])
    comparison = AllPairs(pairs, staging.pair_levels(stages, size), asked.maximize, first, asked.harmful)
    cost = np.array([achieved.achieved_epsilon(comparison, [v]) for v in variants])
    if len(cost) == 1:  # before a test, nothing is known
        cost = np.full(1, np.inf)
    values = np.array([pairs.mean(v) for v in variants])
    intervals = _intervals(stages, pairs)
    low, high = np.array(intervals).T
    bad = np.flatnonzero(contradictory(low, high, values))
    said = remarks.contradicted(pairs.log.names, first, comparison.cycle, bad.tolist())
    return Knowledge(values, intervals, contrasts, lifts, cost, comparison.excluded(), comparison.missing, said)


def _of_control(pairs: Pairs, control: int) -> Contrast:
    """Return the contrast of the control with itself."""
    return Contrast(len(pairs.rows[control]), 0.0, 0.0, 0.0)


def _intervals(stages: Stages, pairs: Pairs) -> list[tuple[float, float]]:
    """Return the interval of the mean of each variant, all of them together at level delta."""
    log, kind, found = pairs.log, pairs.kind, []
    for v, alpha in enumerate(_own_levels(stages).tolist()):
        rows = pairs.rows[v]
        if not kind.bounded:
            known = np.isfinite(log.outcome[rows])
            rows = rows if known.all() else rows[: int(np.argmin(known))]
        per = None if log.per is None else log.per[rows]
        low, high = bounds.mean_interval(pairs.low[rows], pairs.high[rows], kind, alpha, per)
        if kind.binary and not log.final.all():  # today's zeros may only rise, so they may be used for the lower end
            today = pairs.low[log.variant == v]
            low = max(low, bounds.mean_interval(today, today, kind, alpha)[0])
        found.append((low, high))
    return found


def _own_levels(stages: Stages) -> np.ndarray:
    """Return the error probability of what is said of each variant alone, float64[variants]."""
    return np.asarray(stages.level[stages.stage] / np.bincount(stages.stage)[stages.stage])


def _of_quantiles(asked: Question, stages: Stages, pairs: Pairs, p: float) -> Knowledge:
    """Return what is known of a quantile, from the bounds of each variant."""
    variants, c = range(len(stages.stage)), asked.control
    found = Quantiles(pairs, p, _own_levels(stages), asked.maximize, asked.harmful)
    cost = np.array([achieved.achieved_epsilon(found.comparison, [v]) for v in variants])
    contrasts = [_of_control(pairs, c) if v == c else found.contrast(v, c) for v in variants]
    lifts = [NO_LIFT if v == c else found.lift(v, c) for v in variants]
    missing = "too few visitors for a bound of this quantile" if np.isinf(cost).all() else ""
    intervals = list(zip(found.low.tolist(), found.high.tolist(), strict=True))
    return Knowledge(found.value, intervals, contrasts, lifts, cost, found.comparison.excluded(), missing, "")
