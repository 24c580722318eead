"""The baselines of a survey: their regret beside an independent program's, their regret beside the lower bound of their
family after 10^5 rounds, and the cost of a round at 9 and at 100 arms.

A cost is a ratio to a round of ucb1 that is measured one right after the other; what takes more than 20 of them has its
reason beside it.
"""

import math
import statistics
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import jaxbandit as jb
from benchmarks.baselines_cells import FIVE, INSTANCES, NINE, RULES, Told, arms_of, cells, compared, told
from benchmarks.columns import table as table_of
from jaxbandit.engine.driver.simulate import simulate_cell
from jaxbandit.theory.intervals import student_of

REPEATS = 5
COSTLY = 20.0  # rounds of ucb1
ROUNDS, RUNS, FEW = 1_000, 256, 64  # of a measurement of costs
AUDITED = (10_000, 100_000)  # rounds between which the slope over log t is measured
SLOW = ("raw_ucb", "robust_ucb")  # rules that take microseconds, measured with FEW runs
REASONS = {
    "ada_ucb": "a sum over all pairs of arms, O(K^2)",
    "oc_ucb": "a sum over all pairs of arms, O(K^2)",
    "besa": "K - 1 duels, each with a hypergeometric draw, one after the other",
    "phe": "a binomial draw for each arm",
    "giro": "a binomial draw for each arm",
    "raw_ucb": "the definition compares all numbers of last rewards, O(K T)",
    "robust_ucb, truncated": "the threshold moves with t, so that all rewards are read again, O(K T)",
    "robust_ucb, medians": "up to 111 means of blocks for each arm are sorted",
    "thompson_gaussian_unknown": "a quantile of Student's t for each arm",
    "softmax(.1)": "a Gumbel draw for each arm",
    "softmax, decreasing": "a Gumbel draw for each arm",
    "boltzmann_gumbel": "a Gumbel draw for each arm",
}
Family = tuple[str, Callable[[int], jb.Algorithm], float]  # instance, rule, constant of its lower bound


def unknown_variance(means: list[float]) -> float:
    """Return the sum of gap / (log(1 + gap^2) / 2), of normal arms of variance 1 that no rule knows."""
    gaps = max(means) - np.asarray(means)
    gaps = gaps[gaps > 0]
    return float(np.sum(gaps / (np.log1p(gaps**2) / 2)))


def families() -> dict[str, Family]:
    """Return the rules of each family on the laws that they are made for, with the constant that they can reach."""
    cells: dict[str, Family] = {}
    laws = ("gaussian", "five"), ("gaussian", "two"), ("poisson", "poisson"), ("exponential", "exponential")
    for name in ("kl_ucb", "imed", "thompson", "bayes_ucb"):
        rule = getattr(jb.algorithms, name)
        for family, instance in laws:
            constant = INSTANCES[instance]().truth.regret_constant
            assert constant is not None
            cells[f"{name}, {family}: {instance}"] = instance, lambda k, r=rule, f=family: r(k, family=f), constant()
        # Bounded rewards are sub-Gaussian with sigma = 1/2; a rule of normal arms can then reach 2 sigma^2 / gap.
        bounded = jb.bounds.gaussian_regret_constant(NINE, 0.5)
        cells[f"{name}, gaussian: nine"] = ("nine", lambda k, r=rule: r(k, family="gaussian", sigma=0.5), bounded)
    for name in ("thompson_gaussian_unknown", "bayes_ucb_gaussian_unknown"):
        for instance, means in (("five", FIVE), ("two", [0.2, 0.0])):
            cells[f"{name}: {instance}"] = (instance, getattr(jb.algorithms, name), unknown_variance(means))
    return cells


def measure(quick: bool) -> dict[str, Any]:
    """Return the rows of the three tables; progress goes to stderr."""
    some = list(RULES)[::14] if quick else list(RULES)
    regret = []
    for name in some:
        for cell in cells()[name]:
            regret.append(compared(name, cell, 20 if quick else 1_000))
            row = regret[-1]
            print(f"{name} on {row['instance']}: {row['mean']:.1f}, {row['off']:+.2f} errors", file=sys.stderr)
    rules = families()
    audits = [audited(name, *rules[name], quick) for name in (list(rules)[::9] if quick else rules)]
    return {"regret": regret, "audits": audits, "costs": [row for k in (9, 100) for row in costs(k, some, quick)]}


