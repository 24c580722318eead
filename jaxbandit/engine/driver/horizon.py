"""The engine for a fixed horizon: tiles of runs are played in chunks by a compiled loop that the host calls.

Memory is proportional to runs times checkpoints, not to the horizon. The numbers of a run depend only on (seed, run).
"""

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.base import checks
from jaxbandit.base.contract import Algorithm, Environment
from jaxbandit.base.types import Device, Key, PyTree
from jaxbandit.engine.driver.execution import DEFAULT, Execution
from jaxbandit.engine.driver.program import Program, sharded
from jaxbandit.engine.driver.tiles import JUDGED, Code, Job
from jaxbandit.engine.layout import sizes
from jaxbandit.engine.layout.compiled import compile_program, remember
from jaxbandit.engine.rounds import fit, keys
from jaxbandit.engine.rounds.single import SingleRun
from jaxbandit.engine.rounds.step import without_notes
from jaxbandit.engine.storage import identity
from jaxbandit.engine.storage.checkpoint import Checkpoint, Finished

Make = Callable[[PyTree], tuple[Algorithm, Environment]]


class Record(NamedTuple):
    """The results of a fixed-horizon simulation, as NumPy arrays."""

    checkpoints: np.ndarray  # int64[checkpoints], the last is the horizon
    measure: str  # "regret", or "feedback" if the environment does not define regret: then `regret` is the feedback
    counted: int  # number of runs that reached the horizon without a failure, over which means are computed
    regret: np.ndarray | None  # float[runs, checkpoints], or None if per_run was False
    mean: np.ndarray  # float64[checkpoints], over the runs counted
    variance: np.ndarray  # float64[checkpoints], divisor counted - 1
    hindsight: np.ndarray | None  # like `regret`, against the best fixed arm in hindsight; None unless recorded
    hindsight_mean: np.ndarray | None
    hindsight_variance: np.ndarray | None
    pulls: np.ndarray | None  # int32[runs, num_arms], None if per_run was False or pulls are not counted
    pulls_mean: np.ndarray | None  # float64[num_arms]
    kinds: np.ndarray | None  # int32[runs, num_kinds], rounds by kind; None if per_run was False or there are no kinds
    kinds_mean: np.ndarray | None  # float64[num_kinds]
    phases: tuple[str, ...]  # names of the kinds of rounds
    recommendation: np.ndarray | None  # [runs, ...]
    outcome: np.ndarray  # int8[runs], Outcome: STOPPED at the horizon, NONFINITE or OUT_OF_RANGE
    compile_seconds: float
    run_seconds: float
    run_steps: int  # number of rounds played by this call, over all runs
    devices: list[str]  # platform of each device
    identity: dict[str, Any]  # everything that the numbers depend on, by name, as plain data
    sums: dict[str, Any] | None = None  # exact sums: Moments of regret and hindsight, int64 arrays of pulls and kinds


def default_checkpoints(horizon: int) -> np.ndarray:
    """Return about 100 logarithmically spaced rounds from 1 to the horizon, int64."""
    return np.unique(np.rint(np.geomspace(1, horizon, 121)).astype(np.int64))


