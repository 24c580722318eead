"""How runs are played is one record: keywords fill it, nothing in it changes a number, and it is judged once."""

import functools
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import jaxbandit as jb
from jaxbandit.lab.experiments.experiment import run_experiment
from jaxbandit.lab.specs import spec

RULE, WORLD = functools.partial(jb.algorithms.ucb1, 2), functools.partial(jb.environments.bernoulli, [0.3, 0.7])
SMALL = {"horizon": 200, "num_runs": 100}

pytestmark = pytest.mark.quickly_compiled


def same(a, b):
    assert a.arrays.keys() == b.arrays.keys()
    assert all(a.arrays[name].tobytes() == b.arrays[name].tobytes() for name in a.arrays)


@pytest.fixture(scope="module")
def plain():
    return jb.simulate(RULE, WORLD, **SMALL)


def test_keywords_fill_the_record(plain, tmp_path):
    reports = []
    how = jb.Execution(width=64, chunk=70, progress=reports.append)
    found = jb.simulate(RULE, WORLD, **SMALL, workers=1, directory=tmp_path, execution=how)
    same(plain, found)
    assert (tmp_path / "identity.json").exists()
    # 70 steps are two blocks of 64: a tile of 64 and one of 36 runs take two calls each.
    assert len(reports) == 4 and {r.run_steps for r in reports} == {64 * 128, 64 * 72, 36 * 128, 36 * 72}
    assert sum(r.finished for r in reports) == 100


def test_a_sweep_takes_an_executor(tmp_path):
    rule, values = functools.partial(jb.algorithms.epsilon_greedy, 2), {"epsilon": [0.1, 0.3]}
    whole = jb.sweep(rule, WORLD, values, **SMALL)
    with ThreadPoolExecutor(1) as pool:
        how = jb.Execution(executor=pool, runs_per_task=64)
        some = jb.sweep(rule, WORLD, values, **SMALL, directory=tmp_path, execution=how)
    for one, other in zip(whole, some, strict=True):
        same(one, other)
    assert [result.params for result in some] == [{"epsilon": 0.1}, {"epsilon": 0.3}]


@pytest.mark.parametrize("name", ["workers", "width", "chunk"])
def test_numbers_out_of_range_are_one_line(name):
    with pytest.raises(ValueError, match=rf"^simulate: {name} = 0, must be an integer in \[1, ") as error:
        jb.simulate(RULE, WORLD, **SMALL, execution=jb.Execution(**{name: 0}))
    assert "\n" not in str(error.value)


def test_checkpoints_of_an_experiment_are_in_its_directory(tmp_path):
    experiment = spec.parse(
        {
            "kind": "simulate",
            "runs": 2,
            "horizon": 5,
            "instance": [{"type": "bernoulli", "means": [0.1, 0.9]}],
            "algorithm": [{"type": "ucb1"}],
        },
        "x.toml",
    )
    with pytest.raises(ValueError, match=r"^run: directory is given, but the directory of the results holds"):
        run_experiment(experiment, tmp_path / "out", execution=jb.Execution(directory=tmp_path))
    [result] = run_experiment(experiment, None, execution=jb.Execution(progress=False))
    assert result.runs == 2 and np.isfinite(result.arrays["mean"]).all()
