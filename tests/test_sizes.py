"""Sizes by platform: a CPU's as they were measured, an accelerator's within its memory; no number depends on them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxbandit.algorithms import epsilon_greedy, lucb, ucb1
from jaxbandit.engine.driver.identify import identify_cell
from jaxbandit.engine.driver.lane_loop import LaneLoop
from jaxbandit.engine.driver.simulate import simulate_cell
from jaxbandit.engine.driver.tile_loop import TileLoop, apart
from jaxbandit.engine.layout import sizes
from jaxbandit.engine.layout.compiled import total_memory
from jaxbandit.engine.rounds import keys
from jaxbandit.engine.rounds.single import SingleRun
from jaxbandit.engine.rounds.stopping import StoppingRun
from jaxbandit.environments import bernoulli
from tests import parts

ROOT = Path(__file__).parents[1]
GIB = 2**30
MEANS = np.array([0.2, 0.5, 0.6])


@pytest.fixture
def a_mebibyte(monkeypatch):
    """A core with a second-level cache of 1 MiB, whatever this machine has."""
    monkeypatch.setattr(sizes, "PLATFORMS", {"cpu": sizes.CPU._replace(cache=1 << 20)})


@pytest.mark.parametrize(
    ("run_bytes", "num_runs", "workers", "expected"),
    [
        (512, 10_000, 1, 2000),  # five tiles of at most 2,048 runs
        (512, 10_000, 2, 1680),  # six, so that both workers play three; rounded up to whole vectors
        (4096, 10_000, 1, 256),  # 1 MiB holds 256 runs: 40 tiles of 250
        (10**7, 10_000, 1, 64),  # more than the cache: the least
        (512, 5, 2, 64),
    ],
)
def test_tiles_of_a_cpu(a_mebibyte, run_bytes, num_runs, workers, expected):
    assert sizes.tile("cpu", 0, run_bytes, num_runs, workers, 1) == expected


def test_tiles_of_an_accelerator():
    def tile(memory, run_bytes, num_runs, devices=1, given=None):
        return sizes.tile("gpu", memory, run_bytes, num_runs, 1, devices, given)

    assert tile(80 * GIB, 1024, 2**17) == 2**17
    assert tile(80 * GIB, 1024, 2**18) == 2**18
    assert tile(80 * GIB, 1024, 2**20) == 2**18  # four tiles
    assert tile(80 * GIB, 1024, 2**20, devices=4) == 2**20  # each device has 2^18
    assert tile(80 * GIB, 1024, 100) == 112  # whole vectors
    assert tile(80 * GIB, 1024, 2**20, given=1000) == 1008
    for memory in (GIB, 16 * GIB, 80 * GIB):
        for run_bytes in (100, 10_000, 10**6):
            runs = tile(memory, run_bytes, 2**20)
            within = runs * run_bytes <= sizes.SHARE * memory + sizes.LANE_MULTIPLE * run_bytes
            assert within or runs == sizes.LANES_LEAST


def test_lanes_and_blocks(a_mebibyte):
    assert sizes.lanes("cpu", 0, 512, 10**6, 2) == 256
    assert sizes.lanes("cpu", 0, 512, 2000, 2) == 64  # 125 lanes would have eight runs each: a power of two
    assert sizes.lanes("cpu", 0, 8192, 10**6, 2) == 128  # 1 MiB
    assert sizes.lanes("gpu", 80 * GIB, 8192, 2**17, 1) == 2**17
    assert sizes.lanes("tpu", GIB, 8192, 2**17, 1) == 2**15  # a quarter of the memory
    assert sizes.lanes("gpu", 80 * GIB, 512, 10**6, 1, number=100) == 112
    assert [sizes.block_steps("cpu", n) for n in (4, 32, 33, 2048, 10**6)] == [64, 64, 32, 1, 1]
    assert [sizes.block_steps("gpu", n) for n in (4, 256, 257)] == [64, 64, 32]
    assert sizes.block_steps("gpu", 4, batches=True) == 2


def test_a_program_that_does_not_fit_is_compiled_for_fewer_runs(monkeypatch):
    def fitting(runs, devices=1, refused=False, **known):
        """The number of runs that fits, and those that were compiled, if a run needs 1 kB."""
        tried = []

        def compiled(runs):
            tried.append(runs)
            if refused and runs > 1000:
                raise jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: Ran out of memory in memory space hbm.")
            return runs

        monkeypatch.setattr(sizes, "total_memory", lambda runs: known.get("held", 1000 * runs))
        return sizes.fitting(compiled, runs, 10**6, devices), tried

    assert fitting(512) == (512, [512])
    assert fitting(896) == (896, [896]) and fitting(912) == (448, [912, 448])  # nine tenths of the memory
    assert fitting(2**17) == (512, [2**17, 512])  # at once by as much as is missing
    assert fitting(5008) == (624, [5008, 624])  # whole vectors
    assert fitting(5008, refused=True) == (304, [5008, 1248, 304])  # without a figure a quarter is tried
    assert fitting(2**17, held=None) == (2**17, [2**17])  # the compiler does not tell
    assert fitting(2**17, held=10**12)[0] == sizes.LANES_LEAST and fitting(2**17, 4, held=10**12)[0] == 256
    with pytest.raises(jax.errors.JaxRuntimeError, match="INTERNAL"):
        sizes.fitting(lambda runs: (_ for _ in ()).throw(jax.errors.JaxRuntimeError("INTERNAL")), 512, 10**6)


@pytest.mark.slow
@pytest.mark.quickly_compiled
def test_no_number_depends_on_the_sizes(monkeypatch):
    def played():
        simulated = simulate_cell(
            lambda means: (epsilon_greedy(3), bernoulli(means)), MEANS, horizon=70, num_runs=300, checkpoints=[9, 70]
        )
        identified = identify_cell(lambda means: (lucb(3), bernoulli(means)), MEANS, num_runs=300, max_rounds=200)
        return simulated.regret, simulated.pulls, identified.samples, identified.recommendation, identified.pulls

    ours, fitting = played(), sizes.fitting
    # Blocks of four rounds, of which three are played together, two of them written out.
    few = sizes.ACCELERATOR._replace(noise=64, slots=2, tile_most=128, lanes_most=128, together=3, unroll=2)
    monkeypatch.setattr(sizes, "PLATFORMS", {"cpu": few})
    for needs, expected in ((0, [80, 128]), (2**40, [64, 64])):
        found = []
        monkeypatch.setattr(sizes, "total_memory", lambda program, needs=needs: needs)
        monkeypatch.setattr(sizes, "fitting", lambda *given, found=found: found.append(fitting(*given)) or found[-1])
        for x, y in zip(ours, played(), strict=True):
            assert jnp.array_equal(x, y) and x.dtype == y.dtype
        assert found == expected  # the runs of a tile, and the lanes


@pytest.mark.slow
@pytest.mark.quickly_compiled
def test_an_accelerator_has_the_sums_of_the_host(monkeypatch):
    def play(keep):
        metrics = {
            "pull": lambda r: r.action.astype(jnp.float32) + 0.1,
            "odd": lambda r: jnp.where(r.action == 1, jnp.inf, 1.0),
        }
        found = simulate_cell(
            lambda means: (epsilon_greedy(3), bernoulli(means)),
            MEANS,
            horizon=70,
            num_runs=300,
            metrics=metrics,
            hindsight=True,
            keep=keep,
        )
        sums = {name: x.plain() if hasattr(x, "plain") else x.tolist() for name, x in found.sums.items()}
        return sums, found.counted, found.regret, found.mean.tobytes(), found.pulls_mean.tobytes()

    ours = play(("runs",))
    monkeypatch.setattr(sizes, "PLATFORMS", {"cpu": sizes.ACCELERATOR._replace(tile_most=128)})
    for keep in (("runs",), ()):
        theirs = play(keep)
        assert ours[:2] == theirs[:2] and ours[3:] == theirs[3:]
        assert theirs[2] is None if keep == () else np.array_equal(ours[2], theirs[2])


@pytest.mark.slow
def test_rounds_are_kept_apart_only_where_they_are_written_out():
    number, marks = jax.ShapeDtypeStruct((), jnp.int32), jax.ShapeDtypeStruct((2,), jnp.int32)
    run = SingleRun(lambda _: (ucb1(3), bernoulli(MEANS)), (), "threefry4x32")

    def barriers(platform):
        loop = TileLoop(run, 2, platform=platform)
        carry = jax.eval_shape(loop.start, (), loop.words(64))
        text = jax.jit(loop.advance).trace((), carry, number, marks).lower(lowering_platforms=("cuda",)).as_text()
        return text.count("optimization_barrier")

    assert barriers("cpu") == 0 and barriers("cuda") > 0


@pytest.mark.slow
def test_fewer_runs_than_are_replanned_together_are_traced():
    run = SingleRun(lambda _: (parts.algorithm("glr_klucb"), bernoulli(MEANS)), (), "threefry4x32")
    loop, number = TileLoop(run, 2, platform="gpu"), jax.ShapeDtypeStruct((), jnp.int32)
    assert run.replans and loop.pack > 64
    carry = jax.eval_shape(loop.start, (), loop.words(64))
    after = jax.eval_shape(loop.advance, (), carry, number, jax.ShapeDtypeStruct((2,), jnp.int32))
    assert jax.tree.map(lambda x: x.shape, after) == jax.tree.map(lambda x: x.shape, carry)


def test_what_could_be_rounded_is_stored_between_two_rounds():
    inner = jnp.zeros(3), jnp.zeros(()), jnp.zeros(3, jnp.int32), jnp.zeros((), jnp.int32), jnp.zeros((), bool)
    lines = jax.jit(apart).lower(inner).as_text().splitlines()
    stored = [line.rsplit(" : ", 1)[1] for line in lines if "stablehlo.optimization_barrier" in line]
    assert stored == ["tensor<3xf32>", "tensor<f32>", "tensor<3xi32>"]
    assert jax.tree.structure(apart((inner, None))) == jax.tree.structure((inner, None))


@pytest.mark.slow
@pytest.mark.quickly_compiled
def test_the_bytes_of_a_run_are_those_of_the_compiled_program(monkeypatch):
    """What is predicted, times the runs, is within a fifth of what the compiler reserves for the program."""
    monkeypatch.setattr(sizes, "PLATFORMS", {"cpu": sizes.ACCELERATOR})
    runs, root, number = 1 << 13, keys.root_key(0), jax.ShapeDtypeStruct((), jnp.int32)

    def reserved(advance, donated, *given):
        return total_memory(jax.jit(advance, donate_argnums=donated).lower(*given).compile())

    simulated = TileLoop(SingleRun(lambda _: (ucb1(3), bernoulli(MEANS)), (), "threefry4x32"), 20)
    carry = jax.eval_shape(simulated.start, (), simulated.words(runs))
    marks = jax.ShapeDtypeStruct((20,), jnp.int32)
    first = reserved(simulated.advance, 1, (), carry, number, marks)
    with jax.enable_x64(True):
        stopped = LaneLoop(StoppingRun(lambda _: (lucb(3), bernoulli(MEANS)), (), "threefry4x32"))
        lanes = jax.eval_shape(lambda n: stopped.empty(stopped.run.first(()), n, runs), number)
        second = reserved(stopped.advance, 2, (), root, lanes, number, stopped.run.count, number, number)
        predicted = [runs * simulated.run_bytes, runs * stopped.run_bytes]
    assert [first, second] == pytest.approx(predicted, rel=0.2)


@pytest.mark.slow
def test_memory_on_four_devices():
    """A small share of the benchmark: what the host and the devices hold is within a factor of what is predicted."""
    # Once, and fewer rounds than the benchmark plays: enough for the devices to play at the same time.
    program = "from benchmarks import devices; devices.ROUNDS, devices.PLAYS = 300, 1; "
    program += f"devices.main(['--runs', '{2**16}'])"
    environment = os.environ | {"PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu"}
    environment |= {"JAX_NUM_CPU_DEVICES": "4", "NPROC": "4"}  # as the command sets them
    process = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env=environment, capture_output=True, timeout=300, check=False
    )
    assert process.returncode == 0, process.stderr.decode()
    rows = [json.loads(line) for line in process.stdout.decode().splitlines()]
    assert [row["play"] for row in rows] == ["simulate", "identify"]
    for row in rows:
        assert row["devices"] == 4 and row["side_by_side"] == 2**16
        # And what the allocator keeps: 8.5 MB beyond the factor have been seen, beside other tests. The factor has room
        # for what a step of `simulate` writes beside the carry: 12 MB more since an entry of each run has one number.
        assert row["measured"] < 1.6 * row["predicted"] + 10 * 2**20
