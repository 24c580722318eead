"""Small numerical helpers that trace to few operations and stay finite at the edges of their domain."""

import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.custom_batching import custom_vmap

from jaxbandit.support.types import Array, ArrayLike, Key, PyTree, Scalar

_LAPACK = threading.RLock()
_COLUMNS = 8  # number of columns processed together by matrix_vector
UNROLLED = 8  # loops of at most this length are unrolled; unrolling 25 steps took half a minute to compile
_SHORT = 24  # sums of at most this length are reductions: 2 to 4 times as fast as a loop with 20 terms, slower from 50
_SLICES = 16  # number of slices that a turn of weighted_sum adds; with 8, XLA's CPU compiler does not use vectors
_ROOT_HALF = 0x3FE6A09E667F3BCD  # the bits of sqrt(1/2) in float64
_LOG_2_HIGH = float.fromhex("0x1.62e42fee00000p-1")  # its product with an exponent is exact
_LOG_2_LOW = float.fromhex("0x1.a39ef35793c76p-33")


@contextmanager
def lapack_lock() -> Iterator[None]:
    """A scope in which nothing else in this process calls LAPACK; everything computed inside is waited for inside.

    On a CPU two batches of such calls at once have deadlocked (jaxlib 0.10.2). What the engine compiles takes turns by
    itself.
    """
    with _LAPACK:
        yield


def as_float(x: ArrayLike) -> Array:
    """Cast to the default float of the current scope: float32, or float64 inside `jax.enable_x64(True)`."""
    return jnp.asarray(x, dtype=jnp.result_type(float))


def get_at(x: Array, index: Array) -> Array:
    """Return x[index] for an index known to be in range; negative indices do not wrap."""
    return x.at[index].get(mode="promise_in_bounds", wrap_negative_indices=False)


def set_at(x: Array, index: Array, value: Array) -> Array:
    """Return x with x[index] = value, for an index known to be in range; negative indices do not wrap."""
    return x.at[index].set(value, mode="promise_in_bounds", wrap_negative_indices=False)


def add_at(x: Array, index: Array, value: Array | int) -> Array:
    """Return x with value added to x[index], for an index known to be in range; negative indices do not wrap."""
    return set_at(x, index, get_at(x, index) + value)


def argmax(x: Array) -> Array:
    """Return the lowest index of the largest entry, int32[] in every scope (jnp.argmax gives int64 under x64)."""
    return lax.argmax(x, 0, jnp.int32)


def dot(left: Array, right: Array) -> Array:
    """Return left @ right in full precision; by default accelerators round the factors to TF32 or bfloat16."""
    return jnp.matmul(left, right, precision=lax.Precision.HIGHEST)


def matrix_vector(matrix: Array, vector: Array) -> Array:
    """Return matrix @ vector, 8 columns at a time, with the same bits in every batch as the engine compiles it.

    A matrix product would not give the same bits, and a fused sum would recompute the vector for every row on a CPU.
    """
    rest = -matrix.shape[1] % _COLUMNS
    columns = jnp.pad(matrix.T, ((0, rest), (0, 0))).reshape(-1, _COLUMNS, matrix.shape[0])
    entries = jnp.pad(vector, (0, rest)).reshape(-1, _COLUMNS)

    def add(total: Array, some: tuple[Array, Array]) -> tuple[Array, None]:
        columns, entries = some
        return total + jnp.sum(columns * entries[:, None], 0), None

    return lax.scan(add, jnp.zeros(matrix.shape[0], vector.dtype), (columns, entries))[0]


