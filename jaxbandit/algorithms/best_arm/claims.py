"""Which arms are certainly among the m best and which are not, if it is known of some pairs which arm is better.

A claim says that one arm is better than another; claims have no cycle. An arm is accepted if it is among the m best in
every order of the arms that agrees with the claims, and rejected if it is in none.
"""

import jax.numpy as jnp

from jaxbandit.support.numerics import as_float, dot
from jaxbandit.support.types import Array


def decided(claims: Array, undecided: Array, places: Array) -> tuple[Array, Array]:
    """Return which undecided arms are accepted and which are rejected, bool[num_arms] each.

    An arm that is better than all but fewer than `places` undecided ones is accepted, and one that is worse than at
    least `places` of them is rejected. Deciding again among the others would find no more.

    Args:
      claims: bool[num_arms, num_arms], [i, j] if arm i is better than arm j; without cycles.
      undecided: bool[num_arms], the arms among which is decided; claims about other arms are ignored.
      places: int[], how many of the undecided arms are among the m best, >= 1.
    """
    num_arms = undecided.shape[0]
    pairs = undecided[:, None] & undecided[None]
    better = (claims & pairs) | jnp.eye(num_arms, dtype=bool)
    for _ in range((num_arms - 2).bit_length()):  # chains of 1, 2, 4, ... claims; the longest has num_arms - 1
        better = dot(as_float(better), as_float(better)) > 0
    # Each counts the arm itself too.
    worse_ones, better_ones = jnp.sum(better, 1, dtype=jnp.int32), jnp.sum(better, 0, dtype=jnp.int32)
    size = jnp.sum(undecided, dtype=jnp.int32)
    return undecided & (worse_ones > size - places), undecided & (better_ones > places)
