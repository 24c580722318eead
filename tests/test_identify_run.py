"""Experiments of runs that stop: what is filled, shared, stored and warned of; identify and sweep; the command line."""

import functools
import json
import os
import sys
import time
import tomllib
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from results_by_hand import stopping
from small_experiment import written

from jaxbandit.algorithms.exploration.presets import lingape, lucb
from jaxbandit.base.contract import Rewards
from jaxbandit.decide.loading import load
from jaxbandit.engine.driver.execution import Execution
from jaxbandit.engine.driver.records import Identified
from jaxbandit.engine.storage import files as storage
from jaxbandit.engine.storage.json_files import read_json
from jaxbandit.environments.linear_arms.soare import soare
from jaxbandit.environments.stationary.bernoulli import bernoulli
from jaxbandit.environments.stationary.gaussian import gaussian
from jaxbandit.lab import cli
from jaxbandit.lab.experiments import experiment as running
from jaxbandit.lab.experiments.truth import notes_of, truth_of, warnings_of
from jaxbandit.lab.specs import spec
from jaxbandit.running import progress
from jaxbandit.running.identify import identify
from jaxbandit.running.progress import progress_bar
from jaxbandit.running.sweep import sweep
from jaxbandit.support.refusals import BadInput

pytestmark = pytest.mark.quickly_compiled

QUIET = Execution(progress=False)

TEXT = written(
    "identify",
    {"name": "easy", "type": "gaussian", "means": [1.0, 0.0], "sigma": 0.5},
    {"type": "lucb", "threshold": "heuristic", "delta": {"sweep": [0.05, 0.2]}},
    name="stop",
    runs=70,
    max_rounds=100,
)
SOARE = [{"name": f"{w}", "type": "soare", "dim": 2, "angle": w} for w in (0.2, 0.4)]


def experiment(**changes):
    return spec.parse(tomllib.loads(TEXT) | changes, "stop.toml")


def content(results):
    return [{name: (a.dtype.str, a.shape, a.tobytes()) for name, a in r.arrays.items()} for r in results]


@pytest.fixture(scope="module")
def whole():
    return running.run_experiment(experiment(), None, execution=QUIET)


def found():
    costs = {"compile_seconds": 0.0, "run_seconds": 0.0, "run_steps": 9, "lane_steps": 9, "devices": ["cpu"]}
    costs |= {"identity": {}}
    return Identified(**stopping([5, 7]).arrays, **costs)


@pytest.fixture
def calls(monkeypatch):
    """Calls of the engine, which then finds runs of 5 and 7 pulls."""
    made = []

    def identify_cell(make, arguments, **options):
        made.append(SimpleNamespace(make=make, arguments=arguments, options=options))
        return found()

    monkeypatch.setattr("jaxbandit.lab.experiments.playing.identify_cell", identify_cell)
    monkeypatch.setattr("jaxbandit.running.truth.characteristic_time_of", lambda *_: 1.0)  # a compilation a shape
    return made


def test_resolved_and_written_back():
    one = experiment()
    assert (one.precision, one.max_rounds, experiment(max_rounds=7).max_rounds) == ("float64", 100, 7)
    assert spec.parse({k: v for k, v in one.to_dict().items() if k != "max_rounds"}, "x").max_rounds == 10_000_000
    assert "horizon" not in one.to_dict() and "checkpoints" not in one.to_dict()
    assert spec.parse(tomllib.loads(one.to_toml()), "x.toml") == one
    assert experiment(max_rounds=7) != one


