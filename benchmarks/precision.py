"""Regret in float32 against float64: every rule for plain arms on long runs, with the same draws in both.

The instances are hard for float32: means near 1, whose successes are lost if sums are not compensated, and rewards far
from 0. A rule without randomness makes the same decisions until rounding separates two runs; after that they are
different runs of the same law. So a difference is judged by its own standard error, from the differences of the runs.
"""

import sys
from typing import Any, NamedTuple

import numpy as np

import jaxbandit as jb
from benchmarks.columns import table as table_of
from jaxbandit.lab.specs.registry import ALGORITHMS

RUNS = 16
LIMIT = 4.5  # standard errors; a t of 15 degrees of freedom exceeds it with probability 4e-4
MOST = 10_000_000  # rounds of the six rules that are played for longer


class Instance(NamedTuple):
    """An environment with two arms, and for how long it is played."""

    law: str
    means: tuple[float, float]
    rounds: int


INSTANCES = {
    ".9/.8": Instance("bernoulli", (0.9, 0.8), 1_000_000),
    ".99/.98": Instance("bernoulli", (0.99, 0.98), 1_000_000),
    ".999/.996": Instance("bernoulli", (0.999, 0.996), 1_000_000),
    "1000/999.9": Instance("gaussian", (1000.0, 999.9), 1_000_000),
}
LONG = Instance("bernoulli", (0.9, 0.8), MOST)
PLAYED_LONG = ("kl_ucb", "imed", "ucb_v", "ucb1", "ucb_alpha", "moss")
# Rounds that take microseconds, or memory that grows with the horizon: played for this share of the rounds.
HEAVY = {"besa": 0.02, "giro": 0.05, "phe": 0.05, "rb_sda": 0.05, "lb_sda": 0.05, "robust_ucb": 0.002}
GIVEN = {"pulls": 1000, "gap": 0.1, "arm": 1, "moment": 1e6 + 2, "memory": 1000}


def rules(law: str) -> list[str]:
    """Return the registered rules for plain arms whose regret is meant, and that are made for rewards of this law."""
    names = [name for name, entry in ALGORITHMS.items() if (entry.question, entry.setting) == ("regret", "arms")]
    return [name for name in names if law == "bernoulli" or _is_for_gaussian(name)]


def played(name: str, instance: Instance) -> int:
    """Return for how many rounds a rule is played on an instance."""
    return int(instance.rounds * HEAVY.get(name, 1.0))


def make(name: str, instance: Instance, rounds: int) -> jb.Algorithm:
    """Return the rule for two arms, told of the horizon and of the family if it takes them."""
    parameters = ALGORITHMS[name].parameters()
    given: dict[str, Any] = {key: value for key, value in GIVEN.items() if key in parameters}
    if "horizon" in parameters and parameters["horizon"].required:
        given["horizon"] = rounds
    if instance.law == "gaussian" and "family" in parameters:
        given["family"] = "gaussian"
    return getattr(jb.algorithms, name)(2, **given)


def compare(name: str, instance: Instance, rounds: int, runs: int = RUNS) -> dict[str, Any]:
    """Return the mean regrets in both precisions, and their difference in standard errors of the difference."""
    environment = getattr(jb.environments, instance.law)(list(instance.means))
    rule = make(name, instance, rounds)
    regrets = []
    for precision in ("float32", "float64"):
        found = jb.simulate(
            rule,
            environment,
            horizon=rounds,
            num_runs=runs,
            checkpoints=[rounds],
            precision=precision,
            allow=("rewards",),
            execution=jb.Execution(progress=False),
        )
        regrets.append(np.asarray(found.arrays["regret"], np.float64)[:, -1])
    apart = regrets[0] - regrets[1]
    # A gap of float32 differs from that of float64 by its own rounding, which is no matter of the rule.
    own = 1e-3 * abs(regrets[1].mean())
    error = apart.std(ddof=1) / np.sqrt(runs)
    excess = max(abs(apart.mean()) - own, 0.0)
    return {
        "rule": name,
        "rounds": rounds,
        "float32": float(regrets[0].mean()),
        "float64": float(regrets[1].mean()),
        "standard_errors": float(excess / error) if excess else 0.0,
    }


def measure(quick: bool) -> list[dict[str, Any]]:
    """Return a row for each instance and rule; progress goes to stderr."""
    cells = [(label, instance, name) for label, instance in INSTANCES.items() for name in rules(instance.law)]
    cells += [(".9/.8, long", LONG, name) for name in PLAYED_LONG]
    cells.sort(key=lambda cell: (cell[2] in HEAVY, cell[1].rounds))
    rows = []
    for label, instance, name in cells[::20] if quick else cells:
        row = compare(name, instance, 1000 if quick else played(name, instance))
        rows.append({"instance": label, **row})
        print(f"precision: {label} {name} {row['float32']:.1f} {row['float64']:.1f}", file=sys.stderr)
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    """Return the rows as text, by instance."""
    return table_of(
        sorted(rows, key=lambda row: (row["instance"], row["rule"])),
        "instance -> {instance} | rule -> {rule} | rounds -> {rounds:,} | float32 -> {float32:.2f}"
        "| float64 -> {float64:.2f} | apart, s.e. -> {standard_errors:.1f}",
        labels=2,
    )


def _is_for_gaussian(name: str) -> bool:
    entry = ALGORITHMS[name]
    bounded = entry.rewards.startswith(("in [0, 1]", "0 or 1")) and "family" not in entry.parameters()
    return not bounded
