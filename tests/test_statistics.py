"""Intervals: against textbook numbers and scipy's own, and their coverage by simulation."""

import dataclasses

import numpy as np
import pytest
from results_by_hand import result
from scipy import stats

from jaxbandit.running.results import report
from jaxbandit.running.results.compare import compare
from jaxbandit.theory import intervals
from jaxbandit.theory.bounded_mean import bounded_mean

CURVE = ("checkpoints", "mean", "variance", "regret")


def test_student_textbook():
    # n = 4, mean 2.5, variance 5/3, t(0.975, 3) = 3.182446305
    interval = intervals.student_of([1.0, 2.0, 3.0, 4.0])
    half = 3.182446305284263 * np.sqrt(5 / 3 / 4)
    np.testing.assert_allclose(interval, (2.5, np.sqrt(5 / 12), 2.5 - half, 2.5 + half), rtol=1e-12)


def test_student_arrays_equal_scalars():
    mean, variance = np.array([1.0, 2.0]), np.array([4.0, 0.5])
    both = intervals.student(mean, variance, 10)
    for i in range(2):
        one = intervals.student(mean[i], variance[i], 10)
        np.testing.assert_array_equal([x[i] for x in both], one)


def test_equal_runs_leave_room_up_to_the_limits():
    """What 9 equal runs do not exclude at level 0.025 is a share 1 - 0.025^(1/9) of others: Clopper and Pearson."""
    unseen = 1 - 0.025 ** (1 / 9)
    assert intervals.student(2.0, 0.0, 9)[2:] == (-np.inf, np.inf)
    np.testing.assert_allclose(intervals.student(2.0, 0.0, 9, limits=(2.0, 12.0))[2:], (2.0, 2 + 10 * unseen))
    share = intervals.clopper_pearson(0, 9).high
    np.testing.assert_allclose(intervals.student_of([0.1] * 9, limits=(0.0, 1.0)).high, 0.1 + 0.9 * share)
    assert intervals.welch(1.0, 0.0, 5, 3.0, 0.0, 5)[2:] == (-np.inf, np.inf)
    # Cut off at the limits where the variance is known.
    assert intervals.student_of([0.0, 0.0, 9.0], limits=(0.0, 9.0))[2:] == (0.0, 9.0)


@pytest.mark.parametrize("runs", [1, 2, 10, 200])
def test_the_bounded_mean_of_two_values_is_the_rate_of_clopper_and_pearson(runs):
    """Up to the saddlepoint approximation, which is never narrower than the exact interval by more than 1e-4."""
    for hits in {0, 1, runs // 2, runs}:
        exact = intervals.clopper_pearson(hits, runs)
        ours = bounded_mean(np.r_[np.ones(hits), np.zeros(runs - hits)] * 3 + 4, 4.0, 7.0)
        low, high = (ours.low - 4) / 3, (ours.high - 4) / 3
        np.testing.assert_allclose((low, high), exact[2:], atol=0.01 / runs)
        assert low <= exact.low + 1e-4 and high >= exact.high - 1e-4
        assert ours.value == pytest.approx(4 + 3 * hits / runs)


def test_the_bounded_mean_is_a_quantile_of_random_weights():
    """Against 200,000 draws of the weights, whose quantile has a standard error below 2e-4 here."""
    rng = np.random.default_rng(0)
    values = 0.3 * rng.random(10)
    weights = rng.dirichlet(np.ones(11), 200_000)
    high = np.quantile(weights @ np.append(values, 1.0), 0.975)
    low = np.quantile(weights @ np.append(values, 0.0), 0.025)
    ours = bounded_mean(values, 0.0, 1.0)
    np.testing.assert_allclose((ours.low, ours.high), (low, high), atol=3e-3)
    # With many values it is Student's, and the unit does not matter.
    many = rng.normal(50.0, 1.0, 5000)
    both = np.array([bounded_mean(many, 40.0, 60.0), intervals.student_of(many)])[:, 2:]
    np.testing.assert_allclose(both[0], both[1], atol=0.2 * (both[1, 1] - both[1, 0]))
    np.testing.assert_allclose(np.array(bounded_mean(1e6 * many, 4e7, 6e7)[2:]), 1e6 * both[0], rtol=1e-9)


def test_the_ends_of_a_quantile_are_binomial_ranks():
    for level, runs in ((0.5, 50), (0.05, 50), (0.95, 200), (0.25, 7), (0.5, 1)):
        low, high = intervals.quantile_ranks(level, runs)
        law = stats.binom(runs, level)
        assert low == max([i for i in range(1, runs + 1) if law.cdf(i - 1) <= 0.025], default=0)
        assert high == min([i for i in range(1, runs + 1) if law.cdf(i - 1) >= 0.975], default=runs + 1)
    # The median of 50: the ranks of Conover (1999), Practical Nonparametric Statistics, are 18 and 33.
    assert intervals.quantile_ranks(0.5, 50) == (18, 33)


def test_the_difference_of_two_rates_is_newcombes():
    """Newcombe (1998), table II, contrast (a) 56/70 - 48/80 from the intervals of Wilson: 0.0524 to 0.3339."""
    wilson = [stats.binomtest(k, n).proportion_ci(method="wilson") for k, n in ((56, 70), (48, 80))]
    a, b = (intervals.Interval(r, 0.0, i.low, i.high) for r, i in zip((0.8, 0.6), wilson, strict=True))
    np.testing.assert_allclose(intervals.independent(a, b)[2:], (0.0524, 0.3339), atol=5e-5)


def test_welch_equals_scipy():
    rng = np.random.default_rng(0)
    a, b = rng.normal(1, 1, 12), rng.normal(0, 3, 40)
    ours = intervals.welch(a.mean(), a.var(ddof=1), 12, b.mean(), b.var(ddof=1), 40, 0.9)
    theirs = stats.ttest_ind(a, b, equal_var=False).confidence_interval(0.9)
    np.testing.assert_allclose((ours.low, ours.high), (theirs.low, theirs.high), rtol=1e-10)


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
        lambda: bounded_mean([0.5, 2.0], 0.0, 1.0),
        lambda: bounded_mean([], 0.0, 1.0),
        lambda: bounded_mean([0.5], 0.0, np.inf),
        lambda: bounded_mean([0.5], 0.0, 1.0, 1.0),
    ],
)
def test_refusals_are_one_line(call):
    with pytest.raises(ValueError, match=r"= .*must be") as error:
        call()
    assert "\n" not in str(error.value)


