"""Argmax over the arms: of stored indices by reductions, or arm by arm without storing the indices of all arms.

The second is for a loop that is compiled whole (`whole_loops.py`): the index of an arm is computed for all runs,
compared with the largest so far, and discarded.
"""

import functools
from collections.abc import Callable, Mapping
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxbandit.engine.layout.jaxprs import Equation
from jaxbandit.support.types import Array, ArrayLike

LEAST = 17  # smallest number of entries for which the loop is faster
UNROLLED = 2  # number of arms per iteration if the computation of an index is short (benchmarks/results/engine.md)
SHORT = 16  # largest number of operations of a short computation
REPEATS = frozenset(("broadcast_in_dim", "reshape"))  # operations that repeat a scalar or keep the vector
TRANSCENDENTAL = frozenset("exp exp2 expm1 log log1p logistic pow sin cos tan tanh erf erf_inv erfc lgamma".split())
SLICES = 32  # number of parts of a vector of one run that are combined as vectors


class Recipe(NamedTuple):
    """How a value was computed: by an elementwise operation, or by repeating a scalar."""

    equation: Equation
    operands: tuple
    marks: tuple[bool, ...]
    entries: int  # number of entries of the vector, in one run


def first_largest(vector: Array, recipes: Mapping[int, Recipe], largest: bool, dtype: np.dtype) -> Array | None:
    """Argmax (or argmin) over axis 0 of [entries, lanes], the lowest index among ties; None if the loop does not apply.

    NaN counts as infinity for argmax, and as minus infinity for argmin. `recipes` say how each value was computed, by
    its id.
    """
    entries, lanes = vector.shape
    if entries < LEAST:
        return None
    order = _operations(vector, recipes)
    if not order:
        return None
    heavy = any(recipes[x].equation.name in TRANSCENDENTAL for x in order) or len(order) > SHORT
    turns = 1 if heavy else UNROLLED

    def indices(first: Array | int, number: int) -> Array:
        """The indices of `number` arms from `first` on, float[number, lanes], negated for argmin."""
        values: dict[int, Array] = {}

        def at(x: ArrayLike, varies: bool) -> Array:
            if id(x) not in values and jnp.ndim(x) > varies:
                rows = lax.dynamic_slice_in_dim(x, first, number)
                values[id(x)] = rows if varies else rows[:, None]
            return values[id(x)] if id(x) in values else jnp.asarray(x)

        for name in order:
            node = recipes[name]
            operands = [at(x, varies) for x, varies in zip(node.operands, node.marks, strict=True)]
            if node.equation.name in REPEATS:
                values[name] = operands[0]
                continue
            shape = jnp.broadcast_shapes(*(x.shape for x in operands))
            shape = shape if len(shape) != 1 else (1, *shape)
            operands = [jnp.broadcast_to(x if x.ndim != 1 else x[None], shape) for x in operands]
            (values[name],) = node.equation.bind(operands)
        entries = values[id(vector)]
        return jnp.broadcast_to(entries if largest else -entries, (number, lanes))

    def look(first: Array | int, number: int, carry: tuple[Array, Array]) -> tuple[Array, Array]:
        best, place = carry
        entries = indices(first, number)
        entries = jnp.where(entries < jnp.inf, entries, jnp.inf)
        for j in range(number):
            better = entries[j] > best
            best = jnp.where(better, entries[j], best)
            place = jnp.where(better, jnp.asarray(first + j, dtype), place)
        return best, place

    def turn(i: Array, carry: tuple[Array, Array]) -> tuple[Array, Array]:
        # The last iteration may repeat an arm, which does not change the result. Processing a remainder of arms after
        # the loop would make XLA copy the inputs of the loop.
        first = i * turns
        return look(jnp.minimum(first, entries - turns) if entries % turns else first, turns, carry)

    carry = jnp.full(lanes, -jnp.inf, vector.dtype), jnp.zeros(lanes, dtype)
    return lax.fori_loop(0, -(-entries // turns), turn, carry)[1]


def first_extreme(vector: Array, largest: bool, dtype: np.dtype) -> Array:
    """Argmax or argmin over the entries of [entries, lanes] or [entries]; as in JAX, the first NaN is the extreme.

    On a CPU two plain reductions of a stored vector are several times faster than XLA's pairwise argmax; not on a GPU.
    """

    def stored(vector: Array) -> Array:
        vector = lax.optimization_barrier(vector)
        extreme = _reduced(vector, jnp.maximum if largest else jnp.minimum)
        index = lax.expand_dims(jnp.arange(vector.shape[0], dtype=dtype), range(1, vector.ndim))
        hit = (vector == extreme[None]) | (vector != vector)
        return _reduced(jnp.where(hit, index, vector.shape[0] - 1), jnp.minimum)

    def fused(vector: Array) -> Array:
        return (lax.argmax if largest else lax.argmin)(vector, 0, dtype)

    return lax.platform_dependent(vector, cuda=fused, rocm=fused, default=stored)


def _reduced(x: Array, combine: Callable[[Array, Array], Array]) -> Array:
    """The largest or smallest entry of [entries, lanes] or [entries], which `combine` returns of two numbers."""
    reduce, size = (jnp.max if combine is jnp.maximum else jnp.min), x.shape[0] // SLICES
    if x.ndim > 1 or size < 2:
        return reduce(x, axis=0)
    x = lax.optimization_barrier(x)
    slices = (x[i * size : (i + 1) * size] for i in range(SLICES))
    most = reduce(lax.optimization_barrier(functools.reduce(combine, slices)))
    return combine(most, reduce(x[SLICES * size :])) if x.shape[0] % SLICES else most


def _operations(vector: Array, recipes: Mapping[int, Recipe]) -> list[int]:
    """The ids of the values from which `vector` is computed elementwise, in topological order with `vector` last."""
    entries, order, seen = vector.shape[0], [], set()

    def visit(x: ArrayLike) -> None:
        node = recipes.get(id(x))
        if id(x) in seen or node is None or node.entries != entries:
            return
        seen.add(id(x))
        for operand in node.operands:
            visit(operand)
        order.append(id(x))

    visit(vector)
    return order


def recipe_of(equation: Equation, operands: tuple, marks: tuple, elementwise: frozenset) -> Recipe | None:
    """The record of an operation whose result is a vector computed elementwise; None for any other operation."""
    if len(equation.outputs) != 1 or len(shape := equation.outputs[0].shape) != 1:
        return None
    alike = len(operands) == 1 and equation.inputs[0].shape in ((), shape)
    if equation.name in elementwise or (alike and equation.name in REPEATS):
        return Recipe(equation, operands, marks, shape[0])
    return None
