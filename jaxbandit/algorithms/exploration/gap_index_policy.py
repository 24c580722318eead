"""The frame that gap-index algorithms share: Reda, Kaufmann, Delahaye-Duriez (2021), Algorithm 1.

Each round finds the m candidates J, b in J and c outside, stops if the stopping rule says so, else pulls one arm to
tell b from c. Differs: the optimized rule pulls argmin N_a / |w_a| over w_a != 0 (Xu, Honda, Sugiyama 2017, equation
12), where 2021 prints arg max and w_a > 0; ties go to the lowest arm unless asked otherwise.
"""

import functools
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxbandit import checks
from jaxbandit.algorithms.exploration import gap_indices, thresholds
from jaxbandit.algorithms.exploration.gap_indices import Candidates, Decision, Leader, Stop
from jaxbandit.base import Algorithm, none
from jaxbandit.estimators import counts, least_squares
from jaxbandit.estimators.least_squares import LeastSquares
from jaxbandit.numerics import as_float, get_at, set_at
from jaxbandit.solvers.l1 import l1_representation, l1_table
from jaxbandit.types import Array, Key, Scalar

Index = Literal["paired", "individual", "classical"]
Rule = Literal["greedy", "optimized", "largest_variance", "both"]
Threshold = Literal["det", "theory", "heuristic", "lucb1"]
Ties = Literal["lowest", "random"]

# Below this share of the largest, a weight of w* counts as zero: solvers leave roundings there.
NO_WEIGHT = 1e-6


class ArmMeans(NamedTuple):
    """What the classical index knows."""

    means: Array  # float[num_arms], 0 where never pulled
    variances: Array  # float[num_arms], 1 / counts, inf where never pulled


class GapIndexState(NamedTuple):
    """Pulls and estimates; a field that the parts chosen do not need is None."""

    pulls: Array  # int32[], of all arms together
    counts: Array  # int32[num_arms]
    estimate: Any  # ArmMeans or LeastSquares
    weights: Any  # float[num_arms^2, num_arms], row i num_arms + j is |w*| of x_i - x_j; optimized rule
    pending: Any  # int32[], the arm still to pull for the last pair, -1 if none; rule "both"
    priority: Array | None  # int32[num_arms] >= 0, the largest goes first of tied arms; random ties


