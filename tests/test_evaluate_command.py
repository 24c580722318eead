"""`jaxbandit evaluate`: what it prints, its JSON, its page, the policies that can be named, and exit statuses."""

import json
import re

import numpy as np
import pytest
from test_report import read

import jaxbandit as jb
from benchmarks import offpolicy_worlds as worlds
from jaxbandit.lab import cli

pytest.importorskip("matplotlib")

LOG, POLICY = worlds.fixed(800)
ARMS = POLICY.argmax(axis=1)
COLUMNS = ["--action", "arm", "--reward", "click", "--propensity", "p", "--context", "x"]
MODULE = """
import numpy as np

def best(x):
    return np.eye(5)[(3 * round(7 * x[0]) + 1) % 5]

def fails(x):
    raise KeyError("nothing")

THREE = 3
"""


@pytest.fixture
def log(tmp_path, monkeypatch):
    names = ["x", "arm", "click", "p", *(f"new{k}" for k in range(5)), "best", *(f"log{k}" for k in range(5))]
    columns = np.c_[LOG.context, LOG.action, LOG.reward, LOG.propensity, POLICY, ARMS, LOG.probabilities]
    path = tmp_path / "log.csv"
    lines = [",".join(names), *(",".join(repr(float(x)) for x in row) for row in columns)]
    path.write_text("\n".join(lines) + "\n")
    (tmp_path / "my_offline_policies.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    return path


def asked(log, *arguments):
    return cli.main(["evaluate", str(log), *COLUMNS, *arguments])


def test_the_command_prints_what_python_returns(log, capsys):
    assert asked(log) == 0
    wanted = jb.evaluate(jb.read_log(log, action="arm", reward="click", propensity="p", context=["x"]),
                         {"uniform": "uniform"})  # fmt: skip
    assert capsys.readouterr().out == f"{wanted}\n"
    assert asked(log, "--json", "--confidence", "0.9", "--clip", "3", "--largest-weight", "60", "--adaptive") == 0
    found = json.loads(capsys.readouterr().out)
    other = jb.read_log(log, action="arm", reward="click", propensity="p", context=["x"], adaptive=True)
    wanted = jb.evaluate(other, {"uniform": "uniform"}, confidence=0.9, clip=3, largest_weight=60)
    assert found == json.loads(json.dumps(wanted.to_json())) and found["schema"] == 1
    chances = [f"log{k}" for k in range(5)]
    assert asked(log, "--json", "--probabilities", *chances, "--rewards", "-1", "2", "--num-arms", "5") == 0
    full = json.loads(capsys.readouterr().out)
    assert full["rewards"] == [-1, 2] and full["policies"][0]["diagnostics"]["unsupported_mass"] == 0
    assert asked(log, "--json", "--least-propensity", "0.02", "--available", *chances) == 0
    assert json.loads(capsys.readouterr().out)["policies"][0]["weight_bound"] == pytest.approx(25)


def test_policies_by_name(log, capsys):
    several = ["column:new0,new1,new2,new3,new4", "greedy=column:best", "my_offline_policies:best", "arm:3", "uniform"]
    assert asked(log, "--json", *(word for each in several for word in ("--policy", each))) == 0
    values = {p["name"]: p["headline"]["value"] for p in json.loads(capsys.readouterr().out)["policies"]}
    arrays = {"new": POLICY, "best": np.eye(5)[ARMS], "arm:3": "arm:3", "uniform": "uniform"}
    wanted = jb.evaluate(LOG, arrays)
    names = [several[0], "greedy", "my_offline_policies:best", "arm:3", "uniform"]
    assert list(values) == names and values["greedy"] == values["my_offline_policies:best"]
    for name, same in zip([names[0], "greedy", "arm:3", "uniform"], wanted.policies, strict=True):
        assert values[name] == pytest.approx(same.value, rel=1e-6), name


@pytest.mark.slow
def test_bad_input_is_one_line_and_status_2(log, tmp_path, capsys):
    for arguments, message in (
        (["--policy", "unifrom"], 'unifrom", must be uniform, arm:LABEL, column:NAME or module:function; did you mean'),
        (["--policy", "arm:5"], "must be uniform, or arm:LABEL with one of the arms 0, 1, 2, 3, 4"),
        (["--policy", "column:bset"], "has no column 'bset', its columns are 'x', 'arm', 'click'"),
        (["--policy", "column:new0,new1"], "names 2 columns, must name 1, with the arm that the policy takes, or 5"),
        (["--policy", "column:x"], "line 2: x = 0.4"),
        (["--policy", "column:new0,new1,new2,new3,new3"], "line 3: new0, new1, new2, new3, new3 sum to 0.1, must"),
        (["--policy", "=arm:1"], "--policy =arm:1 has no name, must be POLICY or NAME=POLICY"),
        (["--policy", "my_offline_policies:bets"], "has no bets in module my_offline_policies; did you mean 'best'?"),
        (["--policy", "my_offline_policies:THREE"], "is a int, must be a function from a context"),
        (["--policy", "my_offline_policies:fails"], "my_offline_policies:fails raises KeyError: 'nothing'"),
        (["--policy", "no_such_module_here:f"], "has no module no_such_module_here"),
        (["--policy", "uniform", "--policy", "uniform"], "is the second policy 'uniform', must have a name of its own"),
        (["--reward", "clik"], "has no column 'clik', its columns are 'x', 'arm', 'click'"),
        (["--context", "x", "y"], "has no column 'y'"),
        (["--largest-weight", "2"], "has the weight 10, must be at most 2"),
        (["--least-propensity", "0.5"], "must be at least least_propensity = 0.5"),
        (["--num-arms", "2"], "must be an arm: a whole number in [0, 1]"),
        (["--html", str(log)], "is not a report, so it is not replaced"),
    ):
        assert asked(log, *arguments) == 2, arguments
        said = capsys.readouterr().err
        assert message in said and said.count("\n") == 1, said
    assert cli.main(["evaluate", str(tmp_path / "none.csv")]) == 2
    assert "none.csv: cannot be read" in capsys.readouterr().err


def test_the_page_has_values_differences_diagnostics_and_what_is_assumed(log, tmp_path, capsys):
    page = tmp_path / "page.html"
    arguments = ["--policy", "new=column:best", "--policy", "uniform", "--html", str(page)]
    assert asked(log, *arguments) == 0 and asked(log, *arguments) == 0  # a report is replaced
    result = jb.evaluate(LOG, {"new": np.eye(5)[ARMS], "uniform": "uniform"})
    found, text = read(page), page.read_text()
    assert [row[0] for row in found.table("Values")[1:]] == ["new", "uniform"]
    assert f"<h1>Off-policy evaluation: {log.name}</h1>" in text
    assert all(" ".join(str(difference).split()) in text for difference in result.differences())
    diagnostics = found.table("Diagnostics")
    assert diagnostics[1][1] == f"{result['new'].diagnostics.ess:,.4g}" and diagnostics[1][6] == "not known"
    assert [row[0] for row in found.table("Estimates of new")[1:4]] == ["DR", "DR", "IPS"]
    for line in (*result.assumptions, "the normal interval is dropped", "which is no bound"):
        assert line in text
    [chart] = found.data
    assert [curve["x"] for curve in chart["curves"]] == [[0, 1], [2]] and chart["names"] == [
        "new",
        "uniform",
        "the log",
    ]
    assert chart["curves"][0]["y"][1] == pytest.approx(result["uniform"].value, rel=1e-4)
    bare = tmp_path / "bare.html"
    assert cli.main(["evaluate", str(log), "--action", "arm", "--reward", "click", "--html", str(bare)]) == 0
    main = bare.read_text().partition("<main>")[2].partition("</main>")[0]
    assert "No propensities: only the direct method" in bare.read_text() and not re.search(r"\bnan\b", main)
