"""How the time of a run-step grows: against runs, arms, dimension and cores, each beside a limit of the machine.

Runs and arms: UCB1 on Bernoulli arms, beside the project's C loop at the same size and the time in which the 8 bytes
of each arm that a round must read, its mean and its width, come from the second-level cache or from the memory.
Dimension: LinUCB with 20 arms or more, beside the time in which the matrix that a step reads and writes moves, and that
in which the vector units do its arithmetic. Cores: one worker beside two. Compilation is left out; a figure is the
median of several plays.
"""

import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import limits
from benchmarks.yardstick import Yardstick
from jaxbandit.engine.compiled import cores
from jaxbandit.engine.horizon import simulate_cell
from jaxbandit.specs.registry import ALGORITHMS, ENVIRONMENTS

REPEATS = 5
RUNS = (1, 4, 16, 64, 256, 1_024, 4_096, 16_384, 65_536, 262_144, 1_000_000)
ARMS = (2, 4, 9, 16, 32, 64, 100, 180, 320, 560, 1_000, 1_800, 3_200, 5_600, 10_000)
DIMENSIONS = (2, 3, 5, 8, 13, 20, 36, 60, 100)
LINEAR_ARMS = 20
SECONDS = 0.5  # of a play, about
FIGURE = Path(__file__).with_name("figures") / "scaling.png"

Rows = list[dict[str, Any]]


