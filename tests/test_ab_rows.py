"""Rows of A/B logs that are not one visitor each in the order of arrival: sorted, counted, of units, split wrongly."""

import math

import numpy as np
import pytest
from scipy import stats

import jaxbandit as jb
from jaxbandit.decide.variants import order, pairs, split, visitors
from jaxbandit.decide.variants import stages as staging
from jaxbandit.decide.variants.visitors import Visitors


def a_log(rng, rates, n, shares=None):
    names = np.array(list("ABCD")[: len(rates)])
    variant = rng.choice(len(rates), n, p=shares)
    return {"variant": names[variant], "outcome": (rng.random(n) < np.array(rates)[variant]).astype(float)}


def reordered(log, rows):
    return {name: np.asarray(column)[rows] for name, column in log.items()}


def plain(variant, outcome=None, time=None):
    variant = np.asarray(variant, np.int64)
    outcome = np.zeros(len(variant)) if outcome is None else np.asarray(outcome, float)
    return Visitors("ab", tuple("ABCD"[: variant.max() + 1]), variant, outcome, time)


def numbers(result):
    return [
        (v.name, v.mean, v.low, v.high, v.difference_low, v.difference_high, v.costs_at_most) for v in result.variants
    ]


# The order


def test_a_sorted_file_is_taken_as_ended_and_its_order_does_not_matter():
    rng = np.random.default_rng(1)
    log = a_log(rng, (0.2, 0.3), 3000)
    arrival = jb.ab(log, control="A")
    rows = np.argsort(log["variant"], kind="stable")
    result = jb.ab(reordered(log, rows), control="A")
    assert not arrival.notes and "the rows are sorted by variant: their order is not that of arrival" in result.notes[0]
    assert "looked at once" in result.assumptions[0] and all(v.stage == 0 for v in result.variants)
    by_outcome = reordered(log, np.lexsort((log["outcome"], log["variant"])))
    other = jb.ab(by_outcome, control="A")
    assert numbers(other) == numbers(result)
    table = {"variant": ["B", "A", "B"], "n": [1, 0, 0], "k": [0, 0, 0]}
    for v, name in ((1, "A"), (2, "B")):
        y = log["outcome"][log["variant"] == name]
        table["n"][v], table["k"][v] = len(y) - (name == "B"), int(y.sum())
    counts = jb.ab(table, control="A", columns={"visitors": "n", "conversions": "k"})
    assert numbers(counts) == numbers(result) and "paired at random" in counts.notes[0]
    weights = {"variant": ["A", "A", "B", "B"], "n": [0] * 4, "outcome": [1, 0, 0, 1]}
    for row, (name, y) in enumerate(zip(weights["variant"], weights["outcome"], strict=True)):
        weights["n"][row] = int(((log["variant"] == name) & (log["outcome"] == y)).sum())
    assert numbers(jb.ab(weights, control="A", columns={"visitors": "n"})) == numbers(result)
    width = arrival.variants[1].difference_high - arrival.variants[1].difference_low
    b = result.variants[1]
    assert b.difference_high - b.difference_low == pytest.approx(width, rel=0.1)  # equal ranks are not paired


@pytest.mark.slow
@pytest.mark.statistical
def test_equal_variants_in_a_file_that_is_sorted_by_outcome():
    """40 logs at delta .2: each variant is excluded in at most .2 of them, more than 15 with P = 3e-3."""
    found = 0
    for seed in range(40):
        log = {"variant": np.array(["A", "B"] * 300), "outcome": (np.random.default_rng(seed).random(600) < 0.3) * 1.0}
        result = jb.ab(reordered(log, np.argsort(log["outcome"], kind="stable")), control="A", goal=jb.Goal(delta=0.2))
        found += result.decision != "go on"
    assert found <= 15


