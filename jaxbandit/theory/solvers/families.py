"""One-parameter exponential families of rewards, parametrized by the mean: divergence, its inverses, posteriors.

Each function is elementwise and follows the dtype of its arguments.
"""

from collections.abc import Callable
from typing import NamedTuple, get_args

import jax.numpy as jnp

from jaxbandit.base.arguments import Positive
from jaxbandit.base.calls import checked
from jaxbandit.base.contract import Rewards
from jaxbandit.support.numerics import as_float, bernoulli_kl_apart, x_minus_log1p
from jaxbandit.support.types import Array, FamilyName, Scalar
from jaxbandit.theory.solvers.beta import beta_shape, logit_at
from jaxbandit.theory.solvers.deviations import log_fall, rise
from jaxbandit.theory.solvers.kl import kl_root, kl_upper

FAMILIES: tuple[FamilyName, ...] = get_args(FamilyName)
LEAST = 1e-6  # distance that `clip` keeps between a mean and the ends of its range
_FAR = 1e8  # Beta(a, b) with b = _FAR a approximates a gamma distribution, with error a / (4 b) in total variation


class Family(NamedTuple):
    """A one-parameter exponential family. Its members are denoted by their means x."""

    name: str
    apart: Callable[[Array, Array], Array]  # (x, u) -> d(x, x + u), where u is known more accurately than x + u
    upper: Callable[[Array, Array], Array]  # (x, level) -> the largest y >= x with d(x, y) <= level
    lower: Callable[[Array, Array], Array]  # (x, level) -> the smallest y <= x with d(x, y) <= level
    # (normals, counts, means), float, int and float[num_arms] -> float[num_arms]: an increasing function, the same for
    # all arms, of the quantile of each arm's posterior whose level is that of the standard normal z, for counts >= 1.
    # Only comparisons are meaningful. With random normals it is a draw of the mean.
    posterior: Callable[[Array, Array, Array], Array]
    variance: Callable[[Array], Array]  # mean -> variance of the rewards
    clip: Callable[[Array], Array]  # moves means away from the ends of their range, by LEAST
    sigma: Scalar  # sub-Gaussian scale of the rewards, a standard deviation for Gaussian ones; inf if there is none

    def kl(self, x: Array, y: Array) -> Array:
        """The divergence d(x, y) between the members with means x and y; 0 for x = y, also at the ends of the range."""
        return self.apart(x, y - x)

    @property
    def invariant(self) -> bool:
        """Whether d, its inverses and the posteriors depend on differences of means only, up to their own shift."""
        return self.name == "gaussian"

    @property
    def rewards(self) -> Rewards:
        """The rewards that are assumed: those of the family, of which a bound or a scale is all that is needed."""
        if self.name == "gaussian":
            return Rewards(sigma=self.sigma)
        return Rewards(0.0, 1.0) if self.name == "bernoulli" else Rewards(low=0.0, family=self.name)


@checked
def family(family: FamilyName, sigma: Positive = 1.0) -> Family:
    """Return a family by its name; sigma is the standard deviation of Gaussian rewards alone.

    Posteriors are under Jeffreys' or the uniform prior: Beta(1 + S, 1 + n - S) for Bernoulli rewards with sum S,
    N(mean, sigma^2 / n) for Gaussian, Gamma(1/2 + S) / n for Poisson and S / Gamma(n) for exponential rewards.
    """
    return _gaussian(sigma) if family == "gaussian" else _OTHERS[family]


def transport(family: Family, mean_a: Array, n_a: Array, mean_b: Array, n_b: Array) -> Array:
    """Return Z_ab = min over x of n_a d(mean_a, x) + n_b d(mean_b, x), or 0 unless mean_a > mean_b; elementwise.

    It is the logarithm of the generalized likelihood ratio for arm a to be better than arm b. Not both counts may be 0.

    Source: Garivier and Kaufmann (2016), Optimal best arm identification with fixed confidence, COLT, equation (7).
    """
    n_a, n_b = as_float(n_a), as_float(n_b)
    gap = jnp.maximum(mean_a - mean_b, 0.0)
    share = n_b / (n_a + n_b)
    if family.name == "gaussian":
        return n_a * share * family.apart(mean_a, gap)
    return n_a * family.apart(mean_a, -share * gap) + n_b * family.apart(mean_b, (1 - share) * gap)


