"""The value of observing each worker's answer instead of the team's score: teams queried until the ten best are known.

Both kinds of rule query teams of ten crowd workers until, with probability 0.95, the ten that they recommend have a sum
of means at most 0.5 below the largest. `clucb` observes which workers were right; `saqm`, `icb` and
`adaptive_full_bandit` observe how many were. Their sigma bounds the noise of a score: 10 as in the paper, or sqrt(10) /
2, which is tight for ten independent answers.
"""

import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jaxbandit as jb
from benchmarks.columns import table as table_of
from jaxbandit.theory.intervals import student_of

K, EPSILON = 10, 0.5
SIGMAS = {"sigma 10": float(K), "sigma 1.58": math.sqrt(K) / 2}
SETS = ("it", "pokemon")


def rules(num_arms: int) -> dict[str, tuple[bool, Callable[[], Any]]]:
    """Return rules by name: whether the rule observes each answer, and what makes it."""
    found: dict[str, tuple[bool, Callable[[], Any]]] = {
        "clucb": (True, lambda: jb.algorithms.clucb(num_arms, k=K, epsilon=EPSILON))
    }
    for name, sigma in SIGMAS.items():
        told = {"k": K, "epsilon": EPSILON, "sigma": sigma}
        found |= {
            f"adaptive, {name}": (False, lambda told=told: jb.algorithms.adaptive_full_bandit(num_arms, **told)),
            f"icb, {name}": (False, lambda told=told: jb.algorithms.icb(num_arms, **told)),
            f"saqm, {name}": (False, lambda told=told: jb.algorithms.saqm(num_arms, **told)),
        }
    return found


def results_of(dataset: str, runs: int) -> list[Any]:
    """Return one result for each rule."""
    full = jb.environments.crowd(dataset, feedback="full", blocks="normal")
    semi = jb.environments.crowd(dataset, feedback="semi")
    assert full.arms is not None
    found = []
    for name, (each, make) in rules(full.arms.num_arms).items():
        print(f"teams: {dataset}, {name}", file=sys.stderr)
        options: dict[str, Any] = {"num_runs": runs, "allow": () if each else ("rewards",)}
        found.append(
            jb.identify(
                make().named(name),
                (semi if each else full).named(dataset),
                max_rounds=10**7 if each else 2 * 10**9,
                **options,
            )
        )
    return found


def measure(quick: bool) -> list[dict[str, Any]]:
    """Return a row for each data set and rule; the figure of each set goes to out/teams-SET.png."""
    rows = []
    for dataset in SETS[:1] if quick else SETS:
        results = results_of(dataset, 10 if quick else 40)
        base = results[0].samples().mean()
        for result in results:
            samples = result.samples()
            mean, _, low, high = student_of(samples)
            rows.append(
                {
                    "set": dataset,
                    "rule": result.algorithm,
                    "runs": len(samples),
                    "samples": mean,
                    "low": low,
                    "high": high,
                    "times": mean / base,
                    "wrong": float((result.arrays["shortfall"] > EPSILON).mean()),
                }
            )
        draw(results, Path("out") / f"teams-{dataset}.png")
    return rows


def draw(results: list[Any], path: Path) -> None:
    """Write the box plots of one set, with all rules side by side."""
    axes = jb.plot(results, what="samples")
    path.parent.mkdir(exist_ok=True)
    axes.figure.savefig(path, bbox_inches="tight")


def table(rows: list[dict[str, Any]]) -> str:
    """Return the rows as text."""
    return table_of(
        rows,
        "set -> {set} | rule -> {rule} | teams queried -> {samples:,.0f} | 95 % interval -> [{low:,.0f}, {high:,.0f}]"
        "| / clucb -> {times:,.0f} | wrong -> {wrong:.2f}",
        labels=2,
    )
