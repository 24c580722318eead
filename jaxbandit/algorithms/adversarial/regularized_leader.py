"""Follow the regularized leader on estimated losses: what EXP3, EXP3-IX and Tsallis-INF share.

A round draws an arm from probabilities that depend on the sums of estimated losses; the loss of the drawn arm, 1 less
its reward, enters the sums divided by its probability, so that the estimates are unbiased.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp

from jaxbandit.algorithms.adversarial.drawing import draw, draw_noise
from jaxbandit.base import Algorithm, Arms, Choice, Rewards
from jaxbandit.estimators import loss_sums
from jaxbandit.estimators.loss_sums import LossSums, above_least
from jaxbandit.numerics import argmax, as_float, get_at, set_at
from jaxbandit.types import Array, Key

LEAST = 1e-30  # least divisor of a loss: an arm of less probability is never drawn


class LeaderState(NamedTuple):
    """Estimated losses of each arm."""

    round: Array  # int32[], the round about to be played, from 1
    counts: Array  # int32[num_arms]
    losses: LossSums  # of float[num_arms] each


class Drawn(NamedTuple):
    """What the estimate of a loss needs of the round in which the arm was drawn, whenever the loss is known."""

    divisor: Array  # float[], the arm's probability, with what implicit exploration adds
    baseline: Any  # float[num_arms], what each arm's loss is taken to be before it is seen; None: 0


def regularized_leader(
    name: str,
    num_arms: int,
    probabilities: Callable[[Array, Array], Array],
    *,
    implicit: Callable[[Array], Array] | None = None,
    baseline: Callable[[Array, Array], Array] | None = None,
) -> Algorithm:
    """Return the policy of a distribution over arms.

    Args:
      name: of the algorithm.
      num_arms: number of arms.
      probabilities: float[num_arms] from the estimated losses less their least, float[num_arms] >= 0, and the round.
      implicit: what is added to the probability that a loss is divided by, from the round; None: nothing.
      baseline: float[num_arms] in [0, 1] from the probabilities and the round: only a loss's difference from it is
        divided by the probability. None: 0.
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
        counts = set_at(state.counts, arm, get_at(state.counts, arm) + 1)
        return LeaderState(state.round + 1, counts, loss_sums.added(state.losses, estimates))

    return Algorithm(
        init=init,
        select=select,
        update=update,
        pulls=lambda state: state.counts,
        recommend=lambda state: argmax(-above_least(state.losses)),
        noise=draw_noise,
        arms=Arms(num_arms),
        rewards=Rewards(0.0, 1.0),
        name=name,
    )
