"""kl-UCB that is told when the means change and then restarts: a reference for change detectors.

It is not a lower bound: it also forgets arms that did not change.
"""

from typing import NamedTuple

import jax.numpy as jnp

from jaxbandit.algorithms.non_stationary.upper_index import restart_policy, upper_index
from jaxbandit.base.arguments import NumArms, Starts
from jaxbandit.base.contract import Algorithm
from jaxbandit.base.declaration import declare
from jaxbandit.support.numerics import add_at, argmax, exploration_level
from jaxbandit.support.types import Array, Key
from jaxbandit.theory.estimators import recent_means as estimator
from jaxbandit.theory.estimators.recent_means import RecentMeans


class OracleRestartState(NamedTuple):
    """Statistics since the last restart."""

    round: Array  # int32[], the round about to be played, from 1
    clock: Array  # int32[], the round counted from the last restart
    recent: RecentMeans
    pulls: Array  # int32[num_arms]


@declare(
    question="regret",
    setting="changing",
    rewards="in [0, 1]",
    cost="O(K), one numerical inversion of kl an arm",
    memory="O(K)",
    truth=("starts",),
    settings=({"starts": (0, 20)},),
)
def oracle_restart(num_arms: NumArms, *, starts: Starts) -> Algorithm:
    """An oracle, kl-UCB that is told when the means change.

    Return kl-UCB that restarts at the beginning of each segment. The index of arm a is the largest q with kl(mean_a, q)
    <= log(s) / N_a, where the round s, the mean and the count are those since the last restart.

    Guarantee: An oracle for comparison: it is told when the means change and plays kl-UCB anew in each segment.

    Args:
      starts: number of rounds before each segment, increasing from 0; static. Segments that begin after
        the horizon are not reached. With a single segment it is bit for bit `kl_ucb`.

    Returns:
      It recommends the arm pulled most since the restart.

    Raises:
      ValueError: starts does not increase from 0.

    Source:
      Garivier and Cappe (2011), The KL-UCB algorithm for bounded stochastic bandits and beyond, COLT, for kl-UCB;
      Besson, Kaufmann, Maillard and Seznec (2022), Efficient change-point detection for tackling piecewise-stationary
      bandits, JMLR 23, for the oracle.
    """
    changes = starts[1:]

    def init(key: Key) -> OracleRestartState:
        one = jnp.ones((), jnp.int32)
        return OracleRestartState(one, one, estimator.init(num_arms), jnp.zeros(num_arms, jnp.int32))

    def select(noise: None, state: OracleRestartState, context: None) -> Array:
        level = exploration_level(state.clock)
        return argmax(upper_index("kl", state.recent.means, level, state.recent.inverse_sqrt_counts))

    def update(state: OracleRestartState, context: None, action: Array, reward: Array) -> OracleRestartState:
        restart = jnp.any(state.round == changes)  # the number of rounds completed now
        return OracleRestartState(
            round=state.round + 1,
            clock=jnp.where(restart, 1, state.clock + 1),
            recent=estimator.forget(estimator.update(state.recent, action, reward), restart),
            pulls=add_at(state.pulls, action, 1),
        )

    return restart_policy(num_arms, init, select, update)
