"""The Hungarian method (Kuhn 1955; Edmonds and Karp 1972): the assignment of a column to each row that costs least.

It is traced, in O(rows^2 columns).
"""

from typing import NamedTuple

import jax.numpy as jnp
from jax import lax

from jaxbandit.support.numerics import get_at, set_at
from jaxbandit.support.types import Array


class _Search(NamedTuple):
    """Shortest paths from the row that is added, which grow until they reach a column without a row."""

    row_potentials: Array  # float[rows]
    column_potentials: Array  # float[columns]
    slack: Array  # float[columns], the shortest path to each column, less the potentials' growth
    previous: Array  # int32[columns], the column before it on that path, -1 for the row that is added
    rows: Array  # bool[rows], those that the paths have passed
    columns: Array  # bool[columns], likewise
    row: Array  # int32[], of the column reached last, -1 if it has none
    column: Array  # int32[], the column reached last


def cheapest_assignment(costs: Array) -> Array:
    """Return int32[columns], the row that each column is assigned to, -1 for none; every row has one column.

    The costs are float[rows, columns] with rows <= columns, finite.
    """
    rows, columns = costs.shape

    def add(row: Array, carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        row_potentials, column_potentials, owners = carry

        def reach(search: _Search) -> _Search:
            u, v, slack, previous, from_rows, passed, last, column = search
            from_rows = from_rows | (jnp.arange(rows, dtype=jnp.int32) == last)
            passed = passed | (jnp.arange(columns, dtype=jnp.int32) == column)
            reduced = get_at(costs, last) - get_at(u, last) - v
            closer = ~passed & (reduced < slack)
            slack, previous = jnp.where(closer, reduced, slack), jnp.where(closer, column, previous)
            ahead = jnp.where(passed, jnp.inf, slack)
            step = jnp.min(ahead)
            u, v = jnp.where(from_rows, u + step, u), jnp.where(passed, v - step, v)
            slack = jnp.where(passed, slack, slack - step)
            column = lax.argmin(ahead, 0, jnp.int32)
            return _Search(u, v, slack, previous, from_rows, passed, get_at(owners, column), column)

        start = _Search(
            row_potentials,
            column_potentials,
            jnp.full(columns, jnp.inf, costs.dtype),
            jnp.full(columns, -1, jnp.int32),
            jnp.zeros(rows, bool),
            jnp.zeros(columns, bool),
            row,
            jnp.int32(-1),
        )
        search = lax.while_loop(lambda search: search.row >= 0, reach, start)

        def hand_on(carry: tuple[Array, Array]) -> tuple[Array, Array]:
            """Give a column the row of the one before it on the path."""
            owners, column = carry
            before = get_at(search.previous, column)
            owner = jnp.where(before < 0, row, get_at(owners, jnp.maximum(before, 0)))
            return set_at(owners, column, owner), before

        owners, _ = lax.while_loop(lambda carry: carry[1] >= 0, hand_on, (owners, search.column))
        return search.row_potentials, search.column_potentials, owners

    begin = jnp.zeros(rows, costs.dtype), jnp.zeros(columns, costs.dtype), jnp.full(columns, -1, jnp.int32)
    return lax.fori_loop(0, rows, lambda i, carry: add(jnp.int32(i), carry), begin)[2]
