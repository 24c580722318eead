"""Data that contradict what is assumed of them: whether they do, and the line with which a result then begins.

Bounds that hold together cannot all be true if one excludes what another one states. Nothing may then be claimed from
them, and no interval that is empty, or that lacks its own estimate, may be shown. docs/mathematics.md has the levels.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from jaxbandit.theory.comparisons.achieved import Comparison, nobody_left

CHECK = "check the order of the rows, changes over time, and repeated rows"
_ROUNDINGS = 64  # of an estimate and of an end of its interval, relative to their size, that are no contradiction
_NAMED = 3  # intervals that are named, of which only the number follows


class Differences(Comparison, Protocol):
    """A comparison that also has intervals of differences with their estimates."""

    def differences(self, arm: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return (low, estimate, high) of mu_l - mu_arm for all l, float64[K] each, an estimate that is unknown NaN."""
        ...

    def ever(self) -> np.ndarray:
        """Return which arms were exceeded by which at any time, bool[K, K]."""
        ...

    def crossed(self, arm: int) -> np.ndarray:
        """Return for which arms the bounds of mu_l - mu_arm of any two times exclude each other, bool[K]."""
        ...


class _AtAnyTime(Comparison):
    """What a comparison has ever claimed."""

    def __init__(self, comparison: Differences):
        """Take the claims of all times."""
        self.num_arms, self._claims, self._upper = comparison.num_arms, comparison.ever(), comparison.upper

    def upper(self, arm: int) -> np.ndarray:
        return self._upper(arm)

    def claims(self) -> np.ndarray:
        return self._claims


def contradiction(
    *,
    excluded: np.ndarray | None = None,
    m: int = 1,
    low: np.ndarray | None = None,
    high: np.ndarray | None = None,
    found: str = "",
    names: Sequence[str] | None = None,
    noun: str = "arm",
    when: str = "",
    delta: float | None = None,
) -> str:
    """Return the line with which a result begins whose data contradict an assumption, "" if they do not.

    Args:
      excluded: bool[K], which arms cannot be among the m best, by bounds that hold together.
      found: a contradiction that was found elsewhere, as a sentence without a full stop.
      when: the look at which it was found, such as "after 1,240 visitors".
      delta: the probability with which the bounds may contradict each other although all assumptions are right.
    """
    what = [found] if found else []
    if excluded is not None and (~np.asarray(excluded)).sum() < m:
        left = f"every {noun} is excluded" if np.all(excluded) else f"fewer than {m} {noun}s are not excluded"
        what.append(f"{left}, also the best one" if m == 1 else left)
    if low is not None and high is not None:
        bad = np.flatnonzero(contradictory(low, high))
        if len(bad):
            named = ", ".join(f"{noun} {i}" if names is None else names[i] for i in map(int, bad[:_NAMED]))
            named += f" and {len(bad) - _NAMED:,} more" if len(bad) > _NAMED else ""
            what.append(f"an interval is empty ({named})")
    if not what:
        return ""
    chance = "" if delta is None else f", or what has a probability of {delta:.3g} has happened"
    found = f"{' and '.join(what)}{when and f', {when}'}"
    return f"the data contradict an assumption{chance}: {found}; nothing is claimed; {CHECK}"


def contradictory(low: np.ndarray, high: np.ndarray, estimates: np.ndarray | None = None) -> np.ndarray:
    """Return which intervals are empty, or lack their estimate by more than rounding, bool[K].

    An end is -inf or inf where nothing is known, and an estimate NaN. Without estimates only empty intervals count.
    """
    low, high = np.asarray(low, np.float64), np.asarray(high, np.float64)
    bad = low > high
    if estimates is not None:
        values = np.asarray(estimates, np.float64)
        ends = [np.where(np.isfinite(end), np.abs(end), 0.0) for end in (low, high, values)]
        rounding = _ROUNDINGS * np.finfo(np.float64).eps * np.maximum.reduce(ends)
        bad = bad | (values < low - rounding) | (values > high + rounding)  # False beside a NaN
    return bad


def of_comparison(
    comparison: Differences,
    arms: Sequence[int] | np.ndarray,
    *,
    names: Sequence[str] | None = None,
    noun: str = "arm",
    when: str = "",
    delta: float | None = None,
) -> str:
    """Return the line with which a result begins whose bounds of differences contradict each other, or "".

    They do if no arms are left that could be the best, or if each of those that are left has a difference whose bounds,
    of any two times, exclude each other. `delta` is the probability that a bound of the best arms may be false.
    """
    arms = np.atleast_1d(np.asarray(arms, np.int64))
    m, ever = len(arms), _AtAnyTime(comparison)
    if nobody_left(ever, m):
        found = f"every {noun} is excluded, also the best one" if m == 1 else f"no {m} {noun}s can be the {m} best ones"
        return contradiction(found=found, when=when, delta=delta)
    pairs: list[tuple[int, int]] = []
    for arm in (np.flatnonzero(~ever.excluded()) if m == 1 else arms).tolist():
        bad = np.flatnonzero(comparison.crossed(arm))
        if m == 1 and not len(bad):
            return ""
        pairs += [(int(other), arm) for other in bad[:1]]
    if not pairs:
        return ""
    pair = " and ".join(str(f"{noun} {i}" if names is None else names[i]) for i in pairs[0])
    found = f"bounds of the difference between {pair} exclude each other"
    return contradiction(found=found, when=when, delta=None if delta is None else min(2 * delta, 1.0))
