"""Which recommendations are wrong: judged by the means that an environment declares, exactly, each by its own numbers.

A number is the decimal that it is printed as. A recommendation is right if the mean of its worst arm plus epsilon is at
least the m-th largest mean, in exact arithmetic of these decimals, without a tolerance.

Unknown, NaN, and never right are an excess over epsilon of at most ROUNDING units in the last place, as between 0.3 and
0.1 + 0.2; a recommendation that the environment itself cannot judge; arms that differ, but not in the precision of the
run.
"""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np

ROUNDING = 32  # units in the last place: what ten sums and products of a computed mean, or of a set, may round


def means_of_choices(truth: Mapping[str, Any]) -> Sequence[float] | None:
    """Return the means of what may be recommended: of the candidates if there are any, or of the arms; None if unknown.

    `truth` is that of a result; the means are sorted if each run has its own order.
    """
    return truth.get("candidates", truth.get("means", truth.get("sorted_means"))) or None


def judged(short: np.ndarray, epsilon: float, means: Sequence[float] | None, m: int) -> np.ndarray:
    """Return 1 where a recommendation is wrong, 0 where it is right, and NaN where this is unknown, float64[runs].

    `short` is the simple regret of each, float[runs] in the precision of the runs, NaN if unknown. What is none of the
    gaps of `means`, such as that of sets that are judged by their sums, is taken as it is.
    """
    values, place = np.unique(short, return_inverse=True)
    numbers = np.sort(np.asarray([] if means is None else means, np.float64))[::-1]
    with np.errstate(over="ignore", invalid="ignore"):  # a mean beyond float32 is played in no such run
        played = numbers.astype(short.dtype)
        gaps = np.maximum(played[m - 1] - played, 0) if len(numbers) >= m else played[:0]
    verdicts = np.zeros(len(values))
    for i, value in enumerate(values):
        worst = np.unique(numbers[: len(gaps)][gaps == value])  # the arms of which one is the worst recommended
        pairs = [(_decimal(numbers[m - 1]), _decimal(mean)) for mean in worst] or [(_decimal(value), Decimal(0))]
        found = {_beyond(*pair, _decimal(epsilon)) for pair in pairs} if np.isfinite(value) else {np.nan}
        verdicts[i] = found.pop() if len(found) == 1 else np.nan
    return verdicts[place]


def _beyond(best: Decimal, mean: Decimal, epsilon: Decimal) -> float:
    """Return 1 if a mean is more than epsilon below the best one, 0 if not, NaN if by few units in the last place."""
    excess = best - mean - epsilon
    unit = Decimal(float(np.spacing(float(max(abs(best), abs(mean), epsilon)))))
    return 0.0 if excess <= 0 else np.nan if excess <= ROUNDING * unit else 1.0


def _decimal(number: float | np.floating) -> Decimal:
    """Return the shortest decimal that rounds to a number, as it is printed."""
    return Decimal(str(number))
