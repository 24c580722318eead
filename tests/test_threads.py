"""No exception of a thread of the package is lost, and nobody waits for a thread that is gone."""

import ast
import contextlib
import threading
import time
from concurrent.futures import BrokenExecutor
from pathlib import Path

import pytest

import jaxbandit
from jaxbandit.decide.tuning import progress
from jaxbandit.decide.tuning.limits import Daemons
from jaxbandit.engine.driver import interrupts
from jaxbandit.engine.layout import compiling
from jaxbandit.lab.cli import signals
from jaxbandit.lab.experiments.ahead import compiler
from jaxbandit.running.distribution import jobs, processes
from jaxbandit.running.distribution.driving import Lost
from jaxbandit.running.distribution.processes import Processes
from jaxbandit.support import threads

PACKAGE = Path(jaxbandit.__file__).parent
SOON = 20.0  # seconds after which a test says that something hangs; what is waited for takes less than two


def broken(*_):
    raise ZeroDivisionError("no hope")


def outcome(future):
    return future.exception(timeout=SOON)


# Where an exception could be lost


BEGINNINGS = {"Thread", "Timer", "start_new_thread", "start_joinable_thread"}
SUBMISSIONS = {"submit", "map", "apply_async", "map_async"}


def unguarded(tree):
    """The lines of a module that begin a thread, or leave a future unread, without the guard of support/threads.py."""
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module="threading" | "_thread", names=names):
                wrong = any(alias.name in BEGINNINGS for alias in names)
            case ast.ClassDef(bases=bases):
                wrong = any(isinstance(base, ast.Attribute) and base.attr in BEGINNINGS for base in bases)
            case ast.Call(func=ast.Attribute(attr="add_done_callback"), args=[callback]):
                # One that raises is logged and forgotten: only what cannot fail may be one.
                wrong = not (isinstance(callback, ast.Attribute) and callback.attr in ("put", "discard"))
            case ast.Call(func=ast.Attribute(attr=name)):
                wrong = name in BEGINNINGS
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr=name), args=[work, *_])) if name in SUBMISSIONS:
                wrong = not (isinstance(work, ast.Call) and ast.unparse(work.func) == "threads.guarded")
            case _:
                wrong = False
        if wrong:
            yield node.lineno


@pytest.mark.parametrize(
    "line",
    [
        "threading.Thread(target=f).start()",
        "t = threading.Timer(1, f)",
        "from threading import Event, Thread",
        "class Watch(threading.Thread): ...",
        "pool.submit(f, 1)",
        "future.add_done_callback(lambda future: f(future.result()))",
        "_thread.start_new_thread(f, ())",
    ],
)
def test_the_search_finds_a_thread_without_the_guard(line):
    assert list(unguarded(ast.parse(line))) == [1]


