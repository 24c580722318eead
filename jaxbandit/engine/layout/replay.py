"""Evaluation of the jaxpr of one run on many runs, operation by operation, with the run axis last.

Common operations have a batching rule here. An operation without a rule, or with a parameter unknown to its rule, is
batched by vmap on its own, so that every function works.
"""

import functools
import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.core import Tracer

from jaxbandit.engine.layout import search, whole_loops
from jaxbandit.engine.layout.jaxprs import Equation, Literal, Program, ShapeDtype, evaluate
from jaxbandit.support.types import Array, Key

RUNS = -1  # the batch axis comes last, so that a pass over one arm of all runs is contiguous

# Up to this many entries, a select over all of them is faster than one store per run (benchmarks/results/engine.md).
SELECT_LIMIT = 64
WIDE_SELECT_LIMIT = 16  # the same in a loop that is compiled whole, on a CPU with vectors of 512 bits
WHOLE_SELECT_LIMIT = 3  # the same on other CPUs; and of entries that are looked up one after the other
CONSTANT_LIMIT = 4096  # largest number of entries of a constant that is compared by value
LOOKUP_LIMIT = 16  # largest number of entries of a vector, or rows of a matrix, for a lookup by selects

ELEMENTWISE = frozenset(
    (
        "abs add and acos acosh asin asinh atan atan2 atanh cbrt ceil clz convert_element_type copy cos "
        "cosh digamma div eq erf erf_inv erfc exp exp2 expm1 floor ge gt integer_pow is_finite le lgamma "
        "log log1p logistic lt max min mul ne neg nextafter not or population_count pow "
        "regularized_incomplete_beta rem round rsqrt select_n shift_left shift_right_arithmetic "
        "shift_right_logical sign sin sinh sqrt square stop_gradient sub tan tanh xor "
    ).split()
)
# The axis parameters of these operations refer to axes of a single run, which come first and keep their numbers.
ALONG_AXES = frozenset(
    (
        "reduce_sum reduce_max reduce_min reduce_prod reduce_and reduce_or argmax argmin cumsum cumprod cummax cummin "
        "cumlogsumexp rev"
    ).split()
)
# Operations that a rule replaces by others, with the parameters that the rule reads; all others must be None.
REWRITTEN = {
    "argmax": "axes index_dtype",
    "argmin": "axes index_dtype",
    "broadcast_in_dim": "shape broadcast_dimensions",
    "concatenate": "dimension",
    "dynamic_slice": "slice_sizes",
    "dynamic_update_slice": "",
    "gather": "dimension_numbers slice_sizes indices_are_sorted unique_indices mode",
    "reshape": "new_sizes",
    "scatter": "update_jaxpr update_consts dimension_numbers indices_are_sorted unique_indices mode",
    "scatter-add": "update_jaxpr update_consts dimension_numbers indices_are_sorted unique_indices mode",
    "squeeze": "dimensions",
}


def replay(
    program: Program, inputs: Sequence, flags: Sequence[bool], lanes: int, known: dict
) -> tuple[list[Array], list[bool]]:
    """Return the outputs, and which of them vary. `known` caches results, so that nothing is computed twice."""

    def compute(equation: Equation, values: list) -> list:
        operands, marks = tuple(x for x, _ in values), tuple(varies for _, varies in values)
        if (inner := equation.called) is not None:
            return list(zip(*replay(inner, operands, marks, lanes, known), strict=True))
        token = _token(equation, operands, marks)
        if token not in known:
            with equation.scope():
                results = _operation(equation, operands, marks, lanes, known)
            known[token] = results, operands  # keeps the operands alive, so that their ids stay valid
            if (recipe := search.recipe_of(equation, operands, marks, ELEMENTWISE)) is not None:
                known[id(results[0][0])] = recipe
        return known[token][0]

    outcomes = evaluate(program, list(zip(inputs, flags, strict=True)), compute, lambda x: (x, False))
    return [jnp.asarray(x) for x, _ in outcomes], [varies for _, varies in outcomes]


def with_runs(x: Array, lanes: int) -> Array:
    """Repeat a value that all runs share along a new last axis."""
    return lax.broadcast_in_dim(x, (*x.shape, lanes), range(x.ndim))


def _operation(equation: Equation, operands: tuple, marks: tuple, lanes: int, known: dict) -> list[tuple[Array, bool]]:
    """The results of one operation, each with whether it varies."""
    if equation.name == "random_split" and _is_one_threefry_key(operands[0]):
        parts = range(math.prod(equation.params["shape"]))
        keys = jnp.stack([jax.random.fold_in(operands[0], i) for i in parts])
        return [(keys.reshape(equation.params["shape"]), False)]
    if not any(marks) and equation.name in ("argmax", "argmin") and len(equation.inputs[0].shape) == 1:
        return [(search.first_extreme(operands[0], equation.name == "argmax", equation.params["index_dtype"]), False)]
    results = _rule(equation, operands, marks, lanes, known) if any(marks) else equation.bind(operands)
    return [(x, any(marks)) for x in results]


