"""The limits of one core: bytes per second from cache and memory, operations per second of its vector units."""

import ctypes
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.yardstick import compiled

REPEATS = 5
NEAR, BEYOND = 1 << 19, 1 << 28  # bytes that stay in a core's second-level cache, and that do not
SOURCE = Path(__file__).with_name("fma_loop.c")
CHAINS, WIDTH, TURNS = 12, 16, 10_000_000  # the first two as in the source


def bandwidth(size: int) -> float:
    """Return the bytes per second that NumPy's copies within an array of this size read and write."""
    source, target = np.ones(size // 8, np.float32), np.zeros(size // 8, np.float32)
    times = max(1, BEYOND // size)
    return size * times / _seconds(lambda: [np.copyto(target, source) for _ in range(times)])


def operations() -> float:
    """Return sums and products per second in float32 of a C loop that does nothing else; nan without a C compiler."""
    library = compiled(SOURCE)
    if library is None:
        return float("nan")
    turns = library.turns
    turns.restype, turns.argtypes = ctypes.c_float, [ctypes.c_long, ctypes.c_float, ctypes.c_float]
    return 2 * CHAINS * WIDTH * TURNS / _seconds(lambda: turns(TURNS, 0.5, 1.0))


def _seconds(work: Callable[[], object]) -> float:
    """Return the median processor time in seconds."""
    work()
    found = []
    for _ in range(REPEATS):
        begun = time.process_time()
        work()
        found.append(time.process_time() - begun)
    return statistics.median(found)


def least(row: dict[str, Any], limit: dict[str, float]) -> dict[str, float]:
    """Return the nanoseconds of a step if only the cache, the memory or the vector units of a core limited it.

    UCB1 must read an arm's mean and width; its index and search are four operations per arm. LinUCB must read and write
    the root of the inverse; the variances of all arms take arms * dim^2 products and sums, its update three of dim^2.
    """
    arms, dim = row["arms"], row["dim"]
    size, work = (8 * arms, 4 * arms) if row["case"] == "ucb1" else (8 * dim**2, 2 * (arms + 3) * dim**2)
    amounts = {"cache": size, "memory": size, "operations": work}
    return {name: amount / limit[name] * 1e9 for name, amount in amounts.items()}
