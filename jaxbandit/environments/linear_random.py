"""Random linear instances of Reda, Kaufmann and Delahaye-Duriez 2021 (Top-m), Sections 4.4 and A.2: Gaussian features.

The paper draws entries of variance D and normalises each arm: the law does not depend on D, which is no argument here.
The authors' code divides the whole matrix by its spectral norm instead; D cancels again. Both are offered.
"""

from typing import Any, Literal

import numpy as np

from jaxbandit import checks
from jaxbandit.base import Environment
from jaxbandit.environments.linear import describe_linear, linear
from jaxbandit.types import Scalar


def linear_random(
    num_arms: int,
    dim: int,
    *,
    instance_seed: int = 0,
    normalization: Literal["arm", "spectral"] = "arm",
    sigma: Scalar = 0.5,
) -> Environment:
    """Return the instance number `instance_seed`, theta = e_1: the same one for all runs and seeds of an experiment.

    Args:
      num_arms: number of arms, >= 1, static. The paper's m is floor(num_arms / 3) + 1 (its Table 4; A.2 prints K / 3).
      dim: dimension, >= 1, static.
      instance_seed: number of the instance, >= 0, static.
      normalization: "arm": every row of the features has norm 1. "spectral": their matrix has spectral norm 1. Static.
      sigma: standard deviation of the Gaussian noise, > 0, traced.

    Returns:
      An Environment with actions int32[] in [0, num_arms) and rewards float[], as `linear`.

    Raises:
      ValueError: an argument is not in the range above.
    """
    instance = _instance(num_arms, dim, instance_seed, normalization)
    return linear(*instance, sigma=sigma)._replace(name="linear_random")


def describe_linear_random(
    num_arms: int,
    dim: int,
    *,
    instance_seed: int = 0,
    normalization: Literal["arm", "spectral"] = "arm",
    sigma: Scalar = 0.5,
) -> dict[str, Any]:
    """Return what an algorithm may know of `linear_random`, and theta; keys as in `describe_linear`."""
    return describe_linear(*_instance(num_arms, dim, instance_seed, normalization), sigma=sigma)


def _instance(
    num_arms: int, dim: int, instance_seed: int, normalization: Literal["arm", "spectral"]
) -> tuple[Any, Any]:
    num_arms = checks.integer("linear_random", "num_arms", num_arms, 1)
    dim = checks.integer("linear_random", "dim", dim, 1)
    seed = checks.integer("linear_random", "instance_seed", instance_seed, 0)
    checks.choice("linear_random", "normalization", normalization, ("arm", "spectral"))
    drawn = np.random.default_rng(seed).standard_normal((num_arms, dim))
    rows = normalization == "arm"
    features = drawn / (np.linalg.norm(drawn, axis=1, keepdims=True) if rows else np.linalg.norm(drawn, 2))
    return features, np.eye(dim)[0]
