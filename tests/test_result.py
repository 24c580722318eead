"""Result: its summary against the fixed JSON, its files byte by byte, its damage named, its frames."""

import json

import numpy as np
import pytest
from results_by_hand import record, result

from jaxbandit.results.base import ResultSet
from jaxbandit.results.loading import load, load_cell
from jaxbandit.results.regret import RegretResult
from jaxbandit.results.saving import save_cell, write_summary

REGRET = [[0.5, 2.0, 4.0], [1.5, 3.0, 8.0], [1.0, 4.0, 6.0]]


def test_summary_has_the_fixed_keys_and_right_numbers():
    cell = result(REGRET, params={"c": np.float32(0.5)}).summary()
    assert set(cell) == {"instance", "algorithm", "params", "runs", "regret", "pulls", "seconds", "run_steps"}
    assert set(cell["regret"]) == {"at", "mean", "se", "low", "high", "lower_bound"}
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
    one = result(REGRET[:1], truth={}).summary()
    assert set(one["regret"]) == {"at", "mean"}
    bare = result(REGRET, regret=None, pulls=None, pulls_mean=None, recommendation=None).summary()
    assert "pulls" not in bare
    assert bare["regret"]["mean"] == [1.0, 3.0, 6.0]


def test_nonfinite_runs_show_and_json_stays_json():
    outcome = np.array([0, 2, 0], np.int8)
    cell = result(REGRET, outcome=outcome, mean=np.array([1.0, np.nan, np.nan])).summary()
    assert cell["outcomes"] == {"stopped": 2, "max_rounds": 0, "nonfinite": 1, "precision": 0}
    assert cell["regret"]["at"] == [1]
    assert len(cell["regret"]["se"]) == 1
    json.dumps(cell, allow_nan=False)


def test_round_trip_is_bytewise(tmp_path):
    first = result(REGRET, params={"distances": ["bq", "h"]})
    save_cell(tmp_path / "a", 0, first)
    again = load_cell(tmp_path / "a", 0)
    assert again is not None
    save_cell(tmp_path / "b", 0, again)
    for name in ("cell-000.npz", "cell-000.json"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    assert again.summary() == first.summary()
    assert not [p for p in (tmp_path / "a").iterdir() if p.name.startswith(".")]
    for name, array in first.arrays.items():
        assert again.arrays[name].dtype == array.dtype
        np.testing.assert_array_equal(again.arrays[name], array)
        assert not again.arrays[name].flags.writeable


def test_arrays_are_readable_without_the_package(tmp_path):
    save_cell(tmp_path, 3, result(REGRET))
    with np.load(tmp_path / "cell-003.npz", allow_pickle=False) as arrays:
        assert set(arrays.files) >= {
            "checkpoints",
            "regret",
            "pulls",
            "recommendation",
            "outcome",
            "mean",
            "variance",
        }
        np.testing.assert_array_equal(arrays["regret"], np.float32(REGRET))


def test_directory_with_summary_and_lookup(tmp_path):
    cells = [result(REGRET, algorithm="a"), result(REGRET, algorithm="b")]
    for i, cell in enumerate(cells):
        save_cell(tmp_path, i, cell)
    content = write_summary(tmp_path, "demo", "simulate", 7, "float32", cells)
    (tmp_path / "spec.toml").write_text("name = 'demo'\n")
    results = load(tmp_path)
    assert content == json.loads((tmp_path / "summary.json").read_text()) == results.summary()
    assert list(content) == [
        "schema",
        "name",
        "kind",
        "seed",
        "jaxbandit",
        "jax",
        "devices",
        "precision",
        "cells",
    ]
    assert (results.name, results.spec, len(results)) == ("demo", "name = 'demo'\n", 2)
    assert results["it", "b"].algorithm == "b"
    assert results[1] is results["it", "b"]
    with pytest.raises(KeyError, match="it/a, it/b"):
        results["it", "c"]


def test_save_and_load_of_one_result(tmp_path):
    result(REGRET).save(tmp_path)
    assert load(tmp_path)[0].summary() == result(REGRET).summary()


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
    write_summary(tmp_path, "demo", "simulate", 7, "float32", cells)
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
    assert list(frame.columns) == [
        "instance",
        "algorithm",
        "round",
        "mean",
        "se",
        "low",
        "high",
        "lower_bound",
    ]
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
    assert r.summary()["pulls"]["mean"] == [3.0, 4.0, 5.0]