def simulate_cell(
    make: Make,
    arguments: PyTree,
    *,
    horizon: int,
    num_runs: int,
    first_run: int = 0,
    seed: int = 0,
    checkpoints: Sequence[int] | None = None,
    precision: Literal["float32", "float64"] | None = None,
    per_run: bool = True,
    any_rewards: bool = False,
    hindsight: bool = False,
    replan_late: int = 0,
    implementation: str = "threefry4x32",
    execution: Execution = DEFAULT,
    finished: Finished | None = None,
) -> Record:
    """Play runs first_run, ..., first_run + num_runs - 1 of make(arguments) for horizon rounds.

    Args:
      make: returns the algorithm and the environment for traced arguments; compiled once per function and shapes, so
        that a call with other numbers does not recompile.
      arguments: any tree of arrays, traced.
      horizon: number of rounds per run, >= 1.
      num_runs: number of independent runs, >= 1.
      first_run: index of the first run, >= 0. The numbers of a run do not depend on which call plays it.
      seed: seed of all random draws, in [0, 2^32).
      checkpoints: increasing rounds at which regret is recorded; the horizon is appended if it is missing. Default:
        about 100 logarithmically spaced rounds.
      precision: "float32" or "float64", for everything except counts. Default: float32 up to a horizon of 2^24, and
        float64 beyond, where float32 raises an error. The process-wide flag is not changed.
      per_run: whether to keep regret, pulls and recommendation of each run. Otherwise only means are kept, and memory
        does not grow with num_runs.
      any_rewards: whether to allow rewards that the algorithm is not designed for.
      hindsight: whether to record also the regret against the best fixed arm in hindsight.
      replan_late: largest number of rounds by which `Algorithm.replan` may be delayed, >= 0; 0 is exact. The engine
        looks for runs whose replan is due every (replan_late + 1) rounds, so that it looks less often and replans more
        runs at a time.
      implementation: "threefry4x32" (default) or "threefry2x32".
      execution: workers, devices, sizes, checkpoints and progress, which do not affect the results.
      finished: runs from first_run on that an earlier call has finished with per_run; only the others are played.

    Returns:
      A Record.

    Raises:
      ValueError: an argument is out of range, checkpoint_dir or `finished` belongs to another simulation, or another
        process is using checkpoint_dir.
      KeyboardInterrupt: the process was interrupted; the state has been saved in checkpoint_dir.
    """
    horizon = checks.integer("simulate", "horizon", horizon, 1, 2**31 - 2 * 64)
    num_runs = checks.integer("simulate", "num_runs", num_runs, 1, 2**31 - 1)
    first_run = checks.integer("simulate", "first_run", first_run, 0, 2**31 - 1 - num_runs)
    precision = checks.precision("simulate", precision, "horizon", horizon)
    marks = _checkpoints(checkpoints, horizon)
    replan_late = checks.integer("simulate", "replan_late", replan_late, 0, 2**31 - 2)
    devices, workers = execution.here("simulate")
    platform = devices[0].platform

    with jax.enable_x64(precision == "float64"):
        root = keys.root_key(seed, implementation)
        arguments = jax.tree.map(jnp.asarray, arguments)
        begun = time.perf_counter()
        options = {"any_rewards": any_rewards, "hindsight": hindsight}
        key, program, digest = _traced(make, arguments, len(marks), replan_late, implementation, platform, **options)
        compile_seconds = time.perf_counter() - begun
        fit.check_length("simulate", "horizon", horizon, program.run.length)
        about = {
            "engine": "fixed horizon",
            "program": digest,
            "arguments": identity.of_arrays(arguments),
            "seed": seed,
            "horizon": horizon,
            "checkpoints": marks.tolist(),
            "replan_late": replan_late,
            "hindsight": hindsight,
            "precision": precision,
            "generator": implementation,
            **identity.surroundings(platform),
        }
        with Checkpoint(execution.checkpoint_dir, about) as checkpoint:
            progress: Any = execution.progress
            job = Job(arguments, root, marks, first_run, num_runs, per_run, checkpoint, progress)
            if finished is not None:
                job.take_over(finished.rows(about, _names(program, arguments, root), first_run, num_runs))
            for rows in checkpoint.ended():
                job.take_over(rows)
            begun = time.perf_counter()
            code = partial(_code, key, program, arguments, root, len(marks), devices)
            lanes = _lanes(program, job.left(), execution.width, workers, devices, code)
            found, widths = job.tiles(lanes, sizes.LANES_LEAST * len(devices))
            codes = {width: code(width) for width in widths}
            compile_seconds += time.perf_counter() - begun
            begun = time.perf_counter()
            job.play(found, codes, workers)
            run_seconds = time.perf_counter() - begun
    return Record(
        checkpoints=marks,
        measure=str(program.run.recorder.measure),
        counted=job.moments.count,
        hindsight=job.arrays.get("hindsight"),
        hindsight_mean=job.hindsight.mean() if hindsight else None,
        hindsight_variance=job.hindsight.variance() if hindsight else None,
        phases=program.run.phases,
        regret=job.arrays.get("regret"),
        mean=job.moments.mean(),
        variance=job.moments.variance(),
        pulls=job.arrays.get("pulls"),
        pulls_mean=job.mean("pulls"),
        kinds=job.arrays.get("kinds"),
        kinds_mean=job.mean("kinds"),
        recommendation=job.arrays.get("recommendation"),
        outcome=job.outcome,
        compile_seconds=compile_seconds,
        run_seconds=run_seconds,
        run_steps=job.run_steps,
        devices=[device.platform for device in devices],
        identity=about,
        sums={"regret": job.moments} | ({"hindsight": job.hindsight} if hindsight else {}) | job.totals,
    )


