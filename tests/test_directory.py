"""The directory of an experiment: whose it is, how it grows, what it refuses."""

import dataclasses
import json
import os
import random

import numpy as np
import pytest
from small_experiment import Stop, content, experiment, stop_after

from jaxbandit.decide.loading import load
from jaxbandit.engine.driver.execution import Execution
from jaxbandit.engine.storage import directories
from jaxbandit.engine.storage.json_files import DIGEST, write_json
from jaxbandit.lab.experiments import experiment as running
from jaxbandit.lab.specs import spec
from jaxbandit.support.refusals import BadInput

QUIET = Execution(progress=False)

pytestmark = [pytest.mark.slow, pytest.mark.quickly_compiled]


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch):
    monkeypatch.setattr("jaxbandit.engine.driver.programs.FIRST_BLOCKS", 1)


@pytest.fixture(scope="module")
def whole():
    return content(running.run_experiment(experiment(), None, execution=QUIET))


def test_another_experiment_is_refused(tmp_path):
    out = tmp_path / "out"
    with pytest.raises(Stop):
        running.run_experiment(experiment(), out, execution=Execution(progress=stop_after(0)))
    more = [{"type": "bernoulli", "means": [0.4, 0.5, 0.6]}, {"name": "other", "type": "bernoulli", "means": [0.1]}]
    for changes, word in (
        ({"seed": 1}, "seed is 0 there, 1 here"),
        ({"per_run": False}, "per_run is true there, false here"),
        ({"algorithm": [{"type": "ucb1"}]}, 'algorithm "greedy" is only there'),
        ({"algorithm": [{"type": "ucb1", "c": 3}], "instance": more}, 'algorithm "ucb1": c is 0.0 there, 3.0 here'),
        (
            {"instance": [{"type": "bernoulli", "means": [0.4, 0.5, 0.7]}]},
            'instance "bernoulli": means[2] is 0.6 there, 0.7 here',
        ),
    ):
        with pytest.raises(BadInput, match="another experiment") as error:
            running.run_experiment(experiment(**changes), out)
        assert word in str(error.value) and "give another --out" in str(error.value)


INSTANCES = [
    {"type": "bernoulli", "means": [0.4, 0.5, 0.6]},
    {"name": "easy", "type": "bernoulli", "means": [0.1, 0.9]},
]


def test_what_has_grown_is_played_and_nothing_else(tmp_path, whole):
    """More runs, an algorithm before the others, an instance: what was there is found by its name and added to."""
    out = tmp_path / "out"
    running.run_experiment(experiment(runs=20), out, execution=QUIET)
    steps = []
    grown = experiment(runs=48)
    assert content(running.run_experiment(grown, out, execution=Execution(progress=steps.append))) == whole
    assert sum(n.run_steps for n in steps) == 3 * 28 * 300
    algorithms = [{"type": "uniform"}, *grown.to_dict()["algorithm"]]
    larger = experiment(algorithm=algorithms, instance=INSTANCES)
    steps.clear()
    found = running.run_experiment(larger, out, execution=Execution(progress=steps.append))
    assert sum(n.run_steps for n in steps) == 5 * 48 * 300
    assert content(found) == content(running.run_experiment(larger, None, execution=QUIET))
    labels = [(result.instance, result.algorithm, result.params) for result in found]
    assert [(result.instance, result.algorithm, result.params) for result in load(out)] == labels
    with pytest.raises(BadInput, match="has 48 runs, but runs = 47 asks for fewer"):
        running.run_experiment(experiment(algorithm=algorithms, instance=INSTANCES, runs=47), out)
    assert spec.load(out / "spec.toml") == larger  # what is refused leaves the directory as it was


def test_added_runs_that_are_interrupted_are_taken_up(tmp_path, whole):
    out = tmp_path / "out"
    running.run_experiment(experiment(runs=20), out, execution=QUIET)
    with pytest.raises(Stop):
        running.run_experiment(experiment(), out, execution=Execution(progress=stop_after(2), workers=1, width=16))
    steps = []
    assert content(running.run_experiment(experiment(), out, execution=Execution(progress=steps.append))) == whole
    assert 0 < sum(n.run_steps for n in steps) < 3 * 28 * 300


def test_runs_that_stop_are_added_to(tmp_path):
    def stopping(runs):
        arms = {"type": "gaussian", "means": [0.0, 2.0]}
        data = {"kind": "identify", "runs": runs, "instance": [arms], "algorithm": [{"type": "lucb"}]}
        return spec.parse(data, "stopping.toml")

    out, ended = tmp_path / "out", []
    running.run_experiment(stopping(5), out, execution=QUIET)
    found = running.run_experiment(
        stopping(12), out, execution=Execution(progress=lambda news: ended.append(news.finished))
    )
    assert sum(ended) == 7
    assert content(found) == content(running.run_experiment(stopping(12), None, execution=QUIET))


