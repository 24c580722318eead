"""The one-parameter families against their definitions, and the constants of their thresholds."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import special, stats

from jaxbandit.algorithms.best_arm.thresholds import pair_threshold
from jaxbandit.theory.solvers import deviations
from jaxbandit.theory.solvers.families import FAMILIES, family, transport

pytestmark = pytest.mark.quickly_compiled

SIGMA = 0.7
UNIT = 2.0**-9  # means and pulls are multiples of it, so that float32 has them exactly
TOP = {"bernoulli": 1.0, "gaussian": np.inf, "poisson": np.inf, "exponential": np.inf}
BOTTOM = {"bernoulli": 0.0, "gaussian": -np.inf, "poisson": 0.0, "exponential": 0.0}


def evaluate(function, dtype, *arguments):
    with jax.enable_x64(dtype is np.float64):
        return np.asarray(jax.jit(function)(*[jnp.asarray(a, dtype) for a in arguments]))


def textbook(name, x, y):
    """d(x, y) as books write it, in extended precision."""
    x, y = np.asarray(x, np.longdouble), np.asarray(y, np.longdouble)

    def term(a, b):
        with np.errstate(all="ignore"):
            return np.where(a == 0, 0, a * np.log(a / b))

    if name == "bernoulli":
        return term(x, y) + term(1 - x, 1 - y)
    if name == "gaussian":
        return (x - y) ** 2 / (2 * np.longdouble(SIGMA) ** 2)
    if name == "poisson":
        return y - x + term(x, y)
    with np.errstate(all="ignore"):
        return np.where(x == y, 0, np.where(x * y == 0, np.inf, x / y - 1 - np.log(x / y)))


def grid(name):
    """Pairs of means that float32 has exactly: far apart, near each other, and at the ends of the range."""
    steps = np.unique(np.concatenate([[0, 1, 2, 511, 512], np.arange(3, 512, 17)])) * UNIT
    x, y = (a.ravel() for a in np.meshgrid(steps, steps))
    near = (steps + UNIT * 2.0**-8)[(steps > 0.1) & (steps < 0.9)]
    return np.concatenate([x, near, near - UNIT * 2.0**-8]), np.concatenate([y, near - UNIT * 2.0**-8, near])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", FAMILIES)
def test_divergence_is_the_textbooks_to_a_few_roundings(name, dtype):
    x, y = grid(name)
    got = evaluate(family(name, SIGMA).kl, dtype, x, y)
    assert got.dtype == dtype
    # 100 roundings, 1e-12 of the series of x_minus_log1p; 1e-18 are the textbook's own roundings, of long doubles
    rtol = max(100 * np.finfo(dtype).eps, 1e-12)
    np.testing.assert_allclose(got, textbook(name, x, y).astype(float), rtol=rtol, atol=1e-18)
    np.testing.assert_array_equal(got[x == y], 0)


def test_divergence_at_the_ends_of_the_range():
    x, y = np.array([0.0, 1, 0, 1, 0.25, 0.25, 0, 1]), np.array([0.25, 0.25, 1, 0, 0, 1, 0, 1])
    inf = np.inf
    expected = {
        "bernoulli": [-np.log(0.75), -np.log(0.25), inf, inf, inf, inf, 0, 0],
        "poisson": [0.25, 0.25 - 1 + np.log(4), 1, inf, inf, 1 - 0.25 + 0.25 * np.log(0.25), 0, 0],
        "exponential": [inf, 4 - 1 - np.log(4), inf, inf, inf, 0.25 - 1 - np.log(0.25), 0, 0],
    }
    for name, values in expected.items():
        np.testing.assert_allclose(evaluate(family(name).kl, np.float32, x, y), values, rtol=1e-6, err_msg=name)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", FAMILIES)
def test_bounds_are_where_the_divergence_meets_the_level(name, dtype):
    own, eps = family(name, SIGMA), np.finfo(dtype).eps
    means = np.array([UNIT, 0.125, 0.5, 0.75, 1 - UNIT])
    x, level = (a.ravel() for a in np.meshgrid(means, np.logspace(-7, 1, 33).astype(np.float32).astype(float)))
    for bound, side in ((own.upper, 1), (own.lower, -1)):
        y = evaluate(bound, dtype, x, level).astype(float)
        assert np.all((y - x) * side >= 0)
        # A move of y by a few of its roundings (5e-7 for Bernoulli in float32) carries d over the level on either side.
        slack = max(8 * eps, 6e-7 if dtype is np.float32 and name == "bernoulli" else 0) * np.maximum(abs(y), x)
        below, above = (
            textbook(name, x, np.maximum(y - slack, BOTTOM[name])),
            textbook(name, x, np.minimum(y + slack, TOP[name])),
        )
        inner, outer = (below, above) if side > 0 else (above, below)
        apart = np.abs(y - x) > 2 * slack
        tight = 1e-9 if dtype is np.float64 else 1e-5  # of the level: rounding of the steps near the root
        assert np.all(inner[apart] <= level[apart] * (1 + tight))
        assert np.all(outer[apart] >= level[apart] * (1 - tight))


@pytest.mark.slow
def test_bounds_at_the_ends_of_the_range():
    level = np.array([0.0, 0.5, 20.0, 90.0])
    zero, one = np.zeros(4), np.ones(4)
    cases = {
        ("bernoulli", "upper"): [(zero, -np.expm1(-level)), (one, one)],
        ("bernoulli", "lower"): [(zero, zero), (one, np.exp(-level))],
        ("poisson", "upper"): [(zero, level)],
        ("poisson", "lower"): [(zero, zero)],
        ("exponential", "upper"): [(zero, zero)],
        ("exponential", "lower"): [(zero, zero)],
    }
    for (name, side), pairs in cases.items():
        for x, expected in pairs:
            got = evaluate(getattr(family(name), side), np.float32, x, level)
            np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-14, err_msg=f"{name} {side}")


@pytest.mark.parametrize("name", FAMILIES)
def test_pair_statistic_is_the_textbooks_in_float32(name):
    rng = np.random.default_rng(1)
    a, b = rng.integers(1, 512, (2, 400)) * UNIT
    b[:200] = a[:200] - np.minimum(UNIT, a[:200] / 2)  # near each other, with many pulls: where digits are lost
    n_a, n_b = np.round(10 ** rng.uniform(0, [[4.0], [6.0]], (2, 400)))
    mid = (n_a * np.longdouble(1) * a + n_b * b) / (n_a + n_b)
    expected = np.where(a > b, n_a * textbook(name, a, mid) + n_b * textbook(name, b, mid), 0).astype(float)

    def statistic(a, n_a, b, n_b):
        return transport(family(name, SIGMA), a, n_a, b, n_b)

    got = evaluate(statistic, np.float32, a, n_a, b, n_b)
    np.testing.assert_allclose(got, expected, rtol=1e-5)  # some 100 roundings; those that decide are 10 to 40
    assert np.all(evaluate(statistic, np.float32, np.minimum(a, b), n_a, np.maximum(a, b), n_b) == 0)


def test_pair_statistic_of_means_at_the_ends():
    own = family("bernoulli")
    got = evaluate(lambda *x: transport(own, *x), np.float32, [1, 1, 0, 0], [3, 3, 3, 3], [0, 1, 0, 1], [5, 5, 5, 5])
    expected = 3 * np.log(8 / 3) + 5 * np.log(8 / 5)
    np.testing.assert_allclose(got, [expected, 0, 0, 0], rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("name", FAMILIES)
def test_posteriors_are_quantiles(name):
    """At a standard normal z the posterior's quantile has the level of z."""
    normals = np.random.default_rng(2).normal(size=500)
    counts = np.tile([1, 4, 30, 1000, 100_000], 100)
    means = np.round(counts * np.where(np.arange(500) % 2, 0.4, 0.9)) / counts
    total = counts * means
    with jax.enable_x64(True):
        law = family(name, SIGMA)
        found = np.asarray(law.posterior(jnp.asarray(normals), jnp.asarray(counts), jnp.asarray(means)))
    level = special.ndtr(normals)
    expected, scale = {
        "bernoulli": lambda: (stats.beta.ppf(level, 1 + total, 1 + counts - total), special.expit(found)),
        "gaussian": lambda: (means + SIGMA / np.sqrt(counts) * special.ndtri(level), found),
        "poisson": lambda: (stats.gamma.ppf(level, 0.5 + total) / counts, np.exp(found)),
        "exponential": lambda: (total / stats.gamma.isf(level, counts), np.exp(found)),
    }[name]()
    good = total > 0 if name == "exponential" else np.ones(500, bool)
    deviation = {"bernoulli": 1 / np.sqrt(counts), "gaussian": SIGMA / np.sqrt(counts)}.get(name, expected)
    # 1e-6 in total variation is about as much of a standard deviation in the middle, and far more in the tails; shapes
    # near 1/2 have the bound 6e-5
    tolerance = np.where(total < 2, 3e-3, 1e-4) * deviation
    assert np.all(np.abs(scale - expected)[good] <= tolerance[good])


