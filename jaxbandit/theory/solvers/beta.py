"""Draws from Beta(a, b), exact up to 1e-6 in total variation for a, b >= 1, as a function of one normal, without loops.

The signed root of the log density of the logit is close to a standard normal w, and the map that makes it exactly
normal is fitted by polynomials (beta_table.csv; docs/mathematics.md). Between 1/2 and 1 the error is 6e-5.
"""

from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxbandit.base import side_by_side
from jaxbandit.support.numerics import inline, normal_of_words, numbered_key
from jaxbandit.support.types import Array, Key, Scalar

Law = TypeVar("Law")

TOTAL_VARIATION = 1e-6  # error of one draw for a, b >= 1
SERIES = 0.12  # below this, e^u - 1 loses too many digits, and the Taylor series of u(s) is used
STRETCH = 12.0  # in y = w / sqrt(w^2 + STRETCH)
DEGREE = 10  # in y
STACKED_WORDS = 64  # up to this number, words are drawn one by one


def _table() -> tuple[tuple[tuple[float, ...], ...], ...]:
    """Return TABLE[p][q][j], the coefficient of x^p z^q y^j, as benchmarks/fit_beta_table.py has fitted it."""
    rows = np.loadtxt(Path(__file__).with_name("beta_table.csv"), delimiter=",", skiprows=1).tolist()
    return tuple(tuple(tuple(row[2:]) for row in rows if row[0] == p) for p in range(int(rows[-1][0]) + 1))


TABLE = _table()


class BetaShape(NamedTuple):
    """What a draw from Beta(a, b) needs, as functions of a and b alone, so that it can be cached per arm."""

    logit_mean: Array  # log(a / b)
    inverse_spread: Array  # sqrt(1 / a + 1 / b)
    skew: Array  # (b - a) / (a + b)
    minor: Array  # min(a, b) / (a + b), because a mean near 1 loses its digits
    root: Array  # float[DEGREE + 1, ...]: coefficients of r - w


def beta_shape(a: Array, b: Array) -> BetaShape:
    """Return what draws from Beta(a, b) need, elementwise, for a, b >= 1/2."""
    total = a + b
    skew = (b - a) / total
    inverse = 1 / a + 1 / b
    spread = jnp.sqrt(inverse)
    return BetaShape(
        logit_mean=jnp.log(a) - jnp.log(b),
        inverse_spread=spread,
        skew=skew,
        minor=jnp.minimum(a, b) / total,
        root=_root_coefficients(inverse, spread * skew, skew * skew),
    )


@inline
def _root_coefficients(inverse: Array, odd: Array, square: Array) -> Array:
    """Return the coefficients of r - w: even powers have a factor odd in the skew, and odd powers an even one."""
    x, z = inverse / (2 / 3 + inverse / 6) - 1, 2 * square - 1
    x, z, odd, inverse = lax.optimization_barrier((x, z, odd, inverse))  # or XLA divides once per coefficient
    result = []
    for j in range(DEGREE + 1):
        value = jnp.zeros_like(x)
        for row in reversed(TABLE):
            inner = jnp.zeros_like(x)
            for entry in reversed(row):
                inner = inner * z + entry[j]
            value = value * x + inner
        result.append(value * (odd if j % 2 == 0 else inverse))
    return jnp.stack(result)


def with_arm(laws: Law, arm: Array, law: Law) -> Law:
    """Return `laws`, whose leaves have the arms as last axis, with the entries of one arm replaced."""

    def replaced(old: Array, new: Array) -> Array:
        return jnp.where(jnp.arange(old.shape[-1], dtype=jnp.int32) == arm, new[..., None], old)

    return jax.tree.map(replaced, laws, law)


def root_of_normal(w: Array, root: Array) -> tuple[Array, Array]:
    """Return the value r with the same level as the normal's w, and dr/dw; w and root[j] have the same shape."""
    inverse = lax.rsqrt(w * w + STRETCH)
    y = w * inverse
    value, slope = root[DEGREE], jnp.zeros_like(y)
    for j in range(DEGREE - 1, -1, -1):
        slope = slope * y + value
        value = value * y + root[j]
    return w + value, 1 + slope * STRETCH * inverse * inverse * inverse


def invert_deviance(s: Array, minor: Array, skew: Array) -> tuple[Array, Array]:
    """Return u and du/ds with K(u) = mu (1 - mu) s^2 / 2 and sign(u) = sign(s), for mu = minor = (1 - skew) / 2."""
    square, k2 = s * s, skew * skew
    even = 0.08308275 + skew * (-0.38749159 + skew * 0.88100737)
    odd = 0.15656098 + skew * (-0.08074039 - skew * 0.03608063)
    curve = jnp.sqrt((1 + square * (1 / 24 + k2 / 72 + even + even / 16 * square)) / (1 + even * square))
    u = s * (curve - skew * s * (1 / 6 + odd / 4 * square) / (1 + odd * square))

    rise = minor * (jnp.exp(u) - 1)
    inverse = 1 / (1 + rise)
    error = log1p(rise) - minor * u - minor * (1 - minor) / 2 * square
    slope = (1 - minor) * rise * inverse
    x = minor + slope
    curvature = x * (1 - x)
    product = error * curvature
    third = curvature * (1 - 2 * x)
    step = error * (slope * slope - product / 2) / (slope * (slope * slope - product) + error * error * third / 6)
    u = u - step

    growth = jnp.exp(u) - 1
    derivative = s * (1 + minor * growth) / growth
    near_u = s * (1 + s * (-skew / 6 + s * (1 / 48 + k2 / 144 + s * skew * (k2 / 2160 - 1 / 240))))
    near_derivative = 1 + s * (-skew / 3 + s * (1 / 16 + k2 / 48 + s * skew * (k2 / 540 - 1 / 60)))
    near = jnp.abs(s) < SERIES
    return jnp.where(near, near_u, u), jnp.where(near, near_derivative, derivative)


