"""The commands ask, tell and status: what they print, keep and refuse."""

import json
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import jaxbandit as jb
from jaxbandit.decide.sessions import directory, stored
from jaxbandit.lab import cli
from jaxbandit.lab.specs import ownership
from jaxbandit.lab.specs.references import entry
from jaxbandit.lab.specs.session import SessionSpec

pytestmark = [pytest.mark.slow, pytest.mark.quickly_compiled]
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
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
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
    s, pulls = jb.ask(jb.session(jb.algorithms.paired_race(3, epsilon=0.1), seed=7))
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
    n = found["arms"][2]["pulls"]
    assert f"- 2: lr=0.001, opt=adam: {n} pulls: what happens in fewer than" in text
    assert found["arms"][2]["unseen"] == pytest.approx(1 - (0.05 / 3) ** (1 / n))
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
    "argument": ("epsilon = 0.1", "epsilon = -1", r"algorithm\[0\].epsilon = -1, must be a number"),
    "misspelt": ("epsilon = 0.1", "epsilom = 0.1", "epsilom: unknown key"),
    "swept": ("epsilon = 0.1", "epsilon = {sweep = [0.1]}", "cannot be swept"),
    "missing": ('paired_race"\nepsilon = 0.1', 'kim_nelson"', "epsilon: missing, kim_nelson needs it"),
    "outside": ("paired_race", "nowhere:rule", "has no module nowhere"),
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
    [
        ("lr,lr\n1,2\n", "must be names that are all different"),
        ("lr\n", "no configuration"),
        ("a,b\n1\n", "line 2: has 1 cells, must have 2"),
    ],
)
def test_a_bad_table_of_configurations_is_refused(shell, text, message):
    Path("configs.csv").write_text(text)
    status, _, err = shell("ask race race.toml")
    assert status == 2 and message in err


def test_a_rule_of_ones_own_and_one_that_decides_pull_by_pull(shell):
    Path("my_rule.py").write_text(
        "import jaxbandit as jb\ndef mine(num_arms: int):\n    return jb.algorithms.ucb1(num_arms)\n"
    )
    Path("own.toml").write_text('kind = "session"\narms = ["a", "b"]\n[[algorithm]]\ntype = "my_rule:mine"\n')
    status, out, err = shell("ask own own.toml --n 8")
    assert status == 0 and out.splitlines()[2].split() == ["0", "0", "0", "a"]
    assert err.startswith(
        "jaxbandit: my_rule:mine is deterministic and decides on one pull at a time, so this is 1 pull"
    )
    assert "so this is 1 pull and not 8; " in err and "jaxbandit expire own ID" in err and err.count("\n") == 1
    said = json.loads(shell("ask own --n 8 --json")[1])
    assert "is 1 pull and not 8" in said["note"] and len(said["pulls"]) == 1
    assert "note" not in json.loads(shell("ask own --json")[1])
    for command in ("ask own", "tell own 0=1"):
        status, _, err = shell(f"{command} --no-import")
        assert status == 2 and "which is not imported" in err
    assert shell("tell own 0=1")[0] == 0 and "a" in shell("status own --no-import")[1]


EVIL = 'from pathlib import Path\nPath("ran").touch()\nfrom my_rule import mine\n'
MINE = "import jaxbandit as jb\ndef mine(num_arms: int, c: float = 0.0):\n    return jb.algorithms.ucb1(num_arms)\n"
OWN = 'kind = "session"\narms = ["a", "b"]\n[[algorithm]]\ntype = "evil_rule:mine"\n'


def forgotten():
    """Let the module be imported again."""
    sys.modules.pop("evil_rule", None)
    entry.cache_clear()


def received(shell, form):
    """The directory of a session of somebody else, told two rewards, whose rule is code that says when it runs."""
    forgotten()
    Path("my_rule.py").write_text(MINE)
    Path("evil_rule.py").write_text(EVIL)
    Path("own.toml").write_text(OWN)
    for line in ("ask own own.toml", "tell own 0=1", "ask own", "tell own 1=0.25"):
        status, _, err = shell(line)
        assert status == 0, err
    Path("state/jaxbandit/secret").unlink()  # from now on the user is another one
    assert Path("ran").exists()
    Path("ran").unlink()
    forgotten()
    if form == "os:system":
        about = stored.read_about(Path("own"))
        about["meta"]["spec"]["algorithm"] = [{"type": "os:system", "command": "touch ran"}]
        stored.write_about(Path("own"), about["identity"], about["meta"])
        Path("own/log.jsonl").unlink()
        Path("own/certificate.json").unlink()


