"""Optimal allocation matching: Hao, Lattimore and Szepesvari (2020), Algorithm 1 and Remark 4.2.

Differs: the start goes on until the pulled arms span (d rounds need not suffice), tau is min(T, f_n / least gap^2)
without the printed square, forced exploration is off by default (the printed one is most of the regret at practical
horizons), and ties up to 1e-9 go to the lowest arm. T is lazy, as in Section 5.
"""

import math
from typing import Literal, NamedTuple

import jax.numpy as jnp
import numpy as np

from jaxbandit import checks
from jaxbandit.algorithms.regret import action_sets
from jaxbandit.algorithms.regret import allocation_matching as matching
from jaxbandit.algorithms.regret.action_sets import ActionSets, Start
from jaxbandit.algorithms.regret.linear_level import checked_horizon, linear_level
from jaxbandit.base import Algorithm, Choice, Phases, Replan, Rewards
from jaxbandit.estimators import recursive_least_squares as estimator
from jaxbandit.estimators.recursive_least_squares import RecursiveLeastSquares
from jaxbandit.numerics import as_float, get_at
from jaxbandit.solvers.spanner import barycentric_spanner
from jaxbandit.types import Array, ArrayLike, Key, Scalar

KINDS = ("start", "exploit", "forced", "unwasted", "wasted")
START, EXPLOIT, FORCED, UNWASTED, WASTED = range(len(KINDS))


class OamState(NamedTuple):
    """Statistics, and the allocation last solved. N is num_contexts * num_arms, context-major."""

    round: Array  # int32[], the round about to be played, from 1
    estimate: RecursiveLeastSquares
    counts: Array  # int32[N]
    start: Start
    shared: Start | None  # pulls per feature vector of one set; of several, start has them
    kinds: Array  # int32[5], rounds by kind, as in KINDS
    spanners: Array | None  # bool[N], arms of forced exploration; None: all
    targets: Array  # float[N], T; inf for the best arms
    solved: Array  # int32[], round in which T was solved last, 0 for never
    logdet: Array  # float[], log det G then


