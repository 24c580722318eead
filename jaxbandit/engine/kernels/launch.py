"""The launch of a kernel inside a JAX program, with public functions of JAX and without another package.

The call of XLA that it names is not documented. `eligible.py` tries it before it is relied on.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import jax
import numpy as np

from jaxbandit.support.types import Array

TARGET = "__gpu$xla.gpu.ptx"  # which gives a text in PTX to the driver, when a program is first executed


def launch(
    name: str,
    text: str,
    operands: Sequence[Array],
    results: Sequence[jax.ShapeDtypeStruct],
    blocks: int,
    threads: int,
    shared_bytes: int = 0,
    aliases: Mapping[int, int] = MappingProxyType({}),
) -> Sequence[Array]:
    """Launch a kernel by a call of XLA that gives its text to the driver; `aliases` are the results in place."""
    sizes = {"grid_x": blocks, "block_x": threads, "shared_mem_bytes": shared_bytes}
    sizes |= dict.fromkeys(("grid_y", "grid_z", "block_y", "block_z"), 1)
    attributes: Any = {field: np.int32(size) for field, size in sizes.items()}
    call = jax.ffi.ffi_call(TARGET, results, input_output_aliases=dict(aliases))
    return call(*operands, name=name, kernel_type="ptx", kernel_data=text, **attributes)
