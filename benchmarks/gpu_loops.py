"""Rounds of a fixed horizon, timed in the engine's own compiled loop and in loops whose rounds are written out."""

import hashlib
import statistics
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import jaxbandit as jb
from benchmarks import compiled_loops
from jaxbandit.engine.driver.execution import Execution
from jaxbandit.engine.driver.kernel_loop import KernelLoop
from jaxbandit.engine.driver.simulate import simulate_cell
from jaxbandit.engine.driver.tile_loop import ROUND, Carry, TileLoop
from jaxbandit.engine.layout import sizes
from jaxbandit.engine.layout.batching import RUNS, batch_last, without_splits
from jaxbandit.engine.layout.compiled import compile_program, total_memory
from jaxbandit.engine.rounds import keys
from jaxbandit.engine.rounds.single import SingleRun
from jaxbandit.support.types import Array, PyTree

CHECKPOINTS = 100  # of which none is reached while rounds are timed
FIRST = 128  # rounds before the state is compared
MOST = 8192  # rounds
MOST_IN_KERNEL = 1 << 20
CALLS = 3
COMPARED = 64  # runs whose state is compared, the fewest that a tile has
LENGTH = 10_000  # for rules that must know the horizon


def pair(rule: str, num_arms: int) -> Callable[[Any], Any]:
    """Return the function that makes the rule and its environment."""
    make: Any = getattr(jb.algorithms, rule)
    if rule == "lin_ucb":
        dim = 20
        features = np.random.default_rng(0).normal(size=(num_arms, dim))
        features /= np.linalg.norm(features, axis=1, keepdims=True)
        return lambda _: (make(features, horizon=LENGTH), jb.environments.linear(features, np.eye(dim)[0]))
    means: Any = np.linspace(0.1, 0.9, num_arms)
    more: dict[str, Any] = {"horizon": LENGTH, "num_changes": 4, "marks": 32} if rule == "glr_klucb" else {}
    return lambda _: (make(num_arms, **more), jb.environments.bernoulli(means))


def rounds(
    rule: str, num_arms: int, runs: int, seconds: float, unroll: int = 0, kernel: bool = False
) -> dict[str, Any]:
    """Return the time of a round of all runs, with what the compiler says about it.

    With `unroll` = 0 the engine's program is timed. Otherwise it is a loop of known length over the rounds of a block,
    of which every iteration plays `unroll` rounds; with 1 only the known length is different. With `kernel` all rounds
    of a call are one kernel.
    """
    device = jax.local_devices()[0]
    run = SingleRun(pair(rule, num_arms), (), "threefry4x32", any_rewards=True)
    program = (KernelLoop if kernel else TileLoop)(run, CHECKPOINTS, device.platform)
    runs = sizes.tile(device.platform, sizes.memory(device), program.run_bytes, runs, 1, 1, size=runs)
    words = program.words(runs)
    carry: Any = jax.eval_shape(program.start, (), words)
    last, marks = jax.ShapeDtypeStruct((), jnp.int32), jax.ShapeDtypeStruct((CHECKPOINTS,), jnp.int32)
    chosen = written_out(program, unroll) if unroll else program.advance
    whole: dict[str, Any] = {"whole": run.whole_loops, "searches": True}
    begun = time.perf_counter()
    start = compile_program(program.start, device, (), words)
    between = time.perf_counter()
    advance = compile_program(chosen, device, (), carry, last, marks, donate=(1,), **whole)
    ended = time.perf_counter()
    far = jnp.arange(CHECKPOINTS, dtype=jnp.int32) + 2**30
    before = _peak(device)
    carry = start((), keys.run_keys(keys.root_key(0), jnp.arange(runs, dtype=jnp.int32)))
    carry = jax.block_until_ready(advance((), carry, jnp.int32(FIRST), far))
    digest, done, took = state_digest(program, carry), FIRST, []
    number = 64
    most = MOST_IN_KERNEL if kernel else MOST
    while done + number <= most and len(took) < CALLS:
        begin = time.perf_counter()
        carry = jax.block_until_ready(advance((), carry, jnp.int32(done + number), far))
        spent, done = time.perf_counter() - begin, done + number
        if spent >= seconds / CALLS or done + 5 * CALLS * number > most:
            took.append(spent / number)
        else:
            number *= 4
    peak = _peak(device)
    seconds_a_round = statistics.median(took)
    return {
        "runs": runs,
        "rounds_timed": len(took) * number,
        "round_us": seconds_a_round * 1e6,
        "run_steps_per_s": runs / seconds_a_round,
        "compile_s": ended - between,
        "start_compile_s": between - begun,
        **({} if kernel else _said(advance, program.block_steps if unroll else 0, program.unroll)),
        "least_bytes_per_round": runs * _least(program),
        "predicted_bytes": runs * program.run_bytes,
        "compiler_bytes": total_memory(advance),
        # The peak of the process: it belongs to this row if it rose.
        "peak_bytes": peak if peak is not None and peak > (before or 0) else None,
        "state_digest": digest,
    }


