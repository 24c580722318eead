"""The benchmark of full-bandit top-k: seconds of Table 2, and microseconds per check.

Table 2 of Kuroki et al. (2019) has six crowd sets and three rules with 100 runs each, played as by `reproduce
fullbandit`, without compilation. For comparison, NumPy evaluates the stopping rule of SAQM for one run.

A check is peeling and the certified bound. It is measured on batches of 1, 100 and 1,000 inverse design matrices of
random supports, compiled as the engine compiles, with one thread per core. For comparison, NumPy peels one matrix after
the other in the same process: as Algorithm 1 is written ("loop"), and without storing the edge weights, as the library
does it ("lean").
"""

import statistics
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax
import numpy as np

from benchmarks.columns import table as table_of
from jaxbandit.engine.driver.identify import identify_cell
from jaxbandit.engine.layout.compiled import compile_program, cores
from jaxbandit.lab.specs.registry import ALGORITHMS, ENVIRONMENTS
from jaxbandit.support.types import Array
from jaxbandit.theory.solvers.densest import peeling
from jaxbandit.theory.solvers.quadratic_bound import upper_bound

REPEATS = 5
BESIDE = 20  # matrices that NumPy peels, in each repeat
DISTINCT = 8
K = 10  # arms in a super-arm of Table 2
CROWDS = {  # arms, random sets
    "it": (36, 81),
    "medicine": (45, 101),
    "chinese": (50, 112),
    "pokemon": (55, 124),
    "english": (63, 142),
    "science": (111, 250),
}
RULES: dict[str, dict[str, Any]] = {
    "icb": {"radius": "prop1"},
    "saqm": {"alpha": "fixed"},
    "sa_foa": {"eps_factor": 1.0},
}
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


def measure(quick: bool) -> list[dict[str, Any]]:
    """Return a row for each size and batch; progress goes to stderr."""
    rows = _played(quick)
    for size, k in ((111, 10),) if quick else ((24, 12), (111, 10), (1000, 50)):
        for runs in (100,) if quick else (1, 100, 1000):
            if 2 * runs * size**2 * 8 > MEMORY:
                print(f"n = {size}, {runs} runs: left out, needs more than 4 GiB", file=sys.stderr)
                continue
            row = measure_checks(size, k, runs)
            rows.append(row)
            print(
                f"n = {size}, k = {k}, {runs} runs: {row['us_per_check']:.1f} us per check, peeling alone "
                f"{row['us_per_peeling']:.1f}, {row['times_faster']:.1f} times faster than NumPy",
                file=sys.stderr,
            )
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    """Return the rows as text."""
    played = [row for row in rows if "rule" in row]
    rounds = table_of(
        played,
        "full-bandit top-k -> {dataset}, {rule} | runs -> {runs} | seconds -> {seconds:.2f}"
        "| us/eval -> {us_per_look:.1f} | compile s -> {compile_seconds:.2f} | NumPy us -> {numpy_us:.0f}",
    )
    checks = table_of(
        [row for row in rows if "rule" not in row],
        "full-bandit check -> n = {num_arms:4d}, k = {k:2d} | runs -> {runs} | us/check -> {us_per_check:.1f}"
        "| peeling -> {us_per_peeling:.1f} | compile s -> {compile_seconds:.2f} | NumPy loop -> {numpy_us:.0f}"
        "| faster -> {times_faster:.1f}x | NumPy lean -> {numpy_lean_us:.0f} | faster -> {times_faster_lean:.1f}x",
    )
    return f"{rounds}\ntotal: {sum(row['seconds'] for row in played):.2f} seconds\n\n{checks}"


def _played(quick: bool) -> list[dict[str, Any]]:
    """Return the rows of one run of SAQM on IT, and of Table 2."""
    cells = [("it", "saqm", 1), *((name, rule, 100) for name in (("it",) if quick else CROWDS) for rule in RULES)]
    return [measure_cell(*cell) for cell in cells]


def measure_cell(name: str, rule: str, runs: int, epsilon: float = 0.5) -> dict[str, Any]:
    """Return the row of one crowd set under one rule."""
    num_arms, sets = CROWDS[name]
    factory, told = ALGORITHMS[rule].factory(), {"k": K, "num_sets": sets, **RULES[rule]}
    crowd = ENVIRONMENTS["crowd"].factory()(name, feedback="full", k=K, blocks="normal")

    def make(given: Any) -> Any:
        return factory(num_arms, **told, epsilon=given["epsilon"], sigma=given["sigma"]), crowd

    given = {"epsilon": epsilon, "sigma": float(K)}
    first, *more = [identify_cell(make, given, num_runs=runs, max_rounds=2 * 10**9) for _ in range(3)]
    seconds = statistics.median(record.run_seconds for record in more)
    row = {"dataset": name, "rule": rule, "runs": runs, "seconds": seconds, "samples": float(first.samples.mean())}
    row |= {"us_per_look": seconds / first.run_steps * 1e6, "compile_seconds": first.compile_seconds}
    print(f"{name}, {rule}, {runs} runs: {seconds:.2f} s, {row['us_per_look']:.1f} us a look", file=sys.stderr)
    return row | {"numpy_us": _numpy_look(num_arms, sets)}


def _numpy_look(num_arms: int, num_sets: int) -> float:
    """Return the microseconds of one evaluation of SAQM's stopping rule in NumPy, the sums of its pulls included."""
    rng = np.random.default_rng(0)
    sets = (np.argsort(rng.random((num_sets, num_arms)), axis=1) < K).astype(float)
    inverse, response = np.linalg.pinv(sets.T @ sets), np.zeros(num_arms)
    begun = time.perf_counter()
    for t in range(1, 101):
        response += (sets.T @ rng.standard_normal(num_sets) - response) / t
        estimate = inverse @ response
        order = np.argpartition(-estimate, K)
        best = order[:K]
        _ = np.sqrt(inverse[best][:, best].sum()) + estimate[best].min() - estimate[order[K:]].max()
    return (time.perf_counter() - begun) / 100 * 1e6


def measure_checks(size: int, k: int, runs: int) -> dict[str, Any]:
    """Return the row of `runs` checks, each of its own matrix of `size` arms."""
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
        programs = [compile_program(jax.vmap(f), jax.devices()[0], batches[0]) for f in (check, peel)]
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
    """Return seconds per matrix over the first few; the sets must agree with ours."""
    count = max(1, min(len(members), BESIDE * 111 // weights.shape[1]))
    begun = time.perf_counter()
    found = [peel(matrix, k) for matrix in weights[:count]]
    taken = (time.perf_counter() - begun) / count
    assert np.array_equal(found, members[:count]), "the NumPy loop must agree"
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
