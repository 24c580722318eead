"""Running an experiment: what is stored, what is shared, and the same bytes however it was interrupted."""

import os

import numpy as np
import pytest
from small_experiment import Stop, content, experiment, stop_after

from jaxbandit.decide.loading import load
from jaxbandit.engine.driver import simulate as engine
from jaxbandit.engine.driver.execution import Execution
from jaxbandit.lab.experiments import experiment as running
from jaxbandit.lab.experiments import playing
from jaxbandit.lab.specs import spec
from jaxbandit.support.refusals import BadInput, Unfinished

QUIET = Execution(progress=False)


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch):
    monkeypatch.setattr("jaxbandit.engine.driver.programs.FIRST_BLOCKS", 1)


@pytest.fixture(scope="module")
def whole():
    return content(running.run_experiment(experiment(), None, execution=QUIET))


@pytest.mark.slow
def test_results_are_stored_and_found_again(tmp_path, whole, monkeypatch):
    first = running.run_experiment(experiment(), tmp_path / "out", execution=QUIET)
    assert content(first) == whole
    assert [(r.algorithm, r.params) for r in first] == [
        ("ucb1", {"c": 0.0}),
        ("greedy", {"epsilon": 0.1}),
        ("greedy", {"epsilon": 0.2}),
    ]
    assert first[0].truth["means"] == [0.4, 0.5, 0.6] and first[0].truth["regret_constant"] > 0
    names = sorted(os.listdir(tmp_path / "out"))
    assert names[-2:] == ["spec.toml", "summary.json"] and "checkpoint" not in names
    assert spec.load(tmp_path / "out" / "spec.toml") == experiment()
    monkeypatch.setattr("jaxbandit.lab.experiments.playing.simulate_cell", None)  # nothing is left to simulate
    assert content(running.run_experiment(experiment(), tmp_path / "out", execution=QUIET)) == whole
    assert content(load(tmp_path / "out")) == whole


def test_numbers_do_not_depend_on_tile_and_workers(whole):
    for tile, workers in ((16, 2), (48, 1)):
        assert (
            content(
                running.run_experiment(
                    experiment(), None, execution=Execution(progress=False, width=tile, workers=workers)
                )
            )
            == whole
        )
    other = content(running.run_experiment(experiment(seed=1), None, execution=QUIET))
    assert other[0]["regret"] != whole[0]["regret"]


@pytest.mark.slow
@pytest.mark.quickly_compiled
def test_instances_and_sweeps_share_one_compilation(monkeypatch):
    makes = []

    def record(make, arguments, **options):
        makes.append(make)
        return simulate(make, arguments, **options)

    simulate = playing.simulate_cell
    monkeypatch.setattr(playing, "simulate_cell", record)
    instances = [{"name": str(m), "type": "bernoulli", "means": [0.5, m]} for m in (0.1, 0.2)]
    betas = [{"name": f"beta{a}", "type": "beta", "alpha": [a, 2], "beta": [1, 1]} for a in (1, 3)]
    algorithms = [{"type": "ucb1", "c": {"sweep": [0, 1]}}]
    small = {"instance": [*instances, *betas], "algorithm": algorithms, "runs": 2, "horizon": 5, "checkpoints": [5]}
    found = running.run_experiment(experiment(**small), None, execution=QUIET, alone=False)  # one call for each cell
    assert len(found) == 8
    assert len({id(make) for make in makes[:4]}) == 1  # a Bernoulli instance's means are an argument
    assert len({id(make) for make in makes[4:]}) == 2  # a Beta instance's quantiles are a table of its own
    alone = running.run_experiment(
        experiment(**small | {"instance": betas[1:]}), None, execution=Execution(progress=False)
    )
    assert content(alone) == content(found[6:])


@pytest.mark.parametrize("calls", [0, 1, 2, 3, 4])
def test_interrupted_and_run_again(calls, tmp_path, whole, monkeypatch):
    out = tmp_path / "out"
    with pytest.raises(Stop):
        running.run_experiment(experiment(), out, execution=Execution(progress=stop_after(calls), workers=1))
    assert not (out / "summary.json").exists()
    assert content(running.run_experiment(experiment(), out, execution=Execution(progress=False, workers=1))) == whole
    assert not (out / "checkpoint").exists()


def test_an_interrupted_cell_goes_on_where_it_was(tmp_path):
    steps = []

    def progress(n):
        steps.append(n)
        if len(steps) == 1:
            raise KeyboardInterrupt

    one = experiment(algorithm=[{"type": "ucb1"}])
    with pytest.raises(KeyboardInterrupt):
        running.run_experiment(one, tmp_path / "out", execution=Execution(progress=progress, workers=1, width=48))
    assert list((tmp_path / "out" / "checkpoint" / "000").iterdir())
    running.run_experiment(one, tmp_path / "out", execution=Execution(progress=progress, workers=1, width=48))
    assert len(steps) > 1 and sum(n.run_steps for n in steps) == 48 * 300  # no round is played twice


def test_damage_is_named_and_finished_cells_are_kept(tmp_path, whole):
    out = tmp_path / "out"
    running.run_experiment(experiment(), out, execution=QUIET)
    file = out / "cell-001.npz"
    file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(BadInput, match=r"cell-001\.npz: damaged"):
        running.run_experiment(experiment(), out, execution=QUIET)
    file.unlink()
    (out / "cell-001.json").unlink()
    before = (out / "cell-000.npz").stat().st_mtime_ns
    assert content(running.run_experiment(experiment(), out, execution=QUIET)) == whole
    assert (out / "cell-000.npz").stat().st_mtime_ns == before


def test_a_damaged_checkpoint_is_named(tmp_path):
    out = tmp_path / "out"
    with pytest.raises(Stop):
        running.run_experiment(experiment(), out, execution=Execution(progress=stop_after(0), workers=1))
    files = list((out / "checkpoint" / "000").iterdir())
    assert {"identity.json", "live.npz"} <= {file.name for file in files}
    for file in files:
        whole = file.read_bytes()
        file.write_bytes(whole[:100])
        with pytest.raises(BadInput, match=f"checkpoint/000/{file.name}") as error:
            running.run_experiment(experiment(), out, execution=Execution(progress=False, workers=1))
        assert "\n" not in str(error.value) and "; delete " in str(error.value)
        file.write_bytes(whole)


def test_a_full_disk_keeps_what_is_finished(tmp_path, whole, monkeypatch):
    out = tmp_path / "out"
    save = running.save_cell

    def full(directory, index, result):
        if index == 1:
            raise OSError(28, "No space left on device")
        save(directory, index, result)

    monkeypatch.setattr(running, "save_cell", full)
    with pytest.raises(Unfinished, match=r"cannot be written \(No space left on device\)"):
        running.run_experiment(experiment(), out, execution=QUIET)
    monkeypatch.setattr(running, "save_cell", save)
    assert (out / "cell-000.json").exists()
    assert content(running.run_experiment(experiment(), out, execution=QUIET)) == whole


def test_default_checkpoints_end_at_the_horizon():
    marks = engine.default_checkpoints(300)
    assert marks[-1] == 300 and np.all(np.diff(marks) > 0)