def test_regret_that_is_equal_in_all_runs_has_no_interval_of_width_zero():
    """The first rounds often cost every run the same. 20 equal runs leave room for a share 1 - 0.025^(1/20) of others,
    each of which costs between 0 and the largest gap a round; where that is unknown, regret never falls."""
    rows = np.stack([np.full(20, 3.0), 5.0 + np.arange(20) % 3, np.full(20, 40.0)], axis=1)
    unseen = 1 - 0.025 ** (1 / 20)
    one = {"pulls_mean": np.array([20.0, 30.0, 50.0])}
    known = result(rows, checkpoints=[10, 20, 100], **one)
    interval = known.interval()
    most = 0.8 * np.array([10, 20, 100])  # means .1 to .9
    np.testing.assert_allclose(interval.low[[0, 2]], rows[0, [0, 2]] * (1 - unseen))
    expected = rows[0, [0, 2]] + unseen * (most - rows[0])[[0, 2]]
    np.testing.assert_allclose(interval.high[[0, 2]], expected, rtol=1e-5)
    unknown = result(rows, checkpoints=[10, 20, 100], truth={})
    high = unknown.interval().high
    assert high[0] == high[1] and np.isfinite(high[1]) and high[2] == np.inf
    assert unknown.to_json()["regret"]["equal"] == [100] and unknown.to_json()["regret"]["high"][-1] == 40
    assert unknown.to_dataframe()["high"].isna().tolist() == [False, False, True]
    assert report.rows([unknown]).rows[0][3] == f"[{40 * (1 - unseen):.2f}, ?]"
    feedback = dataclasses.replace(unknown, measure="feedback")  # its first round alone has no interval here
    early = dataclasses.replace(feedback, arrays={k: v[..., :2] for k, v in unknown.arrays.items() if k in CURVE})
    curve = dataclasses.replace(early, arrays=early.arrays | {"outcome": unknown.arrays["outcome"]}).curve("feedback")
    assert curve["equal"].tolist() == [10] and curve["low"][0] == curve["high"][0] == 3 and curve["low"][1] < 5.95
    sets = result(rows, checkpoints=[10, 20, 100], pulls_mean=np.array([60.0, 60.0, 80.0]))
    assert sets.interval().high[2] == np.inf  # two arms a round cost more than the largest gap
    few = result([[1.0], [90.0]], checkpoints=[1000])
    assert few.interval().low[0] == 0  # regret is not negative
    assert result([[-1.0], [-90.0]], checkpoints=[1000]).interval().low[0] < -90  # where it is, nothing is cut off


def test_differences_of_regret_that_all_pairs_share_are_bounded_by_the_gaps():
    pulls = np.array([20.0, 30.0, 50.0])
    base = np.random.default_rng(0).uniform(10, 20, (20, 1))
    a, b = (result(base + x, name, checkpoints=[100], pulls_mean=pulls) for name, x in (("a", 0.0), ("b", 8.0)))
    both, unseen = compare(a, b), 1 - 0.025 ** (1 / 20)
    np.testing.assert_allclose((both.low, both.high), (-8 - unseen * 72, -8 + unseen * 88), rtol=1e-3)
    assert both.verdict == "undecided"
    hidden = compare(*(result(base + x, name, checkpoints=[100], truth={}) for name, x in (("a", 0.0), ("b", 8.0))))
    assert not {"low", "high"} & set(hidden.to_json()) and hidden.verdict == "undecided"


def test_a_skewed_mean_is_named_with_the_runs_that_would_be_enough():
    values = np.array([0.0] * 9 + [1.0])  # skewness (1 - 2 p) / sqrt(p (1 - p)) at p = 0.1
    skewness, enough = intervals.enough_runs(values)
    assert skewness == pytest.approx(0.8 / 0.3, rel=1e-12) and enough == pytest.approx(25 * (0.8 / 0.3) ** 2)
    assert intervals.enough_runs(-values)[0] == pytest.approx(-skewness) and intervals.enough_runs([]) == (0.0, 0.0)
    assert intervals.enough_runs(np.full(5, 0.1)) == (0.0, 0.0)
    assert intervals.enough_runs(np.arange(9.0))[1] == pytest.approx(0)
