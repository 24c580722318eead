"""simulate and sweep: labels, truth, compiled once, and progress."""

import functools
import sys

import jax
import numpy as np
import pytest

import jaxbandit
from jaxbandit.algorithms.regret.ucb import ucb1
from jaxbandit.engine.driver.execution import Progress
from jaxbandit.environments.stationary.bernoulli import bernoulli
from jaxbandit.running import progress
from jaxbandit.running.identify import identify
from jaxbandit.running.progress import progress_bar
from jaxbandit.running.results.compare import compare
from jaxbandit.running.simulate import simulate
from jaxbandit.running.sweep import sweep

MEANS = [0.1, 0.9]
SMALL = {"horizon": 40, "num_runs": 16}


def test_labels_truth_and_numbers():
    r = simulate(
        ucb1(2),
        bernoulli(MEANS),
        **SMALL,
        seed=3,
        name="mine",
        instance="two",
        regret_constant=1.5,
        checkpoints=[2, 40],
    )
    assert (r.algorithm, r.instance, r.seed, r.runs, r.precision) == ("mine", "two", 3, 16, "float32")
    assert r.truth == {"means": MEANS, "regret_constant": 1.5}
    np.testing.assert_allclose(r.arrays["regret"][:, 0], 0.8, rtol=1e-6)  # each arm once
    pulls = r.arrays["pulls"]
    assert np.all(pulls.sum(axis=1) == 40)
    np.testing.assert_allclose(r.arrays["regret"][:, 1], 0.8 * pulls[:, 0], rtol=1e-5)
    np.testing.assert_allclose(r.summary()["regret"]["lower_bound"], 1.5 * np.log([2, 40]))


def test_the_same_objects_are_compiled_once():
    algorithm, environment = ucb1(2), bernoulli(MEANS)
    first = simulate(algorithm, environment, **SMALL)
    second = simulate(algorithm, environment, **SMALL, seed=1)
    assert second.seconds["compile"] < 0.2 * first.seconds["compile"]
    assert not np.array_equal(first.arrays["regret"], second.arrays["regret"])


def test_sweep_equals_single_calls_and_pairs():
    environment = bernoulli(MEANS)
    factory = functools.partial(ucb1, 2)
    swept = sweep(factory, environment, {"c": [0.0, 3.0]}, **SMALL, name="ucb1")
    assert [r.params for r in swept] == [{"c": 0.0}, {"c": 3.0}]
    assert swept[1].seconds["compile"] < 0.2 * swept[0].seconds["compile"]
    single = simulate(ucb1(2, c=3.0), environment, **SMALL)
    np.testing.assert_array_equal(swept[1].arrays["pulls"], single.arrays["pulls"])
    assert compare(*swept).paired


@pytest.mark.parametrize("values", [{}, {"c": []}, {"c": [0.0, 1.0], "d": [0.0]}])
def test_sweep_refuses_unequal_columns(values):
    with pytest.raises(ValueError, match="must have the same length >= 1"):
        sweep(functools.partial(ucb1, 2), bernoulli(MEANS), values, **SMALL)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"d": [0.0]}, "unexpected keyword argument 'd', must be arguments of the factory: .*c"),
        ({"num_arms": [2.0]}, "sweep: "),
        ({"c": 1.0}, "values of c = 1.0, must be a list of numbers"),
    ],
)
def test_sweep_refuses_what_cannot_be_swept_in_one_line(values, said):
    with pytest.raises(ValueError, match=said) as error:
        sweep(functools.partial(ucb1, 2), bernoulli(MEANS), values, **SMALL)
    assert "\n" not in str(error.value)


def test_progress_only_on_a_terminal(capsys, monkeypatch):
    with progress_bar(10, "x", "step") as advance:
        assert advance is None
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with progress_bar(10, "x", "step") as advance:
        assert advance is not None
        assert "x: compiling:" in capsys.readouterr().err  # until the first report
        advance(Progress(0, 10))
    assert "compiling" not in capsys.readouterr().err.rpartition("x:")[2]


def test_progress_as_lines_without_a_terminal(capsys, monkeypatch):
    with progress_bar(10, "x", "step", show=False, lines=True) as advance:
        assert advance is None
    clock = iter([0.0, 4.0, 11.0, 12.0, 22.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    with progress_bar(2_000_000, "x", "step", lines=True) as advance:
        for _ in range(4):
            advance(Progress(0, 500_000))
    assert capsys.readouterr().err.splitlines() == ["x: 50 % of 2M steps after 11 s", "x: 100 % of 2M steps after 22 s"]


@pytest.mark.parametrize(("play", "instead"), [(simulate, "rollout"), (identify, "run_until_stop")])
def test_what_drives_the_engine_is_refused_inside_a_trace(play, instead):
    given = {"horizon": 10} if play is simulate else {}
    with pytest.raises(ValueError, match=f"JAX traces .*; use {instead} there"):
        jax.jit(lambda x: x + play(ucb1(2), bernoulli(MEANS), num_runs=2, **given).runs)(0)


def test_a_misspelt_public_name_is_guessed():
    with pytest.raises(AttributeError, match="no attribute 'ucbb1'; did you mean 'ucb1'"):
        _ = jaxbandit.ucbb1
