"""Numbers in A/B logs: when bounds without a range are stated, caps, quantiles, and contradictions."""

import json
import math
from collections import Counter

import numpy as np
import pytest
from scipy import optimize, stats

import jaxbandit as jb
from jaxbandit.decide.variants.bounds import mean_interval
from jaxbandit.decide.variants.outcomes import Kind
from jaxbandit.theory.comparisons import asymptotic
from jaxbandit.theory.quantile_bounds import quantile_sequence

NUMBERS = Kind(False, -math.inf, math.inf)


def turns(a, b, **columns):
    """A log in which visitors of A and B take turns, with a time."""
    n = min(len(a), len(b))
    outcome = np.stack([a[:n], b[:n]], axis=1).ravel()
    return {"variant": ["A", "B"] * n, "outcome": outcome, "t": np.arange(2 * n), **columns}


# The bound


@pytest.mark.parametrize(("alpha", "more"), [(0.2, 0.1), (0.05, 0.03), (0.001, 0.002)])
def test_the_radius_is_that_of_the_normal_mixture(alpha, more):
    """The mixture reaches 1/alpha at a deviation that is smaller by little: 1 - Phi is not 0 there."""
    rho2 = (1 - 2 * math.log(alpha) + math.log1p(-2 * math.log(alpha))) / (1000 * math.log(1000))
    for n in (1000.0, 7000.0, 10.0**6):

        def log_wealth(mean, n=n):
            x = math.sqrt(rho2 / (n * rho2 + 1)) * n * mean
            return math.log(2) + stats.norm.logcdf(x) + x * x / 2 - math.log(n * rho2 + 1) / 2

        exact = optimize.brentq(lambda mean: log_wealth(mean) + math.log(alpha), 1e-6, 10)
        assert exact < asymptotic.radius(np.array([n]), math.log(alpha))[0] < (1 + more) * exact


def test_moments_and_uncommon_numbers_of_prefixes():
    rng = np.random.default_rng(1)
    y = 1e6 + np.round(rng.lognormal(0, 1, 400), 1)
    sizes = np.array([3, 50, 400])
    mean, sd, skew2 = asymptotic.moments(y, sizes)
    for k, n in enumerate(sizes):
        assert mean[k] == pytest.approx(y[:n].mean()) and sd[k] == pytest.approx(y[:n].std(), rel=1e-9)
        assert skew2[k] == pytest.approx(stats.skew(y[:n]) ** 2, rel=1e-6)
        assert asymptotic.uncommon(y, sizes)[k] == n - Counter(y[:n].tolist()).most_common(1)[0][1]
    assert np.isinf(asymptotic.moments(np.full(9, 0.1), np.array([9]))[2][0])


# When it is stated


def test_nothing_is_stated_before_each_variant_has_shown_enough():
    """The three conditions one by one, each with the sentence that names what is missing."""
    rng = np.random.default_rng(2)
    even = 5 + rng.normal(0, 1, 2000)
    rare = np.zeros(2000)
    rare[: 99 * 20 : 20] = 1 + 0.1 * np.arange(99)
    few = jb.ab(turns(even, rng.permutation(rare)), control="A", columns={"time": "t"})
    assert few.words.startswith("Go on: too few to say: 99 of 100 visitors of B with an outcome other than 0;")
    assert "a score_range, a cap or a quantile can say more" in few.words and math.isinf(few.costs_at_most)
    a, b = few.variants
    assert math.isinf(b.difference_low) and math.isinf(b.low) and a.low < even.mean() < a.high and "?" in str(few)
    assert "low" not in few.to_json()["variants"][1] and "costs_at_most" not in few.to_json()
    rare[1999] = 50.0
    rare[5] = 0.5
    rare = rng.permutation(rare)
    need = math.ceil(355 * stats.skew(even - rare) ** 2)
    skewed = jb.ab(turns(even, rare), control="A", columns={"time": "t"})
    assert f"2,000 of {need:,} pairs of A and B that outcomes as skewed as these need" in skewed.words
    short = jb.ab(turns(even[:999], even[1000:1999]), control="A", columns={"time": "t"})
    assert "999 of 1,000 pairs of A and B" in short.words
    shifted = jb.ab(turns(even, even + 0.1), control="A", columns={"time": "t"})  # by as much, up to rounding
    assert "all 2,000 pairs of A and B have the same difference" in shifted.words and not shifted.notes
    enough = jb.ab(turns(even[:1000], 0.5 + even[1000:]), control="A", columns={"time": "t"})
    assert enough.decision == "ship" and enough.outcomes == "numbers"
    assert any("central limit theorem" in line for line in enough.assumptions)
    b = enough.variants[1]
    d = 0.5 + even[1000:] - even[:1000]
    half = d.std() * asymptotic.radius(np.array([1000]), math.log(0.025))[0]
    assert (b.difference_low, b.difference_high) == pytest.approx((d.mean() - half, d.mean() + half))
    assert enough.variants[0].costs_at_most == pytest.approx(d.mean() + half)  # two equal variants are apart with delta