def test_files_in_other_orders_are_found():
    rng = np.random.default_rng(2)
    log = a_log(rng, (0.2, 0.2, 0.25), 3000)
    day = np.repeat(np.arange(5), 600)
    by_day = reordered(log, np.lexsort((log["variant"], day)))
    assert order.grouped_variants(visitors.read(by_day, [visitors.Columns()])[0]).endswith("grouped by variant")
    sorted_outcomes = reordered(log, np.argsort(-log["outcome"], kind="stable"))
    result = jb.ab(sorted_outcomes, control="A")
    assert "the outcomes of A are sorted or come in groups" in result.notes[0] and not result.alerts
    of_b = log["variant"] == "B"  # whose rows are where they were
    log["outcome"][of_b] = np.sort(log["outcome"][of_b])
    assert order.grouped_outcomes(visitors.read(log, [visitors.Columns()])[0]).startswith(
        "the outcomes of B are sorted"
    )
    dated = jb.ab({**by_day, "day": day}, control="A", columns={"time": "day"})
    assert "rows of equal times are shuffled" in dated.notes[0] and dated.assumptions[0].startswith("visitors do not")
    assert all(v.stage == 0 for v in dated.variants)
    with pytest.raises(ValueError, match="ab: late needs the order of arrival"):
        jb.ab(by_day, control="A", late=["C"])


def test_a_change_in_the_rows_without_times_is_not_averaged_away():
    """B is far better among the first visitors and worse among the others: a shuffle would find it better."""
    rng = np.random.default_rng(3)
    rate = np.where(np.arange(10_000) < 2000, 0.4, 0.08)
    outcome = np.stack([rng.random(10_000) < 0.1, rng.random(10_000) < rate], axis=1).ravel().astype(float)
    result = jb.ab({"variant": ["A", "B"] * 10_000, "outcome": outcome}, control="A")
    assert "changed over time" in result.alerts[0] and result.decision == "go on"
    assert not any(v.excluded for v in result.variants) and math.isinf(result.costs_at_most)


@pytest.mark.statistical
def test_splits_that_change_are_not_taken_for_sorted():
    """Random, ramped, a bandit that settles, alternation, and a late variant: each is in the order of arrival."""
    for seed in range(30):
        rng = np.random.default_rng(seed)
        n = 2000
        ramp = rng.random(n) < np.linspace(0.01, 0.5, n)
        settles = rng.random(n) < np.where(np.arange(n) < 300, 0.5, 0.995)
        late = np.where(np.arange(n) < 1200, rng.integers(0, 2, n), rng.integers(0, 3, n))
        for variant in (rng.integers(0, 3, n), ramp, settles, np.arange(n) % 2, late):
            variant = np.concatenate([np.arange(variant.max() + 1), variant])
            assert not order.grouped_variants(plain(variant))
            assert not order.grouped_outcomes(plain(variant, rng.random(len(variant)) < 0.1))


def test_the_number_of_runs_is_that_of_wald_and_wolfowitz():
    """Two labels: mean 1 + 2 n m/N and variance 2 n m (2 n m - N)/(N^2 (N - 1)); the limit lies between 28 and 29."""
    n = m = 50
    mean, variance = 1 + 2 * n * m / 100, 2 * n * m * (2 * n * m - 100) / (100**2 * 99)
    limit = mean + stats.norm.ppf(1e-6) * math.sqrt(variance)

    def labels(runs):
        sizes = np.full(runs, 1)
        sizes[0], sizes[1] = n - len(sizes[2::2]), m - len(sizes[3::2])
        return np.repeat(np.arange(runs) % 2, sizes)

    few, many = math.floor(limit), math.ceil(limit)
    assert order._too_few_runs(labels(few), 1e-6) and not order._too_few_runs(labels(many), 1e-6)


def test_counts_with_times_are_in_order_and_further_days_do_not_change_earlier_ones():
    rng = np.random.default_rng(4)
    table = {"variant": ["A", "B"] * 20, "day": np.repeat(np.arange(20), 2), "n": rng.integers(80, 120, 40)}
    table["k"] = rng.binomial(table["n"], 0.2)
    columns = {"time": "day", "visitors": "n", "conversions": "k"}
    options = {"control": "A", "columns": columns, "planned": "adaptive"}
    result = jb.ab(table, **options)
    before = jb.ab(reordered(table, np.arange(30)), **options)
    assert "same time are in a random order" in result.notes[0] and result.assumptions[0].startswith("visitors do not")
    ends = before.variants[1].path
    common = np.isin(ends[:-1, 0], result.variants[1].path[:, 0])
    assert np.all(common) and np.array_equal(ends[:-1], result.variants[1].path[: len(ends) - 1])
    assert [v.visitors for v in result.variants] == [table["n"][::2].sum(), table["n"][1::2].sum()]
    assert result.variants[1].mean == pytest.approx(table["k"][1::2].sum() / table["n"][1::2].sum())


