"""Bernoulli arms whose means jump at known rounds and are constant in between."""

import jax

from jaxbandit.base.arguments import Starts
from jaxbandit.base.contract import Environment, Rewards
from jaxbandit.base.declaration import declare
from jaxbandit.environments.non_stationary.piecewise import piecewise, segments
from jaxbandit.support.numerics import as_float
from jaxbandit.support.types import ArrayLike
from jaxbandit.theory import bounds  # its names are imported when they are called


@declare(concrete=("means",), settings=({"means": ((0.2, 0.5, 0.6), (0.6, 0.5, 0.2)), "starts": (0, 10)},))
def piecewise_bernoulli(means: ArrayLike, starts: Starts) -> Environment:
    """Rewards 0 or 1, means that jump at given rounds.

    All runs share the schedule, whatever the actions. The regret is dynamic: the gap of an action is relative to the
    best arm of the round in which it is played.

    Args:
      means: float[segments, num_arms] in [0, 1], one row per segment; traced.
      starts: number of rounds before each segment, increasing from 0; static. Round t, counted from 1, is
        in the last segment v with starts[v] < t. Segments that begin after the horizon are not reached.

    Returns:
      An Environment with actions int32[] in [0, num_arms) and rewards float[] in {0, 1}.

    Raises:
      ValueError: means is not a matrix within [0, 1], or starts does not increase from 0 with one entry per row.

    Source:
      Garivier and Moulines (2011), On upper-confidence bound policies for switching bandit problems, ALT, Section 2.
    """
    table = segments(means, starts, low=0.0, high=1.0)
    return piecewise(
        table,
        starts,
        noise=jax.random.uniform,
        reward=lambda mean, noise: as_float(noise < mean),
        rewards=Rewards(0.0, 1.0, sigma=0.5, family="bernoulli"),
        regret_constant=lambda row: bounds.bernoulli_regret_constant(row),
    )
