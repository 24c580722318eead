"""Full-bandit feedback: a pull names a set of k arms, a super-arm, and shows only the sum of its members' rewards.

Kuroki, Xu, Miyauchi, Honda and Sugiyama (2020). Batches of pulls are answered with one sum per super-arm.
"""

from typing import Annotated, Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.base.arguments import NonNegative, TeamSize
from jaxbandit.base.batches import BatchRewards, SetPulls
from jaxbandit.base.contract import Arms, Environment, Rewards
from jaxbandit.base.declaration import declare
from jaxbandit.base.parameters import Arg
from jaxbandit.base.truth import Truth
from jaxbandit.environments.means import means_of_state, sum_simple_regret
from jaxbandit.environments.stationary.binomial import binomial
from jaxbandit.support import checks
from jaxbandit.support.checks import arrays
from jaxbandit.support.numerics import as_float, matrix_vector, standard_normal
from jaxbandit.support.types import Array, ArrayLike, Key, Scalar


class FullBanditState(NamedTuple):
    """The true means of one run."""

    means: Array  # float[num_arms], means of the single arms
    best: Array  # float[], sum of the k largest


@declare(
    settings=(
        {"means": (0.2, 0.5, 0.6), "k": 2, "noise": "gaussian", "blocks": "exact"},
        {"means": (0.2, 0.5, 0.6), "k": 2, "noise": "bernoulli", "blocks": "exact"},
        {"means": (0.2, 0.5, 0.6), "k": 2, "noise": "bernoulli", "blocks": "normal"},
    )
)
def full_bandit(
    means: Annotated[ArrayLike, Arg(arrays(min_size=2))],
    k: TeamSize,
    *,
    noise: Literal["gaussian", "bernoulli"] = "gaussian",
    sigma: NonNegative = 1.0,
    blocks: Literal["exact", "normal"] = "exact",
    decision_class: Any = None,
) -> Environment:
    """A pull of k arms, of which only the sum of rewards is observed.

    Return the bandit in which a pull names k arms and shows the sum of their rewards (full-bandit feedback).

    Args:
      means: float[num_arms], means of the single arms, finite, and in [0, 1] with Bernoulli noise; num_arms > k.
        Traced.
      noise: "gaussian" adds one normal noise of standard deviation sigma to the sum of a pull, whatever k. "bernoulli"
        gives every member a reward of 0 or 1, independently.
      sigma: standard deviation of the Gaussian noise of a pull. It does not affect Bernoulli noise. It is not the sigma
        of the algorithms, which is a bound used in proofs (in the paper, k times that of a member).
      blocks: how the sum of a super-arm over a batch of pulls is drawn. "exact" draws normal sums for Gaussian noise,
        and one binomial per member for Bernoulli noise. "normal" draws Bernoulli sums as normal numbers with the same
        mean and variance, ten to fifty times faster, which is correct in the limit of many pulls.
      decision_class: a DecisionClass of the sets of k arms that may be recommended, or None for all; static. The simple
        regret is relative to the best of these sets, and NaN, unknown, for a better set, which is none of them; an
        algorithm with a class must have the same. Any k arms may be pulled, and the regret of a pull is relative to the
        k best arms.

    Returns:
      An Environment with actions bool[num_arms], k of them True, and rewards float[]. Its noise is one standard normal
      per round, or with Bernoulli noise one uniform per arm; the noise of a batch is a key. A batch that is spread over
      all sets of k without listing them is answered with a normal vector that has the exact mean and covariance, t
      times those of one pull of a random set.

    Source:
      Kuroki, Xu, Miyauchi, Honda and Sugiyama (2020), Polynomial-time algorithms for multiple-arm identification with
      full-bandit feedback, Neural Computation 32.
    """
    high, low = (1.0, 0.0) if noise == "bernoulli" else (np.inf, -np.inf)
    means = checks.take("means", means, checks.arrays(min_size=2, low=low, high=high))
    environment = from_members(means, k, _GAUSSIAN if noise == "gaussian" else blocks, sigma)
    environment = environment._replace(known=lambda: {"sigma": sigma if noise == "gaussian" else float(k)})
    if decision_class is None:
        return environment
    checks.decision_class(decision_class, means.shape[0], k)

    def simple_regret(state: FullBanditState, recommendation: Array) -> Array:
        return sum_simple_regret(state, recommendation, best=decision_class.best(state.means))

    arms = Arms(means.shape[0], k, decision_class=decision_class)
    return environment._replace(simple_regret=simple_regret, arms=arms)


