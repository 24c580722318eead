"""One run beside its share of 64, for every registered rule at a size at which rules cost something.

A rule of arms has 1,000 of them, a rule on features 1,000 rows in 20 dimensions, a Gaussian process 100 points, a rule
of contexts 20 arms and 10 dimensions, and the other settings the sizes below. A program is heavy from
`sizes.CPU.heavy` elementary operations a step on, as `engine/layout/work.py` counts them; it is then played one run at
a time. Its times are microseconds of a step, in wall time without compilation and without what is computed once for
all runs, the smallest of several calls with a worker for each core: one run has one core, 64 runs have all of them. A
share is the time of 64 runs divided by 64. The others are played in tiles, in which one run takes as long as 64.
"""

import sys
import time
from typing import Any

import jax
import numpy as np

import jaxbandit as jb
from benchmarks.arguments import ARGUMENTS, UNKNOWN
from jaxbandit.engine.driver.identify import identify_cell
from jaxbandit.engine.driver.lane_loop import LaneLoop
from jaxbandit.engine.driver.simulate import simulate_cell
from jaxbandit.engine.driver.tile_loop import TileLoop
from jaxbandit.engine.rounds import step
from jaxbandit.engine.rounds.single import SingleRun
from jaxbandit.engine.rounds.stopping import StoppingRun
from jaxbandit.lab.specs.registry import ALGORITHMS

RUNS, REPEATS, SECONDS = 64, 3, 2.0  # SECONDS: of 64 runs, about, so that beginning and end of one run do not count
ARMS, DIM, POINTS = 1000, 20, 100
TRIAL = 3e7  # operations of a run of a first trial
GOAL = 8.0  # shares that one run of a heavy program may cost
OWN = ARGUMENTS | {  # arguments of one algorithm alone
    "batched_elimination": {"num_arms": 100},
    "budgeted_race": {"epsilon": 0.0},
    "escb": {"num_arms": 30},
    "ucb_e": {"a": 2.0},
}
TWO_ARMS = ("etc_gap", "etc_sprt", "etc_bai")


def measure(quick: bool) -> list[dict[str, Any]]:
    """Return a row for each rule; progress goes to stderr."""
    names = ["ucb1", "thompson"] if quick else list(ALGORITHMS)
    return [measure_rule(name) for name in names]


def measure_rule(name: str) -> dict[str, Any]:
    """Return the row of one rule; what it does not support at this size is a row too."""
    try:
        row = {"rule": name, **_costs(ALGORITHMS[name].kind, *pair(name))}
    except Exception as error:  # whatever it is, the row says so
        row = {"rule": name, "error": f"{type(error).__name__}: {error}".splitlines()[0][:90]}
    print(row, file=sys.stderr, flush=True)
    return row


def pair(name: str) -> tuple[jb.Algorithm, jb.Environment]:
    """Return a rule and an environment at the size of its setting."""
    entry, told, world = ALGORITHMS[name], {}, None
    setting, rng = entry.setting, np.random.default_rng(0)
    num_arms = 2 if name in TWO_ARMS else ARMS
    told = {"num_arms": num_arms, "horizon": 10_000, "budget": 20_000, "a": 1.0, "m": 1, "family": "bernoulli"}
    told |= {"num_changes": 0, "starts": (0,)}
    told |= OWN.get(name, {})
    means = np.linspace(0.1, 0.9, told["num_arms"])
    if setting == "features":
        number = POINTS if name.startswith("gp_") else ARMS
        rows = rng.normal(size=(number, DIM))
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        told |= {"features": rows, "theta": rows[0], "theta_norm": 1.0}
        world = jb.environments.linear(rows, rows[0])
    elif setting == "contexts":
        told |= {"num_arms": 20, "dim": 10, "shape": (20, 10), "sigma": 0.5, "arm_features": np.ones((20, 1))}
        row, vectors = rng.normal(size=10) / 3, rng.normal(size=(20, 10)) / 3
        if entry.rewards.startswith("in [0, 1]"):
            world = jb.environments.logistic_matrix(row, 20, slope=5.0)
        elif "shared" in name:
            world = jb.environments.linear_matrix(row, 20, sigma=0.5)
        else:
            told["shape"] = (10,)
            world = jb.environments.linear_vectors(vectors, sigma=0.5)
    elif setting in ("full-bandit", "semi-bandit"):
        number = 12 if setting == "full-bandit" else 30
        means = np.linspace(0.1, 0.9, number)
        told |= {"num_arms": number, "k": 3, "epsilon": 0.1, "eps_factor": 1.0}
        world = (jb.environments.full_bandit if setting == "full-bandit" else jb.environments.semi_bandit)(means, 3)
    elif setting == "dueling":
        told["num_arms"] = 50
        world = jb.environments.dueling(1 / (1 + np.exp(-0.3 * (np.arange(50)[None] - np.arange(50)[:, None]))))
    elif setting == "knapsack":
        world = jb.environments.knapsack(means, means[::-1], 3_000.0)._replace(regret=lambda state, context, arm: 0.9)
        told |= {"budget": 3_000, "num_resources": 1}
    elif setting == "cascade":
        world, told["k"] = jb.environments.cascade(means, 2), 2
    else:
        unknown = entry.rewards in UNKNOWN
        world = jb.environments.gaussian(means, sigma=0.5) if unknown else jb.environments.bernoulli(means)
    required = {p.name for p in entry.parameters().values() if p.required}
    wanted = required | {"horizon", "theta_norm", "shape", "sigma"} & set(entry.arguments)
    given = {key: told[key] for key in wanted if key in told} | OWN.get(name, {})
    return entry.factory()(**given), world