def _gaussian(sigma: Scalar) -> Family:
    def width(x: Array, level: Array) -> Array:
        return as_float(sigma) * jnp.sqrt(2 * level)

    return Family(
        name="gaussian",
        apart=lambda x, u: u * u * (0.5 / as_float(sigma) ** 2),
        upper=lambda x, level: x + width(x, level),
        lower=lambda x, level: x - width(x, level),
        posterior=lambda normals, counts, means: means + normals * as_float(sigma) / jnp.sqrt(as_float(counts)),
        variance=lambda x: jnp.full_like(x, as_float(sigma) ** 2),
        clip=lambda x: x,
        sigma=sigma,
    )


def _bernoulli_lower(x: Array, level: Array) -> Array:
    """The mirrored root, whose distance from 1 is as accurate as that of `kl_upper` from 0."""
    least = kl_root(1 - x, level).rest * (1 - 2 * float(jnp.finfo(x.dtype).eps))
    return jnp.where(x > 0, jnp.clip(least, 0.0, x), 0.0)


def _bernoulli_posterior(normals: Array, counts: Array, means: Array) -> Array:
    n = as_float(counts)
    return logit_at(normals, beta_shape(1 + n * means, 1 + n * (1 - means)))


def _poisson_apart(x: Array, u: Array) -> Array:
    x = jnp.maximum(x, jnp.sqrt(jnp.finfo(x.dtype).tiny))  # x h(u/x) tends to u as x tends to 0
    return x * x_minus_log1p(u / x)


def _poisson_upper(x: Array, level: Array) -> Array:
    """Return x + x v with v - log(1+v) = level / x, and the level itself at x = 0."""
    safe = jnp.where(x > 0, x, 1.0)
    return jnp.where(x > 0, x + x * rise(level / safe), level)


def _poisson_lower(x: Array, level: Array) -> Array:
    return x * jnp.exp(log_fall(level / jnp.where(x > 0, x, 1.0)))


def _poisson_posterior(normals: Array, counts: Array, means: Array) -> Array:
    n = as_float(counts)
    return _log_gamma(normals, 0.5 + n * means) - jnp.log(n)


def _exponential_apart(x: Array, u: Array) -> Array:
    """Return h(-u/y) with y = x + u; inf if exactly one of the two means is 0."""
    y = x + u
    inside = (x > 0) & (y > 0)
    return jnp.where(inside, x_minus_log1p(-u / jnp.where(inside, y, 1.0)), jnp.where(u == 0, 0.0, jnp.inf))


def _exponential_posterior(normals: Array, counts: Array, means: Array) -> Array:
    n = as_float(counts)
    return jnp.log(n * means) - _log_gamma(-normals, n)


def _log_gamma(normals: Array, shape: Array) -> Array:
    """Return logs of quantiles of Gamma(shape), shape >= 1/2: b x / (1 - x) for x from Beta(shape, b), b large."""
    b = _FAR * shape
    return jnp.log(b) + logit_at(normals, beta_shape(shape, b))


_OTHERS = {
    "bernoulli": Family(
        name="bernoulli",
        apart=bernoulli_kl_apart,
        upper=kl_upper,
        lower=_bernoulli_lower,
        posterior=_bernoulli_posterior,
        variance=lambda x: x * (1 - x),
        clip=lambda x: jnp.clip(x, LEAST, 1 - LEAST),
        sigma=0.5,
    ),
    "poisson": Family(
        name="poisson",
        apart=_poisson_apart,
        upper=_poisson_upper,
        lower=_poisson_lower,
        posterior=_poisson_posterior,
        variance=lambda x: x,
        clip=lambda x: jnp.maximum(x, LEAST),
        sigma=float("inf"),
    ),
    "exponential": Family(
        name="exponential",
        apart=_exponential_apart,
        upper=lambda x, level: jnp.where(x > 0, x * jnp.exp(-log_fall(level)), 0.0),  # the factor may overflow
        lower=lambda x, level: x / (1 + rise(level)),
        posterior=_exponential_posterior,
        variance=lambda x: x * x,
        clip=lambda x: jnp.maximum(x, LEAST),
        sigma=float("inf"),
    ),
}
