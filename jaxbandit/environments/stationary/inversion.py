"""Inversion of a discrete distribution by a walk up and down from a start near its mode."""

from collections.abc import Callable

import jax
import jax.numpy as jnp

from jaxbandit.base.types import Array


def walk(
    uniform: Array,
    start: Array,
    mass: Array,
    above: Callable[[Array, Array], Array],
    below: Callable[[Array, Array], Array],
) -> Array:
    """Return draws from a unimodal distribution on the integers, as floats.

    Probabilities are subtracted from `uniform` until it is used up.

    Args:
      uniform: float in [0, 1), of any shape.
      start: whole numbers as floats, where the walk starts.
      mass: the probability of `start`.
      above: function (mass, k) -> the probability of k + 1, from that of k.
      below: function (mass, k) -> the probability of k - 1, which is 0 at k = 0.
    """
    least = jnp.finfo(mass.dtype).eps / 4  # smaller probabilities are below the resolution of `uniform`

    def body(carry: tuple[Array, ...]) -> tuple[Array, ...]:
        k, done, left, up, down, high, low = carry
        high, low = above(high, up), below(low, down)
        up, down = up + 1, down - 1
        k = jnp.where(done, k, jnp.where(left < high, up, jnp.where(left < high + low, down, start)))
        done = done | (left < high + low) | (high + low < least)
        return k, done, left - high - low, up, down, high, low

    begin = (start, uniform < mass, uniform - mass, start, start, mass, mass)
    return jax.lax.while_loop(lambda carry: jnp.any(~carry[1]), body, begin)[0]
