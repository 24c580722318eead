"""The lift of a variant in percent of the control's mean, with its interval."""

import math

import numpy as np
import pytest
from scipy import optimize, stats

import jaxbandit as jb
from jaxbandit.decide.variants import bounds
from jaxbandit.theory.comparisons import asymptotic, ratios
from jaxbandit.theory.comparisons.betting import LOG_WEIGHTS, STAKES


def turns(a, b):
    """A log in which visitors of A and B take turns."""
    return {"variant": ["A", "B"] * len(a), "outcome": np.stack([a, b], axis=1).ravel()}


def root(function, low, high):
    return float(np.asarray(optimize.brentq(function, low, high)))


def the_lift(result):
    b = result.variants[1]
    return b.lift_low, b.lift, b.lift_high


def test_the_ends_for_rates_are_where_bets_against_a_ratio_win():
    """Sums over the pairs one by one, and a root of the wealth instead of halvings."""
    rng = np.random.default_rng(1)
    a, b = (rng.random(800) < 0.3).astype(float), (rng.random(800) < 0.4).astype(float)

    def wealth(differences):
        logs = np.log1p(-STAKES * differences[:, None]).sum(axis=0)
        return np.log(np.sum(np.exp(LOG_WEIGHTS + logs)))

    enough = math.log(2 / 0.05)
    high = root(lambda r: wealth(b - r * a) - enough, 1, 4)
    low = root(lambda r: wealth(a - b / r) - enough, 0.3, 1.4)
    found = the_lift(jb.ab(turns(a, b), control="A"))
    assert found == pytest.approx((low - 1, b.mean() / a.mean() - 1, high - 1), rel=1e-6)


def test_the_lift_excludes_0_where_the_difference_does():
    """At a ratio of 1 the bets are those on the difference."""
    rng = np.random.default_rng(2)
    for rates in ((0.3, 0.36), (0.3, 0.37), (0.3, 0.38), (0.3, 0.25), (0.3, 0.23)):
        a, b = ((rng.random(1500) < rate).astype(float) for rate in rates)
        v = jb.ab(turns(a, b), control="A").variants[1]
        assert (v.difference_low > 0, v.difference_high < 0) == (v.lift_low > 0, v.lift_high < 0)


def test_numbers_in_a_range_do_not_depend_on_its_unit_and_are_divided_on_a_grid():
    """The grid makes the interval wider, by little."""
    rng = np.random.default_rng(3)
    a, b = rng.beta(2, 3, 1000), rng.beta(2.4, 3, 1000)
    one, cents = (
        the_lift(jb.ab(turns(scale * a, scale * b), control="A", goal=jb.Goal(score_range=(0, scale))))
        for scale in (1, 100)
    )
    assert one == pytest.approx(cents, rel=1e-9)
    alpha = math.log(0.025)

    def wealth(differences):
        logs = np.log1p(-STAKES * differences[:, None]).sum(axis=0)
        return np.log(np.sum(np.exp(LOG_WEIGHTS + logs)))

    exact = root(lambda r: wealth(b - r * a) + alpha, 1, 4)
    assert exact < ratios.largest_ratio(b, a, alpha) < 1.001 * exact
    below_0 = jb.ab(turns(a - 0.5, b - 0.5), control="A", goal=jb.Goal(score_range=(-0.5, 0.5))).variants[1]
    assert math.isinf(below_0.lift_low) and math.isinf(below_0.lift_high)


def test_without_a_range_it_is_fiellers_interval():
    rng = np.random.default_rng(4)
    a, b = rng.gamma(2, 1, 3000), rng.gamma(2.2, 1, 3000)
    low, lift, high = the_lift(jb.ab(turns(a, b), control="A"))
    r = asymptotic.radius(np.array([3000]), math.log(0.025))[0]
    for end in (1 + low, 1 + high):
        d = b - end * a
        assert abs(d.mean()) == pytest.approx(r * d.std(), rel=1e-6)
    assert low < lift < high and lift == pytest.approx(b.mean() / a.mean() - 1)


