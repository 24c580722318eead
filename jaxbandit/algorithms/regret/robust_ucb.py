"""Robust UCB: Bubeck, Cesa-Bianchi and Lugosi (2013), for rewards of which only a second moment is bounded.

The rewards are kept. The constants are those of the proofs: the first thousand rounds are nearly uniform.
"""

import math
from typing import Annotated, Literal, NamedTuple

import jax.numpy as jnp

from jaxbandit.base.arguments import NumArms, Positive
from jaxbandit.base.contract import Algorithm, Arms
from jaxbandit.base.declaration import declare
from jaxbandit.base.parameters import Arg
from jaxbandit.support.domains import integer
from jaxbandit.support.numerics import argmax, as_float, get_at, set_at
from jaxbandit.support.types import Array, Key


class RobustUcbState(NamedTuple):
    """All rewards, or for medians of means the sums of the first ones."""

    round: Array  # int32[], the round about to be played, from 1
    counts: Array  # int32[num_arms]
    # float[num_arms * length], the n-th reward of an arm, or the sum of its first n, at place arm * length + n: a
    # vector, of which a round writes one entry in place, where it would copy a matrix
    kept: Array


@declare(
    question="regret",
    rewards="of a bounded second moment",
    cost="O(K T), or O(K log T) for medians of means",
    memory="O(K T)",
    tries={"moment": (4.0, 1.0)},
    settings=({"horizon": 100}, {"horizon": 100, "estimator": "median of means"}),
)
def robust_ucb(
    num_arms: NumArms,
    *,
    moment: Positive,
    horizon: Annotated[int, Arg(integer(1, 10_000))],
    estimator: Literal["truncated", "median of means"] = "truncated",
) -> Algorithm:
    """UCB for heavy tails, with truncated means or medians of means, Bubeck et al. 2013.

    The index is a robust estimate of the mean plus its width. "truncated" is the mean of x_i 1(x_i^2 <= u i / (2 log
    t)) plus 4 sqrt(2 u log(t) / N), with x_i the i-th of the N rewards of the arm. "median of means" has max(1,
    floor(min(8 l, N / 2))) blocks of equally many rewards, l = 1/8 + 2 log t, and the width sqrt(192 v l / N). Each arm
    is pulled once first, and ties go to the lowest-numbered arm.

    Guarantee: Logarithmic regret for all rewards of such a moment (Bubeck, Cesa-Bianchi and Lugosi 2013).

    Args:
      moment: a bound, on u = E[reward^2] of every arm for "truncated", on the variance v for "median of means".
      horizon: number of rounds. A longer run is an error.
      estimator: "truncated" or "median of means".

    Source:
      Bubeck, Cesa-Bianchi and Lugosi (2013), Bandits with heavy tail, IEEE Transactions on Information Theory 59,
      Section 2.
    """
    truncated = estimator == "truncated"
    length = horizon + 1
    most = max(math.floor(min(8 * (1 / 8 + 2 * math.log(horizon)), horizon / 2)), 1)  # blocks

    def init(key: Key) -> RobustUcbState:
        counts = jnp.zeros(num_arms, jnp.int32)
        return RobustUcbState(jnp.ones((), jnp.int32), counts, jnp.zeros(num_arms * length))

    def of_truncated(state: RobustUcbState, n: Array, log_t: Array) -> Array:
        i = jnp.arange(length, dtype=jnp.int32)[None]
        kept = state.kept.reshape(num_arms, length)
        small = kept**2 * (2 * log_t) <= as_float(moment) * as_float(i)
        used = small & (i > 0) & (i <= state.counts[:, None])
        mean = jnp.sum(jnp.where(used, kept, 0.0), 1) / n
        return mean + 4 * jnp.sqrt(2 * as_float(moment) * log_t / n)

    def of_medians(state: RobustUcbState, n: Array, log_t: Array) -> Array:
        level = 1 / 8 + 2 * log_t
        blocks = jnp.maximum(jnp.floor(jnp.minimum(8 * level, n / 2)), 1.0)
        size = jnp.floor(n / blocks)
        ends = jnp.arange(most + 1, dtype=jnp.int32)[None] * size[:, None].astype(jnp.int32)
        places = jnp.minimum(ends, horizon) + length * jnp.arange(num_arms, dtype=jnp.int32)[:, None]
        sums = get_at(state.kept, places.reshape(-1)).reshape(places.shape)
        means = (sums[:, 1:] - sums[:, :-1]) / size[:, None]
        number = blocks.astype(jnp.int32)
        inside = jnp.arange(most, dtype=jnp.int32)[None] < number[:, None]
        ordered = jnp.sort(jnp.where(inside, means, jnp.inf), 1)
        middle = jnp.stack([(number - 1) // 2, number // 2], 1)
        median = jnp.mean(jnp.take_along_axis(ordered, middle, 1), 1)
        return median + jnp.sqrt(192 * as_float(moment) * level / n)

    def select(noise: None, state: RobustUcbState, context: None) -> Array:
        n, log_t = as_float(jnp.maximum(state.counts, 1)), jnp.log(as_float(state.round))
        index = (of_truncated if truncated else of_medians)(state, n, log_t)
        return argmax(jnp.where(state.counts > 0, index, jnp.inf))

    def update(state: RobustUcbState, context: None, action: Array, reward: Array) -> RobustUcbState:
        n = get_at(state.counts, action)
        place = action * length + n
        entry = reward if truncated else reward + get_at(state.kept, place)
        kept = set_at(state.kept, place + 1, entry)
        return RobustUcbState(state.round + 1, set_at(state.counts, action, n + 1), kept)

    return Algorithm(init, select, update, pulls=lambda state: state.counts, arms=Arms(num_arms), length=horizon)
