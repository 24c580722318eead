"""kl-UCB (Garivier and Cappe 2011, Algorithm 1): the index inverts the Bernoulli divergence kl.

The inversion takes a fixed number of steps (solvers/kl.py). The index is within 5e-7 of the exact solution, and never
below it by more than 1e-7.
"""

from jaxbandit.algorithms.regret.index_policy import IndexState, divergence_budget, index_policy
from jaxbandit.base import checks
from jaxbandit.base.contract import Algorithm, Rewards
from jaxbandit.base.declaration import declare
from jaxbandit.base.types import Array, Scalar
from jaxbandit.theory.solvers.kl import kl_upper


@declare(
    question="regret",
    setting="arms",
    rewards="in [0, 1]",
    cost="O(K), one numerical inversion of kl an arm",
    memory="O(K)",
    tries={"c": (0.0, 3.0)},
)
def kl_ucb(num_arms: int, *, c: Scalar = 0.0) -> Algorithm:
    """UCB with the Bernoulli relative entropy, Garivier and Cappe 2011.

    Return kl-UCB: the index of arm a is the largest q with kl(mean_a, q) <= (log t + c log log t) / N_a.

    kl(p, q) is the divergence between Bernoulli distributions with means p and q. Each arm is pulled once first, and
    ties go to the lowest-numbered arm.

    Guarantee: With c = 3, asymptotically optimal for Bernoulli rewards, and logarithmic regret for all rewards in [0,
    1] (Garivier and Cappe 2011); the default c = 0, recommended in practice, is not covered.

    In detail, with c = 3, for rewards in [0, 1] the expected pulls of a suboptimal arm a are at most log(T) / kl(mu_a,
    mu_best) to first order. For Bernoulli rewards this matches the lower bound of Lai and Robbins.

    Args:
      num_arms: number of arms, an integer >= 1; static.
      c: weight of log log t, >= 0 (the theorem uses 3, and 0 is recommended in practice); traced.

    Returns:
      An Algorithm with actions int32[] in [0, num_arms) and rewards float[] in [0, 1].

    Raises:
      ValueError: num_arms or c is out of range.

    Source:
      Garivier and Cappe (2011), The KL-UCB algorithm for bounded stochastic bandits and beyond, COLT, Algorithm 1 and
      Theorem 1.
    """
    checks.number("kl_ucb", "c", c, low=0.0)

    def index(state: IndexState) -> Array:
        return kl_upper(state.means, divergence_budget(state, c))

    return index_policy("kl_ucb", num_arms, index, rewards=Rewards(0.0, 1.0))
