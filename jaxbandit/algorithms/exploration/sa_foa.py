"""SA-FOA: Kuroki, Xu, Miyauchi, Honda and Sugiyama (2019), Algorithm 3: a first-order approximation of the ellipsoid.

Contrary to the paper, the algorithm has no guarantee: Z'_t is a lower bound on the maximum of (5), so the rule may stop
too early. Where Algorithm 3 is not specific: M_hat is not a candidate, an anchor equal to M_hat is skipped, and without
candidates the second-best set is used.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp

from jaxbandit.algorithms.exploration.static_super_arms import (
    Look,
    Rule,
    Schedule,
    Support,
    squared_norm,
    static_super_arms,
    static_task,
)
from jaxbandit.algorithms.exploration.super_arms import AllocationKind, NumSets, Sets, SupportKind, SupportSeed, Weights
from jaxbandit.base.arguments import Count, Delta, Epsilon, Grid, NonNegative, SeveralArms, Sigma, TeamSize
from jaxbandit.base.contract import Algorithm
from jaxbandit.base.declaration import declare
from jaxbandit.support.numerics import as_float, matrix_vector, one_by_one
from jaxbandit.support.types import Array, Key
from jaxbandit.theory.solvers.densest import peeling

_BESIDE = 4  # number of anchors of one run that are evaluated together


@declare(
    question="confidence",
    setting="full-bandit",
    rewards="sub-Gaussian, scale given",
    cost="O(K^2) for each of K anchors a batch of pulls",
    memory="O(K)",
    concrete=("sets", "weights"),
    tries={"eps_factor": (0.5, 1.0)},
    settings=({"support": "all"},),
)
def sa_foa(
    num_arms: SeveralArms,
    *,
    k: TeamSize,
    support: SupportKind = "random",
    num_sets: NumSets | None = None,
    support_seed: SupportSeed = 0,
    sets: Sets | None = None,
    allocation: AllocationKind = "uniform",
    weights: Weights | None = None,
    anchors: Count | None = None,
    eps_factor: NonNegative = 0.5,
    delta: Delta = 0.05,
    epsilon: Epsilon = 0.0,
    sigma: Sigma = 1.0,
    schedule: Schedule = "geometric",
    grid: Grid = 1.01,
) -> Algorithm:
    """The k best arms from sums of k, first-order approximation, no guarantee, Kuroki et al. 2019.

    The pulls follow a static allocation over a support of super-arms (full-bandit feedback). At each evaluation of the
    stopping rule, the norm in the confidence ellipsoid is linearized at random super-arms, the anchors, and each
    resulting quadratic problem is solved approximately for a candidate. The run stops once Z' - theta(M_hat) <=
    eps_factor * epsilon, with Z' the largest upper confidence bound of a candidate.

    Guarantee: None: the published rule may stop too early.

    Args:
      anchors: number of super-arms of the support, drawn with replacement, at which the norm is linearized; None means
        num_arms.
      eps_factor: factor of epsilon in the stopping rule. The paper prints 1/2; 1 is closer to its Table 2.
      delta: error probability that sets the confidence ellipsoid.

    Returns:
      An Algorithm with actions bool[num_arms], k of them True, rewards float[] and recommendations int32[k] in
      increasing order. It requests its pulls in batches of SetPulls.

    Raises:
      ValueError: the support does not span all arms.

    Source:
      Kuroki, Xu, Miyauchi, Honda and Sugiyama (2020), Polynomial-time algorithms for multiple-arm identification with
      full-bandit feedback, Neural Computation 32, Algorithm 3.
    """
    draws = num_arms if anchors is None else anchors
    pulls = Support(support, num_sets, support_seed, sets, allocation, weights)
    task = static_task(num_arms, k, pulls, delta, epsilon, sigma, proved=False)
    arms, family = task.arms, task.family

    def anchor(key: Key, number: Array) -> Array:
        key = jax.random.fold_in(key, number)
        if arms.sets is None:
            uniform = jax.random.uniform(key, (num_arms,))
            return uniform >= jax.lax.top_k(uniform, k)[0][-1]
        return jnp.asarray(arms.sets)[jax.random.randint(key, (), 0, len(arms.sets), jnp.int32)]

    def first_order(
        estimate: Array, matrix: Array, best: Array, radius: Array
    ) -> tuple[Callable[[Array], Array], Callable[[Array], Array]]:
        """Return two functions: anchor -> the set that peeling finds, and set -> its largest lead over M_hat."""
        product = matrix_vector(matrix, as_float(best))  # W chi of M_hat
        own = jnp.sum(jnp.where(best, product, 0.0))

        def distance(members: Array) -> Array:
            """Return the norm of chi - chi_M_hat in W."""
            crossed = jnp.sum(jnp.where(members, product, 0.0))
            return jnp.sqrt(jnp.maximum(squared_norm(members, matrix) - 2 * crossed + own, 0.0))

        def candidate(point: Array) -> Array:
            # B_t / gamma: the positive factor does not change the result of peeling, and makes the matrix the same for
            # all anchors.
            return peeling(matrix, k, diagonal=2 * distance(point) / radius * estimate - 2 * product)

        def ahead(members: Array) -> Array:
            change = jnp.sum(jnp.where(members, estimate, 0.0) - jnp.where(best, estimate, 0.0))
            return change + radius * distance(members)

        return candidate, ahead

    def expand(
        numbers: Array, key: Key, best: Array, allowed: Array, estimate: Array, matrix: Array, radius: Array
    ) -> tuple[Array, Array]:
        """Return whether the anchors with these numbers give a candidate, and whether none is too far ahead."""
        candidate, ahead = first_order(estimate, matrix, best, radius)

        def one(number: Array) -> tuple[Array, Array]:
            point = anchor(key, number)
            members = candidate(point)
            fresh = jnp.any(point != best) & jnp.any(members != best) & (number < draws)
            return fresh, ~fresh | (ahead(members) <= allowed)

        fresh, good = jax.vmap(one)(numbers)
        return jnp.any(fresh), jnp.all(good)

    @one_by_one
    def others(good: Array, *given: Array) -> tuple[Array, Array]:
        """Apply `expand` to all anchors but the first, until one is too far ahead."""

        def more(carry: tuple[Array, ...]) -> Array:
            tried, _, good = carry
            return good & (tried < draws)

        def try_some(carry: tuple[Array, ...]) -> tuple[Array, ...]:
            tried, any_candidate, _ = carry
            fresh, good = expand(tried + jnp.arange(_BESIDE, dtype=jnp.int32), *given)
            return tried + _BESIDE, any_candidate | fresh, good

        start = jnp.ones((), jnp.int32), jnp.zeros((), bool), good
        _, any_candidate, good = jax.lax.while_loop(more, try_some, start)
        return any_candidate, good

    def stop(look: Look) -> Array:
        best = family.best(look.estimate)
        radius = task.radius(look.rounds)
        allowed = as_float(eps_factor) * as_float(epsilon)
        assert look.key is not None  # the rule declares that it draws
        given = look.key, best, allowed, look.estimate, look.inverse, radius
        # In most evaluations the first anchor already prevents stopping. It is evaluated for all runs together, and
        # only few runs continue.
        any_candidate, good = expand(jnp.zeros(1, jnp.int32), *given)
        more, good = others(good & look.due, *given)
        _, ahead = first_order(look.estimate, look.inverse, best, radius)
        return good & (any_candidate | more | (ahead(family.second_best(look.estimate, best)) <= allowed))

    return static_super_arms(task, Rule(lambda inverse: None, stop, draws=True), schedule, grid)