# The split


def test_the_split_is_tested_by_chi_square():
    counts = {"variant": ["A", "B", "C"], "n": [1000, 1010, 1000], "k": [100] * 3}
    options = {"control": "A", "columns": {"visitors": "n", "conversions": "k"}}
    assert jb.ab(counts, **options).split_p == pytest.approx(stats.chisquare(counts["n"]).pvalue)
    counts["n"] = [1000, 1180, 1000]
    bad = jb.ab(counts, **options)
    p = stats.chisquare(counts["n"]).pvalue
    assert bad.split_p == pytest.approx(p) and p < 1e-3
    assert bad.words.startswith(f"The split is not as planned (p = {p:.2g}): do not decide before you know why")
    assert bad.decision == "go on" and bad.shares == pytest.approx(dict.fromkeys("ABC", 1 / 3))
    assert jb.ab(counts, **options, planned="adaptive").split_p is None
    assert not jb.ab(counts, **options, planned={"A": 0.3, "B": 0.4, "C": 0.3}).alerts
    ship = {"variant": ["A", "B"], "n": [2000, 2300], "k": [100, 500]}
    assert jb.ab(ship, **options).decision == "go on" and jb.ab(ship, **options, planned="adaptive").decision == "ship"
    assert jb.ab(ship, **options).shares == {"A": 0.5, "B": 0.5}


def test_the_split_is_tested_between_entries_and_exits():
    """C enters after 2,000 visitors and B leaves before the last 1,000: the counts are unequal, the split is not."""
    rng = np.random.default_rng(5)
    variant = np.concatenate([rng.integers(0, 2, 2000), rng.integers(0, 3, 3000), rng.choice([0, 2], 1000)])
    log = plain(variant)
    stages = staging.stages(variant, 3, 0.05, None, False)
    assert stages.stage.tolist() == [0, 0, 1] and stats.chisquare(np.bincount(variant)).pvalue < 1e-6
    assert split.split_p(log, stages, np.ones(3)) > 1e-3
    assert split.split_p(log, stages, np.array([1, 1, 2.0])) < 1e-6
    few = plain([0, 1, 0, 0, 0, 0, 0, 0])  # fewer than five are expected of each
    assert split.split_p(few, staging.stages(few.variant, 2, 0.05, None, False), np.ones(2)) == 1