def _token(equation: Equation, operands: tuple, marks: tuple) -> Hashable:
    """A key that is equal for two operations with the same results."""

    def name(x: Array) -> Hashable:
        if isinstance(x, Tracer) or np.size(x) > CONSTANT_LIMIT or jnp.issubdtype(x.dtype, jax.dtypes.extended):
            return id(x)
        return np.asarray(x).tobytes(), np.shape(x), x.dtype

    same = equation.identity
    return object() if same is None else (same, tuple(map(name, operands)), marks)


def _rule(equation: Equation, operands: tuple, marks: tuple, lanes: int, known: dict) -> Sequence[Array]:
    """One operation with at least one varying operand; every result varies."""
    name, params, out = equation.name, equation.params, equation.outputs[0]

    def full(i: int) -> Array:
        return operands[i] if marks[i] else with_runs(jnp.asarray(operands[i]), lanes)

    def whole(i: int) -> Array:
        """The operand in the shape of the result, because elementwise operations may combine scalars and arrays."""
        x = full(i)
        return x if x.ndim > out.ndim else lax.broadcast_in_dim(x, (*out.shape, lanes), (out.ndim,))

    everything = range(len(operands))
    if name in REWRITTEN and not _is_plain(equation):
        return _vmapped(equation, operands, marks, lanes)
    if name in ELEMENTWISE:
        return equation.bind([whole(i) for i in everything])
    if name in ("argmax", "argmin") and out.shape == ():
        if whole_loops.searches_arms() and jnp.issubdtype(operands[0].dtype, jnp.floating):
            position = search.first_largest(operands[0], known, name == "argmax", params["index_dtype"])
            if position is not None:
                return [position]
        return [search.first_extreme(operands[0], name == "argmax", params["index_dtype"])]
    if name in ALONG_AXES:
        return equation.bind([full(0)])
    if name == "reduce" and not any(marks[len(operands) // 2 :]):
        return equation.bind([*map(full, range(len(operands) // 2)), *operands[len(operands) // 2 :]])
    if name == "broadcast_in_dim" and len(operands) == 1:
        dimensions = (*params["broadcast_dimensions"], out.ndim)
        return [lax.broadcast_in_dim(full(0), (*out.shape, lanes), dimensions)]
    if name in ("reshape", "squeeze") and len(operands) == 1:
        return [full(0).reshape(*out.shape, lanes)]
    if name == "concatenate":
        return [lax.concatenate([full(i) for i in everything], params["dimension"])]
    if name == "dynamic_slice" and not any(marks[1:]):
        start = [*operands[1:], jnp.zeros_like(operands[1])]
        return [lax.dynamic_slice(operands[0], start, (*params["slice_sizes"], lanes))]
    if name == "dynamic_update_slice" and not any(marks[2:]):  # vmap would make it a scatter and transpose
        return [lax.dynamic_update_slice(full(0), full(1), [*operands[2:], jnp.zeros_like(operands[2])])]
    if name == "dynamic_slice" and _is_entry(equation.inputs[0], params["slice_sizes"]):
        return [_entry(operands[0], full(1), marks[0], True)[None]]
    if name == "dynamic_slice" and _is_row(equation, marks) and equation.inputs[0].shape[0] <= LOOKUP_LIMIT:
        return [_row(full(0), full(1))[None]]
    if name == "gather" and _is_entry(equation.inputs[0], params["slice_sizes"]) and _in_range(equation):
        return [_entry(operands[0], operands[1][:, 0], *marks)]
    if name in ("scatter", "scatter-add") and _is_entry(out, (1,)) and equation.inputs[2].shape == ():
        vector, index, value = map(full, everything)
        return [_with_entry(vector, index[0], value, name == "scatter-add", params["mode"])]
    if name == "cond" and params.get("branches_platforms") and not marks[0]:
        return _by_platform(equation, operands[1:], marks[1:], lanes)
    return _vmapped(equation, operands, marks, lanes)


def _by_platform(equation: Equation, operands: Sequence, marks: Sequence[bool], lanes: int) -> Sequence[Array]:
    """The results of `lax.platform_dependent`; each branch is replayed, because vmap would transpose the operands."""

    def replayed(branch: Program) -> Callable[..., list[Array]]:
        def play(*operands: Array) -> list[Array]:
            results, varies = replay(branch, operands, marks, lanes, {})
            return [x if v else with_runs(x, lanes) for x, v in zip(results, varies, strict=True)]

        return play

    pairs = zip(equation.params["branches_platforms"], equation.programs, strict=True)
    ways = {name: replayed(branch) for platforms, branch in pairs for name in platforms or ("default",)}
    return lax.platform_dependent(*operands, **ways)


def _is_plain(equation: Equation) -> bool:
    """Whether all parameters that the rule of the operation does not read are None."""
    read = REWRITTEN[equation.name].split()
    return all(value is None or name in read for name, value in equation.params.items())


def _is_one_threefry_key(key: Key) -> bool:
    return key.ndim == 0 and str(jax.random.key_impl(key)) == "threefry4x32"


def _vmapped(equation: Equation, operands: tuple, marks: tuple, lanes: int) -> Sequence[Array]:
    axes = [RUNS if mark else None for mark in marks]

    def bind(*xs: Array) -> Sequence[Array]:
        return equation.bind(xs)

    return jax.vmap(bind, axes, RUNS, axis_size=lanes)(*operands)


def _is_entry(vector: Array | ShapeDtype, sizes: tuple[int, ...]) -> bool:
    return len(vector.shape) == 1 and tuple(sizes) == (1,)


def _in_range(equation: Equation) -> bool:
    """Whether a gather is a lookup by a list of numbers that are in range, or are clipped."""
    modes = lax.GatherScatterMode.PROMISE_IN_BOUNDS, lax.GatherScatterMode.CLIP
    return equation.params["mode"] in modes and len(equation.outputs[0].shape) == 1


def _is_row(equation: Equation, marks: tuple) -> bool:
    """Whether a dynamic_slice is the lookup of one row of a matrix."""
    shape = equation.inputs[0].shape
    if len(shape) != 2 or tuple(equation.params["slice_sizes"]) != (1, shape[1]):
        return False
    column = equation.operands[2]
    return isinstance(column, Literal) and int(column.value) == 0 and not marks[2]


def _row(matrix: Array, index: Array) -> Array:
    """matrix[index] for each run, with the index clamped; matrix is [rows, columns, lanes] and index int[lanes]."""
    row = matrix[-1]
    for k in range(matrix.shape[0] - 2, -1, -1):
        row = jnp.where((index <= k)[None], matrix[k], row)
    return row


def _only(hit: Array, x: Array) -> Array:
    """The entry along axis 0 of x at which `hit` is True, exactly, computed as a masked maximum."""
    if x.dtype == bool:
        return (hit & x).any(0)
    whole = whole_loops.searches_arms()
    if whole and x.shape[0] <= WHOLE_SELECT_LIMIT:
        last = jnp.broadcast_to(x[-1], hit.shape[1:])
        return functools.reduce(lambda entry, k: jnp.where(hit[k], x[k], entry), range(x.shape[0] - 1), last)
    if whole and x.dtype.itemsize == 4:
        bits = jnp.where(hit, lax.bitcast_convert_type(x, jnp.uint32), jnp.uint32(0))
        return lax.bitcast_convert_type(lax.reduce(bits, jnp.uint32(0), lax.bitwise_or, (0,)), x.dtype)
    low = -jnp.inf if jnp.issubdtype(x.dtype, jnp.floating) else jnp.iinfo(x.dtype).min
    return jnp.max(jnp.where(hit, x, jnp.asarray(low, x.dtype)), axis=0)


def _entry(vector: Array, index: Array, own: bool, varies: bool) -> Array:
    """vector[index] of each run, clamped: of [entries], or its `own` in [entries, lanes], at int[.., lanes]."""
    vector, index = jnp.asarray(vector), jnp.clip(index, 0, vector.shape[0] - 1)
    if varies and vector.shape[0] <= LOOKUP_LIMIT:
        entries = jnp.arange(vector.shape[0], dtype=index.dtype)
        between = range(1, index.ndim)
        hit = jnp.expand_dims(entries, (*between, index.ndim)) == index[None]
        return _only(hit, jnp.expand_dims(vector if own else vector[:, None], tuple(between)))
    entries, place = _places(vector, index) if varies and own else (vector, (index,))
    return entries.at[place].get(mode="promise_in_bounds", wrap_negative_indices=False)


def _with_entry(vector: Array, index: Array, value: Array, add: bool, mode: lax.GatherScatterMode) -> Array:
    """Set or add `value` at vector[index] in each run; vector is [entries, lanes], index int[lanes], value [lanes]."""
    if mode == lax.GatherScatterMode.CLIP:
        index = jnp.clip(index, 0, vector.shape[0] - 1)
    if vector.shape[0] <= _select_limit():
        hit = jnp.arange(vector.shape[0], dtype=index.dtype)[:, None] == index[None]
        return jnp.where(hit, vector + value[None] if add else value[None], vector)
    entries, place = _places(vector, index)
    options: Mapping[str, Any] = {"mode": "drop", "unique_indices": True, "wrap_negative_indices": False}
    changed = entries.at[place].add(value, **options) if add else entries.at[place].set(value, **options)
    return changed.reshape(vector.shape)


def _select_limit() -> int:
    if not whole_loops.searches_arms():
        return SELECT_LIMIT
    return WIDE_SELECT_LIMIT if whole_loops.has_wide_vectors() else WHOLE_SELECT_LIMIT


def _places(vector: Array, index: Array) -> tuple[Array, tuple[Array, ...]]:
    """The entries of all runs, [entries, lanes] or in one row, and the indices of vector[index] of each run in them."""
    if whole_loops.searches_arms() and vector.size < 2**31:
        # What is out of range stays so, and next to it, so that its place does not overflow.
        index = jnp.clip(index.astype(jnp.int32), -1, vector.shape[0])
        return vector.reshape(-1), (index * vector.shape[1] + _lane_numbers(index),)
    return vector, (index, _lane_numbers(index))


def _lane_numbers(index: Array) -> Array:
    return jnp.broadcast_to(jnp.arange(index.shape[-1], dtype=index.dtype), index.shape)
