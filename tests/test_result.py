"""Result: its summary against the fixed JSON, its files byte by byte, its damage named, its frames."""

import json

import numpy as np
import pytest
from results_by_hand import record, result, stopping
from scipy import stats

from jaxbandit.base.contract import Outcome
from jaxbandit.decide.loading import load
from jaxbandit.engine.storage import files as storage
from jaxbandit.engine.storage.json_files import read_json, write_json
from jaxbandit.running.plotting.figures import plot
from jaxbandit.running.results.base import ResultSet
from jaxbandit.running.results.loading import load_cell
from jaxbandit.running.results.regret import RegretResult
from jaxbandit.running.results.report import table
from jaxbandit.running.results.saving import save, save_cell, summary

pytestmark = pytest.mark.quickly_compiled

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

REGRET = [[0.5, 2.0, 4.0], [1.5, 3.0, 8.0], [1.0, 4.0, 6.0]]


def test_summary_has_the_fixed_keys_and_right_numbers():
    cell = result(REGRET, params={"c": np.float32(0.5)}).to_json()
    assert set(cell) == {"instance", "algorithm", "params", "runs", "regret", "pulls", "seconds", "run_steps"}
    assert set(cell["regret"]) == {"at", "mean", "se", "low", "high", "runs", "lower_bound"}
    assert cell["regret"]["at"] == [1, 10, 100]
    assert cell["regret"]["mean"] == [1.0, 3.0, 6.0]
    np.testing.assert_allclose(cell["regret"]["se"], np.array([0.5, 1.0, 2.0]) / np.sqrt(3))
    half = 4.302652729749464 * 2 / np.sqrt(3)  # t(0.975, 2)
    np.testing.assert_allclose(cell["regret"]["high"][2] - 6.0, half)
    np.testing.assert_allclose(6.0 - cell["regret"]["low"][2], half)
    np.testing.assert_allclose(cell["regret"]["lower_bound"], 2 * np.log([1, 10, 100]))
    assert cell["pulls"]["mean"] == [3.0, 4.0, 5.0]
    assert cell["seconds"] == {"compile": 0.5, "run": 0.006}
    assert cell["params"] == {"c": 0.5}
    json.dumps(cell, allow_nan=False)


def test_keys_that_do_not_apply_are_absent():
    one = result(REGRET[:1], truth={}).to_json()
    assert set(one["regret"]) == {"at", "mean", "runs"}
    bare = result(REGRET, regret=None, pulls=None, pulls_mean=None, recommendation=None).to_json()
    assert "pulls" not in bare
    assert bare["regret"]["mean"] == [1.0, 3.0, 6.0]


def test_runs_that_went_wrong_are_in_no_mean_and_counted_beside_it():
    rows = [[0.5, 2.0, 4.0], [1.5, np.nan, np.nan], [1.0, 4.0, 6.0], [9.0, 9.0, 9.0]]
    r = result(rows, outcome=[0, Outcome.NONFINITE, 0, Outcome.OUT_OF_RANGE])
    cell = r.to_json()
    assert cell["outcomes"] == {"stopped": 2, "max_rounds": 0, "nonfinite": 1, "precision": 0, "out_of_range": 1}
    assert (cell["runs"], cell["regret"]["runs"]) == (4, 2)
    assert cell["regret"]["mean"] == [0.75, 3.0, 5.0]
    half = 12.706204736432095 * np.sqrt(2) / np.sqrt(2)  # t(0.975, 1), of two runs
    np.testing.assert_allclose(cell["regret"]["high"][2] - 5.0, half)
    assert cell["pulls"]["mean"] == [3.0, 4.0, 5.0]  # of runs 0 and 2
    json.dumps(cell, allow_nan=False)
    said = "2 of 4 runs left out: 1 not finite, 1 rewards out of range"
    assert said in repr(r) and f"kl: {said}" in table([r]) and "  2 of 4\n" in table([r])


def test_a_cell_in_which_no_run_counts_stays_json():
    r = result(REGRET, outcome=[Outcome.NONFINITE] * 3)
    cell = r.to_json()
    assert cell["regret"]["at"] == cell["regret"]["mean"] == [] and "pulls" not in cell
    json.dumps(cell, allow_nan=False)
    assert "no run is valid" in repr(r) and "3 of 3 runs left out" in table([r])


