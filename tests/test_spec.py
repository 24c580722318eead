"""TOML to a resolved experiment and back."""

import dataclasses
import tomllib
from pathlib import Path

import numpy as np
import pytest

from jaxbandit.algorithms.regret.ucb import ucb1
from jaxbandit.algorithms.regret.uniform import uniform
from jaxbandit.lab.cli import commands
from jaxbandit.lab.specs import registry, source, spec
from jaxbandit.lab.specs.arguments import read_csv
from jaxbandit.support.refusals import BadInput

EPILEPSY = Path(__file__).parents[2] / "shared" / "data" / "epilepsy"

TEXT = """
name = "two"
kind = "simulate"
runs = 10
horizon = 500
allow = ["rewards"]

[[instance]]
name = "b"
type = "bernoulli"
means = [0.1, 1, 0.9]

[[instance]]
name = "g"
type = "gaussian"
means = [0.0, 1.0]

[[algorithm]]
name = "kl"
type = "ucb"
distance = "kl"

[[algorithm]]
type = "ucb1"
c = {sweep = [0, 1.5, 3]}

[[algorithm]]
type = "moss"
"""


def write(folder: Path, text: str = TEXT) -> Path:
    path = folder / "two.toml"
    path.write_text(text, encoding="utf-8")
    return path


def resolved(text: str = TEXT, **changes):
    return spec.parse(tomllib.loads(text) | changes, "two.toml")


def test_defaults_are_written_out():
    experiment = resolved()
    assert (experiment.seed, experiment.precision, experiment.checkpoints[-1]) == (0, "float32", 500)
    assert experiment.instances[0].arguments == {"means": (0.1, 1.0, 0.9), "permute": False}
    assert experiment.instances[1].arguments == {"means": (0.0, 1.0), "sigma": 1.0, "permute": False}
    assert experiment.algorithms[0].arguments == {"distance": "kl", "c": 0.0}
    assert [item.name for item in experiment.algorithms] == ["kl", "ucb1", "moss"]


def test_a_long_horizon_is_played_in_float64():
    """Beyond 2^24 rounds float32 is no default, and refused (tests/test_bad_input.py)."""
    assert [resolved(horizon=n).precision for n in (2**24, 2**24 + 1)] == ["float32", "float64"]


def test_cells_are_instances_by_algorithms_by_values_of_a_sweep():
    cells = list(resolved().cells())
    assert [cell.index for cell in cells] == list(range(10))
    assert [cell.instance.name for cell in cells] == ["b"] * 5 + ["g"] * 5
    assert [cell.params.get("c") for cell in cells[:5]] == [0.0, 0.0, 1.5, 3.0, None]


def test_the_instance_and_the_horizon_fill_what_is_not_given():
    experiment = resolved()
    by_name = {(cell.instance.name, cell.algorithm.name): cell.arguments for cell in experiment.cells()}
    assert by_name["b", "kl"]["num_arms"] == 3 and by_name["g", "kl"]["num_arms"] == 2
    assert by_name["b", "moss"]["horizon"] == 500
    assert "horizon" not in next(a for a in experiment.algorithms if a.name == "moss").arguments
    given = resolved(algorithm=[{"type": "moss", "horizon": 7}, {"name": "any", "type": "moss", "horizon": "none"}])
    assert [cell.arguments["horizon"] for cell in given.cells()][:2] == [7, None]


def knows_sigma(num_arms: int, *, sigma: float):
    return uniform(num_arms)


def knows_the_truth(num_arms: int, *, means: float):
    return uniform(num_arms)


def test_public_data_is_filled_and_the_truth_is_not():
    text = TEXT.partition("[[algorithm]]")[0]
    instances = tomllib.loads(text)["instance"]
    told = [{"type": f"{__name__}:knows_sigma"}]
    experiment = resolved(text, algorithm=told, instance=instances[1:])
    assert next(experiment.cells()).arguments == {"sigma": 1.0, "num_arms": 2}
    with pytest.raises(BadInput, match=r"algorithm\[0\]\.sigma: missing"):  # Bernoulli arms have no sigma
        resolved(text, algorithm=told, instance=instances[:1])
    with pytest.raises(BadInput, match=r"algorithm\[0\]\.means: missing"):
        resolved(text, algorithm=[{"type": f"{__name__}:knows_the_truth"}])


