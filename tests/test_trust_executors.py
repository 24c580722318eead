"""Executors that misbehave: the same result, or one line that says what to do, and nothing that was computed is lost."""

import functools
import multiprocessing
import os
import time
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool

import jax
import numpy as np
import pytest

import jaxbandit as jb
from jaxbandit.base.refusals import BadInput, Unfinished
from jaxbandit.decide.sessions.directory import read_session
from jaxbandit.running.distribution import tasks
from jaxbandit.running.distribution.driving import Lost
from jaxbandit.running.distribution.jobs import Jobs
from jaxbandit.running.distribution.processes import Processes

pytestmark = pytest.mark.quickly_compiled

SPACE = jb.grid(x=[0.0, 0.5, 1.0])
RULE = jb.paired_race(3, epsilon=0.3)
PAIR = (
    functools.partial(jb.epsilon_greedy, 3, epsilon=0.1),
    functools.partial(jb.bernoulli, [0.2, 0.5, 0.4]),
)
RUNS = {"horizon": 50, "num_runs": 200, "execution": jb.Execution(runs_per_task=64)}


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


class Now(Executor):
    """An executor that calls at once, and answers with what `answer` makes of each result."""

    def __init__(self):
        self.calls = 0

    def submit(self, fn, /, *args, **kwargs):
        self.calls += 1
        future = Future()
        self.answer(future, fn(*args, **kwargs))
        return future

    def answer(self, future, result):
        future.set_result(result)


class Backwards(Now):
    """An executor that ends calls in the opposite order, once nobody submits more."""

    def __init__(self):
        super().__init__()
        self.waiting = []

    def answer(self, future, result):
        self.waiting.append((future, result))
        if len(self.waiting) == 1:
            import threading

            threading.Timer(0.05, self.end).start()

    def end(self):
        waiting, self.waiting = self.waiting, []
        for future, result in reversed(waiting):
            future.set_result(result)


class Swapping(Backwards):
    """An executor that gives each call the result of another."""

    def end(self):
        waiting, self.waiting = self.waiting, []
        for (future, _), (_, result) in zip(waiting, reversed(waiting), strict=True):
            future.set_result(result)


class Twice(Now):
    """An executor whose futures report twice that they have ended."""

    class Repeated(Future):
        def add_done_callback(self, fn):
            super().add_done_callback(fn)
            super().add_done_callback(fn)

    def submit(self, fn, /, *args):
        future = self.Repeated()
        future.set_result(fn(*args))
        return future


class Silent(Now):
    """An executor whose futures end without telling anybody."""

    class Mute(Future):
        def add_done_callback(self, fn):
            pass

    def submit(self, fn, /, *args):
        future = self.Mute()
        future.set_result(fn(*args))
        return future


class Stale(Now):
    """An executor that now and then answers with the result of the first call."""

    first = None

    def answer(self, future, result):
        self.first = self.first or result
        future.set_result(self.first if self.calls % 5 == 0 else result)


class Always(Now):
    """An executor that answers every call with the same object, or error, from some call on."""

    def __init__(self, what, since=2):
        super().__init__()
        self.what, self.since = what, since

    def answer(self, future, result):
        if self.calls < self.since:
            future.set_result(result)
        elif isinstance(self.what, BaseException):
            future.set_exception(self.what)
        else:
            future.set_result(self.what)


class Cancelling(Now):
    """An executor that cancels its second call."""

    def answer(self, future, result):
        if self.calls == 2:
            future.cancel()
            future.set_running_or_notify_cancel()
        else:
            future.set_result(result)


class Damaging(Now):
    """An executor on whose way back the data of every part but the first is damaged."""

    def answer(self, future, result):
        if self.calls > 1:
            result["parts"] = [piece | {"data": b"PK"} for piece in result["parts"]]
        future.set_result(result)


class Deaf(Executor):
    """An executor that accepts no call, from some call on."""

    def __init__(self, error, since=1):
        self.error, self.left = error, since

    def submit(self, fn, /, *args):
        self.left -= 1
        if self.left <= 0:
            raise self.error
        return Now().submit(fn, *args)


