"""Metrics of an experiment in a file: named in TOML, played, resumed, grown, divided, compared and reported."""

import json
import re
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from small_experiment import THREE, UCB1, Stop, content, stop_after, written

import jaxbandit as jb
from jaxbandit.lab import cli
from jaxbandit.lab.experiments.experiment import run_experiment
from jaxbandit.lab.specs import spec
from jaxbandit.support.refusals import BadInput

pytestmark = pytest.mark.quickly_compiled
matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

MINE = """
import jax.numpy as jnp

def cost(r):
    return jnp.where(r.action == 1, 5.0, 0.0)


def above(level):
    return lambda r: r.feedback > level


ten = 10
"""
EXPERIMENT = written(
    "simulate",
    THREE,
    [UCB1, {"type": "thompson"}],
    name="metrics",
    runs=40,
    horizon=120,
    checkpoints=[20, 120],
    metrics=["reward", "mean_variance(1.0)", "mine:cost", "mine:above(0.5)"],
)
NAMES = ("reward", "mean_variance(1.0)", "cost", "above(0.5)")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working directory with a module of metrics whose name is its own."""
    monkeypatch.chdir(tmp_path)
    name = f"mine_{tmp_path.name.replace('-', '_')}"
    Path(f"{name}.py").write_text(MINE, encoding="utf-8")
    Path("metrics.toml").write_text(EXPERIMENT.replace("mine:", f"{name}:"), encoding="utf-8")
    return name


def experiment(folder, **changes):
    return spec.parse(tomllib.loads(EXPERIMENT.replace("mine:", f"{folder}:")) | changes, "metrics.toml")


@pytest.mark.slow
def test_an_experiment_with_metrics(folder, capsys):
    assert cli.main(["run", "metrics.toml", "--out", "a", "--json"]) == 0
    cells = json.loads(capsys.readouterr().out)["cells"]
    assert all(tuple(cell["metrics"]) == NAMES for cell in cells)
    own = {"cost": lambda r: 5.0 * jb.numerics.as_float(r.action == 1), "reward": jb.metrics.reward}
    alone = jb.simulate(
        jb.algorithms.ucb1(3),
        jb.environments.bernoulli([0.4, 0.5, 0.6]),
        horizon=120,
        num_runs=40,
        checkpoints=[20, 120],
        metrics=own,
    )
    for name in own:
        assert cells[0]["metrics"][name]["mean"] == pytest.approx(list(alone.moments(name)[0]))
    assert cells[0]["metrics"]["above(0.5)"]["mean"] == cells[0]["metrics"]["reward"]["mean"]
    assert Path("a/cost-bernoulli.png").exists() and Path("a/above-0.5--bernoulli.png").exists()
    assert cli.main(["compare", "a/bernoulli/ucb1", "a/bernoulli/thompson", "--what", "cost"]) == 0
    assert "cost a" in capsys.readouterr().out
    assert cli.main(["compare", "a", "a", "--what", "reward", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["comparisons"][0]["quantity"] == "reward"
    assert cli.main(["report", "a"]) == 0
    page = Path("a/report.html").read_text(encoding="utf-8")
    for text in (
        "above(0.5), mean of the runs with 95 % intervals",
        "runs of cost after 120 rounds",
        "cost at round 120",
    ):
        assert text in page, text


@pytest.mark.slow
def test_an_experiment_with_metrics_resumes_grows_and_is_divided(folder, tmp_path):
    whole = content(run_experiment(experiment(folder), tmp_path / "whole"))
    with pytest.raises(Stop):
        how = jb.Execution(chunk=64, progress=stop_after(1))
        run_experiment(experiment(folder), tmp_path / "stopped", execution=how)
    assert content(run_experiment(experiment(folder), tmp_path / "stopped")) == whole
    run_experiment(experiment(folder, runs=15), tmp_path / "grown")
    assert content(run_experiment(experiment(folder), tmp_path / "grown")) == whole
    with ThreadPoolExecutor(1) as pool:  # the first runs are those of the directory
        run_experiment(experiment(folder, runs=15), tmp_path / "tasks")
        how = jb.Execution(executor=pool, runs_per_task=20)
        results = run_experiment(experiment(folder), tmp_path / "tasks", execution=how)
    assert content(results) == whole
    for name in NAMES:
        assert results[0].moments(name)[0].tobytes() == jb.load(tmp_path / "whole")[0].moments(name)[0].tobytes()


@pytest.mark.slow
def test_a_directory_belongs_to_its_metrics(folder, tmp_path):
    run_experiment(experiment(folder, runs=2), tmp_path / "a")
    with pytest.raises(BadInput, match=r"belongs to another experiment: metrics is .* there, \[\"reward\"\] here"):
        run_experiment(experiment(folder, runs=2, metrics=["reward"]), tmp_path / "a")
    about = json.loads((tmp_path / "a" / "provenance.json").read_text(encoding="utf-8"))
    assert list(about["sources"]) == [folder]
    run_experiment(experiment(folder, runs=2, metrics=[]), tmp_path / "b")
    assert "metrics" not in tomllib.loads((tmp_path / "b" / "spec.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("metrics", "reason"),
    [
        (
            ["rewrad"],
            r"metrics\[0\] = \"rewrad\", must be one of reward, .*mean_variance\(NUMBER\).*did you mean 'reward'",
        ),
        (["reward", "cost"], r"metrics\[1\] = \"cost\", must be cost\(NUMBER\)$"),
        (["switches(1)"], r"metrics\[0\] = \"switches\(1\)\", must be switches, without arguments$"),
        (["cost(one)"], r"must have its arguments in parentheses, numbers or texts separated by commas, as cost\(0\)$"),
        (["cost(0"], r"must have its arguments in parentheses, numbers or texts separated by commas, as cost\(0\)$"),
        (["mine:nothing"], r"metrics\[0\] = \"mine.*:nothing\", has no nothing in module mine"),
        (["mine:ten"], r"metrics\[0\]: 'ten' is of type int, must be a function of a Round or a Metric$"),
        (["nowhere:cost"], r"metrics\[0\] = \"nowhere:cost\", has no module nowhere in "),
        (["reward", "mine:cost", "reward"], r"metrics\[2\] = \"reward\", must differ in its name from metrics\[0\]$"),
        (["mine:above(1, 2)"], r"mine.*:above raises TypeError: "),
        ("reward", r"metrics = \"reward\", must be a list of names of metrics$"),
    ],
)
def test_what_toml_may_not_name(folder, metrics, reason):
    given = [text.replace("mine:", f"{folder}:") for text in metrics] if isinstance(metrics, list) else metrics
    with pytest.raises(BadInput, match=reason):
        experiment(folder, metrics=given)


def test_metrics_of_other_modules_are_not_imported_if_that_is_asked(folder):
    text = tomllib.loads(EXPERIMENT.replace("mine:", f"{folder}:"))
    with pytest.raises(BadInput, match=r"metrics\[2\] = .*, names code outside the package, which is not imported"):
        spec.parse(text, "metrics.toml", imports=False)
    spec.parse(text | {"metrics": ["reward", "cost(0)"]}, "metrics.toml", imports=False)


@pytest.mark.slow
def test_the_experiment_of_the_guide_runs(tmp_path, monkeypatch):
    page = (Path(__file__).parents[1] / "docs" / "metrics.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```(\w+)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    [text] = [code for language, code in blocks if language == "toml"]
    [module] = [code for language, code in blocks if code.startswith("# mine.py")]
    monkeypatch.chdir(tmp_path)
    Path("guide_of_metrics.py").write_text(module, encoding="utf-8")
    Path("prices.toml").write_text(text.replace("mine:", "guide_of_metrics:"), encoding="utf-8")
    results = jb.run("prices.toml", runs=3, horizon=50, execution=jb.Execution(progress=False))
    assert results[0].metrics == ("reward", "mean_variance(1.0)", "cost")
