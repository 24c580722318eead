"""The common frame of gap-index algorithms: Reda, Kaufmann and Delahaye-Duriez (2021), Algorithm 1.

Differences: the optimized rule pulls argmin N_a / w_a over the nonzero absolute weights w_a (Xu, Honda and Sugiyama
2017, equation 12), where the 2021 paper prints arg max and w_a > 0; ties go to the lowest-numbered arm by default.
"""

from dataclasses import dataclass
from types import ModuleType
from typing import Annotated, Any, Literal, NamedTuple, get_args

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxbandit.algorithms.exploration import gap_indices, thresholds
from jaxbandit.algorithms.exploration.gap_indices import Candidates, Decision, Leader, Stop
from jaxbandit.base.contract import Algorithm, Arms, Choice, Promise, Rewards
from jaxbandit.base.parameters import Arg
from jaxbandit.support.numerics import as_float, get_at, kahan_at, set_at
from jaxbandit.support.types import Array, Key, Scalar
from jaxbandit.theory.estimators import arm_means, least_squares, square_root_least_squares
from jaxbandit.theory.estimators.arm_means import ArmMeans
from jaxbandit.theory.estimators.counts import deviation
from jaxbandit.theory.estimators.least_squares import LeastSquares
from jaxbandit.theory.estimators.square_root_least_squares import SquareRootLeastSquares
from jaxbandit.theory.solvers.l1 import pair_weights

Index = Literal["paired", "individual", "classical"]
Rule = Literal["greedy", "optimized", "largest_variance", "both"]
Threshold = Literal["det", "theory", "heuristic", "lucb1"]
Ties = Annotated[
    Literal["lowest", "random"],
    Arg(meaning='"lowest" for the lowest-numbered arm, or "random" for an order that is drawn in each run'),
]

_PROVED = {False: ("det", "theory"), True: ("lucb1",)}  # proved thresholds, by whether the index is classical

# A weight of w* below this fraction of the largest counts as zero, because solvers leave rounding errors there.
NO_WEIGHT = 1e-6
# A float32 run is trusted if its last bound agrees with that from its counts and rewards in float64, up to this
# fraction of the width of the bound.
TRUSTED = 0.02
# With more than MANY_ARMS dim arms, num_arms dim operations per round are fewer than num_arms^2.
MANY_ARMS = 3

FORMS: dict[type, ModuleType] = {
    ArmMeans: arm_means,
    LeastSquares: least_squares,
    SquareRootLeastSquares: square_root_least_squares,
}


@dataclass(frozen=True)
class Parts:
    """What distinguishes the algorithms of the family, static; `gifa` explains each part."""

    candidates: Candidates = "means"
    index: Index = "paired"
    leader: Leader = "lucb"
    rule: Rule = "greedy"
    stop: Stop = "lucb"
    threshold: Threshold = "theory"
    initial_pulls: bool = True
    ties: Ties = "lowest"


class Problem(NamedTuple):
    """What is to be found, and what is assumed of the rewards: numbers that every algorithm of the family takes."""

    m: int  # static
    delta: Scalar
    epsilon: Scalar
    sigma: Scalar
    regularization: Scalar = 1.0  # of models with features only, as is theta_norm
    theta_norm: Scalar = 0.0


class GapIndexState(NamedTuple):
    """Pulls and estimates. A field that the selected parts do not need is None."""

    pulls: Array  # int32[], of all arms together
    counts: Array  # int32[num_arms]
    estimate: ArmMeans | LeastSquares | SquareRootLeastSquares
    # float[2, num_arms], sums of rewards of each arm (of the classical index minus the first reward of the run), and
    # their rounding errors; in float32 only
    sums: Array | None
    weights: Array | None  # float[num_arms^2, num_arms], row i num_arms + j is |w*| of x_i - x_j; optimized rule only
    pending: Array | None  # int32[], the arm still to pull for the last pair, -1 if none; rule "both" only
    priority: Array | None  # int32[num_arms] >= 0, among tied arms the largest value wins; random ties only


