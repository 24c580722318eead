"""The confidence sequence: closed forms, its coverage at all times together computed exactly, and its order."""

import functools
import math

import numpy as np
import pytest
from scipy import special

from jaxbandit.theory import intervals
from jaxbandit.theory.confidence_sequence import confidence_sequence, unseen

TRIALS = 120


@functools.cache
def sequence():
    """Return low and high at 90 %, [trials + 1, hits + 1], NaN where hits > trials or trials = 0."""
    low, high = np.full((2, TRIALS + 1, TRIALS + 1), np.nan)
    for n in range(1, TRIALS + 1):
        for k in range(n + 1):
            low[n, k], high[n, k] = confidence_sequence(k, n, 0.9)[2:]
    return low, high


def clopper_pearson():
    """Return the same of the interval that holds for a fixed number of trials."""
    n, k = np.arange(TRIALS + 1.0)[:, None], np.arange(TRIALS + 1.0)
    low = np.where(k == 0, 0, special.betaincinv(np.maximum(k, 1), np.maximum(n - k + 1, 1), 0.05))
    return low, np.where(k >= n, 1, special.betaincinv(k + 1, np.maximum(n - k, 1), 0.95))


def ever_missed(ends, rate):
    """Return the probability that some interval of the first TRIALS misses the rate, by recursion over (n, hits)."""
    low, high = ends
    alive, missed = np.array([1.0]), 0.0  # probability of each number of hits, without a miss so far
    for n in range(1, TRIALS + 1):
        alive = np.append(alive * (1 - rate), 0.0) + np.append(0.0, alive * rate)
        outside = (low[n, : n + 1] > rate) | (high[n, : n + 1] < rate)
        missed += alive[outside].sum()
        alive[outside] = 0.0
    return missed


@pytest.mark.parametrize("rate", [0.003, 0.05, 0.2, 0.5, 0.9])
def test_all_intervals_together_hold_the_rate(rate):
    """Exact, so without a false alarm: whoever stops where he likes is wrong at most this often."""
    assert 0 < ever_missed(sequence(), rate) <= 0.1


@pytest.mark.parametrize("rate", [0.05, 0.2, 0.5])
def test_an_interval_for_fixed_trials_breaks_when_looked_at_often(rate):
    assert ever_missed(clopper_pearson(), rate) > 0.1


@pytest.mark.parametrize("trials", [1, 7, 1000, 10**7])
def test_no_hits_and_nothing_but_hits(trials):
    """No hits: (1 - high)^n = alpha prod_{i <= n} (2i - 1)/(2i), the prior's probability of that, times alpha."""
    log_prior = special.gammaln(trials + 0.5) - special.gammaln(trials + 1) - math.log(math.pi) / 2
    if trials < 1000:
        assert log_prior == pytest.approx(math.log(math.prod((2 * i - 1) / (2 * i) for i in range(1, trials + 1))))
    expected = -math.expm1((log_prior + math.log(0.001)) / trials)
    none, all_ = confidence_sequence(0, trials, 0.999), confidence_sequence(trials, trials, 0.999)
    assert (none.value, none.low, all_.value, all_.high) == (0, 0, 1, 1)
    # gammaln and betaln of 10^7 are good to about 1e-16 of their size, 1e8: 1e-8 of an exponent of about 15.
    assert none.high == pytest.approx(expected, rel=1e-8)
    assert 1 - all_.low == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize(("hits", "trials"), [(1, 3), (3, 50), (5000, 10**5), (95000, 10**5), (1, 10**6)])
def test_ends_are_where_the_martingale_crosses(hits, trials):
    """The mixture's likelihood ratio is 1 / alpha at both ends: computed with log-gammas of whole and half numbers."""
    interval = confidence_sequence(hits, trials, 0.99)
    whole, half = special.gammaln([hits + 0.5, trials - hits + 0.5, trials + 1]), math.log(math.pi)
    for rate in (interval.low, interval.high):
        ratio = whole[0] + whole[1] - whole[2] - half - hits * math.log(rate) - (trials - hits) * math.log1p(-rate)
        assert ratio == pytest.approx(math.log(100), abs=1e-6)  # log-likelihoods of 1e6 or less, to 1e-16 of that
    mirror = confidence_sequence(trials - hits, trials, 0.99)
    np.testing.assert_allclose((1 - mirror.high, 1 - mirror.low), interval[2:], rtol=0, atol=1e-15)


