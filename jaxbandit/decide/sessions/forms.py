"""With what the programs of a session are called: arrays of which form, and on which device."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.support.types import Device, PyTree


def form_of(context: PyTree) -> Any:
    """The structure, shapes and dtypes of a context."""
    if context is None or isinstance(context, np.ndarray):  # as most are
        return None if context is None else (context.shape, context.dtype)
    leaves, structure = jax.tree.flatten(context)
    return structure, tuple((x.shape, x.dtype) for x in map(as_array, leaves))


def as_array(x: Any) -> Any:
    """A leaf of what a program is given as an array."""
    return x if isinstance(x, jax.Array) else np.asarray(x)


def copy_of(state: PyTree) -> PyTree:
    """A state of a rule in buffers of its own."""
    with jax.enable_x64(True), jax.default_device(device()):
        return jax.tree.map(lambda x: jnp.array(x, copy=True), state)


def zeros_of(shapes: PyTree) -> PyTree:
    """Zeros of these shapes and dtypes, where a flag is True, as NumPy arrays."""
    return jax.tree.map(lambda x: np.full(x.shape, x.dtype == bool, x.dtype)[()], shapes)


def device() -> Device:
    """A CPU if there is one, because a decision is a small computation and the host waits for it."""
    try:
        return jax.local_devices(backend="cpu")[0]
    except RuntimeError:
        return jax.local_devices()[0]
