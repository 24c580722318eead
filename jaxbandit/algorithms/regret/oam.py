"""Optimal allocation matching (OAM): Hao, Lattimore and Szepesvari (2020), Algorithm 1 and Remark 4.2.

Differences from the printed algorithm: the initial pulls continue until the arms pulled span R^dim; the target tau is
min(T, f_n / least gap^2), without the printed outer square, which is a misprint; forced exploration is off by default;
and ties within 1e-9 go to the lowest-numbered arm. The allocation T is solved lazily, as in Section 5.
"""

import math
from typing import Literal, NamedTuple

import jax.numpy as jnp
import numpy as np

from jaxbandit.algorithms.regret import action_sets
from jaxbandit.algorithms.regret import allocation_matching as matching
from jaxbandit.algorithms.regret.action_sets import ActionSets, Start
from jaxbandit.algorithms.regret.linear_policy import Horizon, checked_horizon, linear_level
from jaxbandit.base.arguments import FeatureSets, Mask, NonNegative, Positive, Sigma, Zeta
from jaxbandit.base.contract import Algorithm, Choice
from jaxbandit.base.declaration import declare
from jaxbandit.support import checks
from jaxbandit.support.domains import number
from jaxbandit.support.numerics import as_float, get_at
from jaxbandit.support.types import Array, Key, Scalar
from jaxbandit.theory.estimators import recursive_least_squares as estimator
from jaxbandit.theory.estimators.recursive_least_squares import RecursiveLeastSquares
from jaxbandit.theory.solvers.spanner import barycentric_spanner

KINDS = ("start", "exploit", "forced", "unwasted", "wasted")
START, EXPLOIT, FORCED, UNWASTED, WASTED = range(len(KINDS))


class OamState(NamedTuple):
    """Statistics, and the allocation solved last. N is num_contexts * num_arms, with contexts as the outer axis."""

    round: Array  # int32[], the round about to be played, from 1
    estimate: RecursiveLeastSquares
    counts: Array  # int32[N]
    start: Start
    shared: Start | None  # pulls per feature vector if there is one set; with several sets they are in `start`
    kinds: Array  # int32[5], rounds by kind, as in KINDS
    spanners: Array | None  # bool[N], arms that forced exploration pulls; None means all
    targets: Array  # float[N], the allocation T; inf for the best arms
    solved: Array  # int32[], round in which T was solved last, 0 if never
    logdet: Array  # float[], log det G at that round