def test_without_trials_nothing_is_known():
    assert confidence_sequence(0, 0, 0.999)[2:] == (0, 1)


def test_wider_than_the_exact_interval_for_fixed_trials():
    """Never tighter than Clopper and Pearson's, but for one trial, and not absurdly wider at many."""
    low, high = sequence()
    fixed_low, fixed_high = clopper_pearson()
    for n in range(2, TRIALS + 1):
        assert np.all(low[n, : n + 1] <= fixed_low[n, : n + 1]) and np.all(high[n, : n + 1] >= fixed_high[n, : n + 1])
    ours, fixed = confidence_sequence(5000, 10**5, 0.999), intervals.clopper_pearson(5000, 10**5, 0.999)
    assert ours.high - ours.low < 1.7 * (fixed.high - fixed.low)  # sqrt((log 1000 + log(2 sqrt(n))) / log 1000) = 1.4


def test_both_ends_increase_with_the_hits():
    """So that censored runs, taken for right below and for wrong above, leave a valid interval."""
    low, high = sequence()
    for n in range(1, TRIALS + 1):
        assert np.all(np.diff(low[n, : n + 1]) > 0) and np.all(np.diff(high[n, : n + 1]) > 0)


@pytest.mark.parametrize(("hits", "trials"), [(0, 10), (3, 10), (10, 10), (70, 10**4)])
def test_more_confidence_is_wider(hits, trials):
    intervals = [confidence_sequence(hits, trials, c) for c in (0.5, 0.9, 0.999, 1 - 1e-9)]
    low, high = np.array(intervals)[:, 2], np.array(intervals)[:, 3]
    assert np.all(np.diff(high - low) > 0) and np.all(np.diff(low) <= 0) and np.all(np.diff(high) >= 0)


@pytest.mark.parametrize("arguments", [(3, 2, 0.9), (-1, 2, 0.9), (1, 2, 1.0), (1, 2, 0.0)])
def test_refusals_are_one_line(arguments):
    with pytest.raises(ValueError, match=r"confidence_sequence: .* = .*must be"):
        confidence_sequence(*arguments)


def test_what_has_not_occurred_is_bounded_by_a_closed_form():
    trials = [7, 10, 20, 29, 50, 100, 300]
    shares = unseen(trials, 0.05)
    assert shares == pytest.approx([0.348, 0.259, 0.139, 0.098, 0.058, 0.030, 0.010], abs=5e-4)
    assert unseen([7, 50], 0.05 / 12) == pytest.approx([0.543, 0.104], abs=5e-4)
    for n, share in zip(trials, shares, strict=True):  # of this probability it is missing as often as the level says
        assert (1 - share) ** n == pytest.approx(0.05)
    assert unseen(0, 0.05) == 1 and unseen(10**12, 0.05) == pytest.approx(-math.log(0.05) / 1e12)
    for trials, level, message in ((-1, 0.05, "trials = -1"), (1, 0.0, "level = 0.0"), (1, 1.0, "level = 1.0")):
        with pytest.raises(ValueError, match=message):
            unseen(trials, level)


@pytest.mark.statistical
def test_the_bound_on_what_has_not_occurred_holds_at_every_time():
    """An event of probability .08, 40,000 sequences of 400 trials, a statement after each trial until it occurs.

    Some statement is false in .92^36 = .0497 of the sequences. The share leaves the limits with probability 1e-5. For
    an event that is chosen by looking at the trials, a score below all scores so far, nothing of the kind holds.
    """
    rng, n = np.random.default_rng(8), np.arange(1, 401)
    first = rng.geometric(0.08, 40_000)  # the trial at which the event occurs
    false = ((unseen(n, 0.05) < 0.08) & (n < first[:, None])).any(1).mean()
    assert abs(false - 0.92**36) < 4.5 * math.sqrt(0.05 * 0.95 / 40_000)
    below = np.minimum.accumulate(rng.random((4000, 400)), 1)  # the probability of a score below all so far
    assert (below > unseen(n, 0.05)).any(1).mean() > 0.4
