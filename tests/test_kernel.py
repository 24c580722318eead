"""Whole rounds in the GPU kernel: the rules against the engine on this CPU, and what may not change a byte."""

import functools
import hashlib
import os
import shutil
import subprocess
import sys
from importlib import util
from pathlib import Path

import jax
import numpy as np
import parts
import pytest
from jax.sharding import SingleDeviceSharding
from kernel_parts import launch, subnormal_numbers  # noqa: F401

from jaxbandit.engine.driver.kernel_loop import KernelLoop
from jaxbandit.engine.driver.tile_loop import TileLoop
from jaxbandit.engine.kernels.kernel import Kernel
from jaxbandit.engine.kernels.ptx import NoRule
from jaxbandit.engine.kernels.threads import kernel_of
from jaxbandit.engine.rounds import keys
from jaxbandit.engine.rounds.single import SingleRun
from jaxbandit.environments.stationary.bernoulli import bernoulli
from jaxbandit.lab.specs.registry import ALGORITHMS

pytestmark = pytest.mark.quickly_compiled
ROOT = Path(__file__).parents[1]
RULES = {"ucb1": 1, "epsilon_greedy": 1, "kl_ucb": 4, "imed": 16, "thompson": 8}  # and the threads of a run
LANES, ROUNDS, CHECKPOINTS = 96, 60, (20, 60)


@functools.cache
def run_of(name, arms=9):
    means = [(i + 1) / (arms + 1) for i in range(arms)]
    pair = parts.algorithm(name, num_arms=arms), bernoulli(means)
    return SingleRun(lambda _: pair, (), "threefry4x32", any_rewards=True)


@functools.cache
def begin(run):
    """The carry of the engine's loop before the first round."""
    loop = TileLoop(run, len(CHECKPOINTS))
    return jax.jit(loop.start)((), keys.compiled_run_keys(7, "threefry4x32", np.arange(LANES)))


def play(run, lanes=LANES, cuts=(ROUNDS,), checkpoints=CHECKPOINTS, arms=9, width=1, threads=0):
    """World, state and tally, and what was measured, by the kernel in calls up to these rounds."""
    carry = jax.tree.map(lambda x: np.asarray(x)[..., :lanes] if x.shape[-1:] == (LANES,) else x, begin(run))
    kernel = Kernel(run, lanes, len(checkpoints), arms, width, threads)
    leaves = jax.tree.leaves(((), carry.words, carry.world, carry.state, carry.tally))
    rows, first = jax.tree.leaves(carry.measured), 1
    for last in cuts:
        row = sum(due < first for due in checkpoints)
        leaves, rows = launch(kernel, leaves, first, last, row, checkpoints, rows)
        first = last + 1
    states = jax.tree.structure((carry.world, carry.state, carry.tally))
    after = jax.tree.unflatten(states, leaves[kernel.first_state :])
    return after, jax.tree.unflatten(jax.tree.structure(carry.measured), rows)


def compare(run, **options):
    """The runs with the same integers by the kernel and by the engine; all other numbers of these are close."""
    advance = jax.jit(TileLoop(run, len(CHECKPOINTS)).advance)
    after = advance((), begin(run), np.int32(ROUNDS), np.array(CHECKPOINTS, np.int32))
    theirs = jax.tree.leaves((after.world, after.state, after.tally, after.measured))
    ours = jax.tree.leaves(play(run, **options))
    equal = np.ones(LANES, bool)
    for a, b in zip(ours, theirs, strict=True):
        if a.dtype.kind != "f" and a.shape[-1:] == (LANES,):
            equal &= (a == b).reshape(-1, LANES).all(0)
    for a, b in zip(ours, theirs, strict=True):
        own = a.shape[-1:] == (LANES,)
        np.testing.assert_allclose(a[..., equal] if own else a, b[..., equal] if own else b, rtol=1e-3, atol=1e-4)
    return equal


@pytest.mark.parametrize("name", [*[*RULES][:4], pytest.param("thompson", marks=pytest.mark.slow)])
def test_a_rule_plays_as_in_the_engine(name):
    """Not every run need be equal: the CPU's compiler contracts products and sums, and has other logarithms.

    One bit of an index decides a round only if two arms are as good up to rounding.
    """
    assert compare(run_of(name), width=RULES[name]).mean() >= 0.9


@functools.cache
def small_run(name):
    """A run of a registered rule, on nine Bernoulli arms if it knows arms by their number only."""
    algorithm, environment = parts.pair(name)
    if environment.name in ("bernoulli", "beta") and "num_arms" in ALGORITHMS[name].arguments:
        return run_of(name)
    return SingleRun(lambda _: (algorithm, environment), (), "threefry4x32", any_rewards=True)


FIXED_HORIZON = [name for name, entry in ALGORITHMS.items() if entry.kind != "identify"]
FORMS = sorted(set(parts.ONE_OF_EACH_FORM) & set(FIXED_HORIZON) - set(RULES))


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMS)
def test_a_rule_of_each_form_plays_as_in_the_engine(name):
    run = small_run(name)
    if run.replans:
        pytest.skip("it replans")
    try:
        kernel = kernel_of(run, LANES, 2)
    except NoRule as error:
        pytest.skip(str(error))
    assert compare(run, arms=kernel.code.arms, width=kernel.width).mean() >= 0.9


WAYS = {
    "another number of threads": {"width": 4},
    "a warp": {"width": 32},
    "larger blocks": {"threads": 64},
    "more runs": {"lanes": 70},
    "several calls": {"cuts": (1, 12, 20, 30)},
    "more runs, threads and calls": {"lanes": 70, "width": 2, "threads": 64, "cuts": (17, 30)},
}


