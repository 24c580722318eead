"""Measure each registered algorithm on the fixed instance of its question, for the tables of "Choose an algorithm".

`python docs/measure.py` writes measured.toml, in about ten minutes on two cores. Names of algorithms as
arguments measure these alone and keep the others.
"""

import functools
import json
import sys
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402

import jaxbandit as jb  # noqa: E402
from benchmarks.arguments import ARGUMENTS, UNKNOWN  # noqa: E402
from jaxbandit.lab.specs.registry import ALGORITHMS  # noqa: E402

FILE = Path(__file__).with_name("measured.toml")
RUNS, SEED = 400, 0


@dataclass(frozen=True)
class Instance:
    """A fixed problem, and what an algorithm is told of it."""

    about: str
    make: Callable[[], jb.Environment]
    told: Mapping[str, Any]
    horizon: int = 0  # rounds, or the budget
    runs: int = RUNS
    best: float | None = None  # where no regret is defined, the reward from which that of an algorithm is subtracted


MEANS = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]
RACE = [0.8, 0.6, 0.5, 0.4, 0.3]
TEAMS = [0.9, 0.8, 0.7, 0.5, 0.45, 0.4, 0.35, 0.3]
JUMPS = [[0.3, 0.5, 0.9], [0.9, 0.5, 0.3], [0.3, 0.9, 0.5], [0.5, 0.3, 0.9], [0.9, 0.5, 0.3]]
STARTS = (0, 2_000, 4_000, 6_000, 8_000)
ANGLE = 0.5
FEATURES = np.vstack([np.eye(4), [[np.cos(ANGLE), np.sin(ANGLE), 0.0, 0.0]]])
THETA = [1.0, 0.0, 0.0, 0.0]
VECTORS = np.sin(1 + 3 * np.arange(10)[:, None] + 7 * np.arange(8))  # theta of each of ten arms
ROW = np.cos(1 + 2 * np.arange(10)) / np.linalg.norm(np.cos(1 + 2 * np.arange(10)))  # theta of all arms
LINEAR = {"features": FEATURES, "theta": THETA, "theta_norm": 1.0}
PREFERENCES = 1 / (1 + np.exp(-0.3 * (np.arange(10)[None] - np.arange(10)[:, None])))
KNAPSACK = {"rewards": [0.7, 0.5, 0.3], "costs": [0.9, 0.4, 0.1], "budget": 3_000}
INSTANCES = {
    "regret": Instance(
        "nine Bernoulli arms of means 0.1, 0.2, ..., 0.9 and 10,000 rounds",
        lambda: jb.environments.bernoulli(MEANS),
        {"num_arms": 9, "horizon": 10_000},
        10_000,
    ),
    "gaussian regret": Instance(
        "five Gaussian arms of means 0, 0.2, 0.5, 0.8, 1, standard deviation 1 and 10,000 rounds",
        lambda: jb.environments.gaussian([0.0, 0.2, 0.5, 0.8, 1.0], sigma=1.0),
        {"num_arms": 5},
        10_000,
    ),
    "changing": Instance(
        "three Bernoulli arms whose means 0.3, 0.5 and 0.9 change places every 2,000 of 10,000 rounds",
        lambda: jb.environments.piecewise_bernoulli(JUMPS, STARTS),
        {"num_arms": 3, "horizon": 10_000, "num_changes": 4, "starts": STARTS},
        10_000,
    ),
    "adversarial": Instance(
        "eight arms of the stochastically constrained adversary with gap 0.125 and 10,000 rounds",
        lambda: jb.environments.constrained_adversary(8),
        {"num_arms": 8, "horizon": 10_000, "num_changes": 0},
        10_000,
    ),
    "linear regret": Instance(
        "four orthogonal arms and one at an angle of 0.5 to the best, Gaussian noise of scale 1, and 10,000 rounds",
        lambda: jb.environments.linear(FEATURES, THETA),
        {**LINEAR, "horizon": 10_000},
        10_000,
    ),
    "vectors": Instance(
        "ten arms with a linear model each of a normal context in eight dimensions, Gaussian noise of scale 0.5, and "
        "5,000 rounds",
        lambda: jb.environments.linear_vectors(VECTORS, sigma=0.5),
        {"num_arms": 10, "dim": 8, "shape": (8,), "sigma": 0.5, "arm_features": np.ones((10, 1))},
        5_000,
    ),
    "rows": Instance(
        "twenty arms, each with a normal row in ten dimensions and one linear model, Gaussian noise of scale 0.5, and "
        "5,000 rounds",
        lambda: jb.environments.linear_matrix(ROW, 20, sigma=0.5),
        {"num_arms": 20, "dim": 10, "sigma": 0.5},
        5_000,
    ),
    "clicks": Instance(
        "twenty arms, each with a normal row x in ten dimensions, rewards 1 with log-odds 5 x'theta, and 2,000 rounds",
        lambda: jb.environments.logistic_matrix(ROW, 20, slope=5.0),
        {"num_arms": 20, "shape": (20, 10), "horizon": 2_000},
        2_000,
    ),
    "teams": Instance(
        "teams of three of eight Bernoulli arms of means 0.9, 0.8, 0.7, 0.5, 0.45, 0.4, 0.35, 0.3, 10,000 rounds",
        lambda: jb.environments.semi_bandit(TEAMS, 3),
        {"num_arms": 8, "k": 3},
        10_000,
    ),
    "duels": Instance(
        "ten arms, of which arm i wins against arm j with probability 1 / (1 + exp(-0.3 (j - i))), and 10,000 rounds",
        lambda: jb.environments.dueling(PREFERENCES),
        {"num_arms": 10},
        10_000,
    ),
    "knapsack": Instance(
        "three arms of mean rewards 0.7, 0.5, 0.3 and mean costs 0.9, 0.4, 0.1, a budget of 3,000 and 10,000 rounds, "
        "against the linear program",
        lambda: jb.environments.knapsack(**KNAPSACK),
        {"num_arms": 3, "budget": 3_000, "num_resources": 1, "horizon": 10_000},
        10_000,
        best=jb.bounds.knapsack_bound(**KNAPSACK, horizon=10_000),
    ),
    "cascade": Instance(
        "lists of two of sixteen items, two of weight 0.2 and the others of weight 0.05, and 10,000 rounds",
        lambda: jb.environments.cascade([0.2] * 2 + [0.05] * 14, 2),
        {"num_arms": 16, "k": 2},
        10_000,
    ),
    "bernoulli": Instance(
        "five Bernoulli arms of means 0.8, 0.6, 0.5, 0.4, 0.3 and delta = 0.05",
        lambda: jb.environments.bernoulli(RACE),
        {"num_arms": 5, "m": 1, "sigma": 0.5, "family": "bernoulli"},
    ),
    "gaussian": Instance(
        "five Gaussian arms of means 0.8, 0.6, 0.5, 0.4, 0.3, standard deviation 0.5 and delta = 0.05 (epsilon "
        "= 0.1 for `kim_nelson`, which needs one)",
        lambda: jb.environments.gaussian(RACE, sigma=0.5),
        {"num_arms": 5},
    ),
    "linear": Instance(
        "four orthogonal arms and one at an angle of 0.5 to the best, Gaussian noise of scale 1, and delta = 0.05",
        lambda: jb.environments.linear(FEATURES, THETA),
        {**LINEAR, "m": 1, "retest": False},
    ),
    "sums": Instance(
        "the three best of eight arms of means 0.9, 0.8, 0.7, 0.5, 0.45, 0.4, 0.35, 0.3 from sums of three with "
        "Gaussian noise of scale 1, epsilon = 0.1 and delta = 0.05",
        lambda: jb.environments.full_bandit(TEAMS, 3),
        {"num_arms": 8, "k": 3, "epsilon": 0.1, "eps_factor": 1.0},
    ),
    "members": Instance(
        "the three best of eight Bernoulli arms of means 0.9, 0.8, 0.7, 0.5, 0.45, 0.4, 0.35, 0.3, each member's "
        "reward seen, and delta = 0.05",
        lambda: jb.environments.semi_bandit(TEAMS, 3),
        {"num_arms": 8, "k": 3},
    ),
    "budget": Instance(
        "twenty Bernoulli arms, one of mean 0.5 and the others of mean 0.4, and a budget of 4,000 pulls",
        lambda: jb.environments.bernoulli([0.5] + [0.4] * 19),
        {"num_arms": 20, "a": 2.0},
        4_000,
        2_000,
    ),
    "gaussian budget": Instance(
        "twenty Gaussian arms of standard deviation 0.5, one of mean 0.5 and the others of mean 0.4, and a budget of "
        "4,000 pulls",
        lambda: jb.environments.gaussian([0.5] + [0.4] * 19, sigma=0.5),
        {"num_arms": 20, "epsilon": 0.0},
        4_000,
        2_000,
    ),
}


