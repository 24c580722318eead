"""Executors that misbehave: the same result, or one line that says what to do, and nothing computed is lost."""

import dataclasses
import functools
import json
import multiprocessing
import os
import time
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import jax
import numpy as np
import pytest
from odd_executors import (
    Always,
    Backwards,
    Cancelling,
    Closing,
    Damaging,
    Deaf,
    NoFuture,
    Now,
    Repeating,
    Shapeless,
    Silent,
    Stale,
    Swapping,
    Twice,
)
from records import records

import jaxbandit as jb
from jaxbandit.running.distribution import tasks
from jaxbandit.running.distribution.driving import Lost
from jaxbandit.running.distribution.jobs import Jobs
from jaxbandit.running.distribution.processes import Processes
from jaxbandit.support.refusals import BadInput, Unfinished

pytestmark = pytest.mark.quickly_compiled

SPACE = jb.space.grid(x=[0.0, 0.5, 1.0])
RULE = jb.algorithms.paired_race(3, epsilon=0.3)
PAIR = (
    functools.partial(jb.algorithms.epsilon_greedy, 3, epsilon=0.1),
    functools.partial(jb.environments.bernoulli, [0.2, 0.5, 0.4]),
)
RUNS, HOW = {"horizon": 50, "num_runs": 200}, jb.Execution(runs_per_task=64)


def train(key, config):
    words = np.asarray(jax.random.key_data(key)).tolist()
    return config["x"] + 0.1 * np.random.default_rng([*words, int(10 * config["x"])]).normal()


def ends_its_process(key, config):
    if config["x"] == 0.5:
        time.sleep(1.0)  # until the training before it has returned
        os._exit(7)
    return train(key, config)


def exits(key, config):
    return train(key, config) if config["x"] != 0.5 else exit(5)


SAME = {
    "backwards": Backwards,
    "swapping": Swapping,
    "twice": Twice,
    "silent": Silent,
    "stale": Stale,
    "threads": functools.partial(ThreadPoolExecutor, 500),
}


@pytest.fixture(scope="module")
def plain():
    return jb.tune(train, SPACE, RULE)


@pytest.fixture(scope="module")
def alone():
    return jb.simulate(*(make() for make in PAIR), horizon=50, num_runs=200)


@pytest.mark.slow
@pytest.mark.parametrize("kind", SAME)
def test_the_order_of_answers_changes_nothing(kind, plain, tmp_path):
    plain.save(tmp_path / "plain")
    for place in ({}, {"directory": tmp_path / "search"}):
        with SAME[kind]() as executor:
            best = jb.tune(train, SPACE, RULE, **records(executor=executor, **place))
        best = dataclasses.replace(best, notes=plain.notes)  # which say that train cannot be traced
        best.save(tmp_path / "found")
        for name in ("summary.json", "table.npz", "history.npz"):
            assert (tmp_path / "found" / name).read_bytes() == (tmp_path / "plain" / name).read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("kind", [kind for kind in SAME if kind != "threads"])
def test_the_order_of_answers_changes_no_simulation(kind, alone):
    with SAME[kind]() as executor:
        found = jb.simulate(*PAIR, **RUNS, execution=HOW._replace(executor=executor))
    assert all(found.arrays[name].tobytes() == array.tobytes() for name, array in alone.arrays.items())


def shut_down():
    executor = ThreadPoolExecutor(1)
    executor.shutdown()
    return executor


BROKEN = BrokenProcessPool("A process in the process pool was terminated abruptly")
SHUT = "executor: accepts no call (RuntimeError: cannot schedule new futures"
LOST = "the executor lost its workers (BrokenProcessPool)"
TRAINING, RUNS_64 = "configuration 1 (x = 0.5)", "runs 64 to 127"
# An executor -> the error and the words of a search, the trainings told before, and the error and words of runs.
ENDS = {
    "no executor": (object, BadInput, "executor = <object object at", 0, BadInput, "executor = <object object at"),
    "a number": (lambda: 3, BadInput, "executor = 3, must be an executor of PEP 3148", 0, BadInput, "executor = 3"),
    "shut down": (shut_down, BadInput, f"{SHUT} after", 0, BadInput, f"{SHUT} after"),
    "deaf": (lambda: Deaf(OSError("no pipes"), 3), BadInput, "(OSError: no pipes)", 2, BadInput, "(OSError: no pipes)"),
    "broken at once": (lambda: Deaf(BROKEN, 3), Unfinished, "ended the workers of the executor", 2, Unfinished, LOST),
    "no futures": (
        NoFuture,
        BadInput,
        "submit returns a Part, must",
        0,
        BadInput,
        "submit returns a dict, must",
    ),
    "broken": (lambda: Always(BROKEN), Unfinished, TRAINING, 1, Unfinished, LOST),
    "lost": (lambda: Always(Lost("3 died")), Unfinished, TRAINING, 1, Unfinished, "killed 3 workers and were given up"),
    "cancelled": (Cancelling, Unfinished, TRAINING, 1, Unfinished, "cancelled"),
    "answers nothing": (lambda: Always(None), BadInput, TRAINING, 1, BadInput, RUNS_64),
    "answers otherwise": (lambda: Always((1, 2)), BadInput, TRAINING, 1, BadInput, RUNS_64),
    "no parts": (lambda: Always({"parts": []}), BadInput, TRAINING, 1, BadInput, RUNS_64),
    "cannot pickle": (lambda: Always(TypeError("no pickle")), BadInput, TRAINING, 1, BadInput, "TypeError: no pickle"),
    "exits": (lambda: Always(SystemExit(5)), BadInput, "SystemExit: 5", 1, BadInput, "the task ends in SystemExit: 5"),
    "cannot be shown": (lambda: Always(Shapeless()), BadInput, TRAINING, 1, Unfinished, "executor reports Shapeless"),
    "closes itself": (Closing, BadInput, SHUT, 0, BadInput, f"{SHUT} after"),
}


