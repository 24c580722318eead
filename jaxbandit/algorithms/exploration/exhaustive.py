"""Exhaustive: Kuroki, Xu, Miyauchi, Honda, Sugiyama (2019), Algorithm 5: every super-arm against the best at each look.

Printed, the norm is that of the difference from M*, which nobody knows: here from the empirical best, as in (5).
"""

import math
from typing import Any

import jax.numpy as jnp
import numpy as np

from jaxbandit.algorithms.exploration.static_super_arms import (
    Look,
    Rule,
    Schedule,
    promise,
    squared_norm,
    static_super_arms,
)
from jaxbandit.algorithms.exploration.super_arms import AllocationKind, SupportKind, super_arms
from jaxbandit.algorithms.exploration.thresholds import independent_threshold
from jaxbandit.base import Algorithm
from jaxbandit.numerics import as_float, matrix_vector
from jaxbandit.solvers.decision_classes import top_k
from jaxbandit.types import Array, ArrayLike, Scalar

MOST_SETS = 200_000  # a look scores all sets, of every run side by side: 100 MB of scores for 64 runs


def exhaustive(
    num_arms: int,
    *,
    k: int,
    support: SupportKind = "random",
    num_sets: int | None = None,
    support_seed: int = 0,
    sets: ArrayLike | None = None,
    allocation: AllocationKind = "uniform",
    weights: ArrayLike | None = None,
    delta: Scalar = 0.05,
    epsilon: Scalar = 0.0,
    sigma: Scalar = 1.0,
    schedule: Schedule = "geometric",
    grid: Scalar = 1.01,
) -> Algorithm:
    """Return the exhaustive search over all super-arms for the k best arms from their sums; it is (epsilon, delta)-PAC.

    The yardstick of the others: the same confidence ellipsoid, and nothing approximated.

    Args:
      num_arms: n, single arms, >= 2, static.
      k: arms in a super-arm, in [1, num_arms - 1], static; at most 200,000 sets of k, for every look scores all.
      support, num_sets, support_seed, sets, allocation, weights: as of saqm.
      delta, epsilon, sigma, schedule, grid: as of saqm.

    Returns, Raises, Source: as of saqm; Algorithm 5.
    """
    where = "exhaustive"
    arms = super_arms(
        where,
        num_arms,
        k,
        support=support,
        num_sets=num_sets,
        support_seed=support_seed,
        sets=sets,
        allocation=allocation,
        weights=weights,
    )
    total = math.comb(num_arms, k)
    if total > MOST_SETS:
        raise ValueError(
            f"{where}: num_arms = {num_arms}, k = {k} make {total} super-arms, must be at most {MOST_SETS}: every look "
            "scores all of them; take saqm or icb"
        )
    promised = promise(where, delta, epsilon, sigma, k)
    family = top_k(num_arms, k)
    every: Any = family.enumerate().astype(np.float64)

    def prepare(inverse: Array) -> tuple[Array, Array]:
        """W chi, float[K, n], and chi' W chi, float[K], of every super-arm."""
        products = jnp.sum(as_float(every)[:, :, None] * inverse[None], 1)
        return products, jnp.sum(products * as_float(every), 1)

    def stop(look: Look) -> Array:
        best = family.best(look.estimate)
        members = as_float(best)
        products, own = look.design
        squares = jnp.maximum(own - 2 * matrix_vector(products, members) + squared_norm(best, look.inverse), 0.0)
        value = jnp.sum(jnp.where(best, look.estimate, 0.0))
        level = 2 * independent_threshold(look.rounds, log_arms=family.log_size, delta=delta)
        width = as_float(sigma) * level * jnp.sqrt(squares / look.rounds)
        ahead = matrix_vector(as_float(every), look.estimate) - value + width
        other = matrix_vector(as_float(every), members) < k - 0.5
        return jnp.max(jnp.where(other, ahead, -jnp.inf)) <= as_float(epsilon)

    rule = Rule(prepare, stop, family.best)
    return static_super_arms(where, arms, rule, grid, schedule, promised, sigma)