@declare(
    question="regret",
    rewards="sub-Gaussian, scale given",
    cost="O(K d^2), and a convex program when information has grown by 1 + zeta",
    memory="O(K + d^2)",
    tries={"epsilon": (0.1, 0.0, 1.0), "budget": (0.5, 2.0), "c": (0.0, 3.0)},
    settings=({"horizon": 60}, {"horizon": 60, "exploit_if": "any", "spanner": True}),
)
def oam(
    features: FeatureSets,
    *,
    mask: Mask | None = None,
    horizon: Horizon,
    epsilon: NonNegative = 0.0,
    schedule: Literal["constant", "paper"] = "constant",
    exploit_if: Literal["all", "any", "optimism"] = "all",
    budget: Positive | None = None,
    force: bool = True,
    spanner: bool = False,
    c: NonNegative = 1.0,
    zeta: Zeta = 0.1,
    sigma: Sigma = 1.0,
) -> Algorithm:
    """Optimal allocation matching, Hao et al. 2020.

    Return OAM, whose pulls follow the allocation that attains the asymptotic lower bound. Let G be the design matrix,
    and let f_n = 2 (1 + 1 / log n) log n + c d log(d log n). A round exploits if the arms x of its set satisfy x' G^-1
    x <= max(least gap, gap of x)^2 / f_n. Otherwise it explores: it pulls an arm that has been pulled at most epsilon
    times as often as there were exploration rounds ("forced"), or else the arm that lags furthest behind its target
    min(T, f_n / least gap^2) ("unwasted"), or, if no arm lags behind, the arm of LinUCB ("wasted"). T is the solution
    of the optimization problem (4.2) at the estimated gaps.

    Guarantee: With the schedule "paper", a positive epsilon and Gaussian noise, asymptotically optimal (Hao, Lattimore
    and Szepesvari 2020); the defaults, the paper's experimental choices, are not covered.

    In detail, Theorem 4.3 is for exploit_if="all" and Gaussian noise; the default epsilon = 0 is outside it.

    Args:
      epsilon: fraction of the exploration rounds up to which the pulls of every arm are forced. With 0,
        the first pull of each arm is still forced.
      schedule: "constant" uses epsilon; "paper" uses 1 / max(1, log log t) instead, as the proof of optimality
        requires, and needs epsilon = 0.
      exploit_if: which arms of the set must satisfy the condition for exploitation. "all" is the algorithm as printed
        and proved; "any" is the paper's prose. "optimism" is not in the paper: a round exploits if the index x'
        theta_hat + sqrt(x' G^-1 x f_{n,delta}), with delta = min(1, 1 / (n x' G^-1 x)), is largest at an arm that is
        estimated to be best. Wasted rounds then pull the arm with the largest index, and exploration follows T only
        among suboptimal arms that are known no better than the best arm.
      budget: used by "optimism" only. T is followed while its cost, at delta = 1 / (n least gap^2), is at most budget *
        n * least gap; otherwise the round is wasted. None sets no limit.
      force: whether there is forced exploration.
      spanner: whether to force only the arms of a barycentric spanner of each set (Remark 4.2).
      c: weight of the second term of f_n.
      sigma: standard deviation of the noise. f_n is multiplied by its square.

    Returns:
      An Algorithm with actions int32[] in [0, num_arms), rewards float[], and contexts int32[], or none if there is one
      set. It recommends the arm pulled most, numbered num_arms * m + a for arm a of context m. It counts rounds by kind
      (start, exploit, forced, unwasted, wasted), and it replans to solve for T.

    Raises:
      ValueError: the features of all sets together do not span R^dim.

    Source:
      Hao, Lattimore and Szepesvari (2020), Adaptive exploration in linear contextual bandit, AISTATS, Algorithm 1,
      Theorem 4.3 and Remark 4.2.
    """
    sets = action_sets.action_sets(features, mask, spanning=True)
    horizon = checked_horizon(horizon, sets.dim)
    optimistic = exploit_if == "optimism"
    if schedule == "paper":
        checks.take("epsilon", epsilon, checks.scalars(number(0, 0)))

    def level(log_inverse_delta: Scalar) -> Array:
        return as_float(sigma) ** 2 * linear_level(horizon, sets.dim, c, log_inverse_delta)

    def level_of_width(squared: Array) -> Array:
        """Return f_{n,delta} at delta = min(1, 1 / (n s)) for the squared width s = x' G^-1 x."""
        return level(jnp.log(jnp.maximum(1.0, horizon * squared)))

    def init(key: Key) -> OamState:
        spanners = _spanners(sets) if force and spanner else None
        return OamState(**matching.init_fields(sets, len(KINDS)), spanners=spanners)

    def gaps(state: OamState) -> Array:
        return matching.gaps(sets, estimator.means(state.estimate, action_sets.all_rows(sets)))

    def goal(state: OamState) -> Array:
        every = gaps(state)
        # Arms without a gap cost nothing, so nothing but the cap limits their pulls.
        return jnp.where(every > 0, matching.targets(sets, every, level(math.log(horizon))), jnp.inf)

    def forced_below(state: OamState, explored: Array) -> Array:
        """Return epsilon_t times the number of exploration rounds before this one."""
        if schedule == "constant":
            return as_float(epsilon) * explored
        return explored / jnp.maximum(1.0, jnp.log(jnp.log(as_float(state.round))))

    def select(noise: None, state: OamState, context: Array | None) -> Choice:
        """Return the action, and the kind of the round."""
        rows, real, every = action_sets.round_rows(sets, context), matching.real_in_set(sets, context), gaps(state)
        means, norms = estimator.means(state.estimate, rows), estimator.variances(state.estimate, rows)
        gap, least, f_n = action_sets.in_set(sets, context, every), least_gap(every), level(math.log(horizon))
        explored = as_float(jnp.sum(state.kinds[FORCED:], dtype=jnp.int32))
        target = jnp.minimum(action_sets.in_set(sets, context, state.targets), f_n / least**2)
        if optimistic:
            optimism = means + jnp.sqrt(level_of_width(norms) * norms)
            exploit = get_at(gap, action_sets.best_of_set(sets, context, optimism, matching.tie())) == 0
            # T presumes that the best arms are known. More pulls of an arm that is known better than they are do not
            # help.
            of_best = jnp.min(jnp.where((gap > 0) | ~real, jnp.inf, norms))
            target = jnp.where((gap > 0) & (norms >= of_best * (1 - matching.tie())), target, 0.0)
        else:
            known = norms * f_n <= jnp.maximum(least, gap) ** 2 * (1 + matching.tie())
            exploit = jnp.all(known | ~real) if exploit_if == "all" else jnp.any(known & real)
            optimism = means + jnp.sqrt(level(2 * jnp.log(explored + 1)) * norms)

        n = as_float(action_sets.in_set(sets, context, matching.vector_pulls(state).pulls))
        wasted = jnp.all((n >= target * (1 - matching.tie())) | ~real)
        if optimistic and budget is not None:
            cost = jnp.sum(jnp.where(jnp.isinf(state.targets), 0.0, state.targets * every))
            dear = cost * level_of_width(least**2 / as_float(sigma) ** 2) > as_float(budget) * horizon * least * f_n
            wasted = wasted | dear
        scores, kind = -matching.lag(n, target), jnp.asarray(UNWASTED, jnp.int32)
        if force:
            few = real if state.spanners is None else real & action_sets.in_set(sets, context, state.spanners)
            few = jnp.where(few, n, jnp.inf)
            forced = jnp.min(few) <= forced_below(state, explored)
            scores, kind = jnp.where(forced, -few, scores), jnp.where(forced, FORCED, UNWASTED)
        scores = jnp.where(exploit, means, jnp.where(wasted, optimism, scores))
        kind = jnp.where(exploit, EXPLOIT, jnp.where(wasted, WASTED, kind))
        scores = action_sets.with_start(sets, state.start, state.estimate, context, scores)
        kind = jnp.where(state.estimate.rank < sets.dim, START, kind).astype(jnp.int32)
        return Choice(action_sets.best_of_set(sets, context, scores, matching.tie()), kind)

    def update(state: OamState, context: Array | None, choice: Choice, reward: Array) -> OamState:
        return matching.updated(sets, state, context, choice, reward)

    return matching.matching_policy(sets, KINDS, init, goal, select, update, zeta=zeta, sigma=sigma)


def least_gap(gaps: Array) -> Array:
    """Return the smallest positive gap, or inf if there is none, in which case all arms are equally good."""
    return jnp.min(jnp.where(gaps > 0, gaps, jnp.inf))


def _spanners(sets: ActionSets) -> Array:
    real = np.ones(sets.features.shape[:2], bool) if sets.mask is None else sets.mask
    spanners = [barycentric_spanner(as_float(x), jnp.asarray(m)) for x, m in zip(sets.features, real, strict=True)]
    return jnp.concatenate(spanners)