def test_every_thread_has_the_guard():
    found = [
        f"{path.relative_to(PACKAGE)}:{line}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if path != PACKAGE / "support" / "threads.py"
        for line in unguarded(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert not found, "start a thread by threads.start or start_later, and read futures or give threads.guarded"


# The guard


def test_an_exception_goes_to_who_waits_or_is_one_line(capsys):
    got = []
    threads.start(broken, 1, name="test", failed=got.append).join(SOON)
    assert [type(error) for error in got] == [ZeroDivisionError]
    assert capsys.readouterr().err == ""
    line = "jaxbandit: the test has ended in {}; please report this\n"
    threads.start(broken, name="test").join(SOON)
    assert capsys.readouterr().err == line.format("ZeroDivisionError: no hope")
    threads.start(broken, name="test", failed=lambda error: [][0]).join(SOON)
    assert capsys.readouterr().err == line.format("IndexError: list index out of range")
    threads.start(lambda: (_ for _ in ()).throw(SystemExit(3)), name="test").join(SOON)
    assert capsys.readouterr().err == line.format("SystemExit: 3")
    timer = threads.start_later(0.01, broken, name="test")
    assert timer.daemon and threads.start(time.sleep, 0.01, name="test").daemon  # no process waits for its end
    timer.join(SOON)
    assert capsys.readouterr().err == line.format("ZeroDivisionError: no hope")


def until(capsys):
    """What is printed on stderr next."""
    deadline, said = time.monotonic() + SOON, ""
    while not said and time.monotonic() < deadline:
        time.sleep(0.02)
        said = capsys.readouterr().err
    return said


def test_watches_and_timers_are_guarded(capsys, monkeypatch):
    monkeypatch.setattr(progress, "SILENT", 0.01)
    monkeypatch.setattr(progress, "say", broken)
    with progress.watched(lambda _: None):
        assert until(capsys).startswith("jaxbandit: the watch over the trainings has ended in ZeroDivisionError")
    monkeypatch.setattr(compiling, "SECONDS", 0.01)
    monkeypatch.setattr(compiling, "_say", broken)
    with compiling.said():
        assert until(capsys).startswith("jaxbandit: the timer of a compilation has ended in ZeroDivisionError")


def test_a_compilation_ahead_is_quiet_about_what_the_cell_will_raise_and_about_nothing_else(capsys):
    for error, said in ((ZeroDivisionError, False), (KeyboardInterrupt, False), (SystemExit, True)):
        done = threading.Event()

        def call(error=error, done=done):
            done.set()
            raise error

        with compiler() as compile:
            compile(call)
            assert done.wait(SOON)
            time.sleep(0.1)
        assert ("compilation ahead has ended in SystemExit" in capsys.readouterr().err) == said


# Executors


class Job:
    def __init__(self, call, done=lambda: True):
        self.call, self.done, self.canceled = call, done, False

    def result(self):
        function, *arguments = self.call
        return function(*arguments)

    def cancel(self):
        self.canceled = True


class Submitit:
    """Jobs that are answered at once, but for the first, whose `done` is given."""

    def __init__(self, first=lambda: True):
        self.first, self.jobs = first, []

    def batch(self):
        return contextlib.nullcontext()

    def submit(self, *call):
        self.jobs.append(Job(call) if self.jobs else Job(call, self.first))
        return self.jobs[-1]


def submitit(monkeypatch, first=lambda: True):
    pytest.importorskip("submitit")
    monkeypatch.setattr(jobs, "TOGETHER", 0.05)
    monkeypatch.setattr(jobs, "LOOK", 0.01)
    return Submitit(first)


def test_a_job_that_cannot_be_asked_fails_its_own_call(monkeypatch):
    executor = jobs.Jobs(submitit(monkeypatch, broken))
    first, second = executor.submit(abs, -1), executor.submit(abs, -2)
    assert isinstance(outcome(first), ZeroDivisionError) and second.result(SOON) == 2
    assert executor.submit(abs, -3).result(SOON) == 3
    executor.shutdown()


def test_jobs_are_submitted_three_times_and_one_after_another_is_served(monkeypatch):
    from submitit.core.utils import UncompletedJobError

    calls = []

    def dies():
        calls.append(1)
        raise UncompletedJobError

    given = submitit(monkeypatch)
    executor = jobs.Jobs(given)
    assert isinstance(outcome(executor.submit(dies)), Lost) and len(calls) == 3 == len(given.jobs)
    assert executor.submit(abs, -3).result(SOON) == 3
    executor.shutdown()


def test_canceled_jobs_leave_nobody_waiting(monkeypatch):
    given = submitit(monkeypatch, lambda: False)
    executor = jobs.Jobs(given)
    begun = executor.submit(abs, -1)
    while not given.jobs:
        time.sleep(0.01)
    monkeypatch.setattr(jobs, "TOGETHER", 0.5)
    time.sleep(0.1)  # the thread now collects the calls of half a second
    taken = executor.submit(abs, -2)
    time.sleep(0.1)
    assert taken.running()
    executor.shutdown(cancel_futures=True, wait=False)
    assert isinstance(outcome(begun), Lost) and isinstance(outcome(taken), Lost) and given.jobs[0].canceled
    assert len(given.jobs) == 1


@pytest.mark.parametrize("make", [lambda m: jobs.Jobs(submitit(m)), lambda m: Processes(2), lambda m: Daemons(2)])
def test_a_thread_that_is_gone_leaves_nobody_waiting(make, monkeypatch):
    executor, begun, go = make(monkeypatch), threading.Event(), threading.Event()

    def serve(place):
        begun.set()
        go.wait(SOON)
        broken()

    monkeypatch.setattr(executor, "_serve", serve)
    futures = [executor.submit(abs, -1) for _ in range(3)]
    go.set()
    assert [type(outcome(future)) for future in futures] == [ZeroDivisionError] * 3
    with pytest.raises(IndexError):  # of another thread, when nobody waits any more: it is said, and changes nothing
        executor._broken(IndexError())
    with pytest.raises(BrokenExecutor, match="a thread of the executor has ended in ZeroDivisionError: no hope"):
        executor.submit(abs, -1)
    executor.shutdown()
    assert not any(thread.is_alive() for thread in executor._threads)


def test_a_shutdown_ends_all_threads_and_cancels_what_has_not_begun():
    executor, go = Daemons(2), threading.Event()
    begun = [executor.submit(go.wait, SOON) for _ in range(2)]
    while not all(future.running() for future in begun):
        time.sleep(0.01)
    left = executor.submit(abs, -1)
    executor.shutdown(wait=False, cancel_futures=True)
    assert left.cancelled() and not any(future.cancelled() for future in begun)
    go.set()
    for thread in executor._threads:
        thread.join(SOON)
        assert not thread.is_alive()
    assert [future.result(SOON) for future in begun] == [True, True]
    with pytest.raises(RuntimeError, match="has been shut down"):
        executor.submit(abs, -1)


def test_an_executor_whose_thread_ends_with_nobody_waiting_says_so(monkeypatch, capsys):
    executor = Daemons(1)
    monkeypatch.setattr(executor, "_serve", lambda place: (executor._calls.get()[0].cancel(), broken()))
    executor.submit(abs, -1)
    assert until(capsys).startswith("jaxbandit: the thread 0 of Daemons has ended in ZeroDivisionError")


def test_a_worker_that_cannot_be_replaced_fails_the_call(monkeypatch):
    """Closing a dead worker raises, which ended the thread and left the future without an answer."""
    executor = Processes(1)

    class Dead:
        def submit(self, *call, **options):
            raise BrokenExecutor

    def worker(share, closing):
        closing.callback(broken)
        return Dead()

    monkeypatch.setattr(executor, "_worker", worker)
    assert isinstance(outcome(executor.submit(abs, -1)), ZeroDivisionError)
    executor.shutdown()


def test_a_worker_whose_watch_fails_ends(monkeypatch):
    ended = threading.Event()
    monkeypatch.setattr(processes.os, "_exit", lambda status: ended.set())
    monkeypatch.setattr(processes.signal, "signal", lambda *_: None)

    class End:
        recv = broken

    processes.begin(End(), ())
    assert ended.wait(SOON)


# Signals


def test_on_a_signal_all_is_saved_that_can_be_and_the_process_ends(monkeypatch):
    saved, left = [], []
    monkeypatch.setattr(signals, "GRACE", 0.01)
    monkeypatch.setattr(signals, "leave", left.append)
    with interrupts.heard(lambda: saved.append(1)), interrupts.heard(broken), interrupts.heard(lambda: saved.append(2)):
        threads.start(signals._stop, name="end", failed=signals._not_saved).join(SOON)
    resume = "run the same command to resume from the last save"
    assert sorted(saved) == [1, 2] and left == [f"interrupted, but not saved (ZeroDivisionError: no hope); {resume}"]

    def full():
        raise OSError(28, "No space left on device")

    with interrupts.heard(full):
        threads.start(signals._stop, name="end", failed=signals._not_saved).join(SOON)
    assert left[1:] == [f"interrupted, but not saved (No space left on device); {resume}"]
