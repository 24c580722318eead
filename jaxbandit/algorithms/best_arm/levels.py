"""Levels of the intervals of single arms: all arms' means mu_i keep n_i d(mean_i, mu_i) <= level at all times.

Rules that stop or drop once intervals are disjoint need no more: a wrong answer takes one mean outside its interval.
Each level below is one arm's at delta / K, and a union over the K arms gives delta. It bounds the sequence of an arm's
own rewards, so that the rule which chooses the pulls does not matter.
"""

import math
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import jax.numpy as jnp

from jaxbandit import checks, numerics
from jaxbandit.numerics import as_float
from jaxbandit.solvers import deviations
from jaxbandit.solvers.families import Family
from jaxbandit.types import Array, Scalar

LevelName = Literal["heuristic", "theory", "kk", "gauss", "kt"]
_NAMES = ("heuristic", "theory", "kk", "gauss", "kt")
_FAMILY_OF = {"gauss": "gaussian", "kt": "bernoulli"}  # levels of one family only


class ArmLevel(NamedTuple):
    """What n d(mean, mu) does not exceed, and whether that is proved."""

    level: Callable[[Array, Array], Array]  # (n, t), pulls of the arm, >= 1, and of all arms -> float[...]
    proved: bool


def arm_level(
    name: LevelName,
    num_arms: int,
    delta: Scalar,
    family: Family,
    theory: Callable[[Any, Array, Array], Array],
    *,
    where: str,
) -> ArmLevel:
    """Return a level by its name.

    `heuristic`, log((1 + log t) / delta), is what experiments take and nobody has proved. `theory` is that of the
    rule's own paper. `kk`, proved for every family, is 2 h~((log(K / delta) + log(2 zeta(2))) / 2) + 3 log(1 + log n).
    `gauss`, proved for sub-Gaussian rewards whose sigma is known, is C_G(log(K / delta)) + 2 log(4 + log n). `kt`,
    proved for rewards in [0, 1], is log(2 K / delta) + log(n) / 2: n d(mean, mu) is at most log(2 sqrt(n)) plus the
    logarithm of the mixture of likelihood ratios by Krichevsky and Trofimov, a supermartingale from 1 (Ville). It is
    the least of the proved ones for Bernoulli rewards.

    Args:
      name: "heuristic", "theory", "kk", "gauss" (of the family gaussian only) or "kt" (of bernoulli only); static.
      num_arms: K >= 2, static.
      delta: allowed error rate, in (0, 1), traced. What depends on it alone is computed in float64 if it is concrete.
      family: of the rewards.
      theory: of log(K / delta), n and t, the proved level of the rule's paper.
      where: who refuses.

    Raises:
      ValueError: an argument is out of range, or the level is not one of the family.

    Source: Kaufmann, Koolen (2021), Mixture martingales revisited, JMLR, equation (9) and Corollary 10; Krichevsky,
    Trofimov (1981).
    """
    checks.number(where, "delta", delta, low=0.0, high=1.0, open_low=True, open_high=True)
    checks.choice(where, "threshold", name, _NAMES)
    allowed = [x for x in _NAMES if _FAMILY_OF.get(x, family.name) == family.name]
    if name not in allowed:
        raise ValueError(
            f"{where}: threshold = {name!r}, must be one of {', '.join(allowed)} with family = {family.name!r}"
        )
    log_rest = -jnp.log(as_float(delta)) if checks.is_traced(delta) else -math.log(float(delta))  # pyright: ignore[reportArgumentType]
    log_union: Any = math.log(num_arms) + log_rest
    if name == "heuristic":
        return ArmLevel(lambda n, t: numerics.log(1 + _log(t)) + as_float(log_rest), False)
    if name == "theory":
        return ArmLevel(lambda n, t: theory(as_float(log_union), n, t), True)
    if name == "kk":
        constant = 2 * deviations.h_tilde((log_union + deviations.LOG_2_ZETA_2) / 2)
        return ArmLevel(lambda n, t: as_float(constant) + 3 * numerics.log(1 + _log(n)), True)
    if name == "gauss":
        constant = deviations.C_G(log_union)
        return ArmLevel(lambda n, t: as_float(constant) + 2 * numerics.log(4 + _log(n)), True)
    return ArmLevel(lambda n, t: math.log(2) + as_float(log_union) + _log(n) / 2, True)


def _log(x: Array) -> Array:
    return numerics.log(as_float(x))
