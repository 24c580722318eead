"""UCB-V: Audibert, Munos and Szepesvari (2009), equation (1), with the exploration function E_{s,t} = zeta log t.

Differences from the paper: the initial pulls are in the order of the arms, and ties go to the lowest-numbered arm.
"""

from typing import NamedTuple

import jax.numpy as jnp

from jaxbandit.base.arguments import NonNegative, NumArms, Positive
from jaxbandit.base.contract import Algorithm, Arms, Offer, Rewards
from jaxbandit.base.declaration import declare
from jaxbandit.base.offers import best_available
from jaxbandit.support.numerics import as_float, get_at, set_at
from jaxbandit.support.types import Array, Key
from jaxbandit.theory.estimators import counts as estimator
from jaxbandit.theory.estimators.counts import Counts, Squares


class UcbVState(NamedTuple):
    """Means and centered second moments, with what the index needs of them; a round changes those of the pulled arm."""

    round: Array  # int32[], the round about to be played, from 1
    arms: Counts
    squares: Squares
    spread: Array  # float[num_arms], sqrt(2 V / counts)
    inverse_counts: Array  # float[num_arms], 1 / counts, inf where never pulled


@declare(
    question="regret", rewards="in [0, 1]", cost="O(K)", memory="O(K)", tries={"zeta": (1.2, 0.5), "c": (0.0, 3.0)}
)
def ucb_v(num_arms: NumArms, *, zeta: Positive = 1.2, c: NonNegative = 1.0) -> Algorithm:
    """UCB with empirical variances, Audibert et al. 2009.

    The index of an arm pulled s times is mean + sqrt(2 V E / s) + 3 c E / s, where V is the empirical variance with
    divisor s and E = zeta log t. Each arm is pulled once first.

    Guarantee: Expected regret of at most 10 log T times the sum over the other arms of variance / gap + 2 (Audibert et
    al. 2009).

    In detail, this is for rewards in [0, 1], c = 1 and the default zeta = 1.2; for zeta < 1 the regret can be
    polynomial.

    Args:
      zeta: factor of log t in the exploration function.
      c: factor of the bias term 3 E / s. With c below 1 / (3 zeta) the regret can be polynomial.

    Source:
      Audibert, Munos and Szepesvari (2009), Exploration-exploitation tradeoff using variance estimates in multi-armed
      bandits, Theoretical Computer Science 410, equation (1).
    """

    def init(key: Key) -> UcbVState:
        arms, never = estimator.init(num_arms), jnp.full(num_arms, jnp.inf)
        return UcbVState(jnp.ones((), jnp.int32), arms, estimator.no_squares(arms), jnp.zeros(num_arms), never)

    def select(noise: None, state: UcbVState, context: Offer | None) -> Array:
        exploration = as_float(zeta) * jnp.log(as_float(state.round))
        spread = state.spread * jnp.sqrt(exploration)
        index = state.arms.means + (spread + state.inverse_counts * (3 * as_float(c) * exploration))
        # The index of an arm without a reward may be NaN.
        return best_available(context, jnp.where(state.arms.counts > 0, index, jnp.inf))

    def update(state: UcbVState, context: Offer | None, action: Array, reward: Array) -> UcbVState:
        arms, n = estimator.update(state.arms, action, reward)
        squares = estimator.add_square(state.squares, state.arms, arms, action, reward)
        return UcbVState(
            round=state.round + 1,
            arms=arms,
            squares=squares,
            spread=set_at(state.spread, action, jnp.sqrt(2 * get_at(squares[0], action)) / n),
            inverse_counts=set_at(state.inverse_counts, action, 1 / n),
        )

    return Algorithm(
        init, select, update, pulls=lambda state: state.arms.counts, arms=Arms(num_arms), rewards=Rewards(0.0, 1.0)
    )
