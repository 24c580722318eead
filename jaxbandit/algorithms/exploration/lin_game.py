"""LinGame: Degenne, Menard, Shang and Valko (2020), for the best arm, with one AdaHedge learner per answer.

Differences: see `lin_game`; rewards are divided by sigma, so gains and statistics are divided by sigma^2.
"""

from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jaxbandit.algorithms.exploration import thresholds
from jaxbandit.base.arguments import Delta, Features, Regularization, Sigma, ThetaNorm
from jaxbandit.base.contract import Algorithm, Arms, Choice, Promise, Rewards
from jaxbandit.base.declaration import declare
from jaxbandit.support.numerics import add_at, argmax, as_float, get_at, kahan_pair, product
from jaxbandit.support.types import Array, Key
from jaxbandit.theory.estimators import least_squares
from jaxbandit.theory.estimators import ordinary_least_squares as designs
from jaxbandit.theory.estimators.least_squares import LeastSquares

# Initial cumulative mixability gap of AdaHedge, as in the authors' code, so that the first learning rate is finite.
FIRST_GAP = 0.01


class LinGameState(NamedTuple):
    """Estimates, the learners, and the weights that the pulls track."""

    pulls: Array  # int32[], of all arms together
    counts: Array  # int32[num_arms]
    estimate: LeastSquares
    gains: Array  # float[num_arms, num_arms], row i has the cumulative gains of the learner for answer i
    mix_gaps: Array  # float[num_arms], cumulative mixability gap of each learner
    targets: Array  # float[2, num_arms], sum of the weights played, and its rounding error


class Turn(NamedTuple):
    """The outcome of one round of the game."""

    best: Array  # int32[], the empirical best arm
    weights: Array  # float[num_arms], weights of its learner
    gains: Array  # float[num_arms], gains that the learner receives
    mix_gap: Array  # float[] >= 0, mixability gap of this round


