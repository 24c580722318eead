"""The references of the benchmarks, run in the same process: UCB1 as a compiled C loop and as a NumPy loop."""

import ctypes
import shutil
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

SOURCE = Path(__file__).with_name("ucb1_loop.c")


def compiled(source: Path, *flags: str) -> ctypes.CDLL | None:
    """Return the compiled library of a C file for this processor; None without a C compiler."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        return None
    flags = ("-O3", "-march=native", "-ffast-math", "-shared", "-fPIC", *flags)
    with tempfile.TemporaryDirectory(prefix="jaxbandit-") as directory:
        library = str(Path(directory) / "loop.so")
        subprocess.run([compiler, *flags, str(source), "-o", library, "-lm"], check=True, capture_output=True)
        return ctypes.CDLL(library)


class Yardstick:
    """UCB1 on Bernoulli arms in C, on `threads` threads. `available` is False without a C compiler."""

    def __init__(self, num_arms: int, threads: int):
        self.means = np.linspace(0, 1, num_arms + 2, dtype=np.float32)[1:-1]
        self.threads = threads
        library = compiled(SOURCE, f"-DK={num_arms}")
        self.available = library is not None
        if library is not None:
            self._play = library.play
            self._play.restype = ctypes.c_double

    def seconds(self, runs: int, horizon: int) -> tuple[float, float]:
        """Return wall seconds of all runs on all threads, and the mean regret, which shows that the loop works."""
        level = np.zeros(horizon + 1, np.float32)
        level[1:] = np.sqrt(np.log(np.arange(1, horizon + 1)) / 2)
        pointer = ctypes.POINTER(ctypes.c_float)
        each = -(-runs // self.threads)

        def part(i: int) -> float:
            means, levels = (x.ctypes.data_as(pointer) for x in (self.means, level))
            number = max(min(each, runs - i * each), 0)
            return self._play(ctypes.c_int(number), ctypes.c_int(horizon), means, levels, ctypes.c_uint32(i * each))

        with ThreadPoolExecutor(self.threads) as pool:
            begun = time.perf_counter()
            regret = sum(pool.map(part, range(self.threads)))
            return time.perf_counter() - begun, regret / runs


def numpy_seconds(means: np.ndarray, runs: int, horizon: int) -> tuple[float, float]:
    """Return wall seconds and mean regret of UCB1 as a plain NumPy loop over rounds, vectorized over runs."""
    rng, lanes = np.random.default_rng(0), np.arange(runs)
    counts, mean = np.zeros((len(means), runs)), np.zeros((len(means), runs))
    begun = time.perf_counter()
    for t in range(1, horizon + 1):
        with np.errstate(divide="ignore", invalid="ignore"):  # no pulls yet
            arm = np.minimum(1, mean + np.sqrt(np.log(t) / 2 / counts)).argmax(0)
        if t <= len(means):
            arm = np.full(runs, t - 1)
        reward = rng.random(runs) < means[arm]
        counts[arm, lanes] += 1
        mean[arm, lanes] += (reward - mean[arm, lanes]) / counts[arm, lanes]
    seconds = time.perf_counter() - begun
    return seconds, float((counts * (means.max() - means)[:, None]).sum() / runs)