_GAUSSIAN = "gaussian"


def from_members(means: ArrayLike, k: int, law: str, sigma: Scalar = 1.0) -> Environment:
    """Return the environment for validated arguments; `law` is "gaussian", or how Bernoulli sums are drawn."""
    num_arms = means.shape[0]

    def init(key: Key) -> FullBanditState:
        mu = as_float(means)
        return FullBanditState(mu, jnp.sum(jax.lax.top_k(mu, k)[0]))

    def noise(key: Key) -> Array:
        return standard_normal(key) if law == _GAUSSIAN else jax.random.uniform(key, (num_arms,))

    def reward(state: FullBanditState, context: None, action: Array, noise: Array) -> Array:
        if law == _GAUSSIAN:
            return jnp.sum(jnp.where(action, state.means, 0.0)) + as_float(sigma) * noise
        return jnp.sum(as_float(action & (noise < state.means)))

    def regret(state: FullBanditState, context: None, action: Array) -> Array:
        return state.best - jnp.sum(jnp.where(action, state.means, 0.0))

    def sums(state: FullBanditState, pulls: SetPulls, noise: Key) -> Array:
        n = as_float(pulls.counts)
        variances = state.means * (1 - state.means)  # variances of the members if they are Bernoulli
        if pulls.sets is None:
            factor = _spread(num_arms, k, as_float(sigma) if law == _GAUSSIAN else variances)
            mean = jnp.sum(_pairs(num_arms, k) * state.means[None], 1)
            deviation = matrix_vector(factor, jax.random.normal(noise, (num_arms,)))
            return n * mean + jnp.sqrt(n) * deviation
        if law == "exact":
            members, arms = jax.lax.top_k(pulls.sets.astype(jnp.int32), k)
            prob = jnp.where(members > 0, state.means[arms], 0.0)
            return jnp.sum(binomial(noise, jnp.broadcast_to(pulls.counts[:, None], prob.shape), prob), 1)
        mean = jnp.sum(jnp.where(pulls.sets, state.means[None], 0.0), 1)
        variance = as_float(sigma) ** 2 * jnp.ones_like(mean)
        if law != _GAUSSIAN:
            variance = jnp.sum(jnp.where(pulls.sets, variances[None], 0.0), 1)
        return n * mean + jnp.sqrt(n * variance) * jax.random.normal(noise, n.shape)

    return Environment(
        init=init,
        noise=noise,
        reward=reward,
        regret=regret,
        simple_regret=sum_simple_regret,
        batch=BatchRewards(lambda key: key, sums),
        arms=Arms(num_arms, k),
        rewards=Rewards(sigma=sigma, family=law) if law == _GAUSSIAN else Rewards(0.0, float(k), sigma=float(k)),
        truth=Truth(means=means_of_state, rates=None if law == _GAUSSIAN else lambda: means),
    )


def _chances(num_arms: int, k: int) -> list[float]:
    """Return the probabilities that a random set of k contains 0, 1, 2 and 3 given arms."""
    chances = [1.0]
    for i in range(3):
        chances.append(chances[-1] * max(k - i, 0) / max(num_arms - i, 1))
    return chances


def _pairs(num_arms: int, k: int) -> np.ndarray:
    """Return E chi chi', float[n, n], for the indicator chi of a random set of k arms."""
    _, one, two, _ = _chances(num_arms, k)
    return np.where(np.eye(num_arms, dtype=bool), one, two)


def _spread(num_arms: int, k: int, noise: Array) -> Array:
    """Return F with F F' the covariance of r chi due to the noise of r: its scale, or the variances of the members."""
    if noise.ndim == 0:
        values, vectors = np.linalg.eigh(_pairs(num_arms, k))
        return noise * (vectors * np.sqrt(np.maximum(values, 0.0)))
    _, one, two, three = _chances(num_arms, k)
    both = noise[:, None] + noise[None]
    rest = jnp.sum(noise)
    apart = both * two + (rest - both) * three
    same = noise * one + (rest - noise) * two
    diagonal = np.eye(num_arms, dtype=bool)
    covariance = jnp.where(diagonal, same[:, None], apart)
    lift = 1e-12 * jnp.max(same) + jnp.finfo(same.dtype).tiny  # members without variance may make it singular
    return jnp.linalg.cholesky(covariance + jnp.where(diagonal, lift, 0.0))