def gap_index_policy(
    where: str,
    features: Array,
    *,
    rule: Rule,
    threshold: Threshold,
    m: int,
    delta: Scalar,
    epsilon: Scalar,
    sigma: Scalar,
    ties: Ties,
    regularization: Scalar = 1.0,
    theta_norm: Scalar = 0.0,
    candidates: Candidates = "means",
    index: Index = "paired",
    leader: Leader = "lucb",
    stop: Stop = "lucb",
    initial_pulls: bool = True,
) -> Algorithm:
    """Return the algorithm of these parts; `gifa` says what each is, and `where` names it in refusals."""
    features = checks.array(where, "features", features, ndim=2, min_size=2)
    num_arms, dim = features.shape
    _check_parts(where, features, candidates, index, leader, rule, stop, threshold, ties)
    m = checks.integer(where, "m", m, 1, num_arms - 1)
    checks.number(where, "delta", delta, low=0.0, high=1.0, open_low=True, open_high=True)
    checks.number(where, "epsilon", epsilon, low=0.0)
    checks.number(where, "sigma", sigma, low=0.0, open_low=True)
    checks.number(where, "regularization", regularization, low=0.0, open_low=True)
    checks.number(where, "theta_norm", theta_norm, low=0.0)

    def init(key: Key) -> GapIndexState:
        if index == "classical":
            estimate = ArmMeans(jnp.zeros(num_arms), jnp.full(num_arms, jnp.inf))
        else:
            estimate = least_squares.init(features, regularization)
        return GapIndexState(
            pulls=jnp.zeros((), jnp.int32),
            counts=jnp.zeros(num_arms, jnp.int32),
            estimate=estimate,
            weights=_weights(features) if rule == "optimized" else None,
            pending=jnp.full((), -1, jnp.int32) if rule == "both" else None,
            priority=(jax.random.bits(key, (num_arms,)) >> 1).astype(jnp.int32) if ties == "random" else None,
        )

    def width(state: GapIndexState) -> Array:
        """C sigma: the width of a bound over the root of its variance."""
        noise = {"delta": delta, "sigma": sigma, "regularization": regularization, "theta_norm": theta_norm}
        if threshold == "det":
            level = thresholds.det_threshold(state.estimate.logdet, **noise)
        elif threshold == "theory":
            norm = jnp.sqrt(jnp.max(jnp.sum(as_float(features) ** 2, 1)))
            level = thresholds.theory_threshold(state.pulls, dim=dim, feature_norm=norm, **noise)
        elif threshold == "heuristic":
            level = thresholds.heuristic_threshold(state.pulls, delta=delta)
        else:
            level = thresholds.lucb1_threshold(state.pulls, num_arms=num_arms, delta=delta)
        return level * as_float(sigma)

    def column(state: GapIndexState, arm: Array) -> Array:
        """B_{i, arm} for all i, float[num_arms]."""
        estimate, scale = state.estimate, width(state)
        gaps = estimate.means - get_at(estimate.means, arm)
        if index == "paired":
            squares = _pair_variances(estimate, arm)
            return gaps + scale * jnp.sqrt(squares)
        deviations = jnp.sqrt(estimate.variances)
        return gaps + scale * (deviations + get_at(deviations, arm))

    def matrix(state: GapIndexState) -> Array:
        """B_ij at [j, i], float[num_arms, num_arms]."""
        estimate, scale = state.estimate, width(state)
        gaps = estimate.means[None] - estimate.means[:, None]
        if index == "paired":
            squares = estimate.variances[None] + estimate.variances[:, None] - 2 * estimate.gram
            return gaps + scale * jnp.sqrt(jnp.maximum(squares, 0.0))
        deviations = jnp.sqrt(estimate.variances)
        return gaps + scale * (deviations[None] + deviations[:, None])

    def decide(state: GapIndexState) -> Decision:
        means, priority = state.estimate.means, state.priority
        if m == 1 and candidates == "means":
            best = gap_indices.first(means, priority)
            return gap_indices.decide_best(means, column(state, best), best, priority)
        return gap_indices.decide(means, matrix(state), m, candidates, leader, stop, priority)

    def informative(state: GapIndexState, b: Array, c: Array) -> Array:
        """The arm that the rule pulls to tell b from c, int32[]."""
        if rule == "both":
            return jnp.where(state.pending >= 0, state.pending, b)
        if rule == "largest_variance":
            arms = jnp.arange(num_arms, dtype=jnp.int32)
            either = (arms == b) | (arms == c)
            return gap_indices.first(jnp.where(either, state.estimate.variances, -1.0), state.priority)
        if rule == "optimized":
            weights = lax.dynamic_index_in_dim(state.weights, b * num_arms + c, 0, keepdims=False)
            used = weights > NO_WEIGHT * jnp.max(weights)
            scores = -jnp.where(used, as_float(state.counts) / jnp.where(used, weights, 1.0), jnp.inf)
        else:
            influence = least_squares.row(state.estimate, b) - least_squares.row(state.estimate, c)
            scores = influence * influence / (1 + state.estimate.variances)
        return gap_indices.first(scores, state.priority)

    def starting(state: GapIndexState) -> Array:
        return state.pulls < (num_arms if initial_pulls else 0)

    def select(noise: None, state: GapIndexState, context: None) -> Array:
        decision = decide(state)
        return jnp.where(starting(state), state.pulls, informative(state, decision.leader, decision.challenger))

    def update(state: GapIndexState, context: None, action: Array, reward: Array) -> GapIndexState:
        if isinstance(state.estimate, LeastSquares):
            pulled = set_at(state.counts, action, get_at(state.counts, action) + 1)
            estimate = least_squares.update(state.estimate, action, reward)
        else:
            pulled, means, n = counts.update(state.counts, state.estimate.means, action, reward)
            estimate = ArmMeans(means, set_at(state.estimate.variances, action, 1 / n))
        pending = state.pending
        if pending is not None:
            fresh = (pending < 0) & ~starting(state)
            pending = jnp.where(fresh, decide(state).challenger, -1)
        return state._replace(pulls=state.pulls + 1, counts=pulled, estimate=estimate, pending=pending)

    def recommend(state: GapIndexState) -> Array:
        if m == 1 and candidates == "means":
            return decide(state).leader[None]
        arms, places = jnp.arange(num_arms, dtype=jnp.int32), jnp.arange(m, dtype=jnp.int32)
        inside = decide(state).inside
        order = gap_indices.ranks(jnp.where(inside, state.estimate.means, -jnp.inf), state.priority)
        return jnp.sum(jnp.where(order[None] == places[:, None], arms[None], 0), 1, dtype=jnp.int32)

    def stops(state: GapIndexState) -> Array:
        ready = ~starting(state)
        if state.pending is not None:
            ready &= state.pending < 0
        return ready & (decide(state).bound <= as_float(epsilon))

    return Algorithm(init=init, noise=none(), select=select, update=update, recommend=recommend, stop=stops)


