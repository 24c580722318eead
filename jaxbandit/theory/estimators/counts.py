"""Pull counts and empirical means: the sufficient statistics of most K-armed algorithms here.

A mean is the sum of the rewards divided by their number, so that means of equal sums are equal in whatever order the
rewards came. In float32 what rounding leaves out of a sum is kept beside it. A rule that does not change if all rewards
are shifted asks for means `from_first`, of rewards minus the first reward of the run, which keep more digits.
"""

from typing import Any, NamedTuple

import jax.numpy as jnp

from jaxbandit.support.numerics import argmax, as_float, get_at, kahan, kahan_at, set_at
from jaxbandit.support.types import Array


class Counts(NamedTuple):
    """Sufficient statistics of num_arms arms, to include in an algorithm's state."""

    counts: Array  # int32[num_arms]
    means: Array  # float[num_arms], 0 where never pulled; minus `first` if it is kept
    sums: Array  # float[num_arms], of the rewards; minus `first` if it is kept
    rest: Array | None  # float[num_arms], by how much rounding made `sums` too large; in float32 only
    first: Array | None  # float[], the first reward of the run, inf before it; None if means are those of the rewards


#: Sums of (reward - mean)^2 of each arm, float[num_arms], never negative; and, in float32, their rounding errors.
Squares = tuple[Array, Array | None]


def init(num_arms: int, *, from_first: bool = False, dtype: Any = jnp.int32) -> Counts:
    """Return the statistics before the first pull; `dtype` is that of the counts, `int` for a rule with batches."""
    zeros = jnp.zeros(num_arms)
    rest = zeros if zeros.dtype == jnp.float32 else None
    first = as_float(jnp.inf) if from_first else None
    return Counts(jnp.zeros(num_arms, dtype), zeros, zeros, rest, first)


def update(arms: Counts, arm: Array, reward: Array) -> tuple[Counts, Array]:
    """Return the statistics after one more reward of `arm`, and the arm's new number of pulls as a float.

    Means of constant rewards of 0 or 1 are exact. In float32 a sum has about 48 bits, and a mean is within two rounding
    errors of the exact one up to 2^24 pulls.
    """
    first, reward = deviation(arms.first, reward)
    n = get_at(arms.counts, arm) + 1
    n_float = as_float(n)
    sums, rest, total = kahan_at(arms.sums, arms.rest, arm, reward)
    return Counts(
        counts=set_at(arms.counts, arm, n),
        means=set_at(arms.means, arm, total / n_float),
        sums=sums,
        rest=rest,
        first=first,
    ), n_float


class Successes(NamedTuple):
    """Pull counts and numbers of successes, of rewards 0 or 1 or Bernoulli draws of others."""

    counts: Array  # int32[num_arms]
    successes: Array  # int32[num_arms]


def no_successes(num_arms: int) -> Successes:
    """Return the statistics before the first pull."""
    return Successes(jnp.zeros(num_arms, jnp.int32), jnp.zeros(num_arms, jnp.int32))


def toss(state: Successes, arm: Array, coin: Array, reward: Array) -> Successes:
    """Return the statistics after one more reward of `arm`, a success if the coin, uniform in [0, 1), is below it."""
    count = get_at(state.counts, arm) + 1
    successes = get_at(state.successes, arm) + (coin < reward).astype(jnp.int32)
    return Successes(set_at(state.counts, arm, count), set_at(state.successes, arm, successes))


def best_mean(arms: Counts) -> Array:
    """Return the arm with the largest mean among those with a reward, int32[]; ties go to the lowest-numbered."""
    return argmax(jnp.where(arms.counts > 0, arms.means, -jnp.inf))


def deviation(first: Array | None, reward: Array) -> tuple[Array | None, Array]:
    """Return the first reward of the run, this one if it was inf, and the reward minus it; None leaves the reward."""
    if first is None:
        return None, reward
    first = jnp.where(jnp.isinf(first), reward, first)
    return first, reward - first


def add(arms: Counts, pulls: Array, sums: Array) -> Counts:
    """Return the statistics after `pulls`, int[num_arms], more rewards, which add up to `sums`, float[num_arms]."""
    counts = arms.counts + pulls
    total, rest = kahan(arms.sums, arms.rest, sums)
    return Counts(counts, total / as_float(jnp.maximum(counts, 1)), total, rest, arms.first)


def add_square(squares: Squares, before: Counts, after: Counts, arm: Array, reward: Array) -> Squares:
    """Return the sums of (reward - mean)^2 after the reward that led from `before` to `after`: Welford's recursion."""
    if after.first is not None:
        reward = reward - after.first
    more = (reward - get_at(before.means, arm)) * (reward - get_at(after.means, arm))
    return kahan_at(*squares, arm, more)[:2]


def no_squares(arms: Counts) -> Squares:
    """Return the sums of squared deviations before the first pull."""
    zeros = jnp.zeros_like(arms.means)
    return zeros, None if arms.rest is None else zeros


def forget(arms: Counts, which: Array) -> Counts:
    """Return the statistics when the arms in `which`, bool[num_arms], or bool[] for all, have no rewards again."""
    return Counts(
        counts=jnp.where(which, 0, arms.counts),
        means=jnp.where(which, 0.0, arms.means),
        sums=jnp.where(which, 0.0, arms.sums),
        rest=None if arms.rest is None else jnp.where(which, 0.0, arms.rest),
        first=arms.first,
    )