def test_the_example_that_was_once_shipped():
    """A earns 1.0 a visitor in 2 % and B .8: the worse B is not shipped, with whatever is known of the outcomes."""
    log = turns(np.array(([0.0] * 49 + [50.0]) * 4), np.array([0.7, 0.9] * 100))
    for options in ({}, {"cap": 50}, {"goal": jb.Goal(score_range=(0, 50))}):
        assert jb.ab(log, control="A", columns={"time": "t"}, **options).decision == "go on"
    assert "4 of 100 visitors of A with an outcome other than 0" in jb.ab(log, control="A", columns={"time": "t"}).words
    assert (
        jb.ab(log, control="A", columns={"time": "t"}, goal=jb.Goal(quantile=0.5)).choice == "B"
    )  # half of A's visitors earn nothing


def test_large_outcomes_that_come_late_widen_the_interval():
    rng = np.random.default_rng(3)
    y = rng.normal(5, 1, (2, 4000))
    y[1, 3600::10] += 12.0
    early = jb.ab(turns(y[0, :3600], y[1, :3600]), control="A", columns={"time": "t"}).variants[1]
    late = jb.ab(turns(*y), control="A", columns={"time": "t"}).variants[1]
    assert early.difference_high < late.difference_high and late.difference_low < late.difference < late.difference_high


def test_the_interval_of_a_mean_has_conditions_of_its_own():
    rng = np.random.default_rng(4)
    y = rng.lognormal(0, 1, 40_000)
    need = math.ceil(355 * stats.skew(y) ** 2)
    assert 5_000 < need < 40_000 and math.isfinite(mean_interval(y, y, NUMBERS, 0.05)[0])
    assert mean_interval(y[:4000], y[:4000], NUMBERS, 0.05) == (-math.inf, math.inf)
    half = y.std() * asymptotic.radius(np.array([40_000]), math.log(0.025))[0]
    assert mean_interval(y, y, NUMBERS, 0.05) == pytest.approx((y.mean() - half, y.mean() + half))


# Caps and quantiles


@pytest.mark.slow
def test_a_cap_is_a_range_for_outcomes_that_are_cut():
    rng = np.random.default_rng(5)
    y = rng.lognormal(0, 1, (2, 600))
    capped = jb.ab(turns(*y), control="A", columns={"time": "t"}, cap=4)
    cut = jb.ab(turns(*np.minimum(y, 4)), control="A", columns={"time": "t"}, goal=jb.Goal(score_range=(0, 4)))
    assert capped.outcomes == "in [0, 4], capped" and capped.variants[1].difference == cut.variants[1].difference
    assert [(v.low, v.high, v.costs_at_most) for v in capped.variants] == [
        (v.low, v.high, v.costs_at_most) for v in cut.variants
    ]
    share, mean = 100 * np.mean(y[1] > 4), np.minimum(y[1], 4).mean()
    note = f"B {share:.3g} %, mean {y[1].mean():.4g} becomes {mean:.4g}"
    assert any("above 4 count as the cap" in line and note in line for line in capped.notes)
    assert "no outcome is below 0" in capped.assumptions
    both = jb.ab(turns(*(y - 1)), control="A", columns={"time": "t"}, cap=(-0.5, 3))
    assert both.outcomes == "in [-0.5, 3], capped" and any("or below -0.5" in line for line in both.notes)
    low = jb.ab(turns(*(y - 1)), control="A", columns={"time": "t"}, cap=3, goal=jb.Goal(score_range=(-1, 100)))
    assert low.outcomes == "in [-1, 3], capped" and "no outcome is below 0" not in low.assumptions


