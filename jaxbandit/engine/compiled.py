"""Compiled functions: how they are compiled, and those of earlier calls, kept to be used again."""

import os
import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import jax

from jaxbandit.types import Device

LANE_MULTIPLE = 16  # one 512-bit vector of float32: no scalar remainder loop, whose rounding could differ
LANES_LEAST = 64  # shorter loops may be unrolled and rounded otherwise; below, a round costs its fixed overhead anyway
KEPT = 64
CPU_OPTIONS = {
    "xla_cpu_prefer_vector_width": 512,  # twice the default; the compiler falls back where the CPU does not have it
    "xla_cpu_multi_thread_eigen": False,
    # Not one library call a reduction: it stores its operand, splits it over threads, and waits for them.
    "xla_cpu_experimental_ynn_fusion_type": "",
}

LAPACK = "lapack_"  # how the targets of its calls begin
_alone = threading.Lock()

_kept: OrderedDict[Any, Any] = OrderedDict()  # least recently used first
_lock = threading.Lock()


def kept(key: Any, construct: Callable[[], Any]) -> Any:
    """Return what construct() gave for an equal key before, or call it."""
    with _lock:
        if key in _kept:
            _kept.move_to_end(key)
            return _kept[key]
    value = construct()
    with _lock:
        _kept[key] = value
        while len(_kept) > KEPT:
            _kept.popitem(last=False)
    return value


def compile(function: Callable, device: Device, *examples: Any, donate: tuple[int, ...] = ()) -> Any:
    """Compile `function` for the examples' shapes, with the options of the device's platform.

    On a CPU, functions with linear algebra from LAPACK play one at a time: each of its batches waits in one of the
    process's threads for the others, and two batches at once have waited for each other for ever (jaxlib 0.10.2).
    """
    options = CPU_OPTIONS if device.platform == "cpu" else None
    compiled = jax.jit(function, donate_argnums=donate).lower(*examples).compile(compiler_options=options)
    if device.platform != "cpu" or LAPACK not in (compiled.as_text() or ""):
        return compiled

    def alone(*arguments: Any) -> Any:
        with _alone:
            return jax.block_until_ready(compiled(*arguments))

    return alone


def cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def is_kept(key: Any) -> bool:
    """Whether kept(key, ...) would return at once."""
    with _lock:
        return key in _kept
