"""Laws of contexts that are new in every round: normal, uniform on the sphere, or the rows of a table.

What is random about a context is drawn in `noise`; a table is one leaf of the state, which all runs share.
"""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp

from jaxbandit.support import checks
from jaxbandit.support.domains import choice
from jaxbandit.support.numerics import as_float, normal_of_words
from jaxbandit.support.refusals import python
from jaxbandit.support.types import Array, ArrayLike, Key

LawName = Literal["normal", "sphere"]


class Law(NamedTuple):
    """How the contexts of one shape are drawn."""

    noise: Callable[[Key], Array]  # normals float[shape], or the numbers of rows int32
    context: Callable[[Array | None, Array], Array]  # (table, noise) -> float[shape]
    table: ArrayLike | None = None  # float[rows, ...], which the state must hold


def law_of(law: LawName | ArrayLike, shape: tuple[int, ...]) -> Law:
    """Return the law of contexts float[dim], or float[num_arms, dim] with a row for each arm.

    Args:
      law: "normal", every row N(0, I/dim); "sphere", every row uniform on the unit sphere; or a table of contexts,
        float[rows, *shape], from which every round draws one uniformly. If a context has a row for each arm, a table
        float[rows, dim] is allowed too, from which each arm draws a row of its own.
      shape: shape of a context.
    """
    if isinstance(law, str):
        checks.take("law", law, choice(("normal", "sphere")))

        def normals(key: Key) -> Array:
            return normal_of_words(jax.random.bits(key, shape, jnp.uint32))

        def placed(table: Array | None, noise: Array) -> Array:
            if law == "normal":
                return noise / shape[-1] ** 0.5
            return noise / jnp.sqrt(jnp.sum(noise * noise, -1, keepdims=True))

        return Law(normals, placed)
    if (ndim := checks.axes(law)) not in (2, len(shape) + 1):
        wanted = " or ".join(f"{n} axes" for n in sorted({2, len(shape) + 1}))
        raise ValueError(f'law = {python(law)}, must be "normal", "sphere" or a table of {wanted}')
    table = checks.take("law", law, checks.arrays(ndim=ndim))
    own = () if ndim == len(shape) + 1 else shape[:1]
    fitting = shape[len(own) :]
    if table.shape[1:] != fitting:
        got, wanted = list(table.shape), ", ".join(map(str, fitting))
        raise ValueError(f"law is a table of shape {got}, must be [rows, {wanted}]")
    rows = table.shape[0]

    def numbers(key: Key) -> Array:
        return row_numbers(key, own, rows)

    def gathered(table: Any, noise: Array) -> Array:
        if own:
            return jax.vmap(lambda row: jax.lax.dynamic_index_in_dim(table, row, 0, keepdims=False))(noise)
        return jax.lax.dynamic_index_in_dim(table, noise, 0, keepdims=False)

    return Law(numbers, gathered, table)


def row_numbers(key: Key, shape: tuple[int, ...], rows: int) -> Array:
    """Return numbers in [0, rows), int32[shape], without randint, which takes XLA's CPU compiler extremely long."""
    return (jax.random.bits(key, shape, jnp.uint32) % rows).astype(jnp.int32)


def table_leaf(law: Law) -> Array | None:
    """Return the table as the state of a run holds it."""
    return None if law.table is None else as_float(law.table)