def one_by_one(function: Callable[..., PyTree]) -> Callable[..., PyTree]:
    """Return the function of arrays so that under vmap a CPU evaluates it for one element after the other.

    This is for loops of very different lengths. On other devices vmap works as usual, and all elements continue until
    the last is done. The function must not close over traced values.
    """
    in_turn = custom_vmap(function)

    @in_turn.def_vmap
    def _(size: int, batched: list[bool], *operands: Array) -> tuple[PyTree, PyTree]:
        def each(*operands: Array) -> PyTree:
            def one(own: list[Array]) -> PyTree:
                rest = iter(own)
                return function(*(next(rest) if flag else x for x, flag in zip(operands, batched, strict=True)))

            return lax.map(one, [x for x, flag in zip(operands, batched, strict=True) if flag])

        beside = jax.vmap(function, [0 if flag else None for flag in batched])
        results = lax.platform_dependent(*operands, cpu=each, default=beside)
        return results, jax.tree.map(lambda _: True, results)

    return in_turn


def kahan(total: Array, error: Array | None, value: Array) -> tuple[Array, Array | None]:
    """Return a sum and its rounding error after adding a number by Kahan's compensated summation.

    The sum minus its error has about twice the digits of one number. Without an error, None, it is a plain addition, as
    float64 needs no more.
    """
    if error is None:
        return total + value, None
    addend = value - error
    summed = total + addend
    return summed, (summed - total) - addend


def kahan_at(totals: Array, errors: Array | None, index: Array, value: Array) -> tuple[Array, Array | None, Array]:
    """Return vectors of sums and their rounding errors after adding a number to one of them, and its new sum."""
    total, error = kahan(get_at(totals, index), None if errors is None else get_at(errors, index), value)
    if errors is None or error is None:
        return set_at(totals, index, total), None, total
    return set_at(totals, index, total), set_at(errors, index, error), total


def kahan_pair(pair: Array, value: Array) -> Array:
    """Return a sum and its rounding error, stacked in float[2, ...], after adding a number."""
    total, error = kahan(pair[0], pair[1], value)
    return jnp.stack([total, error])  # pyright: ignore[reportArgumentType]


def log(x: Array) -> Array:
    """Return the natural logarithm, accurate to about one rounding error, except for subnormal numbers.

    For float64 it is a series, at a quarter of the cost on a CPU, which manipulates bits that a TPU does not have;
    there it is XLA's.
    """
    if x.dtype != jnp.float64:
        return jnp.log(x)
    return lax.platform_dependent(x, tpu=jnp.log, default=_log_of_bits)


def _log_of_bits(x: Array) -> Array:
    bits = lax.bitcast_convert_type(x, jnp.int64)
    exponent = lax.shift_right_arithmetic(bits - _ROOT_HALF, jnp.int64(52))
    f = lax.bitcast_convert_type(bits - lax.shift_left(exponent, jnp.int64(52)), jnp.float64) - 1  # from 0.707 to 1.414
    r = f / (2 + f)  # log(1 + f) = 2 artanh r and f - 2r = f r
    square = r * r
    tail = jnp.zeros_like(r)
    for k in range(23, 1, -2):
        tail = (tail + 1 / k) * square
    whole = exponent.astype(jnp.float64)
    value = whole * _LOG_2_HIGH + (f - (r * (f - 2 * tail) - whole * _LOG_2_LOW))
    return jnp.where((x > 0) & (x < jnp.inf), value, jnp.where(x == 0, -jnp.inf, jnp.where(x < 0, jnp.nan, x)))


def exploration_level(round: Array, c: Scalar = 0.0) -> Array:
    """Return log t + c log log t at round t >= 1, at least 0; log log t counts as 0 for t < 3."""
    t = as_float(round)
    log_t = jnp.log(t)
    log_log_t = jnp.where(t < 3, 0.0, jnp.log(jnp.maximum(log_t, 1.0)))
    return jnp.maximum(log_t + as_float(c) * log_log_t, 0.0)


def xlogx(x: Array) -> Array:
    """Return x log x for x >= 0, with 0 log 0 = 0."""
    return x * jnp.log(jnp.maximum(x, jnp.finfo(x.dtype).tiny))


def bernoulli_kl(p: Array, q: Array) -> Array:
    """Return kl(p, q) = p log(p/q) + (1-p) log((1-p)/(1-q)) for p, q in [0, 1]; never negative."""
    return bernoulli_kl_apart(p, q - p)