def oam(
    features: ArrayLike,
    *,
    mask: np.ndarray | None = None,
    horizon: int,
    epsilon: Scalar = 0.0,
    schedule: Literal["constant", "paper"] = "constant",
    exploit_if: Literal["all", "any", "optimism"] = "all",
    budget: Scalar | None = None,
    force: bool = True,
    spanner: bool = False,
    c: Scalar = 1.0,
    zeta: Scalar = 0.1,
    sigma: Scalar = 1.0,
) -> Algorithm:
    """Return OAM, which matches its pulls to the allocation of the lower bound and so is asymptotically optimal.

    It exploits where the arms of the round's set are known well enough, ||x||^2 in G^-1 <= max(least gap, gap)^2 / f_n
    with f_n = 2 (1 + 1 / log n) log n + c d log(d log n); else it explores: an arm pulled at most epsilon times the
    exploration rounds so far ("forced"), or the arm that lags most behind min(T, f_n / least gap^2) ("unwasted"), or if
    none does, by LinUCB ("wasted"). T is the allocation of (4.2) at the estimated gaps.

    Args:
      features: float[num_contexts, num_arms, dim], or float[num_arms, dim] for one set; finite, spanning all
        dimensions together, traced.
      mask: bool of the first axes of features, False where a row only pads a shorter set; static.
      horizon: n, rounds of a run, >= dim and >= 2, static.
      epsilon: share of the exploration rounds below which every arm is forced, >= 0, traced. 0 still forces the first
        pull of each arm.
      schedule: "constant": epsilon; "paper": 1 / max(1, log log t) in its place, of the proof of optimality. Static.
      exploit_if: "all" arms of the set must pass the test (the algorithm's box and its proof), or "any" (the prose); or
        "optimism", which is in no paper: the index x' theta_hat + ||x|| sqrt(f_{n,delta}), delta = 1 / (n ||x||^2) but
        at most 1, is largest at an estimated best arm. Then wasted rounds pull the arm of the largest index too, and
        exploration follows T only among suboptimal arms no narrower, in ||x||, than the best. Static.
      budget: of "optimism" alone: T is followed while its cost, at delta = 1 / (n least gap^2), is at most budget times
        n times the least gap, else the round is wasted; > 0, traced. None: whatever it costs.
      force: whether there is forced exploration, static.
      spanner: force only the arms of a barycentric spanner of each set (Remark 4.2), static.
      c: weight of the second term of f_n, >= 0, traced.
      zeta: T is solved again when det G has grown by the factor 1 + zeta, >= 0, traced; 0: every round.
      sigma: standard deviation of the noise, > 0, traced; f_n is multiplied by its square.

    Returns:
      An Algorithm with actions int32[] in [0, num_arms), rewards float[], contexts int32[], or none where there is
      one set. It recommends the arm pulled most, num_arms m + a for arm a of context m. Its state counts rounds by
      kind, as in KINDS, and it replans to solve T.

    Raises:
      ValueError: an argument is out of range, or the features of all sets together do not span all dimensions.

    Source: Hao, Lattimore, Szepesvari (2020), Adaptive exploration in linear contextual bandit, AISTATS.
    """
    where = "oam"
    sets = action_sets.action_sets(where, features, mask, spanning=True)
    horizon = checked_horizon(where, horizon, sets.dim)
    checks.choice(where, "schedule", schedule, ("constant", "paper"))
    checks.choice(where, "exploit_if", exploit_if, ("all", "any", "optimism"))
    optimistic = exploit_if == "optimism"
    if budget is not None:
        checks.number(where, "budget", budget, low=0.0, open_low=True)
    checks.number(where, "epsilon", epsilon, low=0.0, high=0.0 if schedule == "paper" else math.inf)
    checks.number(where, "c", c, low=0.0)
    checks.number(where, "zeta", zeta, low=0.0)
    checks.number(where, "sigma", sigma, low=0.0, open_low=True)

    def level(log_inverse_delta: Scalar) -> Array:
        return as_float(sigma) ** 2 * linear_level(horizon, sets.dim, c, log_inverse_delta)

    def level_of_width(squared: Array) -> Array:
        """f_{n,delta} at delta = 1 / (n ||x||^2): what n pulls are worth where ||x||^2 is the squared width."""
        return level(jnp.log(jnp.maximum(1.0, horizon * squared)))

    def init(key: Key) -> OamState:
        spanners = _spanners(sets) if force and spanner else None
        return OamState(**matching.init_fields(sets, len(KINDS)), spanners=spanners)

    def gaps(state: OamState) -> Array:
        return matching.gaps(sets, estimator.means(state.estimate, action_sets.all_rows(sets)))

    def due(state: OamState) -> Array:
        return matching.is_due(state, zeta)

    def replan(state: OamState) -> OamState:
        every = gaps(state)
        # What costs nothing is pulled without end: its target is the cap alone.
        found = jnp.where(every > 0, matching.targets(sets, every, level(math.log(horizon))), jnp.inf)
        return matching.solved(state, found)

    def forced_below(state: OamState, explored: Array) -> Array:
        """epsilon_t times the exploration rounds before this one."""
        if schedule == "constant":
            return as_float(epsilon) * explored
        return explored / jnp.maximum(1.0, jnp.log(jnp.log(as_float(state.round))))

    def select(noise: None, state: OamState, context: Array | None) -> Choice:
        """Action and kind of the round."""
        rows, real, every = action_sets.round_rows(sets, context), matching.real_in_set(sets, context), gaps(state)
        means, norms = estimator.means(state.estimate, rows), estimator.variances(state.estimate, rows)
        gap, least, f_n = action_sets.in_set(sets, context, every), least_gap(every), level(math.log(horizon))
        explored = as_float(jnp.sum(state.kinds[FORCED:], dtype=jnp.int32))
        target = jnp.minimum(action_sets.in_set(sets, context, state.targets), f_n / least**2)
        if optimistic:
            optimism = means + jnp.sqrt(level_of_width(norms) * norms)
            exploit = get_at(gap, action_sets.best_of_set(sets, context, optimism, matching.tie())) == 0
            # T takes the best arms as known; an arm known better than they are is not what is missing.
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

    return Algorithm(
        init=init,
        select=select,
        update=update,
        pulls=lambda state: state.counts,
        phases=Phases(KINDS, lambda state: state.kinds),
        replan=Replan(due, replan),
        arms=sets.arms,
        rewards=Rewards(sigma=sigma),
        name=where,
    )


def least_gap(gaps: Array) -> Array:
    """The smallest gap above 0, inf where there is none: then every arm is as good."""
    return jnp.min(jnp.where(gaps > 0, gaps, jnp.inf))


def _spanners(sets: ActionSets) -> Array:
    real = np.ones(sets.features.shape[:2], bool) if sets.mask is None else sets.mask
    found = [barycentric_spanner(as_float(x), jnp.asarray(m)) for x, m in zip(sets.features, real, strict=True)]
    return jnp.concatenate(found)
