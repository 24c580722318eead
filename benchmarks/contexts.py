"""The benchmark of rules on a context of floats, against NumPy: nanoseconds for a round of a run.

NumPy plays one run with contexts and noise that were drawn before, carries the inverse by rank-one updates, and treats
all arms in one call of a function; we draw the contexts as we go. The sizes are those of the experiments of the guide
on contexts, K = 10 and d = 8 with a model for each arm and K = 20 and d = 10 with one model, and larger ones.
"""

import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import jaxbandit as jb
from jaxbandit.engine.driver.horizon import simulate_cell

REPEATS = 3
DISJOINT, SHARED = ((10, 8), (10, 62), (100, 20)), ((20, 10), (20, 62), (1000, 20))  # K, d
FEATURES = 4  # of an arm, for hybrid models

Score = Callable[[np.ndarray, Callable[[], np.ndarray], np.ndarray], np.ndarray]  # of means, widths and K normals


def rules(num_arms: int, dim: int) -> dict[str, tuple[jb.Algorithm, Score | None]]:
    """Return each rule of a vector that all arms share, and the scores by which NumPy plays it; None if it does not."""
    shape = (dim,)
    arms = np.cos(np.arange(num_arms * FEATURES).reshape(num_arms, FEATURES)) / 2
    return {
        "lin_ucb_disjoint": (jb.lin_ucb_disjoint(num_arms, dim), ucb),
        "lin_ts_disjoint": (jb.lin_ts_disjoint(num_arms, dim), thompson),
        "lin_ucb_hybrid": (jb.lin_ucb_hybrid(arms, dim), None),
        **_ridge(num_arms, shape),
    }


def shared_rules(num_arms: int, dim: int) -> dict[str, tuple[jb.Algorithm, Score | None]]:
    """Return each rule of a row for each arm, in the same form; Thompson sampling draws theta, which needs a root."""
    return {
        "lin_ucb_shared": (jb.lin_ucb_shared(num_arms, dim), ucb),
        "lin_ts_shared": (jb.lin_ts_shared(num_arms, dim), None),
        **_ridge(num_arms, (num_arms, dim)),
    }


def _ridge(num_arms: int, shape: tuple[int, ...]) -> dict[str, tuple[jb.Algorithm, Score | None]]:
    return {
        "ridge_greedy": (jb.ridge_greedy(num_arms, shape), lambda means, widths, normals: means),
        "ridge_epsilon": (jb.ridge_epsilon(num_arms, shape), epsilon),
        "ridge_softmax": (jb.ridge_softmax(num_arms, shape), softmax),
    }


def ucb(means: np.ndarray, widths: Callable[[], np.ndarray], normals: np.ndarray) -> np.ndarray:
    """Return the scores of LinUCB with alpha = 1."""
    return means + widths()


def thompson(means: np.ndarray, widths: Callable[[], np.ndarray], normals: np.ndarray) -> np.ndarray:
    """Return the scores of Thompson sampling with sigma = 1."""
    return means + widths() * normals


def epsilon(means: np.ndarray, widths: Callable[[], np.ndarray], normals: np.ndarray) -> np.ndarray:
    """Return the means, or in about every 20th round the normals, of which any arm's may be the largest."""
    return normals if normals[0] > 1.645 else means


def softmax(means: np.ndarray, widths: Callable[[], np.ndarray], normals: np.ndarray) -> np.ndarray:
    """Return 1 up to the arm that softmax with temperature 0.1 draws by a uniform number, and 0 beyond."""
    weights = np.exp((means - means.max()) / 0.1)
    sums = np.cumsum(weights)
    return (sums > sums[-1] * (normals[0] % 1)).astype(float)


