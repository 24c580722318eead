"""The cost of a round beside NumPy: many runs at once, one run alone, and one run of a plain NumPy loop.

The NumPy loop has the mathematics of the rule, in arrays over the arms and updates of rank one, with contexts and noise
drawn before its time begins; ours draws them within its time. NumPy computes in float64 and ours in float32, as each
does by itself, unless a table says otherwise. NumPy has one thread, which is faster at these sizes; ours has all cores,
of which a run alone uses one.
"""

import statistics
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from threadpoolctl import threadpool_limits

import jaxbandit as jb
from benchmarks.columns import table as table_of
from jaxbandit.engine.driver.simulate import simulate_cell

REPEATS = 5

Loop = Callable[[int], float]  # from the number of rounds to the seconds of one run


class Case(NamedTuple):
    """One rule at one size."""

    rule: str
    size: str
    algorithm: jb.Algorithm
    environment: jb.Environment
    numpy: Loop | None
    runs: int = 256
    rounds: int = 1_000


def measure_case(case: Case, repeats: int = REPEATS) -> dict[str, Any]:
    """Return the row of a case, in microseconds a round of a run; the three are measured in turns."""

    def make(_: Any) -> tuple[jb.Algorithm, jb.Environment]:
        return case.algorithm, case.environment

    def play(runs: int) -> tuple[float, float]:
        metrics = None if case.environment.regret else {"reward": jb.metrics.reward}
        found = simulate_cell(
            make,
            {},
            horizon=case.rounds,
            num_runs=runs,
            checkpoints=[case.rounds],
            keep=(),
            metrics=metrics,
        )
        return found.run_seconds / (runs * case.rounds) * 1e6, found.compile_seconds

    def in_numpy() -> float | None:
        with threadpool_limits(1, "blas"):
            return None if case.numpy is None else case.numpy(case.rounds) / case.rounds * 1e6

    compiled = play(case.runs)[1]
    play(1)
    turns = [(play(case.runs)[0], play(1)[0], in_numpy()) for _ in range(repeats)]
    many, one, numpy = (None if x[0] is None else statistics.median(x) for x in zip(*turns, strict=True))
    row = {"rule": case.rule, "size": case.size, "runs": case.runs, "rounds": case.rounds}
    row |= {"us": many, "one_us": one, "numpy_us": numpy, "compile_seconds": compiled}
    print(f"{case.rule}, {case.size}: {many:.2f} us, one run {one:.1f} us, NumPy {numpy}", file=sys.stderr)
    return row


def table(title: str, rows: list[dict[str, Any]]) -> str:
    """Return the rows as text. A time is what a round of a run costs, in microseconds, and NumPy's is divided by it."""
    beside = [row for row in rows if row["numpy_us"] is not None]
    ratios = {id(row): {name: row["numpy_us"] / row[name] for name in ("us", "one_us")} for row in beside}
    return table_of(
        [row | {"times": ratios.get(id(row), {})} for row in rows],
        f"{title} -> {{rule}} | size -> {{size}} | runs -> {{runs}} | rounds -> {{rounds}} | us -> {{us:.2f}}"
        "| one run -> {one_us:.1f} | NumPy -> {numpy_us:.1f} | / us -> {times[us]:.2f}"
        "| / one run -> {times[one_us]:.2f} | compile s -> {compile_seconds:.1f}",
        labels=2,
    )