def test_a_quantile_is_bounded_by_order_statistics():
    """Two variants share delta, and the ends of an interval share that; differences are those of the ends."""
    rng = np.random.default_rng(6)
    y = rng.lognormal(0, 1, (2, 900)) + np.array([[0], [0.4]])
    result = jb.ab(turns(*y), control="A", columns={"time": "t"}, goal=jb.Goal(quantile=0.75))
    a, b = result.variants
    best = [quantile_sequence(y[v], 0.75, 0.05 / 4) for v in (0, 1)]  # the best bounds so far are not wider
    for v, (low, high) in zip((a, b), best, strict=True):
        assert low - 0.2 < v.low <= low < high <= v.high < high + 0.2
    assert b.mean == np.quantile(y[1], 0.75, method="inverted_cdf")
    assert (b.difference_low, b.difference_high) == (b.low - a.high, b.high - a.low)
    assert a.costs_at_most == pytest.approx(max(0, b.high - a.low)) and "0.75-quantile" in str(result)
    smaller = jb.ab(turns(*y), control="A", columns={"time": "t"}, goal=jb.Goal(quantile=0.75, maximize=False))
    assert smaller.variants[0].costs_at_most == pytest.approx(max(0, a.high - b.low))
    assert jb.ab(turns(*(3 * y)), control="A", columns={"time": "t"}, goal=jb.Goal(quantile=0.75)).variants[
        1
    ].high == pytest.approx(3 * b.high)
    few = jb.ab(turns(*y[:, :4]), control="A", columns={"time": "t"}, goal=jb.Goal(quantile=0.75))
    assert few.words == "Go on: too few to say: too few visitors for a bound of this quantile."


# Contradictions


def flip(rng, n=1500):
    """B is better than A by 10 points for n pairs, and then worse by as much for 3 n."""
    rate = np.where(np.arange(4 * n) < n, 0.1, -0.1)
    return turns((rng.random(4 * n) < 0.3).astype(float), (rng.random(4 * n) < 0.3 + rate).astype(float))


def test_bounds_that_exclude_each_other_are_said_first_and_nothing_is_claimed():
    from jaxbandit.lab.report.page import html_of

    result = jb.ab(flip(np.random.default_rng(7)), control="A", columns={"time": "t"})
    first = (
        "The data contradict an assumption: bounds of the difference between B and A exclude each other, first after"
    )
    assert result.words.startswith(first) and "check the order of the rows" in result.words
    assert str(result).startswith(first) and first in result._repr_html_()
    assert first in html_of(result.describe(detail=True)).decode().partition("<table")[0]
    document = json.loads(json.dumps(result.to_json()))
    assert document["words"].startswith(first) and len(document["alerts"]) == 1 and document["decision"] == "go on"
    a, b = result.variants
    assert not a.excluded and not b.excluded and math.isinf(result.costs_at_most) and a.share == b.share == 0.5
    assert math.isinf(b.low) and math.isinf(b.difference_low) and len(b.path) == 0
    before = jb.ab({k: v[:3000] for k, v in flip(np.random.default_rng(7)).items()}, control="A", columns={"time": "t"})
    assert before.decision == "ship" and not before.alerts
    change = next(line for line in result.notes if "changed over time" in line)
    assert "the difference between B and A changed over time (p = " in change and "+" in change.partition("p = ")[2]