def scores_in(directory):
    """The number of scores in the directory of a search."""
    log = directory / "scores.jsonl"
    lines = log.read_text().splitlines() if log.exists() else []
    return sum(len(json.loads(line).get("seed", ())) for line in lines)


@pytest.mark.parametrize("case", ENDS)
def test_a_search_ends_in_one_line_and_goes_on(case, plain, tmp_path):
    make, error, words, before, *_ = ENDS[case]
    with pytest.raises(error) as ending:
        jb.tune(train, SPACE, RULE, execution=jb.Execution(executor=make(), directory=tmp_path))
    line = str(ending.value)
    assert words in line and "\n" not in line, line
    assert scores_in(tmp_path) >= before
    if error is Unfinished:
        assert "the same call" in line or "run the same" in line
    best = jb.tune(train, SPACE, RULE, execution=jb.Execution(directory=tmp_path))
    np.testing.assert_array_equal(best.history["score"], plain.history["score"])


def test_results_that_never_come_end_the_search(tmp_path):
    with pytest.raises(
        Unfinished, match=r"configuration 1 \(x = 0.5\) got no result from the executor; what was done is saved in"
    ):
        jb.tune(train, SPACE, RULE, execution=jb.Execution(executor=Repeating(), directory=tmp_path))
    assert scores_in(tmp_path) == 1


@pytest.mark.parametrize("case", [*ENDS, "damaged parts"])
def test_a_simulation_ends_in_one_line_and_goes_on(case, alone, tmp_path):
    damaged = Damaging, BadInput, "not a whole part"
    make, error, words = damaged if case == "damaged parts" else (ENDS[case][0], *ENDS[case][4:])
    with pytest.raises(error) as ending:
        jb.simulate(*PAIR, **RUNS, execution=HOW._replace(executor=make(), directory=tmp_path))
    line = str(ending.value)
    assert words in line and "\n" not in line, line
    if error is Unfinished and case != "lost":
        assert "finished parts are kept; run the same command with new workers" in line
    found = jb.simulate(*PAIR, **RUNS, execution=HOW._replace(executor=Now(), directory=tmp_path))
    assert all(found.arrays[name].tobytes() == array.tobytes() for name, array in alone.arrays.items())


def reads(path):
    Path(path).read_bytes()


def test_what_an_executor_and_a_worker_refuse_is_one_line():
    with pytest.raises(ValueError, match=r"^Execution: seconds_per_task = 'x', must be a number in \(0, inf\)"):
        jb.simulate(*PAIR, **RUNS, execution=HOW._replace(seconds_per_task="x", executor=Now()))
    jobs = Jobs(None)
    jobs.shutdown()
    with pytest.raises(BadInput, match=r"^executor: accepts no call \(RuntimeError: the executor has been shut down"):
        jb.simulate(*PAIR, **RUNS, execution=HOW._replace(executor=jobs))
    asked = functools.partial(tasks.play, {"folder": "/parts"})
    assert asked(lambda task: reads("/no/such/data"))["refused"].endswith("No such file or directory: '/no/such/data'")
    assert asked(lambda task: reads("/parts/x"))["refused"].endswith(
        "/parts: cannot be written (No such file or directory)"
    )


def test_forked_workers_are_refused():
    with (
        ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("fork")) as forking,
        pytest.raises(BadInput, match=r"^executor: its workers are forked, and JAX may deadlock"),
    ):
        jb.tune(train, SPACE, RULE, execution=jb.Execution(executor=forking))


@pytest.mark.slow
def test_a_training_that_ends_its_process_is_one_line(plain, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([os.path.dirname(__file__), os.environ.get("PYTHONPATH", "")]))
    pool = ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn"))
    with pool, pytest.raises(Unfinished) as ending:
        jb.tune(ends_its_process, SPACE, RULE, execution=jb.Execution(executor=pool, directory=tmp_path))
    assert "configuration 1 (x = 0.5)" in str(ending.value) and "\n" not in str(ending.value)
    assert scores_in(tmp_path) >= 1
    with Processes(1) as executor:
        how = jb.Execution(executor=executor)
        with pytest.raises(BadInput, match=r"configuration 1 \(x = 0.5\) raises SystemExit: 5"):
            jb.tune(exits, SPACE, RULE, execution=how)
        with pytest.raises(BadInput, match=r"configuration 0 \(x = 0\) cannot be trained on"):
            jb.tune(lambda key, config: train(key, config), SPACE, RULE, execution=how)


def test_a_broken_executor_is_told_from_a_broken_training():
    def raising(key, config):
        raise BrokenExecutor("mine")

    with pytest.raises(BadInput, match=r"configuration 0 \(x = 0\) raises BrokenExecutor: mine"):
        jb.tune(raising, SPACE, RULE, execution=jb.Execution(executor=Now()))