def _costs(kind: str, algorithm: jb.Algorithm, environment: jb.Environment) -> dict[str, Any]:
    """Return operations of a step, and microseconds of a step of one run and of each of 64."""

    def make(_: Any) -> tuple[jb.Algorithm, jb.Environment]:
        return algorithm, environment

    batches = step.plays_batches(algorithm, environment)
    stops = kind == "identify" or batches
    metrics = None if environment.regret else {"reward": jb.metrics.reward}

    def play(runs: int, rounds: int) -> tuple[float, int]:
        if stops:
            found: Any = identify_cell(make, {}, num_runs=runs, max_rounds=10**9 if batches else rounds)
            return found.run_seconds, max(found.run_steps, 1)
        found = simulate_cell(make, {}, horizon=rounds, num_runs=runs, checkpoints=[rounds], keep=(), metrics=metrics)
        return found.run_seconds, runs * rounds

    with jax.enable_x64(stops):
        run: Any = (StoppingRun if stops else SingleRun)(make, {}, "threefry4x32")
        alone = (LaneLoop(run) if stops else TileLoop(run, 1)).alone
        operations = run.operations()
    row = {"operations": operations, "alone": alone}
    if not alone:  # one run is a tile like 64, and takes as long
        return row
    rounds = int(np.clip(TRIAL / operations, 4, 256))
    play(RUNS, rounds)
    rounds = int(np.clip(rounds * SECONDS / play(RUNS, rounds)[0], 4, 10_000))
    play(RUNS, rounds)
    play(1, rounds)
    begun, one, many = time.monotonic(), [], []
    while len(one) < REPEATS and (not one or time.monotonic() - begun < 20):
        (a, n), (b, m) = play(1, rounds), play(RUNS, rounds)
        one.append(a / n * 1e6)
        many.append(b / m * 1e6)
    return row | {"rounds": rounds, "one_us": min(one), "share_us": min(many)}


def table(rows: list[dict[str, Any]]) -> str:
    """Return the rows as text, by the number of operations."""
    done = sorted((row for row in rows if "error" not in row), key=lambda row: -row["operations"])
    lines = [f"{'rule':28s}{'operations':>11s}{'played':>9s}{'one run':>10s}{'share':>9s}{'shares':>8s}"]
    for row in done:
        lines.append(f"{row['rule']:28s}{row['operations']:11d}{'alone' if row['alone'] else 'tiles':>9s}")
        if "one_us" in row:
            shares = row["one_us"] / row["share_us"]
            lines[-1] += (
                f"{row['one_us']:10.2f}{row['share_us']:9.2f}{shares:8.1f}{'' if shares <= GOAL else '  missed'}"
            )
    lines += [f"{row['rule']:28s}{row['error']}" for row in rows if "error" in row]
    return "\n".join(lines)
