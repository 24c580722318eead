"""Intervals: against textbook numbers and scipy's own, and their coverage by simulation."""

import numpy as np
import pytest
from scipy import stats

from jaxbandit.theory import intervals


def test_student_textbook():
    # n = 4, mean 2.5, variance 5/3, t(0.975, 3) = 3.182446305
    interval = intervals.student_of([1.0, 2.0, 3.0, 4.0])
    half = 3.182446305284263 * np.sqrt(5 / 3 / 4)
    np.testing.assert_allclose(interval, (2.5, np.sqrt(5 / 12), 2.5 - half, 2.5 + half), rtol=1e-12)


def test_student_arrays_equal_scalars():
    mean, variance = np.array([1.0, 2.0]), np.array([4.0, 0.0])
    both = intervals.student(mean, variance, 10)
    for i in range(2):
        one = intervals.student(mean[i], variance[i], 10)
        np.testing.assert_array_equal([x[i] for x in both], one)
    assert both.low[1] == both.high[1] == 2.0


def test_welch_equals_scipy():
    rng = np.random.default_rng(0)
    a, b = rng.normal(1, 1, 12), rng.normal(0, 3, 40)
    ours = intervals.welch(a.mean(), a.var(ddof=1), 12, b.mean(), b.var(ddof=1), 40, 0.9)
    theirs = stats.ttest_ind(a, b, equal_var=False).confidence_interval(0.9)
    np.testing.assert_allclose((ours.low, ours.high), (theirs.low, theirs.high), rtol=1e-10)
    assert intervals.welch(1.0, 0.0, 5, 3.0, 0.0, 5)[2:] == (-2.0, -2.0)


@pytest.mark.parametrize(("hits", "trials"), [(0, 20), (20, 20), (3, 20), (1, 1)])
def test_clopper_pearson_equals_scipy(hits, trials):
    ours = intervals.clopper_pearson(hits, trials)
    theirs = stats.binomtest(hits, trials).proportion_ci(0.95, method="exact")
    np.testing.assert_allclose((ours.low, ours.high), (theirs.low, theirs.high), rtol=1e-9)


def test_clopper_pearson_coverage_exact():
    """The probability that the interval holds the rate, summed over all outcomes, is at least its confidence."""
    trials = 30
    limits = [intervals.clopper_pearson(k, trials)[2:] for k in range(trials + 1)]
    for rate in (0.01, 0.05, 0.3, 0.5, 0.97):
        inside = [low <= rate <= high for low, high in limits]
        assert np.sum(stats.binom.pmf(np.arange(trials + 1), trials, rate)[inside]) >= 0.95


@pytest.mark.statistical
def test_student_coverage():
    """4,000 intervals of 95 %: misses are binomial(4000, 0.05). False alarm: 1e-4 by the exact two-sided test."""
    samples = np.random.default_rng(1).normal(3.0, 2.0, (4000, 8))
    interval = intervals.student(samples.mean(axis=1), samples.var(axis=1, ddof=1), 8)
    misses = int(np.sum((interval.low > 3.0) | (interval.high < 3.0)))
    assert stats.binomtest(misses, 4000, 0.05).pvalue > 1e-4


def test_bonferroni():
    assert intervals.bonferroni(0.95, 50) == pytest.approx(0.999)
    assert intervals.bonferroni(0.95, 0) == pytest.approx(0.95)


@pytest.mark.parametrize(
    "call",
    [
        lambda: intervals.student(1.0, 1.0, 1),
        lambda: intervals.student(1.0, 1.0, 9, 1.0),
        lambda: intervals.clopper_pearson(3, 2),
        lambda: intervals.welch(0, 1, 1, 0, 1, 5),
    ],
)
def test_refusals_are_one_line(call):
    with pytest.raises(ValueError, match=r"= .*must be") as error:
        call()
    assert "\n" not in str(error.value)