@pytest.mark.parametrize("shift", [1e3, 1e6, 1e9])
def test_numbers_far_above_their_difference_lose_no_digits(shift):
    """The lift of a + s over b + s is the difference over b + s, whose own error is negligible for a large s."""
    rng = np.random.default_rng(8)
    a, b = np.rint(rng.gamma(2, 100, (2, 3000)) + np.array([[0], [20]]))  # whole numbers, so that shifts are exact
    v = jb.ab(turns(a + shift, b + shift), control="A").variants[1]
    expected = np.array([v.difference_low, b.mean() - a.mean(), v.difference_high]) / (a.mean() + shift)
    assert (v.lift_low, v.lift, v.lift_high) == pytest.approx(expected.tolist(), rel=10 / shift**0.5, abs=0)
    assert v.lift == pytest.approx(expected[1], rel=1e-9, abs=0)
    if shift > 1e5:
        assert (v.lift_low, v.lift_high) == pytest.approx(expected[[0, 2]].tolist(), rel=1e3 / shift, abs=0)


def test_what_cannot_be_computed_is_unknown():
    """A control of 0 or below has no lift, and one that may be 0 no upper end: inf, and "?" in the text."""
    zero = jb.ab(turns(np.zeros(50), np.ones(50)), control="A")
    assert np.isnan(zero.variants[1].lift) and np.isinf(zero.variants[1].lift_high) and "? %" not in str(zero)
    low, lift, high = the_lift(jb.ab(turns(np.eye(1, 50)[0], np.ones(50)), control="A"))
    assert lift == 49 and 0 < low < 49 < high
    rng = np.random.default_rng(5)
    near_0 = jb.ab(turns(rng.normal(0.01, 1, 2000), rng.normal(0.5, 1, 2000)), control="A").variants[1]
    assert math.isinf(near_0.lift_low) and math.isinf(near_0.lift_high) and math.isfinite(near_0.difference_low)
    few = jb.ab(turns(rng.gamma(2, 1, 500), rng.gamma(2, 1, 500)), control="A").variants[1]
    assert math.isinf(few.lift_low) and few.lift == pytest.approx(few.mean / (few.mean - few.difference) - 1)


def test_a_control_below_0_has_no_lift_and_bounds_that_contradict_each_other_are_none():
    rng = np.random.default_rng(9)
    below = jb.ab(turns(rng.normal(-5, 1, 2000), rng.normal(-4, 1, 2000)), control="A").variants[1]
    assert below.difference_low > 0 and math.isnan(below.lift)
    assert (below.lift_low, below.lift_high) == (-math.inf, math.inf)
    for low, high in ((0.2, 0.3), (0.3, 0.0)):
        assert bounds.Lift.of_share(1.0, 10.0, low, high) == (0.1, -math.inf, math.inf)
    assert bounds.Lift.of_share(1.0, 10.0, 0.0, 0.2) == (0.1, 0.0, 0.2)


def test_of_quantiles_it_is_the_ratio_of_the_ends():
    rng = np.random.default_rng(6)
    result = jb.ab(turns(rng.gamma(2, 1, 2000), rng.gamma(3, 1, 2000)), control="A", goal=jb.Goal(quantile=0.5))
    a, b = result.variants
    expected = b.low / a.high - 1, b.mean / a.mean - 1, b.high / a.low - 1
    assert (b.lift_low, b.lift, b.lift_high) == pytest.approx(expected)


def test_a_high_quantile_without_ends_has_a_lift_without_ends():
    """The .99 quantile of one visitor of B has no lower end, that of 400 of A no upper one: no NaN comes of both."""
    rng = np.random.default_rng(7)
    log = {"variant": ["A"] * 400 + ["B"], "outcome": rng.gamma(2, 1, 401)}
    a, b = jb.ab(log, control="A", goal=jb.Goal(quantile=0.99, delta=1e-3), planned="adaptive").variants
    assert a.low > 0 and math.isinf(a.high) and b.low == -math.inf
    assert (b.lift_low, b.lift_high) == (-math.inf, math.inf)


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("kind", ["rates", "numbers"])
def test_intervals_hold_at_many_looks(kind):
    """30 logs at delta .2, looked at 4 times: more than 12 false ones with P < 4e-3 if each has .2 (binomial)."""
    assert stats.binom.sf(12, 30, 0.2) < 4e-3
    wrong = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        if kind == "rates":
            a, b = ((rng.random(1600) < rate).astype(float) for rate in (0.2, 0.25))
        else:
            a, b = rng.gamma(2, 1, 1600), rng.gamma(2.5, 1, 1600)
        ends = [
            the_lift(jb.ab(turns(a[:n], b[:n]), control="A", goal=jb.Goal(delta=0.2))) for n in (1000, 1200, 1400, 1600)
        ]
        wrong += any(not low <= 0.25 <= high for low, _, high in ends)
    assert wrong <= 12