def test_unequal_shares_do_not_throw_the_larger_variant_away():
    assert [pairs.numbers_of(*s) for s in ((0.95, 0.05), (1, 1), (0.4, 0.6), (0.001, 0.999), (3, 1))] == [
        (19, 1), (1, 1), (2, 3), (1, 999), (3, 1),
    ]  # fmt: skip
    rng = np.random.default_rng(6)
    log = a_log(rng, (0.2, 0.2), 20_000, (0.9, 0.1))
    one = jb.ab(log, control="A", planned="adaptive").variants[1]
    many = jb.ab(log, control="A", planned={"A": 9, "B": 1}).variants[1]
    size = {name: (log["variant"] == name).sum() for name in "AB"}
    assert one.pairs == size["B"] and many.pairs == min(size["A"] // 9, size["B"])
    widths = [v.difference_high - v.difference_low for v in (one, many)]
    # The variance of a difference falls from 2 to 1 + 1/9 of that of an outcome.
    assert widths[1] / widths[0] == pytest.approx(math.sqrt((1 + 1 / 9) / 2), rel=0.08)
    a, b = (log["outcome"][log["variant"] == name] for name in "AB")
    k = many.pairs
    assert many.difference == pytest.approx(b[:k].mean() - a[: 9 * k].mean())


# Units and blocks


def test_rows_of_a_unit_become_one():
    log = {
        "variant": list("ABABABAB"), "user": list("abcdaxyx"), "outcome": [1, 0, 2, 5, 3, 7, 0, 1],
        "t": [0, 1, 2, 3, 4, 5, 6, 7],
    }  # fmt: skip

    def found(time=None, **options):
        columns = {"unit": "user"} if time is None else {"unit": "user", "time": time}
        result = jb.ab(log, control="A", columns=columns, **options)
        return {v.name: (v.visitors, v.mean) for v in result.variants}, result.notes

    # A: a 1 + 3, c 2, y 0; B: b 0, d 5, x 7 + 1
    assert found()[0] == {"A": (3, pytest.approx(2)), "B": (3, pytest.approx(13 / 3))}
    assert found(of_unit="last")[0] == {"A": (3, pytest.approx(5 / 3)), "B": (3, 2)}
    assert found(of_unit="any")[0] == {"A": (3, pytest.approx(2 / 3)), "B": (3, pytest.approx(2 / 3))}
    assert "8 rows are of 6 units" in found()[1][0]
    early = found("t", window=1, now=100)
    assert early[0] == {"A": (3, 1), "B": (3, 4)} and "2 rows come later" in early[1][1]
    assert found("t", window=2, now=100)[0]["B"] == (3, pytest.approx(13 / 3))  # x came again after just 2
    assert (
        jb.ab(log, control="A", columns={"unit": "user", "time": "t"}, window=5).variants[0].open == 1
    )  # y came within the window
    log["user"][7] = "a"  # A and B
    crossed, notes = found()
    assert crossed == {"A": (2, 1), "B": (3, 4)} and any("1 units were shown several variants" in n for n in notes)
    holes = {**log, "outcome": [1, 0, 2, 5, 3, 7, math.nan, 1], "user": list("abcdaxyx")}
    by_any = jb.ab(holes, control="A", columns={"unit": "user"}, of_unit="any").variants
    assert by_any[0].open == 1 and by_any[0].mean == pytest.approx(2 / 3)
    refunds = {**holes, "outcome": [1, 0, -2, 5, 3, 7, 0, 1]}  # c's is not 0, and y's is
    assert jb.ab(refunds, control="A", columns={"unit": "user"}, of_unit="any").variants[0].mean == pytest.approx(2 / 3)


def test_repeated_rows_are_remarked_on():
    rng = np.random.default_rng(7)
    log = a_log(rng, (0.2, 0.2), 900) | {"user_id": np.arange(900) // 3, "paid": np.arange(900) // 3}
    notes = jb.ab(log, control="A").notes
    assert len(notes) == 1 and "the column 'user_id' has 300 different values in 900 rows" in notes[0]
    assert not any("user_id" in note for note in jb.ab({**log, "user_id": np.arange(900)}, control="A").notes)
    assert not any("different values" in note for note in jb.ab(log, control="A", columns={"unit": "user_id"}).notes)


def test_rows_of_a_variant_in_a_block_are_averaged():
    """Pages of a shop as blocks: rows within one are alike, and 4,000 rows say as much as 200 differences."""
    rng = np.random.default_rng(8)
    shop = rng.integers(0, 200, 4000)
    variant = rng.integers(0, 2, 4000)
    outcome = (rng.random(4000) < np.where(shop % 2, 0.1, 0.9)).astype(float)
    log = {"variant": np.array(["A", "B"])[variant], "outcome": outcome, "shop": shop}
    result = jb.ab(log, control="A", columns={"block": "shop"})
    cells = {(s, v): outcome[(shop == s) & (variant == v)].mean() for s in range(200) for v in (0, 1)}
    assert result.variants[1].difference == pytest.approx(np.mean([cells[s, 1] - cells[s, 0] for s in range(200)]))
    assert result.variants[1].pairs == 200 and "4,000 rows are 400" in result.notes[0]
    assert result.outcomes == "in [0, 1]"
