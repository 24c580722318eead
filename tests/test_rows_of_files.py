"""The rows of a file as an environment, from Python and from TOML; names in place of arrays; each error is one line."""

import re
from pathlib import Path

import jax
import numpy as np
import pytest

import jaxbandit as jb
from jaxbandit.environments.contextual.rows import rows
from jaxbandit.lab import cli
from jaxbandit.lab.experiments import forecast

pytestmark = pytest.mark.quickly_compiled

TEXT = "x,y,kind,u,v,a,b\n0.5,1,cat,1,0,1,1\n2,-1,dog,,1,no,yes\n1,0,cat,0.5,0.2,1,1\n"
VALUES = np.array([[0.5, 1.0], [2.0, -1.0], [1.0, 0.0]])
SCALED = np.column_stack([np.ones(3), (VALUES - VALUES.mean(0)) / VALUES.std(0)]) / 3**0.5


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "some.csv"
    path.write_text(TEXT)
    return path


def tables(environment):
    with jax.enable_x64(True):
        return environment.init(jax.random.key(0)).tables


def test_columns_of_a_csv_file_are_contexts_and_classes(file):
    environment = rows(file, contexts=("x", "y"), label="kind")
    assert environment.name == "rows" and environment.arms == jb.Arms(2, context=(3,))
    np.testing.assert_allclose(tables(environment).data, SCALED, rtol=1e-12)
    np.testing.assert_array_equal(tables(environment).labels, [0, 1, 0])
    np.testing.assert_array_equal(tables(rows(file, contexts="x", label="kind", standardize=False)).data, VALUES[:, :1])


def test_columns_of_a_csv_file_are_contexts_and_rewards(file):
    environment = rows(file, contexts=("x", "y"), rewards=("u", "v"), available=("a", "b"), order="as_is")
    assert environment.arms == jb.Arms(2, context=(3,), available=True)
    found = tables(environment)
    np.testing.assert_allclose(found.contexts, SCALED, rtol=1e-12)
    np.testing.assert_array_equal(found.rewards, [[1, 0], [0, 1], [0.5, 0.2]])
    np.testing.assert_array_equal(found.available, [[True, True], [False, True], [True, True]])
    assert rows(file, rewards=("v", "x")).arms == jb.Arms(2)


def test_arrays_of_an_npz_file_are_contexts_and_rewards(tmp_path):
    each = np.arange(12.0).reshape(3, 2, 2)
    path = tmp_path / "some.npz"
    np.savez(
        path,
        each=each,
        paid=VALUES,
        open=np.array([[0, 1], [1, 0], [1, 0]]) == 1,
        kind=np.array(["b", "a", "b"]),
        x=VALUES[:, 0],
    )
    found = tables(rows(path, contexts="each", rewards="paid", available=None))
    np.testing.assert_array_equal(found.contexts, each)  # a row for each arm is used as it is
    np.testing.assert_array_equal(found.rewards, VALUES)
    np.testing.assert_array_equal(tables(rows(path, contexts=("x",), label="kind")).labels, [1, 0, 1])
    masked = rows(path, contexts="each", rewards="paid", available="open", order="as_is")
    np.testing.assert_array_equal(tables(masked).available, [[False, True], [True, False], [True, False]])


REFUSED = {
    "nothing": ({}, "rows: label and rewards: neither is given, must be one of them"),
    "both": ({"label": "kind", "rewards": ("u",)}, "rows: label and rewards: both are given"),
    "no contexts": ({"label": "kind"}, "rows: contexts = None, must be the names of columns of numbers"),
    "a mask of classes": (
        {"contexts": "x", "label": "kind", "available": "a"},
        "rows: available = 'a', must be left out",
    ),
    "a number": ({"contexts": 3, "label": "kind"}, "rows: contexts = 3, must be the name of a column, or a list"),
    "no column": ({"contexts": "z", "label": "kind"}, "some.csv: has no column 'z', its columns are 'x', 'y'"),
    "a text": ({"contexts": ("x", "kind"), "rewards": ("v",)}, 'some.csv: line 2: kind = "cat", must be a number'),
    "an empty cell": ({"contexts": "x", "rewards": ("u", "v")}, "rewards[1, 0] = nan, must be in"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_wrong_argument_is_refused_in_one_line(file, case):
    given, words = REFUSED[case]
    with pytest.raises(ValueError) as caught:
        rows(file, **given)
    assert words in str(caught.value) and "\n" not in str(caught.value)


def test_files_that_cannot_be_read_are_refused(tmp_path):
    (tmp_path / "broken.npz").write_bytes(b"PK\x03\x04")
    (tmp_path / "text.npz").write_text(TEXT)
    np.savez(tmp_path / "other.npz", x=np.ones(3))
    for name, words in {
        "none.csv": "none.csv: cannot be read (No such file or directory); give a CSV file",
        "none.npz": "none.npz: cannot be read",
        "broken.npz": "broken.npz: cannot be read",
        "other.npz": "other.npz: has no array 'kind', its arrays are 'x'",
        "text.npz": "text.npz: cannot be read",
    }.items():
        with pytest.raises(ValueError) as caught:
            rows(tmp_path / name, contexts="x", label="kind")
        assert words in str(caught.value) and str(caught.value).startswith("rows: ") and "\n" not in str(caught.value)


TOML = """
kind = "simulate"
runs = 4
horizon = 3
[[instance]]
type = "rows"
file = "some.csv"
contexts = ["x", "y"]
label = "kind"
[[instance]]
type = "linear_vectors"
num_arms = 2
dim = 3
law = "sphere"
[[algorithm]]
type = "lin_ucb_disjoint"
"""


@pytest.mark.slow
def test_a_toml_file_names_the_columns_of_a_file_beside_it(file, tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    path = tmp_path / "one.toml"
    path.write_text(TOML)
    found = jb.run(path, tmp_path / "out")
    assert [result.instance for result in found] == ["rows", "linear_vectors"]
    assert not any(result.moves for result in found)  # the next row is no change of the means
    for old, new, words in (
        ("some.csv", "same.csv", "instance[0]: same.csv: cannot be read"),
        ('"kind"\n[', '"kinds"\n[', "has no column 'kinds', its columns are 'x', 'y', 'kind'"),
        ('"sphere"', '"shpere"', "instance[1].law = \"shpere\", must be one of normal, sphere; did you mean 'sphere'?"),
        ('"sphere"', '"law.csv"', 'law.csv": cannot be read'),
        ("dim = 3", "dim = 0", "instance[1].dim = 0, must be an integer >= 1"),
        ("horizon = 3", "horizon = 4", "horizon = 4, must be at most 3, the environment's number of rounds"),
    ):
        path.write_text(TOML.replace(old, new))
        with pytest.raises(ValueError) as caught:
            jb.run(path, tmp_path / "wrong")
        assert words in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.slow
def test_the_file_of_the_guide_is_an_experiment(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(forecast, "SECONDS", 0.0)
    page = (Path(__file__).parents[1] / "docs" / "contexts.md").read_text(encoding="utf-8")
    for begin, name in (("toml\n", "visits.toml"), ("text\n(?=age,visits)", "visits.csv")):
        [text] = re.findall(rf"^```{begin}(.*?)^```$", page, re.MULTILINE | re.DOTALL)
        Path(name).write_text(text, encoding="utf-8")
    assert cli.main(["run", "visits.toml", "--dry-run"]) == 0