@pytest.mark.parametrize("form", ["sealed", "os:system"])
def test_reading_a_received_session_imports_nothing(shell, form):
    received(shell, form)
    for line in ("status own", "report own", "report own --no-import", "status own --json", "repair own"):
        status, out, err = shell(line)
        assert status == 0 and not Path("ran").exists(), (line, err)
    shell("list own")
    shell("show own")
    for line in ("compare own", "plot own"):
        status, out, err = shell(line)
        assert status == 2 and err.count("\n") == 1
    with pytest.raises(ValueError):
        jb.load("own")
    for line in ("ask own", "tell own 0=1", "ask own own.toml"):
        status, out, err = shell(line)
        assert (status, out, err.count("\n")) == (2, "", 1)
        assert "names code outside the package, and no ask of yours has begun own; give --import" in err
    assert not Path("ran").exists()
    if form == "os:system":
        status, _, err = shell("ask own --import")
        assert status == 2 and "must return Algorithm" in err and Path("ran").exists()
        return
    assert shell("tell own 1=0.25 --import")[1] == "2 pulls told, 0 pending\n" and Path("ran").exists()
    assert shell("ask own own.toml --import")[0] == 0


def test_a_session_outside_is_shown_by_the_certificate_of_its_last_close(shell):
    received(shell, "sealed")
    certificate = jb.certificate(directory.read_session("own", jb.algorithms.ucb1(2)))
    assert json.loads(shell("status own --json")[1])["certificate"] == {**certificate.to_json(), "rule": "ucb1"}
    assert shell("status own")[1] == f"{certificate.with_names(['a', 'b'])}\n\n"
    assert shell("report own")[0] == 0 and "guarantee" in Path("own/report.html").read_text()
    for damage in ("longer", "gone"):
        if damage == "longer":
            with pytest.raises(KeyboardInterrupt), jb.session_directory("own", jb.algorithms.ucb1(2)) as d:
                d.ask()
                raise KeyboardInterrupt
        else:
            Path("own/certificate.json").unlink()
        status, out, _ = shell("status own")
        assert status == 0 and out.startswith("There is no certificate: it would have to be computed by evil_rule:mine")
        assert re.search(r"^a +1 +1$", out, re.MULTILINE) and re.search(r"^b +1 +0.25$", out, re.MULTILINE)
        assert out.endswith("\npending: 2\n")
        found = json.loads(shell("status own --json")[1])
        assert "certificate" not in found and found["pending"] == [2]
        assert found["arms"] == [{"arm": 0, "pulls": 1, "mean": 1.0}, {"arm": 1, "pulls": 1, "mean": 0.25}]
        assert shell("report own")[0] == 0 and "cannot be shown" in Path("own/report.html").read_text()


def test_a_spec_that_was_changed_is_no_longer_that_of_ones_own(shell):
    Path("my_rule.py").write_text(MINE)
    Path("own.toml").write_text(OWN.replace("evil_rule", "my_rule"))
    assert shell("ask own own.toml")[0] == 0 and shell("ask own")[0] == 0
    about = stored.read_about(Path("own"))
    about["meta"]["spec"]["algorithm"][0]["c"] = 1.0
    stored.write_about(Path("own"), about["identity"], about["meta"])
    status, _, err = shell("ask own")
    assert status == 2 and "give --import" in err


@pytest.mark.parametrize("case", ["readable", "short", "link", "no place"])
def test_a_secret_that_others_may_know_is_not_used(shell, case):
    Path("my_rule.py").write_text(MINE)
    Path("own.toml").write_text(OWN.replace("evil_rule", "my_rule"))
    path = ownership.secret_path()
    if case == "no place":
        Path("state").touch()
    else:
        path.parent.mkdir(parents=True)
        place = path.with_name("other") if case == "link" else path
        place.write_bytes(b"x" * (31 if case == "short" else 32))
        place.chmod(0o644 if case == "readable" else 0o600)
        if case == "link":
            path.symlink_to(place)
    status, _, err = shell("ask own own.toml")
    assert status == 0 and err.count("\n") == 1 and "ask and tell in own will need --import" in err
    assert shell("ask own")[0] == 2 and shell("ask own --import")[0] == 0


