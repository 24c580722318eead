"""How the time of a run-step grows with runs, arms, dimension and cores, compared with the limits of the machine.

Runs and arms: UCB1 on Bernoulli arms is compared with the project's C loop at the same size, and with the time to read
8 bytes per arm (its mean and its width) from the second-level cache or from memory. Dimension: LinUCB with 20 arms or
more is compared with the time to move the matrix that a step reads and writes, and with the time of the vector units
for its arithmetic. These are processor time of one worker, which other work on the machine hardly changes. Cores: one
worker is compared with all in wall time, which has to be measured on an idle machine. Compilation is not included, and
a figure is the median of several plays.
"""

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import limits
from benchmarks.scaling_figure import draw
from benchmarks.yardstick import Yardstick
from jaxbandit.engine.driver.execution import Execution
from jaxbandit.engine.driver.simulate import simulate_cell
from jaxbandit.engine.layout.compiled import cores
from jaxbandit.lab.specs.registry import ALGORITHMS, ENVIRONMENTS

REPEATS = 3
RUNS = (1, 4, 16, 64, 256, 1_024, 4_096, 16_384, 65_536, 262_144, 1_000_000)
ARMS = (2, 4, 9, 16, 32, 64, 100, 180, 320, 560, 1_000, 1_800, 3_200, 5_600, 10_000)
DIMENSIONS = (2, 3, 5, 8, 13, 20, 36, 60, 100)
LINEAR_ARMS, LINEAR_RUNS = 20, 256
LOOP_RUNS = 64  # of the C loop for many arms, which plays this many side by side
SECONDS = 0.4  # approximate length of a play
LEAST_ROUNDS = 1_000  # of nine arms: a run's beginning and end cost some hundred rounds
FIGURE = Path(__file__).with_name("figures") / "scaling.png"

Play = Callable[[Any, int, int], float]  # (arguments, runs, rounds) to seconds


