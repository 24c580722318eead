"""The arm of the largest index, arm by arm, in place of an index of all arms that is stored and then read again.

In a loop that is compiled whole (`whole_loops.py`) the loop over the arms is machine code like any other: an arm's
index is computed for all runs, compared with the largest so far and forgotten. What the index is computed from is found
by going back from it through the elementwise operations of the program that `replay.py` writes.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import lax

from jaxbandit import jaxprs
from jaxbandit.types import Array

LEAST = 17  # entries from which the loop pays
UNROLLED = 2  # arms a turn, where an arm's index is short (RESULTS.md)
SHORT = 16  # operations
REPEATS = frozenset(("broadcast_in_dim", "reshape"))  # of a scalar, or of the vector itself
TRANSCENDENTAL = frozenset("exp exp2 expm1 log log1p logistic pow sin cos tan tanh erf erf_inv erfc lgamma".split())


class Made(NamedTuple):
    """How a value came about: by an elementwise operation, or by repeating a scalar."""

    equation: Any
    operands: tuple
    marks: tuple[bool, ...]
    entries: int  # of the vector that it is, of one run


def first_largest(vector: Array, made: Mapping[int, Made], largest: bool, dtype: Any) -> Array | None:
    """Argmax (or argmin) over axis 0 of [entries, lanes], the lowest of several; None where the entries are stored.

    NaN counts as the largest number there is, infinity.

    Args:
      vector: what is searched, made from vectors of as many entries.
      made: by identity, how each value came about.
      largest: False: argmin.
      dtype: of the answer.
    """
    entries, lanes = vector.shape
    if entries < LEAST:
        return None
    order = _operations(vector, made)
    if not order:
        return None
    heavy = any(made[x].equation.primitive.name in TRANSCENDENTAL for x in order) or len(order) > SHORT
    turns = 1 if heavy else UNROLLED

    def indices(first: Array | int, number: int) -> Array:
        """Those of so many arms from `first` on, float[number, lanes]."""
        values: dict[int, Array] = {}

        def at(x: Any, varies: bool) -> Any:
            if id(x) not in values and jnp.ndim(x) > varies:
                rows = lax.dynamic_slice_in_dim(x, first, number)
                values[id(x)] = rows if varies else rows[:, None]
            return values[id(x)] if id(x) in values else jnp.asarray(x)

        for name in order:
            node = made[name]
            operands = [at(x, varies) for x, varies in zip(node.operands, node.marks, strict=True)]
            if node.equation.primitive.name in REPEATS:
                values[name] = operands[0]
                continue
            shape = jnp.broadcast_shapes(*(x.shape for x in operands))
            shape = shape if len(shape) != 1 else (1, *shape)
            operands = [jnp.broadcast_to(x if x.ndim != 1 else x[None], shape) for x in operands]
            (values[name],) = jaxprs.bind(node.equation, operands)
        found = values[id(vector)]
        return jnp.broadcast_to(found if largest else -found, (number, lanes))

    def look(first: Array | int, number: int, carried: tuple[Array, Array]) -> tuple[Array, Array]:
        best, place = carried
        found = indices(first, number)
        found = jnp.where(found < jnp.inf, found, jnp.inf)
        for j in range(number):
            better = found[j] > best
            best = jnp.where(better, found[j], best)
            place = jnp.where(better, jnp.asarray(first + j, dtype), place)
        return best, place

    def turn(i: Array, carried: tuple[Array, Array]) -> tuple[Array, Array]:
        # The last turn may look at an arm a second time, which is not larger than itself: a rest of arms after the
        # loop would make XLA copy what the loop reads.
        first = i * turns
        return look(jnp.minimum(first, entries - turns) if entries % turns else first, turns, carried)

    carried = jnp.full(lanes, -jnp.inf, vector.dtype), jnp.zeros(lanes, dtype)
    return lax.fori_loop(0, -(-entries // turns), turn, carried)[1]


def _operations(vector: Any, made: Mapping[int, Made]) -> list[int]:
    """The values that `vector` is made from entry by entry, itself last, each after its operands; by identity."""
    entries, order, seen = vector.shape[0], [], set()

    def visit(x: Any) -> None:
        node = made.get(id(x))
        if id(x) in seen or node is None or node.entries != entries:
            return
        seen.add(id(x))
        for operand in node.operands:
            visit(operand)
        order.append(id(x))

    visit(vector)
    return order


def how_made(equation: Any, operands: tuple, marks: tuple, elementwise: frozenset) -> Made | None:
    """What `first_largest` reads of an operation whose result is a vector made entry by entry; None of any other."""
    if len(equation.outvars) != 1 or len(shape := equation.outvars[0].aval.shape) != 1:
        return None
    name = equation.primitive.name
    alike = len(operands) == 1 and equation.invars[0].aval.shape in ((), shape)
    if name in elementwise or (alike and name in REPEATS):
        return Made(equation, operands, marks, shape[0])
    return None
