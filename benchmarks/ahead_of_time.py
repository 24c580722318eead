"""`python -m benchmarks ahead_of_time --target h100`: every algorithm compiled for an accelerator that is not there.

Needs the compiler and no device: `jax[cuda12]` for an H100, `libtpu` for a v5e. What a round would take is estimated,
the larger of its kernels' starts and its bytes over the memory's bandwidth. Nobody has timed any of it.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
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


class Target(NamedTuple):
    """A device to compile for, and what the estimates assume of it."""

    platform: str  # as JAX names it
    memory: int  # bytes
    bandwidth: float  # bytes a second
    launch: float  # seconds a kernel takes to start


TARGETS = {
    "h100": Target("gpu", 84_942_979_072, 3.35e12, 3e-6),
    "v5e": Target("tpu", 16 * 2**30, 8.19e11, 1e-6),
}


def main(argv: Sequence[str]) -> int:
    """Compile what `argv` asks for, print a row as each is done and the table at the end; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks ahead_of_time", description=__doc__)
    parser.add_argument("--target", choices=TARGETS, required=True)
    parser.add_argument("--algorithms", nargs="+", metavar="NAME", help="default: all that are registered")
    parser.add_argument("--precision", choices=("float32", "float64"), help="default: what each is played in")
    parser.add_argument("--rows", type=Path, help="file of JSON lines: rows that it has are kept, others are added")
    asked = parser.parse_args(argv)
    # Before JAX is imported: no device is looked for, and a TPU's compiler does not ask the cloud what it runs on.
    os.environ |= {"JAX_PLATFORMS": "cpu", "TPU_SKIP_MDS_QUERY": "1"}
    from jaxbandit.specs.registry import ALGORITHMS

    names = asked.algorithms or list(ALGORITHMS)
    if unknown := [name for name in names if name not in ALGORITHMS]:
        parser.error(f"algorithms: {unknown[0]!r} is not registered")
    rows = _stored(asked.rows, asked.target, asked.precision)
    for row in measure(asked.target, [name for name in names if name not in rows], asked.precision):
        rows[row["algorithm"]] = row
        print(json.dumps(row), file=sys.stderr, flush=True)
        if asked.rows is not None:
            with asked.rows.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
    print(table(asked.target, [rows[name] for name in names]))
    return 0 if all("error" not in rows[name] for name in names) else 1


def measure(target: str, names: Sequence[str], precision: str | None) -> Iterator[dict[str, Any]]:
    """A row an algorithm, as they are done."""
    if not names:
        return
    device = _device(target)
    for name in names:
        about: dict[str, Any] = {"target": target, "algorithm": name, "asked": precision}
        about["versions"] = {package: metadata.version(package) for package in ("jax", "jaxlib")}
        begun = time.perf_counter()
        try:
            yield about | _compiled(TARGETS[target], device, name, precision)
        except Exception as error:  # whatever the compiler says is what is asked here
            why = f"{type(error).__name__}: {error}".splitlines()[0][:200]
            yield about | {"error": why, "seconds": time.perf_counter() - begun}


def _device(target: str) -> Any:
    """A device that is known to the compiler alone."""
    from jax.experimental import topologies

    if target == "v5e":
        return topologies.get_topology_desc("v5e:2x2", platform="tpu").devices[0]
    return topologies.get_topology_desc(platform="cuda", target_config=H100, topology="1x1x1").devices[0]


def _pair(name: str) -> tuple[Any, Any]:
    """The algorithm on the tests' small instance of it; plain arms are nine, on Bernoulli rewards."""
    from jaxbandit.environments.bernoulli import bernoulli
    from jaxbandit.specs.registry import ALGORITHMS

    found: Any = util.spec_from_file_location("parts", ROOT / "tests" / "parts.py")
    parts = util.module_from_spec(found)
    found.loader.exec_module(parts)
    algorithm, environment = parts.pair(name)
    plain = environment.name in ("bernoulli", "beta") and "num_arms" in ALGORITHMS[name].arguments
    if not plain:
        return algorithm, environment
    means = [0.1 * (i + 1) for i in range(NUM_ARMS)]
    return parts.algorithm(name, num_arms=NUM_ARMS), bernoulli(means)


