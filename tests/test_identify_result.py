"""Results of runs that stop: their summary against the fixed JSON, censoring, errors, files, frames, comparison."""

import json
from pathlib import Path

import numpy as np
import pytest
from results_by_hand import noisy, stopping
from scipy import stats

from jaxbandit.base.contract import Outcome
from jaxbandit.decide.loading import load
from jaxbandit.running.results import report
from jaxbandit.running.results.budget import BudgetResult
from jaxbandit.running.results.compare import compare
from jaxbandit.running.results.loading import load_cell
from jaxbandit.running.results.places import compare_places
from jaxbandit.running.results.saving import save_cell

pytestmark = pytest.mark.quickly_compiled

LATE = Outcome.MAX_ROUNDS


def test_summary_has_the_fixed_keys_and_right_numbers():
    cell = stopping([30, 10, 40, 20], shortfall=[0, 0.2, 0, 0]).to_json()
    assert list(cell) == [
        *("instance", "algorithm", "params", "runs", "samples", "error", "outcomes", "pulls"),
        *("lane_utilization", "seconds", "run_steps"),
    ]
    samples = cell["samples"]
    assert (samples["mean"], samples["max"]) == (25, 40)
    sd = np.sqrt(500 / 3)
    np.testing.assert_allclose([samples["sd"], samples["se"]], [sd, sd / 2], rtol=1e-12)
    half = 3.182446305284263 * sd / 2  # t(0.975, 3)
    np.testing.assert_allclose([samples["low"], samples["high"]], [25 - half, 25 + half], rtol=1e-12)
    assert [samples[q] for q in ("q05", "q25", "q50", "q75", "q95")] == [10, 10, 20, 30, 40]
    theirs = stats.binomtest(1, 4).proportion_ci(0.95, method="exact")
    assert cell["error"]["rate"] == 0.25 and cell["error"]["delta"] == 0.05
    np.testing.assert_allclose([cell["error"]["low"], cell["error"]["high"]], theirs, rtol=1e-9)
    assert cell["outcomes"] == {"stopped": 4, "max_rounds": 0, "nonfinite": 0, "precision": 0, "out_of_range": 0}
    assert cell["pulls"] == {"mean": [(20 + 6 + 26 + 13) / 4, (10 + 4 + 14 + 7) / 4]}
    assert cell["lane_utilization"] == 0.5
    json.dumps(cell, allow_nan=False)


def test_censored_runs_are_never_averaged_in_silently():
    r = stopping([30, 990, 40, 20], outcome=[0, LATE, 0, 0], max_rounds=1000)
    samples = r.to_json()["samples"]
    # A run that pulls in blocks is censored before max_rounds, and known to take longer.
    assert samples["restricted_mean"] == (30 + 1000 + 40 + 20) / 4 and samples["max_rounds"] == 1000
    assert not {"mean", "sd", "max", "q95"} & set(samples)
    assert [samples[q] for q in ("q25", "q50", "q75")] == [20, 30, 40]
    assert "mean" not in r.to_json()["pulls"]
    with pytest.raises(ValueError, match="1 of 4 runs reached max_rounds = 1000") as error:
        r.interval()
    assert "\n" not in str(error.value)
    alone = stopping([1000], outcome=[LATE]).to_json()
    assert alone["samples"] == {"restricted_mean": 1000, "runs": 1, "max_rounds": 1000} and "error" not in alone


def product_limit(times, observed, level):
    """Kaplan and Meier (1958): the least time at which the product of 1 - events / at risk is at most 1 - level."""
    alive = 1.0
    for t in np.unique(times[observed]):
        alive *= 1 - np.sum(observed & (times == t)) / np.sum(times >= t)
        if alive <= 1 - level + 1e-12:
            return t
    return None


def test_quantiles_are_those_of_kaplan_and_meier():
    rng = np.random.default_rng(0)
    seen = 0
    for runs in (1, 7, 20, 100):
        times = np.minimum(rng.geometric(0.01, runs), 120)
        observed = times < 120
        r = stopping(times, outcome=np.where(observed, 0, LATE), max_rounds=120)
        for level in (0.05, 0.25, 0.5, 0.75, 0.95, 1.0):
            assert r.quantile(level) == product_limit(times, observed, level)
            seen += r.quantile(level) is None
    assert seen


