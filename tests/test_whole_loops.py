"""Loops compiled whole: by XLA itself or because it is asked, the same bytes with and without, another JAX."""

import sys
import threading
from pathlib import Path

import equal_bytes
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.experimental.compilation_cache import compilation_cache
from xla_options import compiler

import jaxbandit as jb
from jaxbandit.algorithms import kl_ucb
from jaxbandit.engine import layout
from jaxbandit.engine.driver.simulate import simulate_cell
from jaxbandit.engine.layout import compiled, whole_loops
from jaxbandit.environments import bernoulli
from jaxbandit.support import cpuinfo

CPU = jax.devices("cpu")[0]
below_0_12 = pytest.mark.skipif(whole_loops.BY_XLA, reason="from JAX 0.12 on, XLA compiles loops whole by itself")
if not whole_loops.BY_XLA:
    from jaxbandit.engine.layout import whole_loops_option as option


def asked():
    """Whether the compiler is now asked for whole loops, in this thread."""
    return option.OPTION.encode() in compiler.get_compile_options(1, 1).SerializeAsString()


def looped(x):
    return lax.fori_loop(0, 100, lambda i, x: jnp.sin(x) + jnp.max(x), x)


def kernels(compiled_loop):
    """Whether the compiler has made the loop one kernel."""
    return "xla_cpu_small_call" in compiled_loop.as_text()


@pytest.mark.quickly_compiled
def test_xla_does_without_being_asked_from_0_12_on():
    lowered = jax.jit(lambda x: looped(x)).lower(jnp.zeros((100, 64)))
    assert kernels(lowered.compile(compiler_options=compiled._options(CPU))) == whole_loops.BY_XLA


@pytest.mark.quickly_compiled
@pytest.mark.parametrize("whole", [True, False])
def test_a_loop_becomes_one_kernel(whole):
    program = compiled.compile_program(lambda x: looped(x), CPU, jnp.zeros((100, 64)), whole=whole)
    assert kernels(program) == (whole or whole_loops.BY_XLA)


def test_arms_are_searched_where_loops_are_whole(monkeypatch):
    def searched(wanted):
        with whole_loops.whole(wanted, searches=True):
            return whole_loops.searches_arms()

    assert searched(True) and not searched(False) and not whole_loops.searches_arms()
    with whole_loops.whole(True):
        assert not whole_loops.searches_arms()
    monkeypatch.setattr(whole_loops, "ALLOWED", False)
    assert not searched(True)


def test_from_0_12_on_no_private_name_of_jax_is_used(monkeypatch):
    """One file names one, and the package does not import it there; the tests do, to compile quickly."""
    root = Path(jb.__file__).parents[1]
    files = [path for room in ("jaxbandit", "benchmarks", "tests") for path in (root / room).rglob("*.py")]
    private = {path.name for path in files if "jax._" + "src" in path.read_text(encoding="utf-8")}
    assert private == {"whole_loops_option.py"}
    monkeypatch.setattr(whole_loops, "BY_XLA", True)
    monkeypatch.delattr(layout, "whole_loops_option", raising=False)
    monkeypatch.setitem(sys.modules, "jaxbandit.engine.layout.whole_loops_option", None)  # importing it is an error
    with whole_loops.whole(True, searches=True):
        assert whole_loops.searches_arms()


@below_0_12
def test_the_compiler_is_asked_within_the_scope_and_its_thread_alone():
    others = []
    with whole_loops.whole(True):
        thread = threading.Thread(target=lambda: others.append(asked()))
        thread.start()
        thread.join()
        assert asked()
        with whole_loops.whole(False):
            assert not asked()
        assert asked()
    assert not asked() and others == [False]


@below_0_12
def test_nothing_else_changes_in_the_options():
    before = compiler.get_compile_options(1, 1, env_options_overrides={"xla_cpu_prefer_vector_width": 512})
    after = option.with_option(before)
    assert after.env_option_overrides == before.env_option_overrides
    assert (after.num_replicas, after.num_partitions) == (1, 1)
    added = option.OPTION.encode()
    assert len(added) < len(after.SerializeAsString()) - len(before.SerializeAsString()) < len(added) + 30


