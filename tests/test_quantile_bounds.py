"""Bounds of a quantile: their ranks by quadrature and by SciPy's beta function, coverage, what has no order."""

import numpy as np
import pytest
from scipy import special, stats

from jaxbandit.theory.quantile_bounds import quantile_ranks, quantile_sequence

CASES = [(0.5, 0.05), (0.9, 0.05), (0.1, 0.05), (0.5, 0.05 / 12), (0.9, 0.05 / 12), (0.99, 1e-9), (0.3, 0.9)]
NODES, WEIGHTS = np.polynomial.legendre.leggauss(1500)


def log_e(n, s, p, above):
    """log E+ or log E- by 1,500 Gauss nodes in u, theta = sin^2 u."""
    f = np.arcsin(np.sqrt(p))
    low, high = (f, np.pi / 2) if above else (0.0, f)
    u = low + (high - low) * (NODES + 1) / 2
    logs = s * np.log(np.sin(u) ** 2 / p) + (n - s) * np.log(np.cos(u) ** 2 / (1 - p))
    return special.logsumexp(logs, b=WEIGHTS / 2)


@pytest.mark.parametrize(("p", "alpha"), CASES)
def test_ranks_are_those_of_the_mixture_by_quadrature(p, alpha):
    """At the rank the mixture reaches 1 / alpha, and one rank nearer to the quantile it does not."""
    ranks = quantile_ranks(3000, p, alpha)
    level = np.log(1 / alpha)
    for n in [1, 2, 5, 6, 7, 13, 36, 62, 63, 64, 255, 256, 257, 1000, 3000]:
        low, high = int(ranks.low[n]), int(ranks.high[n])
        assert high == n + 1 or log_e(n, high, p, True) >= level
        assert high == 0 or log_e(n, high - 1, p, True) < level
        assert low == -1 or log_e(n, low, p, False) >= level
        assert low == n or log_e(n, low + 1, p, False) < level


@pytest.mark.slow
def test_ranks_after_a_million_scores_are_those_of_the_beta_function():
    """The recurrence makes a million rounding errors; at the rank E differs from one rank to the next by some 1e-3."""
    n, p, alpha = 10**6, 0.9, 0.01
    s = np.arange(int(p * n), int(p * n) + 10_000)
    log_mixture = (
        special.betaln(s + 0.5, n - s + 0.5)
        + np.log(special.betaincc(s + 0.5, n - s + 0.5, p))
        - s * np.log(p)
        - (n - s) * np.log1p(-p)
        - np.log(2 * np.arcsin(np.sqrt(1 - p)))
    )
    ranks = quantile_ranks(n, p, alpha)
    assert ranks.high[n] == s[np.argmax(log_mixture >= np.log(1 / alpha))]
    assert np.isin(np.diff(ranks.high), [0, 1]).all() and np.isin(np.diff(ranks.low), [0, 1]).all()
    assert ranks.low[n] == n - quantile_ranks(n, 1 - p, alpha).high[n]


@pytest.mark.parametrize(
    ("p", "alpha", "first_low", "first_high"),
    [
        (0.5, 0.05, 6, 6),
        (0.9, 0.05, 2, 36),
        (0.1, 0.05, 36, 2),
        (0.5, 0.05 / 12, 10, 10),
        (0.9, 0.05 / 12, 3, 63),
        (0.1, 0.05 / 12, 63, 3),
    ],
)
def test_first_bounds(p, alpha, first_low, first_high):
    """As computed elsewhere by quadrature; before them the bounds are infinite."""
    ranks = quantile_ranks(100, p, alpha)
    assert np.flatnonzero(ranks.low >= 0)[0] == first_low
    assert np.flatnonzero(ranks.high <= np.arange(101))[0] == first_high
    scores = np.random.default_rng(0).normal(size=100)
    assert quantile_sequence(scores[: first_high - 1], p, alpha)[1] == np.inf
    assert quantile_sequence(scores[:first_high], p, alpha)[1] < np.inf
    assert quantile_sequence(scores[: first_low - 1], p, alpha)[0] == -np.inf
    assert quantile_sequence(scores[:first_low], p, alpha)[0] > -np.inf


def test_ranks_at_100_and_1000():
    """As computed elsewhere by quadrature."""
    for p, low, high in [(0.5, 34, 66), (0.9, 78, 98), (0.1, 2, 22)]:
        ranks = quantile_ranks(100, p, 0.05)
        assert (ranks.low[100], ranks.high[100]) == (low, high)
    ranks = quantile_ranks(1000, 0.5, 0.05)
    assert (ranks.low[1000], ranks.high[1000]) == (445, 555)
    assert len(quantile_ranks(256, 0.5, 0.05).low) == len(quantile_ranks(256, 0.5, 0.05).high) == 257


