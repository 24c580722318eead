"""The mean regret of baselines as an independent program found it, with its standard errors, and the same played here.

Instances: nine arms, Bernoulli .1 to .9; ten of rare rewards; five and two normal arms; a hundred of means a / 101;
six Poisson and five exponential arms; and five arms with Student's t noise of three degrees of freedom.
"""

import csv
import functools
import math
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import jax
import numpy as np

import jaxbandit as jb

FIVE = [0.0, 0.2, 0.5, 0.8, 1.0]
NINE = [x / 10 for x in range(1, 10)]
RARE = [0.01] * 3 + [0.02] * 3 + [0.05] * 3 + [0.1]


def heavy() -> jb.Environment:
    """Return the five normal arms with Student's t noise of three degrees of freedom instead."""
    normal = jb.environments.gaussian(FIVE, sigma=1.0)

    def noise(key: jax.Array) -> jax.Array:
        return jax.random.t(key, 3.0, dtype=float)

    return normal._replace(
        noise=noise,
        reward=lambda state, _, arm, noise: state.means[arm] + noise,
        batch=None,
        rewards=None,
        name="heavy",
    )


INSTANCES: dict[str, Callable[[], jb.Environment]] = {
    "nine": lambda: jb.environments.bernoulli(NINE),
    "rare": lambda: jb.environments.bernoulli(RARE),
    "five": lambda: jb.environments.gaussian(FIVE, sigma=1.0),
    "two": lambda: jb.environments.gaussian([0.2, 0.0], sigma=1.0),
    "hundred": lambda: jb.environments.bernoulli(np.arange(1, 101) / 101),
    "poisson": lambda: jb.environments.poisson(0.5 + np.arange(1, 7) / 3),
    "exponential": lambda: jb.environments.exponential([5.0, 4.0, 3.0, 2.0, 1.0]),
    "heavy": heavy,
}


class Told(NamedTuple):
    """What a rule is told of an instance."""

    arms: int
    horizon: int
    gap: float  # the smallest one
    sigma: float


Cell = tuple[str, int, float, float]  # instance, horizon, mean regret and its standard error
GAPS = {"nine": 0.1, "rare": 0.05, "two": 0.2, "five": 0.2}


def arms_of(world: jb.Environment) -> int:
    """Return the number of arms."""
    assert world.arms is not None
    return world.arms.num_arms


def told(instance: str, arms: int, horizon: int) -> Told:
    """Return what a rule is told of an instance."""
    normal = instance in ("five", "two", "heavy")
    return Told(arms, horizon, GAPS.get(instance, math.nan), 1.0 if normal else 0.5)


def window(own: Told) -> int:
    """Return the fifth of the window of SWA's theorem."""
    spread = 16 * own.sigma**2 * own.horizon**2 * math.log(math.sqrt(2) * own.horizon) / own.arms**2
    return math.ceil(0.2 * spread ** (1 / 3))


def of_family(rule: Callable[..., jb.Algorithm], family: str, **more: float) -> Callable[[Told], jb.Algorithm]:
    """Return the rule for a family."""
    return lambda own: rule(own.arms, family=family, **more)


