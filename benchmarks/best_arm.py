"""The benchmark of best-arm identification on plain arms: nanoseconds per step, and seconds of a fixed budget.

The runs are far from stopping, so that every rule plays the same number of steps.
"""

import statistics
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import jaxbandit as jb
from benchmarks.columns import table as table_of
from jaxbandit.base.contract import Algorithm
from jaxbandit.engine.driver.identify import identify_cell

REPEATS = 5
ARMS = 10
AIM_LEAN, AIM_PLANNED, AIM_BUDGET = 1.5, 3.0, 5.0  # times LUCB, times LUCB, seconds of 10^6 runs


def rules() -> dict[str, tuple[Callable[[], Algorithm], float]]:
    """Return the rules, and the goal for the ratio of each to LUCB."""
    gaussian: dict[str, Any] = {"family": "gaussian", "threshold": "gauss", "delta": 0.01}
    return {
        "lucb": (lambda: jb.algorithms.lucb(ARMS, delta=0.01), 1.0),
        "top_two": (lambda: jb.algorithms.top_two(ARMS, **gaussian), AIM_LEAN),
        "track_and_stop": (lambda: jb.algorithms.track_and_stop(ARMS, **gaussian), AIM_PLANNED),
    }


def budgets() -> dict[str, Callable[[], Algorithm]]:
    """Return the rules with a fixed budget, on the first instance of Audibert, Bubeck and Munos (2010)."""
    return {
        "sequential_halving": lambda: jb.algorithms.sequential_halving(20, budget=2000),
        "successive_rejects": lambda: jb.algorithms.successive_rejects(20, budget=2000),
    }


def measure(quick: bool) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of both tables; progress goes to stderr."""
    runs, rounds = (64, 300) if quick else (2_000, 5_000)
    return {"steps": steps(runs, rounds), "budgets": fixed_budgets(1_000 if quick else 1_000_000)}


def steps(runs: int, rounds: int) -> list[dict[str, Any]]:
    """Return a row for each rule, measured in alternation; both sides of a ratio are from one turn."""
    world = jb.environments.gaussian(np.linspace(0.0, 0.01, ARMS))
    made: dict[str, Callable[[Any], Any]] = {}
    compiled, times = {}, {name: [] for name in rules()}
    for name, (rule, _) in rules().items():
        made[name] = lambda _, rule=rule: (rule(), world)
        compiled[name] = identify_cell(made[name], {}, num_runs=runs, max_rounds=rounds).compile_seconds
    for _ in range(REPEATS):
        for name, make in made.items():
            found = identify_cell(make, {}, num_runs=runs, max_rounds=rounds)
            times[name].append(found.run_seconds / int(found.samples.sum()) * 1e9)
    rows = []
    for name, (_, aim) in rules().items():
        ratio = statistics.median(a / b for a, b in zip(times[name], times["lucb"], strict=True))
        nanoseconds = statistics.median(times[name])
        rows.append({"rule": name, "ns": nanoseconds, "ratio": ratio, "aim": aim, "compile_seconds": compiled[name]})
        print(f"{name}: {nanoseconds:.1f} ns a step, {ratio:.2f} of lucb", file=sys.stderr)
    return rows


def fixed_budgets(runs: int) -> list[dict[str, Any]]:
    """Return a row for each rule: seconds of all runs without compilation, and their error rate."""
    world = jb.environments.bernoulli([0.5] + [0.4] * 19)
    rows = []
    for name, rule in budgets().items():

        def make(arguments: Any, rule: Callable[[], Algorithm] = rule) -> Any:
            return rule(), world

        found = identify_cell(make, {}, num_runs=runs, max_rounds=10**6)
        assert found.shortfall is not None
        again = [identify_cell(make, {}, num_runs=runs, max_rounds=10**6).run_seconds for _ in range(min(3, REPEATS))]
        rows.append(
            {
                "rule": name,
                "runs": runs,
                "seconds": statistics.median(again),
                "compile_seconds": found.compile_seconds,
                "error": float((found.shortfall > 0).mean()),
            }
        )
        print(f"{name}: {rows[-1]['seconds']:.2f} s", file=sys.stderr)
    return rows


def table(found: dict[str, list[dict[str, Any]]]) -> str:
    """Return both tables as text."""
    steps = "-> {rule} | ns/step -> {ns:.1f} | / lucb -> {ratio:.2f} | goal -> {aim:.1f}"
    budgets = "-> {rule} | runs -> {runs} | seconds -> {seconds:.2f} | goal -> {aim:.1f} | error -> {error:.3f}"
    rows = [row | {"aim": AIM_BUDGET * row["runs"] / 1_000_000} for row in found["budgets"]]
    both = (
        table_of(found["steps"], f"best arm of {ARMS}, Gaussian {steps}"),
        table_of(rows, f"fixed budget 2000, 20 arms {budgets}"),
    )
    return "\n\n".join(both)
