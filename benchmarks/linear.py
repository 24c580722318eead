"""The benchmark of linear contextual bandits: LinUCB and OAM against d, K and M.

Each size is varied alone around K = 20 arms, d = 3 dimensions and M = 2 contexts; features are random on the sphere.
In ten dimensions OAM takes 180 microseconds per run-step, so that fewer runs and rounds are played there.
LinUCB and OAM are repeated in alternation on the same problem, so that their ratio holds if the machine drifts.
"""

import statistics
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.columns import table as table_of
from jaxbandit.engine.driver.simulate import simulate_cell
from jaxbandit.lab.specs.registry import ALGORITHMS, ENVIRONMENTS

REPEATS = 3
PLANE = [[1, 0], [0, 1], [0.9, 0.5]]  # Section 5.1 of OAM's paper, u = 0.1, and scenario one of 5.2
SPACE = [[[1, 0, 0], [0, 1, 0], [0.9, 0.5, 0]], [[0, 1, 0], [0, 0, 1], [0, 0.5, 0.9]]]
SIZES = [(20, 3, 2), (20, 2, 2), (20, 5, 2), (20, 10, 2), (3, 3, 2), (100, 3, 2), (20, 3, 1), (20, 3, 50)]  # K, d, M
FULL, FEW = (256, 2_000), (64, 500)  # runs and rounds; few from ten dimensions on

Problem = tuple[np.ndarray, np.ndarray, np.ndarray]  # action sets, probabilities, theta


def sphere(num_arms: int, dim: int, num_contexts: int) -> Problem:
    """Return random action sets, equally likely contexts, and theta, all of norm 1."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(num_contexts, num_arms, dim))
    return x / np.linalg.norm(x, axis=2, keepdims=True), np.full(num_contexts, 1 / num_contexts), np.eye(dim)[0]


def cases(quick: bool) -> list[tuple[str, Problem, int, int]]:
    """Return name, problem, runs and rounds of each row; those named "target" have the size of a stated goal."""
    plane = np.array([PLANE]), np.ones(1), np.array([1.0, 0.0])
    space = np.array(SPACE), np.array([0.3, 0.7]), np.array([1.0, 0.0, 1.0])
    runs = 500 if quick else 10_000
    targets = [
        ("target: 5.1, K = 3, d = 2, M = 1", plane, runs, runs),
        ("target: 5.2 one, K = 3, d = 3, M = 2", space, runs, runs),
        ("target: K = 100, d = 2, M = 1", sphere(100, 2, 1), runs, runs),
    ]
    if quick:
        return targets[:1]
    sizes = [(f"K = {k}, d = {d}, M = {m}", sphere(k, d, m), *(FULL if d < 10 else FEW)) for k, d, m in SIZES]
    return [*targets, *sizes]


def measure(quick: bool) -> list[dict[str, Any]]:
    """Return a row for each case; progress goes to stderr."""
    return [measure_case(*case) for case in cases(quick)]


def measure_case(name: str, problem: Problem, runs: int, rounds: int) -> dict[str, Any]:
    """Return the row of one problem."""
    play = {kind: _player(kind, problem, runs, rounds) for kind in ("lin_ucb", "oam")}
    row: dict[str, Any] = {"case": name, "runs": runs, "rounds": rounds}
    for kind in play:
        row[f"{kind}_compile_seconds"] = play[kind]()[1]
    seconds = [{kind: play[kind]()[0] for kind in play} for _ in range(REPEATS)]
    for kind in play:
        row[f"{kind}_seconds"] = statistics.median(s[kind] for s in seconds)
        row[f"{kind}_ns"] = row[f"{kind}_seconds"] / (runs * rounds) * 1e9
    row["times_lin_ucb"] = statistics.median(s["oam"] / s["lin_ucb"] for s in seconds)
    print(f"{name}: lin_ucb {row['lin_ucb_ns']:.1f}, oam {row['oam_ns']:.1f} ns per run-step", file=sys.stderr)
    return row


def table(rows: list[dict[str, Any]]) -> str:
    """Return the rows as text."""
    return table_of(
        rows,
        "linear contextual -> {case} | runs -> {runs} | rounds -> {rounds} | lin_ucb s -> {lin_ucb_seconds:.2f}"
        "| ns -> {lin_ucb_ns:.1f} | oam s -> {oam_seconds:.2f} | ns -> {oam_ns:.1f} | ratio -> {times_lin_ucb:.2f}"
        "| compile s -> {lin_ucb_compile_seconds:.1f} + {oam_compile_seconds:.1f}",
    )


def _player(kind: str, problem: Problem, runs: int, rounds: int) -> Callable[[], tuple[float, float]]:
    """Return a function that plays one cell and returns its run and compile seconds."""
    algorithm, environment = ALGORITHMS[kind].factory(), ENVIRONMENTS["linear_contextual"].factory()

    def make(problem: Problem) -> Any:
        return algorithm(problem[0], horizon=rounds), environment(*problem)

    def play() -> tuple[float, float]:
        found = simulate_cell(make, problem, horizon=rounds, num_runs=runs, checkpoints=[rounds], keep=())
        return found.run_seconds, found.compile_seconds

    return play