def missed(table, p, quantiles, alpha):
    """Shares of the rows of which the upper bound is below the quantile at some time, the lower one above it.

    The bounds are wrong at some n where they are wrong at the end, because they only become narrower; and whatever
    Q is, the upper bound has to hold for the largest and the lower for the smallest p-quantile.
    """
    low, high = np.transpose([quantile_sequence(row, p, alpha) for row in table])
    return (high < quantiles[1]).mean(), (low > quantiles[0]).mean()


def missed_by_counts(table, p, quantiles, alpha):
    """Which rows have a false upper, and which a false lower bound at some time, as `missed` says of a part of them.

    A bound is false once the scores on one side of the quantile are too many.
    """
    n, ranks = np.arange(1, table.shape[1] + 1), quantile_ranks(table.shape[1], p, alpha)
    high = (np.cumsum(table < quantiles[1], axis=1) >= ranks.high[n]).any(axis=1)
    low = (np.cumsum(table <= quantiles[0], axis=1) <= ranks.low[n]).any(axis=1)
    some = np.unique(np.concatenate([np.flatnonzero(wrong)[:4] for wrong in (high, low, ~(high | low))]))
    assert missed(table[some], p, quantiles, alpha) == (high[some].mean(), low[some].mean())
    return high.mean(), low.mean()


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize(
    ("p", "expected"), [(0.5, (0.035, 0.033)), (0.9, (0.037, 0.022)), (0.1, (0.022, 0.042))], ids=str
)
def test_missed_rates(p, expected):
    """Log-normal scores, at some n <= 1,200, against a simulation of another code with the standard error 0.004: within
    four standard errors of the difference, a false alarm in 4e-4 of the seeds.
    """
    scores, quantile = np.random.default_rng(21).lognormal(size=(2000, 1200)), stats.lognorm(1).ppf(p)
    rates = missed_by_counts(scores, p, (quantile, quantile), 0.05)
    np.testing.assert_allclose(rates, expected, atol=4 * np.hypot(0.004, np.sqrt(0.035 / 2000)))


@pytest.mark.slow
@pytest.mark.statistical
def test_bounds_hold_with_ties():
    """Scores 0 and 1, of which the p-quantile is any number between them if P(0) = p; and rounded normal ones. At most
    alpha = 0.1 + 6 standard errors, and more than nothing, or the bounds are looser than meant.
    """
    rng = np.random.default_rng(5)
    upper, lower = missed_by_counts(rng.integers(0, 2, (600, 200)), 0.5, (0, 1), 0.1)
    assert 0.01 < upper < 0.1 + 6 * np.sqrt(0.1 / 600) and 0.01 < lower < 0.1 + 6 * np.sqrt(0.1 / 600)
    upper, lower = missed_by_counts(rng.normal(size=(600, 200)).round(1), 0.5, (0, 0), 0.1)
    assert 0.005 < upper < 0.1 + 6 * np.sqrt(0.1 / 600) and 0.005 < lower < 0.1 + 6 * np.sqrt(0.1 / 600)


def test_bounds_are_the_best_of_all_prefixes():
    """Scores that rise: the upper bound is that of the first prefix with one, not of all scores. None crosses it."""
    assert quantile_sequence(range(6), 0.5, 0.05) == (0, 5)
    assert quantile_sequence(range(100), 0.5, 0.05) == (5, 5)
    assert quantile_sequence(-np.arange(100), 0.5, 0.05) == (-5, -5)
    assert quantile_sequence(np.zeros(100), 0.5, 0.05) == (0, 0)
    scores = np.random.default_rng(1).normal(size=300)
    low, high = quantile_sequence(-scores, 0.1, 0.05)
    assert quantile_sequence(iter(scores), 0.9, 0.05) == (-high, -low)
    assert quantile_sequence([], 0.5, 0.05) == (-np.inf, np.inf)


def test_arguments_are_checked():
    with pytest.raises(ValueError, match=r"quantile_sequence: p = 1.0, must be a number in \(0, 1\)"):
        quantile_sequence([1.0], 1.0, 0.05)
    with pytest.raises(ValueError, match=r"quantile_ranks: alpha = 0.0, must be"):
        quantile_ranks(1, 0.5, 0.0)
    with pytest.raises(ValueError, match="quantile_ranks: count = -1, must be"):
        quantile_ranks(-1, 0.5, 0.05)
    with pytest.raises(ValueError, match=r"quantile_sequence: scores\[1\] = nan, must be a number"):
        quantile_sequence([1.0, np.nan], 0.5, 0.05)
