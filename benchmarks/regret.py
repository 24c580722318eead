"""The benchmark of plain arms: nanoseconds per run-step and per arm-round of every algorithm, against C and NumPy.

Compile time is reported separately. A figure is the median of several repeats, and the two sides of a ratio are
measured one right after the other, so that it holds if the speed of the machine drifts.
"""

import itertools
import statistics
import sys
from typing import Any

import numpy as np

from benchmarks.columns import table as table_of
from benchmarks.yardstick import Yardstick, numpy_seconds
from jaxbandit.engine.driver.simulate import simulate_cell
from jaxbandit.engine.layout.compiled import cores
from jaxbandit.lab.specs.registry import ALGORITHMS, ENVIRONMENTS

REPEATS = 5
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "ucb(bq)": ("ucb", {"distance": "bq"}),
    "ucb(h)": ("ucb", {"distance": "h"}),
    "ucb(lb)": ("ucb", {"distance": "lb"}),
    "ucb(t)": ("ucb", {"distance": "t"}),
}
SKIPPED = {"ucb"}  # played by its variants


def measure(quick: bool) -> list[dict[str, Any]]:
    """Return a row for each algorithm, number of arms and number of runs; progress goes to stderr."""
    rows = []
    for num_arms in (9,) if quick else (9, 100, 1000):
        for runs in (10_000,) if quick else (1, 100, 10_000):
            rows += block(num_arms, runs, 3.0 if (num_arms, runs) == (9, 10_000) else 0.8)
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    """Return the rows as text."""
    columns = (
        "algorithm -> {algorithm} | ns/run-step -> {ns_per_run_step:.2f} | ns/arm-round -> {ns_per_arm_round:.3f}"
        "| x ucb1 -> {times_ucb1:.2f} | compile s -> {compile_seconds:.2f}"
    )
    parts = []
    for (arms, runs), some in itertools.groupby(rows, key=lambda row: (row["arms"], row["runs"])):
        first, *others = some
        beside = ["C loop {c_loop_ns:.2f} ns (ucb1 takes {times_c_loop:.2f} times that)"] * ("c_loop_ns" in first)
        beside += ["NumPy loop {numpy_ns:.1f} ns"] * ("numpy_ns" in first)
        references = f"references for ucb1, per run-step: {'; '.join(beside)}".format_map(first)
        parts.append(f"{arms} arms, {runs} runs\n{references}\n{table_of([first, *others], columns)}")
    return "\n\n".join(parts)


def _algorithms(only: str) -> dict[str, tuple[str, dict[str, Any]]]:
    entries = {name: (name, {}) for name in ALGORITHMS if _is_plain(name) and name not in SKIPPED}
    chosen = {"ucb1": entries.pop("ucb1"), **VARIANTS, **entries}
    return {name: entry for name, entry in chosen.items() if only in name or name == "ucb1"}


def _is_plain(name: str) -> bool:
    """Return whether an algorithm needs only the number of arms; those for changing means are in `non_stationary`."""
    entry = ALGORITHMS[name]
    required = {p.name for p in entry.parameters().values() if p.required}
    return entry.kind == "simulate" and required == {"num_arms"} and "num_changes" not in entry.arguments


def block(num_arms: int, runs: int, seconds: float, only: str = "") -> list[dict[str, Any]]:
    """Return a row for each algorithm at one size, with a repeat of ucb1 and of the C loop next to each repeat.

    Args:
      num_arms: Bernoulli arms.
      runs: runs side by side.
      seconds: approximate time of all repeats of an algorithm.
      only: measure ucb1 and the algorithms whose name contains this.
    """
    yardstick = Yardstick(num_arms, cores())
    means = yardstick.means.astype(np.float64)
    bernoulli = ENVIRONMENTS["bernoulli"].factory()
    makers = {}
    for name, (kind, arguments) in _algorithms(only).items():
        factory = ALGORITHMS[kind].factory()
        makers[name] = lambda mu, f=factory, a=arguments: (f(num_arms, **a), bernoulli(mu))

    def play(name: str, horizon: int) -> tuple[float, float, float]:
        record = simulate_cell(makers[name], means, horizon=horizon, num_runs=runs, checkpoints=[horizon])
        return record.run_seconds / record.run_steps * 1e9, record.compile_seconds, record.mean[-1]

    rows: list[dict[str, Any]] = []
    for name in makers:
        # Rounds for about `seconds` over all repeats, from a first measurement of the cost.
        horizon = max(8, min(500, int(2e7 / (runs * num_arms))))
        _, compiled, _ = play(name, horizon)
        cost, _, _ = play(name, horizon)
        horizon = int(np.clip(seconds / REPEATS / (cost * 1e-9 * runs), horizon, 10_000))
        ours, base, loop = [], [], []
        regret = float("nan")
        for _ in range(REPEATS):
            step, _, regret = play(name, horizon)
            ours.append(step)
            base.append(step if name == "ucb1" else play("ucb1", horizon)[0])
            if name == "ucb1" and yardstick.available:
                loop.append(yardstick.seconds(runs, horizon)[0] / (runs * horizon) * 1e9)
        row: dict[str, Any] = {
            "algorithm": name,
            "arms": num_arms,
            "runs": runs,
            "rounds": horizon,
            "ns_per_run_step": statistics.median(ours),
            "ns_per_arm_round": statistics.median(ours) / num_arms,
            "times_ucb1": statistics.median(o / b for o, b in zip(ours, base, strict=True)),
            "compile_seconds": compiled,
            "regret": regret,
        }
        if loop:
            row["c_loop_ns"] = statistics.median(loop)
            row["times_c_loop"] = statistics.median(o / c for o, c in zip(ours, loop, strict=True))
        if name == "ucb1":
            rounds = max(20, int(2e6 / (runs * num_arms)))
            row["numpy_ns"] = numpy_seconds(means, runs, rounds)[0] / (runs * rounds) * 1e9
        rows.append(row)
        beside = f", C loop {row['c_loop_ns']:.2f}" if loop else ""
        print(
            f"{num_arms} arms, {runs} runs: {name} {row['ns_per_run_step']:.2f} ns a run-step, "
            f"{row['times_ucb1']:.2f} times ucb1{beside}",
            file=sys.stderr,
        )
    return rows
