"""Logistic regression row by row and over all rows, against the formulas in NumPy and against SciPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import brentq, minimize
from scipy.special import expit

from jaxbandit.theory.estimators import logistic_diagonal, logistic_laplace, logistic_likelihood
from jaxbandit.theory.estimators import recursive_least_squares as least_squares

pytestmark = pytest.mark.quickly_compiled

DIM, ROWS = 5, 400


def data(seed=0, rows=ROWS, scale=1.0):
    """Rows, and rewards in [0, 1] of which a third are neither 0 nor 1."""
    rng = np.random.default_rng(seed)
    x = scale * rng.standard_normal((rows, DIM))
    y = (rng.random(rows) < expit(2 * x[:, 0] - x[:, 1] - 1)).astype(float)
    return x, np.where(np.arange(rows) % 3 == 0, rng.random(rows), y)


def played(estimator, x, y, regularization):
    """The estimate after all rows, by the estimator."""

    @jax.jit
    def play(x, y, regularization):
        start = estimator.init(DIM, regularization)
        return jax.lax.scan(lambda state, row: (estimator.update(state, *row), None), start, (x, y))[0]

    return play(jnp.asarray(x), jnp.asarray(y), regularization)


def test_the_online_posterior_is_that_of_its_formula():
    """H^-1 by Sherman and Morrison from the curvature at the old mean, and the mean's step with the new H^-1."""
    x, y = data()
    with jax.enable_x64(True):
        found = played(logistic_laplace, x, y, 0.3)
        inverse, logdet = np.asarray(found.inverse), float(found.logdet)
    hessian, theta = 0.3 * np.eye(DIM), np.zeros(DIM)
    for row, reward in zip(x, y, strict=True):
        p = expit(row @ theta)
        hessian += p * (1 - p) * np.outer(row, row)
        theta = theta + np.linalg.solve(hessian, row) * (reward - p)
    np.testing.assert_allclose(found.theta, theta, rtol=1e-11)
    np.testing.assert_allclose(inverse, np.linalg.inv(hessian), rtol=1e-10, atol=1e-14)
    assert logdet == pytest.approx(np.linalg.slogdet(hessian)[1], rel=1e-12)


@pytest.mark.slow
def test_a_saturated_reward_changes_nothing_and_stays_finite():
    """p rounds to 1 in float32 there, so that the curvature is 0."""
    start = logistic_laplace.init(2, 1.0)._replace(theta=jnp.array([40.0, 0.0]))
    after = logistic_laplace.update(start, jnp.array([3.0, 1.0]), jnp.ones(()))
    np.testing.assert_array_equal(after.theta, start.theta)
    np.testing.assert_array_equal(after.root, start.root)


def test_float32_keeps_to_float64():
    """Sums are compensated: the error after 4,000 rows is that of a few roundings, in units of the posterior's sd."""
    x, y = data(1, rows=4000)
    single = played(logistic_laplace, x.astype(np.float32), y.astype(np.float32), np.float32(1.0))
    with jax.enable_x64(True):
        double = played(logistic_laplace, x.astype(np.float32).astype(float), y.astype(np.float32).astype(float), 1.0)
        inverse = np.asarray(double.inverse)
        sd = np.sqrt(np.diag(inverse))
    assert single.theta.dtype == np.float32
    assert np.max(np.abs(np.asarray(single.theta) - np.asarray(double.theta)) / sd) < 1e-3
    np.testing.assert_allclose(single.inverse, inverse, rtol=1e-4, atol=1e-4 * np.max(inverse))


@pytest.mark.slow
def test_a_weighted_row_with_weight_one_is_a_row():
    x, y = data(2, rows=20)
    with jax.enable_x64(True):
        one = two = least_squares.init(DIM, 0.5)
        for row, reward in zip(jnp.asarray(x), jnp.asarray(y), strict=True):
            residual = reward - jnp.sum(row * two.theta)
            one, two = least_squares.update(one, row, reward), least_squares.weighted_update(two, row, 1.0, residual)
        for a, b in zip(one[:3], two[:3], strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)
        np.testing.assert_array_equal(least_squares.weighted_update(two, row, 1.0, 0.0).theta, two.theta)