def test_what_an_instance_knows_fills_what_is_not_given():
    top_m = {"name": "top", "type": "top_m_classic", "num_arms": 4, "m": 2, "angle": 0.5}
    algorithms = [
        {"type": "m_lingape"},
        {"name": "told", "type": "m_lingape", "m": 1, "sigma": 2.0, "theta_norm": 3.0},
        {"type": "lucb"},
    ]
    cells = list(experiment(instance=[top_m], algorithm=algorithms).cells())
    filled, told, without_features = (cell.arguments for cell in cells)
    assert (filled["m"], filled["sigma"], filled["theta_norm"], filled["delta"]) == (2, 0.5, 1.0, 0.05)
    np.testing.assert_allclose(filled["features"][2], [np.cos(0.5), 0, np.sin(0.5)], rtol=1e-15)
    assert (told["m"], told["sigma"], told["theta_norm"]) == (1, 2.0, 3.0)
    assert (without_features["num_arms"], without_features["m"]) == (4, 2) and "features" not in without_features
    assert "theta" not in filled and "sigma" not in cells[0].params
    [oracle] = experiment(instance=SOARE[:1], algorithm=[{"type": "xy_oracle"}]).cells()
    assert oracle.arguments["theta"] == (2.0, 0.0)
    # What nobody knows is the default.
    bernoulli = {"type": "bernoulli", "means": [0.1, 0.9]}
    [cell] = experiment(instance=[bernoulli], algorithm=[{"type": "lucb"}]).cells()
    assert (cell.arguments["sigma"], cell.arguments["m"]) == (1.0, 1)


def test_angles_deltas_and_instances_share_one_program(calls):
    algorithms = [{"type": "lingape", "delta": {"sweep": [0.05, 0.2]}}]
    running.run_experiment(experiment(instance=SOARE, algorithm=algorithms), None, alone=False)
    assert len(calls) == 4 and len({id(call.make) for call in calls}) == 1
    for call, angle in zip(calls, (0.2, 0.2, 0.4, 0.4), strict=True):
        assert call.arguments["environment"]["angle"] == angle
        np.testing.assert_allclose(
            call.arguments["algorithm"]["features"][2], [np.cos(angle), np.sin(angle)], rtol=1e-15
        )
    assert [float(call.arguments["algorithm"]["delta"]) for call in calls] == [0.05, 0.2] * 2
    assert calls[0].options["max_rounds"] == 100 and calls[0].options["precision"] == "float64"
    calls.clear()
    running.run_experiment(
        experiment(instance=SOARE, algorithm=[{"type": "lingape", "rule": "optimized"}]), None, alone=False
    )
    assert len({id(call.make) for call in calls}) == 2  # its table of representations is exact for concrete features
    assert "features" not in calls[0].arguments["algorithm"]


@pytest.mark.slow
def test_results_are_stored_and_found_again(tmp_path, whole, monkeypatch):
    first = running.run_experiment(experiment(), tmp_path / "out", execution=QUIET)
    assert content(first) == content(whole)
    assert [(r.params["delta"], r.guarantee["delta"]) for r in first] == [(0.05, 0.05), (0.2, 0.2)]
    assert first[0].truth["means"] == [1.0, 0.0] and first[0].truth["arguments"] == {"sigma": 0.5}
    # Two Gaussian arms: T* is 8 sigma^2 / gap^2, reached by equal pulls.
    assert first[0].truth["characteristic_time"] == pytest.approx(2.0, rel=1e-6)
    assert spec.load(tmp_path / "out" / "spec.toml") == experiment()
    monkeypatch.setattr("jaxbandit.lab.experiments.playing.identify_cell", None)  # nothing is left to play
    assert content(running.run_experiment(experiment(), tmp_path / "out", execution=QUIET)) == content(whole)
    assert content(load(tmp_path / "out")) == content(whole)


@pytest.mark.slow
def test_numbers_do_not_depend_on_lanes_chunks_and_workers(whole):
    other = running.run_experiment(experiment(), None, execution=Execution(progress=False, width=1, chunk=1, workers=1))
    assert content(other) == content(whole)


