"""Compile programs for an accelerator without one, and read kernels, bytes and operations from them."""

import hashlib
import os
import re
import time
from collections.abc import Sequence
from importlib import metadata, util
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
NUM_ARMS = 9
NUM_RUNS = 1 << 20
CHECKPOINTS = 100
H100 = (
    "gpu_device_info { threads_per_block_limit: 1024 threads_per_warp: 32 shared_memory_per_block: 49152 "
    "shared_memory_per_core: 233472 threads_per_core_limit: 2048 core_count: 132 fpus_per_core: 128 "
    "block_dim_limit_x: 2147483647 block_dim_limit_y: 65535 block_dim_limit_z: 65535 memory_bandwidth: "
    "3352320000000 l2_cache_size: 52428800 clock_rate_ghz: 1.98 device_memory_size: 84942979072 "
    "shared_memory_per_block_optin: 232448 cuda_compute_capability { major: 9 } registers_per_core_limit: 65536 "
    'registers_per_block_limit: 65536 } platform_name: "CUDA" dnn_version_info { major: 9 minor: 8 } '
    'device_description_str: "NVIDIA H100 80GB HBM3"'
)


TAKEN_APART = re.compile(r"stablehlo\.bitcast_convert .*f64>\) -> ")


class Target(NamedTuple):
    """A device to compile for, and what the estimates assume about it."""

    platform: str  # as JAX names it
    memory: int  # bytes
    bandwidth: float  # bytes per second
    launch: float  # seconds a kernel takes to start
    compiler: tuple[str, ...]  # packages whose versions decide what is compiled


TARGETS = {
    "h100": Target("gpu", 84_942_979_072, 3.35e12, 3e-6, ("jaxlib", "jax-cuda12-plugin")),
    "v5e": Target("tpu", 16 * 2**30, 8.19e11, 1e-6, ("jaxlib", "libtpu")),
}


def device_of(target: str) -> Any:
    """Return a device that only the compiler knows."""
    from jax.experimental import topologies

    if target == "v5e":
        return topologies.get_topology_desc("v5e:2x2", platform="tpu").devices[0]
    return topologies.get_topology_desc(platform="cuda", target_config=H100, topology="1x1x1").devices[0]


def small_pair(name: str) -> tuple[Any, Any]:
    """Return the algorithm and its small instance in the tests, or nine Bernoulli arms for algorithms of plain arms."""
    from jaxbandit.environments.stationary.bernoulli import bernoulli
    from jaxbandit.lab.specs.registry import ALGORITHMS

    found: Any = util.spec_from_file_location("parts", ROOT / "tests" / "parts.py")
    parts = util.module_from_spec(found)
    found.loader.exec_module(parts)
    algorithm, environment = parts.pair(name)
    plain = environment.name in ("bernoulli", "beta") and "num_arms" in ALGORITHMS[name].arguments
    if not plain:
        return algorithm, environment
    means = [0.1 * (i + 1) for i in range(NUM_ARMS)]
    return parts.algorithm(name, num_arms=NUM_ARMS), bernoulli(means)


def compiled_row(target_name: str, name: str, precision: str | None, known: str) -> dict[str, Any]:
    """Compile all programs of an algorithm, with the sizes that the engine would take for NUM_RUNS runs.

    Nothing is compiled, and the row is empty, if the programs have the fingerprint `known`.
    """
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    from benchmarks import compiled_loops
    from jaxbandit.engine.driver.lane_loop import LaneLoop
    from jaxbandit.engine.driver.tile_loop import TileLoop
    from jaxbandit.engine.layout import sizes
    from jaxbandit.engine.layout.compiled import total_memory
    from jaxbandit.engine.rounds import keys
    from jaxbandit.engine.rounds.single import SingleRun
    from jaxbandit.engine.rounds.stopping import StoppingRun
    from jaxbandit.lab.specs.registry import ALGORITHMS

    device = device_of(target_name)
    target, stops = TARGETS[target_name], ALGORITHMS[name].kind == "identify"
    precision = precision or ("float64" if stops else "float32")
    place = NamedSharding(Mesh(np.array([device]), ("device",)), PartitionSpec())

    def on_device(tree: Any) -> Any:
        return jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=place), tree)

    with jax.enable_x64(precision == "float64"):
        pair, root, number = small_pair(name), keys.root_key(0), jax.ShapeDtypeStruct((), jnp.int32)
        if stops:
            run = StoppingRun(lambda _: pair, (), "threefry4x32", any_rewards=True)
            program: Any = LaneLoop(run, target.platform)
            runs = sizes.lanes(target.platform, target.memory, program.run_bytes, NUM_RUNS, 1)
            lanes = jax.eval_shape(lambda n: program.empty(program.run.first(()), n, runs), number)
            count = program.run.count
            advance = (program.advance, ((), root, lanes, number, count, number, number), (2,))
            others = [(program.run.first, ((),))]
        else:
            run = SingleRun(lambda _: pair, (), "threefry4x32", any_rewards=True)
            program = TileLoop(run, CHECKPOINTS, target.platform)
            runs = sizes.tile(target.platform, target.memory, program.run_bytes, NUM_RUNS, 1, 1)
            words = program.words(runs)
            carry = jax.eval_shape(program.start, (), words)
            marks = jax.ShapeDtypeStruct((CHECKPOINTS,), jnp.int32)
            advance = (program.advance, ((), carry, number, marks), (1,))
            others = [(program.start, ((), words)), (program.finish, ((), carry))]
        calls = [advance, *((function, given, ()) for function, given in others)]
        lowered = [jax.jit(f, donate_argnums=donated).lower(*on_device(given)) for f, given, donated in calls]
        texts = [program.as_text() for program in lowered]
        programs = _fingerprint(target_name, texts)
        if programs == known:
            return {}
        if target.platform == "tpu" and any(map(TAKEN_APART.search, texts)):
            raise ValueError("a bitcast of a float64, which a TPU emulates by two float32: it would return their bits")
        before = _cpu_seconds()
        compiled, took = _timed(lowered[0])
        spent = _cpu_seconds() - before
        more = [_timed(program)[1] for program in lowered[1:]]
    round = compiled_loops.read(compiled.as_text())
    starts = round.kernels * target.launch
    moved = None if round.bytes is None else round.bytes / target.bandwidth
    return {
        "programs": programs,
        "precision": precision,
        "runs": runs,
        "seconds": took,
        "cpu_seconds": spent,
        "other_seconds": sum(more),
        "kernels": round.kernels,
        "open_loops": round.open_loops,
        "bytes": round.bytes,
        "flops": round.flops,
        "memory": total_memory(compiled),
        "predicted_memory": runs * program.run_bytes,
        "seconds_a_round": max(starts, moved or 0.0),
        "even_runs": None if not moved else int(runs * starts / moved),
    }


def _fingerprint(target: str, texts: Sequence[str]) -> str:
    """Return a digest of the compiler's input and of its version."""
    about = [target, *(f"{package} {metadata.version(package)}" for package in TARGETS[target].compiler)]
    return hashlib.sha256("\n".join([*about, *texts]).encode()).hexdigest()[:16]


def _timed(lowered: Any) -> tuple[Any, float]:
    """Return a compiled program and the seconds that this took."""
    begun = time.perf_counter()
    return lowered.compile(), time.perf_counter() - begun


def _cpu_seconds() -> float:
    """Return the processor time of this process and of the assemblers that it has started."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system
