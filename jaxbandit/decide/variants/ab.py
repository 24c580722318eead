"""The decision between variants from a log of visitors."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from jaxbandit.base import domains
from jaxbandit.base.refusals import python, refuse, wrong
from jaxbandit.decide.variants import bounds, comparing, times, visitor_log
from jaxbandit.decide.variants import stages as staging
from jaxbandit.decide.variants.bounds import Kind
from jaxbandit.decide.variants.comparing import AllPairs, Difference, Pairs
from jaxbandit.decide.variants.result import ABResult, Variant
from jaxbandit.decide.variants.stages import Stages
from jaxbandit.decide.variants.visitor_log import Columns, Log
from jaxbandit.theory.comparisons import achieved

SAME = (
    "visitors do not change over time: the outcomes of each variant are independent and identically distributed in the "
    "order of arrival (any split of the visitors among variants is allowed, also one that looks at outcomes)"
)
BLOCKS = (
    "each block has one visitor of each variant, in random order; visitors may change from block to block, if the "
    "differences between variants do not (the intervals of the single variants assume that visitors do not change)"
)
NORMAL = "the outcomes of a variant are normal: nothing else is known of outcomes whose range is not given"
CONTRADICTION = (
    "each variant was found worse than another one, so a bound was false, which has probability at most delta, or an "
    "assumption is wrong; no variant is excluded because of it"
)
FINAL = "the outcomes in the log are final, since no window was given"


def ab(
    log: Any,
    *,
    control: str,
    variant: str = "variant",
    outcome: str = "outcome",
    time: str | None = None,
    block: str | None = None,
    delta: float = 0.05,
    epsilon: float = 0.0,
    outcome_range: tuple[float, float] | None = None,
    maximize: bool = True,
    window: float | str | timedelta | None = None,
    now: float | str | datetime | None = None,
    late: Sequence[str] | None = None,
    removed: Sequence[str] = (),
    growth: bool = False,
) -> ABResult:
    """Decide between the variants of a log of visitors: ship one, keep the control, or go on.

    Everything that is stated holds at all times at once, so the log may be read again whenever you like and the test be
    stopped by looking at the result. Visitors may be divided among the variants in any way, also by a bandit.

    The i-th visitor of one variant is compared with the i-th of the other. Variant b costs at most
    eps(b) = max over variants l, not excluded, of U(l - b) against the best variant, where U(l - b) is an upper bound
    of the difference of the means at level delta/(V - 1) for V variants; the decision is made once eps(b) <= epsilon.
    Outcomes of 0 and 1 or in a known range are compared by bets, without another assumption; other numbers as normal.

    Args:
      log: path of a CSV file whose first line has the names of the columns, or a DataFrame, or a dictionary of columns.
        One row for each visitor, in the order of arrival.
      control: name of the variant that is in use now.
      variant: name of the column with the variant of each visitor; at most 30 variants.
      outcome: name of the column with the outcomes: 0 and 1, numbers, yes and no, or true and false. An empty one is
        not known yet; it is taken at its worst wherever this makes a bound larger.
      time: name of the column with the time of each visitor, a number or a date such as 2026-01-31T12:00. The rows are
        sorted by it.
      block: name of the column with the block of each visitor, if visitors were assigned in blocks that have one
        visitor of each variant in random order; the visitors of a block are then compared.
      delta: probability with which the decision may be wrong at some time, in (0, 1).
      epsilon: what the decision may cost, in units of an outcome, >= 0; 0.005 is half a percentage point of a rate.
      outcome_range: the least and the largest possible outcome, fixed before looking at the log. Default: 0 and 1 if
        all outcomes are, otherwise unknown.
      maximize: whether a larger outcome is better.
      window: how long after the visit an outcome may still change, such as "7d", "12h" or, if times are numbers, a
        number. Only visitors that are older are compared, all of them.
      now: the time at which the log was written. Default: that of its last visitor.
      late: names of variants that were added after outcomes could have been looked at. Default: those whose first
        visitor comes after more than 50 visitors per earlier variant without a new variant. () if the list was fixed
        in advance.
      removed: names of variants that are no longer shown. They are not chosen, but remain among those compared with.
      growth: whether it was said in advance that variants may be added: stage g of additions then has the level
        delta/((g + 1)(g + 2)) from the beginning, and otherwise only once a variant has been added.

    Returns:
      The decision, the shares of the next visitors, and for each variant its visitors, mean and difference from the
      control with intervals.

    Raises:
      ValueError: the log or an argument cannot be used. The message has one line and names the line of the file.

    Source: Ramdas and Wang (2025), "Hypothesis testing with e-values", for bets; the module
      `theory.comparisons.achieved` for the decision.
    """
    delta = domains.check("ab: delta", delta, domains.number(0, 1, open_low=True, open_high=True), written=python)
    epsilon = domains.check("ab: epsilon", epsilon, domains.number(0), written=python)
    for name, value in (("maximize", maximize), ("growth", growth)):
        domains.check(f"ab: {name}", value, domains.BOOLEAN, written=python)
    if window is None and now is not None:
        refuse("ab: now", " is used only with a window; give window=, or leave now out")
    if window is not None and time is None:
        refuse("ab: window", " needs the times of the visitors; give time=, the name of their column")
    visitors = visitor_log.read(log, Columns(variant, outcome, time, block))
    where = str(log) if isinstance(log, str | Path) else "ab"
    kind = _kind(where, outcome, visitors, outcome_range)
    c = visitor_log.names_among(f"{where}: control", [control], visitors.names)[0]
    gone = visitor_log.names_among(f"{where}: removed", removed, visitors.names)
    after = None if late is None else visitor_log.names_among(f"{where}: late", late, visitors.names)
    if len(set(gone)) == len(visitors.names):
        refuse("ab: removed", " has all variants, must leave one that can be shown")
    if after and visitors.variant[0] in after:
        wrong("ab: late", visitors.names[visitors.variant[0]], "a variant that entered after another one")
    final, until = _final(where, visitors, window, now)
    stages = staging.stages(visitors.variant, len(visitors.names), delta, after, growth)
    pairs = Pairs(visitors, stages, final, kind)
    size = np.array([(stages.stage <= g).sum() - 1 for g in range(len(stages.level))])
    comparison = AllPairs(pairs, staging.pair_levels(stages, size), maximize)
    cost = np.array([achieved.achieved_epsilon(comparison, [v]) for v in range(len(visitors.names))])
    excluded = comparison.excluded()
    means = [_mean(pairs, v) for v in range(len(visitors.names))]
    allowed = [v for v in range(len(means)) if v not in gone]
    sign = 1 if maximize else -1
    choice = min(
        allowed, key=lambda v: (bool(excluded[v]), cost[v], -sign * np.nan_to_num(means[v], nan=-np.inf * sign))
    )
    decided = bool(cost[choice] <= epsilon)
    shown = [choice] if decided else [v for v in allowed if not excluded[v]] or [choice]
    apart = _differences(pairs, stages, c)
    interval = _intervals(visitors, pairs, stages, kind, final)
    variants = tuple(
        Variant(
            name=name,
            visitors=int((visitors.variant == v).sum()),
            open=int(((visitors.variant == v) & ~(final & np.isfinite(visitors.outcome))).sum()),
            mean=means[v],
            low=interval[v][0],
            high=interval[v][1],
            pairs=apart[v].pairs,
            difference=apart[v].value,
            difference_low=apart[v].low,
            difference_high=apart[v].high,
            costs_at_most=float(cost[v]),
            excluded=bool(excluded[v]),
            removed=v in gone,
            stage=int(stages.stage[v]),
            entry=int(stages.entry[v]),
            share=1 / len(shown) if v in shown else 0.0,
            path=apart[v].path,
        )
        for v, name in enumerate(visitors.names)
    )
    order = sorted(range(len(variants)), key=lambda v: (v != c, variants[v].stage, variants[v].name))
    return ABResult(
        variants=tuple(variants[v] for v in order),
        control=visitors.names[c],
        choice=visitors.names[choice],
        decision="go on" if not decided else "keep" if choice == c else "ship",
        costs_at_most=float(cost[choice]),
        delta=delta,
        epsilon=epsilon,
        maximize=maximize,
        outcomes="0 or 1" if kind.binary else f"in [{kind.low:g}, {kind.high:g}]" if kind.bounded else "numbers",
        assumptions=_assumptions(visitors, kind, window),
        notes=((CONTRADICTION,) * comparison.contradiction) + _notes(visitors, stages, final, until, delta, growth),
    )


def _kind(where: str, column: str, log: Log, outcome_range: Any) -> Kind:
    known = log.outcome[np.isfinite(log.outcome)]
    if not len(known):
        refuse(f"{where}: {column}", " is empty in all rows, must have some outcomes")
    if outcome_range is None:
        binary = bool(np.isin(known, (0.0, 1.0)).all())
        return Kind(True, 0.0, 1.0) if binary else Kind(False, -np.inf, np.inf)
    try:
        low, high = (float(end) for end in outcome_range)
    except (TypeError, ValueError):
        low = high = 0.0
    if not (np.isfinite([low, high]).all() and low < high):
        wrong("ab: outcome_range", outcome_range, "two finite numbers, the smaller one first", written=python)
    if known.min() < low or known.max() > high:
        worst = known.min() if known.min() < low else known.max()
        wrong(f"{where}: {column}", float(worst), f"in [{low:g}, {high:g}], the range that was given")
    return Kind((low, high) == (0, 1) and bool(np.isin(known, (0.0, 1.0)).all()), low, high)


def _final(where: str, log: Log, window: Any, now: Any) -> tuple[np.ndarray, float | None]:
    """Return whether the outcome of each visitor is final, and the time of the last visitor of whom it is."""
    if window is None or log.time is None:
        return np.ones(len(log.variant), bool), None
    length = times.window("ab: window", window, log.dated)
    last = float(log.time[-1])
    present = last if now is None else times.moment("ab: now", now, log.dated)
    if present < last:
        shown = times.text(last, log.dated)
        wrong("ab: now", python(now), f"at or after {shown}, the time of the last visitor of {where}", written=str)
    return log.time <= present - length, present - length


def _mean(pairs: Pairs, v: int) -> float:
    values = pairs.low[pairs.rows[v]]
    values = values[np.isfinite(values)]
    return float(values.mean()) if len(values) else np.nan


def _differences(pairs: Pairs, stages: Stages, control: int) -> list[Difference]:
    """Return the difference of each variant from the control, all intervals together at level delta."""
    others = [v for v in range(len(stages.stage)) if v != control]
    later = np.maximum(stages.stage[others], stages.stage[control])
    level = staging.pair_levels(stages, np.bincount(later, minlength=len(stages.level)))
    none = Difference(len(pairs.rows[control]), 0.0, 0.0, 0.0, np.zeros((0, 4)))
    return [
        none if v == control else comparing.difference(pairs, v, control, float(level[v, control]))
        for v in range(len(stages.stage))
    ]


def _intervals(log: Log, pairs: Pairs, stages: Stages, kind: Kind, final: np.ndarray) -> list[tuple[float, float]]:
    """Return the interval of the mean of each variant, all of them together at level delta."""
    together = np.bincount(stages.stage)
    found = []
    for v in range(len(log.names)):
        alpha = float(stages.level[stages.stage[v]] / together[stages.stage[v]])
        rows = pairs.rows[v]
        if not kind.bounded:
            known = np.isfinite(log.outcome[rows])
            rows = rows if known.all() else rows[: int(np.argmin(known))]
        low, high = bounds.mean_interval(pairs.low[rows], pairs.high[rows], kind, alpha)
        if kind.binary and not final.all():  # today's zeros may only rise, so they may be used for the lower end
            today = pairs.low[log.variant == v]
            low = max(low, bounds.mean_interval(today, today, kind, alpha)[0])
        found.append((low, high))
    return found


def _assumptions(log: Log, kind: Kind, window: Any) -> tuple[str, ...]:
    lines = [SAME if log.block is None else BLOCKS]
    if not kind.bounded:
        lines.append(NORMAL)
    if window is None:
        lines.append(FINAL)
    else:
        rise = "; a 1 never becomes 0 again" if kind.binary else ""
        lines.append(f"outcomes are final {window} after the visit{rise}")
    return tuple(lines)


def _notes(
    log: Log, stages: Stages, final: np.ndarray, until: float | None, delta: float, growth: bool
) -> tuple[str, ...]:
    lines = []
    if log.resorted:
        lines.append("the rows were not in the order of their times, and were sorted by them")
    if until is not None:
        lines.append(
            f"visitors until {times.text(until, log.dated)} are compared, {final.sum():,} of {len(final):,}; the "
            "others are open"
        )
    empty = int(np.isnan(log.outcome[final]).sum())
    if empty:
        lines.append(f"{empty:,} visitors have no outcome yet, which is taken at its worst in every bound")
    for g in range(1, len(stages.level)):
        names = ", ".join(log.names[v] for v in np.flatnonzero(stages.stage == g))
        entry = int(stages.entry[stages.stage == g].min())
        lines.append(
            f"{names} came later, with visitor {entry + 1:,}: compared with those who came from then on, at the level "
            f"{stages.level[g]:.3g}, and earlier variants among each other at {stages.level[0]:.3g}"
        )
    if len(stages.level) > 1 and not growth:
        total = delta + stages.level[1:].sum()
        lines.append(
            f"before the addition, statements had the whole delta, so all statements ever made are true together with "
            f"probability at least {1 - total:.4g}; announce additions in advance (growth) for {1 - delta:g}"
        )
    return tuple(lines)
