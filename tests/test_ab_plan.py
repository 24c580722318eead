"""How many visitors a test takes: the plan against tests that are decided by the bounds of real ones."""

import json
import math

import numpy as np
import pytest

import jaxbandit as jb
from jaxbandit.decide.variants import plans
from jaxbandit.decide.variants.bounds import contrast
from jaxbandit.decide.variants.outcomes import Kind
from jaxbandit.theory.comparisons.betting import LOG_WEIGHTS, STAKES

BINARY, NUMBERS = Kind(True, 0.0, 1.0), Kind(False)


@pytest.fixture(autouse=True)
def few_tests(monkeypatch):
    """So that each plan takes less time."""
    monkeypatch.setattr(plans, "TESTS", 200)


def the_plan(log, **options):
    found = jb.ab(log, **options).plan
    assert found is not None
    return found


def before(outcome, **columns):
    """A log of the control alone."""
    return {"variant": ["A"] * len(outcome), "outcome": outcome, **columns}


def rates(rate, n=2000, **columns):
    return before(np.arange(n) < rate * n, **columns)


def ends(kind, alpha, draw, tests, n, epsilon=0.0, scale=1.0):
    """The median of the visitors of two variants until the bound of A - B / scale is at most epsilon.

    Bets are multiplied pair by pair; numbers without a range have the bounds of `ab`.
    """
    found = []
    for seed in range(tests):
        one, other = (np.asarray(y, float)[:n] for y in draw(np.random.default_rng([seed, 99])))
        if kind.bounded:
            margin = (epsilon - (one - other / scale)) / kind.high
            wealth = np.cumsum(np.log1p(STAKES * (margin / (1 - epsilon / kind.high))[:, None]), axis=0)
            pairs = 1 + np.arange(n)
            done = np.exp(wealth + LOG_WEIGHTS).sum(axis=1) >= 1 / alpha
        else:
            sides = one[:, None], other[:, None] / scale
            path = contrast(sides, sides, kind, alpha, ("A", "B")).path
            pairs, done = path[:, 0], path[:, 3] <= epsilon
        found.append(2 * pairs[np.argmax(done)] if done.any() else math.inf)
    return float(np.median(found))


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("kind", ["rates", "epsilon", "smaller", "range", "numbers"])
def test_the_plan_is_the_median_of_tests(kind):
    """200 planned and 150 other tests: the ratio has a standard error of about .08, 25 % off with P < 2e-3."""
    n, epsilon = 4000, 0.02 if kind == "epsilon" else 0.0
    goal = jb.Goal(epsilon=epsilon, maximize=kind != "smaller", score_range=(0, 2) if kind == "range" else None)
    if kind in ("range", "numbers"):
        law = np.repeat([0.0, 0.5, 1.0, 1.2], 1000) if kind == "range" else np.random.default_rng(1).gamma(4, 0.1, 4000)
        effect = 0.1 if kind == "range" else 0.02
        factor, limits = 1 + effect / law.mean(), Kind(False, 0.0, 2.0) if kind == "range" else NUMBERS
        alpha = 0.05 if kind == "range" else 0.025
        found = the_plan(before(law), control="A", plan=effect, goal=goal)
        expected = ends(limits, alpha, lambda rng: (rng.choice(law, n), rng.choice(law, n) * factor), 150, n)
    else:
        rate = 0.26 if kind == "smaller" else 0.2
        found = the_plan(rates(rate), control="A", plan=0.06, goal=goal)
        expected = ends(BINARY, 0.05, lambda rng: (rng.random(n) < 0.2, rng.random(n) < 0.26), 150, n, epsilon)
    assert found.visitors == pytest.approx(expected, rel=0.25)


@pytest.mark.slow
@pytest.mark.statistical
def test_a_guardrail_is_waited_for():
    """A rail of 20 % less: the bound of A - B / .8 at half of its share of delta; 25 % off with P < 2e-3, as above."""
    rng = np.random.default_rng(2)
    law = rng.gamma(0.2, 5, 4000)
    log = rates(0.2, 4000) | {"revenue": rng.permutation(law)}
    found = the_plan(log, control="A", plan=0.1, guardrails={"revenue": -0.2})
    n = 20_000
    expected = ends(NUMBERS, 0.0125, lambda rng: (rng.choice(law, n), rng.choice(law, n)), 60, n, scale=0.8)
    alone = the_plan(log, control="A", plan=0.1)
    assert found.visitors == pytest.approx(expected, rel=0.25) and alone.visitors < found.visitors / 2


def test_counts_of_rates_and_rows_lead_to_the_same_plan():
    """Two ways to draw the same tests; each median has a standard error of 4 %, and 20 % is beyond three of both."""
    log = rates(0.2, time=np.repeat(np.arange(10), 200))
    counts = the_plan(log, control="A", plan=0.1, columns={"time": "time"})
    rows = the_plan(log, control="A", plan=0.1, planned={"A": 1, "B": 1, "C": 1})
    both = plans._World(plans.Source(_visitors(log), BINARY, 0, 0.05, 0.0, True, 0.1))
    for shares, size in (([0.5, 0.5], 1000), ([0.8, 0.2], 1200), ([0.4, 0.6], 900)):  # 1 to 1, 4 to 1, 2 to 3
        form, steps = (np.array(shares), 0, 1), np.array([size])
        at_once = [both.first_of_counts(np.random.default_rng(seed), steps, *form) for seed in range(200)]
        by_rows = np.array([both.wins(np.random.default_rng(seed), steps, *form)[0] for seed in range(200)])
        assert 0.3 < np.mean(by_rows) < 0.8
        assert np.mean(np.isfinite(at_once)) == pytest.approx(np.mean(by_rows), abs=0.15)  # three standard errors
    assert counts.base == 0.2 and counts.visitors < rows.visitors
    assert counts.time == pytest.approx(counts.visitors / 200)  # of 200 visitors in each of ten units