def measure(quick: bool) -> dict[str, Any]:
    """Return rows against each axis and the limits; progress goes to stderr."""
    few = slice(None, None, 5) if quick else slice(None)
    seconds = SECONDS / 50 if quick else SECONDS
    both = (1, cores()) if cores() > 1 else (1,)
    limit = {
        "cache": {n: limits.bandwidth(n, limits.NEAR) for n in both},
        "memory": {n: limits.bandwidth(n, limits.BEYOND) for n in both},
        "operations": {n: limits.operations(n) for n in both},
    }
    # Enough runs to fill the tiles of all workers, and few enough for many rounds.
    side_by_side = {k: int(np.clip(2**24 // k, 256, 4_096)) for k in ARMS}
    return {
        "limits": limit,
        "runs": [plain(9, runs, seconds) for runs in RUNS[few]],
        "arms": [plain(k, side_by_side[k], seconds) for k in ARMS[few]],
        "dimension": [linear(d, seconds) for d in DIMENSIONS[few]],
        "cores": [row for n in both for row in on_cores(n, seconds)],
    }


def plain(num_arms: int, runs: int, seconds: float, workers: int | None = None) -> dict[str, Any]:
    """UCB1 on Bernoulli arms, and the C loop on as many threads."""
    beside = Yardstick(num_arms, workers or cores())
    play = _player(lambda mu: (ALGORITHMS["ucb1"].factory()(num_arms), ENVIRONMENTS["bernoulli"].factory()(mu)))
    found = _timed(play, beside.means.astype(float), runs, seconds, num_arms, workers)
    row = {"case": "ucb1", "arms": num_arms, "dim": 1, "runs": runs, **found}
    if beside.available:
        row["c_loop_ns"] = statistics.median(
            beside.seconds(runs, found["rounds"])[0] / (runs * found["rounds"]) * 1e9 for _ in range(REPEATS)
        )
    return _said(row)


def linear(dim: int, seconds: float, workers: int | None = None) -> dict[str, Any]:
    """LinUCB on random arms of the sphere."""
    rng = np.random.default_rng(0)
    features = rng.normal(size=(LINEAR_ARMS * (1 + dim // LINEAR_ARMS), dim))  # enough to span
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    rule, world = ALGORITHMS["lin_ucb"].factory(), ENVIRONMENTS["linear"].factory()
    play = _player(lambda x: (rule(x, horizon=1_000_000), world(x, np.eye(dim)[0])))
    found = _timed(play, features, 512, seconds, dim * dim * 3, workers)
    return _said({"case": "lin_ucb", "arms": len(features), "dim": dim, "runs": 512, **found})


def on_cores(workers: int, seconds: float) -> Rows:
    """The three kinds of a round on so many workers: bound by calls, by passes over arms, by products."""
    rows = [plain(9, 4_096, seconds, workers), plain(1_000, 2_048, seconds, workers), linear(36, seconds, workers)]
    return [row | {"cores": workers} for row in rows]


def least(row: dict[str, Any], limit: dict[str, Any], threads: int) -> dict[str, float]:
    """Nanoseconds of a step if the cache, the memory or the vector units were all that bound it.

    UCB1 must read an arm's mean and width; its index and search are four operations an arm. LinUCB must read and write
    the root of the inverse; the variances of all arms take arms * dim^2 products, its update three of dim^2.
    """
    arms, dim = row["arms"], row["dim"]
    size, work = (8 * arms, 4 * arms) if row["case"] == "ucb1" else (8 * dim**2, 2 * (arms + 3) * dim**2)
    amounts = {"cache": size, "memory": size, "operations": work}
    return {name: amount / limit[name][threads] * 1e9 for name, amount in amounts.items()}


def table(found: dict[str, Any]) -> str:
    """The rows as text, each beside its limits."""
    limit, lines = found["limits"], []
    for n in limit["memory"]:
        cache, memory, operations = (limit[name][n] / 1e9 for name in ("cache", "memory", "operations"))
        lines.append(f"{n} cores: cache {cache:.1f} GB/s, memory {memory:.1f} GB/s, vectors {operations:.0f} Gflop/s")
    titles = {
        "runs": "against runs, 9 arms",
        "arms": "against arms",
        "dimension": f"against dimension, {LINEAR_ARMS} arms or more",
        "cores": "against cores",
    }
    for axis, title in titles.items():
        head = f"{'ns/step':>12s}{'C loop':>11s}{'times':>7s}{'cache':>10s}{'memory':>10s}{'vectors':>10s}"
        lines += ["", f"{title:38s}{'runs':>9s}{head}"]
        for row in found[axis]:
            name = row["case"] + {"runs": "", "arms": f", K = {row['arms']}"}.get(axis, f", d = {row['dim']}")
            if axis == "cores":
                name = f"{row['case']}, K = {row['arms']}, d = {row['dim']}, {row['cores']} cores"
            loop = f"{row['c_loop_ns']:11.2f}{row['ns'] / row['c_loop_ns']:7.2f}" if "c_loop_ns" in row else " " * 18
            bounds = least(row, limit, row.get("cores", max(limit["memory"]))).values()
            ours = f"{name:38s}{row['runs']:9d}{row['ns']:12.2f}{loop}"
            lines.append(ours + "".join(f"{bound:10.3f}" for bound in bounds))
    return "\n".join(lines)


def figures(found: dict[str, Any]) -> list[Path]:
    """Draw the four curves and return the path."""
    from benchmarks.scaling_figure import draw

    return [draw(found, FIGURE)]


def _player(make: Callable[[Any], Any]) -> Callable[..., Any]:
    def play(arguments: Any, runs: int, rounds: int, workers: int | None) -> float:
        options: dict[str, Any] = {"horizon": rounds, "num_runs": runs, "workers": workers, "per_run": False}
        return simulate_cell(make, arguments, checkpoints=[rounds], **options).run_seconds

    return play


def _timed(
    play: Callable[..., float], arguments: Any, runs: int, seconds: float, size: int, workers: int | None
) -> dict[str, Any]:
    """Median nanoseconds a step of plays of about so many seconds; `size` guesses how long a first look may be."""
    rounds = max(64, min(2_000, int(1e8 / (runs * size))))
    play(arguments, runs, rounds, workers)  # compiles
    cost = play(arguments, runs, rounds, workers) / rounds
    rounds = int(np.clip(seconds / cost, 64, 1_000_000))
    times = [play(arguments, runs, rounds, workers) for _ in range(REPEATS)]
    ordered = sorted(seconds / (runs * rounds) * 1e9 for seconds in times)
    return {"rounds": rounds, "ns": statistics.median(ordered), "least_ns": ordered[0], "most_ns": ordered[-1]}


def _said(row: dict[str, Any]) -> dict[str, Any]:
    print(
        f"{row['case']}, K = {row['arms']}, d = {row['dim']}, {row['runs']} runs: {row['ns']:.2f} ns", file=sys.stderr
    )
    return row
