"""Several metrics in one call, guardrails with a margin, and segments."""

import json
import math

import numpy as np
import pytest
from scipy import stats

import jaxbandit as jb
from jaxbandit.decide.variants.guardrails import Guardrail


def a_log(seed, n, conversion, spent, **columns):
    """Variants by their rates of conversion and what a conversion is worth, and other columns."""
    rng = np.random.default_rng(seed)
    names = np.array(list("ABC")[: len(conversion)])
    v = rng.integers(len(names), size=n)
    converted = rng.random(n) < np.array(conversion)[v]
    revenue = np.where(converted, np.array(spent)[v] * rng.gamma(8, 1 / 8, n), 0.0)
    return {"variant": names[v], "converted": converted, "revenue": revenue, **columns}


def numbers(result):
    return [(v.name, v.mean, v.low, v.high, v.difference_low, v.difference_high, v.lift_low) for v in result.variants]


def test_each_metric_is_what_a_call_of_its_own_says_with_its_share_of_delta():
    log = a_log(1, 6000, (0.3, 0.4), (10, 10))
    both = jb.ab(log, control="A", columns={"outcome": ["converted", "revenue"]}, goal=jb.Goal(delta=0.1))
    for result, name in ((both, "converted"), (both.other_metrics[0], "revenue")):
        alone = jb.ab(log, control="A", columns={"outcome": name}, goal=jb.Goal(delta=0.05))
        assert numbers(result) == numbers(alone) and result.delta == 0.05 and result.metric == name
        assert result.decision == alone.decision
    assert "delta = 0.1 is divided equally among 2 metrics, converted, revenue" in both.notes[0]
    assert "Of revenue, which does not decide" in str(both)


def test_a_goal_is_about_the_metric_that_decides():
    log = a_log(2, 3000, (0.3, 0.4), (10, 10))
    goal = jb.Goal(maximize=False, epsilon=0.02)
    found = jb.ab(log, control="A", columns={"outcome": ["converted", "revenue"]}, goal=goal)
    assert not found.maximize and found.epsilon == 0.02
    assert found.other_metrics[0].maximize and found.other_metrics[0].epsilon == 0


@pytest.mark.parametrize(
    ("limit", "low", "high", "state"),
    [(-0.01, -0.01, 0.2, "kept"), (-0.01, -0.011, 0.2, "not known"), (-0.01, -0.2, -0.011, "broken"),
     (-0.01, -math.inf, math.inf, "not known"), (-0.01, -math.inf, -0.02, "broken"), (-0.01, 0.1, math.inf, "kept"),
     (0.02, -0.3, 0.02, "kept"), (0.02, 0.03, 0.1, "broken"), (0.02, 0.01, 0.021, "not known"),
     (0.02, -math.inf, math.inf, "not known"), (0.02, -math.inf, 0.01, "kept"),
     (-0.01, math.nan, math.nan, "not known")],
)  # fmt: skip
def test_a_guardrail_is_kept_if_its_whole_interval_is(limit, low, high, state):
    assert Guardrail("m", "B", limit, 0.0, low, high).state == state


def test_a_variant_that_breaks_a_guardrail_is_not_shipped_and_not_compared_with():
    """C converts most and earns least; B is then the best of those that are left."""
    log = a_log(3, 24_000, (0.30, 0.36, 0.45), (10, 10, 4))
    plain = jb.ab(log, control="A", columns={"outcome": "converted"})
    assert (plain.decision, plain.choice) == ("ship", "C")
    found = jb.ab(log, control="A", columns={"outcome": "converted"}, guardrails={"revenue": -0.02})
    assert (found.decision, found.choice) == ("ship", "B") and "revenue at most 2 % lower" in found.words
    assert {g.variant: g.state for g in found.guardrails} == {"B": "kept", "C": "broken"}
    states = {v.name: v for v in found.variants}
    assert states["C"].excluded and states["C"].share == 0 and "a guardrail is broken by C" in found.notes[0]
    lift = {v.name: v for v in found.other_metrics[0].variants}["B"]
    assert [(g.low, g.high) for g in found.guardrails if g.variant == "B"] == [(lift.lift_low, lift.lift_high)]
    least = jb.ab(log, control="A", columns={"outcome": "converted"}, guardrails={"revenue": -0.9}).choice
    assert least == "C"  # which loses less than 90 %
    up = jb.ab(log, control="A", columns={"outcome": "converted"}, guardrails={"revenue": 0.02})
    assert up.choice == "C" and {g.variant: g.state for g in up.guardrails} == {"B": "broken", "C": "kept"}


def test_the_level_of_those_that_are_left_does_not_change():
    """A choice among fewer that looked at the data has the levels of all."""
    log = a_log(3, 24_000, (0.30, 0.36, 0.45), (10, 10, 4))
    found = jb.ab(log, control="A", columns={"outcome": "converted"}, guardrails={"revenue": -0.02})
    other = jb.ab(log, control="A", columns={"outcome": "converted"}, goal=jb.Goal(delta=0.025))
    assert numbers(found) == numbers(other)


