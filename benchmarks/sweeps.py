"""What a value of a sweep costs: ucb1 with nine arms and 1,000 rounds, at many values of c, and at many instances.

Wall and processor time of the whole call are divided by the number of values; the program is compiled before.
"""

import functools
import time
from typing import Any

import numpy as np

import jaxbandit as jb
from benchmarks.columns import table as table_of

VALUES, QUICK_VALUES = 10_000, 20
HORIZON, MEANS = 1_000, (0.9, *[0.8] * 8)
Found = list[dict[str, Any]]


def measure(quick: bool) -> Found:
    """Return a row for each number of runs of a value, and one for a sweep over the means of the arms."""
    number = QUICK_VALUES if quick else VALUES
    world, rule = jb.environments.bernoulli(MEANS), functools.partial(jb.algorithms.ucb1, len(MEANS))
    plays: dict[str, tuple[Any, Any, Any, int]] = {
        f"c, {runs} run{'s' * (runs > 1)}": (rule, world, {"c": np.linspace(0.0, 3.0, number)}, runs)
        for runs in (1, 10, 200)
    }
    means = np.random.default_rng(0).uniform(size=(number, len(MEANS)))
    plays["means, 10 runs"] = _instance, None, {"means": means}, 10
    return [_row(name, *given) for name, given in plays.items()]


def table(rows: Found) -> str:
    """Return the rows as text."""
    each = [row | {f"{name}_ms": 1e3 * row[name] / row["values"] for name in ("seconds", "cpu")} for row in rows]
    return table_of(
        each,
        "ms a value -> {what} | values -> {values:,} | wall -> {seconds_ms:.2f} | CPU -> {cpu_ms:.2f}"
        "| seconds in all -> {seconds:.1f}",
    )


def _instance(means: Any) -> Any:
    return jb.algorithms.ucb1(len(MEANS)), jb.environments.bernoulli(means)


def _row(what: str, rule: Any, world: Any, values: Any, runs: int) -> dict[str, Any]:
    (number,) = {len(column) for column in values.values()}

    def play(few: int) -> tuple[float, float]:
        wall, cpu = time.perf_counter(), time.process_time()
        some = {name: column[:few] for name, column in values.items()}
        jb.sweep(rule, world, some, horizon=HORIZON, num_runs=runs, execution=jb.Execution(progress=False))
        return time.perf_counter() - wall, time.process_time() - cpu

    play(2)
    seconds, cpu = play(number)
    return {"what": what, "values": number, "runs": runs, "seconds": seconds, "cpu": cpu}
