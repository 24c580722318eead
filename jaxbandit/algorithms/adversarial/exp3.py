"""EXP3: Auer, Cesa-Bianchi, Freund and Schapire (2002), in the form of Bubeck and Cesa-Bianchi (2012), Figure 3.1.

Differences from Auer et al.: losses in place of rewards, and no uniform exploration, which the bound does not need.
"""

from jaxbandit.algorithms.adversarial.exponential_weights import Rate, exponential_weights, learning_rate
from jaxbandit.algorithms.adversarial.regularized_leader import regularized_leader
from jaxbandit.base.arguments import Horizon, NumArms, Positive
from jaxbandit.base.contract import Algorithm
from jaxbandit.base.declaration import declare
from jaxbandit.support.types import Array


@declare(
    question="regret",
    setting="adversarial",
    rewards="in [0, 1]",
    cost="O(K)",
    memory="O(K)",
    tries={"eta": (0.5, 2.0)},
    settings=({}, {"rate": "fixed"}),
)
def exp3(
    num_arms: NumArms, *, rate: Rate = "anytime", horizon: Horizon | None = None, eta: Positive | None = None
) -> Algorithm:
    """Exponential weights on estimated losses, Auer et al. 2002.

    Return EXP3. Round t draws arm a with probability p_a proportional to exp(-eta_t L_a). L_a is the sum of the arm's
    estimated losses: the observed loss, 1 minus the reward, divided by p_a in rounds that draw the arm, and 0 in all
    others.

    Guarantee: Expected regret of at most 2 sqrt(T K log K) against the best fixed arm, for every T and losses fixed in
    advance (Bubeck and Cesa-Bianchi 2012).

    In detail, with the default eta the expected regret for rewards in [0, 1] is at most sqrt(2 T K log K) with the
    fixed rate for T, and 2 sqrt(T K log K) with the anytime rate. That of a single run may be far larger; see
    `exp3_ix`.

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
      Auer, Cesa-Bianchi, Freund and Schapire (2002), The nonstochastic multiarmed bandit problem, SIAM J. Comput. 32;
      Bubeck and Cesa-Bianchi (2012), Regret analysis of stochastic and nonstochastic multi-armed bandit problems,
      Foundations and Trends in Machine Learning 5, Figure 3.1 and Theorem 3.1.
    """
    eta_at = learning_rate(num_arms, rate, horizon, eta)

    def probabilities(excess: Array, round: Array) -> Array:
        return exponential_weights(excess, eta_at(round))

    return regularized_leader(num_arms, probabilities)
