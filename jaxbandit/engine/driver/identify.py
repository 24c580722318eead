"""The engine for runs with a stopping rule, in which freed lanes are refilled so that none waits for the slowest run.

The numbers of a run depend only on (seed, run).
"""

import time
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.base import checks
from jaxbandit.base.contract import Algorithm, Environment
from jaxbandit.base.types import Device, PyTree
from jaxbandit.engine.driver.execution import DEFAULT, Execution
from jaxbandit.engine.driver.lanes import Lanes, LanesProgram
from jaxbandit.engine.driver.queues import Code, Job
from jaxbandit.engine.layout import sizes
from jaxbandit.engine.layout.compiled import compile_program, remember, remembers
from jaxbandit.engine.rounds import fit, keys
from jaxbandit.engine.rounds.step import without_notes
from jaxbandit.engine.rounds.stopping import StoppingRun
from jaxbandit.engine.storage import identity
from jaxbandit.engine.storage.checkpoint import Checkpoint, Finished

Make = Callable[[PyTree], tuple[Algorithm, Environment]]

MOST_ROUNDS = 2**31 - 129  # limit of max_rounds for single pulls
MOST_PULLS = 10**15  # limit of max_rounds for batches, whose pulls are counted in 64 bits


class Identified(NamedTuple):
    """The results of runs with a stopping rule, as NumPy arrays, zero except `outcome` for runs that are NONFINITE."""

    samples: np.ndarray  # int64[runs], number of pulls until the run stopped or was censored
    outcome: np.ndarray  # int8[runs], base.Outcome
    recommendation: np.ndarray  # [runs, ...]
    shortfall: np.ndarray | None  # float[runs], simple regret; None if the environment does not define it
    pulls: np.ndarray | None  # int32[runs, num_arms], None if the state has no counts
    compile_seconds: float
    run_seconds: float
    run_steps: int  # number of steps that runs took in this call
    lane_steps: int  # number of steps executed by all lanes, including lanes without a run
    devices: list[str]  # platform of each device
    identity: dict[str, Any]  # everything that the numbers depend on, by name, as plain data
    batches: np.ndarray | None = None  # int32[runs], number of batches of pulls; None if pulls are single

    @property
    def lane_utilization(self) -> float:
        """Useful divided by executed lane-steps, in (0, 1]; nan if this call had no runs to play."""
        return self.run_steps / self.lane_steps if self.lane_steps else float("nan")


