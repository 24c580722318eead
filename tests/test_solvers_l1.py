"""Least l1 norms: closed forms, HiGHS, certificates checked in NumPy, degenerate and ill-conditioned features."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import linprog
from tiers import a_few

from jaxbandit.theory.solvers.design import pair_differences
from jaxbandit.theory.solvers.l1 import l1_representation, l1_table

GAP = 1e-9  # relative, in float64
ARMS, DIM, TARGETS = 12, 5, 66  # one compiled program for most tests: zero arms, axes and targets change nothing

many = jax.jit(jax.vmap(l1_representation, (None, 0)))


def represent(features, targets):
    (num_arms, dim), num_targets = features.shape, len(targets)
    x, y = np.zeros((ARMS, DIM)), np.zeros((TARGETS, DIM))
    x[:num_arms, :dim], y[:num_targets, :dim] = features, targets
    with jax.enable_x64(True):
        weights, value, bound = map(np.asarray, many(x, y))
    assert np.all(weights[:, num_arms:] == 0) and np.all(value[num_targets:] == 0)
    return weights[:num_targets, :num_arms], value[:num_targets], bound[:num_targets]


def highs(features, target):
    """A vertex of least l1 norm, and the norm; the target is given length 1, since HiGHS has absolute tolerances."""
    num_arms = len(features)
    size = np.linalg.norm(target) or 1.0
    both = np.hstack([features.T, -features.T])
    solved = linprog(np.ones(2 * num_arms), A_eq=both, b_eq=target / size)
    return (solved.x[:num_arms] - solved.x[num_arms:]) * size, solved.fun * size


def unique(features, target, weights):
    """Whether `weights` is the only optimum: over all of them a random mixture has one value."""
    num_arms, scale = len(features), np.abs(weights).sum()
    mixture = np.random.default_rng(0).normal(size=num_arms)
    both, norm = np.hstack([features.T, -features.T]), np.ones((1, 2 * num_arms))
    cost = np.append(mixture, -mixture)
    ends = [linprog(c, A_ub=norm, b_ub=[1 + 1e-9], A_eq=both, b_eq=target / scale).fun for c in (cost, -cost)]
    return abs(ends[0] + ends[1]) < 1e-6


def assert_optimal(features, targets, found, gap=GAP):
    weights, value, bound = found
    size = np.linalg.norm(targets, axis=1)
    # Equations to rounding, times the condition of the features.
    assert np.all(np.linalg.norm(weights @ features - targets, axis=1) <= 1e-11 * size)
    np.testing.assert_allclose(value, np.abs(weights).sum(1), rtol=1e-12)
    assert np.all(bound <= value) and np.all(value <= bound * (1 + gap))


def soare(dim, angle):
    last = np.zeros(dim)
    last[:2] = np.cos(angle), np.sin(angle)
    return np.vstack([np.eye(dim), last])


def random_features(rng, num_arms, dim):
    x = rng.normal(size=(num_arms, dim))
    return x / np.linalg.norm(x, axis=1)[:, None]


def integer_features(rng):
    return np.unique(rng.integers(-1, 2, size=(12, 4)), axis=0).astype(float)


INSTANCES = {
    "random": lambda rng: random_features(rng, 12, 5),
    "independent": lambda rng: rng.normal(size=(5, 5)),
    "soare 0.3": lambda rng: soare(5, 0.3),
    "soare 0.01": lambda rng: soare(5, 0.01),
    "soare 0.0001": lambda rng: soare(5, 1e-4),
    "equal arms": lambda rng: np.repeat(random_features(rng, 6, 4), 2, axis=0),
    "ties everywhere": lambda rng: np.vstack([np.eye(3), -np.eye(3), np.ones((1, 3)), [[1, 1, 0]]]),
    "integers": integer_features,
    "a plane in space": lambda rng: rng.normal(size=(8, 2)) @ rng.normal(size=(2, 5)),
    "one axis": lambda rng: rng.normal(size=(8, 1)),
    "lengths from 0.01 to 100": lambda rng: random_features(rng, 8, 4) * np.geomspace(0.01, 100, 8)[:, None],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", a_few(INSTANCES))
def test_against_highs(name):
    x = INSTANCES[name](np.random.default_rng(0))
    y = pair_differences(x)
    found = represent(x, y)
    assert_optimal(x, y, found)
    table = l1_table(x)
    first, second = np.triu_indices(len(x), 1)
    np.testing.assert_array_equal(table[second, first], -table[first, second])
    for target, weights, value, ours in zip(y, *found[:2], table[first, second], strict=True):
        by_highs, least = highs(x, target)
        assert np.isclose(value, least, rtol=1e-6)  # HiGHS: 1e-7, absolute, here on targets of length 1
        assert np.isclose(np.abs(ours).sum(), value, rtol=1e-9, atol=1e-300)
        np.testing.assert_allclose(ours @ x, target, atol=1e-11 * np.linalg.norm(target))
        if value > 0 and unique(x, target, weights):
            np.testing.assert_array_equal(weights != 0, ours != 0)
            np.testing.assert_array_equal(weights != 0, np.abs(by_highs) > 1e-6 * least)
            np.testing.assert_allclose(weights, ours, rtol=1e-6, atol=1e-9 * value)


def test_closed_forms():
    # Orthogonal arms: coefficients. Targets that are arms, or their multiples: no dearer than that arm.
    x = np.diag([1.0, 2.0, 4.0])
    targets = np.array([[1.0, -2, 8], [0, 0, 0], [0, 1, 0]])
    weights, value, bound = represent(x, targets)
    np.testing.assert_allclose(weights, targets / np.diagonal(x), rtol=1e-12, atol=0)
    np.testing.assert_allclose(value, [4, 0, 0.5], rtol=1e-12)
    np.testing.assert_allclose(bound, value, rtol=1e-12)
    # x_1 - x_6 of Soare et al.: (1 - cos) of arm 1 and -sin of arm 2 cost less than 1 and -1 of arms 1 and 6.
    angle = 0.01
    weights, value, _ = represent(soare(5, angle), pair_differences(soare(5, angle)))
    expected = np.zeros(6)
    expected[:2] = 2 * np.sin(angle / 2) ** 2, -np.sin(angle)
    np.testing.assert_allclose(weights[4], expected, rtol=1e-9)
    # Equal arms: every split is optimal, and none of them is left out.
    twice, value, _ = represent(np.vstack([np.eye(2)] * 2), np.array([[1.0, -3]]))
    np.testing.assert_allclose(twice[:, :2] + twice[:, 2:], [[1, -3]], rtol=1e-12)
    assert np.isclose(value[0], 4, rtol=1e-12) and np.all(np.abs(twice) > 0.1)


def test_target_outside_the_span():
    x = np.eye(5)[:3]
    weights, value, bound = represent(x, np.array([[1.0, 0, 0, 0, 0], [1, 0, 0, 0, 1e-3], [0, 0, 0, 1, 0]]))
    np.testing.assert_array_equal(value, [1, np.inf, np.inf])
    np.testing.assert_array_equal(bound, [1, np.inf, np.inf])
    assert np.all(np.isfinite(weights))


def test_scaling_target_and_features():
    rng = np.random.default_rng(1)
    x, y = random_features(rng, 12, 5), rng.normal(size=(66, 5))
    weights, value, bound = represent(x, y)
    for factor in (1e-8, 1e8):
        assert_optimal(x, factor * y, represent(x, factor * y))
        np.testing.assert_allclose(represent(x, factor * y)[1], factor * value, rtol=1e-9)
        np.testing.assert_allclose(represent(factor * x, y)[1], value / factor, rtol=1e-9)
    assert_optimal(x, y, (weights, value, bound))


def test_table_of_independent_and_orthogonal_arms():
    for x in (np.eye(6), np.diag(np.arange(1.0, 5)), np.random.default_rng(2).normal(size=(4, 9))):
        identity = np.eye(len(x))
        np.testing.assert_array_equal(l1_table(x), identity[:, None] - identity[None])


@pytest.mark.parametrize(
    ("features", "line"),
    [
        ([[1.0, np.nan], [0, 1]], r"l1_table: features\[0, 1\] = nan, must be in \(-inf, inf\)"),
        ([1.0, 2.0], r"l1_table: features has shape \(2,\), must have 2 axes"),
        ("abc", "l1_table: features = 'abc', must be numbers in 2 axes"),
    ],
)
def test_table_refuses(features, line):
    with pytest.raises(ValueError, match=f"^{line}$"):
        l1_table(features)


@pytest.mark.slow
@pytest.mark.parametrize(("num_arms", "dim", "instances"), [(10, 5, 40), (30, 15, 4)])
def test_random_instances(num_arms, dim, instances):
    rng = np.random.default_rng(3)
    x = np.stack([random_features(rng, num_arms, dim) for _ in range(instances)])
    both = jax.jit(jax.vmap(lambda x: jax.vmap(l1_representation, (None, 0))(x, pair_differences(x))))
    with jax.enable_x64(True):
        found = jax.tree.map(np.asarray, both(x))
    for features, *one in zip(x, *found, strict=True):
        assert_optimal(features, pair_differences(features), one, gap=1e-12)


@pytest.mark.slow
def test_bounds_hold_before_convergence():
    rng = np.random.default_rng(5)
    early = jax.jit(jax.vmap(lambda x, y: l1_representation(x, y, steps=4), (None, 0)))
    x = random_features(rng, ARMS, DIM)
    y = rng.normal(size=(TARGETS, DIM))
    least = represent(x, y)[1]
    with jax.enable_x64(True):
        weights, value, bound = map(np.asarray, early(x, y))
    np.testing.assert_allclose(weights @ x, y, atol=1e-11)
    assert np.all(bound <= least * (1 + 1e-12)) and np.all(least <= value * (1 + 1e-12))
    assert np.any(value > least * (1 + 1e-6)) and np.any(bound < least * (1 - 1e-6))


@pytest.mark.slow
def test_float32():
    rng = np.random.default_rng(4)
    x = random_features(rng, ARMS, DIM)
    y = pair_differences(x)
    weights, value, bound = map(np.asarray, many(jnp.asarray(x), jnp.asarray(y)))
    assert weights.dtype == np.float32
    exact = represent(x, y)[1]
    np.testing.assert_allclose(value, exact, rtol=1e-2)  # what the docstring promises
    assert np.all(bound >= exact * (1 - 1e-2)) and np.all(bound <= exact * (1 + 1e-5))
    np.testing.assert_allclose(weights @ x, y, atol=1e-5)
