"""Follow the regularized leader on estimated losses: the common frame of EXP3, EXP3-IX and Tsallis-INF.

A round draws an arm from probabilities that depend on the sums of estimated losses, which are unbiased: the loss of the
drawn arm, 1 minus its reward, divided by its probability.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp

from jaxbandit.algorithms.adversarial.drawing import draw, draw_noise
from jaxbandit.base.contract import Algorithm, Arms, Choice, Rewards
from jaxbandit.support.numerics import add_at, argmax, as_float, get_at, set_at
from jaxbandit.support.types import Array, Key
from jaxbandit.theory.estimators import loss_sums
from jaxbandit.theory.estimators.loss_sums import LossSums, above_least

LEAST = 1e-30  # smallest divisor of a loss; an arm with a smaller probability is never drawn


class LeaderState(NamedTuple):
    """Pull counts and the estimated losses of the arms."""

    round: Array  # int32[], the round about to be played, from 1
    counts: Array  # int32[num_arms]
    losses: LossSums  # its leaves are float[num_arms]


class Drawn(NamedTuple):
    """What a loss estimate needs to know about the round in which the arm was drawn."""

    divisor: Array  # float[], the arm's probability, plus the term of implicit exploration
    baseline: Array | None  # float[num_arms], the presumed loss of each arm; None means 0


def regularized_leader(
    num_arms: int,
    probabilities: Callable[[Array, Array], Array],
    *,
    implicit: Callable[[Array], Array] | None = None,
    baseline: Callable[[Array, Array], Array] | None = None,
) -> Algorithm:
    """Return the policy of a distribution over arms that depends on estimated losses.

    Args:
      probabilities: function from the estimated losses minus their minimum, float[num_arms] >= 0, and the round to the
        probabilities, float[num_arms].
      implicit: function from the round to what is added to the probability by which a loss is divided; None adds
        nothing.
      baseline: function from the probabilities and the round to presumed losses, float[num_arms] in [0, 1]; only the
        difference of a loss from its baseline is divided by the probability. None means 0.
    """

    def init(key: Key) -> LeaderState:
        return LeaderState(jnp.ones((), jnp.int32), jnp.zeros(num_arms, jnp.int32), loss_sums.init(num_arms))

    def select(noise: Array, state: LeaderState, context: None) -> Choice:
        p = probabilities(above_least(state.losses), as_float(state.round))
        arm = draw(noise, p)
        divisor = get_at(p, arm)
        if implicit is not None:
            divisor = divisor + implicit(as_float(state.round))
        taken = None if baseline is None else baseline(p, as_float(state.round))
        return Choice(arm, Drawn(jnp.maximum(divisor, LEAST), taken))

    def update(state: LeaderState, context: None, choice: Choice, reward: Array) -> LeaderState:
        arm, (divisor, taken) = choice
        if taken is None:
            estimates = set_at(jnp.zeros(num_arms), arm, (1 - reward) / divisor)
        else:
            own = get_at(taken, arm)
            estimates = set_at(taken, arm, own + (1 - reward - own) / divisor)
        counts = add_at(state.counts, arm, 1)
        return LeaderState(state.round + 1, counts, loss_sums.add(state.losses, estimates))

    return Algorithm(
        init=init,
        select=select,
        update=update,
        pulls=lambda state: state.counts,
        recommend=lambda state: argmax(-above_least(state.losses)),
        noise=draw_noise,
        arms=Arms(num_arms),
        rewards=Rewards(0.0, 1.0),
    )
