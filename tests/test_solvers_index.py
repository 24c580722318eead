"""Index solvers against their defining property, over grids that hold every edge, in float32 and float64."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import reference.ucboost

from jaxbandit.support import numerics
from jaxbandit.theory.solvers import semidistance
from jaxbandit.theory.solvers.empirical_kl import empirical_upper
from jaxbandit.theory.solvers.kl import kl_upper

NAMES = sorted(semidistance.UPPER)


def grid(dtype):
    ends = np.logspace(-9, -1, 25)
    p = np.concatenate([[0, 1], ends, np.linspace(0.1, 0.9, 33), 1 - ends, np.arange(1, 7) / 7])
    delta = np.concatenate([[0, np.inf], np.logspace(-7, 2.5, 120)])
    p, delta = np.meshgrid(np.unique(p.astype(dtype)), np.unique(delta.astype(dtype)))
    return p.ravel(), delta.ravel()


def evaluate(function, dtype, *arguments):
    with jax.enable_x64(dtype is np.float64):
        result = jax.jit(function)(*[jnp.asarray(a, dtype) for a in arguments])
        assert result.dtype == dtype
        return np.asarray(result)


def exact_kl_upper(p, delta):
    """Bisection on w = -log((1-q)/(1-p)) in extended precision, where kl has no cancellation near q = 1."""
    p, delta = p.astype(np.longdouble), np.minimum(delta, 1000).astype(np.longdouble)
    rest, positive = np.where(p < 1, 1 - p, 1), np.where(p > 0, p, 1)
    low, high = np.zeros_like(p), delta / rest + 1
    for _ in range(110):
        w = (low + high) / 2
        inside = rest * w - p * np.log1p(-rest * np.expm1(-w) / positive) <= delta
        low, high = np.where(inside, w, low), np.where(inside, high, w)
    return np.where(p < 1, p - rest * np.expm1(-low), 1)


@pytest.mark.slow
@pytest.mark.parametrize(("dtype", "above"), [(np.float32, 5e-7), (np.float64, 2e-15)])
def test_kl_upper_is_certified_and_never_low(dtype, above):
    p, delta = grid(dtype)
    q = evaluate(kl_upper, dtype, p, delta)
    error = (q - exact_kl_upper(p, delta)).astype(float)
    assert error.min() >= (-1e-7 if dtype is np.float32 else -1e-16)
    assert error.max() <= above
    assert np.all((q >= p) & (q <= 1))


@pytest.mark.slow
def test_kl_upper_at_three_points_solved_elsewhere():
    q = evaluate(kl_upper, np.float64, [0.3, 0.9, 0.01], [0.05, 0.02, 0.001])
    np.testing.assert_allclose(q, [0.4545968338, 0.9493708461, 0.0151230456], rtol=0, atol=5e-11)  # ten digits printed


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", NAMES)
def test_solution_is_feasible_and_maximal(name, dtype):
    p, delta = grid(dtype)
    q = evaluate(semidistance.UPPER[name], dtype, p, delta).astype(float)
    # A relative error of a few units in q, hence a change of d by that times q (1 + slope): compare shifted points.
    slack = 8 * np.finfo(dtype).eps
    p, delta = p.astype(float), delta.astype(float)
    with np.errstate(all="ignore"):
        inside = evaluate(semidistance.DISTANCES[name], np.float64, p, np.maximum(q - slack, p))
        outside = evaluate(semidistance.DISTANCES[name], np.float64, p, np.minimum(q + slack, 1))
    assert np.all((q >= p - slack) & (q <= 1))
    moved = (q - slack > p) & (q < 1)
    tiny = 1e-13  # rounding of the distances themselves
    assert np.all(inside[moved] <= delta[moved] + tiny)
    room = q + slack < 1
    assert np.all(outside[room] >= delta[room] - tiny)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_kl_solution_is_below_all_others(dtype):
    p, delta = grid(dtype)
    best = evaluate(kl_upper, dtype, p, delta)
    for name in NAMES:
        assert np.all(best <= evaluate(semidistance.UPPER[name], dtype, p, delta) + 8 * np.finfo(dtype).eps)


@pytest.mark.parametrize("eps", [0.3, 0.01, 0.001])
def test_eps_optimal_indices(eps):
    p, delta = grid(np.float64)
    best = evaluate(kl_upper, np.float64, p, delta)
    for upper in (semidistance.upper_eps, semidistance.upper_lb_eps):
        q = evaluate(upper, np.float64, p, delta, np.float64(eps))
        assert np.all((q >= best - 1e-14) & (q <= 1))
        sure = (q < 1 - 1e-9) & (best > 0)
        divergence = evaluate(numerics.bernoulli_kl, np.float64, p, q)
        assert np.all(divergence[sure] <= delta[sure] + eps * (1 + 1e-9) + 1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("eps", [0.3, 0.05])
@pytest.mark.parametrize("name", ["upper_eps", "upper_lb_eps"])
def test_eps_optimal_indices_equal_a_scan_of_every_k(name, eps):
    rng = np.random.default_rng(3)  # away from grid points, where one ulp of delta decides
    p, delta = rng.uniform(0, 1, 600), 10 ** rng.uniform(-3, 0.7, 600)
    q = evaluate(getattr(semidistance, name), np.float64, p, delta, np.float64(eps))
    want = [getattr(reference.ucboost, name)(*pair, eps) for pair in zip(p, delta, strict=True)]
    np.testing.assert_allclose(q, want, rtol=0, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [pytest.param(np.float32, marks=pytest.mark.slow), np.float64])
def test_empirical_upper_on_two_atoms_is_kl_upper(dtype):
    p, delta = grid(dtype)
    weights = np.stack([1 - p, p], -1)
    q = evaluate(empirical_upper, dtype, np.array([[0.0, 1.0]]), weights, delta)
    np.testing.assert_allclose(q, evaluate(kl_upper, dtype, p, delta), atol=1e-6 if dtype is np.float32 else 1e-12)


@pytest.mark.slow
def test_vmap_equals_whole():
    p, delta = grid(np.float32)
    for name in NAMES:
        whole = evaluate(semidistance.UPPER[name], np.float32, p, delta)
        np.testing.assert_array_equal(whole, evaluate(jax.vmap(semidistance.UPPER[name]), np.float32, p, delta))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_bernoulli_kl(dtype):
    q, p = (x.ravel() for x in np.meshgrid(np.linspace(0, 1, 41), np.linspace(0, 1, 41)))
    got = evaluate(numerics.bernoulli_kl, dtype, p, q)
    a, b = p.astype(dtype).astype(np.longdouble), q.astype(dtype).astype(np.longdouble)
    with np.errstate(all="ignore"):
        want = np.where(a == 0, 0, a * np.log(a / b)) + np.where(a == 1, 0, (1 - a) * np.log((1 - a) / (1 - b)))
    np.testing.assert_allclose(got, want.astype(float), rtol=100 * np.finfo(dtype).eps, atol=1e-12)


def test_argmax_is_numpys():
    x = np.random.default_rng(0).integers(0, 4, (500, 7)).astype(np.float32)
    got = jax.vmap(lambda row: numerics.argmax(row))(jnp.asarray(x))
    np.testing.assert_array_equal(got, np.argmax(x, 1))
