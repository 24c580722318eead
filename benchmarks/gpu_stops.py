"""Runs that stop, on lanes, and searches of configurations, as `python -m benchmarks gpu` times them."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import jaxbandit as jb
from benchmarks import compiled_loops, halving
from jaxbandit.engine.driver.execution import Execution
from jaxbandit.engine.driver.programs import Call
from jaxbandit.engine.driver.until_stop import UntilStop
from jaxbandit.engine.layout import sizes
from jaxbandit.engine.layout.compiled import total_memory

ARMS = 9
CLASSES, DIM = 10, 64  # of the drawn images


def cases() -> dict[str, Callable[[Any], Any]]:
    """Return rules that stop, each with its environment."""
    features: Any = np.vstack([np.eye(5), [np.cos(0.1), np.sin(0.1), 0, 0, 0]])
    means: Any = np.linspace(0.1, 0.9, ARMS)
    return {
        "lingape": lambda _: (
            jb.algorithms.lingape(features, delta=0.05, theta_norm=2.0),
            jb.environments.soare(5, 0.1),
        ),
        "kl_lucb": lambda _: (jb.algorithms.kl_lucb(ARMS, delta=0.05), jb.environments.bernoulli(means)),
        "paired_race": lambda _: (
            jb.algorithms.paired_race(ARMS, delta=0.05, epsilon=0.05),
            jb.environments.gaussian(means),
        ),
    }


def lanes(rule: str, runs: int, max_rounds: int, width: int | None = None) -> dict[str, Any]:
    """Return the time of a useful step, and how busy the lanes are; the second of two calls, which compiles nothing."""
    execution = Execution(width=width)
    call = Call(cases()[rule], (), runs, 0, 0, "float64", True, "threefry4x32", execution)
    compiling = UntilStop(call, max_rounds)
    compiling.play(None)
    played = UntilStop(call, max_rounds)
    played.play(None)
    samples = played.arrays["samples"]
    return {
        "runs": runs,
        "max_rounds": max_rounds,
        "compile_s": compiling.compile_seconds,
        "first_call_s": compiling.run_seconds,
        "call_s": played.run_seconds,
        "run_steps": played.run_steps,
        "run_steps_per_s": played.run_steps / played.run_seconds,
        "utilisation": played.run_steps / played.lane_steps,
        "mean_samples": float(samples.mean()),
        "largest_samples": int(samples.max()),
        **_program(played, runs, width),
    }


def _program(played: UntilStop, runs: int, width: int | None) -> dict[str, Any]:
    """Return what is known of the compiled loop; nothing if it has fewer lanes, because more do not fit."""
    device, loop = played.devices[0], played.loop
    memory = sizes.memory(device) // played.workers
    number = sizes.lanes(played.platform, memory, loop.run_bytes, runs, len(played.queues), width)
    with jax.enable_x64(True):
        if not played.is_compiled(number, device):
            return {}
        compiled = played.advance(number, device)
        found = {"lanes": number, "predicted_bytes": number * loop.run_bytes, "compiler_bytes": total_memory(compiled)}
        try:
            step = compiled_loops.read(compiled.as_text())
        except Exception:  # the text is of another form, or there is none
            return found
    return found | {"kernels_per_round": step.kernels, "compiler_bytes_per_round": step.bytes}


@functools.cache
def drawn() -> dict[str, tuple[jax.Array, jax.Array]]:
    """Return images like those of `halving.digits` in number and size: ten clouds that overlap."""
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(CLASSES, DIM))

    def images(count: int) -> tuple[jax.Array, jax.Array]:
        labels = rng.integers(0, CLASSES, count)
        x = 0.5 + 0.15 * centers[labels] + 0.3 * rng.normal(size=(count, DIM))
        return jnp.asarray(x, jnp.float32), jnp.asarray(labels, jnp.int32)

    return {"train": images(1000), "validation": images(397), "test": images(400)}


def tune(networks: int, steps: int) -> dict[str, Any]:
    """Return the time of one training of each configuration of a 64-32-10 network, of `steps` times five SGD steps."""
    trainee = halving.trainee("validation", drawn)

    def train(key: Any, config: Any) -> Any:
        def step(t: Any, state: Any) -> Any:
            return trainee.step(state, jax.random.fold_in(key, t), config)

        return trainee.score(jax.lax.fori_loop(0, steps, step, trainee.init(key, config)), config)

    space = jb.space.random_configs(jax.random.key(1), networks, **halving.SPACE)
    rule = jb.algorithms.uniform_allocation(networks, budget=networks)
    options: dict[str, Any] = {"goal": jb.Goal(on_failure=0.0), "execution": jb.Execution(traced=True, progress=False)}
    first, again = (jb.tune(train, space, rule, **options) for _ in range(2))
    total = again.seconds["total"]
    return {
        "networks": networks,
        "sgd_steps": steps * halving.INNER,
        "first_call_s": first.seconds["total"],
        "call_s": total,
        "trainings_s": again.seconds["trainings"],
        "trainings_per_s": networks / total,
        "best_mean": float(np.nanmax(again.table["mean"])),
    }


def successive_halving(networks: int, most_steps: int, batch: int | None = None) -> dict[str, Any]:
    """Return the time of successive halving from so many networks to one; the default batch is 64 on a GPU."""
    trainee = halving.trainee("validation", drawn)
    space = jb.space.random_configs(jax.random.key(1), networks, **halving.SPACE)
    options: dict[str, Any] = {
        "min_steps": 1,
        "max_steps": most_steps,
        "eta": halving.ETA,
        "execution": jb.Execution(batch=batch),
    }
    first, again = (jb.successive_halving(trainee, space, **options) for _ in range(2))
    return {
        "networks": networks,
        "largest_steps": most_steps,
        "batch": batch,
        "first_call_s": first.seconds["total"],
        "call_s": again.seconds["total"],
        "network_steps_per_s": halving.steps_of(again) / again.seconds["total"],
    }
