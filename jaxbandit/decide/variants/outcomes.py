"""What is known in advance of outcomes: that they are 0 or 1, their range, a cap, or the quantile that is compared."""

import math
from typing import Any, NamedTuple

import numpy as np

from jaxbandit.decide.core.goal import Goal
from jaxbandit.decide.variants.visitors import Visitors
from jaxbandit.support import checks, domains
from jaxbandit.support.refusals import refuse, wrong


class Kind(NamedTuple):
    """What outcomes are, and what of them is compared."""

    binary: bool  # 0 or 1
    low: float = -math.inf  # range
    high: float = math.inf
    p: float | None = None  # the quantile that is compared; None: the mean
    capped: bool = False
    assumption: str = ""  # what nobody has checked
    rate: bool = False  # numbers that are compared without their range were 0 or 1
    ratio: bool = False  # of the sum of outcomes to that of denominators

    @property
    def bounded(self) -> bool:
        """Whether the range is known."""
        return math.isfinite(self.high - self.low)

    @property
    def words(self) -> str:
        """What outcomes are, in words."""
        if self.binary or self.rate:
            return "0 or 1"
        return f"in [{self.low:g}, {self.high:g}]{', capped' * self.capped}" if self.bounded else "numbers"

    @property
    def statistic(self) -> str:
        """What is compared."""
        if self.ratio:
            return "ratio"
        return "rate" if self.binary or self.rate else "mean" if self.p is None else f"{self.p:g}-quantile"


def without_range(log: Visitors, kind: Kind, goal: Goal) -> Kind:
    """Return what is compared of a ratio, or of outcomes with a covariate: numbers whose range does not matter."""
    if log.per is None and log.covariate is None:
        return kind
    what = "denominator" if log.per is not None else "covariate"
    for name in ("quantile", "score_range"):
        if getattr(goal, name) is not None:
            raise ValueError(f"goal: {name} means nothing beside a {what}, which compares means in the limit of many")
    rate = kind.binary and log.per is None
    return Kind(False, assumption=kind.assumption, capped=kind.capped, rate=rate, ratio=log.per is not None)


def limited(column: str, log: Visitors, goal: Goal, cap: Any) -> tuple[Visitors, Kind]:
    """Return a log with capped outcomes, and what its outcomes are; `column` is the name of their column, for messages.

    `cap` is the number as which larger outcomes count, or a pair of which the first is the same for smaller ones; None.
    """
    where, known, ends = f"{log.where}: {column}", log.outcome[np.isfinite(log.outcome)], goal.score_range
    if not len(known):
        refuse(where, " is empty in all rows, must have some outcomes")
    if goal.quantile is not None:
        if cap is not None:
            raise ValueError("cap is not needed for a quantile, whose bounds hold for any outcomes; leave it out")
        return log, Kind(False, p=goal.quantile)
    if cap is None:
        binary = bool(np.isin(known, (0.0, 1.0)).all())
        if ends is None:
            return log, Kind(True, 0.0, 1.0) if binary else Kind(False)
        worst = float(known.min() if known.min() < ends[0] else known.max())
        if not ends[0] <= worst <= ends[1]:
            wrong(where, worst, f"in [{ends[0]:g}, {ends[1]:g}], the range that was given")
        return log, Kind(ends == (0, 1) and binary, *ends)
    assumption = ""
    if isinstance(cap, tuple | list | np.ndarray):
        if ends is not None:
            raise ValueError("goal: score_range is not needed beside a pair of caps; leave it out")
        low, high = checks.take("cap", cap, domains.RANGE)
    else:
        low, high = 0.0 if ends is None else ends[0], checks.take("cap", cap, domains.number())
        if not low < high:
            checks.wrong("cap", cap, f"above {low:g}, the least possible outcome")
        if known.min() < low:
            instead = "give cap=(low, high), or a score_range with the least possible outcome"
            wrong(where, float(known.min()), f"at least {low:g} beside a cap; {instead}")
        assumption = "no outcome is below 0" if low == 0 else ""
    after = log._replace(outcome=np.clip(log.outcome, low, high))
    return after.noted(_change(log, after, low, high)), Kind(False, low, high, None, True, assumption)


def _change(before: Visitors, after: Visitors, low: float, high: float) -> str:
    """Return a sentence on the share of outcomes that were capped, and on what this removes of each mean."""
    parts = []
    for v, name in enumerate(before.names):
        rows = (before.variant == v) & np.isfinite(before.outcome)
        x, y = before.outcome[rows], after.outcome[rows]
        if len(x):
            parts.append(f"{name} {100 * np.mean(x != y):.3g} %, mean {x.mean():.4g} becomes {y.mean():.4g}")
    ends = f"above {high:g}" + f" or below {low:g}" * bool(np.any(before.outcome < low))
    return f"outcomes {ends} count as the cap; statements are about capped outcomes ({'; '.join(parts)})"