def _pair_variances(estimate: LeastSquares, arm: Array) -> Array:
    """||x_i - x_arm||^2 in V^-1 for all i, float[num_arms]; never negative."""
    both = estimate.variances + get_at(estimate.variances, arm)
    return jnp.maximum(both - 2 * least_squares.row(estimate, arm), 0.0)


def _check_parts(
    where: str,
    features: Array,
    candidates: str,
    index: str,
    leader: str,
    rule: str,
    stop: str,
    threshold: str,
    ties: str,
) -> None:
    checks.choice(where, "candidates", candidates, ("means", "ugape"))
    checks.choice(where, "index", index, ("paired", "individual", "classical"))
    checks.choice(where, "leader", leader, ("lucb", "ugape"))
    checks.choice(where, "stop", stop, ("lucb", "ugape"))
    checks.choice(where, "ties", ties, ("lowest", "random"))
    rules, levels = ("greedy", "optimized", "largest_variance", "both"), ("det", "theory", "heuristic", "lucb1")
    checks.choice(where, "rule", rule, rules)
    checks.choice(where, "threshold", threshold, levels)
    if index == "classical" and rule not in rules[2:]:
        raise ValueError(f"{where}: rule = {rule!r}, must be one of {', '.join(rules[2:])} with the classical index")
    if index == "classical" and threshold not in levels[2:]:
        raise ValueError(
            f"{where}: threshold = {threshold!r}, must be one of {', '.join(levels[2:])} with the classical index"
        )
    if rule == "optimized" and isinstance(features, np.ndarray):
        rank = np.linalg.matrix_rank(features)
        if rank < features.shape[1]:
            raise ValueError(
                f"{where}: features span {rank} of {features.shape[1]} dimensions, must span all for rule = 'optimized'"
            )


def _weights(features: Array) -> Array:
    """|w*| of x_i - x_j in row i num_arms + j, float[num_arms^2, num_arms]: the least ||w||_1 that represents it."""
    num_arms = features.shape[0]
    if isinstance(features, np.ndarray):
        return jnp.asarray(_weights_by_highs(features.tobytes(), features.shape), jnp.result_type(float))
    x = as_float(features)
    first, second = np.triu_indices(num_arms, 1)
    pairs = jnp.abs(jax.vmap(lambda target: l1_representation(x, target).weights)(x[first] - x[second]))
    table = jnp.zeros((num_arms, num_arms, num_arms), pairs.dtype)
    return table.at[first, second].set(pairs).at[second, first].set(pairs).reshape(-1, num_arms)


@functools.cache
def _weights_by_highs(data: bytes, shape: tuple[int, int]) -> np.ndarray:
    """The same table from concrete features: once a set of features, however often the factory is traced."""
    return np.abs(l1_table(np.frombuffer(data).reshape(shape))).reshape(-1, shape[0])