class NoFuture(Executor):
    """An executor that returns results in the place of futures."""

    def submit(self, fn, /, *args):
        return fn(*args)


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


@pytest.mark.parametrize("kind", SAME)
def test_the_order_of_answers_changes_nothing(kind, plain, tmp_path):
    for place in ({}, {"directory": tmp_path}):
        with SAME[kind]() as executor:
            best = jb.tune(train, SPACE, RULE, executor=executor, **place)
        assert best.index == plain.index
        for name, column in plain.history.items():
            np.testing.assert_array_equal(best.history[name], column)


@pytest.mark.parametrize("kind", [kind for kind in SAME if kind != "threads"])
def test_the_order_of_answers_changes_no_simulation(kind, alone):
    with SAME[kind]() as executor:
        found = jb.simulate(*PAIR, **RUNS, executor=executor)
    assert all(found.arrays[name].tobytes() == array.tobytes() for name, array in alone.arrays.items())


def shut_down():
    executor = ThreadPoolExecutor(1)
    executor.shutdown()
    return executor


BROKEN = BrokenProcessPool("A process in the process pool was terminated abruptly")
ENDS = {  # executor -> error, words, trainings told before
    "no executor": (object, BadInput, "executor = <object object at", 0),
    "a number": (lambda: 3, BadInput, "executor = 3, must be an executor of PEP 3148", 0),
    "shut down": (shut_down, BadInput, "executor: accepts no call (RuntimeError: cannot schedule new futures after", 0),
    "deaf": (lambda: Deaf(OSError("no pipes"), 3), BadInput, "executor: accepts no call (OSError: no pipes)", 2),
    "broken at once": (lambda: Deaf(BROKEN, 3), Unfinished, "ended the workers of the executor (BrokenProcessPool", 2),
    "no futures": (NoFuture, BadInput, "executor: submit returns a Part, must return a Future", 0),
    "broken": (lambda: Always(BROKEN), Unfinished, "configuration 1 (x = 0.5)", 1),
    "lost": (lambda: Always(Lost("3 workers died")), Unfinished, "configuration 1 (x = 0.5)", 1),
    "cancelled": (Cancelling, Unfinished, "configuration 1 (x = 0.5)", 1),
    "answers nothing": (lambda: Always(None), BadInput, "configuration 1 (x = 0.5)", 1),
    "answers otherwise": (lambda: Always({"parts": []}), BadInput, "configuration 1 (x = 0.5)", 1),
    "cannot pickle": (lambda: Always(TypeError("cannot pickle 'lock'")), BadInput, "configuration 1 (x = 0.5)", 1),
}


@pytest.mark.parametrize("case", ENDS)
def test_a_search_ends_in_one_line_and_goes_on(case, plain, tmp_path):
    make, error, words, before = ENDS[case]
    with pytest.raises(error) as ending:
        jb.tune(train, SPACE, RULE, executor=make(), directory=tmp_path)
    line = str(ending.value)
    assert words in line and "\n" not in line, line
    if (tmp_path / "session.json").exists():
        assert read_session(tmp_path, RULE).num_told >= before
    if error is Unfinished:
        assert "the same call" in line or "run the same" in line
    best = jb.tune(train, SPACE, RULE, directory=tmp_path)
    np.testing.assert_array_equal(best.history["score"], plain.history["score"])


def test_results_that_never_come_end_the_search(tmp_path):
    class Repeating(Now):
        first = None

        def answer(self, future, result):
            self.first = self.first or result
            future.set_result(self.first)

    with pytest.raises(
        Unfinished, match=r"configuration 1 \(x = 0.5\) got no result from the executor; what was done is saved in"
    ):
        jb.tune(train, SPACE, RULE, executor=Repeating(), directory=tmp_path)
    assert read_session(tmp_path, RULE).num_told == 1


