"""What is saved can be read: every result that has `save`, by `jb.load`; other directories are refused in one line."""

import enum
import json
from pathlib import Path
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
import pytest

import jaxbandit as jb
from jaxbandit.decide.tuning.configs import read
from jaxbandit.decide.tuning.result import tune_result
from jaxbandit.decide.tuning.stored_values import NotRestored, decoded, encoded
from jaxbandit.engine.storage import files as storage
from jaxbandit.engine.storage.json_files import read_json, write_json
from jaxbandit.support.refusals import BadInput

TRAINEE = jb.Trainee(
    lambda key, config: config["x"], lambda state, key, config: state + config["x"], lambda state, config: state
)


def score(seed, config):
    return float(np.random.default_rng(seed).normal()) + 3 * config["x"]


def diverges(seed, config):
    if config["x"] > 1.5 and seed % 5 == 0:
        raise RuntimeError("diverged")
    return score(seed, config)


class Point(NamedTuple):
    x: np.ndarray
    lr: np.ndarray


def _halved(of, **options):
    configs = {"x": jnp.arange(9.0), "deep": (np.arange(9, dtype=np.int8),)}
    return of(TRAINEE, configs, **options)


SEARCHES = {
    "tune": lambda: jb.tune(score, jb.space.grid(x=[0.0, 1.0, 2.0]), goal=0.5, budget=90),
    "dictionaries": lambda: jb.tune(
        score, [{"x": 0.5}, {"x": 1, "act": ("a", None)}], goal=jb.Goal(maximize=False), budget=40
    ),
    "quantile": lambda: jb.tune(score, {"x": np.arange(2.0)}, goal=jb.Goal(quantile=0.5), budget=80),
    "failures": lambda: jb.tune(
        diverges, {"x": np.arange(3.0)}, goal=jb.Goal(on_failure="separate", max_failure_rate=0.4), budget=90
    ),
    "successive_halving": lambda: _halved(jb.successive_halving, min_steps=1, max_steps=4),
    "hyperband": lambda: jb.hyperband(TRAINEE, lambda seed, count: {"x": np.arange(count) / 8}, max_steps=4),
    "search": lambda: jb.search(
        score, {"x": jb.space.uniform(0.0, 1.0), "act": jb.space.choice(["a", "b"])}, "random", extra=3, budget=60
    ),
    "search without finalists": lambda: jb.search(
        score, {"x": jb.space.uniform(0.0, 1.0)}, "random", finalists=1, budget=9
    ),
}


def _shown(result):
    return str(result), repr(result), result._repr_html_(), json.dumps(result.to_json())


def _same_arrays(here, there):
    assert list(here) == list(there)
    for name, column in here.items():
        assert column.dtype == there[name].dtype, name
        np.testing.assert_array_equal(column, there[name])


@pytest.mark.quickly_compiled
@pytest.mark.parametrize("kind", SEARCHES)
def test_the_result_of_a_search_is_the_same_when_it_is_loaded(kind, tmp_path):
    result = SEARCHES[kind]()
    result.save(tmp_path)
    again = jb.load(tmp_path)
    assert type(again) is type(result) and _shown(again) == _shown(result)
    _same_arrays(again.table, result.table)
    _same_arrays(again.history, result.history)
    for name in ("index", "maximize", "notes", "seconds", "why", "reused", "versions"):
        assert getattr(again, name) == getattr(result, name), name
    assert str(again.best_config) == str(result.best_config) and again.configs.names == result.configs.names
    assert str(again.certificate) == str(result.certificate)
    assert again.ranking().tolist() == result.ranking().tolist()
    if kind.startswith("search"):
        _same_arrays(again.proposals, result.proposals)
        np.testing.assert_array_equal(again.further, result.further)
        assert again.proposer == "random" and again.proposed.row(1) == result.proposed.row(1)
    again.save(tmp_path / "again")  # which writes what was read
    for file in tmp_path.glob("*.*"):
        assert (tmp_path / "again" / file.name).read_bytes() == file.read_bytes(), file.name


