"""Optimal sampling for structured bandits (OSSB): Combes, Magureanu and Proutiere (2017), Algorithm 1, for linear arms.

Differences from the paper: initial pulls continue until the arms pulled span R^dim; the allocation is solved again only
when det G has grown by a factor, or in every round with zeta = 0; and several action sets are allowed. The estimator
"arm_means" is the paper's; "least_squares" uses the linear structure.
"""

from typing import Literal, NamedTuple

import jax.numpy as jnp

from jaxbandit.algorithms.regret import action_sets
from jaxbandit.algorithms.regret import allocation_matching as matching
from jaxbandit.algorithms.regret.action_sets import Start
from jaxbandit.base.arguments import FeatureSets, Mask, NonNegative, Sigma, Zeta
from jaxbandit.base.contract import Algorithm, Choice
from jaxbandit.base.declaration import declare
from jaxbandit.support.numerics import as_float, get_at, kahan_pair
from jaxbandit.support.types import Array, Key
from jaxbandit.theory.estimators import recursive_least_squares as least_squares
from jaxbandit.theory.estimators.recursive_least_squares import RecursiveLeastSquares

KINDS = ("start", "exploit", "estimate", "explore")
START, EXPLOIT, ESTIMATE, EXPLORE = range(len(KINDS))


class OssbState(NamedTuple):
    """Statistics, and the allocation solved last. N is num_contexts * num_arms, with contexts as the outer axis."""

    round: Array  # int32[], the round about to be played, from 1
    estimate: RecursiveLeastSquares
    counts: Array  # int32[N]
    start: Start
    shared: Start | None  # pulls per feature vector if there is one set; with several sets they are in `start`
    # float[2, N], sums of rewards per feature vector, and their rounding errors, for the estimator "arm_means"
    sums: Array | None
    kinds: Array  # int32[4], rounds by kind, as in KINDS
    targets: Array  # float[N], the allocation per unit of log t
    solved: Array  # int32[], round in which the allocation was solved last, 0 if never
    logdet: Array  # float[], log det G at that round


@declare(
    question="regret",
    rewards="Gaussian, scale given",
    cost="O(K d^2), and a convex program when information has grown by 1 + zeta",
    memory="O(K + d^2)",
    tries={"epsilon": (0.1, 0.0, 1.0), "gamma": (0.0, 0.5)},
)
def ossb(
    features: FeatureSets,
    *,
    mask: Mask | None = None,
    epsilon: NonNegative = 0.0,
    gamma: NonNegative = 0.0,
    estimator: Literal["least_squares", "arm_means"] = "least_squares",
    zeta: Zeta = 0.1,
    sigma: Sigma = 1.0,
) -> Algorithm:
    """Tracks the allocation of the lower bound, Combes et al. 2017.

    The pulls track (1 + gamma) log t times the allocation of the lower bound. A round exploits, pulling the arm with
    the best estimated mean, if all arms of its set have as many pulls as their target. Otherwise it pulls the least
    pulled arm if that arm has at most epsilon times as many pulls as there were exploration rounds ("estimate"), or
    else the arm that lags furthest behind its target ("explore").

    Guarantee: With zeta = 0 and positive epsilon and gamma, asymptotically within a factor of the lower bound that
    tends to 1 as both tend to 0 (Combes et al. 2017); the defaults epsilon = gamma = 0 and zeta = 0.1 are not covered.

    Args:
      epsilon: fraction of the exploration rounds up to which the least pulled arm is pulled. With 0, every arm is still
        pulled once for estimation.
      gamma: excess of the targets over the optimal allocation.
      estimator: how means are estimated: "least_squares", or "arm_means", each arm separately and 0 before its first
        pull.

    Returns:
      An Algorithm with actions int32[] in [0, num_arms), rewards float[], and contexts int32[], or none if there is one
      set. It recommends the arm pulled most, numbered num_arms * m + a for arm a of context m. It counts rounds by kind
      (start, exploit, estimate, explore), and it replans to solve the allocation.

    Raises:
      ValueError: the mask leaves a set empty, every set has one arm, or the arms do not span R^dim.

    Source:
      Combes, Magureanu and Proutiere (2017), Minimal exploration in structured stochastic bandits, NeurIPS, Algorithm
      1.
    """
    sets = action_sets.action_sets(features, mask, spanning=True)

    def init(key: Key) -> OssbState:
        sums = jnp.zeros((2, sets.size)) if estimator == "arm_means" else None
        return OssbState(**matching.init_fields(sets, len(KINDS)), sums=sums)

    def all_means(state: OssbState) -> Array:
        if state.sums is None:
            return least_squares.means(state.estimate, action_sets.all_rows(sets))
        return state.sums[0] / as_float(jnp.maximum(matching.vector_pulls(state).pulls, 1))

    def goal(state: OssbState) -> Array:
        return matching.targets(sets, matching.gaps(sets, all_means(state)), 2 * as_float(sigma) ** 2)

    def select(noise: None, state: OssbState, context: Array | None) -> Choice:
        """Return the action, and the kind of the round."""
        real, pulls = matching.real_in_set(sets, context), matching.vector_pulls(state)
        means, n, share = (
            as_float(action_sets.in_set(sets, context, x)) for x in (all_means(state), pulls.pulls, state.targets)
        )
        target = share * ((1 + as_float(gamma)) * jnp.log(as_float(state.round)))
        exploit = jnp.all((n >= target * (1 - matching.tie())) | ~real)
        explored = jnp.sum(state.kinds[ESTIMATE:], dtype=jnp.int32) + 1  # including this round
        few = jnp.where(real, n, jnp.inf)
        estimates = jnp.min(few) <= as_float(epsilon) * as_float(explored)
        scores = jnp.where(estimates, -few, -matching.lag(n, target))
        scores = action_sets.with_start(sets, state.start, state.estimate, context, jnp.where(exploit, means, scores))
        kind = jnp.where(exploit, EXPLOIT, jnp.where(estimates, ESTIMATE, EXPLORE))
        kind = jnp.where(state.estimate.rank < sets.dim, START, kind).astype(jnp.int32)
        return Choice(action_sets.best_of_set(sets, context, scores, matching.tie()), kind)

    def update(state: OssbState, context: Array | None, choice: Choice, reward: Array) -> OssbState:
        after = matching.updated(sets, state, context, choice, reward)
        if state.sums is None:
            return after
        owners, index = matching.vector_pulls(state).owners, action_sets.flat_index(sets, context, choice.action)
        return after._replace(sums=kahan_pair(state.sums, jnp.where(owners == get_at(owners, index), reward, 0.0)))

    return matching.matching_policy(sets, KINDS, init, goal, select, update, zeta=zeta, sigma=sigma)
