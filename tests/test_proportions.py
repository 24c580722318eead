"""Bounds of rates for all sample sizes at once."""

import math

import numpy as np
import pytest
from scipy.special import betaln, xlogy

from jaxbandit.theory.proportions import rate_bounds, upper_rate


def excess(k, n, p, alpha):
    """n kl(k/n, p) - L(k, n), as it is written in the literature, which is 0 at both bounds."""
    kl = xlogy(k, k / n) + xlogy(n - k, (n - k) / n) - k * math.log(p) - (n - k) * math.log1p(-p)
    free = xlogy(k, k / n) + xlogy(n - k, (n - k) / n) - (betaln(k + 0.5, n - k + 0.5) - math.log(math.pi))
    return kl - (math.log(1 / alpha) + free)


@pytest.mark.parametrize("alpha", [0.05, 1e-6, 1e-30])
def test_both_ends_solve_the_equation_also_for_sums_that_are_not_whole(alpha):
    k = np.array([1, 2.5, 30, 0.01, 499.99, 4e5])
    n = np.array([3, 40, 100, 500, 500, 1_000_000])
    low, high = rate_bounds(k, n, alpha)
    assert np.all(low < k / n) and np.all(k / n < high)
    for ki, ni, lo, hi in zip(k, n, low, high, strict=True):
        if lo > 1e-300:
            assert abs(excess(ki, ni, lo, alpha)) < 1e-6
        if hi < 1 - 1e-9:  # nearer to 1, 1 - p has too few digits
            assert abs(excess(ki, ni, hi, alpha)) < 1e-5


def test_ends_of_the_range_and_samples_without_a_trial():
    low, high = rate_bounds([0, 7, 0], [7, 7, 0], 0.05)
    assert low[0] == 0 and high[1] == 1 and (low[2], high[2]) == (0, 1)
    expected = 1 - math.exp((betaln(0.5, 7.5) - math.log(math.pi) + math.log(0.05)) / 7)
    assert high[0] == pytest.approx(expected, rel=1e-12) and low[1] == pytest.approx(1 - expected, rel=1e-12)
    assert np.all(rate_bounds([5e-324, 1e-300], 10, 0.05)[0] == 0)  # their logarithms are below all of float64
    assert rate_bounds(0, 0, 0.05)[0].shape == () and rate_bounds([], [], 0.05)[0].shape == (0,)


def test_levels_and_arms_are_broadcast():
    low, high = rate_bounds([[1], [5]], 20, [0.05, 0.01, 0.001])
    assert low.shape == high.shape == (2, 3)
    assert np.all(np.diff(low, axis=1) < 0) and np.all(np.diff(high, axis=1) > 0)


def test_the_bound_of_a_rare_event():
    """Half of the prior weight is on 0: a point mass there multiplies the likelihood ratio by (1 - p)^-n / 2."""
    n, alpha = 29, 0.05
    p = float(upper_rate(0, n, alpha))
    ratio = (1 + math.exp(betaln(0.5, n + 0.5) - math.log(math.pi))) / (2 * (1 - p) ** n)
    assert ratio == pytest.approx(1 / alpha, rel=1e-12)
    assert upper_rate(1, n, alpha) == rate_bounds(1, n, alpha / 2)[1] > p
    assert upper_rate(0, 0, alpha) == 1 and upper_rate(5, 5, alpha) == 1
    many = upper_rate(np.arange(30), n, alpha)
    assert np.all(np.diff(many) >= 0) and many[-1] == 1


def probability_of_error(bound, p: float, trials: int) -> float:
    """Return P(p > bound(k, n) for some n <= trials) exactly, by recursion over the number of events."""
    alive, lost = np.zeros(trials + 2), 0.0
    alive[0] = 1.0
    for n in range(1, trials + 1):
        alive = alive * (1 - p) + np.concatenate([[0.0], alive[:-1] * p])
        k = np.arange(int(n * p) + 1)
        wrong = bound(k, n) < p
        lost += alive[: len(k)][wrong].sum()
        alive[: len(k)][wrong] = 0.0
    return lost


@pytest.mark.slow
def test_the_error_of_the_bound_of_a_rare_event_computed_exactly():
    """The rate is where 1 - alpha^(1/n) alone is wrong with probability alpha; together with another it is wrong."""
    alpha, p = 0.2, 1 - 0.2 ** (1 / 10) + 1e-9
    assert 0.09 < probability_of_error(lambda k, n: upper_rate(k, n, alpha), p, 120) < alpha

    def smaller(k, n):
        return np.where(
            k == 0, np.minimum(1 - alpha ** (1 / n), rate_bounds(k, n, alpha)[1]), rate_bounds(k, n, alpha)[1]
        )

    assert probability_of_error(smaller, p, 120) > alpha


@pytest.mark.slow
@pytest.mark.statistical
def test_bounds_of_means_of_bounded_scores_hold_at_all_sample_sizes():
    """Scores 0, .3 and 1; alpha .1, 300 runs: P(more than 48 false at .1) < 1e-3."""
    rng, n = np.random.default_rng(7), np.unique(np.geomspace(1, 400, 25).astype(int))
    scores = rng.choice([0.0, 0.3, 1.0], p=[0.5, 0.3, 0.2], size=(300, 400))
    low, high = rate_bounds(np.cumsum(scores, axis=1)[:, n - 1], n, 0.1)
    assert np.sum(np.any((low > 0.29) | (high < 0.29), axis=1)) <= 48


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((3, 2, 0.05), "rate_bounds: k = 3, must be in \\[0, n\\]"),
        ((-1, 2, 0.05), "rate_bounds: k = -1, must be"),
        ((np.nan, 2, 0.05), "rate_bounds: k = nan, must be"),
        ((1, 2.5, 0.05), "rate_bounds: n = 2.5, must be a whole number"),
        ((1, np.inf, 0.05), "rate_bounds: n = inf, must be"),
        ((1, 2, 0.0), "rate_bounds: alpha = 0, must be in"),
        ((1, 2, 1.0), "rate_bounds: alpha = 1, must be in"),
    ],
)
def test_arguments_out_of_range(arguments, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        rate_bounds(*arguments)
