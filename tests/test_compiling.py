"""A compilation that takes long says so on stderr, once, and only to those who want to read it."""

import io
import sys
import threading
import time

import pytest
from tqdm import tqdm

import jaxbandit as jb
from jaxbandit.engine.driver.execution import Execution
from jaxbandit.engine.layout import compiled, compiling
from jaxbandit.lab.experiments.experiment import run_experiment
from jaxbandit.lab.specs.spec import load
from jaxbandit.running.progress import progress_bar

pytestmark = [pytest.mark.slow, pytest.mark.quickly_compiled]
LINE = "jaxbandit: compiling {}: more than 0.1 s so far ...\n"


@pytest.fixture(autouse=True)
def _soon(monkeypatch):
    monkeypatch.setattr(compiling, "SECONDS", 0.1)
    compiled.forget()


def work(seconds=0.3):
    with compiling.said():
        time.sleep(seconds)


def test_one_line_for_what_takes_long_and_none_for_what_does_not(capsys):
    work(0.0)
    time.sleep(0.2)
    assert capsys.readouterr().err == ""
    work()
    assert capsys.readouterr().err == LINE.format("a program")
    with compiling.named("UCB1 on bernoulli"), compiling.said():
        work()  # a part of it
        work()
    assert capsys.readouterr().err == LINE.format("UCB1 on bernoulli")


def test_the_programs_of_a_call_are_added_up_and_the_next_call_starts_anew(capsys):
    for seconds in (0.01, 0.08):
        with compiling.named("x"):
            for _ in range(4):
                work(seconds)
        assert capsys.readouterr().err.count("\n") == (seconds > 0.02)
    with compiling.named("x"):
        work(0.02)
    assert capsys.readouterr().err == ""


def test_quiet_within_quiet_and_in_this_thread_only(capsys):
    with compiling.quietly(), compiling.quietly(False), compiling.named("x"):
        work()
        assert capsys.readouterr().err == ""
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert capsys.readouterr().err == LINE.format("a program")
    with compiling.quietly(False):
        work()
    assert capsys.readouterr().err == LINE.format("a program")


def test_an_error_ends_it(capsys):
    for _ in range(2):
        with pytest.raises(ZeroDivisionError), compiling.named("x"), compiling.said():
            1 / 0  # noqa: B018
    time.sleep(0.2)
    assert capsys.readouterr().err == ""
    work()
    assert capsys.readouterr().err == LINE.format("a program")


@pytest.mark.parametrize("stream", ["none", "closed"])
def test_a_closed_stderr_does_not_matter(stream, monkeypatch, capsys):
    closed = io.StringIO()
    closed.close()
    raised = []
    monkeypatch.setattr(threading, "excepthook", raised.append)
    monkeypatch.setattr(sys, "stderr", None if stream == "none" else closed)
    work()
    assert not raised and capsys.readouterr().out == ""


def test_the_line_comes_above_a_bar():
    """Each line on the screen is the bar or the line, never both."""
    screen = io.StringIO()
    before, sys.stderr = sys.stderr, screen
    try:
        with tqdm(total=2, desc="bar", file=sys.stderr, ncols=60, mininterval=0) as bar:
            bar.update()
            work()
            bar.update()
    finally:
        sys.stderr = before
    (line,) = [text for text in screen.getvalue().split("\n") if "so far" in text]
    assert line.rpartition("\r")[2] == LINE.format("a program")[:-1]


def slow(monkeypatch):
    """Let the compiler take its time."""
    lower = compiled.calls_library
    monkeypatch.setattr(compiled, "calls_library", lambda lowered: time.sleep(0.3) or lower(lowered))


@pytest.mark.parametrize("progress", [None, False, True, lambda progress: None])
def test_simulate_says_it_unless_it_is_to_be_quiet(progress, monkeypatch, capsys):
    slow(monkeypatch)
    execution = Execution(progress=progress)
    jb.simulate(
        jb.algorithms.ucb1(2), jb.environments.bernoulli([0.4, 0.6]), horizon=4, num_runs=1, execution=execution
    )
    said = capsys.readouterr().err
    assert said.count(LINE.format("ucb1 on bernoulli")) == (progress is not False) and said.count("so far") <= 1
    if not progress:
        assert said in ("", LINE.format("ucb1 on bernoulli"))


def test_identify_and_sessions_say_it(monkeypatch, capsys):
    slow(monkeypatch)
    arms = jb.environments.bernoulli([0.4, 0.6])
    jb.identify(jb.algorithms.lucb(2, delta=0.3).named("mine"), arms.named("two"), num_runs=1, max_rounds=4)
    assert capsys.readouterr().err == LINE.format("mine on two")
    jb.ask(jb.session(jb.algorithms.ucb1(2)))
    said = set(capsys.readouterr().err.splitlines(keepends=True))
    assert said == {LINE.format("ucb1")}


def test_a_sweep_says_it_once(monkeypatch, capsys):
    slow(monkeypatch)
    arms, values = jb.environments.bernoulli([0.4, 0.6]).named("two"), {"c": [0.0, 1.0, 2.0]}
    jb.sweep(lambda c: jb.algorithms.ucb1(2, c=c).named("mine"), arms, values, horizon=4, num_runs=1)
    assert capsys.readouterr().err == LINE.format("mine on two")


def test_each_cell_of_an_experiment_says_it(monkeypatch, capsys, tmp_path):
    slow(monkeypatch)
    path = tmp_path / "a.toml"
    path.write_text(
        'kind = "simulate"\nruns = 2\nhorizon = 4\n[[instance]]\ntype = "bernoulli"\nname = "two"\nmeans = [0.4, 0.6]\n'
        '[[algorithm]]\ntype = "ucb1"\nname = "one"\n[[algorithm]]\ntype = "kl_ucb"\nname = "other"\n',
        encoding="utf-8",
    )
    experiment = load(path)
    run_experiment(experiment, None, execution=Execution(progress=False))
    assert capsys.readouterr().err == ""
    compiled.forget()
    run_experiment(experiment, None, alone=False)  # otherwise nobody may have to wait for the other cell
    assert capsys.readouterr().err == LINE.format("one on two") + LINE.format("other on two")


def test_progress_bar_passes_on_what_is_asked_for(capsys):
    with progress_bar(1, "x", "run", show=False), progress_bar(1, "x", "run", show=lambda _: None):
        work()
    assert capsys.readouterr().err == ""
