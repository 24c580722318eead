"""What the machine can do at most: bytes a second from cache and memory, operations a second of its vector units."""

import statistics
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

REPEATS = 5
SIDE = 1024  # of the matrices whose product counts operations; they fit a core's cache
NEAR, BEYOND = 1 << 19, 1 << 28


def bandwidth(threads: int, size: int) -> float:
    """Bytes a second that NumPy's copies move, read and written ones counted, by so many threads at once.

    Args:
      threads: how many copy at once, each its own arrays.
      size: bytes of the two arrays of a thread together: NEAR stays in a core's second-level cache, BEYOND does not.
    """
    arrays = [(np.zeros(size // 8, np.float32), np.ones(size // 8, np.float32)) for _ in range(threads)]
    times = max(1, BEYOND // size)

    def copy(i: int) -> None:
        for _ in range(times):
            np.copyto(*arrays[i])

    return size * times * threads / _seconds(threads, copy)


def operations(threads: int) -> float:
    """Sums and products a second in float32, by matrix products of the library that NumPy has, a thread each."""
    rng = np.random.default_rng(0)
    sides = [rng.normal(size=(2, SIDE, SIDE)).astype(np.float32) for _ in range(threads)]
    out = [np.empty((SIDE, SIDE), np.float32) for _ in range(threads)]
    return 2 * SIDE**3 * threads / _seconds(threads, lambda i: np.matmul(*sides[i], out=out[i]))


def _seconds(threads: int, work: Callable[[int], object]) -> float:
    """Median seconds in which all threads have done their part."""
    found = []
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, range(threads)))
        for _ in range(REPEATS):
            begun = time.perf_counter()
            list(pool.map(work, range(threads)))
            found.append(time.perf_counter() - begun)
    return statistics.median(found)
