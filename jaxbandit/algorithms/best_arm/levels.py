"""Levels for the confidence intervals of single arms: n_i d(mean_i, mu_i) <= level for all arms i at all times.

Each proved level holds for one arm with error probability delta / K, whichever rule chooses the pulls; a union bound
over the K arms gives delta.
"""

import math
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import jax.numpy as jnp

from jaxbandit.algorithms.best_arm.thresholds import FAMILY_OF, default_threshold
from jaxbandit.support import checks, numerics
from jaxbandit.support.numerics import as_float
from jaxbandit.support.types import Array, Scalar
from jaxbandit.theory.solvers import deviations
from jaxbandit.theory.solvers.families import Family

LevelName = Literal["heuristic", "theory", "kk", "gauss", "kt"]
_NAMES = ("heuristic", "theory", "kk", "gauss", "kt")


class ArmLevel(NamedTuple):
    """An upper bound on n d(mean, mu), and whether it is proved."""

    level: Callable[[Array, Array], Array]  # (n, t), pulls of the arm (>= 1) and of all arms -> float[...]
    proved: bool


def arm_level(
    name: LevelName | None, num_arms: int, delta: Scalar, family: Family, theory: Callable[[Array, Array, Array], Array]
) -> ArmLevel:
    """Return a level by its name, or the smallest proved one of the family.

    "heuristic", log((1 + log t) / delta), is common in experiments but has no proof. "theory" is the level of the
    algorithm's own paper. "kk", proved for every family, is 2 h~((log(K / delta) + log(2 zeta(2))) / 2) + 3 log(1 + log
    n). "gauss", proved for sub-Gaussian rewards with known sigma, is C_G(log(K / delta)) + 2 log(4 + log n). "kt",
    proved for rewards in [0, 1] by the Krichevsky-Trofimov mixture, is log(2 K / delta) + log(n) / 2, the smallest
    proved one for Bernoulli rewards.

    Args:
      delta: allowed error probability; traced. If it is concrete, what depends on it alone is computed in float64.
      theory: function from log(K / delta), n and t to the proved level of the algorithm's paper.

    Source:
      Kaufmann and Koolen (2021), Mixture martingales revisited, JMLR, equation (9) and Corollary 10; Krichevsky and
      Trofimov (1981), The performance of universal encoding, IEEE Transactions on Information Theory.
    """
    chosen = name or default_threshold(family.name)
    allowed = [x for x in _NAMES if FAMILY_OF.get(x, family.name) == family.name]
    if chosen not in allowed:
        raise ValueError(f"threshold = {chosen!r}, must be one of {', '.join(allowed)} with family = {family.name!r}")
    log_rest = -jnp.log(as_float(delta)) if checks.is_traced(delta) else -math.log(float(delta))  # pyright: ignore[reportArgumentType]
    log_union: Any = math.log(num_arms) + log_rest
    if chosen == "heuristic":
        return ArmLevel(lambda n, t: numerics.log(1 + _log(t)) + as_float(log_rest), False)
    if chosen == "theory":
        return ArmLevel(lambda n, t: theory(as_float(log_union), n, t), True)
    if chosen == "kk":
        constant = 2 * deviations.h_tilde((log_union + deviations.LOG_2_ZETA_2) / 2)
        return ArmLevel(lambda n, t: as_float(constant) + 3 * numerics.log(1 + _log(n)), True)
    if chosen == "gauss":
        constant = deviations.C_G(log_union)
        return ArmLevel(lambda n, t: as_float(constant) + 2 * numerics.log(4 + _log(n)), True)
    return ArmLevel(lambda n, t: math.log(2) + as_float(log_union) + _log(n) / 2, True)


def _log(x: Array) -> Array:
    return numerics.log(as_float(x))