def test_means_alone_are_kept_where_runs_are_not_and_more_runs_start_again(tmp_path, whole):
    out = tmp_path / "out"
    running.run_experiment(experiment(runs=20, per_run=False), out, execution=QUIET)
    steps = []
    found = running.run_experiment(experiment(per_run=False), out, execution=Execution(progress=steps.append))
    assert sum(n.run_steps for n in steps) == 3 * 48 * 300 and "regret" not in found[0].arrays
    regret = np.frombuffer(whole[0]["regret"][2], np.float32).reshape(whole[0]["regret"][1])
    assert found[0].arrays["mean"] == pytest.approx(regret.mean(axis=0, dtype=np.float64), rel=1e-6)


@pytest.mark.parametrize("name, there", [("jax", "0.0.1"), ("jaxlib", "0.0.1"), ("platform", "abacus")])
def test_results_of_other_versions_are_refused(tmp_path, name, there):
    out = tmp_path / "out"
    running.run_experiment(experiment(runs=2), out, execution=QUIET)
    about = json.loads((out / "provenance.json").read_text(encoding="utf-8"))
    here, about["versions"][name] = about["versions"][name], there
    write_json(out / "provenance.json", {key: value for key, value in about.items() if key != DIGEST})
    with pytest.raises(BadInput) as error:
        running.run_experiment(experiment(runs=2), out, execution=QUIET)
    assert f"its numbers were computed differently: {name} {there}, here {here}" in str(error.value)


def test_a_cell_of_other_versions_is_refused(tmp_path):
    """As where somebody has copied it from another directory."""
    out = tmp_path / "out"
    [result, *_] = running.run_experiment(experiment(runs=2), out, execution=QUIET)
    other = dataclasses.replace(result, identity={**result.identity, "jaxlib": "0.0.1"})
    running.save_cell(out, 1, other)
    with pytest.raises(BadInput, match=r"cell-001: its numbers were computed differently: jaxlib 0.0.1, here"):
        running.run_experiment(experiment(runs=2), out, execution=QUIET)


def test_a_changed_data_file_is_refused(tmp_path):
    data, out = tmp_path / "team", tmp_path / "out"
    data.mkdir()
    (data / "answer.csv").write_text("question,a,b,c\n1,x,y,x\n2,x,x,y\n", encoding="utf-8")
    (data / "truth.csv").write_text("question,truth\n1,x\n2,x\n", encoding="utf-8")
    team = {"type": "crowd_answers", "path": str(data), "k": 1}
    rule = {"type": "icb", "num_sets": 3}
    experiment = spec.parse(
        {"kind": "identify", "runs": 2, "max_rounds": 100, "instance": [team], "algorithm": [rule]}, "team.toml"
    )
    running.run_experiment(experiment, out, execution=QUIET)
    (data / "truth.csv").write_text("question,truth\n1,x\n2,y\n", encoding="utf-8")
    with pytest.raises(BadInput, match=r"the content of .*team has changed"):
        running.run_experiment(experiment, out, execution=QUIET)


def test_a_second_process_is_told_who_is_there(tmp_path):
    out = tmp_path / "out"
    running.run_experiment(experiment(runs=2), out, execution=QUIET)
    words = rf"in use by process {os.getpid()} on .*give another"
    with directories.locked(out, "provenance.json"), pytest.raises(BadInput, match=words):
        running.run_experiment(experiment(runs=2), out, execution=QUIET)


def test_a_truncated_spec_is_refused_with_a_remedy(tmp_path):
    out = tmp_path / "out"
    running.run_experiment(experiment(runs=2), out, execution=QUIET)
    (out / "spec.toml").write_text("name = [", encoding="utf-8")
    with pytest.raises(BadInput, match=r"spec\.toml: not valid TOML: .*give another --out or delete"):
        running.run_experiment(experiment(runs=2), out, execution=QUIET)


def test_every_flipped_bit_of_a_cell_is_seen(tmp_path):
    out = tmp_path / "out"
    running.run_experiment(experiment(runs=2), out, execution=QUIET)
    file = out / "cell-000.json"
    good, chance = file.read_bytes(), random.Random(0)
    for bit in chance.sample(range(8 * len(good)), 300):
        damaged = bytearray(good)
        damaged[bit // 8] ^= 1 << bit % 8
        file.write_bytes(damaged)
        with pytest.raises(BadInput, match=r"cell-000\.json: damaged"):
            load(out)
    file.write_bytes(good.replace(b'"jaxbandit"', b'"jaxbondit"', 1))
    with pytest.raises(BadInput, match=r"cell-000\.json: damaged"):
        load(out)
    file.write_bytes(good)
    assert len(load(out)) == 3
