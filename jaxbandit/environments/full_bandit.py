"""Full-bandit feedback: a pull names a set of k arms, a super-arm, and shows only the sum of its members' rewards.

Kuroki, Xu, Miyauchi, Honda, Sugiyama (2019), Polynomial-time algorithms for multiple-arm identification with
full-bandit feedback, NeurIPS. Batches of pulls are answered with one sum a super-arm.
"""

from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit import checks
from jaxbandit.base import Arms, BatchRewards, Environment, Rewards, SetPulls
from jaxbandit.environments.binomial import binomial
from jaxbandit.environments.simple_regret import sum_simple_regret
from jaxbandit.numerics import as_float, matrix_vector, standard_normal
from jaxbandit.types import Array, ArrayLike, Key, Scalar


class FullBanditState(NamedTuple):
    """The truth of one run."""

    means: Array  # float[num_arms], of the single arms
    best: Array  # float[], sum of the k largest


def full_bandit(
    means: ArrayLike,
    k: int,
    *,
    noise: Literal["gaussian", "bernoulli"] = "gaussian",
    sigma: Scalar = 1.0,
    blocks: Literal["exact", "normal"] = "exact",
    decision_class: Any = None,
) -> Environment:
    """Return the bandit whose pull names k of the arms and pays the sum of theirs.

    Args:
      means: float[num_arms], finite, traced; in [0, 1] with Bernoulli noise. num_arms > k.
      k: arms in a super-arm, in [1, num_arms - 1], static.
      noise: "gaussian": the sum of a pull has one normal noise of standard deviation sigma, whatever k. "bernoulli":
        every member pays 0 or 1, independently. Static.
      sigma: standard deviation of a pull's Gaussian noise, >= 0, traced; 0 is no noise. Without influence on Bernoulli
        noise. It is not the sigma of the algorithms, which is a bound for the proofs, k times a member's in the paper.
      blocks: how a super-arm's sum over a batch of pulls is drawn, static. "exact": Gaussian sums are normal, Bernoulli
        ones a binomial a member. "normal": Bernoulli sums are normal of the same mean and variance, ten to fifty times
        faster; right in the limit of many pulls.
      decision_class: a DecisionClass of the sets of k arms that may be recommended, static; None: all. Simple
        regret is that from the best of them; any k arms may be pulled, and the regret of a pull is that from the k
        best.

    Returns:
      An Environment with actions bool[num_arms], k of them True, and rewards float[]. Its noise is one standard normal
      a round, or with Bernoulli noise a uniform an arm; a batch's is a key. A batch that is spread over all sets of k
      without listing them is answered with a normal vector of the exact mean and covariance, t times that of one
      pull of a random set.

    Raises:
      ValueError: an argument is not in the range above.
    """
    where = "full_bandit"
    checks.choice(where, "noise", noise, ("gaussian", "bernoulli"))
    checks.choice(where, "blocks", blocks, ("exact", "normal"))
    checks.number(where, "sigma", sigma, low=0.0)
    high, low = (1.0, 0.0) if noise == "bernoulli" else (np.inf, -np.inf)
    means = checks.array(where, "means", means, min_size=2, low=low, high=high)
    k = checks.integer(where, "k", k, 1, means.shape[0] - 1)
    environment = from_members(means, k, _GAUSSIAN if noise == "gaussian" else blocks, sigma)
    if decision_class is None:
        return environment
    checks.decision_class(where, decision_class, means.shape[0], k)

    def simple_regret(state: FullBanditState, recommendation: Array) -> Array:
        best = jnp.sum(jnp.where(decision_class.best(state.means), state.means, 0.0))
        return sum_simple_regret(state, recommendation, best=best)

    return environment._replace(simple_regret=simple_regret)


def describe_full_bandit(
    means: Array,
    k: int,
    *,
    noise: Literal["gaussian", "bernoulli"] = "gaussian",
    sigma: Scalar = 1.0,
    blocks: Literal["exact", "normal"] = "exact",
    decision_class: Any = None,
) -> dict[str, Any]:
    """Return what an algorithm may know of `full_bandit`: k, and sigma, the scale of a pull's noise.

    That of Bernoulli members is k, as the paper takes it: a bound of the noise of k members within [-1, 1] each.
    """
    return {"k": k, "sigma": sigma if noise == "gaussian" else float(k)}


_GAUSSIAN = "gaussian"


def from_members(means: Any, k: int, law: str, sigma: Scalar = 1.0) -> Environment:
    """Return the environment of checked arguments; law is "gaussian", or how blocks of Bernoulli members are drawn."""
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
        variances = state.means * (1 - state.means)  # of the members, if they are Bernoulli
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
        name="full_bandit",
    )


def _chances(num_arms: int, k: int) -> list[float]:
    """The probability that a random set of k contains given 0, 1, 2, 3 arms."""
    chances = [1.0]
    for i in range(3):
        chances.append(chances[-1] * max(k - i, 0) / max(num_arms - i, 1))
    return chances


def _pairs(num_arms: int, k: int) -> np.ndarray:
    """E chi chi', float[n, n], of a random set of k."""
    _, one, two, _ = _chances(num_arms, k)
    return np.where(np.eye(num_arms, dtype=bool), one, two)


def _spread(num_arms: int, k: int, noise: Array) -> Array:
    """F with F F' the covariance of r chi over the noise of r: `noise` is its scale, or the members' variances."""
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
    lift = 1e-12 * jnp.max(same) + jnp.finfo(same.dtype).tiny  # members without variance may leave it singular
    return jnp.linalg.cholesky(covariance + jnp.where(diagonal, lift, 0.0))
