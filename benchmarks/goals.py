"""The goals for one core, each measured in alternation with its reference in one process: medians of seven turns.

The figures are processor time of one worker without compilation, so that a machine with other work gives nearly the
same. The time of a policy is divided by that of the C loop of UCB1 or of `ucb1`. That of LinGapE is for a useful step,
with the rate at which its state is read and written next to the rate at which a core copies as much memory.
"""

import statistics
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np

from benchmarks import full_bandit, limits, stopping
from benchmarks.yardstick import Yardstick
from jaxbandit.engine.driver.execution import Execution
from jaxbandit.engine.driver.identify import identify_cell
from jaxbandit.engine.driver.lane_loop import LaneLoop
from jaxbandit.engine.driver.simulate import simulate_cell
from jaxbandit.engine.rounds.stopping import StoppingRun
from jaxbandit.lab.specs.registry import ALGORITHMS, ENVIRONMENTS

TURNS = 7
SIZES = {9: (4_096, 2_000, 1.4), 100: (1_024, 1_500, 3.0), 1_000: (128, 5_000, 3.3)}  # runs, rounds, goal over C
OVER_UCB1 = {  # at nine arms; None: measured without a goal
    "kl_ucb": 3.3,
    "thompson": 7.0,
    "imed": 3.5,
    "epsilon_greedy": 1.2,
    "kl_ucb_empirical": 30.0,
    "bayes_ucb": 15.0,
    "dmed": None,
}
LINGAPE_NS = 30.0  # a useful step at K = 6, of one core
PEELING = 36.0  # times as fast as the NumPy loop, as in the first edition
LANES = 64
ALONE = Execution(workers=1)


class Row(NamedTuple):
    """One line of the table."""

    what: str
    measured: float
    goal: float | None
    unit: str
    met: bool | None  # None: no goal
    more: str = ""


def measure(quick: bool) -> list[dict[str, Any]]:
    """Return a row for each goal; progress goes to stderr."""
    turns = 2 if quick else TURNS
    rows = [row for num_arms in SIZES if not quick or num_arms < 1_000 for row in policies(num_arms, turns, quick)]
    limits = {"K = 6,": 10**7, "K = 36,": 2_000, "K = 100,": 500}
    for case in stopping.cases(quick):
        size = next((size for size in limits if size in case.name), None)
        if size is not None and case.features is not None:
            runs = 256 if quick else min(case.runs, 2_000)
            rows.append(lingape(case._replace(runs=runs, max_rounds=limits[size]), turns))
    found = full_bandit.measure_checks(24, 5, 20 if quick else 200)
    rows.append(_row("peeling, n = 24, over NumPy", found["times_faster"], PEELING, "times faster", least=True))
    return [row._asdict() for row in rows]


def table(rows: list[dict[str, Any]]) -> str:
    """Return the rows in Markdown."""
    lines = ["| what | goal | measured | |", "|---|---|---|---|"]
    for row in (Row(**row) for row in rows):
        verdict = "" if row.met is None else "met" if row.met else "missed"
        goal = "" if row.goal is None else f"{row.goal:g}"
        lines.append(f"| {row.what} | {goal} | {row.measured:.2f} {row.unit}{row.more} | {verdict} |")
    return "\n".join(lines)


def policies(num_arms: int, turns: int, quick: bool) -> list[Row]:
    """Return the rows of UCB1 over the C loop and, at nine arms, of other policies over UCB1."""
    runs, rounds, goal = SIZES[num_arms]
    runs, rounds = (runs // 4, rounds // 4) if quick else (runs, rounds)
    loop = Yardstick(num_arms, threads=1)
    means, bernoulli = loop.means.astype(np.float64), ENVIRONMENTS["bernoulli"].factory()

    def player(name: str) -> Callable[[], float]:
        factory = ALGORITHMS[name].factory()

        def make(mu: Any) -> Any:
            return factory(num_arms), bernoulli(mu)

        options: dict[str, Any] = {"horizon": rounds, "num_runs": runs, "checkpoints": [rounds], "execution": ALONE}
        return lambda: _seconds(lambda: simulate_cell(make, means, **options)) / (runs * rounds) * 1e9

    ucb1, rows = player("ucb1"), []
    if loop.available:
        ours, c = _turns((ucb1, lambda: _seconds(lambda: loop.seconds(runs, rounds)) / (runs * rounds) * 1e9), turns)
        rows.append(_row(f"ucb1, K = {num_arms}, over C", _ratio(ours, c), goal, "", more=_beside(ours, c)))
    for name in OVER_UCB1 if num_arms == 9 else ():
        ours, base = _turns((player(name), ucb1), turns)
        rows.append(
            _row(f"{name}, K = 9, over ucb1", _ratio(ours, base), OVER_UCB1[name], "", more=_beside(ours, base))
        )
    return rows


def lingape(case: stopping.Case, turns: int) -> Row:
    """Return the rows of a useful step of LinGapE, with the bandwidth that it reaches."""
    steps = 0

    def play() -> float:
        nonlocal steps
        taken = _seconds(
            lambda: found.append(identify_cell(case.make, {}, num_runs=case.runs, execution=ALONE, **limit))
        )
        steps = int(found.pop().samples.sum())
        return taken / steps * 1e9

    found: list[Any] = []
    limit: dict[str, Any] = {"max_rounds": case.max_rounds}
    with jax.enable_x64(True):
        program = LaneLoop(StoppingRun(case.make, {}, "threefry4x32"))
        state = program.run.bytes(program.run.state, program.run.state_varies)
    ours, most = _turns((play, lambda: limits.bandwidth(LANES * state)), turns)
    step, most = statistics.median(ours), statistics.median(most) / 1e9
    more = f" of one core; {state:,} bytes of state, read and written at {2 * state / step:.1f} of {most:.1f} GB/s"
    goal = LINGAPE_NS if case.means is not None and len(case.means) == 6 else None
    return _row(case.name, step, goal, "ns", more=more)


def _seconds(function: Callable[[], Any]) -> float:
    """Return the processor time of a call that waits until its work is done."""
    begun = time.process_time()
    function()
    return time.process_time() - begun


def _turns(players: tuple[Callable[[], float], ...], turns: int) -> list[list[float]]:
    """Return the results of each, played in alternation; the first turn compiles and is discarded."""
    played = [[player() for player in players] for _ in range(turns + 1)][1:]
    return [list(column) for column in zip(*played, strict=True)]


def _ratio(ours: list[float], base: list[float]) -> float:
    return statistics.median(a / b for a, b in zip(ours, base, strict=True))


def _beside(ours: list[float], base: list[float]) -> str:
    return f"({statistics.median(ours):.2f} and {statistics.median(base):.2f} ns)"


def _row(what: str, measured: float, goal: float | None, unit: str, more: str = "", least: bool = False) -> Row:
    met = None if goal is None else measured >= goal if least else measured <= goal
    print(f"{what}: {measured:.2f} {unit}{more}", file=sys.stderr)
    return Row(what, measured, goal, unit, met, more)