def written_out(program: TileLoop, unroll: int) -> Callable[..., Carry]:
    """Return a program that plays whole blocks without checkpoints, `unroll` rounds in an iteration of its loop."""
    run = program.run
    if run.replans:
        raise ValueError("a rule that replans is not written out")

    def advance(arguments: PyTree, carry: Carry, last: Array, checkpoints: Array) -> Carry:
        lanes = carry.words[0].shape[-1]
        flags = (run.shared, run.world_varies, run.state_varies, run.tally_varies)
        example = (run.arguments, run.world, run.state, run.tally, run.noise)
        play = batch_last(run.play, example, (*flags, run.noise_varies), flags[1:], lanes)
        words = (run.arguments, run.words, run.round)
        draw = jax.vmap(without_splits(run.draw, words), (None, RUNS, None), RUNS, axis_size=lanes)

        def block(carry: Carry) -> Carry:
            numbers = carry.round + jnp.arange(program.block_steps, dtype=jnp.int32)
            noise = jax.vmap(lambda t: draw(arguments, carry.words, t))(numbers)

            @jax.named_scope(ROUND)
            def one(inner: tuple, now: PyTree) -> tuple[tuple, None]:
                world, state, tally = inner
                moved, *after = play(arguments, world if run.moves else carry.world, state, tally, now)
                return (moved if run.moves else None, *after), None

            begin = (carry.world if run.moves else None, carry.state, carry.tally)
            (world, state, tally), _ = lax.scan(one, begin, noise, unroll=unroll)
            world = world if run.moves else carry.world
            return carry._replace(round=numbers[-1] + 1, world=world, state=state, tally=tally)

        return lax.while_loop(lambda carry: carry.round <= last, block, carry)

    return advance


def state_digest(program: TileLoop, carry: Carry) -> str:
    """Return a digest of the states of the first runs, which must be the same in every program of a platform."""
    digest = hashlib.sha256()
    varying: Any = program.varying
    own = (carry.world, carry.state, carry.tally), (varying.world, varying.state, varying.tally)
    for leaf, varies in zip(*map(jax.tree.leaves, own), strict=True):
        array = np.asarray(leaf)
        digest.update(np.ascontiguousarray(array[..., :COMPARED] if varies else array).tobytes())
    return digest.hexdigest()[:16]


def call(rule: str, num_arms: int, runs: int, horizon: int, kernel: bool = False) -> dict[str, Any]:
    """Return the time of a whole call with about 100 checkpoints, without its compilation."""
    make, execution = pair(rule, num_arms), Execution(kernel="auto" if kernel else False)
    first = simulate_cell(make, (), horizon=horizon, num_runs=runs, execution=execution)
    again = simulate_cell(make, (), horizon=horizon, num_runs=runs, execution=execution)
    return {
        "runs": runs,
        "horizon_rounds": horizon,
        "call_s": again.run_seconds,
        "run_steps_per_s": again.run_steps / again.run_seconds,
        "compile_s": first.compile_seconds,
        "mean_regret": float(again.mean[-1]),
    }


def _said(compiled: Any, block: int, together: int) -> dict[str, Any]:
    """Return what the text of the compiled program says about a round; nothing if it cannot be read.

    Args:
      compiled: the program.
      block: number of rounds of its inner loop, of which XLA may play several in an iteration; 0 for the engine's own
        program.
      together: number of rounds in an iteration of the engine's own program.
    """
    try:
        found = compiled_loops.read(compiled.as_text())
        rounds = together if not block else block / found.turns if found.turns else None
    except Exception as error:  # a text of another form, or none, costs these figures and not the row
        return {"unread": f"{type(error).__name__}: {error}".splitlines()[0][:100]}
    if rounds is None:
        return {"unread": "the length of its loop is not in its text"}
    return {
        "kernels_per_round": found.kernels / rounds,
        "open_loops": found.open_loops,
        "compiler_bytes_per_round": None if found.bytes is None else found.bytes / rounds,
    }


def _least(program: TileLoop) -> int:
    """Return the bytes that a round of one run cannot avoid to move if states live in memory: read, written, noise."""
    run = program.run
    state = run.bytes((run.state, run.tally), (run.state_varies, run.tally_varies))
    return 2 * state + run.bytes(run.noise, run.noise_varies)


def _peak(device: Any) -> int | None:
    """Return the largest memory in use since the process began; None on a device that does not say it."""
    return (device.memory_stats() or {}).get("peak_bytes_in_use")
