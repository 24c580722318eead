"""What environments with one mean per arm share: state, the order of the arms in a run, regret, and the truth."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.base.batches import BatchRewards
from jaxbandit.base.contract import Arms, Environment, Rewards
from jaxbandit.base.truth import Truth
from jaxbandit.support.numerics import as_float, get_at
from jaxbandit.support.types import Array, ArrayLike, FamilyName, Key, Numbers, PyTree
from jaxbandit.theory import bounds  # its names are imported when they are called


class MeansState(NamedTuple):
    """The true means of one run."""

    means: Array  # float[num_arms]
    gaps: Array  # float[num_arms], max(means) - means


def stationary_arms(
    num_arms: int,
    means: Callable[[Key], Array],
    reward: Callable[[MeansState, None, Array, Any], Array],
    *,
    noise: Callable[[Key], Any],
    rewards: Rewards,
    truth: Truth,
    batch: BatchRewards | None = None,
) -> Environment:
    """Return the environment of arms whose means, float[num_arms], are drawn by `means` at the begin of each run."""

    def init(key: Key) -> MeansState:
        mu = means(key)
        return MeansState(mu, jnp.max(mu) - mu)

    return Environment(
        init=init,
        reward=reward,
        noise=noise,
        regret=regret_by_gaps,
        simple_regret=simple_regret,
        batch=batch,
        arms=Arms(num_arms),
        rewards=rewards,
        truth=truth,
    )


def regret_by_gaps(state: PyTree, context: PyTree, action: Array) -> Array:
    """Return the gap of an arm, float[], for states with a field `gaps`: a `regret`."""
    return get_at(state.gaps, action)


def regret_by_means(means: Callable[[Any], Array]) -> Callable[[Any, Any, Array], Array]:
    """Return the `regret` of arms whose means in a round are a function of the state: the gap of the arm, float[]."""

    def regret(state: PyTree, context: PyTree, action: Array) -> Array:
        mu = means(state)
        return jnp.max(mu) - get_at(mu, action)

    return regret


def arm_order(key: Key, num_arms: int) -> Array:
    """Return a uniformly random permutation, int32[num_arms]: the index of each arm in the instance as given."""
    return jax.random.permutation(key, jnp.arange(num_arms, dtype=jnp.int32))


def means_of_run(key: Key, means: ArrayLike, permute: bool) -> Array:
    """Return the means of a run, float[num_arms], as given, or in a random order if `permute`."""
    mu = as_float(means)
    return get_at(mu, arm_order(key, len(mu))) if permute else mu


def simple_regret(state: PyTree, recommendation: Array) -> Array:
    """Return mu_(m) - smallest mean of the m recommended arms, float[] >= 0, and 0 for equal means only.

    Means are compared, never sets of arms, and without a tolerance: means that an environment computes are made equal
    where they differ by rounding only (`equal_if_rounded`). NaN, unknown, if an arm is recommended twice. The shape of
    the recommendation, int32[m] or int32[], determines m.
    """
    return shortfall(state.means, recommendation)


def shortfall(means: Array, recommendation: Array) -> Array:
    """Return the simple regret among arms, or candidates, of these means, as `simple_regret` says."""
    mu = means
    arms = recommendation.reshape(-1)
    missing = jax.lax.top_k(mu, arms.size)[0][-1] - jnp.min(get_at(mu, arms))
    return jnp.where(missing >= 0, missing, jnp.nan)


def sum_simple_regret(state: PyTree, recommendation: Array, *, best: Array | None = None) -> Array:
    """Return the sum of the means of the best m arms minus that of the m recommended ones, float[] >= 0.

    Arms that are in both sets count nothing. Two sets of other arms tie if they differ by no more than the rounding of
    these sums. `best` is the best set that is allowed, bool[num_arms]; None means m arms with the largest means. A
    better set is none of the allowed ones: NaN, unknown.
    """
    mu, m = state.means, recommendation.size
    given = jnp.sort(get_at(mu, recommendation))
    if best is None:  # sorted by rank no term is negative, and the sum is 0 for equal means only
        terms = jnp.sort(jax.lax.top_k(mu, m)[0]) - given
        return jnp.where(jnp.min(terms) >= 0, jnp.sum(terms), jnp.nan)
    chosen = jnp.any(recommendation[:, None] == jnp.arange(len(mu), dtype=recommendation.dtype)[None], axis=0)
    apart = jnp.where(best & ~chosen, mu, jnp.where(chosen & ~best, -mu, 0.0))
    missing, rounding = jnp.sum(apart), 2 * m * jnp.finfo(mu.dtype).eps * jnp.sum(jnp.abs(apart))
    return jnp.where(jnp.abs(missing) <= rounding, 0.0, jnp.where(missing > 0, missing, jnp.nan))


def equal_if_rounded(means: ArrayLike, rounding: ArrayLike) -> ArrayLike:
    """Return computed means of which those that differ by rounding only are equal numbers, float[num_arms].

    Means that are equal on paper differ in the last places if they are sums of different products; `rounding` is the
    largest error of each, float[num_arms] >= 0. Of means that follow each other in order and differ by no more than the
    rounding of both, each becomes the largest.
    """
    numpy = isinstance(means, np.ndarray) and isinstance(rounding, np.ndarray)
    xp = np if numpy else jnp
    order = xp.argsort(-means)
    mu, errors = means[order], rounding[order]
    apart = mu[:-1] - mu[1:] > errors[:-1] + errors[1:]
    starts = xp.where(xp.concatenate([xp.ones(1, bool), apart]), xp.arange(len(mu)), 0)
    leaders = np.maximum.accumulate(starts) if numpy else jax.lax.cummax(jnp.asarray(starts))
    return mu[leaders][xp.argsort(order)]


def means_of_state(state: PyTree) -> Array:
    """Return the true means of a run, float[num_arms], for states with a field `means`."""
    return state.means


def bernoulli_arms(means: ArrayLike) -> Truth:
    """Return the truth of Bernoulli arms with these means, in any order that a run may draw."""
    return _family_arms(means, "bernoulli", lambda: bounds.bernoulli_regret_constant(means))


def gaussian_arms(means: ArrayLike, sigma: Numbers) -> Truth:
    """Return the truth of Gaussian arms with these means and one sigma, or one for each arm."""
    return Truth(
        means=means_of_state,
        regret_constant=lambda: bounds.gaussian_regret_constant(means, sigma),
        characteristic_time=lambda: bounds.characteristic_time(means, family="gaussian", sigma=sigma),
    )


def poisson_arms(means: ArrayLike) -> Truth:
    """Return the truth of Poisson arms with these means."""
    truth = _family_arms(means, "poisson", lambda: bounds.poisson_regret_constant(means))
    return truth._replace(rates=lambda: -np.expm1(-np.asarray(means)))  # of another reward than 0


def exponential_arms(means: ArrayLike) -> Truth:
    """Return the truth of exponential arms with these means."""
    return _family_arms(means, "exponential", lambda: bounds.exponential_regret_constant(means))


def _family_arms(means: ArrayLike, family: FamilyName, regret_constant: Callable[[], float]) -> Truth:
    """Return the truth of arms of a family in which the mean determines the distribution."""
    return Truth(
        means=means_of_state,
        regret_constant=regret_constant,
        characteristic_time=lambda: bounds.characteristic_time(means, family=family),
    )