def measure(quick: bool) -> dict[str, Any]:
    """Return rows against each axis and the limits of one core; progress goes to stderr."""
    few = slice(None, None, 7) if quick else slice(None)
    seconds = SECONDS / 50 if quick else SECONDS
    limit = {
        "cache": limits.bandwidth(limits.NEAR),
        "memory": limits.bandwidth(limits.BEYOND),
        "operations": limits.operations(),
    }
    both = (1, cores()) if cores() > 1 else (1,)
    return {
        "limits": limit,
        "runs": [plain(9, runs, seconds) for runs in RUNS[few]],
        "arms": [plain(k, int(np.clip(2**22 // k, 64, 1_024)), seconds) for k in ARMS[few]],
        "dimension": [linear(d, seconds) for d in DIMENSIONS[few]],
        "cores": [row for n in both for row in on_cores(n, seconds)],
    }


def plain(num_arms: int, runs: int, seconds: float, workers: int | None = None) -> dict[str, Any]:
    """Measure UCB1 on Bernoulli arms and the C loop: processor time of a core, or wall time on several workers."""
    beside = Yardstick(num_arms, workers or 1)
    means = beside.means.astype(float)
    rule, world = ALGORITHMS["ucb1"].factory(), ENVIRONMENTS["bernoulli"].factory()
    play = _player(lambda mu: (rule(num_arms), world(mu)), workers)
    found = _timed(play, means, runs, seconds, num_arms, LEAST_ROUNDS if num_arms <= 9 and seconds == SECONDS else 16)
    row = {"case": "ucb1", "arms": num_arms, "dim": 1, "runs": runs, **found}
    if beside.available:
        # More rounds than the first pulls, whose search a compiler may omit.
        rounds = max(found["rounds"], 4 * num_arms)
        number = runs if num_arms <= 9 else LOOP_RUNS * (workers or 1)
        times = [_loop_seconds(beside, number, rounds, by_clock=bool(workers)) for _ in range(REPEATS)]
        row["c_loop_ns"] = statistics.median(times) / (number * rounds) * 1e9
    return _said(row)


def linear(dim: int, seconds: float, workers: int | None = None) -> dict[str, Any]:
    """Measure LinUCB on random arms of the sphere, 20 or enough to span the space, in the same way."""
    rng = np.random.default_rng(0)
    features = rng.normal(size=(max(LINEAR_ARMS, dim + 1), dim))
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    rule, world = ALGORITHMS["lin_ucb"].factory(), ENVIRONMENTS["linear"].factory()
    play = _player(lambda x: (rule(x, horizon=1_000_000), world(x, np.eye(dim)[0])), workers)
    found = _timed(play, features, LINEAR_RUNS, seconds, dim * dim * len(features))
    return _said({"case": "lin_ucb", "arms": len(features), "dim": dim, "runs": LINEAR_RUNS, **found})


def on_cores(workers: int, seconds: float) -> list[dict[str, Any]]:
    """Measure three kinds of round on several workers: bound by fixed cost, by passes over arms, and by products."""
    rows = [plain(9, 4_096, seconds, workers), plain(1_000, 512, seconds, workers), linear(36, seconds, workers)]
    return [row | {"cores": workers} for row in rows]


def table(found: dict[str, Any]) -> str:
    """Return the rows as text, each with its limits."""
    cache, memory, operations = (found["limits"][name] / 1e9 for name in ("cache", "memory", "operations"))
    lines = [f"one core: cache {cache:.1f} GB/s, memory {memory:.1f} GB/s, vector units {operations:.0f} Gflop/s"]
    titles = {
        "runs": "against runs, 9 arms",
        "arms": "against arms",
        "dimension": f"against dimension, {LINEAR_ARMS} arms or more",
    }
    for axis, title in titles.items():
        head = f"{'ns/step':>13s}{'C loop':>10s}{'times':>7s}{'cache':>10s}{'memory':>10s}{'vectors':>10s}"
        lines += ["", f"{title:38s}{'runs':>9s}{head}"]
        for row in found[axis]:
            name = f"{row['case']}, K = {row['arms']}" + (f", d = {row['dim']}" if row["dim"] > 1 else "")
            loop = f"{row['c_loop_ns']:10.2f}{row['ns'] / row['c_loop_ns']:7.2f}" if "c_loop_ns" in row else " " * 17
            ours = f"{name:38s}{row['runs']:9d}{row['ns']:13.2f}{loop}"
            lines.append(ours + "".join(f"{bound:10.3f}" for bound in limits.least(row, found["limits"]).values()))
    lines += ["", f"{'against cores, wall time':38s}{'runs':>9s}{'ns/step':>13s}{'C loop':>10s}"]
    for row in found["cores"]:
        name = f"{row['case']}, K = {row['arms']}, d = {row['dim']}, {row['cores']} cores"
        loop = f"{row['c_loop_ns']:10.2f}" if "c_loop_ns" in row else ""
        lines.append(f"{name:38s}{row['runs']:9d}{row['ns']:13.2f}{loop}")
    return "\n".join(lines)


def figures(found: dict[str, Any]) -> list[Path]:
    """Draw the curves and return the path."""
    return [draw(found, FIGURE)]


def _player(make: Callable[[Any], Any], workers: int | None) -> Play:
    """Return a function that measures wall time on several workers, or processor time on one."""

    def play(arguments: Any, runs: int, rounds: int) -> float:
        options: dict[str, Any] = {
            "horizon": rounds,
            "num_runs": runs,
            "execution": Execution(workers=workers or 1),
            "keep": (),
        }
        begun = time.process_time()
        found = simulate_cell(make, arguments, checkpoints=[rounds], **options)
        return found.run_seconds if workers else time.process_time() - begun

    return play


def _loop_seconds(loop: Yardstick, runs: int, rounds: int, by_clock: bool) -> float:
    begun = time.process_time()
    seconds, _ = loop.seconds(runs, rounds)
    return seconds if by_clock else time.process_time() - begun


def _timed(play: Play, arguments: Any, runs: int, seconds: float, size: int, least_rounds: int = 16) -> dict[str, Any]:
    """Return the median nanoseconds per step of plays of about `seconds`; `size` sets the length of a first trial."""
    rounds = max(16, min(2_000, int(2e7 / (runs * size))))
    play(arguments, runs, rounds)  # compiles
    cost = play(arguments, runs, rounds) / rounds
    rounds = int(np.clip(seconds / cost, least_rounds, 500_000))
    ordered = sorted(play(arguments, runs, rounds) / (runs * rounds) * 1e9 for _ in range(REPEATS))
    return {"rounds": rounds, "ns": statistics.median(ordered), "least_ns": ordered[0], "most_ns": ordered[-1]}


def _said(row: dict[str, Any]) -> dict[str, Any]:
    size = f"K = {row['arms']}, d = {row['dim']}, {row['runs']} runs"
    print(f"{row['case']}, {size}: {row['ns']:.2f} ns a run-step", file=sys.stderr)
    return row