def _compiled(target: Target, device: Any, name: str, precision: str | None) -> dict[str, Any]:
    """Compile all programs of an algorithm, with the sizes that the engine would take for NUM_RUNS runs."""
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    from benchmarks import compiled_loops
    from jaxbandit.engine import keys, sizes
    from jaxbandit.engine.lanes import LanesProgram
    from jaxbandit.engine.program import Program
    from jaxbandit.engine.single import SingleRun
    from jaxbandit.engine.stopping import StoppingRun
    from jaxbandit.specs.registry import ALGORITHMS

    stops = ALGORITHMS[name].kind == "identify"
    precision = precision or ("float64" if stops else "float32")
    place = NamedSharding(Mesh(np.array([device]), ("device",)), PartitionSpec())

    def on_device(tree: Any) -> Any:
        return jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=place), tree)

    with jax.enable_x64(precision == "float64"):
        pair, root, number = _pair(name), keys.root_key(0), jax.ShapeDtypeStruct((), jnp.int32)
        if stops:
            run = StoppingRun(lambda _: pair, (), "threefry4x32", any_rewards=True)
            program: Any = LanesProgram(run, target.platform)
            runs = sizes.lanes(target.platform, target.memory, program.run_bytes, NUM_RUNS, 1)
            lanes = jax.eval_shape(lambda n: program.empty(program.first(()), n, runs), number)
            count = program.run.count
            advance = (program.advance, ((), root, lanes, number, count, number, number), (2,))
            others = [(program.first, ((),))]
        else:
            run = SingleRun(lambda _: pair, (), "threefry4x32", any_rewards=True)
            program = Program(run, CHECKPOINTS, 0, target.platform)
            runs = sizes.tile(target.platform, target.memory, program.run_bytes, NUM_RUNS, 1, 1)
            numbers = jax.ShapeDtypeStruct((runs,), jnp.int32)
            carry = jax.eval_shape(program.start, (), root, numbers)
            marks = jax.ShapeDtypeStruct((CHECKPOINTS,), jnp.int32)
            advance = (program.advance, ((), carry, number, marks), (1,))
            others = [(program.start, ((), root, numbers)), (program.finish, ((), carry))]
        before = _cpu_seconds()
        compiled, took = _timed(jax.jit(advance[0], donate_argnums=advance[2]).lower(*on_device(advance[1])))
        spent = _cpu_seconds() - before
        more = [_timed(jax.jit(function).lower(*on_device(given)))[1] for function, given in others]
    round = compiled_loops.read(compiled.as_text())
    needs = compiled.memory_analysis()
    held = needs.argument_size_in_bytes + needs.output_size_in_bytes + needs.temp_size_in_bytes
    starts = round.kernels * target.launch
    moved = None if round.bytes is None else round.bytes / target.bandwidth
    return {
        "precision": precision,
        "runs": runs,
        "seconds": took,
        "cpu_seconds": spent,
        "other_seconds": sum(more),
        "kernels": round.kernels,
        "open_loops": round.open_loops,
        "bytes": round.bytes,
        "flops": round.flops,
        "memory": held - needs.alias_size_in_bytes,
        "predicted_memory": runs * program.run_bytes,
        "seconds_a_round": max(starts, moved or 0.0),
        "even_runs": None if not moved else int(runs * starts / moved),
    }


def _timed(lowered: Any) -> tuple[Any, float]:
    """A program compiled, and the seconds."""
    begun = time.perf_counter()
    return lowered.compile(), time.perf_counter() - begun


def _cpu_seconds() -> float:
    """Of this process and of the assemblers that it has started."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def _stored(path: Path | None, target: str, precision: str | None) -> dict[str, dict[str, Any]]:
    """Rows of an earlier call, those that compiled, by algorithm."""
    if path is None or not path.exists():
        return {}
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    asked = (row for row in rows if (row["target"], row["asked"]) == (target, precision))
    return {row["algorithm"]: row for row in asked if "error" not in row}


def table(target: str, rows: Sequence[dict[str, Any]]) -> str:
    """The rows as a table in Markdown, with what it assumes."""
    about = TARGETS[target]
    lines = [
        f"Estimates, timed by nobody: a kernel starts in {about.launch * 1e6:g} us, memory moves "
        f"{about.bandwidth / 1e12:g} TB/s. us a round and ns a run-step are at the runs of the column; even: runs at "
        "which kernels' starts and memory take as long; CPU s: of the largest program, s of all on a busy machine; "
        "+: loops inside a round whose turns are not known, counted once.",
        "",
        "| algorithm | precision | compile s | CPU s | kernels | runs | B a run | FLOP a run | GiB | even | us | ns |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        if "error" in row:
            lines.append(f"| {row['algorithm']} | does not compile: {row['error']} |" + " |" * 10)
            continue
        runs, known = row["runs"], row["bytes"] is not None
        cells = [
            row["algorithm"],
            row["precision"],
            f"{row['seconds'] + row['other_seconds']:.1f}",
            f"{row['cpu_seconds']:.1f}" if "cpu_seconds" in row else "?",
            f"{row['kernels']}{'+' if row['open_loops'] else ''}",
            f"{runs:,}",
            f"{row['bytes'] / runs:,.0f}" if known else "?",
            f"{row['flops'] / runs:,.0f}" if known else "?",
            f"{row['memory'] / 2**30:.2f}",
            f"{row['even_runs']:,}" if row["even_runs"] else "?",
            f"{row['seconds_a_round'] * 1e6:,.0f}",
            f"{row['seconds_a_round'] / runs * 1e9:.3f}",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)
