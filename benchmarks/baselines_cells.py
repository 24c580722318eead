"""The mean regret of baselines as an independent program found it, with its standard errors, and the same played here.

Instances: nine arms, Bernoulli .1 to .9; ten of rare rewards; five and two normal arms; a hundred of means a / 101;
six Poisson and five exponential arms; and five arms with Student's t noise of three degrees of freedom.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import jax
import numpy as np

import jaxbandit as jb

FIVE = [0.0, 0.2, 0.5, 0.8, 1.0]
NINE = [x / 10 for x in range(1, 10)]
RARE = [0.01] * 3 + [0.02] * 3 + [0.05] * 3 + [0.1]
SHORT, LONG = 1_000, 10_000


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
Rule = tuple[Callable[[Told], jb.Algorithm], list[Cell]]
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


RULES: dict[str, Rule] = {
    "etc(20)": (lambda w: jb.algorithms.etc(w.arms, 20), [("nine", LONG, 426.0, 13.83), ("five", LONG, 743.0, 26.61)]),
    "etc_gap": (
        lambda w: jb.algorithms.etc_gap(w.arms, gap=w.gap, horizon=w.horizon, sigma=w.sigma),
        [("two", SHORT, 48.0, 0.31), ("two", LONG, 94.9, 1.57)],
    ),
    "etc_sprt": (
        lambda w: jb.algorithms.etc_sprt(w.arms, gap=w.gap, horizon=w.horizon, sigma=w.sigma),
        [("two", LONG, 35.4, 1.99), ("nine", LONG, 546.4, 4.82)],
    ),
    "etc_bai": (
        lambda w: jb.algorithms.etc_bai(w.arms, horizon=w.horizon, sigma=w.sigma),
        [("two", LONG, 53.5, 0.76), ("nine", LONG, 1005.0, 9.85)],
    ),
    "epsilon_first": (
        lambda w: jb.algorithms.epsilon_first(w.arms, horizon=w.horizon),
        [("nine", LONG, 400.7, 0.94), ("five", LONG, 501.7, 0.74)],
    ),
    "epsilon_decreasing": (
        lambda w: jb.algorithms.epsilon_decreasing(w.arms, d=w.gap),
        [("nine", LONG, 220.7, 3.14), ("rare", LONG, 124.7, 1.73)],
    ),
    "softmax(.1)": (
        lambda w: jb.algorithms.softmax(w.arms, temperature=0.1),
        [("nine", LONG, 516.6, 8.21), ("hundred", SHORT, 168.9, 0.83)],
    ),
    "softmax, decreasing": (
        lambda w: jb.algorithms.softmax(w.arms, schedule="decreasing"),
        [("nine", SHORT, 31.8, 2.11), ("rare", LONG, 54.5, 3.73)],
    ),
    "boltzmann_gumbel": (
        lambda w: jb.algorithms.boltzmann_gumbel(w.arms, c=w.sigma),
        [("nine", LONG, 208.1, 0.81), ("five", LONG, 240.5, 1.54)],
    ),
    "ucb_tuned": (lambda w: jb.algorithms.ucb_tuned(w.arms), [("nine", LONG, 54.2, 0.44), ("rare", LONG, 202.0, 0.64)]),
    "ucb_alpha(1)": (
        lambda w: jb.algorithms.ucb_alpha(w.arms),
        [("nine", LONG, 101.1, 0.54), ("rare", LONG, 296.6, 0.76)],
    ),
    "kl_ucb_plus": (
        lambda w: jb.algorithms.kl_ucb_plus(w.arms),
        [("nine", LONG, 46.5, 0.46), ("rare", LONG, 68.4, 0.61)],
    ),
    "kl_ucb_plus, horizon": (
        lambda w: jb.algorithms.kl_ucb_plus(w.arms, horizon=w.horizon),
        [("nine", LONG, 47.0, 0.42), ("rare", LONG, 69.2, 0.70)],
    ),
    "kl_ucb_plus_plus": (
        lambda w: jb.algorithms.kl_ucb_plus_plus(w.arms, horizon=w.horizon),
        [("nine", LONG, 52.5, 0.47), ("rare", LONG, 70.4, 0.66)],
    ),
    "kl_ucb_switch": (
        lambda w: jb.algorithms.kl_ucb_switch(w.arms, horizon=w.horizon),
        [("nine", LONG, 50.4, 1.71), ("rare", LONG, 124.7, 0.73)],
    ),
    "kl_ucb_switch, anytime": (
        lambda w: jb.algorithms.kl_ucb_switch(w.arms),
        [("nine", LONG, 74.6, 0.56), ("rare", LONG, 156.3, 0.62)],
    ),
    "kl_ucb": (lambda w: jb.algorithms.kl_ucb(w.arms), [("nine", LONG, 58.8, 0.49), ("rare", LONG, 112.1, 0.69)]),
    "kl_ucb, gaussian": (
        of_family(jb.algorithms.kl_ucb, "gaussian"),
        [("five", LONG, 129.1, 1.13), ("two", LONG, 63.5, 1.39)],
    ),
    "kl_ucb, poisson": (of_family(jb.algorithms.kl_ucb, "poisson"), [("poisson", LONG, 222.0, 3.35)]),
    "kl_ucb, exponential": (of_family(jb.algorithms.kl_ucb, "exponential"), [("exponential", LONG, 525.5, 7.07)]),
    "imed": (lambda w: jb.algorithms.imed(w.arms), [("nine", LONG, 47.4, 0.30), ("rare", LONG, 70.3, 0.59)]),
    "imed, gaussian": (
        of_family(jb.algorithms.imed, "gaussian"),
        [("five", LONG, 91.0, 0.93), ("two", LONG, 39.8, 1.26)],
    ),
    "imed, poisson": (of_family(jb.algorithms.imed, "poisson"), [("poisson", LONG, 154.6, 1.34)]),
    "imed, exponential": (of_family(jb.algorithms.imed, "exponential"), [("exponential", LONG, 380.0, 12.34)]),
    "thompson, gaussian": (
        of_family(jb.algorithms.thompson, "gaussian", sigma=0.5),
        [("nine", LONG, 68.2, 0.56), ("rare", LONG, 185.1, 0.94)],
    ),
    "thompson_gaussian_ag": (
        lambda w: jb.algorithms.thompson_gaussian_ag(w.arms),
        [("nine", LONG, 195.9, 0.90), ("rare", LONG, 390.2, 1.11)],
    ),
    "thompson_gaussian_unknown": (
        lambda w: jb.algorithms.thompson_gaussian_unknown(w.arms),
        [("five", LONG, 105.1, 2.06), ("two", LONG, 40.1, 1.00)],
    ),
    "bayes_ucb, gaussian": (
        of_family(jb.algorithms.bayes_ucb, "gaussian"),
        [("five", LONG, 97.8, 2.08), ("two", LONG, 47.3, 1.72)],
    ),
    "bayes_ucb_gaussian_unknown": (
        lambda w: jb.algorithms.bayes_ucb_gaussian_unknown(w.arms),
        [("five", SHORT, 66.3, 2.19), ("two", SHORT, 21.9, 1.34)],
    ),
    "ada_ucb": (
        lambda w: jb.algorithms.ada_ucb(w.arms, horizon=w.horizon, sigma=w.sigma),
        [("nine", LONG, 56.9, 0.43), ("rare", LONG, 127.5, 0.55)],
    ),
    "oc_ucb": (
        lambda w: jb.algorithms.oc_ucb(w.arms, sigma=w.sigma),
        [("nine", LONG, 80.3, 0.71), ("rare", LONG, 183.5, 0.85)],
    ),
    "besa": (lambda w: jb.algorithms.besa(w.arms), [("nine", LONG, 44.0, 0.61), ("rare", LONG, 66.2, 0.91)]),
    "phe": (lambda w: jb.algorithms.phe(w.arms), [("nine", LONG, 63.0, 3.58), ("rare", LONG, 197.7, 1.19)]),
    "giro": (lambda w: jb.algorithms.giro(w.arms), [("nine", LONG, 161.7, 0.96), ("rare", LONG, 328.7, 1.28)]),
    "lb_sda": (
        lambda w: jb.algorithms.lb_sda(w.arms, horizon=w.horizon),
        [("nine", LONG, 51.5, 0.49), ("rare", LONG, 86.0, 0.78)],
    ),
    "rb_sda": (
        lambda w: jb.algorithms.rb_sda(w.arms, horizon=w.horizon),
        [("nine", LONG, 47.6, 0.62), ("rare", LONG, 75.2, 0.72)],
    ),
    "exp3_plus_plus": (
        lambda w: jb.algorithms.exp3_plus_plus(w.arms),
        [("nine", LONG, 559.0, 1.70), ("rare", LONG, 541.7, 2.63)],
    ),
    "raw_ucb": (
        lambda w: jb.algorithms.raw_ucb(w.arms, horizon=w.horizon, sigma=w.sigma),
        [("nine", SHORT, 66.5, 0.79), ("five", SHORT, 84.8, 1.86)],
    ),
    "swa": (lambda w: jb.algorithms.swa(w.arms, window(w)), [("nine", LONG, 273.8, 0.62), ("five", LONG, 451.2, 1.93)]),
    "robust_ucb, truncated": (
        lambda w: jb.algorithms.robust_ucb(w.arms, moment=4.0, horizon=w.horizon),
        [("heavy", SHORT, 388.8, 1.04)],
    ),
    "robust_ucb, medians": (
        lambda w: jb.algorithms.robust_ucb(w.arms, moment=3.0, horizon=w.horizon, estimator="median of means"),
        [("heavy", SHORT, 457.1, 0.39), ("heavy", LONG, 3867.0, 4.00)],
    ),
}
SLOW = "robust_ucb"  # fewer runs of it are played


def compared(name: str, cell: Cell, runs: int) -> dict:
    """Return the mean regret of a rule here and there, and the difference in standard errors."""
    instance, horizon, theirs, their_error = cell
    world = INSTANCES[instance]()
    rule = RULES[name][0](told(instance, arms_of(world), horizon))
    runs = min(runs, 200) if name.startswith(SLOW) else runs
    found = jb.simulate(rule, world, num_runs=runs, horizon=horizon, seed=5, checkpoints=[horizon], any_rewards=True)
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
