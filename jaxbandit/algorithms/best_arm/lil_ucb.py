"""lil'UCB (Jamieson, Malloy, Nowak and Bubeck 2014): optimism with a bound from the law of the iterated logarithm.

Difference from the first print: the + 2 inside the logarithm, as in later prints, keeps it positive at n_i = 1.
"""

import math
from typing import Literal, NamedTuple

import jax.numpy as jnp

from jaxbandit.base.arguments import Delta, SeveralArms, Sigma
from jaxbandit.base.contract import Algorithm, Arms, Promise, Rewards
from jaxbandit.base.declaration import declare
from jaxbandit.support.numerics import argmax, as_float, get_at, set_at
from jaxbandit.support.types import Array, Key
from jaxbandit.theory.estimators import counts as statistics
from jaxbandit.theory.estimators.counts import Counts

Variant = Literal["theory", "heuristic"]


class LilUCBState(NamedTuple):
    """Sufficient statistics, and the index of each arm, which changes only when the arm is pulled."""

    pulls: Array  # int32[], of all arms together
    arms: Counts
    upper: Array  # float[num_arms], the indices, inf before the first pull


@declare(question="confidence", rewards="sub-Gaussian, scale given", cost="O(K)", memory="O(K)")
def lil_ucb(
    num_arms: SeveralArms, *, variant: Variant = "theory", delta: Delta = 0.05, sigma: Sigma = 1.0
) -> Algorithm:
    """UCB that stops when one arm has most of the pulls, Jamieson et al. 2014.

    It pulls the arm with the largest mean_i + (1 + beta) (1 + sqrt(e)) sqrt(2 sigma^2 (1 + e) log(log((1 + e) n_i + 2)
    / d) / n_i), and stops when one arm has been pulled at least 1 + lambda times as often as all others together.

    Guarantee: None at these constants; a theorem holds for slightly larger ones (Jamieson et al. 2014).

    With e = 0.01, beta = 1 and d as in "theory", the theorem needs a lambda larger than ((2 + beta) / beta)^2 = 9 by a
    factor that tends to 1 as delta tends to 0. The "heuristic" of the same paper is far quicker and has no theorem.

    Args:
      variant: static. "theory" has e = 0.01, beta = 1, lambda = 9 and d = (sqrt(1 + delta) - 1)^2 / (4 c), where c = (2
        + e) / e (1 / log(1 + e))^(1 + e). "heuristic" has e = 0, beta = 1/2, lambda = 1 + 10 / num_arms and d = delta /
        5.

    Returns:
      An Algorithm with actions int32[] in [0, num_arms), rewards float[] and recommendations int32[1], the arm pulled
      most.

    Source:
      Jamieson, Malloy, Nowak and Bubeck (2014), lil' UCB: an optimal exploration algorithm for multi-armed bandits,
      COLT, Figure 1, Theorem 2 and Section 4.
    """
    e, beta, ratio = (0.01, 1.0, 9.0) if variant == "theory" else (0.0, 0.5, 1 + 10 / num_arms)

    def log_inverse() -> Array:
        """Return log(1 / d), float[]."""
        allowed = as_float(delta)
        if variant == "heuristic":
            return math.log(5) - jnp.log(allowed)
        log_c = math.log((2 + e) / e) - (1 + e) * math.log(math.log1p(e))
        root = allowed / (jnp.sqrt(1 + allowed) + 1)  # sqrt(1 + delta) - 1
        return math.log(4) + log_c - 2 * jnp.log(root)

    def init(key: Key) -> LilUCBState:
        arms = statistics.init(num_arms, from_first=True)
        return LilUCBState(jnp.zeros((), jnp.int32), arms, jnp.full(num_arms, jnp.inf))

    def select(noise: None, state: LilUCBState, context: None) -> Array:
        return argmax(state.upper)

    def update(state: LilUCBState, context: None, action: Array, reward: Array) -> LilUCBState:
        arms, n = statistics.update(state.arms, action, reward)
        level = jnp.log(jnp.log((1 + e) * n + 2)) + log_inverse()
        width = (1 + beta) * (1 + math.sqrt(e)) * as_float(sigma) * jnp.sqrt(2 * (1 + e) * level / n)
        upper = set_at(state.upper, action, get_at(arms.means, action) + width)
        return LilUCBState(state.pulls + 1, arms, upper)

    def stop(state: LilUCBState) -> Array:
        most = jnp.max(state.arms.counts)
        rules = as_float(most) >= 1 + ratio * as_float(state.pulls - most)
        return (state.pulls >= num_arms) & rules

    return Algorithm(
        init=init,
        select=select,
        update=update,
        pulls=lambda state: state.arms.counts,
        recommend=lambda state: argmax(state.arms.counts)[None],
        stop=stop,
        promise=Promise(delta, proved=False),
        arms=Arms(num_arms),
        rewards=Rewards(sigma=sigma),
    )
