"""Explore, then commit: pull the arms in turn, and from some round on the one with the largest mean.

Lattimore and Szepesvari (2020), Chapter 6; Garivier, Lattimore and Kaufmann (2016), Algorithms 1 and 2, for two arms.
With more than two arms the best empirical mean is compared with the second, which no theorem covers. Rewards after the
commitment are not used.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp

from jaxbandit.base.arguments import Count, Horizon, NumArms, Positive, Sigma
from jaxbandit.base.contract import Algorithm, Arms, Rewards
from jaxbandit.base.declaration import declare
from jaxbandit.support.numerics import argmax, as_float
from jaxbandit.support.types import Array, Key, Scalar
from jaxbandit.theory.estimators import counts as estimator
from jaxbandit.theory.estimators.counts import Counts


class CommitState(NamedTuple):
    """Statistics, and the arm that is pulled from now on."""

    arms: Counts
    means: Array  # float[num_arms], of the rewards before the commitment, minus the first one
    committed: Array  # int32[], -1 before the commitment


@declare(question="regret", cost="O(K)", memory="O(K)", settings=({"pulls": 3},))
def etc(num_arms: NumArms, pulls: Count) -> Algorithm:
    """Explore then commit after a given number of pulls of each arm.

    Return the rule that pulls each arm `pulls` times in turn, and then always the one with the largest mean.

    Guarantee: Regret of at most `pulls` times the sum of the gaps plus T times the sum of gap exp(-pulls gap^2 / (4
    sigma^2)), for sub-Gaussian rewards (Lattimore and Szepesvari 2020, Theorem 6.1).

    Args:
      pulls: number of pulls of each arm before the commitment.

    Source:
      Lattimore and Szepesvari (2020), Bandit Algorithms, Cambridge University Press, Algorithm 1 and Theorem 6.1.
    """
    return _rule(num_arms, lambda turns, lead: turns >= pulls)


@declare(
    question="regret",
    rewards="sub-Gaussian, scale given",
    cost="O(K)",
    memory="O(K)",
    tries={"gap": (0.5, 2.0)},
    settings=({"horizon": 30},),
)
def etc_gap(num_arms: NumArms, *, gap: Positive, horizon: Horizon, sigma: Sigma = 1.0) -> Algorithm:
    """Explore then commit with the number of pulls that a known gap asks for.

    Return explore-then-commit with max(1, ceil(4 s log(T gap^2 / (4 s)) / gap^2)) pulls of each arm, s = sigma^2.

    If that is more than T / num_arms, the whole run is exploration.

    Guarantee: For two arms with this gap, regret of at most gap + 4 s (1 + max(0, log(T gap^2 / (4 s)))) / gap
    (Lattimore and Szepesvari 2020, equation 6.6); nothing for more arms, or for another gap.

    Args:
      gap: difference of the best and the second mean.

    Source:
      Lattimore and Szepesvari (2020), Bandit Algorithms, Cambridge University Press, equations (6.5) and (6.6).
    """
    scaled = _scaled_gap(gap, sigma, horizon)

    def due(turns: Array, lead: Array) -> Array:
        ratio = scaled() / 4
        return turns >= jnp.maximum(jnp.ceil(jnp.log(horizon * ratio) / ratio), 1.0)

    return _rule(num_arms, due, Rewards(sigma=sigma))


@declare(
    question="regret",
    rewards="sub-Gaussian, scale given",
    cost="O(K)",
    memory="O(K)",
    tries={"gap": (0.5, 2.0)},
    settings=({"horizon": 30},),
)
def etc_sprt(num_arms: NumArms, *, gap: Positive, horizon: Horizon, sigma: Sigma = 1.0) -> Algorithm:
    """Explore until a sequential probability ratio test for a known gap decides, Garivier et al. 2016.

    Return explore-then-commit that commits after n pulls of each arm if gap n D >= s max(0, log(T gap^2 / s)).

    D is the best empirical mean less the second, and s = sigma^2.

    Guarantee: For two Gaussian arms with this gap, regret of (sigma^2 / gap) log T to first order, the least that a
    rule that commits can have (Garivier, Lattimore and Kaufmann 2016); nothing for more arms.

    Args:
      gap: difference of the best and the second mean.

    Source:
      Garivier, Lattimore and Kaufmann (2016), On explore-then-commit strategies, NeurIPS, Algorithm 2.
    """
    scaled = _scaled_gap(gap, sigma, horizon)

    def due(turns: Array, lead: Array) -> Array:
        level = jnp.maximum(jnp.log(horizon * scaled()), 0.0)
        return as_float(gap) * turns * lead >= as_float(sigma) ** 2 * level

    return _rule(num_arms, due, Rewards(sigma=sigma))


@declare(
    question="regret", rewards="sub-Gaussian, scale given", cost="O(K)", memory="O(K)", settings=({"horizon": 30},)
)
def etc_bai(num_arms: NumArms, *, horizon: Horizon, sigma: Sigma = 1.0) -> Algorithm:
    """Explore until the best arm is identified, Garivier et al. 2016.

    Return explore-then-commit that commits after n pulls of each arm if D >= sqrt(4 s max(0, log(T / (2 n))) / n).

    D is the best empirical mean less the second, and s = sigma^2. No gap need be known.

    Guarantee: For two Gaussian arms, regret of (4 sigma^2 / gap) log T to first order (Garivier, Lattimore and Kaufmann
    2016); nothing for more arms.

    Source:
      Garivier, Lattimore and Kaufmann (2016), On explore-then-commit strategies, NeurIPS, Algorithm 1.
    """

    def due(turns: Array, lead: Array) -> Array:
        level = jnp.maximum(math.log(horizon) - jnp.log(2 * turns), 0.0)
        return lead >= 2 * as_float(sigma) * jnp.sqrt(level / turns)

    return _rule(num_arms, due, Rewards(sigma=sigma))


def _scaled_gap(gap: Scalar, sigma: Scalar, horizon: int) -> Callable[[], Array]:
    """Return the function that returns gap^2 / sigma^2."""
    return lambda: (as_float(gap) / as_float(sigma)) ** 2


def _rule(num_arms: int, due: Callable[[Array, Array], Array], rewards: Rewards | None = None) -> Algorithm:
    """Return the rule that commits after a whole turn if due(number of turns, best mean less second), floats[]."""

    def init(key: Key) -> CommitState:
        return CommitState(estimator.init(num_arms, from_first=True), jnp.zeros(num_arms), jnp.int32(-1))

    def select(noise: None, state: CommitState, context: None) -> Array:
        return jnp.where(state.committed < 0, argmax(-state.arms.counts), state.committed)

    def update(state: CommitState, context: None, action: Array, reward: Array) -> CommitState:
        arms, _ = estimator.update(state.arms, action, reward)
        means, best, turns = arms.means, argmax(arms.means), jnp.min(arms.counts)
        second = jnp.max(jnp.where(jnp.arange(num_arms, dtype=jnp.int32) == best, -jnp.inf, means))
        whole = (turns == jnp.max(arms.counts)) & (state.committed < 0)
        commits = whole & due(as_float(turns), jnp.max(means) - second)
        means = jnp.where(state.committed < 0, means, state.means)
        return CommitState(arms, means, jnp.where(commits, best, state.committed))

    return Algorithm(
        init=init,
        select=select,
        update=update,
        pulls=lambda state: state.arms.counts,
        recommend=lambda state: jnp.where(state.committed < 0, argmax(state.means), state.committed),
        arms=Arms(num_arms),
        rewards=rewards,
    )
