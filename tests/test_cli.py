"""The command line: what it prints, what it writes, and its exit status."""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from small_experiment import TWO, UCB1, written

import jaxbandit
from jaxbandit import __version__
from jaxbandit.decide.loading import load
from jaxbandit.engine.storage import files as storage
from jaxbandit.engine.storage.json_files import read_json
from jaxbandit.lab import cli
from jaxbandit.lab.cli.commands import COMMANDS
from jaxbandit.lab.experiments import playing as running
from jaxbandit.lab.specs.registry import ALGORITHMS, ENVIRONMENTS
from jaxbandit.running import progress

pytestmark = pytest.mark.quickly_compiled

TEXT = written(
    "simulate",
    {"name": "it"} | TWO,
    [{"name": "square", **UCB1, "c": {"sweep": [0.0, 3.0]}}, {"name": "none", "type": "uniform"}],
    name="tiny",
    runs=8,
    horizon=100,
    checkpoints=[10, 100],
)


REMEDY = "pip install xarray h5netcdf pandas matplotlib tqdm tyro tomli-w"


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiny.toml").write_text(TEXT, encoding="utf-8")
    return tmp_path


def fresh(code: str, *argv: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-c", code, *argv], capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("argv", [[], ["help"], ["--help"]])
def test_help_shows_all_commands_by_groups_in_eighty_columns(argv, capsys):
    assert cli.main(argv) == 0
    lines = capsys.readouterr().out.splitlines()
    named = [line.split()[0] for line in lines if line.startswith("  ") and not line.startswith("   ")]
    assert named == list(COMMANDS) and lines.count("Sessions:") == 1
    assert max(map(len, lines)) <= 80


def test_help_of_a_command(capsys):
    assert cli.main(["help", "gate"]) == cli.main(["gate", "--help"]) == 0
    first, second = capsys.readouterr().out.split("usage: jaxbandit gate")[1:]
    assert first == second


@pytest.mark.parametrize("argv", [["list"], ["list", "--json"], ["--help"], ["run", "--help"], ["--version"]])
def test_help_and_listing_import_no_jax(argv):
    code = (
        "import sys; from jaxbandit.lab.cli import main; status = main(sys.argv[1:]); "
        "print({'jax', 'numpy', 'matplotlib'} & set(sys.modules), file=sys.stderr); sys.exit(status)"
    )
    done = fresh(code, *argv)
    assert done.returncode == 0 and done.stdout
    assert done.stderr.strip() == "set()"


def test_list(capsys):
    assert cli.main(["list"]) == 0
    text = capsys.readouterr().out
    for name in (*ALGORITHMS, *ENVIRONMENTS, "crowd", "five_arms", "ucboost"):
        assert re.search(rf"  {name}$|  {name}  ", text, re.MULTILINE), name
    assert cli.main(["list", "--json"]) == 0
    listing = json.loads(capsys.readouterr().out)
    assert {item["name"]: item["kind"] for item in listing["algorithms"]} == {n: e.kind for n, e in ALGORITHMS.items()}
    assert {"name", "arguments", "summary"} == set(listing["environments"][0])


def test_version(capsys):
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == f"jaxbandit {__version__}\n"


@pytest.mark.slow
def test_run_prints_a_table_and_writes_a_directory(tiny, capsys, monkeypatch):
    monkeypatch.setattr(progress, "LINE_SECONDS", float("inf"))  # however busy the machine is
    assert cli.main(["run", "tiny.toml"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    lines = captured.out.splitlines()
    head = "instance algorithm regret 95 % interval lower bound"
    assert lines[0].split() == head.split()
    assert [line.split()[:2] for line in lines[2:4]] == [["it", "square?c=0"], ["it", "square?c=3"]]
    assert "8 runs, regret after 100 rounds" in captured.out
    names = set(os.listdir("tiny-result"))
    assert {"spec.toml", "summary.json", "cell-000.npz", "cell-002.npz"} <= names
    assert any(name.endswith(".png") and f"tiny-result/{name}" in captured.out for name in names)
    assert cli.main(["run", "tiny.toml", "--timings"]) == 0
    assert capsys.readouterr().out.splitlines()[0].split() == [*head.split(), "compile", "s", "run", "s"]


@pytest.mark.slow
def test_json_is_one_document_with_the_fixed_names(tiny, capsys):
    argv = ["run", "tiny.toml", "--out", "there", "--json", "--set", "runs=4", "--set", "seed=3"]
    assert cli.main(argv) == 0
    document = json.loads(capsys.readouterr().out)
    assert {key: document[key] for key in ("schema", "name", "kind", "seed", "jaxbandit", "precision")} == {
        "schema": 1,
        "name": "tiny",
        "kind": "simulate",
        "seed": 3,
        "jaxbandit": __version__,
        "precision": "float32",
    }
    cell = document["cells"][1]
    assert (cell["instance"], cell["algorithm"], cell["params"], cell["runs"]) == ("it", "square", {"c": 3.0}, 4)
    regret = cell["regret"]
    assert regret["at"] == [10, 100] and set(regret) == {"at", "mean", "se", "low", "high", "runs", "lower_bound"}
    assert sum(cell["pulls"]["mean"]) == pytest.approx(100)
    assert set(cell["seconds"]) == {"compile", "run"} and cell["run_steps"] == 400
    uniform = document["cells"][2]
    # its gap is 0.8: the pulls and the regret must tell one story
    assert uniform["regret"]["mean"][-1] == pytest.approx(0.8 * uniform["pulls"]["mean"][0], rel=1e-5)
    assert read_json(Path("there/summary.json"), storage.RECOMPUTE) == document
    with open("there/spec.toml", "rb") as file:
        assert tomllib.load(file)["runs"] == 4


@pytest.mark.slow
def test_interrupt_is_status_3_and_the_same_command_resumes(tiny, capsys, monkeypatch):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    simulate = running.simulate_cell
    monkeypatch.setattr(running, "simulate_cell", interrupted)
    assert cli.main(["run", "tiny.toml", "--out", "there"]) == 3
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1 and "run the same command to resume" in captured.err
    monkeypatch.setattr(running, "simulate_cell", simulate)
    assert cli.main(["run", "tiny.toml", "--out", "there"]) == 0
    assert cli.main(["run", "tiny.toml", "--out", "there", "--set", "seed=9"]) == 2
    assert "seed is 0 there, 9 here" in capsys.readouterr().err


def test_disk_full_is_status_3(tiny, capsys, monkeypatch):
    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(running, "simulate_cell", full)
    assert cli.main(["run", "tiny.toml"]) == 3
    assert "No space left on device" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["run", "tiny.toml", "--out", "there"], ["plot", "there"]])
def test_a_disk_that_is_full_when_figures_are_written_keeps_the_results(command, tiny, capsys, monkeypatch):
    from jaxbandit.running.plotting import figures

    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    if command[0] == "plot":
        assert cli.main(["run", "tiny.toml", "--out", "there"]) == 0
        capsys.readouterr()
    monkeypatch.setattr(figures, "write_figures", full)
    assert cli.main(command) == 3
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and "the figures cannot be written (No space left on device)" in err
    assert "run `jaxbandit plot there` to draw the figures" in err
    assert len(load("there")) == 3


@pytest.mark.slow
def test_runs_horizon_seed_and_quick_are_options(tiny, capsys):
    assert cli.main(["run", "tiny.toml", "--runs", "3", "--horizon", "50", "--seed", "7", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["seed"] == 7 and [cell["runs"] for cell in document["cells"]] == [3, 3, 3]
    assert document["cells"][0]["regret"]["at"] == [10, 50]  # the file's 100 is beyond
    assert cli.main(["run", "tiny.toml", "--set", "runs=100", "--quick", "--out", "there", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["cells"][0]["runs"] == 20


def test_run_from_python_is_the_command(tiny, capsys):
    assert cli.main(["run", "tiny.toml", "--out", "there", "--json"]) == 0
    found = jaxbandit.run("tiny.toml", "there")  # nothing is left to play
    assert [r.to_json() for r in found] == [r.to_json() for r in load("there")] and found.name == "tiny"
    again = jaxbandit.run("tiny.toml", runs=3, overrides=["algorithm.none.name=even"])
    assert [(r.algorithm, r.runs) for r in again] == [("square", 3), ("square", 3), ("even", 3)]
    with pytest.raises(ValueError, match=r"tiny\.toml: runs = 0, must be"):
        jaxbandit.run("tiny.toml", runs=0)


def test_a_bug_keeps_its_traceback(tiny, monkeypatch):
    def bug(*args, **kwargs):
        raise ValueError("operands could not be broadcast")

    monkeypatch.setattr(running, "simulate_cell", bug)
    with pytest.raises(ValueError, match="broadcast"):
        cli.main(["run", "tiny.toml"])


@pytest.mark.parametrize("module", ["tyro", "tomli_w"])
def test_a_missing_extra_is_named(module, tiny, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    for name in [name for name in sys.modules if name == "jaxbandit.lab.cli.commands"]:
        monkeypatch.delitem(sys.modules, name)
    assert cli.main(["run", "tiny.toml"]) == 2
    err = capsys.readouterr().err
    assert err == f"jaxbandit: {module} is not installed; the extra lab needs it: {REMEDY}\n"
    assert not os.path.exists("tiny-result")


def test_no_figure_without_matplotlib(tiny, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    assert cli.main(["run", "tiny.toml"]) == 0
    captured = capsys.readouterr()
    assert "square" in captured.out
    assert captured.err == f"jaxbandit: no figure: matplotlib is not installed; the extra lab needs it: {REMEDY}\n"


@pytest.mark.slow
def test_plot_and_compare(tiny, capsys):
    assert cli.main(["run", "tiny.toml", "--out", "a", "--json"]) == 0
    assert cli.main(["run", "tiny.toml", "--out", "b", "--json", "--set", "algorithm.none.name=none"]) == 0
    capsys.readouterr()
    assert cli.main(["plot", "a"]) == 0
    assert all(os.path.getsize(path) > 0 for path in capsys.readouterr().out.split())
    assert cli.main(["compare", "a", "b", "--json"]) == 0
    comparisons = json.loads(capsys.readouterr().out)["comparisons"]
    assert [item["difference"] for item in comparisons] == [0.0, 0.0, 0.0]
    assert cli.main(["compare", "a", "b"]) == 0
    assert "square" in capsys.readouterr().out


def test_as_a_process(tiny):
    done = subprocess.run(
        [sys.executable, "-m", "jaxbandit", "run", "tiny.toml", "--set", "runs=0"], capture_output=True, text=True
    )
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr == "jaxbandit: tiny.toml: runs = 0, must be an integer in [1, 2147483647]\n"
