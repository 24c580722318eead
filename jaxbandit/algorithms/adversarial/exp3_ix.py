"""EXP3-IX: Neu (2015), Algorithm 1: exponential weights with implicit exploration.

A loss is divided by its arm's probability plus gamma_t = eta_t / 2: the estimates are then too low, and their variance
is bounded, so that the regret of a run, and not its mean alone, is bounded with high probability.
"""

from jaxbandit import checks
from jaxbandit.algorithms.adversarial.exponential_weights import Rate, exponential_weights, learning_rate
from jaxbandit.algorithms.adversarial.regularized_leader import regularized_leader
from jaxbandit.base import Algorithm
from jaxbandit.types import Array, Scalar


def exp3_ix(
    num_arms: int, *, rate: Rate = "anytime", horizon: int | None = None, eta: Scalar | None = None
) -> Algorithm:
    """Return EXP3 with implicit exploration, gamma_t = eta_t / 2.

    Proved, for rewards in [0, 1] that an adversary fixed in advance: with probability at least 1 - delta the regret
    against the best fixed arm is O(sqrt(K T log K) + sqrt(K T / log K) log(1 / delta)), with either default rate.

    Args:
      num_arms: number of arms, K >= 1, static.
      rate: "anytime": eta / sqrt(t) at round t; "fixed": eta in every round. Static.
      horizon: T >= 1, static; read by the default eta of the fixed rate alone.
      eta: constant of the learning rate, > 0, traced. None: sqrt(log K / K) anytime, sqrt(2 log K / (T K)) fixed.

    Returns:
      An Algorithm with actions int32[] in [0, num_arms) and rewards float[] in [0, 1]. It recommends the arm of the
      least estimated loss, which is the most likely one.

    Raises:
      ValueError: an argument is out of range, or the fixed rate has neither horizon nor eta.

    Source: Neu (2015), Explore no more: improved high-probability regret bounds for non-stochastic bandits, NIPS.
    """
    num_arms = checks.integer("exp3_ix", "num_arms", num_arms, 1)
    eta_at = learning_rate("exp3_ix", num_arms, rate, horizon, eta)

    def probabilities(excess: Array, round: Array) -> Array:
        return exponential_weights(excess, eta_at(round))

    return regularized_leader("exp3_ix", num_arms, probabilities, implicit=lambda round: eta_at(round) / 2)
