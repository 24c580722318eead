"""What is known in advance of outcomes: that they are 0 or 1, their range, a cap, or the quantile that is compared."""

import math
from typing import Any, NamedTuple

import numpy as np

from jaxbandit.decide.variants.visitor_log import Log
from jaxbandit.support import domains
from jaxbandit.support.refusals import python, refuse, wrong


class Kind(NamedTuple):
    """What outcomes are, and what of them is compared."""

    binary: bool  # 0 or 1
    low: float  # range, -inf and inf if it is unknown
    high: float
    p: float | None = None  # the quantile that is compared; None: the mean
    capped: bool = False

    @property
    def bounded(self) -> bool:
        """Whether the range is known."""
        return math.isfinite(self.high - self.low)

    @property
    def words(self) -> str:
        """What outcomes are, in words."""
        if self.binary:
            return "0 or 1"
        if self.bounded:
            return f"in [{self.low:g}, {self.high:g}]{', capped' * self.capped}"
        return "numbers"

    @property
    def statistic(self) -> str:
        """What is compared."""
        return "rate" if self.binary else "mean" if self.p is None else f"{self.p:g}-quantile"


def limited(
    where: str, column: str, log: Log, outcome_range: Any, cap: Any, quantile: Any
) -> tuple[Log, Kind, tuple[str, ...]]:
    """Return a log with capped outcomes, what its outcomes are, and notes.

    Args:
      where: the log, for messages.
      column: name of the column of outcomes, for messages.
      log: the visitors.
      outcome_range: the least and the largest possible outcome, or None.
      cap: the number as which larger outcomes count, or a pair of which the first is the same for smaller ones; None.
      quantile: probability of the quantile that is compared instead of the mean, or None.

    Raises:
      BadInput: an outcome or an argument is not allowed.
    """
    known = log.outcome[np.isfinite(log.outcome)]
    if not len(known):
        refuse(f"{where}: {column}", " is empty in all rows, must have some outcomes")
    ends = None if outcome_range is None else _pair("ab: outcome_range", outcome_range)
    if quantile is not None:
        for name, value in (("outcome_range", outcome_range), ("cap", cap)):
            if value is not None:
                refuse(f"ab: {name}", " is not needed for quantile=, whose bounds hold for any outcomes; leave it out")
        inside = domains.number(0, 1, open_low=True, open_high=True)
        p = domains.check("ab: quantile", quantile, inside, written=python)
        return log, Kind(False, -np.inf, np.inf, p), ()
    if cap is not None:
        low, high = _ends_of_cap(where, column, known, ends, cap)
        outcome = np.clip(log.outcome, low, high)
        return log._replace(outcome=outcome), Kind(False, low, high, None, True), _removed(log, outcome, low, high)
    binary = bool(np.isin(known, (0.0, 1.0)).all())
    if ends is None:
        return log, Kind(True, 0.0, 1.0) if binary else Kind(False, -np.inf, np.inf), ()
    low, high = ends
    if known.min() < low or known.max() > high:
        worst = known.min() if known.min() < low else known.max()
        wrong(f"{where}: {column}", float(worst), f"in [{low:g}, {high:g}], the range that was given")
    return log, Kind((low, high) == (0, 1) and binary, low, high), ()


def _pair(where: str, value: Any) -> tuple[float, float]:
    try:
        low, high = (float(end) for end in value)
    except (TypeError, ValueError):
        low = high = 0.0
    if not (np.isfinite([low, high]).all() and low < high):
        wrong(where, value, "two finite numbers, the smaller one first", written=python)
    return low, high


def _ends_of_cap(
    where: str, column: str, known: np.ndarray, ends: tuple[float, float] | None, cap: Any
) -> tuple[float, float]:
    if isinstance(cap, tuple | list | np.ndarray):
        if ends is not None:
            refuse("ab: outcome_range", " is not needed beside a pair of caps; leave it out")
        return _pair("ab: cap", cap)
    high = domains.check("ab: cap", cap, domains.number(), written=python)
    low = 0.0 if ends is None else ends[0]
    if not low < high:
        wrong("ab: cap", cap, f"above {low:g}, the least possible outcome", written=python)
    if known.min() < low:
        instead = "give cap=(low, high), or outcome_range= with the least possible outcome"
        wrong(f"{where}: {column}", float(known.min()), f"at least {low:g} beside a cap; {instead}")
    return low, high


def _removed(log: Log, outcome: np.ndarray, low: float, high: float) -> tuple[str, ...]:
    """Return a sentence on the share of outcomes that were capped, and on what this removes of each mean."""
    parts, known_below = [], bool(np.any(log.outcome < low))
    for v, name in enumerate(log.names):
        before, after = (y[(log.variant == v) & np.isfinite(log.outcome)] for y in (log.outcome, outcome))
        if len(before):
            share = f"{100 * np.mean(before != after):.3g} %"
            parts.append(f"{name} {share}, mean {before.mean():.4g} becomes {after.mean():.4g}")
    ends = f"above {high:g}" + (f" or below {low:g}" if known_below else "")
    return (f"outcomes {ends} count as the cap; statements are about capped outcomes ({'; '.join(parts)})",)