def logit_at(w: Array, shape: BetaShape) -> Array:
    """Return logit(x) for the quantile x of Beta(a, b) at the normal's level at w; elementwise."""
    return logit_slope_and_ratio(w, shape)[0]


def logit_slope_and_ratio(w: Array, shape: BetaShape) -> tuple[Array, Array, Array]:
    """Return logit_at(w), its derivative, and the ratio of the density of w to the normal's up to a constant factor."""
    r, slope = root_of_normal(w, shape.root)
    s = r * shape.inverse_spread
    mirrored = shape.skew < 0
    u, derivative = invert_deviance(jnp.where(mirrored, -s, s), shape.minor, jnp.abs(shape.skew))
    slope = slope * derivative
    logit = shape.logit_mean + jnp.where(mirrored, -u, u)
    return logit, slope * shape.inverse_spread, slope * jnp.exp((w * w - r * r) / 2)


def draw_noise(key: Key, num_arms: int) -> Array:
    """Return the noise of one draw from each of num_arms Beta distributions, uint32[num_arms].

    On a CPU words are drawn as in `draw_pairs`. Elsewhere the same words are drawn at once, because a GPU's compiler
    takes minutes for a kernel that draws nine of them separately.
    """
    if num_arms > STACKED_WORDS:
        return jax.random.bits(key, (num_arms,), "uint32")

    def one(key: Key, i: Scalar) -> Array:
        return jax.random.bits(numbered_key(key, 1 + i), (), "uint32")

    def separately(key: Key) -> Array:
        return jnp.stack([one(key, i) for i in range(num_arms)])

    def in_turn(key: Key) -> Array:
        return lax.map(partial(one, key), jnp.arange(num_arms, dtype=jnp.int32))

    return lax.platform_dependent(
        key,
        cpu=separately if side_by_side.is_declared() else in_turn,
        default=lambda key: jax.vmap(one, (None, 0))(key, jnp.arange(num_arms, dtype=jnp.int32)),
    )


def draw_pairs(key: Key, number: int, one_by_one: int = STACKED_WORDS) -> Array:
    """Return `number` random words or one more, two to a complex number, complex64[ceil(number / 2)].

    XLA's CPU compiler computes a Threefry block anew for every array into which a part of it is stored, so two words
    are stored together; they are never calculated with, so that all bit patterns survive. On a CPU the engine draws up
    to `one_by_one` words one by one, and anybody else's vmap in a loop. The words are the same.
    """

    def words_of(key: Key, i: Scalar) -> Array:
        return jax.random.key_data(jax.random.fold_in(key, i))

    def paired(words: Array) -> list[Array]:
        parts = [lax.bitcast_convert_type(words[j], jnp.float32) for j in range(size)]
        return [lax.complex(*parts[j : j + 2]) for j in range(0, size, 2)]

    def separately(key: Key) -> Array:
        return jnp.stack([pair for i in range(blocks) for pair in paired(words_of(key, i))][:pairs])

    def at_once(key: Key, store: bool = False) -> Array:
        words = jax.vmap(words_of, (None, 0))(key, jnp.arange(blocks, dtype=jnp.int32))
        words = lax.optimization_barrier(words) if store else words
        return jnp.stack(jax.vmap(paired)(words), 1).ravel()[:pairs]

    def in_turn(key: Key) -> Array:
        words = lax.map(partial(words_of, key), jnp.arange(blocks, dtype=jnp.int32))
        parts = lax.bitcast_convert_type(words, jnp.float32).reshape(-1, 2)[:pairs]
        return lax.complex(parts[:, 0], parts[:, 1])

    size = jax.random.key_data(key).shape[-1]
    pairs, blocks = -(-number // 2), -(-number // size)
    # A GPU's compiler takes twenty seconds for a kernel that computes the words where they are paired.
    stored = partial(at_once, store=True)
    in_engine = at_once if number > one_by_one else separately
    return lax.platform_dependent(key, cpu=in_engine if side_by_side.is_declared() else in_turn, default=stored)


def words_of_pairs(pairs: Array) -> Array:
    """Return the words that draw_pairs stored, uint32[2 * pairs]: the first of each pair, then the second."""
    return lax.bitcast_convert_type(jnp.concatenate([lax.real(pairs), lax.imag(pairs)]), jnp.uint32)


def draw_logits(words: Array, shapes: BetaShape) -> Array:
    """The logit of one draw from each arm's Beta distribution, float[num_arms], which is monotone in the draw."""
    return logit_at(normal_of_words(words), shapes)


def log1p(x: Array) -> Array:
    """Return log(1 + x) with relative error 1e-9 besides rounding; on a CPU jnp.log1p costs several times as much."""
    r = x / (2 + x)  # log(1 + x) = 2 artanh r
    square = r * r
    tail = 1 / 3 + square * (1 / 5 + square * (1 / 7 + square * (1 / 9 + square / 11)))
    return jnp.where(jnp.abs(x) < 0.25, 2 * r + 2 * r * square * tail, jnp.log(1 + x))
