"""Ctrl-C and SIGTERM wherever they find the command line: one line, status 3, and nothing of the user's in Python."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from small_experiment import UCB1, written

pytestmark = [pytest.mark.slow, pytest.mark.quickly_compiled]

WORLD = {"type": "stays:world", "means": [0.4, 0.6]}
SPEC = written("simulate", WORLD, UCB1, name="stays", runs=4, horizon=50)
# A shell's background job, which a test may be, ignores ctrl-C.
BEGINNING = """
import runpy, signal
signal.signal(signal.SIGINT, signal.{})
runpy.run_module("jaxbandit", run_name="__main__")
"""
MODULE = """
    import os, time
    from pathlib import Path
    import jax
    from jaxbandit.environments.stationary.bernoulli import bernoulli

    def stay(values=0.0):
        Path("there").touch()
        while True:
            time.sleep(0.1)

    if os.environ["PLACE"] == "import":
        stay()

    def world(means: list[float]):
        plain = bernoulli(means)

        def reward(state, context, action, noise):
            given = plain.reward(state, context, action, noise)
            if os.environ["PLACE"] == "trace":
                stay()
            return jax.pure_callback(stay, given, given, vmap_method="sequential")

        return plain._replace(reward=reward, batch=None)
"""


@pytest.fixture
def stays(tmp_path, monkeypatch):
    """Start `jaxbandit run`, which stays for ever at a place, and return it once it is there."""
    monkeypatch.chdir(tmp_path)
    Path("stays.py").write_text(textwrap.dedent(MODULE), encoding="utf-8")
    Path("stays.toml").write_text(SPEC, encoding="utf-8")
    processes = []

    def start(place, at_first="default_int_handler"):
        path = os.pathsep.join([str(tmp_path), *(path for path in sys.path if path)])
        process = subprocess.Popen(
            [sys.executable, "-c", BEGINNING.format(at_first), "run", "stays.toml"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": path, "PLACE": place},
        )
        processes.append(process)
        deadline = time.monotonic() + 120
        while not Path("there").exists():
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.01)
        return process

    yield start
    for process in processes:
        process.kill()


@pytest.mark.parametrize(
    ("place", "number"),  # both signals have one handler
    [("import", signal.SIGINT), ("import", signal.SIGTERM), ("trace", signal.SIGTERM), ("callback", signal.SIGINT)],
)
def test_one_line_and_status_3_wherever_it_is(place, number, stays):
    process = stays(place)
    process.send_signal(number)
    process.send_signal(number)  # at once: the same one, as `timeout` sends it twice
    _, said = process.communicate(timeout=30)
    said = said[said.index("jaxbandit: interrupted") :]  # a compilation that takes long says so before
    assert (process.returncode, said) == (3, "jaxbandit: interrupted; run the same command to resume\n")


def test_a_second_signal_ends_at_once(stays):
    process = stays("callback")
    process.send_signal(signal.SIGTERM)
    time.sleep(1.0)
    assert process.poll() is None  # it waits for the chunk at hand
    begun = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    said = said[said.index("jaxbandit: interrupted") :]
    assert process.returncode == 3 and said.count("\n") == 1 and "from the last save" in said
    assert time.monotonic() - begun < 2.0


def test_a_signal_that_was_ignored_stays_ignored(stays):
    process = stays("import", at_first="SIG_IGN")
    process.send_signal(signal.SIGINT)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(1.0)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=30)
    assert process.returncode == 3


def test_in_python_the_signals_are_the_users_own():
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    from jaxbandit.lab import cli

    assert cli.main(["list"]) == 0
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before