def test_a_guardrail_that_is_not_known_yet_is_waited_for():
    log = a_log(4, 4000, (0.3, 0.4), (10, 8))
    found = jb.ab(log, control="A", columns={"outcome": "converted"}, guardrails={"revenue": -0.01})
    assert found.decision == "go on" and "not known yet whether it keeps the guardrails: revenue" in found.words
    assert set(found.shares.values()) == {0.5} or found.variants[0].excluded
    assert found.costs_at_most == 0
    quantile = jb.ab(log, control="A", columns={"outcome": "converted"}, guardrails={"revenue": -0.9},
                     goal=jb.Goal(quantile=0.65))  # fmt: skip
    assert quantile.statistic == "0.65-quantile" and quantile.other_metrics[0].statistic == "mean"


def test_a_broken_guardrail_of_a_quantile():
    log = a_log(5, 12_000, (0.3, 0.6), (10, 1))
    goal = jb.Goal(quantile=0.5)
    assert jb.ab(log, control="A", columns={"outcome": "converted"}, goal=goal).choice == "B"
    found = jb.ab(log, control="A", columns={"outcome": "converted"}, guardrails={"revenue": -0.1}, goal=goal)
    assert (found.decision, found.choice) == ("keep", "A")


def test_what_contradicts_one_metric_withdraws_the_decision():
    log = a_log(6, 4000, (0.3, 0.4), (10, 10))
    half = np.arange(4000) < 2000
    log |= {"flip": np.where((log["variant"] == "B") == half, 1.0, 0.0), "t": np.arange(4000)}
    found = jb.ab(log, control="A", columns={"outcome": ["converted", "flip"], "time": "t"})
    assert found.alerts and found.decision == "go on" and found.other_metrics[0].alerts == found.alerts


def test_segments_are_logs_of_their_own_at_the_level_of_the_whole():
    rng = np.random.default_rng(107)
    country = rng.choice(["DE", "FR", ""], 6000)
    log = a_log(7, 6000, (0.3, 0.3, 0.5), (10, 10, 10), country=country, new=rng.random(6000) < 0.5)
    columns = {"outcome": "converted", "segment": ["country", "new"]}
    found = jb.ab(log, control="A", columns=columns)
    values = {"DE", "FR", "(empty)", "True", "False"}
    assert len(found.segments) == 2 * (3 + 2) and {s.value for s in found.segments} == values
    for s in found.segments:
        rows = log["new"] == (s.value == "True")
        if s.column == "country":
            rows = country == s.value.replace("(empty)", "")
        part = {name: column[rows] for name, column in log.items()}
        alone = {v.name: v for v in jb.ab(part, control="A", columns={"outcome": "converted"}).variants}[s.variant]
        assert (s.visitors, s.mean, s.difference) == (alone.visitors, alone.mean, alone.difference)
        assert (s.low, s.high, s.lift_low) == (alone.difference_low, alone.difference_high, alone.lift_low)
    assert numbers(found) == numbers(jb.ab(log, control="A", columns={"outcome": "converted"}))
    assert "with 5 segments, about 0.25 of them" in " ".join(str(found).split())


def test_a_newcomer_is_compared_within_a_segment_from_its_entry_on():
    """Of 300 rows of A and B before it and 300 of all three after it, one half is in each segment."""
    log = {"variant": ["A", "B"] * 150 + ["A", "B", "C"] * 100, "outcome": np.random.default_rng(1).random(600) < 0.4}
    log["s"] = ["x", "x", "y", "y", "x", "y", "x"] * 85 + ["x"] * 5
    segments = jb.ab(log, control="A", columns={"segment": "s"}, late=["C"]).segments
    found = {s.value: s for s in segments if s.variant == "C"}
    for value, s in found.items():
        rows = [i for i in range(300, 600) if log["s"][i] == value]
        y = {name: log["outcome"][[i for i in rows if log["variant"][i] == name]].astype(float) for name in "AC"}
        n = min(map(len, y.values()))
        assert s.difference == pytest.approx(y["C"][:n].mean() - y["A"][:n].mean())


def test_rows_that_are_shuffled_keep_their_segments():
    """A sorted file: outcomes are paired at random, but those of a segment are still its own."""
    log = a_log(8, 3000, (0.3, 0.4), (10, 10))
    rows = np.argsort(log["variant"], kind="stable")
    log = {name: column[rows] for name, column in log.items()}
    log["bought"] = np.where(log["converted"], "yes", "no")
    found = jb.ab(log, control="A", columns={"outcome": "converted", "segment": "bought"})
    assert "looked at once" in found.assumptions[0]
    assert {(s.value, s.mean) for s in found.segments} == {("yes", 1.0), ("no", 0.0)}