@pytest.mark.slow
def test_an_interrupted_cell_goes_on(tmp_path, whole):
    seen = []

    def progress(report):
        seen.append(report)
        if len(seen) == 1:
            raise KeyboardInterrupt

    execution = Execution(progress=progress, workers=1, chunk=1)
    with pytest.raises(KeyboardInterrupt):
        running.run_experiment(experiment(), tmp_path / "out", execution=execution)
    assert list((tmp_path / "out" / "checkpoint" / "000").iterdir())
    assert content(running.run_experiment(experiment(), tmp_path / "out", execution=execution)) == content(whole)
    assert sum(report.finished for report in seen) == 2 * 70
    assert not (tmp_path / "out" / "checkpoint").exists()


@pytest.mark.slow
def test_identify_and_sweep_equal_the_experiment(whole):
    world = gaussian([1.0, 0.0], sigma=0.5).named("easy")
    options = {"num_runs": 70, "max_rounds": 100}
    algorithm = functools.partial(lucb, 2, threshold="heuristic", sigma=0.5)
    alone = identify(algorithm(), world, **options, delta=0.05)
    np.testing.assert_array_equal(alone.arrays["samples"], whole[0].arrays["samples"])
    assert (alone.algorithm, alone.instance) == ("lucb", "easy")
    assert alone.guarantee == {"delta": 0.05, "epsilon": 0.0, "m": 1, "proved": False}
    # Two normal arms: 8 sigma^2 / gap^2.
    assert alone.truth == {"means": [1.0, 0.0], "characteristic_time": pytest.approx(8 * 0.5**2, rel=1e-9)}
    swept = sweep(algorithm, world, {"delta": [0.05, 0.2]}, **options)
    assert [r.params for r in swept] == [{"delta": 0.05}, {"delta": 0.2}]
    assert [r.guarantee["delta"] for r in swept] == [0.05, 0.2]
    for ours, theirs in zip(swept, whole, strict=True):
        np.testing.assert_array_equal(ours.arrays["samples"], theirs.arrays["samples"])


def test_an_instance_can_be_swept(monkeypatch):
    from jaxbandit.engine.driver import identify as engine

    makes = []

    def identify_cell(make, arguments, **options):
        makes.append((make, arguments))
        return found()

    monkeypatch.setattr(engine, "identify_cell", identify_cell)

    def both(angle, delta):
        return lingape(soare(2, angle).known()["features"], delta=delta), soare(2, angle)

    results = sweep(both, None, {"angle": [0.1, 0.2], "delta": [0.05, 0.05]}, num_runs=2)
    assert makes[0][0] is makes[1][0]
    assert [r.params["angle"] for r in results] == [0.1, 0.2]
    assert [r.guarantee["delta"] for r in results] == [0.05, 0.05]
    assert [r.truth["means"][2] for r in results] == pytest.approx([2 * np.cos(0.1), 2 * np.cos(0.2)])


def test_what_is_told_wrongly_is_warned_of(tmp_path, calls):
    algorithms = [{"type": "lingape", "theta_norm": 1.5, "sigma": 0.5}, {"type": "lucb", "epsilon": 0.1}]
    with pytest.raises(BadInput, match=r"sigma must be at least 1; allow = \[\"rewards\"\]"):
        experiment(instance=SOARE[:1], algorithm=algorithms)
    misled = experiment(instance=SOARE[:1], algorithm=algorithms, allow=["rewards"])
    norm, sigma = warnings_of(misled)
    assert "0.2/lingape: theta_norm = 1.5" in norm and "instance is 2;" in norm and "sigma = 0.5" in sigma
    results = running.run_experiment(misled, tmp_path / "out", execution=QUIET)
    assert [r.warnings for r in results] == [[norm, sigma], []]
    assert results[0].to_json()["warnings"] == [norm, sigma]
    tied = {"name": "tied", "type": "gaussian", "means": [1, 0.5, 1]}
    algorithms = [
        {"type": "lucb"},
        {"name": "two", "type": "lucb", "m": 2},
        {"name": "e", "type": "lucb", "epsilon": 0.1},
    ]
    [line] = warnings_of(experiment(instance=[tied], algorithm=algorithms))
    assert line.startswith("tied/lucb: epsilon = 0, but the arms of rank 1 and 2 are tied at 1, ")
    assert "\n" not in line


