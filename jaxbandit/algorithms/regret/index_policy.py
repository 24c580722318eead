"""The common frame of index policies: pull each arm once, then always the arm with the largest index.

Ties go to the lowest-numbered arm. An arm without a reward comes first whatever the round, because with delayed
feedback the round number runs ahead of the rewards. Of an `Offer`, only available arms are compared.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp

from jaxbandit.base.contract import Algorithm, Arms, Offer, Rewards, none
from jaxbandit.base.offers import among_available, available_of
from jaxbandit.support import checks
from jaxbandit.support.domains import integer
from jaxbandit.support.numerics import argmax, exploration_level, set_at
from jaxbandit.support.types import Array, Key, PyTree, Scalar
from jaxbandit.theory.estimators import counts as estimator
from jaxbandit.theory.estimators.counts import Counts, Squares


class IndexState(NamedTuple):
    """The statistics from which the indices of the arms are computed."""

    round: Array  # int32[], the round about to be played, from 1
    arms: Counts
    inverse_sqrt_counts: Array  # float[num_arms], 1 / sqrt(counts), inf at 0; cached, one entry changes per round
    deviations: Squares | None = None  # `squares` if they are kept, and their rounding errors

    @property
    def counts(self) -> Array:
        """Pulls of each arm, int32[num_arms]."""
        return self.arms.counts

    @property
    def means(self) -> Array:
        """Empirical means, float[num_arms]; of rewards minus the first one of the run if the policy is `invariant`."""
        return self.arms.means

    @property
    def squares(self) -> Array:
        """Sums of (reward - mean)^2, float[num_arms], never negative; raise TypeError if they are not kept."""
        if self.deviations is None:
            raise TypeError("the index reads `squares`, which are not kept: declare index_policy(.., squares=True)")
        return self.deviations[0]


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
    invariant: bool = False,
    noise: Callable[[Key], PyTree] | None = None,
    rewards: Rewards | None = None,
) -> Algorithm:
    """Return the policy that pulls the argmax of `index(state)` after `first` pulls of each arm.

    The index of an arm with fewer rewards is not used, so it may be anything, including NaN. Of these arms the one with
    the fewest rewards comes first.

    Args:
      index: function from an IndexState to one index per arm, float[num_arms]; of a policy with noise, from the
        IndexState and the noise of the round.
      first: number of rewards that an index needs; static.
      squares: whether the state keeps `squares`; static.
      invariant: whether all indices change by the same number if all means do, so that decisions do not depend on the
        zero of the rewards; static. The index then reads means of rewards minus the first reward of the run, which in
        float32 differ as exactly for rewards about 10^6 as about 0.
    """
    num_arms = checks.take(f"{name}: num_arms", num_arms, integer(1))

    def init(key: Key) -> IndexState:
        arms = estimator.init(num_arms, from_first=invariant)
        kept = estimator.no_squares(arms) if squares else None
        return IndexState(jnp.ones((), jnp.int32), arms, jnp.full(num_arms, jnp.inf), kept)

    def select(drawn: PyTree, state: IndexState, context: Offer | None) -> Array:
        inverse = state.inverse_sqrt_counts
        ready = inverse < jnp.inf if first == 1 else state.counts >= first
        available = available_of(context)
        if available is not None:  # an index may depend on the largest mean
            means = jnp.where(available, state.means, -jnp.inf)
            state = state._replace(arms=state.arms._replace(means=means))
        indices = index(state) if noise is None else index(state, drawn)
        if jnp.shape(indices) != (num_arms,):  # one index would be taken for all arms, which then tie
            raise ValueError(f"index has shape {jnp.shape(indices)}, must be ({num_arms},), an index for each arm")
        early = jnp.inf if first == 1 else jnp.finfo(indices.dtype).max * inverse
        return argmax(among_available(available, jnp.where(ready, indices, early)))

    def update(state: IndexState, context: Offer | None, action: Array, reward: Array) -> IndexState:
        arms, n = estimator.update(state.arms, action, reward)
        # Not 1 / sqrt(n), which XLA turns into a reciprocal square root whose rounding depends on the vector's length.
        inverse = set_at(state.inverse_sqrt_counts, action, jnp.sqrt(1 / n))
        kept = state.deviations
        if kept is not None:
            kept = estimator.add_square(kept, state.arms, arms, action, reward)
        return IndexState(state.round + 1, arms, inverse, kept)

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
