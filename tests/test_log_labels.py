"""Arms are what the log names, whatever they are called, and the formats in which other tools write logs."""

import json

import numpy as np
import pytest

import jaxbandit as jb
from jaxbandit.lab import cli
from jaxbandit.support.refusals import BadInput

RNG = np.random.default_rng(1)


@pytest.mark.slow
def test_numbers_that_are_not_0_to_k_are_labels():
    """201 items with numbers up to 845 are 201 arms: "uniform" takes each with 1/201, and not with 1/846."""
    items = np.sort(RNG.permutation(846)[:201])
    items[-1] = 845
    action = np.concatenate([items, RNG.choice(items, 2000)])
    log = jb.read_log(action=action, reward=np.full(2201, 0.25), propensity=np.full(2201, 1 / 201))
    assert log.num_arms == 201 and log.arms == tuple(items.tolist())
    assert [log.arms[k] for k in log.action[:201]] == items.tolist()
    found = jb.evaluate(log, "uniform")
    assert found.only.estimate("IPS", "normal").value == pytest.approx(0.25)
    assert found.only.diagnostics.mean_weight == pytest.approx(1)
    assert f"201 arms ({items[0]}, {items[1]}, " in str(found) and "845)" in str(found)


@pytest.mark.parametrize("cells, arms", [
    (["b", "a", "b", " a"], ("a", "b")), ([1, 2, 1, 2], (1, 2)), ([0, 1, 3, 1], (0, 1, 3)), ([2.0, 7.0, 2, 2], (2, 7)),
    (["10", "9", "9.0", "10"], (9, 10)), (["07", "7", "7", "07"], ("07", "7")), ([True, False, True, True], (0, 1)),
    ([1.5, 1, 1.5, 1], ("1", "1.5")), ([-1, 3, 3, 3], (-1, 3)), (np.array(["x", "y", "x", "x"]), ("x", "y")),
])  # fmt: skip
def test_labels(cells, arms):
    log = jb.read_log(action=cells, reward=np.arange(4) / 4)
    assert log.arms == arms and log.action.dtype == np.int32
    written = [str(cell).strip().removesuffix(".0") for cell in np.asarray(cells).tolist()]
    written = [{"True": "1", "False": "0"}.get(each, each) for each in written]
    assert [str(log.arms[k]) for k in log.action] == written
    assert log[1:3].arms == arms


def test_arms_that_are_given_may_be_in_no_row_and_have_an_order():
    log = jb.read_log(action=["b", "a", "b", "b"], reward=[0, 1, 1, 0], propensity=[0.5] * 4, arms=["c", "b", "a"])
    assert log.arms == ("c", "b", "a") and log.action.tolist() == [1, 2, 1, 1] and "3 arms (c, b, a)" in repr(log)
    found = jb.evaluate(log, {"one": "arm:b", "two": lambda x: {"b": 1.0}, "three": np.tile([0.0, 1, 0], (4, 1))})
    assert found["one"].value == found["two"].value == found["three"].value == pytest.approx(1 / 3)
    assert jb.evaluate(log, "uniform").only.diagnostics.never_pulled == ("c",)
    assert found.to_json()["arms"] == ["c", "b", "a"] and "3 arms (c, b, a)" in found.first_line
    chances = jb.read_log(action=["A", "B"], reward=[0, 1], probabilities=np.full((2, 2), 0.5), arms=["B", "A"])
    assert chances.action.tolist() == [1, 0]
    assert jb.read_log(action=["1", "0"], reward=[0, 1], num_arms=4).arms == (0, 1, 2, 3)


def test_labels_that_cannot_be_are_refused():
    rows = {"action": ["a", "b", "a"], "reward": [0, 1, 0]}
    for arguments, message in (
        ({"arms": ["a", "c"]}, "row 1: action = b, must be one of the arms a, c"),
        ({"arms": ["banner", "b"], "action": ["baner", "b", "b"]}, "one of the arms banner, b; did you mean 'banner'"),
        (
            {"num_arms": 2},
            r"row 0: action = a, must be an arm: a whole number in \[0, 1\]; other arms are named by arms",
        ),
        ({"action": ["a", "", "a"]}, 'row 1: action = "", must be the label'),
        ({"action": [1.0, np.inf, 2.0]}, 'row 1: action = "inf", must be the label'),
        ({"action": [1, None, 2]}, 'row 1: action = "None", must be the label'),
        ({"arms": ["a", "b", "a"]}, "arms = .*, must be labels that differ: a"),
        ({"arms": "ab"}, "arms = 'ab', must be a list of the labels"),
        ({"arms": ["a", "b"], "num_arms": 3}, "arms names 2 arms, must name 3"),
        ({"action": 3}, "action = 3, must be an array with one entry for each row"),
    ):
        with pytest.raises(BadInput, match=message) as error:
            jb.read_log(**{**rows, **arguments})
        assert "\n" not in str(error.value)
    log = jb.read_log(**rows, propensity=[0.5] * 3)
    for policy, message in (("arm:c", "must be uniform, or arm:LABEL with one of the arms a, b"),
                            (lambda x: {"c": 1.0}, "row 0: the function returns the arm = 'c', must be one of"),
                            (lambda x: {"a": 0.5}, "row 0: probabilities sum to 0.5, must sum to 1"),
                            (np.full((3, 3), 1 / 3), r"float\[3, 2\].*the arms of the log are a, b")):  # fmt: skip
        with pytest.raises(BadInput, match=message):
            jb.evaluate(log, policy)


