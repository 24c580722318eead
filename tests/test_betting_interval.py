"""Betting and empirical Bernstein intervals of bounded means: by hand, against a plain product, and their coverage."""

import numpy as np
import pytest
from scipy import stats

from jaxbandit.theory.betting_interval import betting_interval, empirical_bernstein


def largest_product(values, mean, alpha):
    """The largest wealth of the bets against `mean`, one row after the other."""
    n, total, squares, wealth, most = len(values), 0.5, 0.25, 1.0, 0.0
    spread = 0.25
    for i, x in enumerate(values, start=1):
        stake = min(np.sqrt(2 * np.log(2 / alpha) / (n * spread)), 1 / (2 * mean))
        wealth *= 1 + stake * (x - mean)
        most = max(most, wealth)
        total += x
        squares += (x - total / (i + 1)) ** 2
        spread = squares / (i + 1)
    return most


@pytest.mark.parametrize("confidence", [0.9, 0.95])
def test_the_ends_are_where_the_wealth_reaches_what_it_takes(confidence):
    rng, alpha = np.random.default_rng(0), 1 - confidence
    for values in (rng.beta(2, 5, 60), (rng.random(200) < 0.1).astype(float), rng.random(1)):
        found = betting_interval(values, confidence)
        assert found.value == pytest.approx(values.mean(), rel=1e-12)
        for end, sample in ((found.low, values), (1 - found.high, 1 - values)):
            if end > 0:
                assert largest_product(sample, end, alpha) >= 2 / alpha * (1 - 1e-9)
            assert largest_product(sample, end + 2.0**-26, alpha) < 2 / alpha
    assert betting_interval([0.5]).low == 0 and betting_interval([0.5]).high == 1


def test_empirical_bernstein_by_hand():
    values = np.array([0.0, 1.0, 1.0, 0.5])
    log = np.log(4 / 0.05)
    half = np.sqrt(2 * np.var(values, ddof=1) * log / 4) + 7 * log / 9
    found = empirical_bernstein(values)
    np.testing.assert_allclose(found, (0.625, np.std(values, ddof=1) / 2, 0.625 - half, 0.625 + half), rtol=1e-12)


@pytest.mark.parametrize("function, few", [(betting_interval, []), (empirical_bernstein, [0.5])])
def test_values_outside_and_too_few_are_refused(function, few):
    for values, confidence in ((few, 0.95), ([0.5, 1.1], 0.95), ([0.5, -0.1], 0.95), ([0.5, np.nan], 0.95),
                               ([0.5, 0.5], 1.0), ([0.5, 0.5], 0.0)):  # fmt: skip
        with pytest.raises(ValueError, match="must be at least"):
            function(values, confidence)
    function([0.0, 1.0])


@pytest.mark.slow
@pytest.mark.statistical
def test_coverage_of_rare_ones():
    """600 samples of 300 with mean .01. The coverage is at least .95: at most 48 misses, false alarm below 1e-3."""
    rng = np.random.default_rng(3)
    samples = (rng.random((600, 300)) < 0.01).astype(float)
    misses = sum(not (e.low <= 0.01 <= e.high) for e in map(betting_interval, samples))
    assert stats.binom.sf(48, 600, 0.05) < 1e-3 and misses <= 48
    drifting = 0.5 + 0.5 * np.sign(rng.random((600, 300)) - 0.5) * np.linspace(0.1, 1, 300)  # mean 1/2 given the past
    assert sum(not (e.low <= 0.5 <= e.high) for e in map(betting_interval, drifting)) <= 48