def numpy_seconds(shared: bool, num_arms: int, dim: int, score: Score, rounds: int) -> float:
    """Return the seconds of one run of NumPy; rewards are x' theta of the arm plus noise."""
    rng = np.random.default_rng(0)
    contexts = rng.normal(size=(rounds, num_arms, dim) if shared else (rounds, dim)) / np.sqrt(dim)
    normals, noise = rng.normal(size=(rounds, num_arms)), rng.normal(size=rounds)
    truth = rng.normal(size=dim if shared else (num_arms, dim))
    inverse = np.eye(dim) if shared else np.stack([np.eye(dim)] * num_arms)
    theta = np.zeros_like(truth)
    begin = time.perf_counter()
    for t in range(rounds):
        x = contexts[t]
        if shared:
            means, widths = x @ theta, lambda x=x: np.sqrt(np.sum((x @ inverse) * x, 1))
        else:
            means, widths = theta @ x, lambda x=x: np.sqrt(np.matmul(inverse, x) @ x)
        arm = int(np.argmax(score(means, widths, normals[t])))
        row, matrix, weights = (x[arm], inverse, theta) if shared else (x, inverse[arm], theta[arm])
        reward = row @ (truth if shared else truth[arm]) + noise[t]
        w = matrix @ row
        scale = 1 / (1 + row @ w)
        weights += w * ((reward - row @ weights) * scale)
        matrix -= np.outer(w, w * scale)
    return time.perf_counter() - begin


def measure(quick: bool) -> list[dict[str, Any]]:
    """Return a row for each rule and size; progress goes to stderr."""
    rows = []
    for sizes, of, shared in ((DISJOINT, rules, False), (SHARED, shared_rules, True)):
        for num_arms, dim in sizes[:1] if quick else sizes:
            numbers = num_arms * dim * (1 if shared else dim)
            runs, rounds = (256, 1_000) if numbers < 3_000 else (64, 200)
            rows += [
                measure_rule(name, *both, shared, num_arms, dim, runs, rounds)
                for name, both in of(num_arms, dim).items()
            ]
    return rows


def measure_rule(
    name: str,
    algorithm: jb.Algorithm,
    score: Score | None,
    shared: bool,
    num_arms: int,
    dim: int,
    runs: int,
    rounds: int,
) -> dict[str, Any]:
    """Return the row of one rule and size."""
    world = jb.linear_matrix if shared else jb.linear_vectors
    environment = world(num_arms=num_arms, dim=dim)

    def play() -> tuple[float, float]:
        found = simulate_cell(
            lambda _: (algorithm, environment), {}, horizon=rounds, num_runs=runs, checkpoints=[rounds], per_run=False
        )
        return found.run_seconds, found.compile_seconds

    compiled = play()[1]
    ours = statistics.median(play()[0] for _ in range(REPEATS)) / (runs * rounds) * 1e9
    row = {"rule": name, "arms": num_arms, "dim": dim, "runs": runs, "rounds": rounds, "compile_seconds": compiled}
    row |= {"ns": ours, "numpy_ns": None}
    if score is not None:
        once = [numpy_seconds(shared, num_arms, dim, score, rounds) for _ in range(REPEATS)]
        row["numpy_ns"] = statistics.median(once) / rounds * 1e9
    print(f"{name}, K = {num_arms}, d = {dim}: {ours:.0f} ns per run-step", file=sys.stderr)
    return row


def table(rows: list[dict[str, Any]]) -> str:
    """Return the rows as text."""
    head = f"{'contexts of floats':20s}{'K':>6s}{'d':>5s}{'runs':>6s}{'rounds':>8s}{'ns':>9s}{'NumPy ns':>10s}"
    lines = [f"{head}{'NumPy / ours':>14s}{'compile s':>11s}"]
    for row in rows:
        numpy = (
            ("", "") if row["numpy_ns"] is None else (f"{row['numpy_ns']:.0f}", f"{row['numpy_ns'] / row['ns']:.1f}")
        )
        lines.append(
            f"{row['rule']:20s}{row['arms']:6d}{row['dim']:5d}{row['runs']:6d}{row['rounds']:8d}{row['ns']:9.0f}"
            f"{numpy[0]:>10s}{numpy[1]:>14s}{row['compile_seconds']:11.1f}"
        )
    return "\n".join(lines)