def _visitors(log):
    from jaxbandit.decide.variants.visitors import Columns, read

    return read(log, [Columns()], 1)[0]


def test_words_days_and_window():
    days = [f"2026-03-{1 + i // 100:02d}" for i in range(2000)]
    log = rates(0.2, day=days)
    plain = jb.ab(log, control="A", columns={"time": "day"}, plan=0.1)
    plan = plain.plan
    assert plan is not None
    assert plan.time == pytest.approx(plan.visitors / 100) and plan.nine_tenths >= plan.visitors
    assert plain.decision == "go on" and "10 points at the present rate of 20.00 %" in plain.words
    assert f"{plan.visitors:,.0f} visitors" in plain.words and "days" in plain.words
    late = the_plan(log, control="A", columns={"time": "day"}, plan=0.1, window="7d", now="2026-03-30")
    assert late.time == pytest.approx(late.visitors / 100 + 7)
    data = json.loads(json.dumps(plain.to_json(), allow_nan=False))
    assert data["plan"]["visitors"] == plan.visitors
    again = jb.ab(log, control="A", columns={"time": "day"}, plan=0.1)
    assert again.plan == plan  # the same log, the same tests
    no_times = jb.ab(rates(0.2), control="A", plan=0.1)
    assert no_times.plan is not None and math.isnan(no_times.plan.time)
    assert "days" not in no_times.words and "time" not in no_times.to_json()["plan"]


def test_a_log_of_a_test_is_enough_and_nothing_is_decided_then():
    rng = np.random.default_rng(3)
    log = {"variant": np.tile(["A", "B"], 3000), "outcome": rng.random(6000) < np.tile([0.2, 0.4], 3000)}
    assert jb.ab(log, control="A").decision == "ship"
    found = jb.ab(log, control="A", plan=0.1)
    assert found.plan is not None and found.decision == "go on" and found.plan.base == found.variants[0].mean


def test_before_a_test_nothing_is_known():
    found = jb.ab(rates(0.2), control="A", plan=0.1)
    assert math.isinf(found.costs_at_most) and not found.alerts and found.variants[0].costs_at_most == math.inf


def test_what_takes_longer_than_the_longest_test_is_unknown(monkeypatch):
    monkeypatch.setattr(plans, "MOST_COUNTS", 8000)
    found = jb.ab(rates(0.2), control="A", plan=0.01)
    assert found.plan is not None and math.isinf(found.plan.visitors)
    assert "more than 8,000 visitors are needed" in found.words
    assert "visitors" not in found.to_json()["plan"]


@pytest.mark.slow
def test_larger_effects_and_weaker_demands_take_less():
    visitors = [the_plan(rates(0.2), control="A", plan=effect).visitors for effect in (0.05, 0.1, 0.2)]
    assert visitors == sorted(visitors, reverse=True) and visitors[0] > 2 * visitors[1]
    weak = the_plan(rates(0.2), control="A", plan=0.05, goal=jb.Goal(delta=0.2)).visitors
    assert weak < visitors[0]
    uneven = the_plan(rates(0.2), control="A", plan=0.05, planned={"A": 4, "B": 1}).visitors
    assert uneven > 1.05 * visitors[0]  # 1.24 in the median of 2,000 tests, and these are 200


@pytest.mark.parametrize(
    ("log", "change", "message"),
    [
        (rates(0.2), {"plan": 0}, "plan = 0, must be a number in (0, inf)"),
        (rates(0.2), {"plan": 0.9}, "plan = 0.9, must be an effect after which a rate of 0.2 is in [0, 1]"),
        (rates(0.2), {"plan": 0.3, "goal": jb.Goal(maximize=False)}, "plan = 0.3, must be an effect after"),
        (rates(0.2), {"plan": 0.1, "goal": jb.Goal(quantile=0.5)}, "plan is about means and planned shares"),
        (rates(0.2), {"plan": 0.1, "planned": "adaptive"}, "plan is about means and planned shares"),
        (before(np.linspace(0, 1, 99)), {"plan": 0.6, "goal": jb.Goal(score_range=(0, 1))}, "plan = 0.6, must be an"),
        (rates(0.2), {"plan": 0.1, "planned": {"B": 1, "C": 1}}, "planned has no share for A"),
        (rates(0.2), {"plan": 0.1, "planned": {"A": 1}}, "planned has no share for A and another variant"),
        (rates(0.2), {"plan": 0.1, "planned": {"A": 1, "B": 0}}, "planned['B'] = 0, must be a number in (0, inf)"),
        (rates(0.2), {}, "has only 'A', must have at least two variants"),
    ],
)  # fmt: skip
def test_what_is_refused(log, change, message):
    with pytest.raises(ValueError) as error:
        jb.ab(log, control="A", **change)
    assert message in str(error.value) and "\n" not in str(error.value)