def test_a_segment_without_a_variant_is_not_known():
    log = {"variant": list("ABAB") * 50, "outcome": [0, 1, 1, 0] * 50, "s": ["x", "x", "x", "y"] * 50}
    found = {s.value: s for s in jb.ab(log, control="A", columns={"segment": "s"}).segments}
    assert math.isnan(found["y"].difference) and math.isnan(found["y"].lift) and found["y"].low <= -1
    assert found["x"].visitors == 50


def test_counts_units_guardrails_and_segments_together():
    """A table of two kinds of conversions is the log of which it has the counts."""
    rng = np.random.default_rng(9)
    table = {"variant": [], "n": [], "paid": [], "complained": [], "country": []}
    for country in ("DE", "FR"):
        for name, paid, complained in (("A", 0.2, 0.1), ("B", 0.3, 0.05)):
            for key, value in (("variant", name), ("n", 2000), ("country", country)):
                table[key].append(value)
            table["paid"].append(int(rng.binomial(2000, paid)))
            table["complained"].append(int(rng.binomial(2000, complained)))
    columns = {"visitors": "n", "conversions": "paid", "segment": "country"}
    found = jb.ab(table, control="A", columns=columns, guardrails={"complained": 0.1})
    assert found.decision == "ship" and found.guardrails[0].state == "kept" and found.metric == "paid"
    for s in found.segments:
        rows = [i for i in range(4) if table["variant"][i] == s.variant and table["country"][i] == s.value]
        assert s.mean == table["paid"][rows[0]] / 2000
    log = {"variant": [], "user": [], "paid": [], "spent": []}
    for user in range(6000):  # of each user two rows
        for k in range(2):
            for key, value in (("variant", "AB"[user % 2]), ("user", user), ("paid", k), ("spent", user % 7)):
                log[key].append(value)
    of_unit = {"paid": "any"}
    both = jb.ab(log, control="A", columns={"outcome": ["paid", "spent"], "unit": "user"}, of_unit=of_unit)
    assert both.statistic == "rate" and both.variants[0].mean == 1
    assert both.other_metrics[0].variants[0].mean == pytest.approx(2 * np.mean([u % 7 for u in range(0, 6000, 2)]))


def test_the_result_as_json_has_all_of_it():
    log = a_log(10, 3000, (0.3, 0.4), (10, 10), country=["DE", "FR"] * 1500)
    found = jb.ab(
        log, control="A", columns={"outcome": "converted", "segment": "country"}, guardrails={"revenue": -0.5}
    )
    data = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert data["metric"] == "converted" and data["other_metrics"][0]["metric"] == "revenue"
    assert data["guardrails"][0]["state"] == found.guardrails[0].state and len(data["segments"]) == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"guardrails": {"revenue": 0}}, "guardrails['revenue'] = 0, must be below 0 (not lower) or above 0"),
        ({"guardrails": {"revenue": -1}}, "guardrails['revenue'] = -1, must be a number in (-1, inf)"),
        ({"guardrails": ["revenue"]}, "guardrails = ['revenue'], must be the lift that is still tolerated"),
        (
            {"guardrails": {"converted": -0.1}},
            "guardrails = 'converted', must be another metric",
        ),
        ({"guardrails": {"profit": -0.1}}, "has no column 'profit'"),
        ({"columns": {"outcome": []}}, "columns['outcome'] = [], must be a column, or several different ones"),
        ({"columns": {"outcome": ["converted", "converted"]}}, "must be a column, or several different ones"),
        ({"cap": 10, "guardrails": {"revenue": -0.1}}, "cap is about one of 2 metrics; name it"),
        ({"cap": {"profit": 10}}, "cap: profit: unknown key, must be one of converted"),
        ({"of_unit": {"converted": "mean"}}, "of_unit = 'mean', must be one of sum, any, last"),
        ({"columns": {"outcome": "converted", "segment": "land"}}, "has no column 'land'"),
        ({"columns": {"outcome": "converted", "segment": "revenue", "block": "revenue"}}, "segment is about single"),
    ],
)
def test_what_is_refused(change, message):
    log = a_log(11, 40, (0.3, 0.4), (10, 10))
    with pytest.raises(ValueError) as error:
        jb.ab(log, **{"control": "A", "columns": {"outcome": "converted"}, **change})
    assert message in str(error.value) and "\n" not in str(error.value)


@pytest.mark.slow
@pytest.mark.statistical
def test_equal_variants_are_rarely_shipped_with_guardrails():
    """40 A/A logs at delta .2: one in 5 at most, more than 15 with P < 3e-3 (binomial); a guardrail never helps."""
    assert stats.binom.sf(15, 40, 0.2) < 3e-3
    wrong = 0
    for seed in range(40):
        log = a_log(100 + seed, 2000, (0.3, 0.3), (10, 10))
        found = jb.ab(log, control="A", columns={"outcome": ["converted", "revenue"]}, goal=jb.Goal(delta=0.2))
        wrong += found.decision != "go on" or found.other_metrics[0].decision != "go on"
    assert wrong <= 15
