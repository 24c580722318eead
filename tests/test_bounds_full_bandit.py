"""Constants of full-bandit top-k against enumeration and closed forms; sample bounds against the conditions printed."""

import itertools
import math

import numpy as np
import pytest

from jaxbandit.theory.bounds.full_bandit import (
    full_bandit_complexity,
    icb_sample_bound,
    rho,
    rho_prime,
    saqm_sample_bound,
    uniform_design_matrix,
)

N, K = 7, 3
SETS = np.array([np.isin(np.arange(N), c) for c in itertools.combinations(range(N), K)], float)


def random_design():
    chosen = np.random.default_rng(0).choice(len(SETS), 2 * N, replace=False)
    return SETS[chosen].T @ SETS[chosen] / (2 * N)


@pytest.mark.slow
def test_uniform_design_matrix_is_the_mean_over_all_sets():
    np.testing.assert_allclose(uniform_design_matrix(N, K), SETS.T @ SETS / len(SETS), rtol=1e-13)
    # Kiefer and Wolfowitz: uniform is G-optimal, and its largest norm the dimension; all sets tie, so both ends meet.
    np.testing.assert_allclose(rho(uniform_design_matrix(N, K), K), N, rtol=1e-9)


@pytest.mark.parametrize("k", [3, 4])  # 2k below and above n
def test_rho_and_rho_prime_against_enumeration(k):
    sets = np.array([np.isin(np.arange(N), c) for c in itertools.combinations(range(N), k)], float)
    design = random_design()
    inverse = np.linalg.inv(design)
    norms = np.einsum("si,ij,sj->s", sets, inverse, sets)
    found = rho(design, k)
    assert norms.max() * (1 - 1e-12) <= found.high and found.low <= norms.max() * (1 + 1e-12)
    assert np.isclose(found.low, norms, rtol=1e-9).any()  # attained by a set
    others = [np.sort(np.delete(row, i))[::-1] for i, row in enumerate(inverse)]
    rows = np.sort([inverse[i, i] + other[: k - 1].sum() for i, other in enumerate(others)])[::-1]
    spread = max(np.ptp(other) for other in others)
    assert found.high <= rows[:k].sum() + k * (k - 1) * spread / 2**16  # what bisection leaves
    apart = np.abs(sets[:, None] - sets[None]) @ np.sqrt(inverse.diagonal())
    assert np.isclose(rho_prime(design, k), apart.max() ** 2, rtol=1e-12)


def test_sample_bounds_solve_the_conditions_printed():
    log_sets = math.log(math.comb(10, 5))
    complexity = float(full_bandit_complexity(10.0, 0.4, epsilon=0.1))
    assert complexity == 10 / 0.25
    t = float(saqm_sample_bound(10, 5, complexity, alpha=0.8, delta=0.05, sigma=5.0))
    radius = 2 * math.sqrt(2) * 5 * math.sqrt(math.log(6 / math.pi**2 / 0.05) + 2 * math.log(t) + log_sets)
    assert np.isclose(t, (3 + 1 / 0.8) ** 2 * radius**2 * complexity, rtol=1e-9)
    t = float(icb_sample_bound(10, 5, complexity, delta=0.05, sigma=5.0))
    radius = 5 * math.sqrt(2 * math.log(6 / math.pi**2 * t**2 * 10 / 0.05))
    assert np.isclose(t, 4 * radius**2 * complexity, rtol=1e-9)
    t = float(icb_sample_bound(10, 5, complexity, delta=0.05, sigma=5.0, radius="prop1"))
    radius = 2 * math.sqrt(2) * 5 * math.sqrt(math.log(6 / math.pi**2 / 0.05) + 2 * math.log(t) + log_sets)
    assert np.isclose(t, 4 * radius**2 * complexity, rtol=1e-9)


def test_edges():
    assert full_bandit_complexity(10.0, 0.0) == np.inf
    assert icb_sample_bound(10, 5, np.inf, delta=0.05, sigma=1.0) == np.inf
    assert icb_sample_bound(10, 5, 1e-9, delta=0.05, sigma=1.0) == 10  # stops once there is an estimate
    singular = np.kron(np.eye(2), np.ones((3, 3)))
    with pytest.raises(ValueError, match="design_matrix has rank 2, must have rank 6"):
        rho(singular, 3)