def _checkpoints(checkpoints: Sequence[int] | None, horizon: int) -> np.ndarray:
    if checkpoints is None:
        return default_checkpoints(horizon)
    marks = [checks.integer("simulate", f"checkpoints[{i}]", t, 1, horizon) for i, t in enumerate(checkpoints)]
    for i in range(1, len(marks)):
        if marks[i] <= marks[i - 1]:
            raise ValueError(f"simulate: checkpoints[{i}] = {marks[i]} after {marks[i - 1]}, must be increasing")
    if not marks or marks[-1] < horizon:
        marks.append(horizon)
    return np.array(marks, np.int64)


def _lanes(
    program: Program,
    num_runs: int,
    tile: int | None,
    workers: int,
    devices: Sequence[Device],
    code: Callable[[int], Code],
) -> int:
    """Number of runs per tile."""
    platform, number = devices[0].platform, len(devices)
    if sizes.of(platform).cache is not None:
        return sizes.tile(platform, 0, program.lane_bytes, num_runs, workers, number, tile)
    memory = sizes.memory(devices[0]) // workers
    lanes = sizes.tile(platform, memory, program.run_bytes, num_runs, workers, number, tile)
    if tile is not None or num_runs == 0:
        return lanes
    return sizes.fitting(lambda lanes: code(lanes).advance, lanes, memory, number)


def _traced(
    make: Make,
    arguments: PyTree,
    num_checkpoints: int,
    replan_late: int,
    implementation: str,
    platform: str,
    **options: bool,
) -> tuple[Any, Program, str]:
    """The cache key of the compiled functions, the program, and its digest."""
    leaves, structure = jax.tree.flatten(arguments)
    shapes = tuple((leaf.shape, leaf.dtype) for leaf in leaves)
    asked = (num_checkpoints, replan_late, implementation, platform, *options.items())
    key = (make, structure, shapes, asked)

    def trace() -> tuple[Program, str]:
        with without_notes():
            run = SingleRun(make, arguments, implementation, **options)
        return Program(run, num_checkpoints, replan_late, platform), identity.of_program(run.examples())

    return key, *remember(key, trace)


def _names(program: Program, arguments: PyTree, root: Key) -> list[str]:
    """Names of the arrays of finished runs."""
    carry = jax.eval_shape(program.start, arguments, root, jax.ShapeDtypeStruct((sizes.LANES_LEAST,), jnp.int32))
    report = jax.eval_shape(program.finish, arguments, carry)
    return ["regret", "outcome", *(name for name in report if name not in JUDGED)]


def _code(
    key: Any,
    program: Program,
    arguments: PyTree,
    root: Key,
    num_checkpoints: int,
    devices: Sequence[Device],
    lanes: int,
) -> Code:
    def construct() -> Code:
        chosen: Any = program
        if len(devices) > 1 or devices[0] != jax.local_devices()[0]:
            chosen = sharded(program, arguments, root, lanes, devices)
        runs = jax.ShapeDtypeStruct((lanes,), jnp.int32)
        carry = jax.eval_shape(chosen.start, arguments, root, runs)
        last = jax.ShapeDtypeStruct((), jnp.int32)
        checkpoints = jax.ShapeDtypeStruct((num_checkpoints,), jnp.int32)
        return Code(
            start=compile_program(chosen.start, devices[0], arguments, root, runs),
            advance=compile_program(
                chosen.advance,
                devices[0],
                arguments,
                carry,
                last,
                checkpoints,
                donate=(1,),
                whole=program.run.whole_loops,
                searches=True,
            ),
            finish=compile_program(chosen.finish, devices[0], arguments, carry),
            carry=jax.tree.structure(carry),
            varies=tuple(jax.tree.leaves(program.varying)),
            lanes=lanes,
        )

    return remember((*key, lanes, tuple(devices)), construct)