@pytest.mark.statistical
@pytest.mark.parametrize("seeds", [range(10), pytest.param(range(10, 60), marks=pytest.mark.slow)], ids=len)
def test_a_flip_and_a_random_walk_never_end_in_a_false_decision(seeds):
    """A flip is always said. A walk whose rates end far apart or not: what is shipped is the better one on average.

    A false decision in one log of 20 would be seen in 95 % of the seeds.
    """
    for seed in seeds:
        rng = np.random.default_rng(seed)
        assert jb.ab(flip(rng), control="A", columns={"time": "t"}).alerts
        steps = np.cumsum(rng.normal(0, 0.004, (2, 4000)), axis=1)
        rates = np.clip(0.3 + steps, 0.02, 0.98)
        walk = jb.ab(turns(*(rng.random((2, 4000)) < rates).astype(float)), control="A", columns={"time": "t"})
        better = "AB"[int(rates[1].mean() > rates[0].mean())]
        assert walk.decision == "go on" or walk.choice == better
        if walk.alerts:
            assert walk.words.startswith("The data contradict")


@pytest.mark.slow
@pytest.mark.statistical
def test_no_interval_is_empty_or_lacks_its_estimate():
    """Any outcomes, changes over time, holes, orders and options; each of the five kinds some eight times."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n, options = int(rng.integers(4, 2500)), {}
        variant = np.array(list("ABC"))[rng.integers(0, int(rng.integers(2, 4)), n)]
        variant[:2] = "A", "B"
        drift = (rng.random() < 0.5) * (np.arange(n) > n / 3) * (variant == "B")
        match int(rng.integers(5)):
            case 0:
                y = (rng.random(n) < 0.2 + 0.4 * drift).astype(float)
            case 1:
                y, options = rng.beta(1, 3, n) * (1 - 0.5 * drift), {"goal": jb.Goal(score_range=(0, 1))}
            case 2:
                y = rng.lognormal(0, 1, n) * (1 + drift)
            case 3:
                y, options = rng.lognormal(0, 1, n) * (1 + drift), {"cap": 3}
            case _:
                y, options = rng.normal(0, 1, n) + drift, {"goal": jb.Goal(quantile=0.3)}
        if rng.random() < 0.3:
            y[rng.random(n) < 0.1] = np.nan
        log = {"variant": variant, "outcome": y, "t": np.arange(n)}
        if rng.random() < 0.5:
            options |= {"columns": {"time": "t"}, "window": n // 10}
        result = jb.ab(log, control="A", planned="adaptive", **options)
        for v in result.variants:
            assert not v.low > v.high and not v.difference_low > v.difference_high
            assert not (v.mean < v.low - 1e-9 or v.mean > v.high + 1e-9), (seed, v)
            out = v.difference < v.difference_low - 1e-9 or v.difference > v.difference_high + 1e-9
            assert not out, (seed, v)
            known = v.path[np.isfinite(v.path).all(axis=1)]
            assert np.all(known[:, 2] <= known[:, 1] + 1e-9) and np.all(known[:, 1] <= known[:, 3] + 1e-9)


@pytest.mark.slow
@pytest.mark.statistical
def test_a_constant_difference_is_not_said_to_change():
    """At level 1e-3: more than 1 of 30 with probability 4e-4; at a level of .2, nearly always."""
    said = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        log = turns(*(rng.random((2, 1500)) < [[0.2], [0.3]]).astype(float))
        said += any("changed over time" in line for line in jb.ab(log, control="A", columns={"time": "t"}).notes)
    assert said <= 1


# The figures of benchmarks/results/decisions.md


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("at", range(6))
def test_the_worse_variant_is_rarely_shipped(at):
    """25 logs of each law at delta .05: at most 5 wrong, P(more) = 1e-3; the share in 300 logs is .033 or less."""
    skewed = pytest.importorskip("benchmarks.skewed")
    found = skewed.of_world(skewed.WORLDS[at], 25, 25)
    assert found["wrong"] <= 5 and np.all(np.array(found["missed"]) <= 5)
