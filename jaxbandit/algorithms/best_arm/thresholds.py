"""Thresholds for generalized likelihood ratios: arm b is significantly better than arm a if Z_ba > beta(n_b, n_a, t).

Each proved threshold bounds n_b d(mean_b, mu_b) + n_a d(mean_a, mu_a) at all times simultaneously with error
probability delta / (K - 1), whichever rule chooses the pulls; a union bound over the K - 1 wrong answers gives delta.
"""

import math
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import jax.numpy as jnp

from jaxbandit.base.arguments import Delta, SeveralArms
from jaxbandit.base.calls import checked
from jaxbandit.support import checks
from jaxbandit.support.numerics import as_float
from jaxbandit.support.types import Array, Scalar
from jaxbandit.theory.solvers import deviations
from jaxbandit.theory.solvers.families import Family

ThresholdName = Literal["heuristic", "kk", "gauss", "kt"]


class PairThreshold(NamedTuple):
    """The threshold of the statistic of a pair, as a sum of parts, and whether it is proved."""

    whole: Callable[[Array], Array]  # t, pulls of all arms (>= 1) -> float[...]
    part: Callable[[Array], Array] | None  # n, pulls of one of the two arms (>= 1) -> float[...]; None means 0
    proved: bool

    def level(self, n_a: Array, n_b: Array, t: Array) -> Array:
        """Return the threshold, float[...], for arms pulled n_a and n_b times out of t pulls."""
        return self.whole(t) if self.part is None else self.whole(t) + (self.part(n_a) + self.part(n_b))


FAMILY_OF: dict[str, str] = {"gauss": "gaussian", "kt": "bernoulli"}  # thresholds of one family only


def default_threshold(family: str) -> str:
    """Return the smallest proved threshold of a family, by its name: its own if it has one."""
    return next((name for name, of in FAMILY_OF.items() if of == family), "kk")


@checked
def pair_threshold(
    threshold: ThresholdName | None, num_arms: SeveralArms, delta: Delta, family: Family
) -> PairThreshold:
    """Return a threshold by its name.

    "heuristic", log((1 + log t) / delta), is common in experiments but has no proof. "kk", proved for every family, is
    2 T(log((K-1)/delta) / 2) + 3 log(1 + log n_a) + 3 log(1 + log n_b). "gauss", proved for sub-Gaussian rewards with
    known sigma, is 2 C_G(log((K-1)/delta) / 2) + 2 log(4 + log n_a) + 2 log(4 + log n_b). "kt", proved for rewards in
    [0, 1] by the product of the Krichevsky-Trofimov mixtures of two arms, is log(4 (K-1)/delta) + (log n_a + log n_b) /
    2, the smallest proved one for Bernoulli rewards.

    Args:
      threshold: "heuristic", "kk", "gauss" (family "gaussian" only) or "kt" (family "bernoulli" only); None is the
        smallest proved one of the family.
      delta: allowed error probability. If it is concrete, constants are computed in float64.

    Returns:
      The threshold, and whether P(the answer is wrong) <= delta is proved for rewards that are independent given their
      arm and of the family, or sub-Gaussian with the family's sigma ("gaussian"), or in [0, 1] ("bernoulli").

    Raises:
      ValueError: the threshold is not available for the family.

    Source:
      Kaufmann and Koolen (2021), Mixture martingales revisited, JMLR, Theorem 7 and Corollary 10; Garivier and Kaufmann
      (2016), Optimal best arm identification with fixed confidence, COLT, Theorem 10, of which "kt" is a sharper form.
    """
    name = threshold or default_threshold(family.name)
    allowed = tuple(x for x in ("heuristic", "kk", "gauss", "kt") if FAMILY_OF.get(x, family.name) == family.name)
    if name not in allowed:
        raise ValueError(f"threshold = {name!r}, must be one of {', '.join(allowed)} with family = {family.name!r}")
    log_rest = _minus_log(delta)  # log(1/delta)
    log_union = math.log(num_arms - 1) + log_rest
    if name == "heuristic":
        return PairThreshold(lambda t: _log(1 + _log(t)) + as_float(log_rest), None, False)
    if name == "kk":
        constant = 2 * deviations.T(log_union / 2)
        return PairThreshold(lambda t: as_float(constant), lambda n: 3 * _log(1 + _log(n)), True)
    if name == "gauss":
        constant = 2 * deviations.C_G(log_union / 2)
        return PairThreshold(lambda t: as_float(constant), lambda n: 2 * _log(4 + _log(n)), True)
    constant = math.log(4) + log_union
    return PairThreshold(lambda t: as_float(constant), lambda n: _log(n) / 2, True)


def _minus_log(delta: Scalar) -> Any:
    return -jnp.log(as_float(delta)) if checks.is_traced(delta) else -math.log(float(delta))


def _log(x: Array) -> Array:
    """The logarithm of one number per run and round, for which `numerics.log` costs more than it saves."""
    return jnp.log(as_float(x))
