"""Random linear instances with Gaussian features: Reda, Kaufmann and Delahaye-Duriez (2021), Sections 4.4 and A.2.

The paper normalizes each arm; the authors' code divides the whole matrix by its spectral norm. The variance D of the
paper's entries cancels, and is not an argument.
"""

from typing import Literal

import numpy as np

from jaxbandit.base.arguments import Deviation, Dim, NumArms, Seed
from jaxbandit.base.contract import Environment
from jaxbandit.base.declaration import declare
from jaxbandit.environments.linear_arms.linear import linear


@declare(settings=({"num_arms": 3, "dim": 2},))
def linear_random(
    num_arms: NumArms,
    dim: Dim,
    *,
    instance_seed: Seed = 0,
    normalization: Literal["arm", "spectral"] = "arm",
    sigma: Deviation = 0.5,
) -> Environment:
    """Linear arms with random features of norm 1.

    Return the random linear instance number `instance_seed` with theta = e_1, the same for all runs and seeds.

    Args:
      num_arms: number of arms. The paper's m is floor(num_arms / 3) + 1 (its Table 4; A.2 prints K / 3).
      normalization: "arm" gives every row of the features norm 1; "spectral" gives the matrix spectral norm 1.

    Returns:
      An Environment with actions int32[] in [0, num_arms) and rewards float[], as `linear`.

    Source:
      Reda, Kaufmann and Delahaye-Duriez (2021), Top-m identification for linear bandits, AISTATS, Sections 4.4 and A.2.
    """
    instance = _instance(num_arms, dim, instance_seed, normalization)
    return linear(*instance, sigma=sigma)._replace(name="linear_random")


def _instance(
    num_arms: int, dim: int, instance_seed: int, normalization: Literal["arm", "spectral"]
) -> tuple[np.ndarray, np.ndarray]:
    drawn = np.random.default_rng(instance_seed).standard_normal((num_arms, dim))
    rows = normalization == "arm"
    features = drawn / (np.linalg.norm(drawn, axis=1, keepdims=True) if rows else np.linalg.norm(drawn, 2))
    return features, np.eye(dim)[0]
