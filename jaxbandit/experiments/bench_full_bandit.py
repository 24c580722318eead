"""The part of `jaxbandit bench` on full-bandit top-k: microseconds a check, peeling and the certified bound.

Batches of 1, 100 and 1,000 inverse design matrices of random supports, compiled as the engine compiles, a thread a
core. Beside it, in the same process, peeling in NumPy, one matrix after the other: as Algorithm 1 is written ("loop"),
and with the edge weights never stored, as ours does it ("lean").
"""

import statistics
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax
import numpy as np

from jaxbandit.engine.compiled import compile, cores
from jaxbandit.solvers.densest import peeling
from jaxbandit.solvers.quadratic_bound import upper_bound
from jaxbandit.types import Array

REPEATS = 5
BESIDE = 20  # matrices that NumPy peels, in each repeat
DISTINCT = 8
MEMORY = 4 * 2**30  # bytes; the bound stores the matrices once more


def matrices(size: int, k: int, count: int) -> np.ndarray:
    """Return float[count, size, size], Lambda_p^-1 of random supports of 2.25 `size` sets; a few, repeated."""
    rng = np.random.default_rng(0)
    found = []
    while len(found) < min(count, DISTINCT):
        sets = (np.argsort(rng.random((9 * size // 4, size)), axis=1) < k).astype(float)
        design = sets.T @ sets / len(sets)
        if np.linalg.cond(design) < 1e10:
            found.append(np.linalg.inv(design))
    return np.resize(np.array(found), (count, size, size))


def bench_full_bandit(quick: bool) -> list[dict[str, Any]]:
    """Return a row a size and batch; progress goes to stderr."""
    rows = []
    for size, k in ((111, 10),) if quick else ((24, 12), (111, 10), (1000, 50)):
        for runs in (100,) if quick else (1, 100, 1000):
            if 2 * runs * size**2 * 8 > MEMORY:
                print(f"n = {size}, {runs} runs: left out, needs more than 4 GiB", file=sys.stderr)
                continue
            row = _row(size, k, runs)
            rows.append(row)
            print(
                f"n = {size}, k = {k}, {runs} runs: {row['us_per_check']:.1f} us a check, peeling alone "
                f"{row['us_per_peeling']:.1f}, {row['times_faster']:.1f} times faster than NumPy",
                file=sys.stderr,
            )
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    """The rows as text."""
    lines = [
        f"{'full-bandit top-k':20s}{'runs':>6s}{'us/check':>11s}{'peeling':>10s}{'compile s':>11s}"
        f"{'NumPy loop':>12s}{'faster':>8s}{'NumPy lean':>12s}{'faster':>8s}"
    ]
    lines += [
        f"n = {row['num_arms']:4d}, k = {row['k']:2d}{'':4s}{row['runs']:6d}{row['us_per_check']:11.1f}"
        f"{row['us_per_peeling']:10.1f}{row['compile_seconds']:11.2f}{row['numpy_us']:12.0f}"
        f"{row['times_faster']:7.1f}x{row['numpy_lean_us']:12.0f}{row['times_faster_lean']:7.1f}x"
        for row in rows
    ]
    return "\n".join(lines)


def _row(size: int, k: int, runs: int) -> dict[str, Any]:
    weights = matrices(size, k, runs)
    threads = min(cores(), runs)
    parts = np.array_split(weights, threads)
    parts[-1] = weights[-len(parts[0]) :]  # one program: equal shapes, at the price of an overlap

    def peel(matrix: Array) -> Array:
        return peeling(matrix, k)

    def check(matrix: Array) -> tuple[Array, Array]:
        return peel(matrix), upper_bound(matrix, k)

    with jax.enable_x64(True):
        batches = [jax.device_put(part) for part in parts]
        begun = time.perf_counter()
        programs = [compile(jax.vmap(f), jax.devices()[0], batches[0]) for f in (check, peel)]
        compiled = time.perf_counter() - begun
        with ThreadPoolExecutor(threads) as pool:

            def seconds(program: Callable) -> float:
                begun = time.perf_counter()
                list(pool.map(lambda batch: jax.block_until_ready(program(batch)), batches))
                return time.perf_counter() - begun

            members = np.asarray(programs[1](batches[0]))
            checks, peelings, loops, leans = [], [], [], []
            for _ in range(REPEATS):
                checks.append(seconds(programs[0]) / runs)
                peelings.append(seconds(programs[1]) / runs)
                loops.append(_numpy_seconds(numpy_peeling, weights, k, members))
                leans.append(_numpy_seconds(numpy_lean, weights, k, members))
    return {
        "num_arms": size,
        "k": k,
        "runs": runs,
        "us_per_check": statistics.median(checks) * 1e6,
        "us_per_peeling": statistics.median(peelings) * 1e6,
        "compile_seconds": compiled,
        "numpy_us": statistics.median(loops) * 1e6,
        "times_faster": statistics.median(n / p for n, p in zip(loops, peelings, strict=True)),
        "numpy_lean_us": statistics.median(leans) * 1e6,
        "times_faster_lean": statistics.median(n / p for n, p in zip(leans, peelings, strict=True)),
    }


def _numpy_seconds(peel: Callable, weights: np.ndarray, k: int, members: np.ndarray) -> float:
    """Seconds a matrix, over the first few; the sets must be ours."""
    count = max(1, min(len(members), BESIDE * 111 // weights.shape[1]))
    begun = time.perf_counter()
    found = [peel(matrix, k) for matrix in weights[:count]]
    taken = (time.perf_counter() - begun) / count
    assert np.array_equal(found, members[:count]), "the loop beside must agree"
    return taken


def numpy_peeling(weights: np.ndarray, k: int) -> np.ndarray:
    """Algorithm 1 with greedy peeling, as a plain NumPy loop."""
    own = weights.diagonal()
    edges = weights + own[:, None] + own[None]
    np.fill_diagonal(edges, 0.0)
    degrees, left = edges.sum(1), np.ones(len(weights), bool)
    for _ in range(len(weights) - k):
        vertex = np.argmin(np.where(left, degrees, np.inf))
        left[vertex] = False
        degrees -= edges[vertex]
    return left


def numpy_lean(weights: np.ndarray, k: int) -> np.ndarray:
    """The same without the edge weights."""
    own = weights.diagonal().copy()
    degrees = weights.sum(1) + (len(weights) - 3) * own
    for _ in range(len(weights) - k):
        vertex = degrees.argmin()
        degrees -= weights[vertex]
        degrees -= own
        degrees[vertex] = np.inf
    return degrees < np.inf
