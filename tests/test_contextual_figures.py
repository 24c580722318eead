"""Mean regrets of linear rules on contexts of floats agree with those of an independent program, one in each world.

Each figure is its mean and standard error. A right program differs from one by more than four standard errors of the
difference with probability 6e-5. Seeds are fixed. Round by round, test_differential_contextual compares the rules.
"""

import numpy as np
import pytest

import jaxbandit as jb
from jaxbandit.algorithms import lin_ts_shared, lin_ucb_disjoint, lin_ucb_shared

pytestmark = [pytest.mark.slow, pytest.mark.statistical]

THETAS = np.sin(1 + 3 * np.arange(10)[:, None] + 7 * np.arange(8))  # of ten arms
THETA = np.cos(1 + 2 * np.arange(10)) / np.linalg.norm(np.cos(1 + 2 * np.arange(10)))
DIRECTIONS = THETAS[:4] / np.linalg.norm(THETAS[:4], axis=1, keepdims=True)
OWN = {"intercept": False}  # as in the independent program
PAIRS = {
    "vectors": lambda: (lin_ucb_disjoint(10, 8, **OWN), jb.environments.linear_vectors(THETAS, sigma=0.5)),
    "matrix": lambda: (lin_ts_shared(20, 10, sigma=0.5, **OWN), jb.environments.linear_matrix(THETA, 20, sigma=0.5)),
    "logistic": lambda: (
        lin_ucb_shared(20, 10, alpha=0.5, **OWN),
        jb.environments.logistic_matrix(THETA, 20, slope=5.0, shift=-3.0),
    ),
    "quadratic": lambda: (
        lin_ucb_disjoint(4, 8, alpha=0.5, **OWN),
        jb.environments.quadratic_vectors(DIRECTIONS, sigma=0.1),
    ),
    "digits": lambda: (lin_ucb_disjoint(10, 62, alpha=0.5, **OWN), jb.environments.classes("digits")),
}


@pytest.mark.parametrize(
    ("name", "horizon", "runs", "mean", "error"),
    [
        ("vectors", 5_000, 96, 235.5, 1.1),
        ("matrix", 5_000, 96, 70.6, 0.5),
        ("logistic", 2_000, 96, 30.9, 0.7),
        ("quadratic", 5_000, 64, 130.2, 1.5),
        ("digits", 1_797, 64, 1797 - 1492.7, 3.9),
    ],
)
def test_mean_regret(name, horizon, runs, mean, error):
    found = jb.simulate(*PAIRS[name](), horizon=horizon, num_runs=runs, seed=3)
    regrets = found.arrays["regret"][:, -1].astype(float)
    own = regrets.std(ddof=1) / np.sqrt(runs)
    assert abs(regrets.mean() - mean) <= 4 * np.hypot(error, own)
