"""Beta draws and quantiles against SciPy's law. Statistical tests: fixed seed, false-alarm rate stated at each."""

import math
from contextlib import nullcontext
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import special, stats

import jaxbandit as jb
from jaxbandit.base import side_by_side
from jaxbandit.theory.solvers import beta as solver
from jaxbandit.theory.solvers.beta_quantile import beta_upper_quantile

LAWS = [(1, 1), (0.5, 0.5), (0.5, 3), (2, 9), (1, 1000), (500, 1), (1, 1e6), (5000, 4000), (1e6, 3e5), (3, 20)]
SAMPLES = 100_000


@pytest.fixture(scope="module")
def draws():
    """float64[len(LAWS), SAMPLES] logits: LAWS in one call, each as an arm of its own."""
    a, b = (jnp.array([law[i] for law in LAWS], jnp.float32) for i in (0, 1))

    @jax.jit
    def sample(key):
        shapes = solver.beta_shape(a, b)

        def one(key):
            return solver.draw_logits(solver.draw_noise(key, len(LAWS)), shapes)

        return jax.vmap(one)(jax.random.split(key, SAMPLES))

    return np.asarray(sample(jax.random.key(3, impl="threefry4x32")), dtype=np.float64).T


@pytest.mark.quickly_compiled
@pytest.mark.statistical
@pytest.mark.parametrize(
    "i",
    [
        pytest.param(i, id=str(law), marks=[pytest.mark.slow] if min(law) > 1e5 else [])  # SciPy takes a second
        for i, law in enumerate(LAWS)
    ],
)
def test_draws_have_the_law_of_beta(draws, i):
    """Kolmogorov-Smirnov, mean, variance and both tails at 1e-3: false alarm 5e-6 a law by the Bonferroni bound."""
    a, b = LAWS[i]
    y = draws[i]
    assert np.isfinite(y).all()
    x, law = stats.logistic.cdf(y), stats.beta(a, b)
    assert ((x > 0) & (x < 1)).all()
    # On the smaller side of 1/2 so that neither rounds.
    minor = stats.logistic.cdf(-y) if a > b else x
    law_minor = stats.beta(b, a) if a > b else law
    assert stats.kstest(minor, law_minor.cdf).pvalue > 1e-6
    _mean, variance, kurtosis = law.stats("mvk")
    assert abs(minor.mean() - law_minor.mean()) < 4.9 * math.sqrt(variance / SAMPLES)
    spread = variance * math.sqrt((kurtosis + 2) / SAMPLES)
    assert abs(((minor - law_minor.mean()) ** 2).mean() - variance) < 4.9 * spread
    for tail in (law_minor.cdf(minor), law_minor.sf(minor)):
        assert stats.binomtest(int((tail < 1e-3).sum()), SAMPLES, 1e-3).pvalue > 1e-6


@pytest.mark.quickly_compiled
@pytest.mark.parametrize("number", [9, 10])
@pytest.mark.parametrize("implementation", ["threefry4x32", "threefry2x32"])
def test_pairs_hold_each_word_of_the_blocks_once(implementation, number):
    """Drawn one by one and at once; the words by NumPy, from keys that are made by fold_in."""
    key = jax.random.key(7, impl=implementation)
    words = np.concatenate([np.asarray(jax.random.key_data(jax.random.fold_in(key, i))) for i in range(number)])
    for scope in (side_by_side.declared(), nullcontext()):
        with scope:
            pairs = jax.jit(partial(solver.draw_pairs, number=number))(key)
        found = np.asarray(jax.jit(solver.words_of_pairs)(pairs))
        assert len(found) == 10
        np.testing.assert_array_equal(found, np.concatenate([words[0:10:2], words[1:10:2]]))


