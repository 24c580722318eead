"""simulate and sweep: labels, truth, compiled once, and progress."""

import functools
import sys

import jax
import numpy as np
import pytest

import jaxbandit
from jaxbandit.algorithms import lucb, sequential_halving
from jaxbandit.algorithms.regret.ucb import ucb1
from jaxbandit.engine.driver.execution import Progress
from jaxbandit.engine.layout import compiled
from jaxbandit.environments.stationary.bernoulli import bernoulli
from jaxbandit.running import progress, sizes
from jaxbandit.running.identify import identify
from jaxbandit.running.progress import progress_bar
from jaxbandit.running.results.compare import compare
from jaxbandit.running.simulate import simulate
from jaxbandit.running.sweep import sweep

MEANS = [0.1, 0.9]
SMALL = {"horizon": 40, "num_runs": 16}


@pytest.mark.slow
def test_labels_truth_and_numbers():
    world = bernoulli(MEANS).named("two")
    r = simulate(
        ucb1(2).named("mine"),
        world._replace(truth=world.truth._replace(regret_constant=lambda: 1.5)),
        **SMALL,
        seed=3,
        checkpoints=[2, 40],
    )
    assert (r.algorithm, r.instance, r.seed, r.runs, r.precision) == ("mine", "two", 3, 16, "float32")
    assert r.truth == {"means": MEANS, "regret_constant": 1.5}
    np.testing.assert_allclose(r.arrays["regret"][:, 0], 0.8, rtol=1e-6)  # each arm once
    pulls = r.arrays["pulls"]
    assert np.all(pulls.sum(axis=1) == 40)
    np.testing.assert_allclose(r.arrays["regret"][:, 1], 0.8 * pulls[:, 0], rtol=1e-5)
    np.testing.assert_allclose(r.to_json()["regret"]["lower_bound"], 1.5 * np.log([2, 40]))


@pytest.mark.slow
def test_the_same_objects_are_compiled_once():
    algorithm, environment = ucb1(2), bernoulli(MEANS)
    compiled.forget()
    first = simulate(algorithm, environment, **SMALL)
    second = simulate(algorithm, environment, **SMALL, seed=1)
    assert second.seconds["compile"] < 0.2 * first.seconds["compile"]
    assert not np.array_equal(first.arrays["regret"], second.arrays["regret"])


@pytest.mark.slow
def test_sweep_equals_single_calls_and_pairs():
    environment = bernoulli(MEANS)
    factory = functools.partial(ucb1, 2)
    compiled.forget()
    swept = sweep(factory, environment, {"c": [0.0, 3.0]}, **SMALL)
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
        advance(Progress(0, 10))
    assert capsys.readouterr().err == ""
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
    with progress_bar(2_000_000, "x", "step", lines=True, alike=False) as advance:
        for _ in range(4):
            advance(Progress(0, 500_000))
    assert capsys.readouterr().err.splitlines() == ["x: 50 % of 2M steps after 11 s", "x: 100 % of 2M steps after 22 s"]


@pytest.mark.parametrize(
    ("total", "said"),
    [
        (10**9, "jaxbandit: x: 1G steps take about 7 min\n"),  # 10^9 / (5 * 10^6 steps in 2 s) = 400 s
        (10**11, "jaxbandit: x: 100G steps take about 11 h\n"),
        (10**8, ""),  # 40 s
    ],
)
def test_an_estimate_for_what_takes_long(total, said, capsys, monkeypatch):
    clock = iter([90.0, 90.5, 92.0, 93.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    with progress_bar(total, "x", "step") as advance:
        for steps in (10**6, 10**6, 4 * 10**6, 10**9):  # the first was played while the program was compiled
            advance(Progress(0, steps))
    assert capsys.readouterr().err == said


@pytest.mark.parametrize("given", [{"show": False}, {"alike": False}])
def test_no_estimate_for_who_wants_none_or_steps_of_several_kinds(given):
    with progress_bar(10**12, "x", "step", **given) as advance:
        assert advance is None
    with progress_bar(10**12, "x", "run") as advance:
        assert advance is None


GIB = 2**30


@pytest.mark.parametrize(
    ("play", "said"),
    [
        (  # 4 bytes * (1 checkpoint + pulls of 2 arms) + 1 byte of outcome = 13 bytes
            lambda: simulate(ucb1(2), bernoulli(MEANS), horizon=9, num_runs=10**9, checkpoints=[9]),
            r"^simulate: num_runs = 1000000000: KEPT 12.1 GiB in all, and this machine has",
        ),
        (
            lambda: sweep(
                functools.partial(ucb1, 2),
                bernoulli(MEANS),
                {"c": range(1000)},
                horizon=9,
                num_runs=10**6,
                checkpoints=[9],
            ),
            r"^sweep: num_runs = 1000000 in each of 1,000 results: KEPT 12.1 GiB .* results$",
        ),
        (  # 16 bytes and pulls of 2 arms
            lambda: identify(lucb(2), bernoulli(MEANS), num_runs=10**9),
            r"^identify: num_runs = 1000000000: KEPT 22.4 GiB in all",
        ),
        (
            lambda: identify(
                functools.partial(sequential_halving, 2), bernoulli(MEANS), budget=[100, 200], num_runs=5 * 10**8
            ),
            r"^identify: num_runs = 500000000 in each of 2 results: KEPT 22.4 GiB in all",
        ),
    ],
    ids=["simulate", "sweep", "identify", "budgets"],
)
def test_results_that_do_not_fit_are_refused_with_their_size(play, said, monkeypatch):
    said = said.replace("KEPT", "what is kept of each run takes about")
    monkeypatch.setattr(sizes, "memory", lambda: 8 * GIB)
    with pytest.raises(ValueError, match=said) as error:
        play()
    assert "\n" not in str(error.value) and "8.0 GiB of memory" in str(error.value)


@pytest.mark.parametrize(("play", "instead"), [(simulate, "rollout"), (identify, "run_until_stop")])
def test_what_drives_the_engine_is_refused_inside_a_trace(play, instead):
    given = {"horizon": 10} if play is simulate else {}
    with pytest.raises(ValueError, match=f"JAX traces .*; use {instead} there"):
        jax.jit(lambda x: x + play(ucb1(2), bernoulli(MEANS), num_runs=2, **given).runs)(0)


def test_a_misspelt_public_name_is_guessed():
    with pytest.raises(AttributeError, match=r"no attribute .ucbb1.; did you mean jaxbandit\.algorithms\.ucb1\?$"):
        _ = jaxbandit.ucbb1
