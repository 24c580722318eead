"""Grids of batches: the rounds t_1 < ... < t_M = T after which feedback is revealed."""

import math
from collections.abc import Sequence
from typing import Annotated, Literal

from jaxbandit.base.arguments import Horizon
from jaxbandit.base.calls import checked
from jaxbandit.base.parameters import Arg
from jaxbandit.support import checks
from jaxbandit.support.domains import choice, integer

GridKind = Literal["minimax", "geometric"]
Batches = Annotated[int, Arg(integer(1), "number of batches M")]
_SLACK = 1e-12  # relative tolerance, so that the cube root of 10^6 is 100 and not 99


@checked
def minimax_grid(horizon: Horizon, num_batches: Batches) -> tuple[int, ...]:
    """Return the minimax grid of batch ends: floor(a^(2 - 2^(1 - i))) for i = 1, ..., M.

    Here a = T^(1 / (2 - 2^(1 - M))), so that the last point is T. Equal points are merged. This grid is for regret
    bounds that hold whatever the gaps.

    Source:
      Gao, Han, Ren and Zhou (2019), Batched multi-armed bandits problem, NeurIPS, equation (5), up to constants.
    """
    exponents = [2 - 2.0 ** (1 - i) for i in range(1, num_batches + 1)]
    return _floors(horizon, [e / exponents[-1] for e in exponents])


@checked
def geometric_grid(horizon: Horizon, num_batches: Batches) -> tuple[int, ...]:
    """Return the geometric grid of batch ends: floor(T^(i / M)) for i = 1, ..., M.

    Equal points are merged. This grid is for regret bounds that depend on the gaps.

    Source:
      Gao, Han, Ren and Zhou (2019), Batched multi-armed bandits problem, NeurIPS, equation (6), up to constants.
    """
    return _floors(horizon, [i / num_batches for i in range(1, num_batches + 1)])


def checked_grid(grid: GridKind | Sequence[int], num_batches: int | None, horizon: int | None) -> tuple[int, ...]:
    """Return the points of a named grid, or of a list of rounds, to which the horizon is added if it is given."""
    if isinstance(grid, str):
        checks.take("grid", grid, choice(("minimax", "geometric")))
        if horizon is None:
            raise ValueError(f"horizon = None, must be given for grid = {grid!r}")
        return (minimax_grid if grid == "minimax" else geometric_grid)(horizon, num_batches or 3)
    if num_batches is not None:
        raise ValueError(f"num_batches = {num_batches}, must be omitted if grid is a list of rounds")
    if not isinstance(grid, Sequence) or not grid:
        checks.wrong("grid", grid, "minimax, geometric or a list of increasing rounds")
    points = [checks.take(f"grid[{i}]", t, integer(1, horizon)) for i, t in enumerate(grid)]
    for i in range(1, len(points)):
        if points[i] <= points[i - 1]:
            raise ValueError(f"grid[{i}] = {points[i]} after {points[i - 1]}, must be increasing")
    return tuple(points) if horizon in (None, points[-1]) else (*points, horizon)


def _floors(horizon: int, exponents: list[float]) -> tuple[int, ...]:
    """Return horizon^exponent, rounded down and at least 1, for each exponent; duplicates are merged."""
    points = [max(math.floor(horizon**e * (1 + _SLACK)), 1) for e in exponents[:-1]]
    return tuple(sorted({*points, horizon}))