def instance_of(name: str) -> str:
    """Return the name of the instance that an algorithm is measured on."""
    known = ALGORITHMS[name]
    if known.question == "budget":
        return "gaussian budget" if known.rewards in UNKNOWN else "budget"
    if known.question == "confidence":
        by_setting = {"features": "linear", "full-bandit": "sums", "semi-bandit": "members"}
        return by_setting.get(known.setting, "gaussian" if known.rewards in UNKNOWN else "bernoulli")
    if known.setting == "arms" and known.rewards in UNKNOWN:
        return "gaussian regret"
    if known.setting == "contexts":
        return "clicks" if known.rewards.startswith("in [0, 1]") else "rows" if "shared" in name else "vectors"
    by_setting = {"changing": "changing", "adversarial": "adversarial", "features": "linear regret"}
    by_setting |= {"semi-bandit": "teams", "dueling": "duels", "knapsack": "knapsack", "cascade": "cascade"}
    return by_setting.get(known.setting, "regret")


def measured(name: str) -> dict[str, Any]:
    """Return an algorithm's regret, samples or error rate with its 95 % interval."""
    entry, key = ALGORITHMS[name], instance_of(name)
    instance, question = INSTANCES[key], entry.question
    given = {parameter: instance.told[parameter] for parameter in entry.parameters() if parameter in instance.told}
    given |= ARGUMENTS.get(name, {})
    factory, environment = functools.partial(entry.factory(), **given), instance.make()
    if question == "regret":
        metrics = None if instance.best is None else {"reward": jb.metrics.reward}
        many = {"num_runs": instance.runs, "seed": SEED, "metrics": metrics}
        played = jb.simulate(factory(), environment, horizon=instance.horizon, **many)
        interval = played.interval(what=None if metrics is None else "reward")
        value, low, high = (float(bound[-1]) for bound in (interval.value, interval.low, interval.high))
        if instance.best is not None:
            value, low, high = (instance.best - reward for reward in (value, high, low))
    elif question == "confidence":
        interval = jb.identify(factory(), environment, num_runs=instance.runs, seed=SEED).interval()
        value, low, high = (float(bound) for bound in (interval.value, interval.low, interval.high))
    else:
        found = jb.identify(factory, environment, budget=instance.horizon, num_runs=instance.runs, seed=SEED)
        error = found.to_json()["error"]
        value, low, high = error["rate"], error["low"], error["high"]
    return {"instance": key, "value": value, "low": low, "high": high, "runs": instance.runs}


def main(names: list[str]) -> None:
    """Measure the algorithms named, or all, and write the file after each."""
    known = tomllib.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    for name in names or ALGORITHMS:
        known[name] = measured(name)
        lines = ["# Written by `python docs/measure.py`: regret, pulls or error rate with 95 % intervals."]
        for each in filter(known.__contains__, ALGORITHMS):
            lines += ["", f"[{each}]", *(f"{key} = {json.dumps(value)}" for key, value in known[each].items())]
        FILE.write_text("\n".join(lines) + "\n", encoding="utf-8")
        print(name, *(f"{known[name][key]:.6g}" for key in ("value", "low", "high")), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
