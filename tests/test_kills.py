"""Killed at random instants and resumed elsewhere; two processes in one directory: the bytes of one left alone."""

import os
import re
import subprocess
import sys

import pytest
from kills import EXPERIMENTS, compare, stress

pytestmark = pytest.mark.slow
KILLS = 4  # `python tests/kills.py --count 100` for more


def test_killed_by_three_signals_and_resumed_elsewhere(tmp_path):
    report = stress(tmp_path, KILLS)
    assert report["killed by"].total() == KILLS


def test_of_two_processes_in_one_directory_one_goes_on(tmp_path):
    file = tmp_path / "two.toml"
    file.write_text(f'name = "two"\n{EXPERIMENTS["regret"]}', encoding="utf-8")

    def begin(out):
        return subprocess.Popen(
            [sys.executable, "-m", "jaxbandit", "run", str(file), "--out", str(tmp_path / out)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        )

    two = [begin("both"), begin("both")]
    said = {process.communicate(timeout=300)[1]: process.returncode for process in two}
    assert sorted(said.values()) == [0, 2], said
    (line,) = [line for line, status in said.items() if status == 2]
    assert line.count("\n") == 1 and "in use by " in line and "wait until it has ended" in line
    alone = begin("alone")
    said_alone = alone.communicate(timeout=300)[1].splitlines()
    # Progress, and how long it compiles, depend on the machine.
    assert all(re.search(" % of | so far", line) for line in said_alone) and alone.returncode == 0
    compare(tmp_path / "alone", tmp_path / "both")
