"""EXP3-IX: Neu (2015), Algorithm 1: exponential weights with implicit exploration.

A loss is divided by the probability of its arm plus gamma_t = eta_t / 2. The estimates are then biased downward and
have bounded variance, so the regret is bounded with high probability and not only in expectation.
"""

from jaxbandit.algorithms.adversarial.exponential_weights import Rate, exponential_weights, learning_rate
from jaxbandit.algorithms.adversarial.regularized_leader import regularized_leader
from jaxbandit.base.arguments import Horizon, NumArms, Positive
from jaxbandit.base.contract import Algorithm
from jaxbandit.base.declaration import declare
from jaxbandit.support.types import Array


@declare(
    question="regret", setting="adversarial", rewards="in [0, 1]", cost="O(K)", memory="O(K)", tries={"eta": (0.5, 2.0)}
)
def exp3_ix(
    num_arms: NumArms, *, rate: Rate = "anytime", horizon: Horizon | None = None, eta: Positive | None = None
) -> Algorithm:
    """EXP3 with implicit exploration, Neu 2015.

    Return EXP3-IX. Round t draws arm a with probability p_a proportional to exp(-eta_t L_a). The loss of the drawn arm,
    1 minus the reward, enters the sum L_a of its estimated losses divided by p_a + eta_t / 2 instead of p_a.

    Guarantee: With probability 1 - delta, regret O(sqrt(K T log K) + sqrt(K T / log K) log(1 / delta)) against the best
    fixed arm, for losses fixed in advance (Neu 2015).

    Args:
      rate: "anytime" uses eta / sqrt(t) in round t; "fixed" uses eta in every round. Static.
      horizon: number of rounds T. Only the default eta of the fixed rate uses it.
      eta: constant of the learning rate; None means sqrt(log K / K) for "anytime" and sqrt(2 log K / (T K)) for
        "fixed".

    Returns:
      It recommends the arm with the smallest estimated loss, which is the most likely one.

    Raises:
      ValueError: the fixed rate has neither horizon nor eta.

    Source:
      Neu (2015), Explore no more: improved high-probability regret bounds for non-stochastic bandits, NeurIPS,
      Algorithm 1.
    """
    eta_at = learning_rate(num_arms, rate, horizon, eta)

    def probabilities(excess: Array, round: Array) -> Array:
        return exponential_weights(excess, eta_at(round))

    return regularized_leader(num_arms, probabilities, implicit=lambda round: eta_at(round) / 2)
