"""The laws whose runs `coverage` puts into results: regret, stopping times, errors, and rewards of arms."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

import jaxbandit as jb
from jaxbandit.base.contract import Outcome
from jaxbandit.running.results.budget import BudgetResult
from jaxbandit.running.results.regret import RegretResult
from jaxbandit.running.results.stopping import StoppingResult

Law = Callable[[np.random.Generator, int], np.ndarray]  # runs of one quantity
Rewards = Callable[[np.random.Generator, int], tuple[np.ndarray, np.ndarray]]  # rewards [n, arms], and the arms' means
LIMIT = 300  # max_rounds of the restricted samples that are compared
TIMES = np.unique(np.geomspace(2, 3000, 40).astype(int))  # pulls of each arm at which a certificate is read
RARE = "one run in 50 fails"
VERY_SKEWED = "log-normal, scale 1"
SKEWED = (RARE, VERY_SKEWED)

REGRET: dict[str, Law] = {
    "gamma, skewness 1": lambda rng, n: rng.gamma(4.0, 25.0, n),
    "log-normal, scale 0.5": lambda rng, n: rng.lognormal(4.0, 0.5, n),
    VERY_SKEWED: lambda rng, n: rng.lognormal(4.0, 1.0, n),
    RARE: lambda rng, n: np.where(rng.random(n) < 0.02, 5000.0, rng.gamma(4.0, 25.0, n)),
}
SAMPLES: dict[str, Law] = {
    "geometric": lambda rng, n: rng.geometric(1 / 300, n),
    "log-normal, scale 0.5": lambda rng, n: np.ceil(rng.lognormal(6.0, 0.5, n)).astype(np.int64),
    VERY_SKEWED: lambda rng, n: np.ceil(rng.lognormal(6.0, 1.0, n)).astype(np.int64),
}


def _both(scale: float, shift: float, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    common = rng.gamma(4.0, scale, n)
    return np.ceil(common + rng.gamma(4.0, scale, n)), np.ceil(common + rng.gamma(4.0, 1.5 * scale, n) + shift)


def _errors(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    common = rng.random(n) < 0.02
    return (common | (rng.random(n) < 0.01)).astype(float), (common | (rng.random(n) < 0.05)).astype(float)


PAIRS: dict[str, Callable[[np.random.Generator, int], tuple[np.ndarray, np.ndarray]]] = {
    "regret": lambda rng, n: _both(10.0, 3.0, n, rng),
    "samples": lambda rng, n: _both(30.0, 9.0, n, rng),
    "restricted samples": lambda rng, n: _both(35.0, 9.0, n, rng),  # restricted to LIMIT, which censors a third or half
    "error rates": _errors,
}
TIED = ("restricted samples", "error rates")


def _labels(seed: int) -> dict[str, Any]:
    return {
        "instance": "law",
        "algorithm": "rule",
        "params": {},
        "seed": seed,
        "precision": "float64",
        "seconds": {},
        "run_steps": 0,
        "devices": [],
        "versions": {},
    }


def regret(values: np.ndarray, seed: int = 0) -> RegretResult:
    """Return the result of runs with this regret at the end."""
    rows = values[:, None]
    moments = {"mean": rows.mean(axis=0), "variance": rows.var(axis=0, ddof=1), "regret": rows}
    arrays = {"checkpoints": np.array([10_000]), "outcome": np.zeros(len(values), np.int8), **moments}
    return RegretResult(runs=len(values), arrays=arrays, **_labels(seed))


def pulls(values: np.ndarray) -> tuple[float, float]:
    """Return the interval of the mean pulls of an arm that runs pulled so often."""
    result = regret(values)
    found = dataclasses.replace(result, arrays=result.arrays | {"pulls": values[:, None]}).mean_pulls()
    assert found is not None
    return float(found.low[0]), float(found.high[0])


def stopping(times: np.ndarray, limit: int, seed: int = 0) -> StoppingResult:
    """Return the result of runs that stop at these times or are censored at `limit`."""
    late = times > limit
    arrays = {
        "samples": np.minimum(times, limit).astype(np.int64),
        "outcome": np.where(late, Outcome.MAX_ROUNDS, Outcome.STOPPED).astype(np.int8),
        "recommendation": np.zeros(len(times), np.int32),
    }
    guarantee = {"epsilon": 0.0, "m": 1}
    return StoppingResult(
        runs=len(times), arrays=arrays, max_rounds=limit, guarantee=guarantee, lane_utilization=None, warnings=[],
        **_labels(seed),
    )  # fmt: skip


def budget(shortfall: np.ndarray, seed: int = 0) -> BudgetResult:
    """Return the result of runs with a fixed budget and these simple regrets, of arms with means .1, .6 and .9."""
    fields = vars(stopping(np.full(len(shortfall), 100), 100, seed))
    arrays = fields["arrays"] | {"shortfall": shortfall}
    return BudgetResult(**fields | {"arrays": arrays, "truth": {"means": [0.1, 0.6, 0.9]}})


def shortfalls(rng: np.random.Generator, rate: float, runs: int) -> np.ndarray:
    """Return simple regrets: 0, or with probability `rate` that of one of the two wrong arms, mostly the nearer one."""
    wrong = np.where(rng.random(runs) < 0.8, 0.3, 0.8)
    return np.where(rng.random(runs) < rate, wrong, 0.0)


def errors(rng: np.random.Generator, rate: float, runs: int = 50) -> BudgetResult:
    """Return the result of runs with a fixed budget that err with this probability."""
    return budget(shortfalls(rng, rate, runs))


def compared(kind: str, rng: np.random.Generator, runs: int, paired: bool) -> tuple[Any, Any]:
    """Return two results of one of PAIRS; if they are not paired, they come from independent runs."""
    a, b = PAIRS[kind](rng, runs)
    if not paired:
        b = PAIRS[kind](rng, runs)[1]
    seeds = (0, 0) if paired else (0, 1)
    if kind == "regret":
        return regret(a, seeds[0]), regret(b, seeds[1])
    if kind == "error rates":
        return budget(0.3 * a, seeds[0]), budget(0.3 * b, seeds[1])
    limit = LIMIT if kind in TIED else 10**6  # restricted samples are those of censored runs
    return stopping(a, limit, seeds[0]), stopping(b, limit, seeds[1])


def _normal(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    means = np.array([0.0, 1.0, 5.0])
    return means + rng.normal(0, [0.1, 1.0, 20.0], (n, 3)), means


def _bernoulli(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    means = np.array([0.02, 0.5, 0.9])
    return (rng.random((n, 3)) < means).astype(float), means


def _known(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    means = np.array([0.0, 1.0, 5.0])
    return means + rng.normal(0, 1.0, (n, 3)), means


ARMS: tuple[tuple[str, Callable[[], Any], Rewards], ...] = (
    ("rewards in [0, 1]", lambda: jb.algorithms.betting_race(3, delta=0.05), _bernoulli),
    ("normal, known sigma", lambda: jb.algorithms.lucb(3, delta=0.05, epsilon=0.01, sigma=1.0), _known),
    ("normal, unknown variances", lambda: jb.algorithms.student_race(3, delta=0.05), _normal),
)