def test_feedback_is_never_called_regret(tmp_path):
    sums = [[0.5, 6.0, 70.0], [0.5, 4.0, 50.0]]  # of feedback, which the engine adds up
    r = result(sums, measure="feedback", truth={})
    cell = r.to_json()
    assert cell["feedback"]["mean"] == [0.5, 0.5, 0.6] and "regret" not in cell
    np.testing.assert_allclose(cell["feedback"]["se"], [0.0, 0.1, 0.1], atol=1e-7)
    np.testing.assert_allclose(r.arrays["feedback"], [[0.5, 0.6, 0.7], [0.5, 0.4, 0.5]])
    text = table([r])
    assert "mean feedback" in text and "regret  " not in text and "regret" not in r.arrays
    assert r.plot().get_ylabel() == "mean feedback per round" and "regret" not in r.plot().get_title(loc="left")
    r.save(tmp_path)
    assert load(tmp_path)[0].to_json() == cell


def test_hindsight_stands_beside_regret():
    rows = np.asarray(REGRET, np.float32) / 2
    moments = {"hindsight_mean": rows.mean(0), "hindsight_variance": rows.var(0, ddof=1)}
    r = result(REGRET, hindsight=rows, **moments)
    assert r.to_json()["hindsight"]["mean"] == [0.5, 1.5, 3.0] and r.to_json()["regret"]["mean"] == [1.0, 3.0, 6.0]
    assert "hindsight" in table([r]) and "3.00" in table([r])
    line = r.plot(what="hindsight").get_lines()[0]
    np.testing.assert_array_equal(line.get_ydata(), [0.5, 1.5, 3.0])
    with pytest.raises(ValueError, match='what = "hindsight", must be one of regret'):
        result(REGRET).plot(what="hindsight")


@pytest.mark.parametrize("at", [10, 10.0, np.float32(10), np.int64(10)])
def test_a_round_is_a_round_whatever_its_type(at):
    assert result(REGRET).at(at) == 1


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"checkpoint": 1000.0}, "no checkpoint at 1000; the last is 100"),
        ({"checkpoint": 0.5}, "at = 0.5, must be a round"),
        ({"checkpoint": True}, "at = True, must be a round"),
        ({"fraction": 1000.0}, r"fraction = 1000.0, must be in \(0, 1\]"),
        ({"fraction": 0}, r"fraction = 0, must be in \(0, 1\]"),
        ({"checkpoint": 10, "fraction": 0.1}, "are both given; give one of them"),
    ],
)
def test_what_is_no_round_is_refused_in_one_line(wrong, said):
    with pytest.raises(ValueError, match=said) as error:
        result(REGRET).at(**wrong)
    assert "\n" not in str(error.value)
    assert result(REGRET).at(fraction=0.1) == 1 and result(REGRET).at(fraction=1) == 2


def test_played_on_any_rewards_is_marked_everywhere():
    r = result(REGRET, any_rewards=True)
    said = "kl was run on rewards that it is not designed for"
    assert r.to_json()["any_rewards"] is True and said in table([r])
    assert any(said in text.get_text() for text in r.plot().texts)
    assert "any_rewards" not in result(REGRET).to_json()


def test_a_lower_bound_above_the_regret_is_a_sentence_and_no_column():
    above = result(REGRET, truth={"regret_constant": 50.0})
    assert "  lower bound" not in table([above]) and "lower bound 230.26: it is asymptotic" in table([above])
    assert "  lower bound\n" in table([result(REGRET, truth={"regret_constant": 0.5})])


def test_results_print_themselves():
    rows = np.random.default_rng(0).normal(101.65, 16.9, (1000, 3))
    r = result(rows, algorithm="UCB1", instance="bernoulli", checkpoints=(1, 10, 10_000))
    low, high = stats.ttest_1samp(np.float64(np.float32(rows[:, 2])), 0).confidence_interval()
    mean = f"{np.float32(rows[:, 2]).mean(dtype=float):.1f} [{low:.1f}, {high:.1f}]"
    assert repr(r) == str(r) == f"UCB1 on bernoulli: regret {mean} after 10,000 rounds, 1,000 runs"
    assert repr(ResultSet("demo", (r, r))) == f"demo: 2 results\n  {r}\n  {r}"