def test_runs_without_a_stopping_time_are_left_out_and_shown():
    r = stopping([30, 0, 50, 7], outcome=[0, Outcome.NONFINITE, 0, Outcome.PRECISION], shortfall=[0, 9, 0, 9])
    cell = r.to_json()
    assert cell["samples"]["mean"] == 40 and cell["samples"]["max"] == cell["samples"]["q95"] == 50
    assert cell["error"]["rate"] == 0.0
    assert cell["outcomes"] == {"stopped": 2, "max_rounds": 0, "nonfinite": 1, "precision": 1, "out_of_range": 0}
    nothing = stopping([0, 0], outcome=[Outcome.NONFINITE] * 2).to_json()
    assert not {"samples", "error", "pulls"} & set(nothing)


def test_only_runs_that_stopped_can_err():
    r = stopping([1000, 50], outcome=[LATE, 0], shortfall=[9, 0])
    assert r.errors().tolist() == [False]
    assert r.to_json()["error"]["rate"] == 0.0


def test_errors_are_exact_in_the_decimals_that_are_declared():
    """0.9 - 0.8 in float64 is another number than 0.1, and so is 0.8 - 0.7, which is larger."""
    truth = {"means": [0.9, 0.8, 0.8 - 1e-13, 0.7]}
    gaps = [0.9 - mean for mean in truth["means"]]
    assert gaps[1] != 0.1 and 0.8 - 0.7 > 0.1
    for precision in ("float32", "float64"):
        exact = np.asarray(0.9, precision) - np.asarray(truth["means"], precision)
        r = stopping([5] * 4, shortfall=exact, truth=truth, precision=precision)
        assert r.judged().tolist()[::3] == [0, 1]
        middle = [0, 1] if precision == "float64" else [np.nan] * 2  # which of the two it was, float32 cannot tell
        np.testing.assert_array_equal(r.judged()[1:3], middle)
    up = stopping([5, 5], shortfall=[0.8 - 0.7, 0.0], truth={"means": [0.8, 0.7]})
    assert up.errors().tolist() == [False, False]
    # Without declared means a simple regret is what it is.
    r = stopping([5] * 3, shortfall=[0.1, 0.1 + 1e-9, 0.0], truth={})
    assert r.errors().tolist() == [False, True, False]


def test_another_arm_makes_no_difference_between_two_a_tie():
    """With an arm of -10^11, rules that are wrong in half of the runs were once called right in all."""
    means = [0.49, 0.5, -1e11]
    r = stopping([5] * 4, shortfall=[0.5 - 0.49, 0, 0.5 - 0.49, 0], truth={"means": means}, params={"epsilon": 0.0})
    assert r.errors().tolist() == [True, False] * 2
    ordered = {"sorted_means": sorted(means, reverse=True)}
    assert stopping([5], shortfall=[0.5 - 0.49], truth=ordered, params={"epsilon": 0.0}).errors().tolist() == [True]


