"""Mean regret of baselines after 10^4 rounds, as an independent program found it, with its standard error."""

import math

import numpy as np
import pytest

import jaxbandit as jb

NINE, RARE = [x / 10 for x in range(1, 10)], [0.01] * 3 + [0.02] * 3 + [0.05] * 3 + [0.1]
WORLDS = {
    "nine": lambda: jb.bernoulli(NINE),
    "rare": lambda: jb.bernoulli(RARE),
    "five": lambda: jb.gaussian([0.0, 0.2, 0.5, 0.8, 1.0], sigma=1.0),
    "two": lambda: jb.gaussian([0.2, 0.0], sigma=1.0),
    "poisson": lambda: jb.poisson(0.5 + np.arange(1, 7) / 3),
}
T = 10_000
CELLS = {
    "ucb_tuned": ("nine", lambda k: jb.ucb_tuned(k), 54.2, 0.44),
    "kl_ucb_plus": ("rare", lambda k: jb.kl_ucb_plus(k), 68.4, 0.61),
    "kl_ucb_plus_plus": ("nine", lambda k: jb.kl_ucb_plus_plus(k, horizon=T), 52.5, 0.47),
    "kl_ucb_switch": ("rare", lambda k: jb.kl_ucb_switch(k, horizon=T), 124.7, 0.73),
    "ada_ucb": ("nine", lambda k: jb.ada_ucb(k, horizon=T, sigma=0.5), 56.9, 0.43),
    "oc_ucb": ("nine", lambda k: jb.oc_ucb(k, sigma=0.5), 80.3, 0.71),
    "boltzmann_gumbel": ("five", lambda k: jb.boltzmann_gumbel(k, c=1.0), 240.5, 1.54),
    "kl_ucb, gaussian": ("two", lambda k: jb.kl_ucb(k, family="gaussian"), 63.5, 1.39),
    "imed, poisson": ("poisson", lambda k: jb.imed(k, family="poisson"), 154.6, 1.34),
    "thompson, gaussian": ("nine", lambda k: jb.thompson(k, family="gaussian", sigma=0.5), 68.2, 0.56),
    "etc_bai": ("two", lambda k: jb.etc_bai(k, horizon=T), 53.5, 0.76),
}


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("name", CELLS)
def test_mean_regret(name):
    """Both means are random: 4 standard errors of the difference, a false alarm in 16,000."""
    world, rule, mean, error = CELLS[name]
    environment = WORLDS[world]()
    found = jb.simulate(
        rule(environment.arms.num_arms), environment, num_runs=300, horizon=T, seed=5, checkpoints=[T], any_rewards=True
    )
    regret = found.arrays["regret"][:, -1]
    own = regret.std(ddof=1) / math.sqrt(len(regret))
    assert abs(regret.mean() - mean) <= 4 * math.hypot(own, error), (regret.mean(), own)