def gap_index_policy(features: Any, parts: Parts, problem: Problem) -> Algorithm:
    """Return the algorithm with these parts."""
    num_arms, dim = features.shape
    _check_parts(features, parts)
    m, delta, epsilon, sigma, regularization, theta_norm = problem

    def init(key: Key) -> GapIndexState:
        rough = jnp.result_type(float) == jnp.float32
        if parts.index == "classical":
            form = arm_means
        else:
            form = square_root_least_squares if rough or num_arms > MANY_ARMS * dim else least_squares
        return GapIndexState(
            pulls=jnp.zeros((), jnp.int32),
            counts=jnp.zeros(num_arms, jnp.int32),
            estimate=form.init(features, regularization),
            sums=jnp.zeros((2, num_arms)) if rough else None,
            weights=pair_weights(features) if parts.rule == "optimized" else None,
            pending=jnp.full((), -1, jnp.int32) if parts.rule == "both" else None,
            priority=(jax.random.bits(key, (num_arms,)) >> 1).astype(jnp.int32) if parts.ties == "random" else None,
        )

    def width(state: GapIndexState) -> Array:
        """Return C sigma, the width of a bound divided by the square root of its variance."""
        noise = {"delta": delta, "sigma": sigma, "regularization": regularization, "theta_norm": theta_norm}
        if parts.threshold == "det":
            level = thresholds.det_threshold(_form(state).logdet(state.estimate), **noise)
        elif parts.threshold == "theory":
            norm = jnp.sqrt(jnp.max(jnp.sum(as_float(features) ** 2, 1)))
            level = thresholds.theory_threshold(state.pulls, dim=dim, feature_norm=norm, **noise)
        elif parts.threshold == "heuristic":
            level = thresholds.heuristic_threshold(state.pulls, delta=delta)
        else:
            level = thresholds.lucb1_threshold(state.pulls, num_arms=num_arms, delta=delta)
        return level * as_float(sigma)

    def widths(state: GapIndexState, arm: Array) -> Array:
        """Return B_{i, arm} - (mu_hat_i - mu_hat_arm) for all i, float[num_arms]."""
        if parts.index == "paired":
            return width(state) * jnp.sqrt(_form(state).distances(state.estimate, arm))
        deviations = jnp.sqrt(_form(state).variances(state.estimate))
        return width(state) * (deviations + get_at(deviations, arm))

    def bounds(state: GapIndexState) -> Array:
        """Return B_ij at [j, i], float[num_arms, num_arms]."""
        means = _form(state).means(state.estimate)
        if parts.index == "paired":
            spread = jnp.sqrt(_form(state).all_distances(state.estimate))
        else:
            deviations = jnp.sqrt(_form(state).variances(state.estimate))
            spread = deviations[None] + deviations[:, None]
        return means[None] - means[:, None] + width(state) * spread

    def decide(state: GapIndexState) -> Decision:
        means, priority = _form(state).means(state.estimate), state.priority
        if m == 1 and parts.candidates == "means":
            best = gap_indices.first(means, priority)
            column = means - get_at(means, best) + widths(state, best)
            return gap_indices.decide_best(means, column, best, priority)
        return gap_indices.decide(means, bounds(state), m, parts.candidates, parts.leader, parts.stop, priority)

    def informative(state: GapIndexState, b: Array, c: Array) -> Array:
        """Return the arm that the rule pulls to distinguish b from c, int32[]."""
        if state.pending is not None:  # the rule is "both"
            return jnp.where(state.pending >= 0, state.pending, b)
        form, estimate = _form(state), state.estimate
        if parts.rule == "largest_variance":
            arms = jnp.arange(num_arms, dtype=jnp.int32)
            scores = jnp.where((arms == b) | (arms == c), form.variances(estimate), -1.0)
        elif parts.rule == "optimized":
            weights = lax.dynamic_index_in_dim(state.weights, b * num_arms + c, 0, keepdims=False)
            used = weights > NO_WEIGHT * jnp.max(weights)
            scores = -jnp.where(used, as_float(state.counts) / jnp.where(used, weights, 1.0), jnp.inf)
        else:
            influence = form.row(estimate, b) - form.row(estimate, c)
            scores = influence * influence / (1 + form.variances(estimate))
        return gap_indices.first(scores, state.priority)

    def starting(state: GapIndexState) -> Array:
        return state.pulls < (num_arms if parts.initial_pulls else 0)

    def select(noise: None, state: GapIndexState, context: None) -> Choice:
        """Return the arm to pull, and the challenger of the round."""
        decision = decide(state)
        arm = informative(state, decision.leader, decision.challenger)
        return Choice(jnp.where(starting(state), state.pulls, arm), decision.challenger)

    def update(state: GapIndexState, context: None, choice: Choice, reward: Array) -> GapIndexState:
        action, challenger = choice
        n = get_at(state.counts, action) + 1
        more = (n,) if parts.index == "classical" else ()
        estimate = _form(state).update(state.estimate, action, reward, *more)
        moved = deviation(estimate.first, reward)[1] if isinstance(estimate, ArmMeans) else reward
        sums = None if state.sums is None else _added(state.sums, action, moved)
        pending = state.pending
        if pending is not None:
            pending = jnp.where((pending < 0) & ~starting(state), challenger, -1)
        return state._replace(
            pulls=state.pulls + 1, counts=set_at(state.counts, action, n), estimate=estimate, sums=sums, pending=pending
        )

    def recommend(state: GapIndexState) -> Array:
        decision = decide(state)
        if m == 1 and parts.candidates == "means":
            return decision.leader[None]
        means = _form(state).means(state.estimate)
        return gap_indices.best_first(jnp.where(decision.inside, means, -jnp.inf), m, state.priority)

    def stops(state: GapIndexState) -> Array:
        ready = ~starting(state)
        if state.pending is not None:
            ready &= state.pending < 0
        return ready & (decide(state).bound <= as_float(epsilon))

    def verify(state: GapIndexState) -> Array:
        if state.sums is None:
            return jnp.ones((), bool)
        fit = (arm_means if parts.index == "classical" else least_squares).fit
        exact = state._replace(estimate=fit(features, regularization, state.counts, state.sums[0] - state.sums[1]))
        decision, bound = decide(exact), decide(state).bound
        spread = TRUSTED * get_at(widths(exact, decision.leader), decision.challenger)
        return (jnp.abs(bound - decision.bound) <= spread) & (decision.bound <= as_float(epsilon) + spread)

    return Algorithm(
        init=init,
        select=select,
        update=update,
        pulls=lambda state: state.counts,
        recommend=recommend,
        stop=stops,
        verify=verify,
        promise=Promise(delta, epsilon, m, proved=parts.threshold in _PROVED[parts.index == "classical"]),
        arms=Arms(num_arms),
        rewards=Rewards(sigma=sigma),
        assumptions=() if parts.index == "classical" else ("the means are linear in the features",),
    )


def _form(state: GapIndexState) -> ModuleType:
    """Return the module with the functions of the state's estimate."""
    return FORMS[type(state.estimate)]


def _added(sums: Array, arm: Array, reward: Array) -> Array:
    """Return the sums and their rounding errors after one more reward, by Kahan's compensated summation."""
    totals, errors, _ = kahan_at(sums[0], sums[1], arm, reward)
    return jnp.stack([totals, errors])  # pyright: ignore[reportArgumentType]


def _check_parts(features: Array | np.ndarray, parts: Parts) -> None:
    if parts.index == "classical":
        for name, allowed in (("rule", get_args(Rule)[2:]), ("threshold", get_args(Threshold)[2:])):
            if getattr(parts, name) not in allowed:
                raise ValueError(
                    f"{name} = {getattr(parts, name)!r}, must be one of {', '.join(allowed)} with the classical index"
                )
    if parts.rule == "optimized" and isinstance(features, np.ndarray):
        rank = np.linalg.matrix_rank(features)
        if rank < features.shape[1]:
            raise ValueError(
                f"features span {rank} of {features.shape[1]} dimensions, must span all for rule = 'optimized'"
            )