def test_what_cannot_be_judged_is_unknown_and_never_right():
    """The shortest decimals of 0.3 and 0.1 + 0.2 differ in the last place: nobody knows whether these arms tie."""
    means, exact = [0.1 + 0.2, 0.3], {"epsilon": 0.0, "delta": 0.05}
    short = [0.1 + 0.2 - 0.3, 0.0, 0.0]
    r = stopping([5] * 3, shortfall=short, truth={"means": means}, params=exact)
    np.testing.assert_array_equal(r.judged(), [np.nan, 0, 0])
    assert r.errors() is None and r.error() is None and r.unjudged == 1
    assert "error unknown (1 of the recommendations cannot be judged)" in r.headline()
    assert r.content()["unjudged"] == 1 and "error" not in r.content()
    assert "unknown" in report.table([r]) and "error unknown" in report.table([r])
    given = stopping([5] * 3, shortfall=[np.nan, 0.2, 0.0], truth={}, params=exact)
    np.testing.assert_array_equal(given.judged(), [np.nan, 1, 0])
    budgeted = BudgetResult(**vars(given))
    assert budgeted.simple_regret() is None and budgeted.headline().split(": ")[1].startswith("error unknown (1 of")
    with pytest.raises(ValueError, match=r"^compare: it/kl: 1 of its recommendations cannot be judged$"):
        compare(budgeted, budgeted)
    # Of two recommended arms, the worse one is compared with the second best.
    told, two = {"means": [0.9, 0.8, 0.7, 0.8 - 1e-13]}, {"epsilon": 0.1, "delta": 0.05}
    both = stopping([5] * 2, shortfall=[0.8 - 0.7, 0.8 - 0.65], truth=told, params=two, m=2)
    assert both.errors().tolist() == [False, True]
    # Ties in declared means are right, in whatever order.
    tied = stopping([5], shortfall=[0.0], truth={"means": [0.3, 0.5, 0.5]}, params=exact)
    assert tied.errors().tolist() == [False]


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("known", [True, False])
def test_errors_do_not_depend_on_the_unit_of_rewards(unit, known):
    truth = {"means": [0.9 * unit, 0.8 * unit]} if known else {}
    told = {"epsilon": 0.1 * unit, "delta": 0.05}
    short = [0.9 * unit - 0.8 * unit, (0.1 + 1e-12) * unit, 0.0]
    r = stopping([5, 5, 5], shortfall=short, truth=truth, params=told)
    assert r.judged()[0] != 1 and r.judged()[1:].tolist() == [1, 0]
    told = {"epsilon": 0.0, "delta": 0.05}
    tiny = stopping([5, 5], shortfall=[1e-9 * unit, 0.0], truth=truth, params=told)
    assert tiny.errors().tolist() == [True, False]


def test_lower_bound_is_for_one_best_arm_without_tolerance():
    truth = {"means": [1.0, 0.5], "characteristic_time": 8.0}
    exact = {"delta": 0.05, "epsilon": 0.0}
    r = stopping([90, 80], params=exact, truth=truth)
    assert r.to_json()["samples"]["lower_bound"] == pytest.approx(8 * np.log(1 / 0.12))
    assert stopping([90], params=exact | {"delta": 0.6}, truth=truth).lower_bound() == 0.0
    assert stopping([90], params=exact | {"epsilon": 0.1}, truth=truth).lower_bound() is None
    assert stopping([90], params=exact, truth=truth, m=2).lower_bound() is None
    assert stopping([90], params={"epsilon": 0.0}, truth=truth).lower_bound() is None