def audited(name: str, instance: str, rule: Callable[[int], jb.Algorithm], constant: float, quick: bool) -> dict:
    """Return regret and its slope over log t beside the constant, with 95 % intervals."""
    world = INSTANCES[instance]()
    rounds = (100, 1_000) if quick else AUDITED
    found = jb.simulate(rule(arms_of(world)), world, num_runs=20 if quick else 400, horizon=rounds[1], seed=6,
        checkpoints=rounds, allow=("rewards",))  # fmt: skip
    ends = np.asarray(found.arrays["regret"], float)
    slopes = (ends[:, 1] - ends[:, 0]) / math.log(rounds[1] / rounds[0]) / constant
    mean, slope = ends[:, 1].mean(), slopes.mean()
    half, wide = (float(student_of(values).high) - values.mean() for values in (ends[:, 1], slopes))
    print(f"{name}: slope {slope:.2f} +- {wide:.2f} of the lower bound", file=sys.stderr)
    return {"rule": name, "instance": instance, "rounds": rounds[1], "runs": len(ends), "mean": mean, "half": half,
            "bound": constant * math.log(rounds[1]), "slope": slope, "slope_half": wide}  # fmt: skip


def costs(num_arms: int, names: list[str], quick: bool) -> list[dict]:
    """Return nanoseconds per round of each rule, and their ratio to those of ucb1: medians of several repeats."""
    rounds = 100 if quick else ROUNDS
    family = {"poisson": jb.environments.poisson, "exponential": jb.environments.exponential}
    means = np.arange(1, num_arms + 1) / (num_arms + 1)

    own = told("nine", num_arms, rounds)._replace(gap=0.1)

    def maker(rule: Callable[[Told], jb.Algorithm], world: Callable[..., jb.Environment]) -> Callable[..., Any]:
        """Return a function that is one object for all repeats, so that they are compiled once."""
        return lambda mu: (rule(own), world(mu))

    def play(make: Callable[..., Any], runs: int) -> tuple[float, float]:
        record = simulate_cell(
            make, means, horizon=rounds, num_runs=32 if quick else runs, checkpoints=[rounds], any_rewards=True
        )
        return record.run_seconds / record.run_steps * 1e9, record.compile_seconds

    rows, yardstick = [], maker(lambda w: jb.algorithms.ucb1(w.arms), jb.environments.bernoulli)
    for name in names:
        made = maker(RULES[name], family.get(name.split(", ")[-1], jb.environments.bernoulli))
        slow = name.startswith(SLOW)
        runs = FEW if slow else RUNS
        _, compiled = play(made, runs)
        ours, base = [], []
        for _ in range(2 if quick or slow else REPEATS):
            ours.append(play(made, runs)[0])
            base.append(play(yardstick, RUNS)[0])
        times = statistics.median(a / b for a, b in zip(ours, base, strict=True))
        reason = REASONS.get(name, "") if times > COSTLY else ""
        rows.append({"rule": name, "arms": num_arms, "ns": statistics.median(ours), "times": times,
                     "compile": compiled, "reason": reason})  # fmt: skip
        print(f"{num_arms} arms: {name} {rows[-1]['ns']:.1f} ns, {times:.1f} times ucb1", file=sys.stderr)
    return rows


def table(result: dict[str, Any]) -> str:
    """Return the three tables as text."""
    lines = ["mean regret beside an independent program's, each with its standard error"]
    regret = (
        "rule -> {rule} | instance -> {instance} | rounds -> {horizon} | runs -> {runs}"
        "| here -> {mean:.1f} +- {error:.2f} | there -> {theirs:.1f} +- {their_error:.2f}"
        "| z -> {off:+.2f} | median -> {median:.1f}"
    )
    lines.append(table_of(result["regret"], regret, labels=2))
    off = [abs(r["off"]) for r in result["regret"]]
    lines.append(
        f"{len(off)} cells: |z| > 2 in {sum(z > 2 for z in off)} ({0.0455 * len(off):.1f} expected), "
        f"> 3 in {sum(z > 3 for z in off)}, largest {max(off):.2f}"
    )
    lines += ["", "rules of families beside the lower bound of their family, with 95 % intervals"]
    audits = (
        "rule -> {rule} | instance -> {instance} | rounds -> {rounds} | runs -> {runs}"
        "| regret -> {mean:.1f} +- {half:.1f} | bound -> {bound:.1f} | slope / bound -> {slope:.2f} +- {slope_half:.2f}"
    )
    lines.append(table_of(result["audits"], audits, labels=2))
    costs = "rule -> {rule} | ns -> {ns:.1f} | x ucb1 -> {times:.1f} | compile s -> {compile:.1f} | < -> {reason}"
    for num_arms in dict.fromkeys(r["arms"] for r in result["costs"]):
        lines += ["", f"a round at {num_arms} arms, {RUNS} runs at once"]
        lines.append(table_of((r for r in result["costs"] if r["arms"] == num_arms), costs))
    return "\n".join(lines)
