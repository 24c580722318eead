"""Trainings that never end, and a search that used to hang, for processes that tests start and may have to end."""

import sys
import time

import jax
import jax.numpy as jnp
import numpy as np

import jaxbandit as jb
from jaxbandit.decide.tuning import isolated

GRACE = 2.0  # seconds that a search in a process of its own has to end by itself
GRID = [{"a": 1.0}, {"a": 2.0}]


def quick(seed: int, config: dict) -> float:
    """A training that ends."""
    return config["a"] + 0.1 * float(np.random.default_rng(seed).standard_normal())


def hanging(seed: int, config: dict) -> float:
    """A training that never ends for some seeds."""
    while seed % 5 == 0:
        time.sleep(0.01)
    return quick(seed, config)


def endless(key, config):
    """A traced training whose loop never ends."""
    x = jax.random.uniform(key)
    return jax.lax.while_loop(lambda x: x >= 0, lambda x: jnp.abs(jnp.sin(x)) + 1, x) + config["a"]


def orthogonal(key, config):
    """A traced training with two layers whose initial weights are orthogonal."""
    first, second, noise = jax.random.split(key, 3)
    layers = [jax.nn.initializers.orthogonal()(k, (64, 64)) for k in (first, second)]
    return config["a"] * jnp.tanh(layers[0] @ layers[1]).mean() + jax.random.normal(noise)


if __name__ == "__main__":
    began = time.monotonic()
    if sys.argv[1] == "orthogonal":
        for batch in (None, 64):
            result = jb.tune(
                orthogonal, jb.space.grid(a=np.linspace(0, 1, 64)), budget=128, execution=jb.Execution(batch=batch)
            )
            print(len(result.history["id"]))
    elif sys.argv[1] == "endless":
        result = jb.tune(endless, jb.space.grid(a=[1.0, 2.0]), budget=jb.Budget(seconds=1))
        print(result.why, len(result.history["id"]), time.monotonic() - began < 8)
    elif sys.argv[1] == "isolated":
        isolated.GRACE = GRACE
        result = jb.tune(hanging, GRID, budget=jb.Budget(seconds=1), execution=jb.Execution(isolate=True, traced=False))
        print(result.why, result.table["pulls"].sum() > 0, *result.notes, sep="\n")
