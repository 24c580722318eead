"""Loops inside `shard_map`: a carry that begins equal on all devices must be declared to differ where a turn makes it.

JAX marks each array with the axes of the mesh along which it differs, and a loop must keep the marks of its carry.
"""

from collections.abc import Callable
from typing import Any

import jax
from jax import lax

from jaxbandit.support.types import PyTree


def as_after(body: Callable[[PyTree], PyTree], carry: PyTree) -> PyTree:
    """Return the carry of a loop with the marks that it has after a turn; outside of `shard_map`, as it is."""
    if not jax.sharding.get_abstract_mesh().manual_axes:
        return carry
    while True:
        after = jax.tree.map(_axes, jax.eval_shape(body, carry))
        missing = jax.tree.map(lambda x, axes: axes - _axes(jax.typeof(x)), carry, after)
        if not any(jax.tree.leaves(missing)):
            return carry
        # A turn from there may mark more; there are few axes.
        carry = jax.tree.map(lambda x, axes: lax.pcast(x, tuple(sorted(axes)), to="varying"), carry, missing)


def _axes(kind: Any) -> frozenset[str]:
    """Return the axes along which an array of this type differs between devices."""
    marks = kind.manual_axis_type
    return frozenset() if marks is None else marks.varying
