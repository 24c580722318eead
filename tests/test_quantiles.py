"""Quantiles of binomial, hypergeometric and Student's t distributions against SciPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import special, stats

from jaxbandit.theory.solvers.discrete import LARGE, binomial_quantile, hypergeometric_quantile
from jaxbandit.theory.solvers.student_t import t_at, t_quantile

pytestmark = [pytest.mark.slow, pytest.mark.quickly_compiled]
LEVELS = np.concatenate([np.linspace(1e-4, 1 - 1e-4, 997), [1e-7, 1 - 1e-7]])
BINOMIAL = [(0, 0.5), (1, 0.5), (1, 0.0), (9, 0.4), (55, 0.5), (57, 0.5), (90, 0.3), (100, 0.66), (1000, 0.5)]
BINOMIAL += [(1000, 0.001), (1000, 0.999), (30_000, 0.4), (100_000, 0.5)]
HYPERGEOMETRIC = [(1, 0, 1), (0, 4, 2), (1, 1, 0), (1, 1, 1), (3, 5, 4), (10, 10, 20), (50, 50, 50), (300, 200, 80)]
HYPERGEOMETRIC += [(1000, 10, 500), (10, 1000, 500), (5, 10_000, 3000), (5000, 5000, 300), (9000, 1000, 4000)]


def missed(found, law, u):
    """By how much the level must be changed for the quantile to be right."""
    below, up_to = law.cdf(found - 1), law.cdf(found)
    return np.maximum(np.maximum(u - up_to, below - u), 0.0)


def check(found, law, variance, exact, u):
    found = np.asarray(found, float)
    assert np.all(found == np.round(found)) and np.all((found >= law.support()[0]) & (found <= law.support()[1]))
    far = missed(found, law, u)
    # The window adds probabilities, up to rounding; the expansion is right to 1e-5 in all, and to 2e-5 at a level.
    assert far.max() <= (exact if variance < LARGE else 2e-5) and far.mean() <= 1e-6


@pytest.mark.parametrize("x64", [True, False], ids=["float64", "float32"])
def test_binomial(x64):
    with jax.enable_x64(x64):
        found_by = jax.jit(binomial_quantile)
        u = jnp.asarray(LEVELS, jnp.result_type(float))
        for n, p in BINOMIAL:
            found = found_by(u, jnp.full_like(u, n), jnp.full_like(u, p))
            level = np.asarray(u, float)
            check(found, stats.binom(n, float(u.dtype.type(p))), n * p * (1 - p), 1e-12 if x64 else 2e-6, level)


@pytest.mark.parametrize("x64", [True, False], ids=["float64", "float32"])
def test_hypergeometric(x64):
    with jax.enable_x64(x64):
        found_by = jax.jit(hypergeometric_quantile)
        u = jnp.asarray(LEVELS, jnp.result_type(float))
        for good, bad, drawn in HYPERGEOMETRIC:
            found = found_by(u, *(jnp.full_like(u, x) for x in (good, bad, drawn)))
            law = stats.hypergeom(good + bad, good, drawn)
            total = good + bad
            variance = drawn * good * bad * (total - drawn) / total**2 / max(total - 1, 1)
            check(found, law, variance, 1e-12 if x64 else 2e-6, np.asarray(u, float))


def test_student_t():
    degrees = np.array([1.0, 2.0, 3.0, 4.0, 10.0, 59.0, 1000.0, 1e5])
    tails = np.array([0.5, 0.4, 0.1, 0.01, 1e-3, 1e-5])[:, None]
    with jax.enable_x64(True):
        shape = np.broadcast_shapes(degrees.shape, tails.shape)
        nu, tail = (jnp.asarray(np.broadcast_to(x, shape)) for x in (degrees[None], tails))
        found = np.asarray(t_quantile(tail, nu))
        drawn = np.asarray(t_at(jnp.asarray(special.ndtri(1 - np.asarray(tail))), nu))
    expected = stats.t.isf(np.asarray(tail), np.asarray(nu))
    np.testing.assert_allclose(drawn, found, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(found[1:], expected[1:], rtol=5e-4)
    wrong = np.abs(stats.t.sf(found, np.asarray(nu)) - np.asarray(tail)).max(axis=0)
    assert np.all(wrong <= [1e-9, 1e-9, 7e-5, 1.3e-5, 1.5e-6, 1.5e-6, 1.5e-6, 1.5e-6])
    with jax.enable_x64(True):
        assert t_at(jnp.array([-1.5]), jnp.array([7.0])) == -t_at(jnp.array([1.5]), jnp.array([7.0]))
