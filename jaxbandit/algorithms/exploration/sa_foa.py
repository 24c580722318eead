"""SA-FOA: Kuroki, Xu, Miyauchi, Honda, Sugiyama (2019), Algorithm 3: the confidence ellipsoid to first order.

It has no guarantee, whatever the paper says: Z'_t is the largest value of (5) among the sets found, a LOWER bound of
its maximum, so that the rule may stop too early. Where Algorithm 3 is silent: M_hat is no candidate, an anchor equal to
M_hat is skipped, and without candidates the second-best set is the one.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from jaxbandit import checks
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
from jaxbandit.numerics import as_float, matrix_vector, one_by_one
from jaxbandit.solvers.decision_classes import top_k
from jaxbandit.solvers.densest import peeling
from jaxbandit.types import Array, ArrayLike, Key, Scalar

_BESIDE = 4  # anchors of one run at a time


def sa_foa(
    num_arms: int,
    *,
    k: int,
    support: SupportKind = "random",
    num_sets: int | None = None,
    support_seed: int = 0,
    sets: ArrayLike | None = None,
    allocation: AllocationKind = "uniform",
    weights: ArrayLike | None = None,
    anchors: int | None = None,
    eps_factor: Scalar = 0.5,
    delta: Scalar = 0.05,
    epsilon: Scalar = 0.0,
    sigma: Scalar = 1.0,
    schedule: Schedule = "geometric",
    grid: Scalar = 1.01,
) -> Algorithm:
    """Return SA-FOA, static allocation with first-order approximation, for the k best arms from their sums.

    Nothing is proved of its error rate: delta is what the confidence ellipsoid is told, not a promise.

    Args:
      num_arms: n, single arms, >= 2, static.
      k: arms in a super-arm, in [1, num_arms - 1], static.
      support, num_sets, support_seed, sets, allocation, weights: as of saqm.
      anchors: super-arms of the support drawn at each look, with replacement, to expand the norm at, >= 1, static;
        None: num_arms.
      eps_factor: it stops once Z' - theta(M_hat) <= eps_factor * epsilon, >= 0, traced. 1/2 is printed, 1 is nearer to
        the paper's Table 2.
      delta, epsilon, sigma, schedule, grid: as of saqm.

    Returns, Raises, Source: as of saqm; Algorithm 3.
    """
    where = "sa_foa"
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
    draws = num_arms if anchors is None else checks.integer(where, "anchors", anchors, 1)
    checks.number(where, "eps_factor", eps_factor, low=0.0)
    promised = promise(where, delta, epsilon, sigma, k, proved=False)
    family = top_k(num_arms, k)

    def anchor(key: Key, number: Array) -> Array:
        key = jax.random.fold_in(key, number)
        if arms.sets is None:
            uniform = jax.random.uniform(key, (num_arms,))
            return uniform >= jax.lax.top_k(uniform, k)[0][-1]
        return jnp.asarray(arms.sets)[jax.random.randint(key, (), 0, len(arms.sets), jnp.int32)]

    def first_order(
        estimate: Array, matrix: Array, best: Array, radius: Array
    ) -> tuple[Callable[[Array], Array], Callable[[Array], Array]]:
        """What peeling finds from an anchor, bool[n], and what a set may be better than M_hat by, float[]."""
        product = matrix_vector(matrix, as_float(best))  # W chi of M_hat
        own = jnp.sum(jnp.where(best, product, 0.0))

        def distance(members: Array) -> Array:
            """||chi - chi_M_hat|| in W."""
            crossed = jnp.sum(jnp.where(members, product, 0.0))
            return jnp.sqrt(jnp.maximum(squared_norm(members, matrix) - 2 * crossed + own, 0.0))

        def candidate(point: Array) -> Array:
            # B_t / gamma: the positive factor changes no answer of peeling, and the matrix is the same for all anchors.
            return peeling(matrix, k, diagonal=2 * distance(point) / radius * estimate - 2 * product)

        def ahead(members: Array) -> Array:
            change = jnp.sum(jnp.where(members, estimate, 0.0) - jnp.where(best, estimate, 0.0))
            return change + radius * distance(members)

        return candidate, ahead

    def expand(
        numbers: Array, key: Key, best: Array, allowed: Array, estimate: Array, matrix: Array, radius: Array
    ) -> tuple[Array, Array]:
        """Whether the anchors of these numbers give a candidate at all, and whether none is too far ahead."""
        candidate, ahead = first_order(estimate, matrix, best, radius)

        def one(number: Array) -> tuple[Array, Array]:
            point = anchor(key, number)
            members = candidate(point)
            fresh = jnp.any(point != best) & jnp.any(members != best) & (number < draws)
            return fresh, ~fresh | (ahead(members) <= allowed)

        fresh, good = jax.vmap(one)(numbers)
        return jnp.any(fresh), jnp.all(good)

    @one_by_one
    def others(good: Array, *given: Any) -> tuple[Array, Array]:
        """`expand` for all anchors but the first, until one is too far ahead."""

        def more(carry: tuple[Array, ...]) -> Array:
            tried, _, good = carry
            return good & (tried < draws)

        def try_some(carry: tuple[Array, ...]) -> tuple[Array, ...]:
            tried, found, _ = carry
            fresh, good = expand(tried + jnp.arange(_BESIDE, dtype=jnp.int32), *given)
            return tried + _BESIDE, found | fresh, good

        start = jnp.ones((), jnp.int32), jnp.zeros((), bool), good
        _, found, good = jax.lax.while_loop(more, try_some, start)
        return found, good

    def stop(look: Look) -> Array:
        best = family.best(look.estimate)
        level = 2 * independent_threshold(look.rounds, log_arms=family.log_size, delta=delta)
        radius = as_float(sigma) * level / jnp.sqrt(look.rounds)
        allowed = as_float(eps_factor) * as_float(epsilon)
        assert look.key is not None  # the rule says that it draws
        given = look.key, best, allowed, look.estimate, look.inverse, radius
        # The first anchor refuses in most looks: all runs side by side. Few go on.
        found, good = expand(jnp.zeros(1, jnp.int32), *given)
        more, good = others(good & look.due, *given)
        _, ahead = first_order(look.estimate, look.inverse, best, radius)
        return good & (found | more | (ahead(family.second_best(look.estimate, best)) <= allowed))

    rule = Rule(lambda inverse: None, stop, family.best, draws=True)
    return static_super_arms(where, arms, rule, grid, schedule, promised, sigma)
