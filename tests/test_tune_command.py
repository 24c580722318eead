"""`jaxbandit tune`: a search from the shell, its files, its JSON, its refusals."""

import json

import numpy as np
import pytest

from jaxbandit.lab import cli

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


def test_a_search_prints_stores_and_goes_on(place, capsys):
    pytest.importorskip("matplotlib")
    assert cli.main(["tune", "tuned_model:train", "sweep.toml"]) == 0
    said = capsys.readouterr().out
    assert "act = b" in said.splitlines()[0] and "paired_race: the recommended arm" in said
    names = {path.name for path in (place / "sweep-tune").iterdir()}
    assert {"session.json", "log.jsonl", "summary.json", "table.npz", "history.npz", "tune.png"} <= names
    before = (place / "sweep-tune" / "summary.json").read_bytes()
    assert cli.main(["tune", "tuned_model:train", "sweep.toml", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["chosen"]["config"]["act"] == "b" and len(told["configurations"]) == 8
    assert told["certificate"]["epsilon"] == 0.2
    assert (place / "sweep-tune" / "summary.json").read_bytes() == before
    with np.load(place / "sweep-tune" / "history.npz", allow_pickle=False) as history:
        assert len(history["score"]) == told["trainings"]


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
    "no epsilon": ("epsilon = 0.2", "", "epsilon is missing"),
    "static": ('["width"]', '["depth"]', 'static[0] = "depth", must be one of x, act, width'),
    "no configs": ("[configs]\n", "[other]\n", "other: unknown key"),
    "no values": ("[0.1, 0.9]", "[]", "configs.x = [], must be a list of values"),
    "two rules": (
        "[configs]",
        '[[algorithm]]\ntype = "student_race"\n[configs]',
        "epsilon = 0.2 cannot be given together with [[algorithm]]",
    ),
}


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
