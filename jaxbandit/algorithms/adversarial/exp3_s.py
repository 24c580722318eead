"""EXP3.S: Auer, Cesa-Bianchi, Freund and Schapire (2002), Figure 4: EXP3 for a best arm that changes."""

import math
from typing import NamedTuple

import jax.numpy as jnp

from jaxbandit.algorithms.adversarial.drawing import draw, draw_noise
from jaxbandit.base.arguments import Horizon, NumArms, PositiveUnit, Whole
from jaxbandit.base.contract import Algorithm, Arms, Choice, Rewards
from jaxbandit.base.declaration import declare
from jaxbandit.support.numerics import add_at, argmax, as_float, get_at, set_at
from jaxbandit.support.types import Array, Key


class Exp3SState(NamedTuple):
    """The weights of the arms."""

    counts: Array  # int32[num_arms]
    weights: Array  # float[num_arms], their sum is 1


@declare(
    question="regret",
    setting="adversarial",
    rewards="in [0, 1]",
    cost="O(K)",
    memory="O(K)",
    tries={"alpha": (0.01, 0.1), "gamma": (0.1, 0.5)},
    settings=({"horizon": 60},),
)
def exp3_s(
    num_arms: NumArms,
    *,
    horizon: Horizon,
    num_changes: Whole = 1,
    alpha: PositiveUnit | None = None,
    gamma: PositiveUnit | None = None,
) -> Algorithm:
    """EXP3 for a best arm that changes, Auer et al. 2002.

    Return EXP3.S. Round t draws arm a with probability (1 - gamma) w_a + gamma / K, where the weights w sum to 1. The
    weight of the drawn arm is multiplied by exp(gamma x / K), where x is the reward divided by its probability. Then
    every arm receives the fraction e alpha / K of the total weight.

    Guarantee: Expected regret O(sqrt(K T Y log(K T))) against every sequence of arms with at most Y changes, for known
    T and Y >= 1 and losses fixed in advance (Auer et al. 2002).

    In detail, it is at most 2 sqrt(e - 1) sqrt(K T ((Y + 1) log(K T) + e)), with the defaults for these T and Y.

    Args:
      horizon: number of rounds T that the defaults below are tuned for.
      num_changes: expected number Y of changes of the best arm. Only the default gamma uses it.
      alpha: the fraction e alpha of the total weight is distributed among all arms after each round; None means 1 / T.
      gamma: probability of a uniformly random arm; None means min(1, sqrt(K ((Y + 1) log(K T) + e) / ((e - 1) T))).

    Returns:
      It recommends the arm with the largest weight.

    Source:
      Auer, Cesa-Bianchi, Freund and Schapire (2002), The nonstochastic multiarmed bandit problem, SIAM J. Comput. 32,
      Figure 4 and Corollary 8.3.
    """
    level = (num_changes + 1) * math.log(num_arms * horizon) + math.e
    share = 1 / horizon if alpha is None else alpha
    mixed = min(1.0, math.sqrt(num_arms * level / ((math.e - 1) * horizon))) if gamma is None else gamma

    def init(key: Key) -> Exp3SState:
        return Exp3SState(jnp.zeros(num_arms, jnp.int32), jnp.ones(num_arms) / num_arms)

    def select(noise: Array, state: Exp3SState, context: None) -> Choice:
        gamma = as_float(mixed)
        p = (1 - gamma) * state.weights + gamma / num_arms
        arm = draw(noise, p)
        return Choice(arm, get_at(p, arm))

    def update(state: Exp3SState, context: None, choice: Choice, reward: Array) -> Exp3SState:
        arm, probability = choice
        grown = get_at(state.weights, arm) * jnp.exp(as_float(mixed) * reward / (num_arms * probability))
        weights = set_at(state.weights, arm, grown) + as_float(share) * (math.e / num_arms)
        counts = add_at(state.counts, arm, 1)
        return Exp3SState(counts, weights / jnp.sum(weights))

    return Algorithm(
        init=init,
        select=select,
        update=update,
        pulls=lambda state: state.counts,
        recommend=lambda state: argmax(state.weights),
        noise=draw_noise,
        arms=Arms(num_arms),
        rewards=Rewards(0.0, 1.0),
    )