def test_the_command_takes_labels(tmp_path, capsys, monkeypatch):
    path = tmp_path / "log.csv"
    rows = [f"{'red' if i % 2 else 'blue'},{i % 3 == 0:d},.5,{'blue' if i % 5 else 'red'}" for i in range(60)]
    path.write_text("\n".join(["shown,click,p,new", *rows]))
    named = ["evaluate", str(path), "--action", "shown", "--reward", "click", "--propensity", "p", "--json"]
    assert cli.main([*named, "--policy", "arm:red", "--policy", "column:new"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["arms"] == ["blue", "red"]
    shown = [row.split(",") for row in rows]
    weight = [2.0 * (action == new) for action, _, _, new in shown]
    ips = next(e for e in found["policies"][1]["estimates"] if e["estimator"] == "IPS")
    assert ips["value"] == pytest.approx(np.mean([w * float(row[1]) for w, row in zip(weight, shown, strict=True)]))
    assert cli.main([*named, "--arms", "red", "green", "blue"]) == 0
    assert json.loads(capsys.readouterr().out)["policies"][0]["diagnostics"]["never_pulled"] == ["green"]
    path.write_text("arm,cost,p\n0,1,.5\n1,0,.5\n")
    assert cli.main(["evaluate", str(path), "--action", "arm", "--cost", "cost", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["costs"] and found["rewards"] == [-1, 0] and found["log"]["value"] == -0.5


CB = """1:2.0:0.4 | a:1 b
3:0.5:0.2 'tag |u:2 a:2

4:1.5:0.5 | b c
"""
ADF = """shared |u age:3
0:0.125:0.25 |a x=1
|a x=2

shared |u age:4
|a x=1
0:0.25:0.5 |a x=2
|a x=3
"""


def read(tmp_path, text, format, **options):
    path = tmp_path / "log.txt"
    path.write_text(text)
    return jb.read_log(path, format=format, **options)


def test_the_text_of_vowpal_wabbit(tmp_path):
    log = read(tmp_path, CB, "vw", rewards=(-2, 0), context="features")
    assert log.arms == (1, 3, 4) and log.action.tolist() == [0, 1, 2] and log.reward.tolist() == [-2, -0.5, -1.5]
    assert log.propensity.tolist() == [0.4, 0.2, 0.5] and log.costs
    assert log.context.tolist() == [[1, 1, 0, 0], [0, 0, 4, 0], [0, 1, 0, 1]]  # a, b, u^a, c
    assert "rewards in [-2, 0], which are costs times -1" in repr(log)
    assert "; rewards are costs times -1" in str(jb.evaluate(log, "uniform"))
    assert read(tmp_path, CB.replace("2.0", "1"), "vw", rewards=(-2, 0)).context is None
    own = read(tmp_path, CB, "vw", rewards=(-2, 0), propensity=[0.5, 0.25, 1], arms=range(1, 6))
    assert own.propensity.tolist() == [0.5, 0.25, 1] and own.arms == (1, 2, 3, 4, 5)
    log = read(tmp_path, ADF, "vw", context="features")
    assert log.arms == (0, 1, 2) and log.action.tolist() == [0, 1] and log.reward.tolist() == [-0.125, -0.25]
    assert log.available.tolist() == [[True, True, False], [True, True, True]] and log.rewards == (-1, 0)
    assert log.context.tolist() == [
        [[3, 1, 0, 0], [3, 0, 1, 0], [0, 0, 0, 0]],
        [[4, 1, 0, 0], [4, 0, 1, 0], [4, 0, 0, 1]],
    ]
    same = read(tmp_path, ADF.replace("\n|a x=3", ""), "vw")
    assert same.available is None and same.num_arms == 2


def test_json_of_decisions_and_of_rows_and_feedback(tmp_path):
    lines = [
        {"_label_cost": -1, "_label_probability": 0.8, "_label_Action": 2, "a": [2, 1, 3], "p": [0.8, 0.1, 0.1],
         "c": {"shared": {"age": 3, "place": "x"}, "_multi": [{"i": 1}, {"i": 2}]}},
        {"_label_cost": 0, "_label_probability": 0.5, "_label_Action": 1, "a": [1, 2], "p": [0.5, 0.5],
         "c": {"shared": {"age": 4, "old": True}}},
    ]  # fmt: skip
    text = "\n\n".join(map(json.dumps, lines))
    log = read(tmp_path, text, "dsjson", rewards=(0, 1), context="features")
    assert log.arms == (1, 2, 3) and log.action.tolist() == [1, 0] and log.reward.tolist() == [1, 0]
    assert log.available.tolist() == [[True] * 3, [True, True, False]] and log.propensity.tolist() == [0.8, 0.5]
    assert log.context.tolist() == [[3, 1, 0], [4, 0, 1]]
    rows = '{"banner": "A", "click": true, "x": [1, 2], "p": 0.5}\n{"banner": "B", "click": 0.5, "x": [1, 3], "p": 1}\n'
    log = read(tmp_path, rows, "jsonl", action="banner", reward="click", context="x", propensity="p")
    assert log.arms == ("A", "B") and log.reward.tolist() == [1, 0.5] and log.context.tolist() == [[1, 2], [1, 3]]
    feedback = {"n_rounds": 3, "n_actions": 4, "action": np.array([0, 1, 1]), "reward": np.array([0, 1, 1]),
                "pscore": np.full(3, 0.25), "context": np.ones((3, 2)), "position": None}  # fmt: skip
    log = jb.read_log(feedback, format="obp", context="context")
    assert log.num_arms == 4 and log.propensity.tolist() == [0.25] * 3 and log.context.shape == (3, 2)
    assert jb.read_log(feedback, format="obp").context is None


@pytest.mark.parametrize("format, text, message", [
    ("vw", "1:2:0.5 | a\n1:2 | a", "line 2: has the label \"1:2\", must have one action:cost:probability"),
    ("vw", "1:2:0.5 | a\n1:2:x | a", "line 2: has the label"),
    ("vw", "1:2:0.5 | a\n1:2:0.5 2:1:0.5 | a", "line 2: has the label"),
    ("vw", "1:.2:0.5 2 3 | a\n1:.2:0.5 | a", "line 1: names actions without a cost"),
    ("vw", ADF.replace("|a x=3", "2:1:0.5 |a x=3"), "line 5: 2 of the 3 lines of this decision have a label"),
    ("vw", ADF.replace("shared |u age:4", "shared |u age:4\nshared |u age:5"), "line 5: 1 of the 3 lines of this"),
    ("vw", "1:2:0.5 | a:b\n1:2:.5 | a", "line 1: has the feature \"a:b\", must be a name, or name:number"),
    ("vw", "1:2:0.5 | a\n1:.5:.5 | a", r"line 1: cost times -1 = -2.0, must be in \[-1, 0\]"),
    ("vw", "1:1:1.5 | a\n1:.5:.5 | a", r"line 1: propensity = 1.5, must be in"),
    ("jsonl", '{"action": 1, "reward": 1}\n{"action": 2}\n', "line 2: has no key 'reward', its keys are 'action'"),
    ("jsonl", '{"action": 1, "reward": 1}\n{"action": 2, \n', "line 2: not JSON"),
    ("jsonl", '{"action": 1, "reward": [1]}\n{"action": 2, "reward": [1, 2]}\n',
     r"line 2: reward has the shape \(2,\), must be \(1,\), as in the first row"),
    ("jsonl", '{"action": 1, "reward": 1}\n[2]\n', "line 2: must be a JSON object"),
    ("jsonl", '{"action": 1, "reward": 1}\n{"action": 2, "reward": "x"}\n', "line 2: reward = \"x\", must be a finite"),
    ("dsjson", '{"_label_cost": 1, "_label_Action": 1}\n', "line 1: has no number '_label_probability'"),
])  # fmt: skip
def test_lines_that_cannot_be_are_named(tmp_path, format, text, message):
    with pytest.raises(BadInput, match=message) as error:
        read(tmp_path, text, format, context="features" if format == "vw" else None)
    assert "\n" not in str(error.value) and "log.txt" in str(error.value)


def test_other_sources_are_refused():
    with pytest.raises(BadInput, match="has no 'pscore', must be a dictionary of bandit feedback"):
        jb.read_log({"action": [1], "reward": [1], "n_actions": 2}, format="obp")
    with pytest.raises(BadInput, match="must be the path of a file, because its format is vw"):
        jb.read_log({"action": [1]}, format="vw")
    with pytest.raises(ValueError, match="format = 'wv', must be"):
        jb.read_log("log.csv", format="wv")  # pyright: ignore[reportArgumentType]


def test_formats_use_the_strict_reader(tmp_path):
    twice = '{"action": 1, "reward": 0, "reward": 1}\n{"action": 2, "reward": 0}\n'
    with pytest.raises(BadInput, match=r'line 1: not JSON .*"reward" is given twice'):
        read(tmp_path, twice, "jsonl")
    with pytest.raises(BadInput, match="line 1: has the label"):
        read(tmp_path, "1:1_0:0.5 | a\n1:1:0.5 | a", "vw")
    (tmp_path / "zero").symlink_to("/dev/zero")
    with pytest.raises(BadInput, match="is a device, must be a regular file"):
        jb.read_log(tmp_path / "zero", format="vw")
