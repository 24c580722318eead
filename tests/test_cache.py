"""Compiled programs kept between commands: the same bytes, and no trouble with the directory reaches the user."""

import os
import subprocess
import sys

import pytest
from small_experiment import written

from jaxbandit.lab.cli import cache, command_line, signals

OURS = ("JAX_COMPILATION_CACHE_DIR", "JAX_ENABLE_COMPILATION_CACHE", "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS")
WORLD = {"type": "full_bandit", "means": [0.9, 0.8, 0.5, 0.4, 0.2], "k": 2}
EXPERIMENT = written("identify", WORLD, {"type": "icb", "delta": 0.1}, runs=20)


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A cache directory of one's own, and an environment that is put back."""
    for name in OURS:
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(cache, "_used", [])
    monkeypatch.setattr(sys, "platform", "linux")
    return tmp_path / "jaxbandit"


def entry(directory, name, size=10, age=0):
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"{name}-cache"
    path.write_bytes(bytes(size))
    os.utime(path, (1e9 - age, 1e9 - age))
    return path


def test_it_lies_where_nobody_else_writes(home):
    cache.use()
    directory = home / cache.processor()
    assert os.environ["JAX_COMPILATION_CACHE_DIR"] == str(directory)
    assert directory.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("trouble", ["a file is there", "others may write", "the user has set JAX's own", "turned off"])
def test_it_is_not_used_where_it_may_not(home, monkeypatch, trouble):
    own = {"the user has set JAX's own": OURS[0], "turned off": OURS[1]}.get(trouble)
    if trouble == "a file is there":
        home.write_text("")
    elif own is None:
        (home / cache.processor()).mkdir(parents=True)
        (home / cache.processor()).chmod(0o777)
    else:
        monkeypatch.setenv(own, "0")
    before = dict(os.environ)
    cache.use()
    assert dict(os.environ) == before


@pytest.mark.parametrize(
    ("argv", "expected"),
    [(["run"], [1]), (["run", "--no-cache"], []), (["status"], [1]), (["status", "--no-cache"], []), (["list"], [])],
)
def test_only_a_command_that_compiles_uses_it_and_never_from_python(argv, expected, monkeypatch, capsys):
    used = []
    monkeypatch.setattr(cache, "use", lambda: used.append(1))
    monkeypatch.setattr(signals, "run", lambda command: command())
    monkeypatch.setattr(sys, "argv", ["jaxbandit", *argv, *(["no_such"] if argv[0] != "list" else [])])
    command_line.process()
    assert used == expected
    command_line.main(sys.argv[1:])
    assert used == expected


def test_each_kind_of_processor_has_a_directory(tmp_path, monkeypatch):
    monkeypatch.setattr(cache, "CPUINFO", tmp_path / "cpuinfo")
    names = []
    for flags in ("sse avx", "sse avx avx512f", "sse avx"):
        text = f"processor\t: 0\nflags\t\t: {flags}\ncpu MHz\t\t: {len(names)}\n\nprocessor\t: 1\n"
        cache.CPUINFO.write_text(text, encoding="utf-8")
        names.append(cache.processor())
    assert names[0] == names[2] != names[1]


def test_the_oldest_entries_go(home):
    kept = [entry(home / "xla-1", "new"), entry(home / "xla-2", "newer")]
    old = [entry(home / "xla-1", f"old{i}", age=10 + i) for i in range(3)]
    cache.trim(home, limit=50)
    assert all(path.exists() for path in (*kept, *old))
    cache.trim(home, limit=49)
    assert all(path.exists() for path in kept) and not any(path.exists() for path in old)


def test_only_an_entry_that_cannot_be_read_is_deleted(home):
    message = "Error {} persistent compilation cache entry for 'jit_advance': error: Error -5 while decompressing"
    theirs = entry(home / "theirs", "jit_advance-1")
    assert cache.warns_of_entry(message.format("reading")) and theirs.exists()  # the directory is not ours
    cache.use()
    bad, other = (entry(home / cache.processor(), name) for name in ("jit_advance-1", "jit_advance_more-1"))
    assert cache.warns_of_entry(message.format("writing")) and bad.exists()
    assert cache.warns_of_entry(message.format("reading")) and not bad.exists() and other.exists() and theirs.exists()
    assert not cache.warns_of_entry("Error reading something else")


@pytest.mark.slow
@pytest.mark.quickly_compiled
def test_the_same_bytes_cold_and_warm_and_where_entries_are_cut_off(home, tmp_path):
    """With LAPACK in the program, too; a second run adds no entry, so that it has found them all."""
    file = tmp_path / "some.toml"
    file.write_text(EXPERIMENT, encoding="utf-8")
    found, entries = [], []
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    for out in ("cold", "warm", "cut"):
        if out == "cut":
            for path in home.glob("*/*-cache"):
                path.write_bytes(path.read_bytes()[:200])
        command = [sys.executable, "-m", "jaxbandit", "run", str(file), "--out", str(tmp_path / out)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
        # It takes as long as it takes.
        said = [line for line in done.stderr.splitlines() if "so far" not in line and " % of " not in line]
        assert (done.returncode, said) == (0, [])
        found.append((tmp_path / out / "cell-000.npz").read_bytes())
        entries.append({path.name: path.stat().st_size for path in home.glob("*/*-cache")})
    assert found[0] == found[1] == found[2]
    assert entries[0] == entries[1] and entries[0].keys() == entries[2].keys() and min(entries[2].values()) > 200
    assert any(name.startswith("jit_advance") for name in entries[0]), list(entries[0])