def test_the_best_arm_twice_is_no_tie_for_a_rule_that_sees_features():
    """Its two features are one, so that its rules stop, whichever they name; a third arm as good has others."""
    algorithms = [{"type": "lingape"}, {"type": "lucb"}]
    twice = {"name": "twice", "type": "linear", "features": [[1, 0], [1, 0], [0, 1]], "theta": [1.0, 0.5]}
    [line] = warnings_of(experiment(instance=[twice], algorithm=algorithms))
    assert line.startswith("twice/lucb: epsilon = 0")
    apart = twice | {"features": [[1, 0], [1, 0], [0, 2]]}
    assert [line.partition(":")[0] for line in warnings_of(experiment(instance=[apart], algorithm=algorithms))] == [
        "twice/lingape",
        "twice/lucb",
    ]


def test_the_bound_is_only_computed_where_it_holds(calls):
    algorithms = [{"type": "lucb", "epsilon": 0.1}, {"name": "two", "type": "lucb", "m": 2}, {"type": "ugape"}]
    results = running.run_experiment(experiment(instance=SOARE[:1], algorithm=algorithms), None)
    assert ["characteristic_time" in r.truth for r in results] == [False, False, True]


@pytest.mark.slow
def test_no_bound_without_gaussian_noise():
    features = [[1, 0], [0, 1], [0.5, 0.5]]
    for noise, known in (("gaussian", True), ("sign", False)):
        instance = {"type": "linear", "features": features, "theta": [0.8, 0.1], "noise": noise}
        [item] = experiment(instance=[instance], algorithm=[{"type": "lucb"}]).instances
        assert ("characteristic_time" in truth_of(item, "identify", best_arm=True)) == known


def test_progress_only_on_a_terminal(capsys, monkeypatch):
    with progress_bar(10, "x", "run") as advance:
        assert advance is None
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with progress_bar(10, "best arm", "run") as advance:
        advance(SimpleNamespace(finished=4, run_steps=123_000))
        time.sleep(0.2)  # tqdm redraws ten times a second
        advance(SimpleNamespace(finished=6, run_steps=0))
    err = capsys.readouterr().err
    assert "best arm:" in err and "10/10" in err and "123k run-steps" in err