@pytest.mark.slow
def test_constants_of_the_thresholds():
    """Values of the paper's functions, computed apart with 30 digits."""
    values = {1.0: (9.104517, 2.507095), np.log(10): (11.350286, 3.906276), 10.0: (21.446819, 11.954646)}
    for x, (t, c) in values.items():
        np.testing.assert_allclose([deviations.T(x), deviations.C_G(x)], [t, c], atol=1e-6)
        single = jnp.float32(x)  # a traced level is computed in its own dtype
        np.testing.assert_allclose([deviations.T(single), deviations.C_G(single)], [t, c], rtol=1e-6)
    np.testing.assert_allclose([deviations.h_inverse(5), deviations.h0_inverse(2)], [6.936847, 0.158594], atol=1e-6)
    s = 1 + np.logspace(-5, 0, 100)
    np.testing.assert_allclose(deviations.zeta(s), special.zeta(s), rtol=2e-15)  # a few roundings
    x = deviations.LOG_2_ZETA_2 + np.linspace(0, 3, 301)
    assert np.max(np.diff(deviations.h_tilde(x))) < 0.04  # continuous where the best slice is no longer the longest


@pytest.mark.slow
def test_inverses_of_h_solve_their_equation():
    level = np.concatenate([[0], np.logspace(-30, 2, 200)])
    v, s = deviations.rise(level), deviations.log_fall(level)
    np.testing.assert_allclose(v - np.log1p(v), level, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(np.expm1(s) - s, level, rtol=1e-12, atol=1e-15)
    assert np.all(np.diff(v) > 0)
    assert np.all(np.diff(s) < 0)
    precise = evaluate(lambda x: deviations.rise(x) - deviations.log_fall(x), np.float64, level)
    rough = evaluate(lambda x: deviations.rise(x) - deviations.log_fall(x), np.float32, level)
    np.testing.assert_allclose(rough, precise, rtol=2e-6)  # relative also near 0: roundings of the level alone
    np.testing.assert_allclose(precise[1:40], 2 * np.sqrt(2 * level[1:40]), rtol=1e-9)


@pytest.mark.slow
def test_thresholds_are_the_papers():
    n_a, n_b, t, delta, num_arms = 17, 250, 400, 0.1, 5
    union = np.log((num_arms - 1) / delta)
    slow = np.log(1 + np.log(n_a)) + np.log(1 + np.log(n_b))
    slower = np.log(4 + np.log(n_a)) + np.log(4 + np.log(n_b))
    expected = {
        ("heuristic", "poisson"): (np.log((1 + np.log(t)) / delta), False),
        ("kk", "exponential"): (2 * deviations.T(union / 2) + 3 * slow, True),
        ("gauss", "gaussian"): (2 * deviations.C_G(union / 2) + 2 * slower, True),
        ("kt", "bernoulli"): (np.log(4 * (num_arms - 1) / delta) + np.log(n_a * n_b) / 2, True),
    }
    for (name, rewards), (value, proved) in expected.items():
        threshold = pair_threshold(name, num_arms, delta, family(rewards))
        assert threshold.proved is proved
        for dtype in (np.float32, np.float64):
            np.testing.assert_allclose(evaluate(threshold.level, dtype, n_a, n_b, t), value, 30 * np.finfo(dtype).eps)
        traced = jax.jit(
            lambda delta, name=name, rewards=rewards: pair_threshold(name, num_arms, delta, family(rewards)).level(
                jnp.int32(n_a), jnp.int32(n_b), jnp.int32(t)
            )
        )(delta)
        np.testing.assert_allclose(traced, value, rtol=1e-6)


def test_a_sum_of_rewards_between_0_and_1_keeps_the_bound_of_kt():
    """The largest likelihood is at most 2 sqrt(n) mixtures of Krichevsky and Trofimov, for any real sum."""
    for n in (1, 2, 3, 10, 100, 3000):
        total = np.linspace(0, n, 2001)
        best = special.xlogy(total, total / n) + special.xlogy(n - total, 1 - total / n)
        mixture = special.gammaln(total + 0.5) + special.gammaln(n - total + 0.5) - special.gammaln(n + 1)
        assert np.max(best - mixture + np.log(np.pi)) <= np.log(2 * np.sqrt(n)) + 1e-12


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("kt", 3, 0.1, "poisson"), "pair_threshold: threshold = 'kt', must be one of heuristic, kk with family"),
        (("gauss", 3, 0.1, "bernoulli"), "threshold = 'gauss', must be one of heuristic, kk, kt with family"),
        (("kk", 2, 0.1, "bernouli"), "did you mean 'bernoulli'"),
    ],
)
def test_refusals_are_one_line(arguments, line):
    *first, rewards = arguments
    with pytest.raises(ValueError, match=line) as caught:
        pair_threshold(*first, family(rewards))
    assert "\n" not in str(caught.value)
