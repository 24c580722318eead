"""Compiled programs kept between processes: the same bytes, and no trouble with the directory reaches the user."""

import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from small_experiment import written

from jaxbandit.engine.layout import compiled, program_files
from jaxbandit.lab.cli import command_line, jax_settings, signals
from jaxbandit.support import cpuinfo

WORLD = {"type": "full_bandit", "means": [0.9, 0.8, 0.5, 0.4, 0.2], "k": 2}
EXPERIMENT = written("identify", WORLD, {"type": "icb", "delta": 0.1}, runs=20)
CPU = jax.devices("cpu")[0]
X = jnp.arange(3.0)


@pytest.fixture
def home(own_program_files, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "jaxbandit"


def twice(x):
    return x * 2.0


def kept(home):
    return sorted(home.glob(f"*/*{program_files.SUFFIX}"))


def compilations(monkeypatch):
    """The programs that XLA compiles from now on, without those that try an option."""
    found, own = [], jax.stages.Lowered.compile

    def compile(self, **more):
        if "stablehlo.multiply" in self.as_text():
            found.append(self)
        return own(self, **more)

    monkeypatch.setattr(jax.stages.Lowered, "compile", compile)
    return found


def test_a_program_is_compiled_once_and_has_the_same_results(home, monkeypatch):
    new = compilations(monkeypatch)
    results = [compiled.compile_program(twice, CPU, X)(X) for _ in range(3)]
    assert len(new) == len(kept(home)) == 1
    np.testing.assert_array_equal(results, [[0.0, 2.0, 4.0]] * 3)
    (directory,) = home.iterdir()
    assert directory.name == program_files.processor() and directory.stat().st_mode & 0o777 == 0o700


def test_programs_that_ignore_different_arguments_are_different_programs(home):
    """A program is called with all arguments of its function, also with those that it does not use."""
    y, more = 10 * X, jnp.arange(5)
    first = compiled.compile_program(lambda x, y: x + 1, CPU, X, y)
    second = compiled.compile_program(lambda x, y: y + 1, CPU, X, y)
    third = compiled.compile_program(lambda x, y: x + 1, CPU, X, more)
    np.testing.assert_array_equal([first(X, y), second(X, y), third(X, more)], [X + 1, y + 1, X + 1])
    assert len(kept(home)) == 3


@pytest.mark.parametrize(
    "change", ["shape", "number", "constant", "donation", "option", "flags", "setting", "whole", "version"]
)
def test_whatever_a_program_depends_on_is_in_its_name(home, change, monkeypatch):
    big = np.arange(100_000.0)
    compiled.compile_program(lambda x: x.astype(jnp.float32) + jnp.asarray(big)[::50_000].sum(), CPU, X)
    other, x, more = big.copy(), X, {}
    if change == "shape":
        x = jnp.arange(4.0)
    elif change == "number":
        x = jnp.arange(3.0, dtype=jnp.float16)
    elif change == "constant":
        other[50_000] += 1  # in the middle, which a text for people leaves out
    elif change == "donation":
        more = {"donate": (0,)}
    elif change == "option":
        monkeypatch.setattr(compiled, "MORE_OPTIONS", {"xla_backend_optimization_level": 0})
    elif change == "flags":
        monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_enable_fast_math=false")
    elif change == "version":
        monkeypatch.setattr(jax, "__version__", "0.0.1")
    elif change == "whole":
        more = {"whole": True}
    with jax.debug_nans(change == "setting"):
        compiled.compile_program(lambda x: x.astype(jnp.float32) + jnp.asarray(other)[::50_000].sum(), CPU, x, **more)
    assert len(kept(home)) == 2


def test_a_program_that_calls_python_or_runs_on_several_devices_is_not_kept(home, monkeypatch):
    def calls(x):
        return jax.pure_callback(np.sin, jax.ShapeDtypeStruct((3,), np.float32), x)

    compiled.compile_program(calls, CPU, X)
    assert program_files.path_of(jax.jit(calls).lower(X), {}, CPU) is None and kept(home) == []
    lowered = jax.jit(twice).lower(X)
    assert program_files.path_of(lowered, {}, CPU) is not None
    text = lowered.as_text().replace("num_partitions = 1", "num_partitions = 2")
    assert program_files.path_of(type("Sharded", (), {"as_text": lambda self: text})(), {}, CPU) is None
    monkeypatch.setattr(jax, "process_count", lambda: 2)
    assert program_files.path_of(lowered, {}, CPU) is None


@pytest.mark.parametrize("damage", ["cut off", "one byte", "empty", "of another program", "cannot be read"])
def test_a_damaged_file_is_compiled_anew(home, damage, monkeypatch):
    compiled.compile_program(twice, CPU, X)
    (path,) = kept(home)
    content = path.read_bytes()
    half = len(content) // 2  # within the machine's code
    if damage == "cannot be read":
        path.unlink()
        path.mkdir()
    else:
        path.write_bytes(
            {
                "cut off": content[:-1],
                "one byte": content[:half] + bytes([content[half] ^ 1]) + content[half + 1 :],
                "empty": b"",
                "of another program": program_files.hashlib.sha256(b"x").digest() + b"x",
            }[damage]
        )
    new = compilations(monkeypatch)
    np.testing.assert_array_equal(compiled.compile_program(twice, CPU, X)(X), [0.0, 2.0, 4.0])
    assert len(new) == 1
    if damage != "cannot be read":
        compiled.compile_program(twice, CPU, X)
        assert len(new) == 1 and len(kept(home)) == 1  # it was replaced


def test_where_nothing_can_be_written_nothing_is_said_and_nothing_is_left(home, monkeypatch, capsys):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    np.testing.assert_array_equal(compiled.compile_program(twice, CPU, X)(X), [0.0, 2.0, 4.0])
    assert [*home.glob("*/*")] == [] and capsys.readouterr().err == ""


@pytest.mark.parametrize(
    "trouble", ["a file is there", "others may write", "JAX has its own", "JAX had its own", "turned off"]
)
def test_it_is_not_used_where_it_may_not(home, tmp_path, trouble):
    if trouble == "a file is there":
        home.write_text("")
    elif trouble == "others may write":
        (home / program_files.processor()).mkdir(parents=True)
        (home / program_files.processor()).chmod(0o777)
    elif trouble == "JAX has its own":
        jax.config.update("jax_compilation_cache_dir", str(tmp_path / "own"))
    elif trouble == "JAX had its own":
        jax.config.update("jax_compilation_cache_dir", str(tmp_path / "own"))
        compiled.compile_program(lambda x: x + 1, CPU, X)
        jax.config.update("jax_compilation_cache_dir", None)
    else:
        jax.config.update("jax_enable_compilation_cache", False)
    np.testing.assert_array_equal(compiled.compile_program(twice, CPU, X)(X), [0.0, 2.0, 4.0])
    assert kept(home) == []


@pytest.mark.parametrize(
    ("argv", "expected"),
    [(["run"], []), (["run", "--no-cache"], [1]), (["status"], []), (["status", "--no-cache"], [1]), (["list"], [])],
)
def test_a_command_can_do_without(argv, expected, monkeypatch, capsys):
    used = []
    monkeypatch.setattr(jax_settings, "without_cache", lambda: used.append(1))
    monkeypatch.setattr(signals, "run", lambda command: command())
    monkeypatch.setattr(sys, "argv", ["jaxbandit", *argv, *(["no_such"] if argv[0] != "list" else [])])
    command_line.process()
    assert used == expected
    command_line.main(sys.argv[1:])
    assert used == expected  # the settings of a caller's process are the caller's


def test_each_kind_of_processor_has_a_directory(tmp_path, monkeypatch):
    monkeypatch.setattr(cpuinfo, "CPUINFO", tmp_path / "cpuinfo")
    names = []
    for flags in ("sse avx", "sse avx avx512f", "sse avx"):
        text = f"processor\t: 0\nflags\t\t: {flags}\ncpu MHz\t\t: {len(names)}\n\nprocessor\t: 1\n"
        cpuinfo.CPUINFO.write_text(text, encoding="utf-8")
        names.append(program_files.processor.__wrapped__())
    assert names[0] == names[2] != names[1]


def test_those_go_that_were_not_used_for_long(home, monkeypatch):
    def entry(name, age):
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bytes(10))
        os.utime(path, (1e9 - age, 1e9 - age))
        return path

    stay = [entry("xla-1/new", 0), entry("xla-2/newer", 0)]
    old = [entry(f"xla-1/old{i}", 10 + i) for i in range(3)]
    program_files.trim(home, limit=50)
    assert all(path.exists() for path in (*stay, *old))
    program_files.trim(home, limit=49)
    assert all(path.exists() for path in stay) and not any(path.exists() for path in old)
    compiled.compile_program(twice, CPU, X)
    (path,) = kept(home)
    os.utime(path, (1e9, 1e9))
    compiled.compile_program(twice, CPU, X)
    assert path.stat().st_mtime > 1e9  # it was used
    monkeypatch.setattr(program_files, "trim", lambda directory: (home / "trimmed").touch())
    program_files._private_directory.cache_clear()
    compiled.compile_program(twice, CPU, X)
    assert (home / "trimmed").exists()


@pytest.mark.slow
def test_the_same_bytes_from_the_command_line_cold_and_warm_and_where_files_are_cut_off(home, tmp_path):
    """With LAPACK in the program, too; a second run adds no file, so that it has found them all."""
    file = tmp_path / "some.toml"
    file.write_text(EXPERIMENT, encoding="utf-8")
    found, files = [], []
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    del environment["JAX_COMPILATION_CACHE_DIR"]
    for out in ("cold", "warm", "cut"):
        if out == "cut":
            for path in kept(home):
                path.write_bytes(path.read_bytes()[:200])
        command = [sys.executable, "-m", "jaxbandit", "run", str(file), "--out", str(tmp_path / out)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
        # It takes as long as it takes.
        said = [line for line in done.stderr.splitlines() if "so far" not in line and " % of " not in line]
        assert (done.returncode, said) == (0, [])
        found.append((tmp_path / out / "cell-000.npz").read_bytes())
        files.append({path.name: path.stat().st_size for path in kept(home)})
    assert found[0] == found[1] == found[2]
    assert files[0] == files[1] and files[0].keys() == files[2].keys() and min(files[2].values()) > 200