def test_round_trip_is_bytewise(tmp_path):
    first = stopping([30, 990], outcome=[0, LATE], warnings=["it/kl: sigma is too small"])
    save_cell(tmp_path / "a", 0, first)
    again = load_cell(tmp_path / "a", 0)
    save_cell(tmp_path / "b", 0, again)
    for name in ("cell-000.npz", "cell-000.json"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    assert again.to_json() == first.to_json() and again.to_json()["warnings"] == ["it/kl: sigma is too small"]
    with np.load(tmp_path / "a" / "cell-000.npz", allow_pickle=False) as arrays:
        assert set(arrays.files) == {"samples", "outcome", "recommendation", "shortfall", "pulls"}
    first.save(tmp_path / "c")
    assert load(tmp_path / "c").to_json()["kind"] == "identify"
    path = tmp_path / "a" / "cell-000.json"
    path.write_text(path.read_text().replace('"identify"', '"audit"'))
    with pytest.raises(ValueError, match="its digest differs"):
        load_cell(tmp_path / "a", 0)


def test_every_key_is_documented():
    text = (Path(__file__).parent.parent / "docs" / "outputs.md").read_text(encoding="utf-8")
    truth = {"characteristic_time": 1.0}
    whole = stopping([30, 40], params={"delta": 0.1}, truth=truth, warnings=["w"]).to_json()
    censored = stopping([30, 1000], outcome=[0, LATE]).to_json()
    for cell in (whole, censored):
        for key in (*cell, *cell["samples"], *cell["error"], *cell["outcomes"], *cell["pulls"]):
            assert f"`{key}`" in text, key


def test_frames():
    r = stopping([30, 1000], outcome=[0, LATE], m=2)
    data = r.to_xarray()
    assert data["samples"].dims == ("run",) and data["pulls"].dims == ("run", "arm")
    assert data["recommendation"].dims == ("run", "recommendation_0")
    frame = r.to_dataframe()
    assert list(frame.columns) == [
        *("instance", "algorithm", "delta", "epsilon", "run", "samples", "outcome"),
        *("recommendation_0", "recommendation_1", "shortfall"),
    ]
    assert list(frame["outcome"]) == ["stopped", "max_rounds"] and list(frame["samples"]) == [30, 1000]
    assert "recommendation" in stopping([30]).to_dataframe()


def test_compare_pairs_the_samples_run_by_run():
    rng = np.random.default_rng(0)
    common = rng.integers(100, 900, 50)
    a, b = stopping(common, algorithm="a"), stopping(common + rng.integers(1, 9, 50), algorithm="b")
    c = compare(a, b)
    theirs = stats.ttest_rel(a.samples(), b.samples())
    np.testing.assert_allclose((c.low, c.high), theirs.confidence_interval(0.95), rtol=1e-9)
    assert (c.quantity, c.at, c.paired, c.verdict) == ("samples", None, True, "lower")
    assert "at" not in c.to_json() and "reason" not in c.to_json()
    assert not compare(a, stopping(common, algorithm="b", seed=1)).paired
    with pytest.raises(ValueError, match="at = 5, only for regret"):
        compare(a, b, at=5)
    with pytest.raises(ValueError, match="of kind identify, it/kl of kind simulate"):
        compare(a, noisy(10.0))


def test_compare_restricts_both_where_one_is_censored():
    a = stopping([100, 300, 500], outcome=[0, 0, LATE], max_rounds=500, algorithm="a")
    b = stopping([200, 700, 900], max_rounds=1000, algorithm="b")
    c = compare(a, b)
    assert (c.quantity, c.at) == ("restricted samples", 500) and str(c).startswith("restricted samples at n = 500 of")
    assert c.difference == pytest.approx(((100 - 200) + (300 - 500) + (500 - 500)) / 3)
    lost = compare(a, stopping([200, 700, 900], outcome=[0, 0, Outcome.NONFINITE], algorithm="b"))
    assert (lost.paired, lost.runs, lost.left_out) == (True, 2, 1)
    assert lost.difference == pytest.approx(((100 - 200) + (300 - 500)) / 2)


def test_directories(tmp_path):
    save_cell(tmp_path / "a", 0, stopping([100, 200, 300]))
    save_cell(tmp_path / "b", 0, stopping([150, 260, 340]))
    found = compare_places(tmp_path / "a", tmp_path / "b")
    assert found.comparisons[0].difference == -50
    assert "samples a" in str(found) and "3 pairs" in str(found)


def test_a_restricted_mean_is_never_more_certain_than_its_runs():
    """With all of 50 runs censored, a share of 1 - 0.025^(1/50) = 7 % may still have stopped at once."""
    every = stopping([200] * 50, outcome=[LATE] * 50, max_rounds=200)
    low, high = every.restricted_mean()[2:]
    assert (low, high) == (pytest.approx(1 + 199 * 0.025 ** (1 / 50)), 200)
    samples = every.to_json()["samples"]
    assert "se" not in samples and (samples["low"], samples["high"]) == (low, high)
    page = str(report.table([every]))  # the mean of the samples themselves has no end
    assert (
        f"> 200 [{low:.0f}, ?] samples" in every.headline()
        and f"[{low:.1f}, ?]" in page
        and "no known upper end" in page
    )
    one = stopping([199] + [200] * 49, outcome=[0] + [LATE] * 49, max_rounds=200).restricted_mean()
    assert one.low < low and one.value < one.high <= 200
    whole = stopping([200] * 50, max_rounds=1000)  # equal runs that stopped: no upper end is known
    assert "high" not in whole.to_json()["samples"] and "200 [186, ?]" in whole.headline()
    few = stopping([1, 900], max_rounds=1000).restricted_mean()
    assert few.low == 1 and few.high > 900


def test_quantiles_have_the_intervals_of_order_statistics():
    rng = np.random.default_rng(0)
    times = np.sort(rng.geometric(0.01, 50))
    whole = stopping(times, max_rounds=10_000).to_json()["samples"]
    # P(Bin(50, 1/2) <= 17) is .0164 and P(Bin(50, 1/2) <= 18) is .0325.
    assert (whole["q50_low"], whole["q50_high"]) == (times[17], times[32])
    assert "q05_low" not in whole and "q95_high" not in whole  # 50 runs are too few: 0.95^50 is 0.077
    limit = int(times[30])
    late = times > limit
    censored = stopping(np.minimum(times, limit), outcome=np.where(late, LATE, 0), max_rounds=limit)
    cell = censored.to_json()["samples"]
    assert cell["q50_low"] == times[17] and "q50_high" not in cell and "q75" not in cell
    assert censored.quantile_interval(0.75) == (limit, None)  # below `max_rounds` it is not
    failed = stopping([5], outcome=[Outcome.NONFINITE])
    assert failed.quantile_interval(0.5) == (None, None)


def test_the_headline_and_the_table_say_of_how_many_runs_an_error_rate_is():
    r = stopping([30, 1000, 50, 70], outcome=[0, LATE, 0, 0], shortfall=[0.2, 0, 0, 0])
    assert "error 0.3333 [" in r.headline() and "] of 3 of 4 runs (delta = 0.05)" in r.headline()
    assert " of 4 of 4" not in stopping([1, 2, 3, 4]).headline()
    heads, [row] = report.rows([r])[:2]
    assert row[heads.index("median") + 1] == "[?, > 1,000]" and heads[heads.index("median") + 1] == "95 % interval"


def test_error_rates_that_no_run_tells_apart_are_not_equal():
    """Differences of rare errors: 50 pairs without an error do not show that both rates are 0."""
    budgets = [
        BudgetResult(**vars(stopping([100] * 50, shortfall=np.zeros(50), algorithm=name, **more)))
        for name, more in (("a", {}), ("b", {}), ("c", {"seed": 8}))
    ]
    paired, apart = compare(budgets[0], budgets[1]), compare(budgets[0], budgets[2])
    share = 1 - 0.025 ** (1 / 50)
    np.testing.assert_allclose((paired.low, paired.high), (-share, share))
    np.testing.assert_allclose((apart.low, apart.high), (-share, share))
    late = [stopping([200] * 50, outcome=[LATE] * 50, max_rounds=200, algorithm=name) for name in "ab"]
    both = compare(*late)
    np.testing.assert_allclose((both.low, both.high), (-199 * share, 199 * share))
    equal = compare(stopping([9] * 5), stopping([7] * 5, algorithm="b"))
    assert equal.verdict == "undecided" and not {"low", "high"} & set(equal.to_json())


def test_the_notes_say_of_how_many_skewed_runs_the_interval_of_a_mean_would_be_right():
    few = stopping([10] * 9 + [1000])
    assert few.notes() == ["kl: skewed (2.7), the interval is right from 178 runs on"]
    assert str(few).endswith("; skewed (2.7), the interval is right from 178 runs on")
    assert stopping(([10] * 9 + [1000]) * 18).notes() == []
    censored = stopping([10] * 9 + [1000], outcome=[Outcome.STOPPED] * 9 + [Outcome.MAX_ROUNDS])
    assert not any("skewed" in note for note in censored.notes())


def test_parameters_that_are_arrays_stay_in_tables_as_text():
    """They vanished, so that the rows of a sweep over vectors could not be told apart."""
    frame = stopping([30, 40], params={"epsilon": 0.1, "means": [0.5, 0.25], "rows": [[1.0], [2.0]]}).to_dataframe()
    assert frame["means"].tolist() == ["[0.5, 0.25]"] * 2 and frame["rows"].tolist() == ["[[1.0], [2.0]]"] * 2
    assert json.loads(frame["means"][0]) == [0.5, 0.25] and len(frame.groupby("means")) == 1
