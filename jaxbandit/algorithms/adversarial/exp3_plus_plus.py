"""EXP3++: Seldin and Slivkins (2014), with the constants and the gap estimates of Seldin and Lugosi (2017)."""

from typing import NamedTuple

import jax.numpy as jnp

from jaxbandit.algorithms.adversarial.drawing import draw_noise
from jaxbandit.algorithms.adversarial.exponential_weights import exponential_weights
from jaxbandit.base.arguments import NumArms, Positive
from jaxbandit.base.contract import Algorithm, Arms, Choice, Chosen, Rewards
from jaxbandit.base.declaration import declare
from jaxbandit.support.numerics import argmax, as_float, get_at, set_at
from jaxbandit.support.types import Array, Key
from jaxbandit.theory.estimators import counts as estimator
from jaxbandit.theory.estimators import loss_sums
from jaxbandit.theory.estimators.counts import Counts
from jaxbandit.theory.estimators.loss_sums import LossSums, above_least


class Exp3PlusPlusState(NamedTuple):
    """Estimated losses, which an adversary cannot deceive, and observed means, from which gaps are estimated."""

    round: Array  # int32[], the round about to be played, from 1
    arms: Counts  # of the observed losses
    losses: LossSums  # of the estimated losses; its leaves are float[num_arms]


@declare(
    question="regret",
    setting="adversarial",
    rewards="in [0, 1]",
    cost="O(K)",
    memory="O(K)",
    tries={"alpha": (3.0, 1.0), "beta": (256.0, 18.0)},
)
def exp3_plus_plus(num_arms: NumArms, *, alpha: Positive = 3.0, beta: Positive = 256.0) -> Algorithm:
    """EXP3 that explores arms less where gaps show, for adversaries and fixed means alike, Seldin and Slivkins 2014.

    Return EXP3++: arm a has probability (1 - sum of epsilon_b) w_a + epsilon_a, w proportional to exp(-e_t L_a), with
    the estimated losses L_a of EXP3 and e_t = sqrt(log K / (t K)) / 2. Epsilon_a is the least of 1 / (2 K), e_t and
    beta log t / (t G^2), where G is a lower confidence bound on the gap of the arm with widths sqrt((alpha log t + log
    K) / (2 N)).

    Guarantee: Expected regret O(sqrt(K T log K)) against the best fixed arm for losses fixed in advance, and
    O(log(T)^2) times the sum of 1 / gap for independent rewards (Seldin and Lugosi 2017).

    Args:
      alpha: factor of log t in the widths.
      beta: weight of the exploration.

    Returns:
      An Algorithm with rewards float[] in [0, 1]. Its action is a `Choice` of an arm, int32[] in [0, num_arms), whose
      info is `Chosen`, with the probability of the arm. It recommends the arm with the smallest estimated loss.

    Source:
      Seldin and Slivkins (2014), One practical algorithm for both stochastic and adversarial bandits, ICML, Algorithm
      1; Seldin and Lugosi (2017), An improved parametrization and analysis of the EXP3++ algorithm for stochastic and
      adversarial bandits, COLT.
    """

    def probabilities(state: Exp3PlusPlusState) -> Array:
        t, n = as_float(state.round), as_float(state.arms.counts)
        log_arms = jnp.log(as_float(num_arms))
        rate = jnp.sqrt(log_arms / (t * num_arms)) / 2
        width = jnp.sqrt((as_float(alpha) * jnp.log(t) + log_arms) / (2 * jnp.maximum(n, 1.0)))
        low, high = jnp.maximum(state.arms.means - width, 0.0), jnp.minimum(state.arms.means + width, 1.0)
        gap = jnp.where(n > 0, jnp.maximum(low - jnp.min(jnp.where(n > 0, high, 1.0)), 0.0), 0.0)
        own = as_float(beta) * jnp.log(t) / (t * jnp.maximum(gap, 1e-6) ** 2)
        most = jnp.minimum(0.5 / num_arms, rate)
        explored = jnp.where(gap > 0, jnp.minimum(own, most), most)
        weights = exponential_weights(above_least(state.losses), rate)
        return (1 - jnp.sum(explored)) * weights + explored

    def init(key: Key) -> Exp3PlusPlusState:
        return Exp3PlusPlusState(jnp.ones((), jnp.int32), estimator.init(num_arms), loss_sums.init(num_arms))

    def select(noise: Array, state: Exp3PlusPlusState, context: None) -> Choice:
        p = probabilities(state)
        arm = jnp.minimum(jnp.sum(jnp.cumsum(p) <= noise, dtype=jnp.int32), num_arms - 1)
        return Choice(arm, Chosen(get_at(p, arm)))

    def update(state: Exp3PlusPlusState, context: None, choice: Choice, reward: Array) -> Exp3PlusPlusState:
        arm, loss = choice.action, 1 - reward
        arms, _ = estimator.update(state.arms, arm, loss)
        estimates = set_at(jnp.zeros(num_arms), arm, loss / choice.info.probability)
        return Exp3PlusPlusState(state.round + 1, arms, loss_sums.add(state.losses, estimates))

    return Algorithm(
        init=init,
        select=select,
        update=update,
        pulls=lambda state: state.arms.counts,
        recommend=lambda state: argmax(-above_least(state.losses)),
        noise=draw_noise,
        arms=Arms(num_arms),
        rewards=Rewards(0.0, 1.0),
    )
