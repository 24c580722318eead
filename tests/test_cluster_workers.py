"""Real workers: the commands of docs/cluster.md, processes of `jax.distributed`, and a scheduler that is not there."""

import os
import re
import shlex
import socket
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from small_experiment import THREE, UCB1, written

from benchmarks import cluster
from jaxbandit.lab import cli

ROOT = Path(__file__).parent.parent

pytestmark = [pytest.mark.slow, pytest.mark.quickly_compiled]
DOCS = (ROOT / "docs" / "cluster.md").read_text(encoding="utf-8")
SMALL = written("simulate", THREE, UCB1, name="small", runs=48, horizon=300)
HOST = """
import sys
import jax
jax.config.update("jax_platforms", "cpu")
jax.distributed.initialize(f"localhost:{sys.argv[2]}", 2, int(sys.argv[1]))
import jaxbandit as jb
assert len(jax.devices()) == 2 * len(jax.local_devices())
both, given = {"execution": jb.Execution(devices=jax.devices())}, {"horizon": 100, "num_runs": 131}
pair = jb.algorithms.epsilon_greedy(3, epsilon=0.1), jb.environments.bernoulli([0.2, 0.5, 0.4])
stopping = jb.algorithms.lucb(3), jb.environments.gaussian([0.0, 1.0, 0.2])
for whole, divided in (
    (jb.simulate(*pair, **given), jb.simulate(*pair, **given, **both)),
    (jb.identify(*stopping, num_runs=131), jb.identify(*stopping, num_runs=131, **both)),
):
    assert whole.identity == divided.identity and whole.arrays.keys() == divided.arrays.keys()
    assert all(divided.arrays[name].tobytes() == array.tobytes() for name, array in whole.arrays.items())
print("the same bytes")
"""


@pytest.fixture
def shell(tmp_path, monkeypatch):
    """Return what runs a command line of the docs in a folder of its own."""
    (tmp_path / "bin").mkdir()
    command = tmp_path / "bin" / "jaxbandit"
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m jaxbandit "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{command.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}:{os.environ.get('PYTHONPATH', '')}")
    return lambda line: subprocess.run(line, shell=True, capture_output=True, text=True, timeout=500)


def test_every_command_of_the_page_leaves_the_same_bytes(shell, tmp_path):
    (tmp_path / "small.toml").write_text(SMALL, encoding="utf-8")  # in place of the page's, whose cells are many
    for kind, block in re.findall(r"^```(sh|python)\n(.*?)^```", DOCS, re.M | re.S):
        lines = block.splitlines() if kind == "sh" else [f"{shlex.quote(sys.executable)} script.py"]
        if kind == "python":
            text = block.replace("five_arms", "small.toml").replace("3000", "300")
            (tmp_path / "script.py").write_text(text, encoding="utf-8")
        for line in lines:
            line = line.replace("five_arms", "small.toml").replace("3000", "300")
            if kind == "sh" and "dask" not in line:  # without a start of its own
                assert cli.main(shlex.split(line)[1:]) == 0, line
                continue
            done = shell(line)
            # A cluster that a script opens itself may log a heartbeat that it misses at its end.
            assert done.returncode == 0 and (kind == "python" or "Traceback" not in done.stderr), (line, done.stderr)
    alone = numbers(tmp_path / "alone")
    assert len(alone) > 4
    for name in ("processes", "python", "local", "client", "jobs", "merged"):
        assert numbers(tmp_path / name) == alone, name


def test_a_worker_of_a_local_cluster_logs_nothing(shell, tmp_path):
    """When it ends, its last heartbeat may have no answer, which Dask logs as an error with a traceback."""
    script = """
        import logging
        from jaxbandit.running.distribution.executors import open_executor

        def log():
            logging.getLogger("distributed.worker").error("no answer")
            return "done"

        if __name__ == "__main__":
            with open_executor("dask") as executor:
                print(executor.submit(log).result())
        """
    (tmp_path / "script.py").write_text(textwrap.dedent(script), encoding="utf-8")
    done = shell(f"{shlex.quote(sys.executable)} script.py")
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


def numbers(directory):
    return {k: v for k, v in cluster.content(directory).items() if not k.endswith(".png")}


def test_two_processes_of_jax_distributed_return_the_same_bytes(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}:{os.environ.get('PYTHONPATH', '')}")
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = str(free.getsockname()[1])
    command = [sys.executable, "-c", HOST]
    both = [subprocess.Popen([*command, str(i), port], stdout=subprocess.PIPE, text=True) for i in range(2)]
    assert all("the same bytes" in process.communicate(timeout=300)[0] for process in both)


def test_nobody_answers_at_an_address(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    begun, spent = time.monotonic(), time.process_time()
    assert cli.main(["run", "five_arms", "--out", "out", "--executor", f"dask:{address}"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and not Path("out").exists(), said
    assert f"--executor dask:{address}: no scheduler answers within 5 seconds" in said
    # Ten seconds, and what imports take on a machine that is busy.
    assert time.monotonic() - begun < 10 + 5 * (time.process_time() - spent)


@pytest.mark.parametrize("what", ["a worker", "the client"])
def test_a_kill_loses_nothing(what, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}:{os.environ.get('PYTHONPATH', '')}")
    monkeypatch.setattr(cluster, "HORIZON", 2_000)
    monkeypatch.setattr(cluster, "RUNS", 2_560)
    assert cluster.kills(tmp_path, what, 1) == {"kills": 1, "again": 0}
