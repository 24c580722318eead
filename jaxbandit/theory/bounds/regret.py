"""Asymptotic lower bounds on regret: constant * log(t) (Lai and Robbins 1985; Burnetas and Katehakis 1996).

They hold for policies whose regret is o(t^a) on every instance of a class, for every a > 0: the one-parameter family
for `bernoulli`, `gaussian`, `poisson` and `exponential`, and all distributions on [0, 1] for `beta` and `table`.
Concrete numbers are computed by NumPy, so that a figure compiles nothing.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from jaxbandit.base.arguments import (
    ClosedUnit,
    Deviations,
    NonNegativeVector,
    PositiveVector,
    UnitMatrix,
    UnitVector,
    Vector,
)
from jaxbandit.base.calls import checked
from jaxbandit.support import special

_TIE = 1e-9  # a gap below this fraction of the largest absolute mean counts as a tie


def bernoulli_kl(p: ArrayLike, q: ArrayLike) -> np.ndarray:
    """Return kl(Bernoulli(p), Bernoulli(q)), broadcast: 0 where p = q, and inf where q is 0 or 1 and p is not."""
    p, q = np.asarray(p, np.float64), np.asarray(q, np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        # log1p of relative differences, because kl is of the order of their squares, below the rounding error of p / q.
        ones = np.where(p > 0, -p * np.log1p((q - p) / p), 0.0)
        zeros = np.where(p < 1, -(1 - p) * np.log1p((p - q) / (1 - p)), 0.0)
    return np.maximum(ones + zeros, 0.0)


def gaussian_kl(mean: ArrayLike, other: ArrayLike, sigma: ArrayLike = 1.0) -> np.ndarray:
    """Return (mean - other)^2 / (2 sigma^2), the divergence between normal distributions."""
    return np.square(np.asarray(mean, np.float64) - np.asarray(other, np.float64)) / (2 * np.square(sigma))


@checked
def k_inf(rewards: UnitVector, weights: UnitVector, mean: ClosedUnit) -> float:
    """Return the smallest divergence from a distribution on [0, 1] to any with mean at least `mean`.

    By duality it is the maximum over s in [0, 1] of E log(1 - s (X - mean) / (1 - mean)) (Honda and Takemura 2010).

    Args:
      rewards: float[n], the atoms of the distribution (or quadrature nodes, for one with a density).
      weights: float[n], their probabilities, which sum to 1.
      mean: least mean of the other distributions.
    """
    if rewards.shape != weights.shape or abs(weights.sum() - 1) > 1e-9:
        raise ValueError(
            f"weights has shape {weights.shape} and sum {weights.sum():g}, must have rewards' "
            f"shape {rewards.shape} and sum 1"
        )
    return _k_inf(1 - rewards, weights, 1 - mean)


def _k_inf(shortfalls: Any, weights: Any, shortfall: Any) -> float:
    """Return k_inf in terms of 1 - X and 1 - mean, because near X = 1 the difference from 1 keeps its digits."""
    if weights @ shortfalls <= shortfall:
        return 0.0
    if shortfall == 0:
        return np.inf
    from scipy.optimize import brentq  # imported here because it is slow to import and rarely needed

    ratios = shortfalls / shortfall

    def slope(s: float) -> float:
        return float(weights @ ((ratios - 1) / ((1 - s) + s * ratios)))

    # Just inside s = 1, where an atom at 1 makes the slope -inf and the logarithm too.
    inside = 1 - 1e-15
    s = inside if slope(inside) >= 0 else float(brentq(slope, 0.0, inside, xtol=1e-14))  # type: ignore
    return float(weights @ np.log((1 - s) + s * ratios))


def _beta_quadrature(alpha: float, beta: float) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes 1 - x and weights for a Beta distribution: trapezoidal rule, logit x = center + scale sinh t."""
    scale = min(np.pi, np.sqrt(1 / alpha + 1 / beta))
    reach = np.arcsinh(max(10.0, 45 / (scale * min(alpha, beta))))
    t = np.linspace(-reach, reach, 801)
    logit = np.log(alpha / beta) + scale * np.sinh(t)
    log_x, log_y = -np.logaddexp(0, -logit), -np.logaddexp(0, logit)
    log_density = alpha * log_x + beta * log_y - special.betaln(alpha, beta)
    weights = np.exp(log_density) * np.cosh(t)
    return np.exp(log_y), weights / weights.sum()


@checked
def bernoulli_regret_constant(means: UnitVector) -> float:
    """Return the sum of gap / kl(mean, best mean) over suboptimal arms, for means float[num_arms]."""
    return _sum(means, bernoulli_kl(means, means.max()))


@checked
def gaussian_regret_constant(means: Vector, sigma: Deviations = 1.0) -> float:
    """Return the sum of 2 sigma^2 / gap over suboptimal arms, for means float[num_arms]."""
    return _sum(means, gaussian_kl(means, means.max(), sigma))


@checked
def poisson_regret_constant(means: NonNegativeVector) -> float:
    """Return the sum of gap / (best - mean - mean log(best / mean)) over suboptimal arms, for float[num_arms]."""
    gaps = means.max() - means
    parts = gaps / np.where(means > 0, means, 1.0)
    return _sum(means, np.where(means > 0, means * (parts - np.log1p(parts)), gaps))


@checked
def exponential_regret_constant(means: PositiveVector) -> float:
    """Return the sum of gap / (mean / best - 1 - log(mean / best)) over suboptimal arms, for float[num_arms]."""
    parts = (means - means.max()) / means.max()
    return _sum(means, parts - np.log1p(parts))


@checked
def beta_regret_constant(alpha: PositiveVector, beta: PositiveVector) -> float:
    """Return the sum of gap / k_inf over suboptimal arms Beta(alpha[a], beta[a]), among all distributions on [0, 1].

    It is at most `bernoulli_regret_constant` of the same means, which policies with the Bernoulli divergence approach.
    """
    if alpha.shape != beta.shape:
        raise ValueError(f"beta has shape {beta.shape}, must have alpha's, {alpha.shape}")
    means = alpha / (alpha + beta)
    shortfall = (beta / (alpha + beta))[means.argmax()]
    divergences = [_k_inf(*_beta_quadrature(a, b), shortfall) for a, b in zip(alpha, beta, strict=True)]
    return _sum(means, np.array(divergences))


@checked
def table_regret_constant(rewards: UnitMatrix) -> float:
    """Return the sum of gap / k_inf over suboptimal columns of rewards, float[num_rows, num_arms]."""
    means = rewards.mean(axis=0)
    weights = np.full(rewards.shape[0], 1 / rewards.shape[0])
    divergences = [_k_inf(1 - column, weights, 1 - means.max()) for column in rewards.T]
    return _sum(means, np.array(divergences))


def _sum(means: Any, divergences: Any) -> float:
    gaps = means.max() - means
    suboptimal = gaps > _TIE * np.abs(means).max()
    return float(np.sum(gaps[suboptimal] / divergences[suboptimal]))  # 0 for an infinite divergence


def regret_lower_bound(constant: float, rounds: ArrayLike) -> np.ndarray:
    """Return constant * log(t) at each t >= 1 of rounds: asymptotic, so early regret may be smaller."""
    return constant * np.log(np.asarray(rounds, np.float64))
