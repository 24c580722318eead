"""SW-UCB: Garivier and Moulines (2011), Section 3: UCB on the rewards of a sliding window of rounds.

Difference: besides the UCB index of the paper there is a kl index.
"""

from typing import Annotated, NamedTuple

import jax.numpy as jnp

from jaxbandit.algorithms.non_stationary import tuned
from jaxbandit.algorithms.non_stationary.upper_index import Index, upper_index
from jaxbandit.base.arguments import Horizon, NumArms, NumChanges, Positive
from jaxbandit.base.contract import Algorithm, Arms, Rewards
from jaxbandit.base.declaration import declare
from jaxbandit.base.parameters import Arg
from jaxbandit.support import checks
from jaxbandit.support.domains import integer
from jaxbandit.support.numerics import argmax, as_float, get_at, set_at
from jaxbandit.support.types import Array, Key


class SwUcbState(NamedTuple):
    """The last rounds in a ring buffer, and the counts and sums of the arms over them."""

    round: Array  # int32[], the round about to be played, from 1
    arms: Array  # int32[window], the arm of round t at t - 1 mod window; -1 if there is no such round yet
    rewards: Array  # float[window]
    counts: Array  # int32[num_arms], pulls within the window
    sums: Array  # float[num_arms], sums of their rewards
    fresh: Array  # float[num_arms], sums of rewards since round was last 1 mod window, which replace `sums` at its end
    pulls: Array  # int32[num_arms]


@declare(
    question="regret",
    setting="changing",
    rewards="in [0, bound]",
    cost="O(K)",
    memory="O(K + W), for a window of W rounds",
    concrete=("bound",),
    tries={"xi": (0.6, 2.0), "bound": (1.0, 2.0)},
    settings=({"window": 7},),
)
def sw_ucb(
    num_arms: NumArms,
    *,
    window: Annotated[int, Arg(lambda given: integer(given["num_arms"], 2**31 - 1), within="an integer >= num_arms")]
    | None = None,
    index: Index = "ucb",
    xi: Positive = 0.6,
    bound: Positive = 1.0,
    horizon: Horizon | None = None,
    num_changes: NumChanges = 1,
) -> Algorithm:
    """UCB with the rewards in a sliding window, Garivier and Moulines 2011.

    The last `window` rounds, not pulls, count. With counts N_a and means over them, the index is mean_a + B sqrt(xi log
    min(t, window) / N_a). The kl index is the largest q with kl(mean_a, q) <= log min(t, window) / N_a.

    Guarantee: Regret O(sqrt(T Y log T)) for a known number of changes Y and gaps bounded away from 0 (Garivier and
    Moulines 2011); not with the index "kl" or xi of at most 1/2.

    In detail, this is for rewards in [0, B] and the default window, with a constant that grows as gaps shrink.

    Sums over the window are updated, and replaced by fresh ones at the end of every `window` rounds.

    Args:
      window: number of rounds remembered, an integer >= num_arms; None means the paper's floor(2 B sqrt(T log T / Y))
        for the horizon T and Y changes, and at least num_arms. Static. If it is at least the horizon, nothing is
        forgotten: the indices are those of UCB, or kl-UCB for the kl form, up to the rounding of sums.
      index: "ucb", or "kl" for rewards in [0, 1]; static.
      xi: factor of the logarithm in the UCB index.
      bound: largest reward B, and 1 for the kl index if window is given.
      horizon: number of rounds T of a run; only for the default of window.

    Returns:
      It recommends the arm pulled most within the window. Its state grows with the window.

    Raises:
      ValueError: neither window nor horizon is given.

    Source:
      Garivier and Moulines (2011), On upper-confidence bound policies for switching bandit problems, ALT, Section 3.
    """
    tuned.check_bound(bound, index)
    if window is None:
        if checks.is_traced(bound):
            raise ValueError("bound is traced and window = None; give window, whose default depends on bound")
        length_and_changes = tuned.tuned_for("window", horizon, num_changes)
        window = tuned.window(*length_and_changes, float(bound), num_arms)  # pyright: ignore[reportArgumentType]
    size = window

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
    )