def test_written_spec_reads_back_equal(tmp_path):
    experiment = spec.load(write(tmp_path))
    again = spec.load(write(tmp_path, experiment.to_toml()))
    assert again == experiment
    assert tomllib.loads(experiment.to_toml()) == experiment.to_dict()


def test_experiments_are_equal_by_values_and_not_by_spelling():
    base = resolved()
    assert resolved(seed=0, precision="float32", per_run=True, max_failed=0.1) == base
    assert resolved(TEXT.replace("[0, 1.5, 3]", "[0.0, 1.5, 3.0]")) == base
    for changes in ({"seed": 1}, {"runs": 11}, {"precision": "float64"}, {"checkpoints": [500]}, {"hindsight": True}):
        assert resolved(**changes) != base
    assert resolved(TEXT.replace("0.9", "0.8")) != base


def test_the_horizon_is_the_last_checkpoint():
    assert resolved(checkpoints=[10, 20]).checkpoints == (10, 20, 500)
    assert resolved(checkpoints=[10, 500]).checkpoints == (10, 500)


def test_overrides(tmp_path):
    experiment = spec.load(
        write(tmp_path),
        [
            "runs=3",
            "precision=float64",
            "instance.b.means=[0.5, 0.6]",
            "algorithm.kl.distance=sq",
            "algorithm.1.c={sweep = [2.0]}",
            'algorithm."moss".name="other.name"',
            'algorithm."other.name".horizon=none',
        ],
    )
    assert (experiment.runs, experiment.precision) == (3, "float64")
    assert experiment.instances[0].known["num_arms"] == 2
    assert [dict(item.arguments) for item in experiment.algorithms] == [
        {"distance": "sq", "c": 0.0},
        {"c": (2.0,)},
        {"horizon": None},
    ]


def test_csv_header_and_labels_are_left_out(tmp_path):
    file = tmp_path / "rewards.csv"
    numbers = ((1.0, 2.5), (3.0, -4e-1))
    for text in ("1,2.5\n3,-4e-1\n", "a,b\n1,2.5\n\n3,-4e-1\n", "\ufeffday,a,b\nmon, 1, 2.5\ntue,3,-4e-1\n"):
        file.write_text(text, encoding="utf-8")
        assert read_csv("here", file) == numbers
    table = {"type": "table", "rewards": "rewards.csv"}
    data = {"kind": "simulate", "runs": 1, "horizon": 9, "instance": [table], "algorithm": [{"type": "uniform"}]}
    assert spec.parse(data, "x.toml", tmp_path).instances[0].arguments["rewards"] == numbers
    nested = spec.parse(data | {"instance": [table | {"rewards": [[1, 2.5], [3, -0.4]]}]}, "x.toml")
    assert nested == spec.parse(data, "x.toml", tmp_path)  # the numbers count, not where they lay


def test_real_table():
    if not EPILEPSY.exists():
        pytest.skip("needs the recorded rewards of github.com/clreda/linear-top-m in ../shared/data/epilepsy")
    table = {"type": "table", "rewards": "rewards.csv", "features": "features.csv"}
    data = {"kind": "simulate", "runs": 1, "horizon": 9, "instance": [table], "algorithm": [{"type": "ucb1"}]}
    instance = spec.parse(data, "x.toml", EPILEPSY).instances[0]
    assert instance.known["num_arms"] == 10
    assert np.shape(instance.arguments["rewards"]) == (18, 10)
    assert len(instance.known["features"]) == 10


@pytest.mark.slow
def test_embedded_experiments_are_valid():
    for name in source.embedded_files():
        data = spec.read(source.locate(name))
        if "figures" in data.get("paper", {}):  # an experiment a figure: their own tests read them
            continue
        experiment = spec.load(name)
        assert len(list(experiment.cells())) >= 1
    assert spec.load("crowd").instances[0].known["num_arms"] == 36
    assert spec.load(commands.DEFAULT_SPEC).instances[0].known["num_arms"] == 5


def test_experiment_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        resolved().runs = 3  # pyright: ignore[reportAttributeAccessIssue]
    assert ucb1 is registry.ALGORITHMS["ucb1"].factory()