@declare(question="confidence", rewards="sub-Gaussian, scale given", cost="O(K^2)", memory="O(K^2)")
def lin_game(
    features: Features,
    *,
    delta: Delta = 0.05,
    sigma: Sigma = 1.0,
    regularization: Regularization = 1.0,
    theta_norm: ThetaNorm = 1.0,
    threshold: Literal["theory", "heuristic"] = "theory",
) -> Algorithm:
    """A game between a learner and nature, Degenne et al. 2020.

    In each round the learner of the empirically best arm plays weights, nature answers with the closest parameter for
    which another arm is best, the learner receives optimistic gains, and the pulls track the sum of the weights. It
    stops when the smallest value over suboptimal arms i of gap_i^2 / (2 sigma^2 y' V^-1 y) with y = x_best - x_i
    reaches beta. As in the authors' code, and unlike the paper, every arm is pulled once first, the optimism is log t
    instead of beta(t, 1/t^3), gains are at most log t, and nature's best response uses V_w + (lambda / t) I.

    Guarantee: The error rate is at most delta; the paper's version, whose optimism and first pulls differ, is
    asymptotically optimal in the expected number of pulls as delta tends to 0 (Degenne et al. 2020).

    In detail, with "heuristic" the recommendation carries no guarantee.

    Args:
      features: float[num_arms, dim] with num_arms >= 2. They need not span R^dim.
      regularization: lambda of the regularized least squares (eta in the paper).
      theta_norm: upper bound S on the norm of theta (M in the paper), which "theory" needs.
      threshold: "theory" is the proved beta = (sqrt(log(1/delta) + d/2 log(1 + t L^2 / (lambda d))) + sqrt(lambda/2)
        S/sigma)^2, where L is the largest norm of a feature vector; "heuristic" is log((log t + 1) / delta).

    Source:
      Degenne, Menard, Shang and Valko (2020), Gamification of pure exploration for linear bandits, ICML; de Rooij, van
      Erven, Grunwald and Koolen (2014), Follow the leader if you can, hedge if you must, JMLR 15, for AdaHedge.
    """
    num_arms, dim = features.shape

    def init(key: Key) -> LinGameState:
        return LinGameState(
            pulls=jnp.zeros((), jnp.int32),
            counts=jnp.zeros(num_arms, jnp.int32),
            estimate=least_squares.init(features, regularization),
            gains=jnp.zeros((num_arms, num_arms)),
            mix_gaps=jnp.full(num_arms, as_float(FIRST_GAP)),
            targets=jnp.stack([jnp.ones(num_arms), jnp.zeros(num_arms)]),  # for the initial pulls
        )

    def turn(state: LinGameState) -> Turn:
        best = argmax(state.estimate.means)
        rate = jnp.log(num_arms) / get_at(state.mix_gaps, best)
        gains = lax.dynamic_index_in_dim(state.gains, best, 0, keepdims=False)
        weights = jax.nn.softmax(rate * gains)

        x, t = as_float(features), as_float(jnp.maximum(state.pulls, 1))
        ridge = as_float(regularization) / t * jnp.eye(dim)
        inverse = designs.inverse(designs.design_matrix(x, weights) + ridge)
        differences = designs.differences(x, best)
        distances, gaps = designs.squared_norms(differences, inverse), _gaps(state.estimate, best)
        other = distances > 0
        size = jnp.where(other, distances, 1.0)
        nearest = argmax(-jnp.where(other, gaps * gaps / size, jnp.inf))
        # The closest parameter for which x_nearest is as good differs from theta_hat by gap / (y' V_w^-1 y) V_w^-1 y.
        direction = lax.dynamic_index_in_dim(differences, nearest, 0)
        moved = product(x, product(inverse, direction.reshape(dim, 1)))[:, 0]
        moved = moved * (get_at(gaps, nearest) / get_at(size, nearest)) / as_float(sigma)
        optimism = jnp.log(t)
        deviation = jnp.sqrt(2 * optimism * state.estimate.variances)
        new = jnp.minimum((jnp.abs(moved) + deviation) ** 2 / 2, optimism)

        played = jnp.sum(weights * new)
        mixed = jnp.log(jnp.sum(weights * jnp.exp(rate * (new - jnp.max(new))))) / rate + jnp.max(new)
        return Turn(best, weights, new, jnp.maximum(mixed - played, 0.0))

    def starting(state: LinGameState) -> Array:
        return state.pulls < num_arms

    def select(noise: None, state: LinGameState, context: None) -> Choice:
        played = turn(state)
        behind = argmax(state.targets[0] + played.weights - as_float(state.counts))
        return Choice(jnp.where(starting(state), state.pulls, behind), played)

    def update(state: LinGameState, context: None, choice: Choice, reward: Array) -> LinGameState:
        (action, played), game = choice, ~starting(state)
        chosen = (jnp.arange(num_arms, dtype=jnp.int32) == played.best) & game
        return LinGameState(
            pulls=state.pulls + 1,
            counts=add_at(state.counts, action, 1),
            estimate=least_squares.update(state.estimate, action, reward),
            gains=state.gains + jnp.where(chosen[:, None], played.gains[None], 0.0),
            mix_gaps=state.mix_gaps + jnp.where(chosen, played.mix_gap, 0.0),
            targets=kahan_pair(state.targets, jnp.where(game, played.weights, 0.0)),
        )

    def recommend(state: LinGameState) -> Array:
        return argmax(state.estimate.means)[None]

    def level(state: LinGameState) -> Array:
        """Return sqrt(2 beta), the number of standard deviations that a gap must exceed."""
        if threshold == "heuristic":
            return thresholds.heuristic_threshold(state.pulls, delta=delta)
        norm = jnp.max(jnp.sum(as_float(features) ** 2, 1))
        logdet = dim * jnp.log(1 + as_float(state.pulls) * norm / (as_float(regularization) * dim))
        bias = jnp.sqrt(as_float(regularization)) * as_float(theta_norm) / as_float(sigma)
        return jnp.sqrt(logdet - 2 * jnp.log(as_float(delta))) + bias

    def stop(state: LinGameState) -> Array:
        estimate = state.estimate
        best = argmax(estimate.means)
        squares = estimate.variances + get_at(estimate.variances, best) - 2 * least_squares.row(estimate, best)
        widths = level(state) * as_float(sigma) * jnp.sqrt(jnp.maximum(squares, 0.0))
        other = jnp.arange(num_arms, dtype=jnp.int32) != best
        return ~starting(state) & jnp.all((_gaps(estimate, best) >= widths) | ~other)

    return Algorithm(
        init=init,
        select=select,
        update=update,
        pulls=lambda state: state.counts,
        recommend=recommend,
        stop=stop,
        promise=Promise(delta, proved=threshold == "theory"),
        arms=Arms(num_arms),
        rewards=Rewards(sigma=sigma),
        assumptions=("the means are linear in the features",),
    )


def _gaps(estimate: LeastSquares, best: Array) -> Array:
    return get_at(estimate.means, best) - estimate.means