@pytest.mark.slow
def test_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(progress, "LINE_SECONDS", float("inf"))  # however busy the machine is
    (tmp_path / "stop.toml").write_text(TEXT, encoding="utf-8")
    assert cli.main(["run", "stop.toml"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    lines = captured.out.splitlines()
    assert lines[0].split()[:3] == ["instance", "algorithm", "samples"]
    assert [line.split()[:2] for line in lines[2:4]] == [["easy", "lucb?delta=0.05"], ["easy", "lucb?delta=0.2"]]
    assert {"samples-easy.png", "stopping-easy.png", "pulls-easy.png", "sweep-easy-delta.png"} <= set(
        os.listdir("stop-result")
    )
    assert cli.main(["run", "stop.toml", "--out", "json", "--json", "--set", "max_rounds=12"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["kind"], document["precision"], document["schema"]) == ("identify", "float64", 1)
    cell = document["cells"][0]
    assert {"samples", "error", "outcomes", "pulls", "lane_utilization", "seconds", "run_steps"} <= set(cell)
    assert cell["outcomes"]["stopped"] + cell["outcomes"]["max_rounds"] == 70 and cell["outcomes"]["max_rounds"] > 0
    assert cell["samples"]["max_rounds"] == 12 and cell["samples"]["restricted_mean"] < 12
    assert read_json(Path("json/summary.json"), storage.RECOMPUTE) == document
    assert cli.main(["run", "stop.toml", "--out", "json", "--set", "max_rounds=12"]) == 0
    assert "mean of min(samples, 12)" in capsys.readouterr().out
    assert cli.main(["plot", "stop-result"]) == 0
    assert cli.main(["compare", "stop-result", "json", "--json"]) == 0
    comparisons = json.loads(capsys.readouterr().out.splitlines()[-1])["comparisons"]
    assert [c["quantity"] for c in comparisons] == ["restricted samples"] * 2 and comparisons[0]["difference"] == 0.0
    wrong = ["--set", "algorithm.lucb.sigma=0.1", "--set", "runs=2", "--out", "wrong"]
    assert cli.main(["run", "stop.toml", *wrong]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and 'sigma must be at least 0.5; allow = ["rewards"] plays it' in err
    assert cli.main(["run", "stop.toml", *wrong, "--set", 'allow=["rewards"]']) == 0
    assert capsys.readouterr().err.startswith("jaxbandit: warning: easy/lucb: sigma = 0.1")


@pytest.mark.slow
def test_a_sigma_larger_than_the_rewards_have_is_noted(tmp_path, calls):
    """Rewards in [0, 1] are sub-Gaussian with 1/2 (Hoeffding); a note breaks nothing, and warnings stay as they are."""
    coins = {"name": "coins", "type": "bernoulli", "means": [0.2, 0.8]}
    algorithms = [
        {"type": "lucb"},
        {"name": "half", "type": "lucb", "sigma": 0.5},
        {"type": "kl_lucb"},
        {"name": "swept", "type": "lil_ucb", "sigma": {"sweep": [0.5, 1.0, 2.0]}},
    ]
    both = experiment(instance=[coins], algorithm=algorithms)
    first, second, third = notes_of(both)
    assert first.startswith("coins/lucb: sigma = 1, but the rewards are in [0, 1], sub-Gaussian with sigma 0.5")
    assert first.endswith(": sigma = 0.5 suffices and needs fewer pulls") and "\n" not in first
    assert second.startswith("coins/swept: sigma = 1, ") and third.startswith("coins/swept: sigma = 2, ")
    assert warnings_of(both) == []
    results = running.run_experiment(both, tmp_path / "out", execution=QUIET)
    assert [r.warnings for r in results] == [[first], [], [], [], [second], [third]]
    wide = {"name": "wide", "type": "gaussian", "means": [0, 1], "sigma": 2.0}
    assert notes_of(experiment(instance=[wide], algorithm=[{"type": "lucb"}])) == []  # it is told of the instance's
    one = identify(lucb(2), bernoulli([0.2, 0.8]), num_runs=2)
    assert one.warnings == [first.partition(": ")[2]] and one.to_json()["warnings"] == one.warnings
    bounded = bernoulli([0.2, 0.8])._replace(rewards=Rewards(0.0, 3.0))
    assert "sigma = 1.5 suffices" in identify(lucb(2, sigma=2.0), bounded, num_runs=2).warnings[0]


@pytest.mark.slow
def test_a_rule_that_never_stops_is_refused_unless_max_rounds_is_given():
    """10^7 rounds of each run were played in silence."""
    from jaxbandit.algorithms.regret.ucb import ucb1

    why = "ucb1 has no stopping rule, so that each run would play 10,000,000 rounds; give max_rounds, take a rule that"
    for play in (
        lambda: identify(ucb1(3), bernoulli([0.1, 0.5, 0.9]), num_runs=2, execution=QUIET),
        lambda: sweep(lambda c: ucb1(3, c=c), bernoulli([0.1, 0.5, 0.9]), {"c": [1.0]}, num_runs=2, execution=QUIET),
    ):
        with pytest.raises(ValueError, match=f"^(identify|sweep): {why} stops, or call simulate with a horizon$"):
            play()
    censored = identify(ucb1(3), bernoulli([0.1, 0.5, 0.9]), num_runs=2, max_rounds=9, execution=QUIET)
    assert censored.censored == 2