@below_0_12
def test_what_the_user_has_set_stays():
    once = option.with_option(compiler.get_compile_options(1, 1))
    assert option.with_option(once) is once


class Unreadable:
    """Options as another JAX may have them."""

    def SerializeAsString(self):
        return b""

    @staticmethod
    def ParseFromString(data):
        raise ValueError("not like this")


@below_0_12
@pytest.mark.parametrize("options", [object(), Unreadable()])
def test_options_of_another_form_are_left_alone(options):
    assert option.with_option(options) is options


@below_0_12
@pytest.mark.quickly_compiled
def test_a_jax_without_the_function_compiles_as_it_would(monkeypatch):
    monkeypatch.delattr(compiler, "get_compile_options")
    with whole_loops.whole(True, searches=True):
        assert not whole_loops.searches_arms()
    monkeypatch.undo()
    monkeypatch.setattr(option, "_hooked", lambda: False)
    program = compiled.compile_program(lambda x: looped(x), CPU, jnp.zeros((100, 64)), whole=True)
    assert not kernels(program)


@pytest.fixture
def kept_programs(tmp_path):
    """JAX's cache of compiled programs, in a directory of its own."""
    options = {"jax_compilation_cache_dir": str(tmp_path), "jax_persistent_cache_min_compile_time_secs": 0}
    before = {name: getattr(jax.config, name) for name in options}
    for name, value in options.items():
        jax.config.update(name, value)
    compilation_cache.reset_cache()
    yield tmp_path
    for name, value in before.items():
        jax.config.update(name, value)
    compilation_cache.reset_cache()


# All that are registered: `python tests/equal_bytes.py`.
@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["ucb1", "lingape", pytest.param(equal_bytes.CONTEXTS, marks=pytest.mark.quickly_compiled)]
)
def test_the_same_bytes_with_whole_loops_and_without_compiled_here_and_kept(name, kept_programs, monkeypatch):
    def play():
        compiled.forget()
        jax.clear_caches()
        return equal_bytes.digest(name), len(list(kept_programs.glob("*-cache")))

    whole, programs = play()
    again = play()
    monkeypatch.setattr(whole_loops, "ALLOWED", False)
    plain, more = play()
    assert again == (whole, programs) and plain == whole
    assert more >= programs > 0
    assert whole_loops.BY_XLA or more > programs  # a program of its own, which is not taken for the other
    assert play() == (whole, more)


@pytest.mark.slow
def test_many_arms_searched_one_by_one_have_the_same_bytes(monkeypatch):
    def play():
        compiled.forget()
        pair = lambda means: (kl_ucb(19), bernoulli(means))  # noqa: E731
        record = simulate_cell(pair, np.linspace(0.1, 0.9, 19), horizon=300, num_runs=70)
        return record.regret.tobytes(), record.pulls.tobytes()

    whole = play()
    monkeypatch.setattr(whole_loops, "STATE_BYTES", -1)
    assert play() == whole


@pytest.mark.slow
def test_arms_that_are_written_by_selects_have_the_bytes_of_those_that_are_stored(monkeypatch):
    """CPUs with wide and with narrow vectors play programs of their own, and the same rounds."""

    def play(wide):
        compiled.forget()
        monkeypatch.setattr(whole_loops, "has_wide_vectors", lambda: wide)
        pair = lambda means: (jb.algorithms.ucb1(9), bernoulli(means))  # noqa: E731
        record = simulate_cell(pair, np.linspace(0.1, 0.9, 9), horizon=300, num_runs=70)
        return record.regret.tobytes(), record.pulls.tobytes()

    assert play(True) == play(False)


@pytest.mark.parametrize("flags, wide", [("fma avx512f avx512dq", True), ("fma avx2", False), (None, False)])
def test_a_cpu_has_wide_vectors_if_its_system_says_so(flags, wide, monkeypatch, tmp_path):
    file = tmp_path / "cpuinfo"
    if flags is not None:
        file.write_text(f"processor\t: 0\nflags\t\t: fpu {flags} sse\n\n")
    monkeypatch.setattr(cpuinfo, "CPUINFO", file)
    assert whole_loops.has_wide_vectors.__wrapped__() is wide