def identify_cell(
    make: Make,
    arguments: PyTree,
    *,
    num_runs: int,
    first_run: int = 0,
    seed: int = 0,
    max_rounds: int = 10_000_000,
    precision: Literal["float32", "float64"] = "float64",
    any_rewards: bool = False,
    implementation: str = "threefry4x32",
    execution: Execution = DEFAULT,
    finished: Finished | None = None,
) -> Identified:
    """Play runs first_run, ..., first_run + num_runs - 1 of make(arguments), each until its stopping rule stops it.

    Args:
      make: returns the algorithm and the environment for traced arguments; compiled once per function and shapes.
      arguments: any tree of arrays, traced.
      num_runs: number of independent runs, >= 1.
      first_run: index of the first run, >= 0. The numbers of a run do not depend on which call plays it.
      seed: seed of all random draws, in [0, 2^32).
      max_rounds: number of pulls after which a run is right-censored, in [1, 2^31 - 129], or in [1, 10^15] if pulls
        are made in batches; traced.
      precision: "float64" or "float32", for everything except counts; the process-wide flag is not changed. With
        "float32", the algorithm's `verify` checks each stopped run in float64, and max_rounds is at most 2^24.
      any_rewards: whether to allow rewards that the algorithm is not designed for.
      implementation: "threefry4x32" (default) or "threefry2x32".
      execution: workers, devices, sizes, checkpoints and progress, which do not affect the results.
      finished: runs from first_run on that an earlier call has finished; only the others are played.

    Returns:
      An Identified.

    Raises:
      ValueError: an argument is out of range, checkpoint_dir or `finished` belongs to another simulation, or another
        process is using checkpoint_dir.
      KeyboardInterrupt: the process was interrupted; the state has been saved in checkpoint_dir.
    """
    num_runs = checks.integer("identify", "num_runs", num_runs, 1, 2**31 - 1)
    first_run = checks.integer("identify", "first_run", first_run, 0, 2**31 - 1 - num_runs)
    max_rounds = checks.integer("identify", "max_rounds", max_rounds, 1, MOST_PULLS)
    checks.choice("identify", "precision", precision, ("float32", "float64"))
    checks.precision("identify", precision, "max_rounds", max_rounds)
    devices, workers = execution.here("identify")
    platform = devices[0].platform
    queues = [device for device in devices for _ in range(workers)]

    with jax.enable_x64(precision == "float64"):
        root = keys.root_key(seed, implementation)
        given, arguments = arguments, jax.tree.map(jnp.asarray, arguments)
        begun = time.perf_counter()
        key = (make, _shapes(arguments), implementation, precision, any_rewards, platform)
        program, digest = remember(key, lambda: _traced(make, arguments, implementation, any_rewards, platform))
        if max_rounds > MOST_ROUNDS and not program.run.batches:
            raise ValueError(f"identify: max_rounds = {max_rounds}, must be in [1, {MOST_ROUNDS}] for single pulls")
        fit.check_length("identify", "max_rounds", max_rounds, program.run.length)
        code = _code(program, key, arguments, root, given)
        compile_seconds = time.perf_counter() - begun
        about = {
            "engine": "runs that stop",
            "program": digest,
            "arguments": identity.of_arrays(arguments),
            "seed": seed,
            "max_rounds": max_rounds,
            "precision": precision,
            "generator": implementation,
            **identity.surroundings(platform),
        }
        with Checkpoint(execution.checkpoint_dir, about) as checkpoint:
            chunk, progress = execution.chunk, execution.progress
            assert not isinstance(progress, bool)
            job = Job(code, arguments, root, first_run, num_runs, max_rounds, chunk, checkpoint, progress)
            if finished is not None:
                job.take_over(finished.rows(about, _names(program), first_run, num_runs))
            for rows in checkpoint.ended():
                job.take_over(rows)
            begun = time.perf_counter()
            width = _width(program, job.left(), execution.width, queues, code)
            for device in dict.fromkeys(queues) if job.left() else ():
                code.advance(width, device)
            compile_seconds += time.perf_counter() - begun
            begun = time.perf_counter()
            job.play(width, queues)
            run_seconds = time.perf_counter() - begun
    return Identified(
        samples=job.arrays["samples"].astype(np.int64),
        outcome=job.arrays["outcome"],
        recommendation=job.arrays["recommendation"],
        shortfall=job.arrays.get("shortfall"),
        pulls=job.arrays.get("pulls"),
        compile_seconds=compile_seconds,
        run_seconds=run_seconds,
        run_steps=job.run_steps,
        lane_steps=job.lane_steps,
        devices=[device.platform for device in devices],
        identity=about,
        batches=job.arrays.get("batches"),
    )


def _traced(
    make: Make, arguments: PyTree, implementation: str, any_rewards: bool, platform: str
) -> tuple[LanesProgram, str]:
    """The program and its digest."""
    with without_notes():
        run = StoppingRun(make, arguments, implementation, any_rewards=any_rewards)
    return LanesProgram(run, platform), identity.of_program(run.examples())


def _names(program: LanesProgram) -> list[str]:
    """Names of the arrays of finished runs that are returned."""
    run = program.run
    verdict = jax.eval_shape(run.verdict, run.arguments, run.world, run.state, run.tally)
    batches = ["batches"] if run.batches else []
    return ["samples", "outcome", *batches, *(name for name in verdict if name in Identified._fields)]