def _result(configs):
    count = len(configs) if isinstance(configs, list) else len(configs[0])
    ids = np.arange(2 * count)
    history = {"id": ids, "config": ids % count, "seed": ids // count, "score": ids / 8.0, "batch": ids // count}
    return tune_result(read(configs), 1, history, survivors=np.ones(count, bool), certificate="a rule")


def test_code_is_not_restored_and_a_warning_says_so(tmp_path):
    result = _result([{"x": 1.0, "model": score}, {"x": 2.0, "model": diverges}])
    result.save(tmp_path)
    with pytest.warns(UserWarning, match="files hold no code, so that only the text is restored of score, diverges"):
        again = jb.load(tmp_path)
    assert _shown(again) == _shown(result) and repr(again.best_config["model"]) == "<not restored: diverges>"
    assert not callable(again.best_config["model"]) and again.best_config["x"] == 2.0
    with pytest.raises(ValueError, match="holds a NotRestored"):
        again.configs.key(0)


def test_configurations_of_a_class_become_dictionaries_and_a_warning_says_so(tmp_path):
    result = _result(Point(np.arange(2.0), np.array([0.5, 0.25])))
    result.save(tmp_path)
    with pytest.warns(UserWarning, match="only the text is restored of Point"):
        again = jb.load(tmp_path)
    assert (
        str(again) == str(result) and again.best_config == {"x": 1.0, "lr": 0.25} and result.best_config == (1.0, 0.25)
    )


VALUES = [
    None, True, 3, 0.1, -0.0, "a\ud800\n", [1, [2.5]], (1, ("b",)), {"a": {1: None}, "dict": [2]}, {1, 2},
    frozenset("ab"),
    float("inf"), 5e-324, np.float32(0.1), np.int8(-3), np.uint64(2**64 - 1), np.bool_(True), np.str_("x"),
    np.array([[1.5, np.nan]], np.float16), np.array(["a", "bcd"]), np.zeros((0, 2)),
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES)
def test_values_are_restored_with_their_types(value):
    again = decoded(json.loads(json.dumps(encoded(value), allow_nan=False)))
    assert type(again) is type(value) and repr(again) == repr(value)
    if isinstance(value, np.ndarray | np.generic):
        assert again.dtype == value.dtype and again.shape == value.shape


class Color(enum.Enum):
    RED = 1


@pytest.mark.parametrize("value", [Color.RED, np.sum, float, b"bytes", 1 + 2j], ids=lambda value: type(value).__name__)
def test_other_values_are_said_not_to_be_restored(value):
    assert isinstance(decoded(json.loads(json.dumps(encoded(value)))), NotRestored)


RULES = {
    "regret": lambda: jb.simulate(jb.algorithms.ucb1(2), jb.environments.bernoulli([0.9, 0.1]), horizon=4, num_runs=2),
    "stopping": lambda: jb.identify(
        jb.algorithms.lucb(2, delta=0.3), jb.environments.bernoulli([0.9, 0.1]), num_runs=2
    ),
    "budget": lambda: jb.identify(
        jb.algorithms.sequential_halving(2, budget=8), jb.environments.bernoulli([0.9, 0.1]), num_runs=2
    ),
}


@pytest.mark.slow
@pytest.mark.quickly_compiled
@pytest.mark.parametrize("kind", RULES)
def test_results_of_simulations_are_loaded_by_the_same_door(kind, tmp_path):
    result = RULES[kind]()
    result.save(tmp_path)
    (tmp_path / "audit.json").write_text("{}")  # beside results, a mark of something else means nothing
    [again] = jb.load(tmp_path)
    assert type(again) is type(result) and again.to_json() == result.to_json()
    _same_arrays(again.arrays, result.arrays)
    assert again._repr_html_() == result._repr_html_()


OTHERS = {
    "session.json": "holds a session, .*session_directory",
    "scores.json": "holds scores of a search without its result, .*returns the result",
    "paper.json": "holds the reproduction of a paper, .*load the directories of results",
    "audit.json": "holds an audit, .*jaxbandit report",
    "identity.json": "has not ended, .*resumes it",
    "table.npz": "result.json: missing, .*save the result again",
    "notes.txt": "no results here",
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_directories_are_refused_in_one_line(name, tmp_path):
    (tmp_path / name).write_text("{}")
    with pytest.raises(BadInput, match=OTHERS[name]) as error:
        jb.load(tmp_path)
    assert "\n" not in str(error.value)
    with pytest.raises(BadInput, match=r"is a file, .*load_session"):
        jb.load(tmp_path / name)


def test_files_that_are_damaged_or_of_another_result_are_refused(tmp_path):
    result = _result([{"x": 1.0}, {"x": 2.0}])
    result.save(tmp_path)
    _result([{"x": 1.0}, {"x": 2.0}, {"x": 3.0}]).save(tmp_path / "other")
    for name in ("table.npz", "history.npz", "result.json"):
        data = (tmp_path / name).read_bytes()
        for bad in (data[:-9], (tmp_path / "other" / name).read_bytes(), None):
            (tmp_path / name).write_bytes(bad) if bad else (tmp_path / name).unlink()
            with pytest.raises(BadInput, match=r"damaged|missing|does not belong") as error:
                jb.load(tmp_path)
            assert "delete" not in str(error.value)
        (tmp_path / name).write_bytes(data)
    about = read_json(tmp_path / "result.json", storage.RESTORE)
    wrong = [("index", 2), ("index", -1), ("configs", {"rows": []}), ("certificate", {}), ("schema", 2), ("sha256", {})]
    for name, value in wrong:
        write_json(tmp_path / "result.json", about | {name: value})
        with pytest.raises(BadInput, match=r"damaged|must be 1"):
            jb.load(tmp_path)
    write_json(tmp_path / "result.json", about)
    assert str(jb.load(tmp_path)) == str(result)


def test_proposals_of_another_search_are_refused(tmp_path):
    SEARCHES["search without finalists"]().save(tmp_path)
    proposals = storage.read_arrays(tmp_path / "proposals.npz", storage.RESTORE)
    about = read_json(tmp_path / "result.json", storage.RESTORE)
    storage.write_arrays(tmp_path / "proposals.npz", {name: column[:-1] for name, column in proposals.items()})
    about["sha256"]["proposals"] = storage.digest(tmp_path / "proposals.npz")
    write_json(tmp_path / "result.json", about)
    with pytest.raises(BadInput, match=r"proposals\.npz: does not belong to result\.json"):
        jb.load(tmp_path)


def test_a_save_that_is_cut_off_leaves_no_mixture(tmp_path, monkeypatch):
    _result([{"x": 1.0}, {"x": 2.0}]).save(tmp_path)

    def full(path, arrays):
        raise KeyboardInterrupt

    monkeypatch.setattr(storage, "write_arrays", full)
    with pytest.raises(KeyboardInterrupt):
        _result([{"x": 1.0}, {"x": 4.0}]).save(tmp_path)
    with pytest.raises(BadInput, match=r"result\.json: missing"):
        jb.load(tmp_path)
    assert Path(tmp_path / "table.npz").exists()