RULES: dict[str, Callable[[Told], jb.Algorithm]] = {
    "etc(20)": lambda w: jb.algorithms.etc(w.arms, 20),
    "etc_gap": lambda w: jb.algorithms.etc_gap(w.arms, gap=w.gap, horizon=w.horizon, sigma=w.sigma),
    "etc_sprt": lambda w: jb.algorithms.etc_sprt(w.arms, gap=w.gap, horizon=w.horizon, sigma=w.sigma),
    "etc_bai": lambda w: jb.algorithms.etc_bai(w.arms, horizon=w.horizon, sigma=w.sigma),
    "epsilon_first": lambda w: jb.algorithms.epsilon_first(w.arms, horizon=w.horizon),
    "epsilon_decreasing": lambda w: jb.algorithms.epsilon_decreasing(w.arms, d=w.gap),
    "softmax(.1)": lambda w: jb.algorithms.softmax(w.arms, temperature=0.1),
    "softmax, decreasing": lambda w: jb.algorithms.softmax(w.arms, schedule="decreasing"),
    "boltzmann_gumbel": lambda w: jb.algorithms.boltzmann_gumbel(w.arms, c=w.sigma),
    "ucb_tuned": lambda w: jb.algorithms.ucb_tuned(w.arms),
    "ucb_alpha(1)": lambda w: jb.algorithms.ucb_alpha(w.arms),
    "kl_ucb_plus": lambda w: jb.algorithms.kl_ucb_plus(w.arms),
    "kl_ucb_plus, horizon": lambda w: jb.algorithms.kl_ucb_plus(w.arms, horizon=w.horizon),
    "kl_ucb_plus_plus": lambda w: jb.algorithms.kl_ucb_plus_plus(w.arms, horizon=w.horizon),
    "kl_ucb_switch": lambda w: jb.algorithms.kl_ucb_switch(w.arms, horizon=w.horizon),
    "kl_ucb_switch, anytime": lambda w: jb.algorithms.kl_ucb_switch(w.arms),
    "kl_ucb": lambda w: jb.algorithms.kl_ucb(w.arms),
    "kl_ucb, gaussian": of_family(jb.algorithms.kl_ucb, "gaussian"),
    "kl_ucb, poisson": of_family(jb.algorithms.kl_ucb, "poisson"),
    "kl_ucb, exponential": of_family(jb.algorithms.kl_ucb, "exponential"),
    "imed": lambda w: jb.algorithms.imed(w.arms),
    "imed, gaussian": of_family(jb.algorithms.imed, "gaussian"),
    "imed, poisson": of_family(jb.algorithms.imed, "poisson"),
    "imed, exponential": of_family(jb.algorithms.imed, "exponential"),
    "thompson, gaussian": of_family(jb.algorithms.thompson, "gaussian", sigma=0.5),
    "thompson_gaussian_ag": lambda w: jb.algorithms.thompson_gaussian_ag(w.arms),
    "thompson_gaussian_unknown": lambda w: jb.algorithms.thompson_gaussian_unknown(w.arms),
    "bayes_ucb, gaussian": of_family(jb.algorithms.bayes_ucb, "gaussian"),
    "bayes_ucb_gaussian_unknown": lambda w: jb.algorithms.bayes_ucb_gaussian_unknown(w.arms),
    "ada_ucb": lambda w: jb.algorithms.ada_ucb(w.arms, horizon=w.horizon, sigma=w.sigma),
    "oc_ucb": lambda w: jb.algorithms.oc_ucb(w.arms, sigma=w.sigma),
    "besa": lambda w: jb.algorithms.besa(w.arms),
    "phe": lambda w: jb.algorithms.phe(w.arms),
    "giro": lambda w: jb.algorithms.giro(w.arms),
    "lb_sda": lambda w: jb.algorithms.lb_sda(w.arms, horizon=w.horizon),
    "rb_sda": lambda w: jb.algorithms.rb_sda(w.arms, horizon=w.horizon),
    "exp3_plus_plus": lambda w: jb.algorithms.exp3_plus_plus(w.arms),
    "raw_ucb": lambda w: jb.algorithms.raw_ucb(w.arms, horizon=w.horizon, sigma=w.sigma),
    "swa": lambda w: jb.algorithms.swa(w.arms, window(w)),
    "robust_ucb, truncated": lambda w: jb.algorithms.robust_ucb(w.arms, moment=4.0, horizon=w.horizon),
    "robust_ucb, medians": lambda w: jb.algorithms.robust_ucb(
        w.arms, moment=3.0, horizon=w.horizon, estimator="median of means"
    ),
}
MEDIANS = "median of means"
SLOW = "robust_ucb"  # fewer runs of it are played


@functools.cache
def cells() -> dict[str, list[Cell]]:
    """Return what baselines.csv states of each rule."""
    found: dict[str, list[Cell]] = {name: [] for name in RULES}
    with Path(__file__).with_name("baselines.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            cell = row["instance"], int(row["horizon"]), float(row["regret"]), float(row["error"])
            found[row["rule"]].append(cell)
    return found


def compared(name: str, cell: Cell, runs: int) -> dict:
    """Return the mean regret of a rule here and there, and the difference in standard errors."""
    instance, horizon, theirs, their_error = cell
    world = INSTANCES[instance]()
    rule = RULES[name](told(instance, arms_of(world), horizon))
    runs = min(runs, 200) if name.startswith(SLOW) else runs
    found = jb.simulate(rule, world, num_runs=runs, horizon=horizon, seed=5, checkpoints=[horizon], allow=("rewards",))
    regret = np.asarray(found.arrays["regret"][:, -1], float)
    error = float(regret.std(ddof=1)) / math.sqrt(runs)
    off = (float(regret.mean()) - theirs) / math.hypot(error, their_error)
    row = {"rule": name, "instance": instance, "horizon": horizon, "runs": runs, "median": float(np.median(regret))}
    return row | {
        "mean": float(regret.mean()),
        "error": error,
        "theirs": theirs,
        "their_error": their_error,
        "off": off,
    }