@pytest.mark.parametrize("scale", [1.0, 30.0])
def test_the_diagonal_posterior_minimizes_its_objective(scale):
    """Each row: SciPy's root of the scalar equation, then the curvature at the new means."""
    x, y = data(3, scale=scale)
    with jax.enable_x64(True):
        found = played(logistic_diagonal, x, y, 0.3)
    theta, precision = np.zeros(DIM), np.full(DIM, 0.3)
    for row, reward in zip(x, y, strict=True):
        score, spread = row @ theta, np.sum(row**2 / precision)

        def equation(c, score=score, spread=spread, reward=reward):
            return c - reward + expit(score + c * spread)

        c = brentq(equation, reward - 1, reward, xtol=1e-15, rtol=1e-15)
        theta = theta + c * row / precision
        gradient = precision * (c * row / precision) - row * (reward - expit(row @ theta))
        assert np.max(np.abs(gradient)) < 1e-11 * scale**2  # the minimum of the paper's objective
        p = expit(row @ theta)
        precision = precision + row**2 * p * (1 - p)
    np.testing.assert_allclose(found.theta, theta, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.precision, precision, rtol=1e-9)


def test_the_scalar_equation_is_solved_to_1e_12():
    """Scores up to 1e3 in size, spreads from 1e-6 to 1e5, rewards 0, 1 and between; no rewards outside."""
    rng = np.random.default_rng(4)
    n = 20_000
    score, spread = rng.standard_normal(n) * 10 ** rng.uniform(-3, 3, n), 10 ** rng.uniform(-6, 5, n)
    reward = np.where(rng.random(n) < 0.3, rng.random(n), rng.integers(0, 2, n))
    spread[:10] = 0.0
    with jax.enable_x64(True):
        found = np.asarray(jax.jit(logistic_diagonal.residual)(score, spread, reward))
    low, high = reward - 1, reward.copy()
    for _ in range(60):
        middle = (low + high) / 2
        above = middle - reward + expit(score + middle * spread) > 0
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    assert np.max(np.abs(found - low)) < 1e-12


def newton(rows, rewards, seen, used, regularization, start):
    length = logistic_likelihood.padded_length(len(rows))
    x, y = np.full((length, DIM), 1e3), np.full(length, 7.0)  # what is not seen must not count
    x[: len(rows)], y[: len(rows)] = rows, rewards
    flags = np.ones(length, bool)
    flags[: len(rows)] = used
    with jax.enable_x64(True):
        return np.asarray(_newton(x, y, np.int32(seen), flags, regularization, start))


_newton = jax.jit(logistic_likelihood.maximum)


def objective(theta, x, y, regularization):
    u = x @ theta
    return np.sum(np.logaddexp(0, u) - y * u) + regularization * theta @ theta / 2


@pytest.mark.parametrize("seen", [0, 1, 127, 128, 129, 300])
def test_newton_finds_the_maximum(seen):
    x, y = data(5)
    used = np.arange(ROWS) % 4 > 0
    found = newton(x, y, seen, used, 0.5, np.zeros(DIM))
    x, y = x[:seen][used[:seen]], y[:seen][used[:seen]]
    gradient = x.T @ (y - expit(x @ found)) - 0.5 * found
    assert np.max(np.abs(gradient)) < 1e-9
    expected = minimize(objective, np.zeros(DIM), (x, y, 0.5), method="BFGS", options={"gtol": 1e-8}).x
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_newton_comes_back_from_far_away():
    """Separable rows, hardly any penalty and a start at which p is 0 or 1: the full Newton step overshoots there."""
    rng = np.random.default_rng(6)
    x = 5 * rng.standard_normal((ROWS, DIM))
    y = (x[:, 0] > 0).astype(float)
    for start in (np.zeros(DIM), np.full(DIM, -3.0), np.array([-20.0, 0, 0, 5, 0])):
        found = newton(x, y, ROWS, True, 0.01, start)
        gradient = x.T @ (y - expit(x @ found)) - 0.01 * found
        assert np.max(np.abs(gradient)) < 1e-7


def test_newton_in_float32():
    x, y = data(7)
    length = logistic_likelihood.padded_length(ROWS)
    rows = np.zeros((length, DIM), np.float32)
    rewards = np.zeros(length, np.float32)
    rows[:ROWS], rewards[:ROWS] = x, y
    found = _newton(rows, rewards, np.int32(ROWS), np.ones(length, bool), np.float32(1.0), np.zeros(DIM, np.float32))
    np.testing.assert_allclose(found, newton(x, y, ROWS, True, 1.0, np.zeros(DIM)), atol=1e-5)
