"""Gaussian arms whose means jump at known rounds; the standard deviation is constant."""

from jaxbandit.base.arguments import Deviation, Starts
from jaxbandit.base.contract import Environment, Rewards
from jaxbandit.base.declaration import declare
from jaxbandit.environments.non_stationary.piecewise import piecewise, segments
from jaxbandit.support.numerics import as_float, standard_normal
from jaxbandit.support.types import ArrayLike
from jaxbandit.theory import bounds  # its names are imported when they are called


@declare(
    concrete=("means",), settings=({"means": ((0.2, 0.5, 0.6), (0.6, 0.5, 0.2)), "starts": (0, 10), "sigma": 0.5},)
)
def piecewise_gaussian(means: ArrayLike, starts: Starts, *, sigma: Deviation = 1.0) -> Environment:
    """Normal rewards, means that jump at given rounds.

    The schedule and the dynamic regret are as for `piecewise_bernoulli`.

    Args:
      means: float[segments, num_arms], finite, one row per segment; traced.

    Returns:
      An Environment with actions int32[] in [0, num_arms) and rewards float[] on the real line.

    Raises:
      ValueError: means is not a matrix of finite numbers, starts does not increase from 0 with one entry per row, or
        sigma is not a finite number above 0.
    """
    table = segments(means, starts)
    return piecewise(
        table,
        starts,
        noise=standard_normal,
        reward=lambda mean, noise: mean + as_float(sigma) * noise,
        rewards=Rewards(sigma=sigma, family="gaussian"),
        regret_constant=lambda row: bounds.gaussian_regret_constant(row, sigma),
    )._replace(known=lambda: {"sigma": sigma})
