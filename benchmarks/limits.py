"""What one core can do at most: bytes a second from cache and memory, operations a second of its vector units."""

import ctypes
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.yardstick import compiled

REPEATS = 5
NEAR, BEYOND = 1 << 19, 1 << 28  # bytes that stay in a core's second-level cache, and that do not
SOURCE = Path(__file__).with_name("fma_loop.c")
CHAINS, WIDTH, TURNS = 12, 16, 10_000_000  # the first two as in the source


def bandwidth(size: int) -> float:
    """Bytes a second that NumPy's copies within so many bytes move, read and written ones counted."""
    source, target = np.ones(size // 8, np.float32), np.zeros(size // 8, np.float32)
    times = max(1, BEYOND // size)
    return size * times / _seconds(lambda: [np.copyto(target, source) for _ in range(times)])


def operations() -> float:
    """Sums and products a second in float32, by a C loop that does nothing else; nan without a C compiler."""
    library = compiled(SOURCE)
    if library is None:
        return float("nan")
    turns = library.turns
    turns.restype, turns.argtypes = ctypes.c_float, [ctypes.c_long, ctypes.c_float, ctypes.c_float]
    return 2 * CHAINS * WIDTH * TURNS / _seconds(lambda: turns(TURNS, 0.5, 1.0))


def _seconds(work: Callable[[], object]) -> float:
    """Median seconds of processor time."""
    work()
    found = []
    for _ in range(REPEATS):
        begun = time.process_time()
        work()
        found.append(time.process_time() - begun)
    return statistics.median(found)
