"""The random keys of a run, which depend only on (seed, run, purpose, round).

Two keys are drawn from fold_in(key(seed), run), for the environment and for the algorithm. Adding t to the last word of
one gives the key of round t (t = 0 is init): Threefry's keys need not be random (Salmon et al. 2011).

A trap for `noise` functions: XLA's CPU compiler fuses chained Threefry blocks into one loop and, from the third on,
computes each of them again for every use in the next. Draw directly from `fold_in(key, i)`, and keep no array of keys.
"""

from functools import partial
from typing import Any, Literal, get_args

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxbandit.base.arguments import RunSeed
from jaxbandit.base.calls import checked
from jaxbandit.engine.layout.compiled import compile_program, remember
from jaxbandit.support.domains import UINT32
from jaxbandit.support.types import Array, Key

Generator = Literal["threefry4x32", "threefry2x32"]
IMPLEMENTATIONS: tuple[Generator, ...] = get_args(Generator)
OF_PULLS = "threefry2x32"  # generator of the keys for users, whose data are two words, as users of JAX expect


@checked
def root_key(seed: RunSeed, implementation: Generator = "threefry4x32") -> Key:
    """Key of an experiment. `rbg` generators raise an error, because under vmap their numbers depend on the batch."""
    return jax.random.key(seed, impl=implementation)


def compiled_root_key(seed: int, implementation: Generator = "threefry4x32") -> Key:
    """`root_key` from a compiled program, which another process may have kept: JAX takes .2 s for it otherwise."""
    data = np.asarray(jnp.asarray(np.int64(seed)))
    device = jax.local_devices()[0]

    def words(seed: Array) -> Array:
        return jax.random.key_data(jax.random.key(seed, impl=implementation))

    program = remember(("root key", implementation), lambda: compile_program(words, device, data))
    return jax.random.wrap_key_data(program(data), impl=implementation)


def run_keys(root: Key, runs: Array) -> tuple[Array, Array]:
    """Environment's and algorithm's key words, uint32[words, len(runs)] each, of the runs numbered `runs`."""
    # Without the barrier, a GPU's compiler would recompute them, perhaps a cumulative sum, for each of their many uses.
    barrier = lax.optimization_barrier
    runs = lax.platform_dependent(runs, cuda=barrier, rocm=barrier, default=lambda runs: runs)
    return jax.vmap(lambda run: run_words(jax.random.fold_in(root, run)), 0, -1)(runs)


def compiled_run_keys(seed: int, implementation: Generator, runs: np.ndarray) -> tuple[Array, Array]:
    """`run_keys` of a seed, from one program for all rules: XLA takes seconds for what draws behind a draw of them."""
    data, runs, device = np.asarray(jnp.asarray(np.int64(seed))), runs.astype(np.int32), jax.local_devices()[0]

    def words(seed: Array, runs: Array) -> tuple[Array, Array]:
        return run_keys(jax.random.key(seed, impl=implementation), runs)

    program = remember(("run keys", implementation, len(runs)), lambda: compile_program(words, device, data, runs))
    return program(data, runs)


def run_words(key: Key) -> tuple[Array, Array]:
    """Environment's and algorithm's key words, uint32[words] each, of a run's key."""
    words = jax.random.key_data(key).shape[-1]
    # Random bits instead of a split, because XLA's CPU compiler recomputes the blocks of a split again and again.
    drawn = jax.random.bits(key, (2 * words,), jnp.uint32)
    return drawn[:words], drawn[words:]


def round_key(words: Array, round: Array, implementation: str) -> Key:
    """Key of one round of a run, from the key words of the environment or of the algorithm, uint32[words]."""
    data = jnp.concatenate([words[:-1], words[-1:] + round.astype(jnp.uint32)])
    return jax.random.wrap_key_data(data, impl=implementation)


def pull_keys(seed: int, run: int, index: np.ndarray, arms: np.ndarray, shared: bool) -> Key:
    """Keys of a session's pulls, typed keys [n]; if `shared`, they do not depend on the arm."""
    size = len(index)
    wide = 1 << max(size - 1, 0).bit_length()  # only powers of two, so that there are few compilations
    padded = (np.resize(x, wide).astype(np.uint32) if size else np.zeros(wide, np.uint32) for x in (index, arms))
    data: Any = np.asarray(_pull_words(np.uint32(seed), np.uint32(run), *padded, shared=shared))[:size]
    return jax.random.wrap_key_data(data, impl=OF_PULLS)


@partial(jax.jit, static_argnames="shared")
def _pull_words(seed: Array, run: Array, index: Array, arms: Array, *, shared: bool) -> Array:
    root = jax.random.key(seed, impl=OF_PULLS)
    # No pull has an index this large, so the root key of another run never equals the key of a pull.
    other = jax.random.fold_in(jax.random.fold_in(root, jnp.uint32(UINT32)), run)
    first, other = jax.random.key_data(root), jax.random.key_data(other)
    root = jax.random.wrap_key_data(jnp.where(run == 0, first, other), impl=OF_PULLS)

    def key(index: Array, arm: Array) -> Key:
        own = jax.random.fold_in(root, index)
        return jax.random.key_data(own if shared else jax.random.fold_in(own, arm))

    return jax.vmap(key)(index, arms)
