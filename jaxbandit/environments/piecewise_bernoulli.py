"""Bernoulli arms whose means jump at known rounds: between two changes each is a coin."""

from collections.abc import Sequence
from typing import Any

import jax

from jaxbandit.base import Environment, Rewards
from jaxbandit.environments.piecewise import piecewise, segments
from jaxbandit.numerics import as_float
from jaxbandit.types import ArrayLike


def piecewise_bernoulli(means: ArrayLike, starts: Sequence[int]) -> Environment:
    """Return the K-armed Bernoulli bandit whose means change at given rounds.

    The means do not depend on what is played: the world is oblivious, and all runs share its schedule. Its regret is
    dynamic: the gap of an action is that to the best arm of the round in which it is played.

    Args:
      means: float[segments, num_arms] in [0, 1], a row a segment, traced.
      starts: rounds played before each segment begins, increasing, starts[0] = 0, static: the round with number t,
        from 1, lies in the last segment v with starts[v] < t. Segments that begin beyond the horizon never happen.

    Returns:
      An Environment with actions int32[] in [0, num_arms) and rewards float[] in {0, 1}.

    Raises:
      ValueError: means is no matrix within [0, 1], or starts is not increasing from 0, one entry a row.

    Source: Garivier and Moulines, On upper-confidence bound policies for switching bandit problems (2011), Section 2.
    """
    table, first = segments("piecewise_bernoulli", means, starts, low=0.0, high=1.0)
    return piecewise(
        "piecewise_bernoulli",
        table,
        first,
        noise=jax.random.uniform,
        reward=lambda mean, noise: as_float(noise < mean),
        rewards=Rewards(0.0, 1.0, sigma=0.5, family="bernoulli"),
    )


def describe_piecewise_bernoulli(means: ArrayLike, starts: Sequence[int]) -> dict[str, Any]:
    """Return what an oracle may know of `piecewise_bernoulli`: the rounds at which its segments begin."""
    return {"starts": tuple(starts)}
