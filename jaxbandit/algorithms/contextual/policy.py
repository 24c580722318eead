"""The common frame of rules whose context is floats: a score for each arm from its model, then the choice of an arm.

The context may be an `Offer`: an arm that is not available is then never pulled, while models, draws and clocks are
those of a round without a mask. Ties go to the lowest-numbered arm, but those of rules that draw go to any.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jaxbandit.algorithms.contextual.models import ArmModels, Models
from jaxbandit.base.contract import Action, Algorithm, Arms, Choice, Context, Offer, Rewards, action_of, none
from jaxbandit.base.draw import draw
from jaxbandit.base.offers import among_available, available_of, features_of
from jaxbandit.support import checks
from jaxbandit.support.domains import integer
from jaxbandit.support.numerics import add_at, argmax, as_float
from jaxbandit.support.types import Array, Key, PyTree, Scalar


class ContextualState(NamedTuple):
    """Pull counts and the models."""

    round: Array  # int32[], the round about to be played, from 1
    counts: Array  # int32[num_arms]
    models: PyTree  # as `Models.init` returns them


Each = Callable[[Callable[[PyTree, Any], Array]], Array]  # each(f) is f(state of its model, its row) of every arm
Choose = Callable[[PyTree, Array, Array | None], Action]  # from noise, scores and bool[num_arms] or None


def contextual_policy(
    models: ArmModels,
    score: Callable[[PyTree, ContextualState, Each], Array],
    *,
    choose: Choose | None = None,
    noise: Callable[[Key], PyTree] | None = None,
    rewards: Rewards | None = None,
    intercept: bool = False,
) -> Algorithm:
    """Return the rule that scores the arms in each round and chooses one of those that are available.

    Args:
      score: function from the noise of a round, the state and `each` to float[num_arms], where each(models.model.mean)
        is x'theta of every arm.
      choose: which arm is pulled given the scores; None pulls the one with the largest score.
      rewards: the rewards that the rule is made for; None leaves this unspecified.
      intercept: whether the rows of the models have the constant 1, which is appended to those of the context.
    """
    choose = choose or (lambda noise, scores, available: best(scores, available))

    def init(key: Key) -> ContextualState:
        return ContextualState(jnp.ones((), jnp.int32), jnp.zeros(models.num_arms, jnp.int32), models.init())

    def select(noise: PyTree, state: ContextualState, context: Context) -> Action:
        available, features = offered(models.shape, context)
        scores = score(noise, state, lambda function: models.by_arm(function, state.models, features))
        return choose(noise, scores, available)

    def update(state: ContextualState, context: Context, selected: Action, reward: Array) -> ContextualState:
        arm, features = action_of(selected), offered(models.shape, context)[1]
        return ContextualState(
            round=state.round + 1,
            counts=add_at(state.counts, arm, 1),
            models=models.update(state.models, features, arm, as_float(reward)),
        )

    rule = Algorithm(
        init=init,
        select=select,
        update=update,
        pulls=lambda state: state.counts,
        noise=noise or none(),
        arms=Arms(models.num_arms, context=models.shape),
        rewards=rewards,
    )
    return with_intercept(rule) if intercept else rule


def greedy_policy(
    models: Models, choose: Choose, *, rewards: Rewards | None = None, intercept: bool = False
) -> Algorithm:
    """Return the rule that draws an arm by its estimated mean; of models for each arm, untried arms come first."""

    def score(noise: Array, state: ContextualState, each: Each) -> Array:
        scores = each(models.model.mean)
        return scores if models.shared else untried_first(scores, state.counts)

    return contextual_policy(models, score, choose=choose, noise=uniform_noise, rewards=rewards, intercept=intercept)


def offered(shape: tuple[int, ...], context: Context) -> tuple[Array | None, Array]:
    """Return which arms are available, bool[num_arms] or None for all, and the round's floats, of the given shape."""
    available, features = available_of(context), features_of(context)
    got = None if features is None else jnp.shape(features)
    if got != shape:
        given = "none" if got is None else f"one of shape {got}"
        raise ValueError(f"the rule needs a context of floats of shape {shape} in every round, got {given}")
    return available, as_float(features)


def with_intercept(rule: Algorithm) -> Algorithm:
    """Return the rule of rows that end with the constant 1 as one that appends it to the rows of the context."""
    arms = rule.arms
    assert arms is not None and arms.context is not None
    shape = (*arms.context[:-1], arms.context[-1] - 1)

    def extended(context: Context) -> Context:
        available, features = offered(shape, context)
        features = jnp.concatenate([features, jnp.ones((*shape[:-1], 1), features.dtype)], -1)
        return features if available is None else Offer(available, features)

    return rule._replace(
        select=lambda noise, state, context: rule.select(noise, state, extended(context)),
        update=lambda state, context, action, reward: rule.update(state, extended(context), action, reward),
        arms=arms._replace(context=shape),
    )


def written(x: Array, place: Array, entry: Array) -> Array:
    """Return x with x[place] = entry. It is in place on many runs, because the place is the same in all of them."""
    return lax.dynamic_update_index_in_dim(x, entry, place, 0)


def best(scores: Array, available: Array | None) -> Array:
    """Return the lowest-numbered available arm with the largest score, int32[]."""
    return argmax(among_available(available, scores))


def untried_first(scores: Array, counts: Array) -> Array:
    """Return the scores with inf for arms that were never pulled, which a model of zeros would give a mean of 0."""
    return jnp.where(counts == 0, jnp.inf, scores)


def ties(scores: Array, available: Array | None) -> Array:
    """Return the uniform distribution over the available arms with the largest score, float[num_arms]."""
    scores = among_available(available, scores)
    equal = as_float(scores == jnp.max(scores))
    return equal / jnp.sum(equal)


def greedy_choice(noise: Array, scores: Array, available: Array | None) -> Array:
    """Return the best of the available arms, any of several that tie, int32[]; noise is uniform."""
    return draw(noise, ties(scores, available)).action


def epsilon_choice(epsilon: Scalar) -> Choose:
    """Return the choice of a uniform available arm with probability epsilon, else of the best; noise is uniform."""

    def choose(noise: Array, scores: Array, available: Array | None) -> Choice:
        real = as_float(jnp.ones(scores.shape, bool) if available is None else available)
        explored = as_float(epsilon)
        return draw(noise, explored * real / jnp.sum(real) + (1 - explored) * ties(scores, available))

    return choose


def softmax_choice(temperature: Scalar) -> Choose:
    """Return the choice of an arm with probability proportional to exp(score / temperature); noise is uniform."""

    def choose(noise: Array, scores: Array, available: Array | None) -> Choice:
        scores = among_available(available, scores)
        top = jnp.max(scores)
        below = jnp.where(scores == top, 0.0, scores - top)  # 0 and not NaN if arms that were never pulled have inf
        weights = jnp.exp(below / as_float(temperature))
        return draw(noise, weights / jnp.sum(weights))

    return choose


def uniform_noise(key: Key) -> Array:
    """Return the noise of a rule that draws its arm, uniform in [0, 1), float[]."""
    return jax.random.uniform(key)


def inverse_delta(delta: Scalar | None, horizon: int | None, *, needed: bool) -> Callable[[], Array]:
    """Return the function that returns log(1 / delta), float[], where None stands for delta = 1 / horizon."""
    if horizon is not None:
        checks.take("horizon", horizon, integer(2))
    if delta is not None:
        return lambda: -jnp.log(as_float(delta))
    if needed and horizon is None:
        raise ValueError("delta = None without a horizon, must be in (0, 1); or give horizon, the number of rounds")
    return lambda: as_float(math.log(horizon or 1))
