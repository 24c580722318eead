"""The benchmark of the allocation problem: microseconds per problem, compared with cvxpy and Clarabel.

Batches of 1, 100 and 10,000 random problems are solved in one call, compiled as the engine compiles. If cvxpy is
installed, it solves the same problems one after the other with Clarabel in the same process.
"""

import statistics
import sys
import time
from importlib import util
from typing import Any

import jax
import numpy as np

from benchmarks.columns import table as table_of
from jaxbandit.engine.layout.compiled import compile_program
from jaxbandit.theory.solvers.allocation import allocation

REPEATS = 3
LEVEL = 30.0
BESIDE = 10  # problems that cvxpy solves


def problems(num_arms: int, dim: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return random features on the sphere, float[count, num_arms, dim], and their gaps under a random theta."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(count, num_arms, dim))
    x /= np.linalg.norm(x, axis=-1, keepdims=True)
    theta = rng.normal(size=(count, dim))
    means = np.einsum("bad,bd->ba", x, theta / np.linalg.norm(theta, axis=1, keepdims=True))
    return x, means.max(1, keepdims=True) - means


def measure(quick: bool) -> list[dict[str, Any]]:
    """Return a row for each size of problem and batch; progress goes to stderr."""
    rows = []
    for num_arms, dim in ((3, 2), (5, 3)) if quick else ((3, 2), (3, 3), (5, 3), (20, 5)):
        for count in (100,) if quick else (1, 100, 10_000):
            row = measure_batch(num_arms, dim, count)
            rows.append(row)
            print(
                f"allocation K = {num_arms}, d = {dim}: {row['us_per_problem']:.2f} us each of {count}", file=sys.stderr
            )
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    """Return the rows as text."""
    return table_of(
        rows,
        "allocation -> K = {num_arms:2d}, d = {dim:2d} | batch -> {batch} | us each -> {us_per_problem:.2f}"
        "| gap -> {largest_gap:.1e} | compile s -> {compile_seconds:.2f} | cvxpy us -> {cvxpy_us:.0f}"
        "| faster -> {times_faster:.0f}x",
    )


def measure_batch(num_arms: int, dim: int, count: int) -> dict[str, Any]:
    """Return the row of `count` problems in one call."""
    features, gaps = problems(num_arms, dim, count)
    with jax.enable_x64(True):
        batch = jax.device_put(features), jax.device_put(gaps)
        begun = time.perf_counter()
        solve = compile_program(jax.vmap(lambda x, own: allocation(x, own, LEVEL)), jax.devices()[0], *batch)
        compiled = time.perf_counter() - begun
        found = jax.block_until_ready(solve(*batch))
        seconds = []
        for _ in range(REPEATS):
            begun = time.perf_counter()
            jax.block_until_ready(solve(*batch))
            seconds.append(time.perf_counter() - begun)
    cost, bound = np.asarray(found.cost), np.asarray(found.bound)
    row: dict[str, Any] = {
        "num_arms": num_arms,
        "dim": dim,
        "batch": count,
        "us_per_problem": statistics.median(seconds) / count * 1e6,
        "largest_gap": float(np.max((cost - bound) / np.where(cost > 0, cost, 1.0))),
        "compile_seconds": compiled,
    }
    if util.find_spec("cvxpy") is not None and util.find_spec("clarabel") is not None:
        row["cvxpy_us"] = _clarabel(features[:BESIDE], gaps[:BESIDE], cost) * 1e6
        row["times_faster"] = row["cvxpy_us"] / row["us_per_problem"]
    return row


def _clarabel(features: np.ndarray, gaps: np.ndarray, cost: np.ndarray) -> float:
    """Return the median seconds per problem of cvxpy with Clarabel, whose cost must agree with ours to 1e-4."""
    import cvxpy  # type: ignore

    seconds = []
    for x, own, ours in zip(features, gaps, cost, strict=False):
        begun = time.perf_counter()
        best = own <= 0
        rest = (x @ np.linalg.svd(x[best])[2][best.sum() :].T)[~best]
        scaled = rest / np.sqrt(own[~best])[:, None]
        costs = cvxpy.Variable(len(rest), nonneg=True)
        matrix = scaled.T @ cvxpy.diag(costs) @ scaled
        limits: list[Any] = [cvxpy.matrix_frac(v, matrix) <= 1 for v in rest / own[~best][:, None] * np.sqrt(LEVEL)]
        problem = cvxpy.Problem(cvxpy.Minimize(cvxpy.sum(costs)), limits)
        problem.solve(solver=cvxpy.CLARABEL)
        seconds.append(time.perf_counter() - begun)
        assert problem.status != "optimal" or abs(problem.value / ours - 1) < 1e-4, "cvxpy must agree"
    return statistics.median(seconds)
