"""SW-UCB: Garivier and Moulines (2011), Section 3: UCB on the rewards of the last rounds alone.

Index mean_a + B sqrt(xi log min(t, window) / N_a) over the last `window` ROUNDS, not pulls. Differs: the kl form, which
the paper does not have, is the largest q with kl(mean_a, q) <= log min(t, window) / N_a.
"""

from typing import NamedTuple

import jax.numpy as jnp

from jaxbandit import checks
from jaxbandit.algorithms.non_stationary import tuned
from jaxbandit.algorithms.non_stationary.upper_index import INDICES, Index, upper_index
from jaxbandit.base import Algorithm, Arms, Rewards
from jaxbandit.numerics import argmax, as_float, get_at, set_at
from jaxbandit.types import Array, Key, Scalar


class SwUcbState(NamedTuple):
    """The last rounds in a ring, and the counts and sums of its arms."""

    round: Array  # int32[], the round about to be played, from 1
    arms: Array  # int32[window], of round t at t - 1 mod window; -1 where no round has been
    rewards: Array  # float[window]
    counts: Array  # int32[num_arms], pulls within the window
    sums: Array  # float[num_arms], their rewards
    fresh: Array  # float[num_arms], rewards since round was last 1 mod window: what sums are renewed by
    pulls: Array  # int32[num_arms]


def sw_ucb(
    num_arms: int,
    *,
    window: int | None = None,
    index: Index = "ucb",
    xi: Scalar = 0.6,
    bound: Scalar = 1.0,
    horizon: int | None = None,
    num_changes: int = 1,
) -> Algorithm:
    """Return sliding-window UCB, for means that change: it knows the last `window` rounds and nothing else.

    Sums of the window lose what leaves and gain what enters, and would drift where rewards are not whole numbers. So at
    the end of every `window` rounds they are replaced by the sums of just these rounds: no difference remains in them.

    Args:
      num_arms: number of arms, >= 1, static.
      window: rounds remembered, >= num_arms, static; None: floor(2 B sqrt(T log T / Y)) for the horizon T and Y
        changes, the paper's, at least num_arms. From the horizon on nothing is forgotten: the indices are those of
        UCB, in the kl form of kl-UCB, up to rounding, since means are quotients of sums here and running means there.
      index: "ucb", or "kl" for rewards in [0, 1]; static.
      xi: factor of the logarithm in the UCB form, > 0, traced. The paper proves its bound for xi > 1/2.
      bound: B, the largest reward, > 0, traced where window is given; 1 in the kl form.
      horizon: T, rounds of a run, >= 1, static; only for the default of window.
      num_changes: Y, changes of the means within the horizon, >= 1, static; only for that default.

    Returns:
      An Algorithm with actions int32[] in [0, num_arms) and rewards float[] in [0, bound]. It recommends the arm pulled
      most within the window. Its state grows with the window.

    Raises:
      ValueError: an argument is out of range, or neither window nor horizon is given.

    Source: Garivier and Moulines (2011), On upper-confidence bound policies for switching bandit problems, ALT.
    """
    where = "sw_ucb"
    num_arms = checks.integer(where, "num_arms", num_arms, 1)
    checks.choice(where, "index", index, INDICES)
    tuned.check_bound(where, bound, index)
    if window is None:
        if checks.is_traced(bound):
            raise ValueError(f"{where}: bound is traced and window = None, must be given: its default depends on bound")
        found = tuned.tuned_for(where, "window", horizon, num_changes)
        window = tuned.window(*found, float(bound), num_arms)  # pyright: ignore[reportArgumentType]
    size = checks.integer(where, "window", window, num_arms, 2**31 - 1)
    checks.number(where, "xi", xi, low=0.0, open_low=True)

    def init(key: Key) -> SwUcbState:
        zeros, none = jnp.zeros(num_arms), jnp.zeros(num_arms, jnp.int32)
        empty = jnp.full(size, -1, jnp.int32)
        return SwUcbState(jnp.ones((), jnp.int32), empty, jnp.zeros(size), none, zeros, zeros, none)

    def select(noise: None, state: SwUcbState, context: None) -> Array:
        level = jnp.log(as_float(jnp.minimum(state.round, size)))
        counts = as_float(state.counts)
        means = state.sums / jnp.maximum(counts, 1.0)
        return argmax(upper_index(index, means, level, jnp.sqrt(1 / counts), as_float(bound) ** 2 * as_float(xi)))

    def update(state: SwUcbState, context: None, action: Array, reward: Array) -> SwUcbState:
        slot = (state.round - 1) % size
        arms = jnp.arange(num_arms, dtype=jnp.int32)
        leaves, enters = arms == get_at(state.arms, slot), arms == action
        sums = state.sums - jnp.where(leaves, get_at(state.rewards, slot), 0.0)
        sums, fresh = sums + jnp.where(enters, reward, 0.0), state.fresh + jnp.where(enters, reward, 0.0)
        whole = slot == size - 1
        return SwUcbState(
            round=state.round + 1,
            arms=set_at(state.arms, slot, action),
            rewards=set_at(state.rewards, slot, reward),
            counts=state.counts - leaves.astype(jnp.int32) + enters.astype(jnp.int32),
            sums=jnp.where(whole, fresh, sums),
            fresh=jnp.where(whole, 0.0, fresh),
            pulls=state.pulls + enters.astype(jnp.int32),
        )

    return Algorithm(
        init=init,
        select=select,
        update=update,
        pulls=lambda state: state.pulls,
        recommend=lambda state: argmax(state.counts),
        arms=Arms(num_arms),
        rewards=Rewards(0.0, bound),
        name=where,
    )