def _shapes(arguments: PyTree) -> Any:
    leaves, structure = jax.tree.flatten(arguments)
    return structure, tuple((leaf.shape, leaf.dtype) for leaf in leaves)


def _width(program: LanesProgram, num_runs: int, lanes: int | None, queues: Sequence[Device], code: Code) -> int:
    """Number of lanes of a queue."""
    device = queues[0]
    if sizes.of(device.platform).cache is not None:
        return sizes.lanes(device.platform, 0, program.lane_bytes, num_runs, len(queues), lanes)
    memory = sizes.memory(device) // queues.count(device)
    width = sizes.lanes(device.platform, memory, program.run_bytes, num_runs, len(queues), lanes)
    if lanes is not None or num_runs == 0:
        return width
    return sizes.fitting(lambda width: code.advance(width, device), width, memory)


def _code(program: LanesProgram, key: Any, arguments: PyTree, root: Any, given: PyTree) -> Code:
    number = jax.ShapeDtypeStruct((), jnp.int32)

    def name(width: int, device: Device) -> Any:
        return (*key, "advance", width, device)

    def shapes(width: int) -> Lanes:
        return jax.eval_shape(lambda a, n: program.empty(program.first(a), n, width), arguments, number)

    # Computed once for all devices by one program, because a run's numbers must not depend on the number of devices.
    begin = remember((*key, "first"), lambda: compile_program(program.first, jax.local_devices()[0], arguments))
    first = begin(arguments)

    def advance(width: int, device: Device) -> Any:
        def construct() -> Any:
            more = (shapes(width), number, program.run.count, number, number)
            return compile_program(
                program.advance, device, arguments, root, *more, donate=(2,), whole=program.run.whole_loops
            )

        with jax.default_device(device):
            return remember(name(width, device), construct)

    def empty(next: int, width: int, device: Device) -> Lanes:
        lanes = program.empty(first, np.int32(next), width)  # pyright: ignore[reportArgumentType]
        # Separate buffers, because `advance` donates them.
        return jax.tree.map(lambda x: jax.device_put(np.asarray(x), device, may_alias=False), lanes)

    def compiled(width: int, device: Device) -> bool:
        with jax.default_device(device):
            return remembers(name(width, device))

    verify = _verifier(program.run, key, given) if program.run.verifies else None
    run, counts = program.run, program.run.recorder.set_size is None and "pulls" in _names(program)
    return Code(empty, shapes, advance, compiled, program.block_steps, run.state_varies, counts, run.batches, verify)


def _verifier(run: StoppingRun, key: Any, given: PyTree) -> Callable[[PyTree, int], np.ndarray]:
    """The algorithm's `verify`, evaluated in float64 on the final float32 states of many runs."""

    def check(arguments: PyTree, state: PyTree) -> jax.Array:
        algorithm: Any = run.make(arguments)[0]
        return algorithm.verify(state)

    axes = jax.tree.map(lambda varies: 0 if varies else None, run.state_varies)
    many = jax.vmap(check, (None, axes))

    def verify(states: PyTree, number: int) -> np.ndarray:
        size = 1 << max(number - 1, sizes.LANES_LEAST - 1).bit_length()  # only powers of two: few compilations

        def widen(x: np.ndarray, varies: bool) -> np.ndarray:
            x = x.astype(np.float64) if np.issubdtype(x.dtype, np.floating) else x
            return np.resize(x, (size, *x.shape[1:])) if varies else x

        with jax.enable_x64(True), jax.default_device(jax.local_devices()[0]):
            wide = jax.tree.map(widen, states, run.state_varies)
            exact = jax.tree.map(jnp.asarray, given)
            judge = remember((*key, "verify", size), lambda: compile_program(many, jax.local_devices()[0], exact, wide))
            return np.asarray(judge(exact, wide))[:number]

    return verify
