"""Robbins' normal mixture: bounds of a mean that hold at every time, for rewards that are sub-Gaussian."""

from typing import Any

import numpy as np


def mixture_radius(n: Any, sigma: Any, level: Any, typical: float, xp: Any = np) -> Any:
    """Return how far the mean of n rewards may be from the expected one, at all n at once.

    At the radius r, the mixture sqrt(c / (n + c)) exp((n r)^2 / (2 sigma^2 (n + c))) is 1 / level, so that any of the
    radii is exceeded with probability at most `level` (Robbins 1970).

    Args:
      n: numbers of rewards, at least 1.
      sigma: the rewards are sigma-sub-Gaussian: half of the range, if they have one.
      typical: number of rewards at which the radius is about as small as it can be, from which c follows.
      xp: numpy or jax.numpy, of which the numbers are arrays.
    """
    twice = -2 * xp.log(level)
    c = typical / (twice + xp.log1p(twice))
    return sigma / n * xp.sqrt((n + c) * (twice + xp.log1p(n / c)))