def inline(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """Return a function that is traced once for each shape, and then written into its callers; options of `jax.jit`."""
    return jax.jit(function, inline=True, **options)


@inline
def bernoulli_kl_apart(p: Array, u: Array) -> Array:
    """Return kl(p, p + u) for p and p + u in [0, 1], where u is known more accurately than p + u; never negative.

    It is p h(u/p) + (1-p) h(-u/(1-p)) with h(x) = x - log(1+x) >= 0, where nothing cancels for small u.
    """
    floor = jnp.sqrt(jnp.finfo(p.dtype).tiny)  # p h(u/p) tends to u as p tends to 0
    low, high = jnp.maximum(p, floor), jnp.maximum(1 - p, floor)
    return low * x_minus_log1p(u / low) + high * x_minus_log1p(-u / high)


@inline
def x_minus_log1p(x: Array) -> Array:
    """Return x - log(1 + x) for x >= -1, with a relative error of some rounding errors, ten away from 0."""
    near = jnp.abs(x) < 0.3
    y = jnp.where(near, x, 0.0)
    r = y / (2 + y)  # log(1 + x) = 2 artanh r and x - 2r = x r
    square = r * r
    tail = jnp.zeros_like(r)
    for k in range(23 if x.dtype == jnp.float64 else 13, 1, -2):
        tail = tail * square + 1 / k
    return jnp.where(near, r * (y - 2 * square * tail), jnp.maximum(x - jnp.log(1 + x), 0.0))


def numbered_key(key: Key, number: Scalar) -> Key:
    """Return the key of a round's part with this number >= 1, like `fold_in` but without a Threefry call.

    The number is added to the first word of the key, and the engine adds the round to the last (engine/rounds/keys.py),
    so that no two parts of a run have the same key.
    """
    words = jax.random.key_data(key)
    words = jnp.concatenate([words[:1] + jnp.asarray(number, jnp.uint32), words[1:]])
    return jax.random.wrap_key_data(words, impl=jax.random.key_impl(key))


def standard_normal(key: Key) -> Array:
    """Return one standard normal from one random word, float[], between -6.4 and 6.4 with a resolution of 33 bits."""
    return normal_of_words(jax.random.bits(key, (), jnp.uint32))


def normal_of_words(words: Array) -> Array:
    """Return standard normals by inversion of the distribution function, with tail probabilities from 2^-33 to 1/2."""
    twice_tail = (as_float(lax.bitcast_convert_type(words, jnp.int32)) + 0.5) * 2.0**-31
    normal = normal_quantile(jnp.abs(twice_tail) / 2)
    return jnp.where(twice_tail < 0, -normal, normal)


def normal_noise(number: int) -> Callable[[Key], Array]:
    """Return a `noise` function that draws standard normals, float[number], one random word each."""
    return lambda key: normal_of_words(jax.random.bits(key, (number,), jnp.uint32))


def gumbel_noise(number: int) -> Callable[[Key], Array]:
    """Return a `noise` function that draws standard Gumbel numbers, float[number], between -3.2 and 22.9."""

    def noise(key: Key) -> Array:
        return -jnp.log(-jnp.log1p(-unit_of_words(jax.random.bits(key, (number,), jnp.uint32))))

    return noise


def unit_of_words(words: Array) -> Array:
    """Return uniform numbers strictly between 0 and 1, which are finer near 0 than those of jax.random.uniform."""
    return jnp.minimum((as_float(words) + 0.5) * 2.0**-32, 1 - 2.0**-24)


@inline
def normal_quantile(tail: Array) -> Array:
    """Return z with P(Z > z) = tail for tail in [1e-10, 0.55], to 1e-9, by a rational approximation."""
    t = jnp.sqrt(-2 * log(tail))
    top = t * (t * (t * (t * (t * 0.3478509 + 4.27473606) + 9.47484443) - 3.18381105) - 14.17495612) - 3.36409839
    low = t * (t * (t * (t * 0.34773562 + 4.28590542) + 11.02450426) + 7.85436847) + 1
    return top / low


def total(terms: Array) -> Array:
    """Return the sum over the first axis, UNROLLED entries at a time, with the same bits in every batch.

    It is for products of the matrices of many models with vectors, which XLA's CPU compiler then computes once.
    """
    parts = [jnp.sum(terms[k : k + UNROLLED], 0) for k in range(0, terms.shape[0], UNROLLED)]
    return functools.reduce(jnp.add, parts)


@inline
def product(left: Array, right: Array) -> Array:
    """Return left @ right as a sum of outer products."""

    def term(k: int | Array) -> Array:
        return slice_at(left, k, 1)[:, None] * slice_at(right, k, 0)[None]

    return short_loop(1, right.shape[0], lambda k, total: total + term(k), term(0))


def weighted_sum(matrix: Array, weights: Array, axis: int) -> Array:
    """Return sum_k weights[k] times slice k of the matrix along `axis`: for axis 1, matrix @ weights.

    Long sums have a loop of their own, in which the runs of a batch come last; a run that is not batched has the
    product of matrices. `product` of more than 8 terms would transpose a matrix that differs between runs.
    """
    if weights.shape[0] > _SHORT:
        return _WEIGHTED_SUMS[axis](matrix, weights)
    if weights.shape[0] > UNROLLED:
        return total((matrix.T if axis else matrix) * weights[:, None])
    return product(matrix, weights[:, None])[:, 0] if axis else product(weights[None], matrix)[0]


def _weighted_sum(axis: int) -> Callable[[Array, Array], Array]:
    def in_turns(matrix: Array, weights: Array) -> Array:
        def add(total: Array, matrix: Array, weights: Array) -> Array:
            for k in range(weights.shape[0]):
                total = total + slice_at(matrix, k, axis) * weights[k][None]
            return total

        def turn(i: Array, total: Array) -> Array:
            some = (lax.dynamic_slice_in_dim(x, i * _SLICES, _SLICES, a) for x, a in ((matrix, axis), (weights, 0)))
            return add(total, *some)

        number, runs = weights.shape[0], max(matrix.shape[2], weights.shape[1])
        total, whole = jnp.zeros((matrix.shape[1 - axis], runs), weights.dtype), number // _SLICES * _SLICES
        total = lax.fori_loop(0, whole // _SLICES, turn, total) if whole else total
        return add(total, lax.slice_in_dim(matrix, whole, number, axis=axis), weights[whole:])

    def at_once(matrix: Array, weights: Array) -> Array:
        return jnp.sum(matrix * jnp.expand_dims(weights, 1 - axis), axis)

    @custom_vmap
    def total(matrix: Array, weights: Array) -> Array:
        return dot(matrix, weights) if axis else dot(weights, matrix)

    @total.def_vmap
    def _(size: int, batched: list[bool], *operands: Array) -> tuple[Array, bool]:
        last = [jnp.moveaxis(x, 0, -1) if flag else x[..., None] for x, flag in zip(operands, batched, strict=True)]
        return jnp.moveaxis(lax.platform_dependent(*last, cpu=in_turns, default=at_once), -1, 0), True

    return total


_WEIGHTED_SUMS = _weighted_sum(0), _weighted_sum(1)


def short_loop(first: int, end: int, step: Callable[[int | Array, PyTree], PyTree], start: PyTree) -> PyTree:
    """Return step(end - 1, ... step(first, start)), unrolled if that is short to compile."""
    if end <= UNROLLED:
        return functools.reduce(lambda carry, k: step(k, carry), range(first, end), start)
    return lax.fori_loop(first, end, step, start)


def slice_at(x: Array, k: int | Array, axis: int) -> Array:
    """Return x without `axis`, at its entry k."""
    at = lax.index_in_dim if isinstance(k, int) else lax.dynamic_index_in_dim
    return at(x, k, axis, keepdims=False)  # pyright: ignore[reportArgumentType]
