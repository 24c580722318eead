"""`jaxbandit tune`: a search from the shell, its files, its JSON, its refusals."""

import dataclasses
import inspect
import json
import os
import re
from pathlib import Path

import numpy as np
import pytest

import jaxbandit as jb
from jaxbandit.engine.driver.execution import RUNS
from jaxbandit.lab import cli
from jaxbandit.lab.specs import search as specs
from jaxbandit.support.refusals import BadInput

pytestmark = pytest.mark.quickly_compiled

TRAIN = """
import numpy as np, jax
def train(key, config):
    chance = np.random.default_rng(np.asarray(jax.random.key_data(key)))
    mean = config["x"] + {"a": 0.0, "b": 0.5}[config["act"]]
    return mean + 0.02 * config["width"] * (1 + config["x"]) * chance.normal()
"""
SPEC = """
kind = "tune"
epsilon = 0.2
static = ["width"]
[configs]
x = [0.1, 0.9]
act = ["a", "b"]
width = [1, 2]
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tuned_model.py").write_text(TRAIN)
    (tmp_path / "sweep.toml").write_text(SPEC)
    return tmp_path


@pytest.mark.slow
def test_a_search_prints_stores_and_goes_on(place, capsys):
    pytest.importorskip("matplotlib")
    assert cli.main(["tune", "tuned_model:train", "sweep.toml"]) == 0
    said = capsys.readouterr().out
    assert "act = b" in said.splitlines()[0] and "the recommended arm is" in said
    names = {path.name for path in (place / "sweep-tune").iterdir()}
    assert {"scores.json", "scores.jsonl", "summary.json", "table.npz", "history.npz", "tune.png"} <= names
    before = (place / "sweep-tune" / "summary.json").read_bytes()
    assert cli.main(["tune", "tuned_model:train", "sweep.toml", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["chosen"]["config"]["act"] == "b" and len(told["configurations"]) == 8
    assert told["certificate"]["epsilon"] == 0.2
    assert (place / "sweep-tune" / "summary.json").read_bytes() == before
    with np.load(place / "sweep-tune" / "history.npz", allow_pickle=False) as history:
        assert len(history["score"]) == told["trainings"]


@pytest.mark.slow
def test_configurations_of_a_csv_file_and_a_rule_of_the_users(place, capsys):
    (place / "rows.csv").write_text("x,act,width\n0.1,a,1\n0.5,b,2\n0.9,b,1\n")
    rule = '[[algorithm]]\ntype = "student_race"\ndelta = 0.2\n'
    (place / "rows.toml").write_text('kind = "tune"\nconfigs = "rows.csv"\nstatic = ["width"]\n' + rule)
    assert cli.main(["tune", "tuned_model:train", "rows.toml", "--json", "--out", "there"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["chosen"]["index"] == 2 and told["certificate"]["rule"] == "student_race"


REFUSED = {
    "kind": ('kind = "tune"', 'kind = "tun"', "sweep.toml: kind = \"tun\", must be one of tune; did you mean 'tune'?"),
    "key": ("epsilon", "epsilom", "epsilom: unknown key"),
    "no epsilon": ("epsilon = 0.2", "", "epsilon and a budget are both missing"),
    "static": ('["width"]', '["depth"]', 'static[0] = "depth", must be one of x, act, width'),
    "no configs": ("[configs]\n", "[other]\n", "other: unknown key"),
    "no values": ("[0.1, 0.9]", "[]", "configs.x = [], must be a list of values"),
    "two rules": (
        "[configs]",
        '[[algorithm]]\ntype = "student_race"\n[configs]',
        "epsilon = 0.2 cannot be given together with [[algorithm]]",
    ),
}


BUDGET = """
kind = "tune"
max_trainings = 60
static = ["width"]
"""
SPACED = f"""{BUDGET}
propose = "random"
finalists = 2
proposals = 20
extra = 3
at_once = 7
[space]
x.uniform = [0.1, 0.9]
y.loguniform = [1e-3, 1.0]
n.uniform_int = [1, 3]
act.choice = ["a", "b"]
width.choice = [1, 2]
"""


@pytest.mark.slow
def test_a_space_is_searched(place, capsys):
    (place / "spaced.toml").write_text(SPACED)
    assert cli.main(["tune", "tuned_model:train", "spaced.toml", "--json", "--out", "there"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["search"]["proposer"] == "random" and told["search"]["proposals"] == 20
    assert told["search"]["further"]["trainings"] == 3 and len(told["configurations"]) == 2
    assert set(told["chosen"]["config"]) == {"x", "y", "n", "act", "width"} and told["chosen"]["config"]["act"] == "b"
    assert json.loads((place / "there" / "scores.json").read_text())["at_once"] == 7
    assert (place / "there" / "proposals.npz").exists() and (place / "there" / "finalists" / "scores.jsonl").exists()
    assert cli.main(["report", "there"]) == 0
    page = (place / "there" / "report.html").read_text()
    assert "20 of 20 proposals (random)" in page and "first score" in page
    assert "the guarantee is about the 2 finalists" in page
    (place / "there" / "result.json").unlink()
    capsys.readouterr()
    assert cli.main(["report", "there"]) == 2
    assert "result.json: missing" in capsys.readouterr().err
    for name in ("table.npz", "summary.json"):
        (place / "there" / name).unlink()
    assert cli.main(["report", "there"]) == 2
    assert "its search has not finished; run jaxbandit tune again" in capsys.readouterr().err


KEYS = {  # in TOML -> the argument of `tune`, or the field of one of its records
    "max_trainings = 80": 80,
    'timeout = "2h"': 7200.0,
    "timeout = 90": 90.0,
    'timeout_each = "5min"': 300.0,
    "retries = 2": 2,
    "on_failure = 0": 0.0,
    'on_failure = "separate"\nmax_failure_rate = 0.25': "separate",
    'max_failure_rate = 0.25\non_failure = "separate"': 0.25,
    "min_trainings = 5": 5,
    "score_range = [0, 1.5]": (0.0, 1.5),
    "quantile = 0.5": 0.5,
    "worst = 0.25\nscore_range = [0, 1]": 0.25,
    "resolution = 0.01": 0.01,
    "growth = true": True,
    "blind = true": True,
    "pool = 40": 40,
    'pool = ["one", "two"]': ["one", "two"],
    "traced = false": False,
    "same_train = true": True,
    "batch = 4": 4,
    "paired = false": False,
    "maximize = false": False,
    "delta = 0.2": 0.2,
    "seed = 9": 9,
}


@pytest.mark.parametrize("line", KEYS)
def test_every_argument_of_tune_has_a_key(line, place, monkeypatch):
    given = {}

    def taken(train, configs, rule, **arguments):
        given.update(arguments)
        raise BadInput("enough")

    monkeypatch.setattr("jaxbandit.lab.experiments.search.tune", taken)
    (place / "one.toml").write_text(line + SPEC)
    assert cli.main(["tune", "tuned_model:train", "one.toml"]) == 2
    name = line.split()[0]
    name = {"max_trainings": "trainings", "timeout": "seconds", "timeout_each": "seconds_each"}.get(name, name)
    records = [given["goal"], given["budget"], given["execution"]]
    [value] = [getattr(x, name) for x in records if hasattr(x, name)] or [given[name]]
    assert value == KEYS[line] and type(value) is type(KEYS[line])


def test_the_number_of_workers_is_an_option(place, monkeypatch):
    given = {}

    def taken(*_, execution, **others):
        given["workers"] = execution.workers
        raise BadInput("enough")

    monkeypatch.setattr("jaxbandit.lab.experiments.search.tune", taken)
    (place / "one.toml").write_text(SPEC)
    for options, workers in ((["--workers", "7"], 7), ([], None)):
        assert cli.main(["tune", "tuned_model:train", "one.toml", *options]) == 2 and given["workers"] == workers
    given.clear()
    assert cli.main(["tune", "tuned_model:train", "one.toml", "--workers", "0"]) == 2 and not given


def test_every_argument_and_field_has_a_key_or_is_of_python_alone():
    keys = {line.split()[0] for line in KEYS} | {"epsilon", "trainings", "seconds", "seconds_each"}
    python = {"directory", "executor", "scores", "isolate", "progress"}  # a command is a process of its own already
    records = {field.name for kind in (jb.Goal, jb.Budget) for field in dataclasses.fields(kind)}
    records |= set(jb.Execution._fields) - set(RUNS)
    arguments = set(inspect.signature(jb.tune).parameters)
    assert arguments - {"train", "configs", "rule", "goal", "budget", "execution"} <= keys | python
    assert records <= keys | python


SPACES = {
    "both": (SPACED + "[configs]\nx = [1]\n", "configs: given together with space"),
    "neither": (BUDGET, "configs: missing, give either configs"),
    "no budget": (SPACED.replace("max_trainings = 60", ""), "max_trainings: missing"),
    "growth": ("growth = true" + SPACED, "growth: only for [configs]"),
    "propose": ('propose = "random"' + SPEC, "propose: only for [space]"),
    "finalists": ("finalists = 3" + SPEC, "finalists: only for [space]"),
    "law": (SPACED.replace("loguniform", "normal"), "space.y = {normal = [0.001, 1.0]}, must be one of { loguniform"),
    "one end": (SPACED.replace("[1, 3]", "[1]"), "space.n.uniform_int = [1], must be a list of two numbers"),
    "order": (SPACED.replace("[1, 3]", "[3, 1]"), "space.n.uniform_int[1] = 1, must be greater than 3"),
    "whole": (SPACED.replace("[1, 3]", "[1, 3.5]"), "space.n.uniform_int[1] = 3.5, must be an integer"),
    "text": (SPACED.replace("[0.1, 0.9]", '["a", 1]'), 'space.x.uniform[0] = "a", must be a finite number'),
    "static": (SPACED.replace('["width"]', '["depth"]'), 'static[0] = "depth", must be one of x, y, n, act, width'),
    "rule": (SPACED + '[[algorithm]]\ntype = "student_race"\ndelta = 0.1\n', "algorithm: only for [configs]"),
    "empty": (SPACED.partition("[space]")[0] + "[space]\n", "space = {}, must be a table"),
    "timeout": ('timeout = "soon"' + SPEC, 'timeout = "soon", must be a number of seconds'),
}


@pytest.mark.parametrize("case", SPACES)
def test_a_bad_space_or_a_bad_key_is_refused_in_one_line(case, place, capsys):
    text, words = SPACES[case]
    (place / "bad.toml").write_text(text)
    assert cli.main(["tune", "tuned_model:train", "bad.toml"]) == 2
    said = capsys.readouterr().err
    assert words in said and said.count("\n") == 1 and not (place / "bad-tune").exists()


WRONG = (  # "KEY = VALUE" of each key that is a field of a record
    *(
        "delta = 2",
        "epsilon = -1",
        "quantile = 1.0",
        "worst = 1.0",
        "score_range = [1, 0]",
        "resolution = -1",
        "maximize = 3",
    ),
    *("min_trainings = 0", 'on_failure = "x"', "max_failure_rate = 1", "max_trainings = 0", "timeout = -1"),
    *("timeout_each = 0", "batch = 0", "retries = -1", "traced = 3", "same_train = 2"),
)


def test_a_field_of_a_record_is_refused_by_its_file_and_key(place):
    keys = {*specs.GOAL.values(), *specs.BUDGET.values(), *specs.EXECUTION.values()}
    assert {line.split()[0] for line in WRONG} == keys
    for line in WRONG:
        (place / "bad.toml").write_text(line + SPEC.replace("epsilon = 0.2", ""))
        with pytest.raises(BadInput, match=rf"^bad\.toml: {re.escape(line)}, must be "):
            specs.load(Path("bad.toml"))
    (place / "bad.toml").write_text("quantile = 0.5\nscore_range = [0, 1]" + SPEC)
    with pytest.raises(BadInput, match=r"^bad\.toml: quantile and score_range are both given; give one of them$"):
        specs.load(Path("bad.toml"))


@pytest.mark.parametrize("case", REFUSED)
def test_a_bad_spec_is_refused_in_one_line(case, place, capsys):
    old, new, words = REFUSED[case]
    (place / "sweep.toml").write_text(SPEC.replace(old, new))
    assert cli.main(["tune", "tuned_model:train", "sweep.toml"]) == 2
    said = capsys.readouterr().err
    assert words in said and said.count("\n") == 1
    assert not (place / "sweep-tune").exists()


def test_a_train_that_is_not_there_is_refused(place, capsys):
    assert cli.main(["tune", "tuned_model:trian", "sweep.toml"]) == 2
    assert "has no trian in module tuned_model; did you mean 'train'?" in capsys.readouterr().err


ENDINGS = {  # what the training does -> status, words; test_trust_scores.py has what else it may do
    "import sys; sys.exit(5)": (2, "raises SystemExit: 5"),
    "return 1e160": (2, "returns 1e+160, |score| > 1e150; set on_failure to"),
    "raise KeyboardInterrupt": (3, "interrupted; run the same command to resume"),
}


def odd(place, ending):
    """Write a module in which the trainings with a large x do what `ending` says, and return its reference."""
    name = f"odd_model_{abs(hash((place, ending)))}"  # a name of its own, because imported modules stay
    lines = ["def odd(key, config):", f"    if config['x'] > 0.5: {ending}", "    return train(key, config)", ""]
    (place / f"{name}.py").write_text(TRAIN + "\n".join(lines))
    return f"{name}:odd"


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_status_and_the_line_of_a_training_that_ends_oddly(ending, place, capsys):
    status, words = ENDINGS[ending]
    assert cli.main(["tune", odd(place, ending), "sweep.toml"]) == status
    said = capsys.readouterr().err
    assert words in said and said.count("\n") == 1
    assert '"seed": [0' in (place / "sweep-tune" / "scores.jsonl").read_text()  # the trainings before it


@pytest.mark.slow
def test_a_training_that_ends_its_worker_leaves_a_search_that_goes_on(place, capsys, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(place), os.environ.get("PYTHONPATH", "")]))
    ending = "import os, pathlib; pathlib.Path('well').exists() or os._exit(7)"
    command = ["tune", odd(place, ending), "sweep.toml", "--executor", "processes:1"]
    assert cli.main(command) == 3
    said = capsys.readouterr().err
    assert "was given up by the executor (Lost: 3 workers died); what was done is saved in sweep-tune" in said
    assert said.count("\n") == 1 and "configuration 4 (act = a, width = 1, x = 0.9)" in said
    (place / "well").touch()
    assert cli.main(command) == 0
    assert "act = b" in capsys.readouterr().out.splitlines()[0]


@pytest.mark.slow
def test_a_damaged_search_is_repaired(place, capsys):
    assert cli.main(["tune", "tuned_model:train", "sweep.toml"]) == 0
    log, before = place / "sweep-tune" / "scores.jsonl", (place / "sweep-tune" / "summary.json").read_bytes()
    log.write_bytes(log.read_bytes().replace(b'"score": [', b'"score": [9, ', 1))
    capsys.readouterr()
    assert cli.main(["tune", "tuned_model:train", "sweep.toml"]) == 2
    assert "or let jaxbandit repair DIR keep" in capsys.readouterr().err
    assert cli.main(["repair", "sweep-tune"]) == 0 and "is trained again" in capsys.readouterr().out
    assert cli.main(["tune", "tuned_model:train", "sweep.toml"]) == 0
    assert (place / "sweep-tune" / "summary.json").read_bytes() == before
