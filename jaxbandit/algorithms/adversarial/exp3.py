"""EXP3: Auer, Cesa-Bianchi, Freund and Schapire (2002), here on losses: Bubeck and Cesa-Bianchi (2012), Fig. 3.1.

Differs from the former: losses in place of rewards, and no uniform exploration, which their bound has no need of.
"""

from jaxbandit import checks
from jaxbandit.algorithms.adversarial.exponential_weights import Rate, exponential_weights, learning_rate
from jaxbandit.algorithms.adversarial.regularized_leader import regularized_leader
from jaxbandit.base import Algorithm
from jaxbandit.types import Array, Scalar


def exp3(num_arms: int, *, rate: Rate = "anytime", horizon: int | None = None, eta: Scalar | None = None) -> Algorithm:
    """Return exponential weights on losses divided by the probability of the arm that showed them.

    Proved, for rewards in [0, 1] that an adversary fixed in advance: expected regret against the best fixed arm after T
    rounds of K arms is at most sqrt(2 T K log K) with the fixed rate for T, and 2 sqrt(T K log K) for every T with the
    anytime rate, both with the default eta. A single run's regret may be far larger: `exp3_ix` bounds that.

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

    Source: Auer, Cesa-Bianchi, Freund, Schapire (2002), The nonstochastic multiarmed bandit problem, SIAM J. Comput.;
      Bubeck, Cesa-Bianchi (2012), Regret analysis of stochastic and nonstochastic multi-armed bandit problems, Thm 3.1.
    """
    num_arms = checks.integer("exp3", "num_arms", num_arms, 1)
    eta_at = learning_rate("exp3", num_arms, rate, horizon, eta)

    def probabilities(excess: Array, round: Array) -> Array:
        return exponential_weights(excess, eta_at(round))

    return regularized_leader("exp3", num_arms, probabilities)
