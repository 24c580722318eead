"""Ratios of sums by the delta method, and covariates from before the test."""

import math

import numpy as np
import pytest
from scipy import stats

import jaxbandit as jb
from jaxbandit.theory.comparisons import asymptotic


def of_units(seed, n, effect=0.0, reading=0.1):
    """Users with sessions, clicks in a share of them that is the user's own, and what they clicked before."""
    rng = np.random.default_rng(seed)
    variant = np.tile(["A", "B"], n // 2)
    sessions = 1 + rng.poisson(3, n)
    taste = rng.beta(2, 2 / reading - 2, n)
    clicks = rng.binomial(sessions, np.minimum(taste + effect * (variant == "B"), 1)).astype(float)
    return {"variant": variant, "clicks": clicks, "sessions": sessions, "before": rng.binomial(20, taste).astype(float)}


def ends(v):
    return v.difference_low, v.difference, v.difference_high


RATIO = {"outcome": "clicks", "denominator": "sessions"}
BEFORE = {"outcome": "clicks", "covariate": "before"}


def test_a_ratio_has_the_variance_of_the_delta_method():
    """Of pairs: the covariance matrix of sums and denominators, by the derivatives of the ratio."""
    log = of_units(1, 6000, 0.02)
    result = jb.ab(log, control="A", columns=RATIO)
    value, variance = {}, 0.0
    for name in "AB":
        y, m = (log[column][log["variant"] == name] for column in ("clicks", "sessions"))
        value[name] = y.sum() / m.sum()
        slopes = np.array([1 / m.mean(), -y.mean() / m.mean() ** 2])
        variance += slopes @ np.cov(y, m, bias=True) @ slopes
    a, b = result.variants
    assert (a.mean, b.mean) == pytest.approx((value["A"], value["B"])) and result.statistic == "ratio"
    half = asymptotic.radius(np.array([3000]), math.log(0.025))[0] * math.sqrt(variance)
    assert b.difference == pytest.approx(value["B"] - value["A"])
    width = b.difference_high - b.difference_low  # in which the covariance of the members of pairs counts, by chance
    assert width == pytest.approx(2 * half, rel=0.02)
    assert b.lift == pytest.approx(value["B"] / value["A"] - 1) and b.lift_low < b.lift < b.lift_high
    assert (b.lift_low > 0) == (b.difference_low > 0)
    y, m = (log[column][log["variant"] == "A"] for column in ("clicks", "sessions"))
    sd = np.std((y - value["A"] * m) / m.mean())
    own = asymptotic.radius(np.array([3000]), math.log(0.0125))[0] * sd
    assert (a.low, a.high) == pytest.approx((a.mean - own, a.mean + own))


def test_denominators_of_one_change_nothing_and_their_unit_cancels():
    log = of_units(2, 4000, 0.1)
    log["value"] = log["clicks"] + np.random.default_rng(2).gamma(2, 1, 4000)
    plain = jb.ab(log, control="A", columns={"outcome": "value"})
    for scale in (1.0, 1000.0):
        log["one"] = np.full(4000, scale)
        found = jb.ab(log, control="A", columns={"outcome": "value", "denominator": "one"})
        for v, w in zip(plain.variants, found.variants, strict=True):
            assert np.array(ends(v)) == pytest.approx(scale * np.array(ends(w)))
            assert (v.lift_low, v.lift_high, v.low) == pytest.approx((w.lift_low, w.lift_high, scale * w.low))


def test_rows_of_a_unit_are_summed_above_and_below():
    log = of_units(3, 3000, 0.02)
    rows = np.repeat(np.arange(3000), 2)
    twice = {name: column[rows] for name, column in log.items()}
    for name in ("clicks", "sessions"):
        twice[name] = np.where(np.arange(6000) % 2, log[name][rows] - 1.0, 1.0)
    twice["clicks"] = np.where(np.arange(6000) % 2, log["clicks"][rows], 0.0)
    twice["user"] = rows
    one = jb.ab(log, control="A", columns={**RATIO, "covariate": "before"})
    two = jb.ab(twice, control="A", columns={**RATIO, "covariate": "before", "unit": "user"})
    assert [ends(v) for v in one.variants] == [ends(v) for v in two.variants]
    with pytest.raises(ValueError, match="of_unit = 'any', must be 'sum' for a ratio"):
        jb.ab(twice, control="A", columns={**RATIO, "unit": "user"}, of_unit="any")


def test_a_covariate_is_subtracted_with_the_slope_of_the_other_half():
    """Least squares within variants on each half, whose visitors take turns in each variant."""
    log = of_units(4, 6000, 0.02)
    result = jb.ab(log, control="A", columns=BEFORE)
    y, x, fold = log["clicks"], log["before"], np.arange(6000) // 2 % 2
    is_b = log["variant"] == "B"
    slopes = []
    for half in (0, 1):
        rows = fold != half
        z = y - np.where(is_b, y[is_b].mean(), y[~is_b].mean())
        apart = x - np.where(is_b, x[is_b].mean(), x[~is_b].mean())
        slopes.append(np.linalg.lstsq(apart[rows][:, None], z[rows], rcond=None)[0][0])
    adjusted = y - np.array(slopes)[fold] * (x - x.mean())
    d = adjusted[is_b] - adjusted[~is_b]
    half = asymptotic.radius(np.array([3000]), math.log(0.025))[0] * d.std()
    a, b = result.variants
    assert ends(b) == pytest.approx((d.mean() - half, d.mean(), d.mean() + half))
    assert (a.mean, b.mean) == pytest.approx((y[~is_b].mean(), y[is_b].mean()))
    plain = jb.ab(log, control="A", columns={"outcome": "clicks"}).variants[1]
    narrower = (b.difference_high - b.difference_low) / (plain.difference_high - plain.difference_low)
    assert narrower**2 == pytest.approx(1 - result.variance_removed, abs=0.01) and result.variance_removed > 0.05
    share = f"{100 * result.variance_removed:.1f} % of the variance"
    assert share in result.notes[0] and "from before" not in result.notes[0]
    assert any("measured before the visitors were assigned" in line for line in result.assumptions)


def test_a_covariate_of_rates_keeps_their_unit():
    rng = np.random.default_rng(5)
    log = of_units(5, 4000) | {"any": rng.random(4000) < 0.3}
    found = jb.ab(log, control="A", columns={"outcome": "any", "covariate": "before"})
    assert found.is_rate and "points" in str(found)
    assert jb.ab(log, control="A", columns={"outcome": "any"}).variants[1].mean == found.variants[1].mean


def test_a_covariate_that_says_nothing_removes_nothing():
    log = of_units(6, 4000, 0.02) | {"same": np.ones(4000), "noise": np.random.default_rng(6).random(4000)}
    plain = jb.ab(log, control="A", columns={"outcome": "clicks"})
    same = jb.ab(log, control="A", columns={"outcome": "clicks", "covariate": "same"})
    assert ends(plain.variants[1]) == pytest.approx(ends(same.variants[1])) and same.variance_removed == 0
    noise = jb.ab(log, control="A", columns={"outcome": "clicks", "covariate": "noise"})
    assert abs(noise.variance_removed) < 0.01
    zeros = jb.ab(log | {"clicks": np.zeros(4000)}, control="A", columns=BEFORE)
    assert math.isnan(zeros.variance_removed) and "variance_removed" not in zeros.to_json()


def test_visitors_without_a_covariate_are_not_adjusted():
    log = of_units(7, 4000, 0.02)
    log["before"][::5] = np.nan
    found = jb.ab(log, control="A", columns=BEFORE)
    assert "800 visitors have no covariate" in found.notes[1]
    filled = np.where(np.isnan(log["before"]), np.nanmean(log["before"]), log["before"])
    other = jb.ab(log | {"before": filled}, control="A", columns=BEFORE)
    assert ends(found.variants[1]) == pytest.approx(ends(other.variants[1]), abs=2e-3)


def test_a_covariate_that_depends_on_the_variant_is_said_first():
    log = of_units(8, 4000)
    log["after"] = log["before"] + np.where(log["variant"] == "B", 1.0, 0.0)
    found = jb.ab(log, control="A", columns={"outcome": "clicks", "covariate": "after"})
    assert found.decision == "go on" and "the covariate differs between B and A, by 1.1" in found.alerts[0]
    assert not jb.ab(log, control="A", columns=BEFORE).alerts


def test_what_is_not_known_is_not_stated():
    """No denominators, or too few clicks, leave everything unknown; no number is 0 or certain."""
    log = of_units(9, 4000)
    log["sessions"] = np.zeros(4000)
    found = jb.ab(log, control="A", columns=RATIO)
    a, b = found.variants
    assert math.isnan(a.mean) and math.isnan(b.difference) and math.isinf(b.difference_high) and math.isnan(b.lift)
    assert found.decision == "go on" and math.isinf(found.costs_at_most) and "nan" not in str(found)
    rare = of_units(10, 4000, reading=0.001)
    assert "visitors of" in jb.ab(rare, control="A", columns=RATIO).missing


def test_shares_blocks_and_segments_have_ratios_too():
    log = of_units(11, 9000, 0.02)
    log["variant"] = np.tile(["A", "A", "B"], 3000)
    log["country"] = np.where(np.arange(9000) % 2, "DE", "FR")
    found = jb.ab(log, control="A", columns={**RATIO, "segment": "country"}, planned={"A": 2, "B": 1})
    b = found.variants[1]
    assert b.pairs == 3000 and b.difference == pytest.approx(b.mean - found.variants[0].mean)
    for s in found.segments:
        rows = (log["country"] == s.value) & (log["variant"] == "B")
        assert s.mean == pytest.approx(log["clicks"][rows].sum() / log["sessions"][rows].sum())
    log["block"] = np.arange(9000) // 3
    blocks = jb.ab(log, control="A", columns={**RATIO, "block": "block"}).variants[1]
    assert blocks.pairs == 3000 and blocks.mean == pytest.approx(b.mean)


def test_rows_that_are_shuffled_keep_their_denominators_and_covariates():
    log = of_units(12, 4000, 0.02)
    rows = np.argsort(log["variant"], kind="stable")
    sorted_ = {name: column[rows] for name, column in log.items()}
    columns = {**RATIO, "covariate": "before"}
    one, other = jb.ab(log, control="A", columns=columns), jb.ab(sorted_, control="A", columns=columns)
    assert "looked at once" in other.assumptions[0]
    assert other.variants[1].difference == pytest.approx(one.variants[1].difference, abs=1e-3)
    assert other.variance_removed == pytest.approx(one.variance_removed, abs=0.01)
    assert [v.mean for v in one.variants] == pytest.approx([v.mean for v in other.variants])


def test_each_outcome_may_have_its_own():
    log = of_units(13, 4000, 0.02)
    own = {"denominator": {"clicks": "sessions"}, "covariate": {"clicks": "before"}}
    columns = {"outcome": ["clicks", "before"], **own}
    found = jb.ab(log, control="A", columns=columns)
    assert (found.statistic, found.other_metrics[0].statistic) == ("ratio", "mean")
    assert found.variance_removed > 0 and math.isnan(found.other_metrics[0].variance_removed)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"columns": {**RATIO, "denominator": "bad"}}, "row 1: bad = -1.0, must be a number >= 0"),
        ({"columns": {**RATIO, "denominator": "hole"}}, "row 2: hole = nan, must be a number >= 0"),
        ({"columns": {**RATIO, "denominator": {"views": "sessions"}}}, "denominator"),
        ({"columns": {**RATIO, "visitors": "sessions"}}, "denominator is about single visitors, not counts"),
        ({"columns": {**BEFORE, "visitors": "sessions"}}, "covariate is about single visitors, not counts"),
        ({"columns": RATIO, "goal": jb.Goal(quantile=0.5)}, "goal: quantile means nothing beside a denominator"),
        ({"columns": BEFORE, "goal": jb.Goal(score_range=(0, 99))}, "goal: score_range means nothing"),
    ],
)
def test_what_is_refused(change, message):
    log = of_units(14, 4) | {"bad": [1, -1, 1, 1], "hole": [1, 1, np.nan, 1]}
    with pytest.raises(ValueError) as error:
        jb.ab(log, **{"control": "A", **change})
    assert message in str(error.value) and "\n" not in str(error.value)


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("columns", [RATIO, BEFORE, RATIO | BEFORE], ids=["ratio", "covariate", "both"])
def test_equal_variants_are_rarely_shipped(columns):
    """40 A/A logs at delta .2, any look: one in 5 at most, more than 15 with P < 3e-3 (binomial)."""
    assert stats.binom.sf(15, 40, 0.2) < 3e-3
    wrong = 0
    for seed in range(40):
        b = jb.ab(of_units(200 + seed, 6000), control="A", columns=columns, goal=jb.Goal(delta=0.2)).variants[1]
        wrong += bool(np.any((b.path[:, 2] > 0) | (b.path[:, 3] < 0)))
    assert wrong <= 15