SIMULATED = {
    "no executor": (object, BadInput, "executor = <object object at"),
    "shut down": (shut_down, BadInput, "executor: accepts no call (RuntimeError: cannot schedule new futures after"),
    "deaf": (lambda: Deaf(OSError("no pipes"), 3), BadInput, "executor: accepts no call (OSError: no pipes)"),
    "broken at once": (lambda: Deaf(BROKEN, 3), Unfinished, "the executor lost its workers (BrokenProcessPool)"),
    "no futures": (NoFuture, BadInput, "executor: submit returns a dict, must return a Future"),
    "broken": (lambda: Always(BROKEN), Unfinished, "the executor lost its workers (BrokenProcessPool)"),
    "lost": (
        lambda: Always(Lost("3 workers died")),
        Unfinished,
        "killed 3 workers and were given up; the rest is finished",
    ),
    "cancelled": (Cancelling, Unfinished, "cancelled"),
    "answers nothing": (lambda: Always(None), BadInput, "runs 64 to 127"),
    "answers otherwise": (lambda: Always((1, 2)), BadInput, "runs 64 to 127"),
    "no parts": (lambda: Always({"parts": []}), BadInput, "runs 64 to 127"),
    "damaged parts": (Damaging, BadInput, "not a whole part"),
    "cannot pickle": (lambda: Always(TypeError("cannot pickle 'lock'")), BadInput, "TypeError: cannot pickle 'lock'"),
    "exits": (lambda: Always(SystemExit(5)), BadInput, "runs 64 to 127: the task ends in SystemExit: 5"),
}


@pytest.mark.parametrize("case", SIMULATED)
def test_a_simulation_ends_in_one_line_and_goes_on(case, alone, tmp_path):
    make, error, words = SIMULATED[case]
    with pytest.raises(error) as ending:
        jb.simulate(*PAIR, **RUNS, executor=make(), checkpoint_dir=tmp_path)
    line = str(ending.value)
    assert words in line and "\n" not in line, line
    found = jb.simulate(*PAIR, **RUNS, executor=Now(), checkpoint_dir=tmp_path)
    assert all(found.arrays[name].tobytes() == array.tobytes() for name, array in alone.arrays.items())


def reads(path):
    open(path)


def test_what_an_executor_and_a_worker_refuse_is_one_line():
    with pytest.raises(BadInput, match="seconds per task = 'x', must be greater than 0"):
        jb.simulate(*PAIR, **RUNS | {"execution": jb.Execution(seconds_per_task="x")}, executor=Now())
    jobs = Jobs(None)
    jobs.shutdown()
    with pytest.raises(BadInput, match=r"^executor: accepts no call \(RuntimeError: the executor has been shut down"):
        jb.simulate(*PAIR, **RUNS, executor=jobs)
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
        jb.tune(train, SPACE, RULE, executor=forking)


@pytest.mark.slow
def test_a_training_that_ends_its_process_is_one_line(plain, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([os.path.dirname(__file__), os.environ.get("PYTHONPATH", "")]))
    for name, executor in (
        ("pool", ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn"))),
        ("own", Processes(1)),
    ):
        with executor, pytest.raises(Unfinished) as ending:
            jb.tune(ends_its_process, SPACE, RULE, executor=executor, directory=tmp_path / name)
        assert "configuration 1 (x = 0.5)" in str(ending.value) and "\n" not in str(ending.value)
        assert read_session(tmp_path / name, RULE).num_told >= 1
    with Processes(1) as executor, pytest.raises(BadInput, match=r"configuration 1 \(x = 0.5\) raises SystemExit: 5"):
        jb.tune(exits, SPACE, RULE, executor=executor)
    with Processes(1) as executor, pytest.raises(BadInput, match=r"configuration 0 \(x = 0\) cannot be trained on"):
        jb.tune(lambda key, config: train(key, config), SPACE, RULE, executor=executor)


def test_a_broken_executor_is_told_from_a_broken_training():
    def raising(key, config):
        raise BrokenExecutor("mine")

    with pytest.raises(BadInput, match=r"configuration 0 \(x = 0\) raises BrokenExecutor: mine"):
        jb.tune(raising, SPACE, RULE, executor=Now())
