"""D-LinUCB: Russac, Vernade and Cappe (2019), Algorithm 1: LinUCB by least squares with discounted weights.

With a model for each arm, it is their rule on R^(K d), where the row of an arm is x in its own block and 0 elsewhere: V
consists of a block for each arm, and every block is discounted in every round. The weights are those of the last
round, gamma^(t - s), as in the algorithm. A constant width is our addition. Ties go to the lowest-numbered arm.
"""

from collections.abc import Callable
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp

from jaxbandit.algorithms.contextual.models import rows_of
from jaxbandit.algorithms.contextual.policy import ContextualState, Each, contextual_policy, inverse_delta
from jaxbandit.base.arguments import (
    Delta,
    Horizon,
    Intercept,
    NonNegative,
    NumArms,
    PositiveUnit,
    Regularization,
    Shape,
    Sigma,
    ThetaNorm,
)
from jaxbandit.base.contract import Algorithm, Rewards
from jaxbandit.base.declaration import declare
from jaxbandit.support.numerics import as_float, get_at, total
from jaxbandit.support.types import Array, Scalar
from jaxbandit.theory.estimators.ordinary_least_squares import inverse


class Sums(NamedTuple):
    """Sums over the rows x_s and rewards y_s of a model, with weights w_s = gamma^(t - s).

    With a model for each arm, they have a leading axis num_arms.
    """

    matrix: Array  # float[dim, dim], sum w x x'
    squares: Array  # float[dim, dim], sum w^2 x x'
    moment: Array  # float[dim], sum w x y


class DiscountedModels(NamedTuple):
    """The models of all arms, with the functions of `Models`."""

    num_arms: int
    shape: tuple[int, ...]  # of the context: (dim,) or (num_arms, dim)
    discount: Scalar

    @property
    def shared(self) -> bool:
        """Whether there is one model."""
        return len(self.shape) == 2

    def init(self) -> Sums:
        """Return the sums before the first round."""
        dim, each = self.shape[-1], () if self.shared else (self.num_arms,)
        square = jnp.zeros((*each, dim, dim))
        return Sums(square, square, jnp.zeros((*each, dim)))

    def by_arm(self, function: Callable[[Sums, Array], Array], state: Sums, features: Array) -> Array:
        """Return function(sums of the arm's model, row of the arm) of every arm, [num_arms, ...]."""
        return jax.vmap(function, (None, 0) if self.shared else (0, None))(state, features)

    def update(self, state: Sums, features: Array, arm: Array, reward: Array) -> Sums:
        """Return the sums after a reward of the arm; the models of the other arms forget too."""
        x, gamma = get_at(features, arm) if self.shared else features, as_float(self.discount)
        here = jnp.arange(self.num_arms, dtype=jnp.int32) == arm

        def after(before: Array, factor: Array, new: Array) -> Array:
            if self.shared:
                return factor * before + new
            return factor * before + jnp.where(here.reshape(-1, *[1] * new.ndim), new, 0.0)

        outer = x[:, None] * x[None]
        return Sums(
            matrix=after(state.matrix, gamma, outer),
            squares=after(state.squares, gamma * gamma, outer),
            moment=after(state.moment, gamma, x * reward),
        )


@declare(
    question="regret",
    setting="contexts",
    rewards='any; sub-Gaussian, scale given, with "theory"',
    cost="O(d^3 + K d^2) or O(K d^3)",
    memory="O(K + d^2) or O(K d^2)",
    tries={"alpha": (1.0, 0.0), "discount": (0.95, 1.0)},
    settings=({"shape": (2,)}, {"shape": (3, 2)}, {"shape": (2,), "variant": "theory"}),
)
def d_lin_ucb(
    num_arms: NumArms,
    shape: Shape,
    *,
    discount: PositiveUnit = 0.999,
    variant: Literal["alpha", "theory"] = "alpha",
    alpha: NonNegative = 1.0,
    regularization: Regularization = 1.0,
    horizon: Horizon | None = None,
    delta: Delta | None = None,
    sigma: Sigma = 1.0,
    theta_norm: ThetaNorm = 1.0,
    intercept: Intercept = True,
) -> Algorithm:
    """LinUCB that forgets: a reward from s rounds ago has weight discount^s; Russac et al. 2019.

    Return discounted LinUCB (D-LinUCB) for means that change, on a context of floats: each round pulls the arm with the
    largest x' theta + beta sqrt(x' V^-1 W V^-1 x). Here theta minimizes the weighted squared error plus lambda
    |theta|^2, V = lambda I + sum w x x', W = lambda I + sum w^2 x x', and w are the weights of the rows. With a model
    for each arm, all of them forget in every round, so that an arm that was not pulled for long is tried again.

    Guarantee: With the variant "theory" and discount 1 - (B / (d T))^(2/3), regret O~(d^(2/3) B^(1/3) T^(2/3)) with
    high probability, where theta moves by at most B in all, rows and theta are bounded; none for the default "alpha".

    Args:
      discount: factor gamma per round. It remembers about 1 / (1 - discount) rounds: 1,000 by default. With 1 nothing
        is forgotten.
      variant: "alpha" has beta = alpha; "theory" has beta = sqrt(lambda) theta_norm + sigma sqrt(2 log(1 / delta) + d
        log(1 + L^2 n / (lambda d))), where n = sum w^2, L^2 is 1, or 2 with the intercept, and d counts all entries of
        theta: those of all arms if each has its own.
      alpha: weight of the width, in units of the rewards. Used by "alpha" only.
      horizon: number of rounds; only for the default delta of "theory".
      delta: probability with which the bound of "theory" may fail in a round; None means 1 / horizon.
      theta_norm: upper bound on the Euclidean norm of theta. Used, as sigma, by "theory" only.

    Returns:
      An Algorithm with contexts float[shape], or an Offer of them, actions int32[] in [0, num_arms) and rewards
      float[].

    Raises:
      ValueError: "theory" has neither a delta nor a horizon.

    Source:
      Russac, Vernade and Cappe (2019), Weighted linear bandits for non-stationary environments, NeurIPS, Algorithm 1
      and Theorem 1.
    """
    log_inverse_delta = inverse_delta(delta, horizon, needed=variant == "theory")
    own = DiscountedModels(num_arms, rows_of(num_arms, shape, intercept), discount)

    def radius(state: ContextualState) -> Array:
        if variant == "alpha":
            return as_float(alpha)
        gamma, rounds = as_float(discount), as_float(state.round - 1)
        kept = jnp.where(gamma < 1, (1 - gamma ** (2 * rounds)) / (1 - gamma * gamma), rounds)
        prior, dim = as_float(regularization), own.shape[-1] * (1 if own.shared else num_arms)
        grown = dim * jnp.log1p((1 + int(intercept)) * kept / (prior * dim))
        return jnp.sqrt(prior) * as_float(theta_norm) + as_float(sigma) * jnp.sqrt(2 * log_inverse_delta() + grown)

    def score(noise: None, state: ContextualState, each: Each) -> Array:
        beta, prior = radius(state), as_float(regularization)

        def upper(sums: Sums, x: Array) -> Array:
            ridge = prior * jnp.eye(own.shape[-1])
            moved = total(inverse(sums.matrix + ridge) * x[:, None])  # V^-1 x
            width = total(moved * total((sums.squares + ridge) * moved[:, None]))
            return total(moved * sums.moment) + beta * jnp.sqrt(width)

        return each(upper)

    rewards = Rewards(sigma=sigma) if variant == "theory" else None
    return contextual_policy(own, score, rewards=rewards, intercept=intercept)
