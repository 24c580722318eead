"""The decision between the variants of a log whose visitors are ready to be compared."""

from typing import NamedTuple

import numpy as np

from jaxbandit.decide.variants import bounds, comparing, order, remarks
from jaxbandit.decide.variants import stages as staging
from jaxbandit.decide.variants.comparing import AllPairs, Difference, Pairs
from jaxbandit.decide.variants.preparing import Prepared
from jaxbandit.decide.variants.quantiles import Quantiles
from jaxbandit.decide.variants.result import ABResult, Variant
from jaxbandit.decide.variants.split import LEVEL, split_p
from jaxbandit.decide.variants.stages import Stages
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


class Found(NamedTuple):
    """What is known of each variant, and how much it costs at most."""

    value: np.ndarray  # float64[variants], NaN without an outcome
    interval: list[tuple[float, float]]
    difference: list[Difference]
    cost: np.ndarray  # float64[variants]
    excluded: np.ndarray  # bool[variants]
    missing: str
    contradiction: str  # the first line of a result whose bounds contradict each other, or ""


def decided(
    asked: Question, data: Prepared, stages: Stages, assumptions: tuple[str, ...], notes: tuple[str, ...]
) -> ABResult:
    """Return the decision; there is none if bounds contradict each other, or if the split is not as planned.

    Args:
      asked: what is asked.
      data: the visitors.
      stages: when the variants entered.
      assumptions: what nobody has checked.
      notes: what is remarkable about the log.
    """
    log, kind = data.log, data.kind
    p = None if asked.planned is None else split_p(log, stages, asked.planned)
    pairs = Pairs(log, stages, data.final, kind, asked.planned)
    found = _means(asked, data, stages, pairs) if kind.p is None else _quantiles(asked, stages, pairs, kind.p)
    changes = [change for v in range(len(log.names)) if v != asked.control
               and (change := remarks.change(pairs, v, asked.control)) is not None]  # fmt: skip
    certain = [change.words for change in changes if not log.ordered and change.p < order.LEVEL]
    contradicted = found.contradiction or (contradiction(found=certain[0]) if certain else "")
    if contradicted:
        found = _withdrawn(found)
    alerts = tuple(filter(None, (contradicted, "" if p is None or p >= LEVEL else remarks.split(p))))
    allowed = [v for v in range(len(log.names)) if v not in asked.removed]
    sign, cost, c = 1 if asked.maximize else -1, found.cost, asked.control
    worst = -np.inf * sign
    choice = min(
        allowed, key=lambda v: (bool(found.excluded[v]), cost[v], -sign * np.nan_to_num(found.value[v], nan=worst))
    )
    sure = not alerts and bool(cost[choice] <= asked.epsilon)
    left = [v for v in allowed if alerts or not found.excluded[v]]
    shown = [choice] if sure else left or [choice]
    variants = tuple(
        Variant(
            name=name,
            visitors=int((log.variant == v).sum()),
            open=int(((log.variant == v) & ~(data.final & np.isfinite(log.outcome))).sum()),
            mean=float(found.value[v]),
            low=found.interval[v][0],
            high=found.interval[v][1],
            pairs=found.difference[v].pairs,
            difference=found.difference[v].value,
            difference_low=found.difference[v].low,
            difference_high=found.difference[v].high,
            costs_at_most=float(cost[v]),
            excluded=bool(found.excluded[v]),
            removed=v in asked.removed,
            stage=int(stages.stage[v]),
            entry=int(stages.entry[v]),
            share=1 / len(shown) if v in shown else 0.0,
            path=found.difference[v].path,
        )
        for v, name in enumerate(log.names)
    )
    shown_first = sorted(range(len(variants)), key=lambda v: (v != c, variants[v].stage, variants[v].name))
    return ABResult(
        variants=tuple(variants[v] for v in shown_first),
        control=log.names[c],
        choice=log.names[choice],
        decision="go on" if not sure else "keep" if choice == c else "ship",
        costs_at_most=float(cost[choice]),
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
    )


