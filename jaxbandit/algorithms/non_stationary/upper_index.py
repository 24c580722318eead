"""The index of policies that forget or restart, UCB or kl; the frame of those that restart, and their forced pulls."""

from collections.abc import Callable
from typing import Any, Literal

import jax.numpy as jnp

from jaxbandit.base.contract import Algorithm, Arms, Phases, Rewards
from jaxbandit.support.numerics import argmax, as_float
from jaxbandit.support.types import Array, Key, Scalar
from jaxbandit.theory.solvers.kl import kl_upper

Index = Literal["ucb", "kl"]
NEVER = 2.0e9  # rounds; an upper limit for exploration periods that fits in an int32


def upper_index(form: Index, means: Array, level: Array, inverse_sqrt_counts: Array, xi: Scalar = 1.0) -> Array:
    """Return the index of each arm, float[num_arms], which is +inf at count 0, so that such arms come first.

    That is mean + sqrt(xi level / count) for "ucb", or the largest q with kl(mean, q) <= level / count for "kl", where
    means are clipped to [0, 1], which rounded sums may exceed. `inverse_sqrt_counts` is inf at count 0.
    """
    seen = jnp.isfinite(inverse_sqrt_counts)
    inverse = jnp.where(seen, inverse_sqrt_counts, 1.0)
    if form == "kl":
        value = kl_upper(jnp.clip(means, 0.0, 1.0), level * inverse**2)
    else:
        value = means + jnp.sqrt(as_float(xi) * level) * inverse
    return jnp.where(seen, value, jnp.inf)


def forced_arm(elapsed: Array, num_arms: int, share: Scalar) -> tuple[Array, Array]:
    """Return whether an arm is pulled regardless of its index, bool[], and which one, int32[].

    Each arm is pulled in turn at the start of every period of ceil(num_arms / share) rounds, and never if the share is
    0.
    """
    share = as_float(share)
    # A quotient that is an integer up to rounding counts as that integer.
    quotient = num_arms / jnp.maximum(share, num_arms / NEVER) * (1 - 4 * float(jnp.finfo(share.dtype).eps))
    arm = elapsed % jnp.ceil(quotient).astype(jnp.int32)
    return (share > 0) & (arm < num_arms), jnp.minimum(arm, num_arms - 1)


def restart_policy(
    num_arms: int,
    init: Callable[[Key], Any],
    select: Callable[[Any, Any, None], Any],
    update: Callable[[Any, None, Any, Array], Any],
    *,
    kinds: tuple[str, ...] = (),
    **more: Any,
) -> Algorithm:
    """Return the rule whose state has all `pulls`, those since the last restart as `recent`, and rounds by `kinds`."""
    return Algorithm(
        init=init,
        select=select,
        update=update,
        pulls=lambda state: state.pulls,
        recommend=lambda state: argmax(state.recent.counts),
        phases=Phases(kinds, lambda state: state.kinds) if kinds else None,
        arms=Arms(num_arms),
        rewards=Rewards(0.0, 1.0),
        **more,
    )
