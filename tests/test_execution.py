"""How runs are played is one record of all verbs: nothing in it changes a number, and it is judged once."""

import functools
import inspect
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


@pytest.mark.slow
def test_keywords_fill_the_record(plain, tmp_path):
    reports = []
    how = jb.Execution(width=64, chunk=70, progress=reports.append)
    found = jb.simulate(RULE, WORLD, **SMALL, execution=how._replace(workers=1, directory=tmp_path))
    same(plain, found)
    assert (tmp_path / "identity.json").exists()
    # 70 steps are two blocks of 64: a tile of 64 and one of 36 runs take two calls each.
    assert len(reports) == 4 and {r.run_steps for r in reports} == {64 * 128, 64 * 72, 36 * 128, 36 * 72}
    assert sum(r.finished for r in reports) == 100


@pytest.mark.slow
def test_a_sweep_takes_an_executor(tmp_path):
    rule, values = functools.partial(jb.algorithms.epsilon_greedy, 2), {"epsilon": [0.1, 0.3]}
    whole = jb.sweep(rule, WORLD, values, **SMALL)
    with ThreadPoolExecutor(1) as pool:
        how = jb.Execution(executor=pool, runs_per_task=64)
        some = jb.sweep(rule, WORLD, values, **SMALL, execution=how._replace(directory=tmp_path))
    for one, other in zip(whole, some, strict=True):
        same(one, other)
    assert [result.params for result in some] == [{"epsilon": 0.1}, {"epsilon": 0.3}]


@pytest.mark.slow
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


VERBS = {
    "simulate": lambda **more: jb.simulate(RULE, WORLD, **SMALL, **more),
    "identify": lambda **more: jb.identify(RULE, WORLD, num_runs=2, **more),
    "sweep": lambda **more: jb.sweep(functools.partial(jb.algorithms.ucb1, 2), WORLD, {"c": [1.0]}, **SMALL, **more),
    "run": lambda **more: jb.run("five_arms", **more),
    "audit": lambda **more: jb.audit("five_arms", **more),
    "reproduce": lambda **more: jb.reproduce("oam", **more),
}


@pytest.mark.parametrize("verb", VERBS)
def test_an_argument_of_another_place_is_refused_with_its_place(verb):
    """Every field of the record, and a misspelled name."""
    for name in jb.Execution._fields:
        with pytest.raises(TypeError) as error:
            VERBS[verb](**{name: 1})
        assert str(error.value) == f"{verb}: {name} is no argument; give execution=jb.Execution({name}=...)"
    with pytest.raises(TypeError, match=rf"^{verb}: max_faild is no argument, must be one of .*'max_failed'\?$"):
        VERBS[verb](max_faild=1)


def test_verbs_have_few_arguments():
    most = {jb.simulate: 14, jb.identify: 14, jb.sweep: 6}  # identify has what simulate has: metrics and keep
    assert all(len(inspect.signature(verb).parameters) <= number for verb, number in most.items())


def test_results_have_the_names_of_the_two_objects():
    found = jb.simulate(RULE().named("one"), WORLD().named("two"), **SMALL)
    assert (found.algorithm, found.instance) == ("one", "two")
    same(found, jb.simulate(RULE, WORLD, **SMALL))


def test_what_is_allowed_is_one_of_two():
    for wrong in (True, "rewards", ["reward"], None):
        with pytest.raises(ValueError, match=r"^simulate: allow = .*, must be a list of some of 'rewards', 'context'$"):
            jb.simulate(RULE, WORLD, **SMALL, allow=wrong)
