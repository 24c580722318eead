"""The classic Top-m instance of Reda, Kaufmann and Delahaye-Duriez (2021), Section 5."""

from typing import Annotated

import numpy as np

from jaxbandit.base.arguments import Deviation
from jaxbandit.base.contract import Environment
from jaxbandit.base.declaration import declare
from jaxbandit.base.parameters import Arg
from jaxbandit.environments.linear_arms.linear import linear
from jaxbandit.environments.linear_arms.linear_truth import linear_known
from jaxbandit.environments.linear_arms.soare import at_angle
from jaxbandit.support.domains import integer, number
from jaxbandit.support.types import ArrayLike, Scalar


@declare(settings=({"num_arms": 3, "m": 1, "angle": 0.1},))
def top_m_classic(
    num_arms: Annotated[int, Arg(integer(3), "number of arms")],
    m: Annotated[int, Arg(lambda given: integer(1, given["num_arms"] - 2), within="an integer in [1, num_arms - 2]")],
    angle: Annotated[Scalar, Arg(number(0, np.pi / 2))],
    *,
    sigma: Deviation = 0.5,
) -> Environment:
    """The instance of soare for the m best arms.

    Return the instance in dimension d = num_arms - 1 with theta = e_1. The arms are e_1; e_1 + e_a for a = 2, ..., m;
    cos(angle) e_1 + sin(angle) e_(m+1); and e_(m+1), ..., e_d. The m best arms have mean 1, the next one cos(angle),
    and the others 0.

    Args:
      m: number of best arms.
      angle: angle in radians. The m-th mean and the next differ by 1 - cos(angle).

    Returns:
      An Environment with actions int32[] in [0, num_arms) and rewards float[], as `linear`.

    Source:
      Reda, Kaufmann and Delahaye-Duriez (2021), Top-m identification for linear bandits, AISTATS, Section 5.
    """
    features, theta = _instance(num_arms, m, angle)
    return linear(features, theta, sigma=sigma)._replace(
        known=lambda: {**linear_known(features, theta, sigma), "m": m}, name="top_m_classic"
    )


def _instance(num_arms: int, m: int, angle: Scalar) -> tuple[ArrayLike, np.ndarray]:
    basis = np.eye(num_arms - 1)
    best = basis[:m].copy()
    best[1:] += basis[0]
    features = np.concatenate([best, np.zeros_like(basis[:1]), basis[m:]])
    return at_angle(features, m, m, angle), basis[0]
