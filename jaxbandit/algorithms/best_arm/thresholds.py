"""Thresholds of generalised likelihood ratios: arm b is said to be better than a once Z_ba exceeds beta(n_b, n_a, t).

A wrong answer b needs Z_{b,a*} > beta, and Z_{b,a*} <= n_b d(mean_b, mu_b) + n_{a*} d(mean_{a*}, mu_{a*}): each
threshold below bounds that sum of deviations at all times at once, at delta / (K - 1), and a union over the K - 1
values of b gives delta. The rule that chooses the pulls does not matter.
"""

import math
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import jax.numpy as jnp

from jaxbandit import checks
from jaxbandit.base import Rewards
from jaxbandit.numerics import as_float
from jaxbandit.solvers import deviations
from jaxbandit.solvers.families import Family
from jaxbandit.types import Array, Scalar

ThresholdName = Literal["heuristic", "kk", "gauss", "kt"]


class PairThreshold(NamedTuple):
    """What the statistic of a pair must exceed, in parts, and whether that is proved."""

    whole: Callable[[Array], Array]  # t, pulls of all arms, >= 1 -> float[...]
    part: Callable[[Array], Array] | None  # n, pulls of one of the two arms, >= 1 -> float[...]; None: nothing
    proved: bool

    def level(self, n_a: Array, n_b: Array, t: Array) -> Array:
        """Return the threshold, float[...], of arms pulled n_a and n_b times of t."""
        return self.whole(t) if self.part is None else self.whole(t) + (self.part(n_a) + self.part(n_b))


def pair_threshold(
    name: ThresholdName, num_arms: int, delta: Scalar, family: Family, *, where: str = "pair_threshold"
) -> PairThreshold:
    """Return a threshold by its name.

    `heuristic`, log((1 + log t) / delta), is common in experiments, without a proof. `kk`, proved for every family,
    is 2 T(log((K-1)/delta) / 2) + 3 log(1 + log n_a) + 3 log(1 + log n_b). `gauss`, proved for sub-Gaussian rewards
    whose sigma is known, is 2 C_G(log((K-1)/delta) / 2) + 2 log(4 + log n_a) + 2 log(4 + log n_b). `kt`, proved for
    rewards in [0, 1], is log(4 (K-1)/delta) + (log n_a + log n_b) / 2: n_a d(mean_a, mu_a) is at most log(2 sqrt(n_a))
    plus the logarithm of the mixture of likelihood ratios by Krichevsky and Trofimov, and the product of two arms'
    mixtures is a supermartingale from 1 (Ville). For rewards strictly between 0 and 1 it is one because
    (q/mu)^x ((1-q)/(1-mu))^(1-x) is convex in x. It is the least of the proved ones for Bernoulli rewards.

    Args:
      name: "heuristic", "kk", "gauss" (of the family gaussian only) or "kt" (of bernoulli only); static.
      num_arms: K >= 2, static.
      delta: allowed error rate, in (0, 1), traced. A concrete one gives constants computed in float64.
      family: of the rewards.
      where: who refuses.

    Returns:
      The threshold and whether it is proved: that P(the answer is wrong) <= delta for rewards independent given their
      arm, of the family, or sub-Gaussian with the family's sigma (gaussian), or in [0, 1] (bernoulli).

    Raises:
      ValueError: an argument is out of range, or the threshold is not one of the family.

    Source: Kaufmann, Koolen (2021), Mixture martingales revisited, JMLR, Theorem 7 and Corollary 10; Garivier, Kaufmann
    (2016), COLT, Theorem 10, of which `kt` is the sharper form.
    """
    num_arms = checks.integer(where, "num_arms", num_arms, 2)
    checks.number(where, "delta", delta, low=0.0, high=1.0, open_low=True, open_high=True)
    checks.choice(where, "threshold", name, ("heuristic", "kk", "gauss", "kt"))
    allowed = tuple(x for x in ("heuristic", "kk", "gauss", "kt") if _FAMILY_OF.get(x, family.name) == family.name)
    if name not in allowed:
        raise ValueError(
            f"{where}: threshold = {name!r}, must be one of {', '.join(allowed)} with family = {family.name!r}"
        )
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


def rewards_of(family: Family) -> Rewards:
    """Return the rewards that a rule for this family is made for, as its thresholds assume them."""
    if family.name == "gaussian":
        return Rewards(sigma=family.sigma)
    if family.name == "bernoulli":
        return Rewards(0.0, 1.0)
    return Rewards(low=0.0, family=family.name)


_FAMILY_OF = {"gauss": "gaussian", "kt": "bernoulli"}  # thresholds of one family only


def _minus_log(delta: Scalar) -> Any:
    return -jnp.log(as_float(delta)) if checks.is_traced(delta) else -math.log(float(delta))


def _log(x: Array) -> Array:
    """Of one number a run and round, where `numerics.log` costs more than it saves."""
    return jnp.log(as_float(x))
