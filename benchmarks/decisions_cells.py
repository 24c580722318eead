"""Measured numbers beside those that are stated."""

import math
from typing import NamedTuple

import numpy as np

ASSUMED_RUNS, TOP_TWO_RUNS = 150, 60  # behind stated medians, whose errors are not stated


class Cell(NamedTuple):
    """A measured number beside the one that is stated."""

    group: str
    name: str
    value: float
    error: float  # standard error of the value
    stated: float
    stated_error: float
    at_most: bool = False  # whether what is stated is a limit


def share(group: str, name: str, wrong: np.ndarray, stated: float, error: float | None = None) -> Cell:
    """Return the cell of a share; without a stated error, a limit."""
    n, p = len(wrong), float(np.mean(wrong))
    kept = (p * n + 0.5) / (n + 1)  # so that no standard error is 0
    return Cell(group, name, p, math.sqrt(kept * (1 - kept) / n), stated, error or 0.0, at_most=error is None)


def mean(group: str, name: str, values: np.ndarray, stated: float, error: float | None = None) -> Cell:
    """Return the cell of a mean; without a stated error, one as large as the mean."""
    own = float(np.std(values, ddof=1) / math.sqrt(len(values)))
    return Cell(group, name, float(np.mean(values)), own, stated, max(own, stated) if error is None else error)


def median(group: str, name: str, values: np.ndarray, stated: float, runs: int = ASSUMED_RUNS) -> Cell:
    """Return the cell of a median, with a standard error from order statistics."""
    ordered, n = np.sort(values), len(values)
    middle, half = float(np.median(ordered)), math.sqrt(n) / 2
    low, high = ordered[max(math.floor(n / 2 - half), 0)], ordered[min(math.ceil(n / 2 + half), n - 1)]
    own = float(high - low) / 2 if math.isfinite(high) else (0.0 if math.isinf(middle) else math.inf)
    digits = 0.0 if stated in (0, math.inf) else 0.5 * 10 ** (math.floor(math.log10(stated)) - 1)
    return Cell(group, name, middle, own, stated, own * math.sqrt(n / runs) + digits)
