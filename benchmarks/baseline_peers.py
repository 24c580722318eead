"""Our rules for plain arms beside those of SMPyBandits, on the problem that it plays if none is named.

`python -m benchmarks baseline_peers --peers PYTHON --write` takes an interpreter in whose environment SMPyBandits is
installed. It plays there one run at a time, each policy as often as a few seconds allow. Where the mean regrets differ,
the formula that it plays is simulated here too, so that the reason given is checked.
"""

import itertools
import json
import statistics
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import jaxbandit as jb
from benchmarks import baseline_peers_rules as rules
from benchmarks import peers_shared
from benchmarks.baseline_peers_pairs import PAIRS, WHY, Pair
from benchmarks.baseline_peers_rules import HORIZON, MEANS
from jaxbandit.engine.driver.simulate import simulate_cell
from jaxbandit.theory.intervals import student_of

SIDE = Path(__file__).with_name("baseline_peers_side.py")
REPEATS, RUNS = 3, 1_000
SECONDS = 5.0  # of each policy of the peer, so that the whole takes minutes
APART = 3.0  # standard errors of a difference from which a reason is due


def main(argv: Sequence[str]) -> int:
    """Measure, print and perhaps write the table; return the exit status."""
    return peers_shared.command("baseline_peers", __doc__, measure, table, argv)


def measure(quick: bool, interpreters: Sequence[str]) -> dict[str, Any]:
    """Return what the peer found, None if it is missing, and beside it ours and its formulas."""
    pairs = [pair for pair in PAIRS if not quick or pair.name in ("ucb1_auer", "oc_ucb(1.1)", "ucb_tuned")]
    horizon, runs = (30, 20) if quick else (HORIZON, RUNS)
    given = {
        "names": np.array([pair.name for pair in pairs]),
        "policies": np.array([pair.policy for pair in pairs]),
        "arguments": np.array([json.dumps(dict(pair.arguments)) for pair in pairs]),
        "means": MEANS,
        "horizon": horizon,
        "seconds": 0.0 if quick else SECONDS,
    }
    theirs = peers_shared.answer(interpreters, SIDE, "SMPyBandits", given)
    ours = {pair.name: play(pair, horizon, runs) for pair in pairs}
    formulas = {}
    for pair in pairs:
        if isinstance(pair.formula, str):
            formulas[pair.name] = ours[pair.formula]["regrets"]
        elif pair.formula is not None:
            formulas[pair.name] = rules.play(pair.formula, runs if quick else pair.runs, horizon)
    return {"pairs": pairs, "horizon": horizon, "runs": runs, "theirs": theirs, "ours": ours, "formulas": formulas}


def play(pair: Pair, horizon: int, runs: int) -> dict[str, Any]:
    """Return our regrets, and the times of one run and of many: medians, without compiling."""
    made = pair.ours, jb.environments.bernoulli(MEANS)

    def make(_: Any) -> Any:  # one function, so that a repeat does not compile again
        return made

    found: dict[str, Any] = {"regrets": []}
    for count in (1, runs):
        cells = [
            simulate_cell(make, {}, horizon=horizon, num_runs=count, first_run=i * count, checkpoints=[horizon])
            for i in range(REPEATS)
        ]
        found[f"ns {count}"] = statistics.median(1e9 * cell.run_seconds / cell.run_steps for cell in cells)
        found["compile"] = found.get("compile", 0.0) + sum(cell.compile_seconds for cell in cells)
        found["regrets"] = np.concatenate([np.asarray(cell.regret)[:, -1] for cell in cells])  # of the last count
    print(f"{pair.name} {found['regrets'].mean():.1f}, {found['compile']:.1f} s", file=sys.stderr)
    return found


def apart(a: np.ndarray, b: np.ndarray) -> float:
    """Return the difference of two means in standard errors; 0 if it is nothing but rounding."""
    difference = a.mean() - b.mean()
    error = np.sqrt(a.var(ddof=1) / len(a) + b.var(ddof=1) / len(b))
    return 0.0 if abs(difference) < 1e-6 * a.mean() else float(difference / error)


def table(found: dict[str, Any]) -> str:
    """Return what was found as text."""
    theirs, runs = found["theirs"], found["runs"]
    lines = [f"SMPyBandits: {'missing' if theirs is None else theirs['version']}"]
    lines += [
        "",
        f"Regret after {found['horizon']:,} rounds of Bernoulli means {MEANS[0]} to {MEANS[-1]}: mean and 95 % Student",
        f"interval; ours of {REPEATS * runs:,} runs. z: theirs less ours, then theirs less the formula that we give",
        "for it, in standard errors. Time of a round: theirs, ours in one run (us), and ours for each of",
        f"{runs:,} runs at once (ns), without compiling both programs (s).",
        "",
        f"{'':<26}{'runs':>5}{'theirs':>15}{'ours':>15}{'z':>7}{'formula':>15}{'z':>6}"
        f"{'us':>7}{'us':>6}{'ns':>6}{'s':>5}",
    ]
    reasons = []
    for pair in found["pairs"]:
        ours, formula = found["ours"][pair.name], found["formulas"].get(pair.name)
        its = None if theirs is None else theirs.get(f"{pair.name}/regrets")
        count, mean, z, time = "", "", "", ""
        if its is not None and theirs is not None:
            count, mean, z = f"{len(its):,}", _mean(its), f"{apart(its, ours['regrets']):.1f}"
            time = f"{float(theirs[f'{pair.name}/us']):.1f}"
        elif theirs is not None:
            mean = "fails"
        simulated = "" if formula is None else _mean(formula)
        check = "" if formula is None or its is None else f"{apart(its, formula):.1f}"
        lines.append(
            f"{pair.name:<26}{count:>5}{mean:>15}{_mean(ours['regrets']):>15}{z:>7}{simulated:>15}{check:>6}"
            f"{time:>7}{ours['ns 1'] / 1e3:>6.1f}{ours[f'ns {runs}']:>6.0f}{ours['compile']:>5.1f}"
        )
        if pair.name in WHY:
            reasons.append(f"{pair.name}: {WHY[pair.name]}")
        elif z and abs(float(z)) > APART:
            reasons.append(f"{pair.name}: unexplained")
    wrapped = [textwrap.wrap(reason, 118, subsequent_indent="  ") for reason in reasons]
    return "\n".join([*lines, "", "Reasons, with the formula that theirs plays", *itertools.chain(*wrapped)])


def _mean(regrets: np.ndarray) -> str:
    interval = student_of(regrets)
    return f"{interval.value:.1f} +- {interval.high - interval.value:.1f}"
