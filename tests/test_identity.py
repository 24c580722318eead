"""What a checkpoint must have in common with the call that takes it up, by name; one process in a directory."""

import errno
import functools
import itertools
import json
import os
import subprocess
import sys
import textwrap
import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.extend.core import Jaxpr

from jaxbandit.algorithms import ucb1
from jaxbandit.engine.driver.execution import Execution
from jaxbandit.engine.driver.simulate import simulate_cell
from jaxbandit.engine.storage import checkpoint, directories, identity
from jaxbandit.engine.storage import files as storage
from jaxbandit.engine.storage.json_files import read_json, write_json
from jaxbandit.environments.stationary.bernoulli import bernoulli
from jaxbandit.support.refusals import NoLocks

MEANS = np.array([0.9, 0.3, 0.0])


def make_plain(means):
    return ucb1(3), bernoulli(means)


@pytest.mark.slow
def test_what_differs_is_named(tmp_path):
    options = {"horizon": 100, "num_runs": 20, "execution": Execution(directory=tmp_path)}
    simulate_cell(make_plain, MEANS, **options)

    def refused(words, make=make_plain, means=MEANS, **changes):
        with pytest.raises(ValueError, match=f"of another simulation: {words}; give another") as error:
            simulate_cell(make, means, **(options | changes))
        assert "\n" not in str(error.value)

    refused("seed 0, here 1", seed=1)
    refused("horizon 100, here 101", horizon=101)
    refused(r"the recorded rounds \(checkpoints\) differ", checkpoints=[100])
    refused("generator threefry4x32, here threefry2x32", implementation="threefry2x32")
    refused("precision float32, here float64", precision="float64")
    refused("the arguments of algorithm or environment differ", means=MEANS + 0.01)
    refused(
        r"the program \(algorithm, environment or their constants\) differs",
        make=lambda m: (ucb1(3, c=3.0), bernoulli(m)),
    )
    file = tmp_path / "identity.json"
    about = read_json(file, storage.RECOMPUTE)
    for name in ("platform", "jax", "jaxlib", "jaxbandit"):
        write_json(file, about | {name: "other", "program": "another, for that reason or not"})
        program = "" if name != "platform" else r"the program \(algorithm, environment or their constants\) differs; "
        refused(f"{program}{name} other, here {about[name]}")
    file.write_text(json.dumps(about)[:50])
    with pytest.raises(ValueError, match=r"identity\.json: damaged, not JSON; delete"):
        simulate_cell(make_plain, MEANS, **options)
    file.unlink()
    with pytest.raises(ValueError, match=r"identity\.json: is missing; delete"):
        simulate_cell(make_plain, MEANS, **options)
    with pytest.raises(ValueError, match=r"engine .*max_rounds"):
        identity.require("there", about, {"engine": "runs that stop", "max_rounds": 9})


def digest(function, *example):
    return identity.of_program([(function, example)])


def test_the_digest_sees_constants_and_does_not_print(monkeypatch):
    def inner(constant, name="f"):
        held = jnp.asarray(constant)
        function = jax.jit(lambda x: x + held)
        return lambda x: function(x) * 2

    x = jnp.ones(3)
    one = digest(inner([1.0, 2.0, 3.0]), x)
    assert one == digest(inner([1.0, 2.0, 3.0]), x)
    assert one != digest(inner([1.0, 2.0, 4.0]), x)  # bound within an inner jit
    assert one != digest(inner(np.array([1.0, 2.0, 3.0], np.float16).astype(np.float32) + np.float32(1e-7)), x)
    branches = [digest(lambda x, c=c: jax.lax.cond(x[0] > 0, lambda y: y * c, lambda y: y, x), x) for c in (2.0, 3.0)]
    loops = [digest(lambda x, n=n: jax.lax.fori_loop(0, n, lambda i, y: y + 1, x), x) for n in (5, 6)]
    crossed = [digest(f, x, x) for f in (lambda a, b: a - b, lambda a, b: b - a)]
    keys = [digest(lambda x, k=k: x + jax.random.normal(k), x) for k in (jax.random.key(0), jax.random.key(1))]
    bases = [digest(lambda x, f=f: f(x), x) for f in (jnp.cumsum, jnp.cumprod, lambda x: jnp.cumsum(x, 0)[::-1])]
    found = [one, *branches, *loops, *crossed, *keys, *bases]
    assert len(set(found)) == len(found)

    def fail(self):
        raise AssertionError("printed")

    monkeypatch.setattr(Jaxpr, "__repr__", fail)
    monkeypatch.setattr(Jaxpr, "__str__", fail)
    assert one == digest(inner([1.0, 2.0, 3.0]), x)


@pytest.mark.slow
def test_one_process_in_a_directory(tmp_path):
    code = """
        import sys
        from pathlib import Path
        from jaxbandit.engine.storage import directories
        with directories.locked(Path(sys.argv[1]), "identity.json"):
            print("in", flush=True)
            sys.stdin.read()
    """
    command, pipe = [sys.executable, "-c", textwrap.dedent(code), str(tmp_path)], subprocess.PIPE
    options = {"horizon": 100, "num_runs": 20, "execution": Execution(directory=tmp_path)}
    with subprocess.Popen(command, stdin=pipe, stdout=pipe) as process:
        assert process.stdout.readline() == b"in\n"
        with pytest.raises(ValueError, match=f"in use by process {process.pid} on .*; wait") as error:
            simulate_cell(make_plain, MEANS, **options)
        assert "\n" not in str(error.value)
        process.kill()
    simulate_cell(make_plain, MEANS, **options)
    locked = functools.partial(directories.locked, tmp_path, "identity.json")
    with locked(), pytest.raises(ValueError, match="in use by"), locked():
        pass
    assert not (tmp_path / directories.LOCK).exists()


@pytest.mark.parametrize("code", [errno.ENOSYS, errno.ENOLCK])
def test_a_file_system_without_locks_excludes_nobody(code, tmp_path, monkeypatch):
    def flock(descriptor, operation):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr("fcntl.flock", flock)
    with (
        pytest.warns(NoLocks, match="its file system has no locks; see to it"),
        directories.locked(tmp_path),
        directories.locked(tmp_path),
    ):
        pass


def test_saves_are_rarer_where_they_take_long(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "SAVE_SECONDS", 0.0)
    now = 0.0

    def slow(path, arrays, write=storage.write_arrays):
        nonlocal now
        now += 3.0  # a save takes so long
        write(path, arrays)

    monkeypatch.setattr(storage, "write_arrays", slow)
    monkeypatch.setattr(time, "monotonic", lambda: now)
    files = checkpoint.Checkpoint(tmp_path, {})
    files.begin(0)
    saves = []
    for _ in range(200):
        now += 1.0
        before = now
        files.look(0, lambda: {"run": np.arange(3)})
        if now != before:
            saves.append(before)
    assert len(saves) == 4 and all(b - a >= 60 for a, b in itertools.pairwise(saves))
    assert [list(segment["run"]) for segment in files.under_way()] == [[0, 1, 2]]


def test_a_lock_that_is_removed_while_it_is_read_is_no_error(tmp_path, monkeypatch):
    """Another process ends between the instants at which its lock file is seen and opened."""

    def gone(path):
        raise FileNotFoundError(path)

    with directories.locked(tmp_path, "identity.json"):
        monkeypatch.setattr(directories, "read_bytes", gone)
        with pytest.raises(ValueError, match="in use by another process; wait"), directories.locked(tmp_path):
            pass
        assert not directories.require_ours(tmp_path, "identity.json")