def test_a_secret_is_made_once_and_for_its_user_only(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with ThreadPoolExecutor(8) as pool:
        signatures = set(pool.map(lambda i: ownership.sign({"a": [1.5]}), range(8)))
    assert len(signatures) == 1 and ownership.is_signed({"spec": {"a": [1.5]}, "signature": signatures.pop()})
    path = ownership.secret_path()
    assert (
        path.stat().st_mode & 0o777 == 0o600 and len(path.read_bytes()) == 32 and len(list(path.parent.iterdir())) == 1
    )
    for content in ({}, {"spec": {}}, {"spec": {"a": 1}, "signature": "é"}, {"spec": {"a": 1}, "signature": ""}):
        assert not ownership.is_signed(content)


def test_a_damaged_log_is_repaired_from_the_shell(shell):
    shell("ask race race.toml")
    shell("tell race 0=0.5 1=0.75 2=0.25")
    log = Path("race/log.jsonl")
    log.write_bytes(log.read_bytes().replace(b"0.75", b"0.85"))
    for line in ("ask race", "tell race 0=0.5", "status race", "report race"):
        status, out, err = shell(line)
        assert (status, out, err.count("\n")) == (2, "", 1) and "log.jsonl: line 2: does not fit" in err, line
    status, out, _ = shell("repair race")
    assert status == 0 and "0 rewards in 1 lines are kept; 3 rewards in damaged lines or after them are lost" in out
    assert shell("tell race 0=0.5")[1] == "1 pulls told, 2 pending\n"
    assert shell("repair new")[0] == 2 and not Path("new").exists()


def test_a_session_of_python_alone_stays_there(shell):
    with jb.session_directory("python", jb.algorithms.ucb1(2)):
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


def test_asks_with_contexts_of_floats_from_the_shell(shell):
    rule = '[[algorithm]]\ntype = "logistic_ucb"\nshape = [2, 3]\nintercept = false\n'
    Path("news.toml").write_text(f'kind = "session"\narms = ["a", "b"]\n{rule}')
    Path("three.csv").write_text("a1,a2,a3,b1,b2,b3\n" + "1,0,0,0,1,0\n" * 3)
    Path("two.csv").write_text("1,2\n")
    first = shell("ask news news.toml --json --context", "[[1, 0, 0], [0, 1, 0]]")
    assert [p["id"] for p in json.loads(first[1])["pulls"]] == [0]
    assert [p["id"] for p in json.loads(shell("ask news --contexts three.csv --json")[1])["pulls"]] == [1, 2, 3]
    assert len(json.loads(shell("ask news --json")[1])["pulls"]) == 4  # those that are open
    assert shell("tell news 2=0.5 0=1")[1] == "2 pulls told, 2 pending\n"
    for text, message in {
        "abc": '--context = "abc", must be an index, numbers such as 0.1,0.2',
        "1,2": "ask: context has shape [2], must be [2, 3], a row per arm",
        "[[1, 0, 0], [0, NaN, 0]]": "ask: context[1, 1] = nan, must be finite",
        '{"available": [true, false], "features": [[1, 0, 0], [0, 1, 0]]}': "must be float64[2, 3] like those of",
        '{"available": [true], "features": 1}': "available is bool[1], must be bool[2]",
    }.items():
        status, _, err = shell("ask news --context", text)
        assert status == 2 and message in err and err.count("\n") == 1
    status, _, err = shell("ask news --contexts two.csv")
    assert status == 2 and "--contexts two.csv: has 2 numbers in a row, must have 6 = 2 x 3" in err
    offer = '{"available": [false, true], "features": [[1, 0, 0], [0, 1, 0]]}'
    mask = shell("ask mask news.toml --json --context", offer)
    assert json.loads(mask[1])["pulls"][0]["name"] == "b"


def test_plates_corrections_and_pulls_without_an_answer_from_the_shell(shell):
    said = json.loads(shell("ask race race.toml --n 8 --json")[1])
    assert [p["arm"] for p in said["pulls"]] == [0, 1, 2, 0, 1, 2, 0, 1]
    assert shell("tell race 0=0.5 1=0.75")[1] == "2 pulls told, 6 pending\n"
    assert shell("tell race --amend 0=0.25 1=0.75")[:2] == (0, "2 pulls told, 6 pending\n")
    assert shell("withdraw race 2 3")[:2] == (0, "2 pulls told, 4 pending\n")
    assert shell("tell race --outside 2=0.125")[:2] == (0, "3 pulls told, 4 pending\n")
    assert [p["id"] for p in json.loads(shell("ask race --n 8 --json")[1])["pulls"]] == [*range(2, 8), 9, 10]
    for line, message in (
        ("expire race 4", "id = 4: paired_race needs the rewards of its whole plan"),
        ("expire race", "ids or before, neither is given"),
        ("close race 1", "paired_race plans batches"),
        ("tell race --amend 5=0.5", "amend: id = 5 has no reward yet"),
        ("tell race --amend --outside 0=0.5", "must be one of them"),
        ("tell race --outside 3=0.5", "arm = 3, must be in [0, 2]"),
    ):
        status, out, err = shell(line)
        assert status == 2 and not out and message in err and err.count("\n") == 1, line
    assert json.loads(shell("status race --json")[1])["certificate"]["arms"][0]["mean"] == 0.25
    log = (Path("race") / "log.jsonl").read_text().splitlines()
    assert [next(iter(json.loads(line))) for line in log] == ["ask", "tell", "amend", "withdraw", "tell_outside", "ask"]
    assert shell("report race")[0] == 0
    page = (Path("race") / "report.html").read_text()
    assert "tell_outside" in page and "amend" in page


def test_visitors_who_never_answer_and_closed_arms_from_the_shell(shell):
    Path("visitors.toml").write_text('kind = "session"\narms = ["a", "b", "c"]\n[[algorithm]]\ntype = "thompson"\n')
    assert len(json.loads(shell("ask v visitors.toml --n 20 --json")[1])["pulls"]) == 20
    assert shell("expire v --before 19")[:2] == (0, "0 pulls told, 1 pending\n")
    assert shell("expire v 19")[:2] == (0, "0 pulls told, 0 pending\n")
    assert shell("close v 0 2")[0] == 0
    assert {p["name"] for p in json.loads(shell("ask v --n 20 --json")[1])["pulls"]} == {"b"}
    assert shell("open v 0 2")[0] == 0 and shell("expire v --before 40")[1] == "0 pulls told, 0 pending\n"
    assert {p["name"] for p in json.loads(shell("ask v --n 40 --json")[1])["pulls"]} == {"a", "b", "c"}
