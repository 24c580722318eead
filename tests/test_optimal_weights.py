"""Optimal weights against SciPy's root finders, published values, and their own certificate."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from reference import optimal_weights as reference

from jaxbandit.theory.solvers.families import FAMILIES, family
from jaxbandit.theory.solvers.optimal_weights import gaussian_weights, optimal_weights

pytestmark = [pytest.mark.slow, pytest.mark.quickly_compiled]


@functools.cache
def solver(name, dtype):
    return jax.jit(jax.vmap(lambda row: optimal_weights(family(name), row)))


def solved(name, means, dtype=np.float64):
    """One call for all instances."""
    rows = np.resize(np.asarray(means, dtype), (900, len(means[0])))  # one shape, one compilation
    with jax.enable_x64(dtype is np.float64):
        return jax.tree.map(lambda x: np.asarray(x)[: len(means)], solver(name, dtype)(jnp.asarray(rows)))


def test_a_thousand_instances_agree_with_scipy():
    rng = np.random.default_rng(0)
    for name in FAMILIES:
        means = -np.sort(-rng.uniform(0.02, 0.98, (250, 4)), 1)
        if name in ("poisson", "exponential"):
            means = means * 10 ** rng.uniform(-2, 2, (250, 1))
        found = solved(name, means)
        expected = [reference.solve(name, row) for row in means]
        weights, times = (np.stack(x) for x in zip(*expected, strict=True))
        np.testing.assert_allclose(found.weights, weights, atol=1e-7)
        np.testing.assert_allclose(found.time, times, rtol=1e-7)
        assert np.max(found.spread) < 1e-8


def test_published_values():
    """To the digits that were printed: Garivier and Kaufmann's two instances, and three of other families."""
    cases = [
        ("bernoulli", (0.5, 0.45, 0.43, 0.4), (0.41652, 0.39026, 0.13622, 0.05699), 989.7921),
        ("gaussian", (1, 0.5, 0.2, 0), (0.427727, 0.411243, 0.101294, 0.059736), 38.15674),
    ]
    for name, means, weights, time in cases:
        found = solved(name, [means])
        assert found.spread[0] < 1e-12
        np.testing.assert_allclose(found.weights[0], weights, atol=6e-6)
        np.testing.assert_allclose(found.time[0], time, rtol=1e-7)
    five = solved("bernoulli", [(0.3, 0.21, 0.2, 0.19, 0.18)])
    np.testing.assert_allclose(five.weights[0], (0.33589, 0.25150, 0.17663, 0.13242, 0.10357), atol=6e-6)
    np.testing.assert_allclose(five.time[0], 326.6421, rtol=1e-7)
    np.testing.assert_allclose(solved("poisson", [(2, 1.5, 1)]).time, 59.38627, rtol=1e-7)
    np.testing.assert_allclose(solved("exponential", [(2, 1.5, 1)]).time, 102.35694, rtol=1e-7)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", FAMILIES)
def test_certificates_of_random_instances(name, dtype):
    """Means all over the range, near its ends, and near each other, in any order."""
    rng = np.random.default_rng(1)
    wide = rng.uniform(0, 1, (300, 4))
    small = 10 ** rng.uniform(-4, -0.4, (300, 4))
    near = 0.5 + 10 ** rng.uniform(-3, -1, (300, 1)) * rng.uniform(-1, 1, (300, 4))
    found = solved(name, np.concatenate([wide, small, near]), dtype)
    assert np.max(found.spread) < (1e-10 if dtype is np.float64 else 1e-3)
    assert np.median(found.spread) < 20 * np.finfo(dtype).eps
    np.testing.assert_allclose(found.weights.sum(1), 1, rtol=10 * np.finfo(dtype).eps)
    assert np.all(found.weights >= 0)


def rates(means, variances, weights):
    """The rates at which an allocation tells the best Gaussian arm from each other, by a search for the middle."""
    best = int(np.argmax(means))
    found = []
    for k in set(range(len(means))) - {best}:
        mid = np.linspace(means[k], means[best], 200_001)
        own = weights[best] * (means[best] - mid) ** 2 / variances[best]
        cost = own + weights[k] * (mid - means[k]) ** 2 / variances[k]
        found.append(np.min(cost) / 2)
    return np.array(found)


def test_unequal_variances_equalise_the_rates_and_no_other_allocation_does_better():
    means, variances = np.array([0.2, 1.0, 0.5, 0.0]), np.array([1.0, 0.1, 2.0, 3.0])
    with jax.enable_x64(True):
        weigh = jax.jit(gaussian_weights)
        found, same = (jax.tree.map(np.asarray, weigh(means, v)) for v in (variances, np.full(4, 0.49)))
    np.testing.assert_allclose(rates(means, variances, found.weights), 1 / found.time, rtol=1e-8)
    assert found.spread < 1e-14
    rng = np.random.default_rng(2)
    for _ in range(50):
        other = found.weights * np.exp(0.05 * rng.normal(size=4))
        assert rates(means, variances, other / other.sum()).min() < 1 / found.time
    with jax.enable_x64(True):
        known = jax.tree.map(np.asarray, jax.jit(lambda m: optimal_weights(family("gaussian", 0.7), m))(means))
    np.testing.assert_allclose(known.weights, same.weights, rtol=1e-12)
    np.testing.assert_allclose(known.time, same.time, rtol=1e-12)


@pytest.mark.parametrize("name", FAMILIES)
def test_several_best_arms_share_all_pulls_and_take_for_ever(name):
    found = solved(name, [[0.5, 0.2, 0.5, 0.1], [0.5, 0.5, 0.5, 0.5], [0.0, 1.0, 1.0, 0.5], [0.0] * 4], np.float32)
    np.testing.assert_array_equal(found.weights[0], [0.5, 0, 0.5, 0])
    np.testing.assert_array_equal(found.weights[2], [0, 0.5, 0.5, 0])
    np.testing.assert_allclose(found.weights[[1, 3]], 1 / 4)
    np.testing.assert_array_equal(found.time, np.inf)


@pytest.mark.parametrize("name", FAMILIES)
def test_means_at_the_ends_and_far_apart_give_weights(name):
    means = [[0.0, 1.0, 0.0, 0.0], [1.0, 0.5, 0.0, 1e-30], [1e-30, 1.0, 0.0, 1e-9], [0.0, 1e4, 1.0, 1e-4]]
    for dtype in (np.float32, np.float64):
        found = solved(name, means[: 3 if name == "bernoulli" else 4], dtype)
        assert np.all(np.isfinite(found.weights))
        assert np.all(np.isfinite(found.time))
        assert np.all(found.spread < (1e-8 if dtype is np.float64 else 0.01)), found.spread
