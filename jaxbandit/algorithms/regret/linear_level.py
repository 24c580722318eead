"""The confidence level f_{n,delta} of Hao, Lattimore and Szepesvari (2020, OAM), Section 4."""

import math

from jaxbandit.base import checks
from jaxbandit.base.numerics import as_float
from jaxbandit.base.types import Array, Scalar


def checked_horizon(where: str, horizon: int, dim: int) -> int:
    """Return the horizon; raise ValueError if it is below max(2, dim).

    The logarithm of a horizon of 1 is 0, and fewer than dim rounds cannot span R^dim.
    """
    return checks.integer(where, "horizon", horizon, max(dim, 2))


def linear_level(horizon: int, dim: int, c: Scalar, log_inverse_delta: Scalar) -> Array:
    """Return f_{n,delta} = 2 (1 + 1 / log n) log(1 / delta) + c d log(d log n), float[].

    Here n = horizon >= 2 and d = dim.
    """
    log_n = math.log(horizon)
    return 2 * (1 + 1 / log_n) * as_float(log_inverse_delta) + as_float(c) * (dim * math.log(dim * log_n))
