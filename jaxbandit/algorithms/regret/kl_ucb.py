"""kl-UCB (Garivier, Cappe 2011, Algorithm 1): the index inverts the Bernoulli divergence kl.

The inversion takes a fixed number of steps (solvers/kl.py): within 5e-7, and never below by more than 1e-7.
"""

from jaxbandit import checks
from jaxbandit.algorithms.regret.index_policy import IndexState, divergence_budget, index_policy
from jaxbandit.base import Algorithm, Rewards
from jaxbandit.solvers.kl import kl_upper
from jaxbandit.types import Array, Scalar


def kl_ucb(num_arms: int, *, c: Scalar = 0.0) -> Algorithm:
    """Return kl-UCB: the index of arm a is the largest q with kl(mean_a, q) <= (log t + c log log t) / N_a.

    Args:
      num_arms: number of arms, at least 1; static.
      c: weight of log log t, at least 0 (the theorem uses 3; 0 is best in practice); traced.

    Returns:
      An Algorithm with actions int32[] in [0, num_arms) and rewards float[] in [0, 1].

    Raises:
      ValueError: num_arms or c is out of range.

    Source: Garivier, Cappe (2011), The KL-UCB algorithm for bounded stochastic bandits and beyond.
    """
    checks.number("kl_ucb", "c", c, low=0.0)

    def index(state: IndexState) -> Array:
        return kl_upper(state.means, divergence_budget(state, c))

    return index_policy("kl_ucb", num_arms, index, rewards=Rewards(0.0, 1.0))
