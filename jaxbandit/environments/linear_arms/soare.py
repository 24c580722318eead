"""The hard linear instance of Soare, Lazaric and Munos (2014): the canonical basis and an arm at a small angle.

It is used as in Xu, Honda and Sugiyama (2018, LinGapE), Section 7.1.1.
"""

from typing import Annotated

import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from jaxbandit.base.arguments import Deviation
from jaxbandit.base.contract import Environment
from jaxbandit.base.declaration import declare
from jaxbandit.base.parameters import Arg
from jaxbandit.environments.linear_arms.linear import linear
from jaxbandit.support.domains import integer, number
from jaxbandit.support.numerics import as_float
from jaxbandit.support.types import ArrayLike, Scalar


@declare(settings=({"dim": 3, "angle": 0.1},))
def soare(
    dim: Annotated[int, Arg(integer(2))], angle: Annotated[Scalar, Arg(number(0, np.pi / 2))], *, sigma: Deviation = 1.0
) -> Environment:
    """The canonical basis and an arm at a small angle to the best one.

    Return the instance with arms e_1, ..., e_dim and cos(angle) e_1 + sin(angle) e_2, and theta = 2 e_1.

    To tell the two best arms apart, the suboptimal arm e_2 with mean 0 must be pulled.

    Args:
      dim: dimension. There are dim + 1 arms.
      angle: angle in radians. The gap between the two best arms is 2 (1 - cos(angle)).

    Returns:
      An Environment with actions int32[] in [0, dim] and rewards float[], as `linear`.

    Source:
      Soare, Lazaric and Munos (2014), Best-arm identification in linear bandits, NeurIPS.
    """
    return linear(*_instance(dim, angle), sigma=sigma)._replace(name="soare")


def _instance(dim: int, angle: Scalar) -> tuple[ArrayLike, np.ndarray]:
    return at_angle(np.eye(dim + 1, dim), dim, 1, angle), 2 * np.eye(dim)[0]


def at_angle(features: np.ndarray, row: int, axis: int, angle: Scalar) -> ArrayLike:
    """Return `features` with cos(angle) e_1 + sin(angle) e_(axis + 1) in `row`, which contains zeros before."""
    cosine, sine = np.zeros_like(features), np.zeros_like(features)
    cosine[row, 0], sine[row, axis] = 1.0, 1.0
    if isinstance(angle, Tracer):
        w = as_float(angle)
        fixed, cosine, sine = (as_float(jnp.asarray(part)) for part in (features, cosine, sine))
        return fixed + jnp.cos(w) * cosine + jnp.sin(w) * sine
    w = float(angle)  # in float64 whatever the precision of the scope
    return features + np.cos(w) * cosine + np.sin(w) * sine