def _withdrawn(found: Found) -> Found:
    """Return estimates without anything that is claimed."""
    none = np.zeros((0, 4))
    apart = [Difference(d.pairs, d.value, -np.inf, np.inf, none) if d.pairs else d for d in found.difference]
    unknown = np.full(len(found.cost), np.inf)
    nothing = [(-np.inf, np.inf)] * len(apart)
    return found._replace(interval=nothing, difference=apart, cost=unknown, excluded=unknown < 0)


def _means(asked: Question, data: Prepared, stages: Stages, pairs: Pairs) -> Found:
    """Return what is known of the means, from pairs of visitors."""
    variants, c = len(stages.stage), asked.control
    others = [v for v in range(variants) if v != c]
    later = np.maximum(stages.stage[others], stages.stage[c])
    level = staging.pair_levels(stages, np.bincount(later, minlength=len(stages.level)))  # all intervals together
    none = Difference(len(pairs.rows[c]), 0.0, 0.0, 0.0, np.zeros((0, 4)))
    apart = [none if v == c else comparing.difference(pairs, v, c, float(level[v, c])) for v in range(variants)]
    first = {(c, v): apart[v].contradicted for v in range(variants) if apart[v].contradicted}
    size = np.array([(stages.stage <= g).sum() - 1 for g in range(len(stages.level))])
    comparison = AllPairs(pairs, staging.pair_levels(stages, size), asked.maximize, first)
    cost = np.array([achieved.achieved_epsilon(comparison, [v]) for v in range(variants)])
    values = np.array([_mean(pairs, v) for v in range(variants)])
    intervals = _intervals(data, stages, pairs)
    low, high = np.array(intervals).T
    bad = contradictory(low, high, values)
    said = remarks.contradicted(data.log.names, first, comparison.cycle, np.flatnonzero(bad).tolist())
    return Found(values, intervals, apart, cost, comparison.excluded(), comparison.missing, said)


def _mean(pairs: Pairs, v: int) -> float:
    values = pairs.low[pairs.rows[v]]
    values = values[np.isfinite(values)]
    return float(values.mean()) if len(values) else np.nan


def _intervals(data: Prepared, stages: Stages, pairs: Pairs) -> list[tuple[float, float]]:
    """Return the interval of the mean of each variant, all of them together at level delta."""
    log, kind, found = data.log, data.kind, []
    for v, alpha in enumerate(_own_levels(stages).tolist()):
        rows = pairs.rows[v]
        if not kind.bounded:
            known = np.isfinite(log.outcome[rows])
            rows = rows if known.all() else rows[: int(np.argmin(known))]
        low, high = bounds.mean_interval(pairs.low[rows], pairs.high[rows], kind, alpha)
        if kind.binary and not data.final.all():  # today's zeros may only rise, so they may be used for the lower end
            today = pairs.low[log.variant == v]
            low = max(low, bounds.mean_interval(today, today, kind, alpha)[0])
        found.append((low, high))
    return found


def _own_levels(stages: Stages) -> np.ndarray:
    """Return the error probability of what is said of each variant alone, float64[variants]."""
    return np.asarray(stages.level[stages.stage] / np.bincount(stages.stage)[stages.stage])


def _quantiles(asked: Question, stages: Stages, pairs: Pairs, p: float) -> Found:
    """Return what is known of a quantile, from the bounds of each variant."""
    variants, c = len(stages.stage), asked.control
    found = Quantiles(pairs, p, _own_levels(stages), asked.maximize)
    cost = np.array([achieved.achieved_epsilon(found.comparison, [v]) for v in range(variants)])
    none = Difference(len(pairs.rows[c]), 0.0, 0.0, 0.0, np.zeros((0, 4)))
    apart = [none if v == c else found.difference(v, c) for v in range(variants)]
    missing = "too few visitors for a bound of this quantile" if np.isinf(cost).all() else ""
    intervals = list(zip(found.low.tolist(), found.high.tolist(), strict=True))
    return Found(found.value, intervals, apart, cost, found.comparison.excluded(), missing, "")
