"""UCB-GLM for logistic means: Li, Lu and Zhou (2017), Algorithm 1, with a ridge penalty instead of random first rounds.

Theta is the penalized maximum-likelihood estimate of all rounds, so their rows are kept.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jaxbandit.algorithms.contextual.models import Model, models, ridge
from jaxbandit.algorithms.contextual.policy import (
    ContextualState,
    Each,
    contextual_policy,
    offered,
    with_intercept,
    written,
)
from jaxbandit.base.arguments import Count, Horizon, Intercept, NonNegative, NumArms, PriorPrecision, Shape, Whole
from jaxbandit.base.contract import Action, Algorithm, Context, Replan, Rewards, action_of
from jaxbandit.base.declaration import declare
from jaxbandit.support.numerics import as_float
from jaxbandit.support.types import Array, Key, PyTree, Scalar
from jaxbandit.theory.estimators import logistic_likelihood
from jaxbandit.theory.estimators.recursive_least_squares import RecursiveLeastSquares, weighted_update

EVERY_ROUND = 100  # rounds after each of which theta is computed


class UcbGlmState(NamedTuple):
    """What the round needs, and the rounds from which theta is computed."""

    policy: ContextualState  # its models have theta, and V^-1 by its root
    rows: Array  # float[length, dim], of the arms that were pulled
    rewards: Array  # float[length]
    arms: PyTree  # int32[length], the arms that were pulled; None with one model
    fitted: Array  # int32[], the number of rounds from which theta was computed


@declare(
    question="regret",
    setting="contexts",
    rewards="in [0, 1], logistic means",
    cost="O(K d^2), and O(t d^2) in every 20th round, K times that with a model for each arm",
    memory="O(T d + K d^2)",
    tries={"alpha": (0.5, 0.0)},
    settings=({"shape": (2,), "horizon": 60}, {"shape": (2,), "horizon": 60, "random_rounds": 10}),
)
def ucb_glm(
    num_arms: NumArms,
    shape: Shape,
    *,
    horizon: Horizon,
    alpha: NonNegative = 0.5,
    regularization: PriorPrecision = 1.0,
    every: Count = 20,
    random_rounds: Whole = 0,
    intercept: Intercept = True,
) -> Algorithm:
    """UCB-GLM for rewards in [0, 1] with logistic means, Li, Lu and Zhou 2017.

    Each round pulls the arm with the largest x' theta + alpha sqrt(x' V^-1 x), where theta maximizes the likelihood of
    all rewards less lambda |theta|^2 / 2, and V = lambda I + sum x x'. Theta is computed after each of the first 100
    rounds, and then every `every` rounds, by Newton's method from the last theta.

    Guarantee: None for the default alpha; Li, Lu and Zhou (2017) bound the regret by O~(d sqrt(T)) for alpha = (sigma /
    kappa) sqrt(d/2 log(1 + 2 t / d) + log(1 / delta)) after random first rounds, where kappa is the least derivative of
    the mean.

    In detail, that alpha is far larger than what works, because kappa is small: exp(-|x' theta|), roughly.

    Args:
      horizon: number of rounds whose rows are kept. In a longer run theta is that of the last `horizon` rounds.
      alpha: weight of the width.
      regularization: lambda, for theta and for V.
      every: number of rounds between two estimates after round 100.
      random_rounds: number of first rounds in which the arm is uniform among those that are available.

    Returns:
      An Algorithm with contexts float[shape], or an Offer of them, actions int32[] in [0, num_arms) and rewards float[]
      in [0, 1]. It replans to compute theta.

    Source:
      Li, Lu and Zhou (2017), Provably optimal algorithms for generalized linear contextual bandits, ICML, Algorithm 1.
    """
    own = models(design, regularization, num_arms, shape, intercept)
    length = logistic_likelihood.padded_length(horizon)

    def score(noise: Array | None, state: ContextualState, each: Each) -> Array:
        scores = each(own.model.mean) + as_float(alpha) * each(own.model.width)
        # The largest of independent uniform numbers is any of the available arms with the same probability.
        return scores if noise is None else jnp.where(state.round <= random_rounds, noise, scores)

    def noise(key: Key) -> Array | None:
        return jax.random.uniform(key, (own.num_arms,)) if random_rounds else None

    policy = contextual_policy(own, score, noise=noise, rewards=Rewards(0.0, 1.0))

    def init(key: Key) -> UcbGlmState:
        arms = None if own.shared else jnp.zeros(length, jnp.int32)
        rows = jnp.zeros((length, own.shape[-1]))
        return UcbGlmState(policy.init(key), rows, jnp.zeros(length), arms, jnp.zeros((), jnp.int32))

    def select(noise: PyTree, state: UcbGlmState, context: Context) -> Action:
        return policy.select(noise, state.policy, context)

    def update(state: UcbGlmState, context: Context, selected: Action, reward: Array) -> UcbGlmState:
        arm, features = action_of(selected), offered(own.shape, context)[1]
        x = lax.dynamic_index_in_dim(features, arm, 0, keepdims=False) if own.shared else features
        place = (state.policy.round - 1) % horizon
        return state._replace(
            policy=policy.update(state.policy, context, selected, reward),
            rows=written(state.rows, place, x),
            rewards=written(state.rewards, place, as_float(reward)),
            arms=None if own.shared else written(state.arms, place, arm),
        )

    def due(state: UcbGlmState) -> Array:
        rounds = state.policy.round - 1
        return rounds - state.fitted >= jnp.where(rounds <= EVERY_ROUND, 1, every)

    def fit(state: UcbGlmState) -> UcbGlmState:
        rounds = state.policy.round - 1
        estimate: RecursiveLeastSquares = state.policy.models
        seen = jnp.minimum(rounds, horizon)

        def fit_one(used: Array | None, theta: Array) -> Array:
            return logistic_likelihood.maximum(state.rows, state.rewards, seen, used, regularization, theta)

        if own.shared:
            theta = fit_one(None, estimate.theta)
        else:
            numbers = jnp.arange(own.num_arms, dtype=jnp.int32)
            theta = jax.vmap(lambda arm, theta: fit_one(state.arms == arm, theta))(numbers, estimate.theta)
        models = estimate._replace(theta=theta)
        return state._replace(policy=state.policy._replace(models=models), fitted=rounds)

    rule = policy._replace(
        init=init, select=select, update=update, pulls=lambda state: state.policy.counts, replan=Replan(due, fit)
    )
    return with_intercept(rule) if intercept else rule


def design(dim: int, regularization: Scalar) -> Model:
    """Return a model whose rows change V^-1, where V = lambda I + sum x x', and whose theta no reward moves."""
    return ridge(dim, regularization)._replace(
        update=lambda state, x, reward: weighted_update(state, x, 1.0, jnp.zeros_like(reward))
    )