def test_round_trip_is_bytewise(tmp_path):
    first = result(REGRET, params={"distances": ["bq", "h"]})
    save_cell(tmp_path / "a", 0, first)
    again = load_cell(tmp_path / "a", 0)
    assert again is not None
    save_cell(tmp_path / "b", 0, again)
    for name in ("cell-000.npz", "cell-000.json"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    assert again.to_json() == first.to_json()
    assert not [p for p in (tmp_path / "a").iterdir() if p.name.startswith(".")]
    for name, array in first.arrays.items():
        assert again.arrays[name].dtype == array.dtype
        np.testing.assert_array_equal(again.arrays[name], array)
        assert not again.arrays[name].flags.writeable


def test_arrays_are_readable_without_the_package(tmp_path):
    save_cell(tmp_path, 3, result(REGRET))
    with np.load(tmp_path / "cell-003.npz", allow_pickle=False) as arrays:
        assert set(arrays.files) >= {"checkpoints", "regret", "pulls", "recommendation", "outcome", "mean", "variance"}
        np.testing.assert_array_equal(arrays["regret"], np.asarray(REGRET, np.float32))


def test_directory_with_summary_and_lookup(tmp_path):
    cells = [result(REGRET, algorithm="a"), result(REGRET, algorithm="b")]
    for i, cell in enumerate(cells):
        save_cell(tmp_path, i, cell)
    content = summary("demo", cells)
    write_json(tmp_path / "summary.json", content)
    (tmp_path / "spec.toml").write_text("name = 'demo'\n")
    results = load(tmp_path)
    assert content == read_json(tmp_path / "summary.json", storage.RECOMPUTE) == results.to_json()
    assert list(content) == ["schema", "name", "kind", "seed", "jaxbandit", "jax", "devices", "precision", "cells"]
    assert (results.name, results.spec, len(results)) == ("demo", "name = 'demo'\n", 2)
    assert results["it", "b"].algorithm == "b"
    assert results[1] is results["it", "b"]
    with pytest.raises(KeyError, match="it/a, it/b"):
        results["it", "c"]


def test_save_and_load_of_one_result(tmp_path):
    result(REGRET).save(tmp_path)
    assert load(tmp_path)[0].to_json() == result(REGRET).to_json()
    other = result(REGRET, algorithm="b", seed=8)
    with pytest.raises(ValueError, match="already holds results"):
        other.save(tmp_path)
    assert load(tmp_path)[0].algorithm == "kl"
    save([result(REGRET), other], tmp_path, replace=True)
    assert [r.seed for r in load(tmp_path)] == [7, 8] and load(tmp_path).to_json()["cells"][1]["seed"] == 8
    other.save(tmp_path, replace=True)
    assert [r.algorithm for r in load(tmp_path)] == ["b"]
    for verb in (plot, lambda results: save(results, tmp_path / "none")):
        with pytest.raises(ValueError, match=r"^(plot|save): no results, must be at least one$"):
            verb([])
    with pytest.raises(ValueError, match=r"2 kinds \(identify, simulate\), must be of one kind"):
        save([other, stopping([3, 4])], tmp_path / "mixed")


def test_swept_cells_have_names_of_their_own():
    cells = [result(REGRET, params={"c": c, "d": 1.0}) for c in (0.0, 0.1234567, 3.0)]
    results = ResultSet("demo", (*cells, result(REGRET, algorithm="b")))
    named = ["it/kl?c=0", "it/kl?c=0.1234567", "it/kl?c=3", "it/b"]
    assert [cell["name"] for cell in results.to_json()["cells"]] == named
    assert [results[name] for name in named] == list(results)
    assert results["it", "kl?c=3.0"] is results["it/kl?c=3&d=1"] is cells[2]
    with pytest.raises(KeyError, match="names 3 results, must name one of it/kl"):
        results["it", "kl"]
    assert "kl?c=0.1234567" in table(results)


def _truncate(path):
    path.write_bytes(path.read_bytes()[:-200])


def _flip(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))


def _without_digest(path):
    about = json.loads(path.read_text())
    del about["sha256"]
    path.write_text(json.dumps(about))


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("cell-001.npz", _truncate),
        ("cell-001.npz", _flip),
        ("cell-001.npz", lambda path: path.unlink()),
        ("cell-001.json", _truncate),
        ("cell-001.json", lambda path: path.write_text("[]")),
        ("cell-001.json", _without_digest),
        ("cell-001.json", lambda path: path.unlink()),
        ("summary.json", _truncate),
    ],
)
def test_damage_is_one_line_that_names_the_file(tmp_path, name, damage):
    cells = [result(REGRET), result(REGRET, algorithm="b")]
    for i, cell in enumerate(cells):
        save_cell(tmp_path, i, cell)
    write_json(tmp_path / "summary.json", summary("demo", cells))
    damage(tmp_path / name)
    with pytest.raises(ValueError, match=name) as error:
        load(tmp_path)
    assert "\n" not in str(error.value)