@functools.cache
def alone(name):
    return as_bytes(play(run_of(name), 20, (30,), (20, 30)))


def as_bytes(played):
    """The bytes of the first 20 runs."""
    return [np.ascontiguousarray(x[..., :20] if x.ndim else x).tobytes() for x in jax.tree.leaves(played)]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ["ucb1", "exp3", *(pytest.param(x, marks=pytest.mark.slow) for x in [*RULES][1:])])
def test_no_byte_depends_on_how_runs_are_played(name, way):
    given = {"lanes": 20, "cuts": (30,), "checkpoints": (20, 30)} | WAYS[way]
    assert as_bytes(play(run_of(name), **given)) == alone(name)


# The state of thompson with 100 arms makes its text too long.
SHORT = [("ucb1", 9, 1), ("ucb1", 100, 32), ("kl_ucb", 9, 4), ("thompson", 9, 8)]
TEXTS = [(name, arms, width) for name, width in RULES.items() for arms, width in ((9, 1), (9, width), (100, 32))]
LONG = sorted({*TEXTS} - {*SHORT, ("thompson", 100, 32)})


def assembler():
    """The path of NVIDIA's assembler, of the system or of a wheel."""
    if (found := shutil.which("ptxas")) is not None:
        return found
    for package in ("nvidia.cu13", "nvidia.cuda_nvcc"):
        spec = util.find_spec(package) if util.find_spec("nvidia") else None
        for folder in spec.submodule_search_locations or () if spec else ():
            if (path := Path(folder, "bin", "ptxas")).exists():
                return str(path)
    return None


@pytest.mark.skipif(assembler() is None, reason="no ptxas: the wheel nvidia-cuda-nvcc is for Linux")
@pytest.mark.parametrize("name, arms, width", [*SHORT, *(pytest.param(*x, marks=pytest.mark.slow) for x in LONG)])
def test_the_assembler_takes_every_text(name, arms, width, tmp_path):
    (tmp_path / "kernel.ptx").write_text(Kernel(run_of(name, arms), LANES, 2, arms, width).text)
    for architecture in ("sm_80", "sm_90"):
        command = [assembler(), f"-arch={architecture}", "-v", "-o", tmp_path / "out", tmp_path / "kernel.ptx"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert "0 bytes spill stores" in done.stderr


PRINT_TEXTS = """
import test_kernel
print(test_kernel.digest())
"""


def digest():
    texts = [Kernel(run_of(name), LANES, 2, 9, width).text for name, width in (("ucb1", 1), ("kl_ucb", 4))]
    return hashlib.sha256("".join(texts).encode()).hexdigest()


@pytest.mark.slow
def test_the_text_of_a_program_is_always_the_same():
    path = os.pathsep.join([str(ROOT / "tests"), str(ROOT)])
    environment = os.environ | {"PYTHONHASHSEED": "1", "PYTHONPATH": path, "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, "-c", PRINT_TEXTS]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.strip() == digest() == digest()


@pytest.mark.parametrize("lanes", [32, 1024, 1 << 17])
def test_whether_there_is_a_kernel_does_not_depend_on_the_number_of_runs(lanes):
    assert kernel_of(run_of("kl_ucb"), lanes, 2).lanes == lanes
    with pytest.raises(NoRule):
        kernel_of(refused(), lanes, 2)


@functools.cache
def refused():
    """A run whose program sorts."""
    return SingleRun(lambda _: parts.pair("lb_sda"), (), "threefry4x32", any_rewards=True)


def shapes_of(loop, lanes):
    """What `advance` is called with."""
    carry = jax.eval_shape(loop.start, (), loop.words(lanes))
    number = jax.ShapeDtypeStruct((), np.int32)
    return (), carry, number, jax.ShapeDtypeStruct((loop.num_checkpoints,), np.int32)


def test_a_call_of_the_engine_is_one_launch():
    loop = KernelLoop(run_of("ucb1"), 2)
    given = shapes_of(loop, LANES)
    types = [[(x.shape, x.dtype) for x in jax.tree.leaves(y)] for y in (jax.eval_shape(loop.advance, *given), given[1])]
    assert types[0] == types[1]
    text = jax.jit(loop.advance).trace(*given).lower(lowering_platforms=("cuda",)).as_text()
    kernel = kernel_of(loop.run, LANES, 2)
    (call,) = (line for line in text.splitlines() if "__gpu$xla.gpu.ptx" in line)
    for name, size in (("block_x", kernel.threads), ("shared_mem_bytes", kernel.shared_bytes), ("grid_x", 3)):
        assert f"{name} = {size} : i32" in call
    assert "while" not in text


def compiler():
    """Whether JAX has its compiler for NVIDIA's GPUs here."""
    return any(util.find_spec(f"jax_cuda{version}_plugin") for version in (12, 13))


@pytest.mark.skipif(not compiler(), reason="no jax-cuda12-plugin or jax-cuda13-plugin")
@pytest.mark.parametrize("name", ["ucb1", "kl_ucb"])
def test_a_call_of_the_engine_compiles_for_an_h100_without_one(name):
    accelerators = pytest.importorskip("benchmarks.accelerators")
    place = SingleDeviceSharding(accelerators.device_of("h100"))
    loop = KernelLoop(run_of(name), 2)
    given = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=place), shapes_of(loop, 1024))
    compiled = jax.jit(loop.advance, donate_argnums=1).trace(*given).lower(lowering_platforms=("cuda",)).compile()
    assert compiled.as_text().count('custom_call_target="__gpu$xla.gpu.ptx"') == 1
