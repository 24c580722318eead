"""Regret of the logistic rules beside that of an independent program, and what the column of ones is worth.

Twenty arms with rows N(0, I / 10), probabilities p(5 x' theta + shift), 2,000 rounds. The figures are means and
standard errors of that program. Each of the cells fails by chance in one of 16,000 suites (4 standard errors).
"""

import functools

import numpy as np
import pytest

import jaxbandit as jb
from jaxbandit.engine.driver.simulate import simulate_cell

pytestmark = [pytest.mark.slow, pytest.mark.statistical]

ARMS, DIM, HORIZON, RUNS = 20, 10, 2000, 48
THETA = np.cos(1 + 2 * np.arange(DIM))
RULES = {
    "ucb_glm": lambda shape, ones: jb.algorithms.ucb_glm(ARMS, shape, horizon=HORIZON, intercept=ones),
    "online": lambda shape, ones: jb.algorithms.logistic_ts(ARMS, shape, intercept=ones),
    "diagonal": lambda shape, ones: jb.algorithms.logistic_ts(ARMS, shape, variant="diagonal", intercept=ones),
}


@functools.cache
def maker(rule, ones):
    """The rule and its world of any shift: one compilation."""

    def make(shift):
        world = jb.environments.logistic_matrix(THETA / np.linalg.norm(THETA), ARMS, slope=5.0, shift=shift)
        return RULES[rule]((ARMS, DIM), ones), world

    return make


@pytest.mark.parametrize(
    ("rule", "shift", "ones", "mean", "error"),
    [
        ("ucb_glm", -3.0, False, 390.0, 13.0),
        ("ucb_glm", -3.0, True, 30.8, 0.8),
        ("online", -3.0, True, 72.3, 1.1),
        ("diagonal", -3.0, True, 81.4, 0.9),
    ],
)
def test_regret(rule, shift, ones, mean, error):
    played = simulate_cell(maker(rule, ones), np.float32(shift), horizon=HORIZON, num_runs=RUNS, seed=11)
    own = played.mean[-1], np.sqrt(played.variance[-1] / RUNS)
    assert abs(own[0] - mean) < 4 * np.hypot(own[1], error), own
