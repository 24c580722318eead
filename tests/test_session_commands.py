"""The commands ask, tell and status: what they print, keep and refuse."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

import jaxbandit as jb
from jaxbandit.lab import cli
from jaxbandit.lab.specs.session import SessionSpec

pytestmark = pytest.mark.quickly_compiled
SPEC = """
kind = "session"
seed = 7
configs = "configs.csv"

[[algorithm]]
type = "paired_race"
epsilon = 0.1
"""
CONFIGS = "lr,opt\n0.1,sgd\n0.01,sgd\n1e-3,adam\n"


BUILT = {}


@pytest.fixture
def shell(tmp_path, monkeypatch, capsys):
    """Run a command line in a directory with race.toml; return its exit status, stdout and stderr."""
    build = SessionSpec.build

    def built_once(spec):  # each rule is compiled once, not once a command
        key = repr((spec.algorithm, len(spec.names)))
        if key not in BUILT:
            BUILT[key] = build(spec)
        return BUILT[key]

    monkeypatch.setattr(SessionSpec, "build", built_once)
    monkeypatch.chdir(tmp_path)
    Path("race.toml").write_text(SPEC)
    Path("configs.csv").write_text(CONFIGS)

    def run(line, *more):
        status = cli.main([*line.split(), *more])
        return status, *capsys.readouterr()

    return run


def test_a_session_from_the_shell_is_that_of_python(shell):
    status, out, _ = shell("ask race race.toml --n 2 --json")
    said = json.loads(out)
    assert status == 0 and [p["id"] for p in said["pulls"]] == [0, 1] and not said["stopped"]
    assert said["pulls"][1]["config"] == {"lr": 0.01, "opt": "sgd"}
    s, pulls = jb.ask(jb.session(jb.paired_race(3, epsilon=0.1), seed=7))
    assert [p["key"] for p in said["pulls"]] == jb.pull_keys(s, pulls)[:2]._base_array.tolist()
    Path("scores.json").write_text('{"1": 0.75, "0": 0.5}')
    assert shell("tell race scores.json") == (0, "2 pulls told, 0 pending\n", "")
    assert shell("ask race")[1].split()[-5:] == ["2", "2", "0", "0.001", "adam"]
    assert shell("tell race 2=0.25 1=0.75")[:2] == (0, "3 pulls told, 0 pending\n")
    rng, told = np.random.default_rng(0), 3
    while (pulls := json.loads(shell("ask race --json")[1])["pulls"]) and told < 60:
        scores = [{"id": p["id"], "reward": p["arm"] / 2 + 0.01 * rng.standard_normal()} for p in pulls]
        Path("scores.json").write_text(json.dumps(scores))
        told += len(scores)
        assert shell("tell race scores.json")[0] == 0
    status, out, _ = shell("status race --json")
    found = json.loads(out)["certificate"]
    assert found["stopped"] and found["recommendation"] == [2] and sum(a["pulls"] for a in found["arms"]) == told
    text = shell("status race")[1]
    assert "recommended: 2: lr=0.001, opt=adam" in text and "95% interval" in text
    assert "guarantee: the recommended arm" in text
    assert shell("ask race")[1].startswith("stopped: there is nothing left to pull")


REFUSED = {
    "ask new": "new: holds no session; begin one with jaxbandit ask",
    "status new": "new: holds no session",
    "tell new 0=1": "new: holds no session",
    "ask race other.toml": "race: of another session: seed 7, here 8",
    "ask race absent.toml": "absent.toml: cannot be read",
    "ask race --n 0": "limit = 0, must be an integer",
    "ask race --context 1": "context = 1, must be left out",
    "tell race 5=0.5": "id = 5 is unknown",
    "tell race 0=nan": "id = 0: reward = nan, must be finite",
    "tell race 0=0.5 0=0.6": "id = 0: reward = 0.6, but 0.5 was reported before",
    "tell race 0=high": 'reward = "high", must be a number',
    "tell race x=1": 'id = "x", must be a whole number',
    "tell race configs.csv": "configs.csv: not valid JSON",
    "tell race absent.json": "absent.json: cannot be read",
    "tell race list.json": "must be {",
}


def test_refusals_are_one_line_and_nothing_is_lost(shell):
    shell("ask race race.toml")
    Path("other.toml").write_text(SPEC.replace("seed = 7", "seed = 8"))
    Path("list.json").write_text("[0.5]")
    log = Path("race/log.jsonl").read_bytes()
    for line, message in REFUSED.items():
        status, out, err = shell(line)
        assert (status, out, err.count("\n")) == (2, "", 1) and message in err, (line, err)
    assert Path("race/log.jsonl").read_bytes() == log and not Path("new").exists()


SPECS = {
    "kind": ('kind = "session"', 'kind = "identify"', 'kind = "identify", must be one of session'),
    "unknown key": ("seed = 7", "sead = 7", r"sead: unknown key.*did you mean 'seed'"),
    "no arms": ('configs = "configs.csv"', "", "arms: missing"),
    "both": ("seed = 7", "arms = 3", "arms: given together with configs"),
    "no arm": ('configs = "configs.csv"', "arms = []", r"arms = \[\], must be a number or a list"),
    "same names": (
        'configs = "configs.csv"',
        'arms = ["a", "b", "a"]',
        r'\[2\] = "a", must be different from the entry \[0\]',
    ),
    "no file": ("configs.csv", "absent.csv", "cannot be read"),
    "one arm": ('configs = "configs.csv"', "arms = 1", "num_arms = 1, must be an integer >= 2"),
    "argument": ("epsilon = 0.1", "epsilon = -1", r"algorithm\[0\].epsilon = -1.0, must be a number"),
    "misspelt": ("epsilon = 0.1", "epsilom = 0.1", "epsilom: unknown key"),
    "swept": ("epsilon = 0.1", "epsilon = {sweep = [0.1]}", "cannot be swept"),
    "missing": ('paired_race"\nepsilon = 0.1', 'kim_nelson"', "epsilon: missing, kim_nelson needs it"),
    "outside": ("paired_race", "mine:rule", "has no module mine"),
    "features": (
        'paired_race"\nepsilon = 0.1',
        'greedy"\nfeatures = [[1, 0], [0, 1]]',
        "is made for 2 arms, and there are 3",
    ),
    "two rules": ("epsilon = 0.1", '[[algorithm]]\ntype = "ucb1"', "must be one .*table"),
}


@pytest.mark.parametrize("name", SPECS)
def test_a_spec_is_judged_before_anything_is_written(shell, name):
    old, new, message = SPECS[name]
    assert old in SPEC
    Path("race.toml").write_text(SPEC.replace(old, new))
    status, out, err = shell("ask race race.toml")
    assert (status, out, err.count("\n")) == (2, "", 1) and re.search(message, err), err
    assert not Path("race").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [("lr,lr\n1,2\n", "must be names that are all different"), ("lr\n", "no configuration"), ("a,b\n1\n", "row 2")],
)
def test_a_bad_table_of_configurations_is_refused(shell, text, message):
    Path("configs.csv").write_text(text)
    status, _, err = shell("ask race race.toml")
    assert status == 2 and message in err


def test_a_rule_of_ones_own_and_one_that_decides_pull_by_pull(shell):
    Path("my_rule.py").write_text("import jaxbandit as jb\ndef mine(num_arms: int):\n    return jb.ucb1(num_arms)\n")
    Path("own.toml").write_text('kind = "session"\narms = ["a", "b"]\n[[algorithm]]\ntype = "my_rule:mine"\n')
    status, out, err = shell("ask own own.toml --n 8")
    assert status == 0 and out.splitlines()[2].split() == ["0", "0", "0", "a"]
    assert err == "jaxbandit: my_rule:mine decides on one pull at a time, so --n has no effect\n"
    for command in ("ask own", "tell own 0=1", "status own"):
        status, _, err = shell(f"{command} --no-import")
        assert status == 2 and "which --no-import does not allow" in err
    assert shell("tell own 0=1")[0] == 0 and "a" in shell("status own")[1]


def test_a_session_of_python_alone_stays_there(shell):
    with jb.session_directory("python", jb.ucb1(2)):
        pass
    status, _, err = shell("status python")
    assert status == 2 and "begun in Python" in err


def test_sets_of_arms_and_contexts(shell):
    rule = '[[algorithm]]\ntype = "icb"\nk = 2\nsupport = "all"\n'
    Path("sets.toml").write_text(f'kind = "session"\narms = ["a", "b", "c"]\non_failure = 0.0\n{rule}')
    pulls = json.loads(shell("ask sets sets.toml --n 2 --json")[1])["pulls"]
    assert [(p["arms"], p["names"]) for p in pulls] == [([0, 1], ["a", "b"]), ([0, 2], ["a", "c"])]
    assert shell("tell sets 0=nan 1=1.5")[1] == "2 pulls told, 0 pending\n"  # the one that failed counts as 0
    assert '"rewards": [0.0, 1.5]' in Path("sets/log.jsonl").read_text()
    assert re.search(r"^a +2$", shell("status sets")[1], re.MULTILINE)
    rule = '[[algorithm]]\ntype = "lin_ucb"\nhorizon = 9\nfeatures = [[[1, 0], [0, 1]], [[1, 1], [0, 1]]]\n'
    Path("sites.toml").write_text(f'kind = "session"\narms = 2\n{rule}')
    status, _, err = shell("ask sites sites.toml")
    assert status == 2 and "context = None, must be given" in err
    assert not Path("sites").exists()  # what was refused has begun nothing
    assert shell("ask sites sites.toml --context 1")[0] == 0 and shell("tell sites 0=0.5")[0] == 0
    assert "guarantee: none" in shell("status sites")[1]
