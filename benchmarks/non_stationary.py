"""Policies for changing means: regret against a reference implementation, and the cost of GLR-klUCB against kl-UCB.

The reference figures are from independent NumPy simulations. A figure agrees if it differs by at most 4 standard errors
of the difference. Costs are processor time in one process, in alternation.
"""

import math
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import jaxbandit as jb
from jaxbandit.base.contract import Algorithm, Environment
from jaxbandit.engine.driver.execution import Execution
from jaxbandit.engine.driver.simulate import simulate_cell

REPEATS = 7
STANDARD_ERRORS = 4
COST_AIM = 10.0  # a round of GLR-klUCB over one of kl-UCB
RUNS = 4_000  # so that our standard error is half that of the reference
HORIZON = 5_000
STARTS = (0, 1_000, 2_000, 3_000, 4_000)
MEANS = [[0.3, 0.5, 0.9], [0.3, 0.2, 0.9], [0.3, 0.2, 0.1], [0.7, 0.2, 0.1], [0.7, 0.5, 0.1]]
TOLD: dict[str, Any] = {"horizon": HORIZON, "num_changes": 4}


def problem_1() -> Environment:
    """Return the first problem of SMPyBandits: 5,000 rounds, four changes, three Bernoulli arms."""
    return jb.environments.piecewise_bernoulli(MEANS, STARTS)


def garivier_moulines() -> Environment:
    """Return their problem: 10,000 rounds, two changes, three Bernoulli arms."""
    return jb.environments.piecewise_bernoulli([[0.5, 0.3, 0.4], [0.5, 0.3, 0.9], [0.5, 0.3, 0.4]], (0, 3_000, 5_000))


Case = tuple[Callable[[], Algorithm], Callable[[], Environment], int, float, float]
# Algorithm, environment, horizon; mean dynamic regret of the reference and its standard error.
CASES: dict[str, Case] = {
    "kl_ucb": (lambda: jb.algorithms.kl_ucb(3), problem_1, HORIZON, 271.0, 2.23),
    "oracle_restart": (lambda: jb.algorithms.oracle_restart(3, starts=STARTS), problem_1, HORIZON, 57.3, 0.35),
    "sw_ucb": (lambda: jb.algorithms.sw_ucb(3, window=206), problem_1, HORIZON, 235.2, 0.49),
    "sw_ucb kl": (lambda: jb.algorithms.sw_ucb(3, window=206, index="kl"), problem_1, HORIZON, 178.8, 0.51),
    "discounted_thompson": (lambda: jb.algorithms.discounted_thompson(3, **TOLD), problem_1, HORIZON, 166.2, 0.37),
    "glr_klucb": (lambda: jb.algorithms.glr_klucb(3, **TOLD), problem_1, HORIZON, 44.8, 0.39),
    "glr_klucb global": (lambda: jb.algorithms.glr_klucb(3, restart="global", **TOLD), problem_1, HORIZON, 46.4, 0.35),
    "cusum_ucb kl": (lambda: jb.algorithms.cusum_ucb(3, index="kl", **TOLD), problem_1, HORIZON, 142.8, 0.48),
    "m_ucb kl": (lambda: jb.algorithms.m_ucb(3, window=150, index="kl", **TOLD), problem_1, HORIZON, 518.1, 0.17),
    "d_ucb": (lambda: jb.algorithms.d_ucb(3, discount=0.9975), garivier_moulines, 10_000, 630.8, 1.14),
}


def measure(quick: bool) -> dict[str, Any]:
    """Return a row for each policy, and the costs; progress goes to stderr."""
    return {
        "regret": [compared(name, 200 if quick else RUNS) for name in CASES],
        "cost": costs(128 if quick else 2_048),
    }


def compared(name: str, runs: int) -> dict[str, Any]:
    """Return a policy's regret and that of the reference implementation."""
    rule, world, horizon, theirs, their_error = CASES[name]
    record = simulate_cell(lambda _: (rule(), world()), {}, horizon=horizon, num_runs=runs, checkpoints=[horizon])
    mean, error = float(record.mean[-1]), math.sqrt(float(record.variance[-1]) / runs)
    off = (mean - theirs) / math.hypot(error, their_error)
    kinds = {} if record.kinds_mean is None else dict(zip(record.phases, record.kinds_mean.tolist(), strict=True))
    print(f"{name}: {mean:.1f}, reference {theirs}, {off:+.1f} standard errors", file=sys.stderr)
    return {"policy": name, "runs": runs, "mean": mean, "error": error, "theirs": theirs, "off": off, "kinds": kinds}


def costs(runs: int) -> dict[str, Any]:
    """Return processor nanoseconds per round of kl-UCB and of GLR-klUCB, and their ratio: medians over turns."""
    makers = {name: (lambda _, case=CASES[name]: (case[0](), case[1]())) for name in ("kl_ucb", "glr_klucb")}

    def once(name: str) -> float:
        begun = time.process_time()
        simulate_cell(
            makers[name], {}, horizon=HORIZON, num_runs=runs, checkpoints=[HORIZON], execution=Execution(workers=1)
        )
        return (time.process_time() - begun) / runs / HORIZON * 1e9

    for name in makers:  # compiles
        once(name)
    turns = [{name: once(name) for name in makers} for _ in range(REPEATS)]
    found = {name: statistics.median(turn[name] for turn in turns) for name in makers}
    return {**found, "ratio": statistics.median(turn["glr_klucb"] / turn["kl_ucb"] for turn in turns), "aim": COST_AIM}


def table(found: dict[str, Any]) -> str:
    """Return the rows as text."""
    lines = [
        "| policy | runs | regret | reference implementation | difference in standard errors | alarms per run |",
        "|---|---|---|---|---|---|",
    ]
    for row in found["regret"]:
        alarms = f"{row['kinds']['alarm']:.2f}" if "alarm" in row["kinds"] else ""
        off = f"{row['off']:+.1f}" if abs(row["off"]) <= STANDARD_ERRORS else f"**{row['off']:+.1f}**"
        ours = f"{row['mean']:.1f} +- {row['error']:.2f}"
        lines.append(f"| {row['policy']} | {row['runs']:,} | {ours} | {row['theirs']} | {off} | {alarms} |")
    cost = found["cost"]
    lines.append("")
    lines.append(
        f"processor nanoseconds per round: kl_ucb {cost['kl_ucb']:.1f}, glr_klucb {cost['glr_klucb']:.1f}, "
        f"ratio {cost['ratio']:.1f} (goal: at most {cost['aim']:.0f})"
    )
    return "\n".join(lines)
