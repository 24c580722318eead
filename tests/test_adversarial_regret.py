"""Regret of the adversarial algorithms on named worlds, at the sizes of the literature."""

import numpy as np
import pytest

import jaxbandit as jb
from jaxbandit.engine.driver.simulate import simulate_cell

pytestmark = [pytest.mark.slow, pytest.mark.statistical]


def play(rule, world, **options):
    return simulate_cell(lambda _: (rule, world), (), **options)


def test_float32_plays_a_long_run_as_float64_does():
    """Tsallis-INF on the constrained adversary, 10^6 rounds, 16 runs: the mean regrets of both precisions agree.

    They have uniforms of their own, so are compared at five standard errors of their difference: false alarm 6e-7.
    """
    options = {"horizon": 1_000_000, "num_runs": 16, "checkpoints": [1_000_000]}
    found = [
        play(jb.algorithms.tsallis_inf(8), jb.environments.constrained_adversary(), precision=f"float{b}", **options)
        for b in (32, 64)
    ]
    error = np.sqrt(sum(record.variance[-1] for record in found) / 16)
    assert abs(found[0].mean[-1] - found[1].mean[-1]) < 5 * error


# Named worlds of the literature, with what an independent program gave: regret against the best fixed arm, mean and
# standard error. Those of Neu have heavy tails.
HALVES = np.arange(10_000)[:, None] < 5_000
TABLE = np.where(HALVES, [0.3, 0.25, 0.35, 0.4], [0.3, 0.45, 0.1, 0.4])
TABLE = TABLE + 0.4 * ((np.arange(1, 10_001)[:, None] * np.sqrt([2, 3, 5, 7])) % 1)
NEU = [[0.5] * 8 + [0.6, 0.4], [0.5] * 8 + [0.6, 0.9]]
KNOWN = {
    "tsallis_inf": (
        lambda: (jb.algorithms.tsallis_inf(8), jb.environments.constrained_adversary()),
        100_000,
        200,
        527.6,
        10.48,
    ),
    "exp3": (lambda: (jb.algorithms.exp3(8), jb.environments.constrained_adversary()), 100_000, 200, 771.0, 10.79),
    "exp3_s": (
        lambda: (jb.algorithms.exp3_s(4, horizon=10_000), jb.environments.loss_table(TABLE)),
        10_000,
        200,
        -63.2,
        2.37,
    ),
    "exp3_ix": (
        lambda: (
            jb.algorithms.exp3_ix(10, rate="fixed", horizon=1_000_000),
            jb.environments.piecewise_bernoulli(NEU, [0, 500_000]),
        ),
        1_000_000,
        16,
        -84696.3,
        192.46,
    ),
}


@pytest.mark.parametrize("name", KNOWN)
def test_regret_is_that_of_an_independent_program(name):
    """Within four standard errors of the difference: false alarm 6e-5 for each of the four."""
    make, horizon, num_runs, mean, error = KNOWN[name]
    record = play(*make(), horizon=horizon, num_runs=num_runs, checkpoints=[horizon], hindsight=True, seed=11)
    assert record.hindsight_mean is not None and record.hindsight_variance is not None
    own = np.sqrt(record.hindsight_variance[-1] / num_runs)
    assert abs(record.hindsight_mean[-1] - mean) < 4 * np.hypot(own, error)
    if name == "exp3_ix":  # the best arm of each half has 10^5 more than the best of both: .1 T
        np.testing.assert_allclose(record.mean[-1] - record.hindsight_mean[-1], 1e5, rtol=1e-6)
