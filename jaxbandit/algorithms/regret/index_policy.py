"""The common frame of index policies: pull each arm once, then always the arm with the largest index.

Ties go to the lowest-numbered arm. An arm without a reward comes first whatever the round, because with delayed
feedback the round number runs ahead of the rewards. If the context is an `Offer`, indices are compared as if the arms
that are not available did not exist.

What an index may use beyond rounds, counts and means is declared where the policy is made, so that no state carries
what its index does not need.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp

from jaxbandit.base import checks
from jaxbandit.base.contract import Algorithm, Arms, Offer, Rewards, none
from jaxbandit.base.numerics import argmax, exploration_level, get_at, set_at
from jaxbandit.base.offers import among_available, available_of
from jaxbandit.base.types import Array, Key, PyTree, Scalar
from jaxbandit.theory.estimators import counts as estimator


class IndexState(NamedTuple):
    """The statistics from which the indices of the arms are computed.

    An index reads `round`, `counts`, `means`, `inverse_sqrt_counts`, and `squares` if they are kept. The pulls of the
    leader are `counts[argmax(means)]`, and a horizon is an argument of the factory.
    """

    round: Array  # int32[], the round about to be played, from 1
    counts: Array  # int32[num_arms]
    means: Array  # float[num_arms]
    inverse_sqrt_counts: Array  # float[num_arms], 1 / sqrt(counts), inf at 0; cached, one entry changes per round
    deviations: Array | None = None  # float[num_arms], `squares` if they are kept

    @property
    def squares(self) -> Array:
        """Sums of (reward - mean)^2, float[num_arms], never negative; raise TypeError if they are not kept."""
        if self.deviations is None:
            raise TypeError("the index reads `squares`, which are not kept: declare index_policy(.., squares=True)")
        return self.deviations


def divergence_budget(state: IndexState, c: Scalar) -> Array:
    """Return (log t + c log log t) / N_a, float[num_arms], the divergence from the mean that an index allows."""
    return exploration_level(state.round, c) * state.inverse_sqrt_counts**2


def index_policy(
    name: str,
    num_arms: int,
    index: Callable[..., Array],
    *,
    first: int = 1,
    squares: bool = False,
    noise: Callable[[Key], PyTree] | None = None,
    rewards: Rewards | None = None,
) -> Algorithm:
    """Return the policy that pulls the argmax of `index(state)` after `first` pulls of each arm.

    The index of an arm with fewer rewards is not used, so it may be anything, including NaN. Of these arms the one with
    the fewest rewards comes first.

    Args:
      name: name of the policy in results and error messages.
      num_arms: number of arms, an integer >= 1; static.
      index: function from an IndexState to one index per arm, float[num_arms]; of a policy with noise, from the
        IndexState and the noise of the round.
      first: number of rewards that an index needs, an integer >= 1; static.
      squares: whether the state keeps `squares`; static.
      noise: function that draws the noise of a round from its key; None for a deterministic policy.
      rewards: the rewards that the policy is made for; None leaves this unspecified.
    """
    num_arms = checks.integer(name, "num_arms", num_arms, 1)

    def init(key: Key) -> IndexState:
        start = estimator.init(num_arms)
        kept = jnp.zeros(num_arms) if squares else None
        return IndexState(jnp.ones((), jnp.int32), start.counts, start.means, jnp.full(num_arms, jnp.inf), kept)

    def select(drawn: PyTree, state: IndexState, context: Offer | None) -> Array:
        inverse = state.inverse_sqrt_counts
        ready = inverse < jnp.inf if first == 1 else state.counts >= first
        available = available_of(context)
        if available is not None:  # an index may depend on the largest mean
            state = state._replace(means=jnp.where(available, state.means, -jnp.inf))
        indices = index(state) if noise is None else index(state, drawn)
        early = jnp.inf if first == 1 else jnp.finfo(indices.dtype).max * inverse
        return argmax(among_available(available, jnp.where(ready, indices, early)))

    def update(state: IndexState, context: Offer | None, action: Array, reward: Array) -> IndexState:
        counts, means, n = estimator.update(state.counts, state.means, action, reward)
        # Not 1 / sqrt(n), which XLA turns into a reciprocal square root whose rounding depends on the vector's length.
        inverse = set_at(state.inverse_sqrt_counts, action, jnp.sqrt(1 / n))
        kept = state.deviations
        if kept is not None:  # Welford's recursion
            apart = (reward - get_at(state.means, action)) * (reward - get_at(means, action))
            kept = set_at(kept, action, get_at(kept, action) + apart)
        return IndexState(state.round + 1, counts, means, inverse, kept)

    return Algorithm(
        init=init,
        select=select,
        update=update,
        noise=none() if noise is None else noise,
        pulls=lambda state: state.counts,
        arms=Arms(num_arms),
        rewards=rewards,
        name=name,
    )