@pytest.mark.quickly_compiled
@pytest.mark.parametrize(
    "noise", [jb.algorithms.thompson(40).noise, jb.algorithms.combinatorial_thompson(40, k=3).noise]
)
def test_words_are_one_by_one_in_the_engine_only(noise):
    """In vmap of somebody else, 11 words one by one took 415 us a round and run, and 0.3 in a loop (two cores)."""

    def blocks() -> int:
        text = str(jax.make_jaxpr(lambda key: noise(key))(jax.random.key(0)))  # anew, because jaxprs are cached
        return text.count("threefry2x32") + text.count("random_bits") + text.count("random_fold_in")

    alone = blocks()
    with side_by_side.declared():
        assert blocks() > 5 * alone


@pytest.mark.slow
@pytest.mark.parametrize(("least", "most"), [(1.0, solver.TOTAL_VARIATION), (0.5, 6e-5)])
def test_total_variation_over_a_grid(least, most):
    """Total variation of F(x(w)) - Phi(w) as a function of w, by SciPy; the map increases, so that is the law's."""
    w = np.linspace(-6.4, 6.4, 321)
    with jax.enable_x64(True):
        logit = jax.jit(lambda a, b: solver.logit_at(jnp.asarray(w), solver.beta_shape(a, b)))
        for a in least * np.array([1, 1.1, 1.3, 1.5, 1.7, 2, 2.5, 3, 5, 7, 10, 15, 30, 100]):
            for factor in (1, 1.03, 1.1, 1.3, 1.6, 2, 3, 6, 15, 100, 1e4):
                for first, second in ((a, a * factor), (a * factor, a)):
                    y = np.asarray(logit(jnp.asarray(first), jnp.asarray(second)))
                    below = special.betainc(first, second, special.expit(y)) - special.ndtr(w)
                    above = special.ndtr(-w) - special.betainc(second, first, special.expit(-y))
                    error = np.where(w < 0, below, above)  # the same function; no digits lost in either tail
                    assert (np.diff(y) > 0).all()
                    assert np.abs(np.diff(error)).sum() / 2 < most, (first, second)


@pytest.mark.parametrize(("x64", "tolerance"), [(False, 2e-6), (True, 1e-6)])
def test_deviance_is_inverted(x64, tolerance):
    """u(s) put back into K gives s: in float64 by NumPy, for s as far as a 6 standard deviation draw goes."""
    with jax.enable_x64(x64):
        invert = jax.jit(solver.invert_deviance)
        for minor in (0.5, 0.4, 0.25, 0.1, 0.01, 1e-4, 1e-6):
            s = np.linspace(-6, 6, 241) / np.sqrt(1 - minor)
            u, derivative = invert(jnp.asarray(s, float), jnp.asarray(minor, float), jnp.asarray(1 - 2 * minor, float))
            u = np.asarray(u, np.float64)
            k = np.log1p(minor * np.expm1(u)) - minor * u
            back = np.sign(u) * np.sqrt(2 * np.maximum(k, 0) / (minor * (1 - minor)))
            np.testing.assert_allclose(back, s, rtol=tolerance * 10, atol=tolerance * 10)
            far = np.abs(s) > 0.2
            slope = s * (1 + minor * np.expm1(u)) / np.where(far, np.expm1(u), 1)
            np.testing.assert_allclose(np.asarray(derivative)[far], slope[far], rtol=tolerance * 10)


@pytest.mark.slow
@pytest.mark.parametrize("x64", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_quantile_agrees_with_scipy(x64):
    values = np.array([1, 2, 3, 5, 9, 30, 200, 1000, 5e4, 1e6])
    a, b = (v.ravel() for v in np.meshgrid(values, values))
    with jax.enable_x64(x64):
        quantile = jax.jit(beta_upper_quantile)
        for t in (2, 3, 5, 10, 30, 100, 1e3, 1e4, 1e5, 1e6, 1e7):
            got = np.asarray(quantile(jnp.asarray(1 / t, float), jnp.asarray(a, float), jnp.asarray(b, float)))
            # Two values of A instead of an integral: 1.2e-6 at t = 100, and less than 1e-6 at the others.
            np.testing.assert_allclose(got, stats.beta.isf(1 / t, a, b), rtol=0, atol=1.25e-6, err_msg=str(t))