def test_unfinished_cell_is_none_and_empty_directory_is_refused(tmp_path):
    assert load_cell(tmp_path, 0) is None
    with pytest.raises(ValueError, match="no results here"):
        load(tmp_path)


def test_frozen():
    r = result(REGRET)
    with pytest.raises(AttributeError):
        r.seed = 3  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(ValueError, match="read-only"):
        r.arrays["mean"][0] = 0.0


def test_xarray():
    data = result(REGRET, params={"c": 1.0}).to_xarray()
    assert data["regret"].dims == ("run", "checkpoint")
    assert float(data["regret"].sel(checkpoint=10, run=2)) == 4.0
    assert data["pulls"].dims == ("run", "arm")
    assert data["recommendation"].dims == ("run",)
    assert data.attrs["algorithm"] == "kl"
    assert data.attrs["params"] == '{"c": 1.0}'


def test_dataframe():
    results = ResultSet("demo", (result(REGRET, algorithm="a"), result(REGRET, algorithm="b")))
    frame = results.to_dataframe()
    assert list(frame.columns) == ["instance", "algorithm", "round", "mean", "se", "low", "high", "runs", "lower_bound"]
    assert list(frame["algorithm"]) == ["a"] * 3 + ["b"] * 3
    row = frame[(frame["algorithm"] == "b") & (frame["round"] == 100)].iloc[0]
    assert row["mean"] == 6.0
    assert row["low"] < 6.0 < row["high"]


def test_from_record_without_per_run_data():
    r = RegretResult.from_record(
        record(REGRET, regret=None, pulls=None, recommendation=None),
        instance="it",
        algorithm="kl",
        params={},
        seed=0,
        precision="float64",
        truth={},
    )
    assert r.runs == 3
    assert "regret" not in r.arrays
    assert r.to_json()["pulls"]["mean"] == [3.0, 4.0, 5.0]


def test_the_regret_at_the_horizon_is_a_number_with_its_interval():
    rows = np.random.default_rng(3).normal(50, 5, (40, 3))
    found = result(rows).regret
    low, high = stats.ttest_1samp(np.float64(np.float32(rows[:, -1])), 0).confidence_interval()
    assert found.value == pytest.approx(rows[:, -1].mean(), rel=1e-6)
    assert (found.low, found.high) == pytest.approx((low, high), rel=1e-6)
    assert found.se == pytest.approx(rows[:, -1].std(ddof=1) / np.sqrt(40), rel=1e-5)
    two = result(rows[:2]).regret
    low, high = stats.ttest_1samp(np.float64(np.float32(rows[:2, -1])), 0).confidence_interval()
    assert (two.low, two.high) == pytest.approx((max(low, 0), high), rel=1e-6)
    one = result(rows[:1]).regret
    assert one.value == pytest.approx(rows[0, -1], rel=1e-6) and np.isnan([one.se, one.low, one.high]).all()
    with pytest.raises(ValueError, match=r"what = .regret., must be one of feedback"):
        result(rows, measure="feedback").regret  # noqa: B018


def test_the_mean_pulls_of_each_arm_have_intervals():
    pulls = np.array([[1, 5, 94], [3, 5, 92], [5, 5, 90], [99, 0, 1]], np.int32)
    codes = np.array([0, 0, 0, Outcome.NONFINITE], np.int8)
    found = result(np.ones((4, 3)), pulls=pulls, outcome=codes).mean_pulls()
    assert found.value.tolist() == [3, 5, 92]
    half = stats.t.ppf(0.975, 2) * 2 / np.sqrt(3)
    assert found.high[[0, 2]] == pytest.approx([3 + half, 92 + half]) and found.low[0] == 0  # 3 - 4.97 is below 0
    assert np.isnan([found.low[1], found.high[1]]).all()  # all runs pulled it equally often
    one = result(np.ones((4, 3)), pulls=None, pulls_mean=np.array([20.0, 30.0, 50.0])).mean_pulls()
    assert one.value.tolist() == [20, 30, 50] and np.isnan(one.low).all() and np.isnan(one.high).all()
    assert result(np.ones((4, 3)), pulls=None, pulls_mean=None).mean_pulls() is None
