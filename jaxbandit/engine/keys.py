"""Where every random number of a run comes from: (seed, run, purpose, round), and nothing else.

`fold_in(key(seed), run)` is the run's key; two keys are drawn from it, one a purpose; adding t to the last word of a
purpose's key gives round t's key (t = 0 is init). Threefry is a counter-based generator whose keys need not be random
themselves (Salmon et al. 2011), so this costs an addition where a fold_in would cost a block of Threefry a run and
round. A number therefore does not depend on batch size, chunk, lane, order, device or resume.
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxbandit import checks
from jaxbandit.types import Array, Key

IMPLEMENTATIONS = ("threefry4x32", "threefry2x32")
OF_PULLS = "threefry2x32"  # of keys handed out, to train with: their data are two words, as users of JAX expect


def root_key(seed: int, implementation: str = "threefry4x32") -> Key:
    """Key of an experiment. `rbg` kinds are refused: under vmap a lane's numbers would depend on its batch."""
    seed = checks.integer("simulate", "seed", seed, 0, 2**32 - 1)
    checks.choice("simulate", "implementation", implementation, IMPLEMENTATIONS)
    return jax.random.key(seed, impl=implementation)


def run_keys(root: Key, runs: Array) -> tuple[Array, Array]:
    """Environment's and algorithm's key words, uint32[words, len(runs)] each, of the runs numbered `runs`."""
    # A GPU's compiler would compute them anew, a running count perhaps, for each of the hundred uses in a key.
    barrier = lax.optimization_barrier
    runs = lax.platform_dependent(runs, cuda=barrier, rocm=barrier, default=lambda runs: runs)
    return jax.vmap(lambda run: run_words(jax.random.fold_in(root, run)), 0, -1)(runs)


def run_words(key: Key) -> tuple[Array, Array]:
    """Environment's and algorithm's key words, uint32[words] each, of a run's key."""
    words = jax.random.key_data(key).shape[-1]
    # Bits, not a split: XLA's CPU compiler recomputes the blocks of keys that it has to store without end.
    drawn = jax.random.bits(key, (2 * words,), jnp.uint32)
    return drawn[:words], drawn[words:]


def round_key(words: Array, round: Array, implementation: str) -> Key:
    """Key of one run's round, from its purpose's key words, uint32[words]."""
    data = jnp.concatenate([words[:-1], words[-1:] + round.astype(jnp.uint32)])
    return jax.random.wrap_key_data(data, impl=implementation)


def pull_keys(seed: int, run: int, index: np.ndarray, arms: np.ndarray, shared: bool) -> Key:
    """Keys of a session's pulls, typed keys [n]; `shared`: the arm does not matter."""
    size = len(index)
    wide = 1 << max(size - 1, 0).bit_length()  # few sizes, so few compilations
    padded = (np.resize(x, wide).astype(np.uint32) if size else np.zeros(wide, np.uint32) for x in (index, arms))
    data: Any = np.asarray(_pull_words(np.uint32(seed), np.uint32(run), *padded, shared=shared))[:size]
    return jax.random.wrap_key_data(data, impl=OF_PULLS)


@partial(jax.jit, static_argnames="shared")
def _pull_words(seed: Array, run: Array, index: Array, arms: Array, *, shared: bool) -> Array:
    root = jax.random.key(seed, impl=OF_PULLS)
    # No index of a pull is as large, so that another run's root is no pull's key.
    other = jax.random.fold_in(jax.random.fold_in(root, jnp.uint32(2**32 - 1)), run)
    first, other = jax.random.key_data(root), jax.random.key_data(other)
    root = jax.random.wrap_key_data(jnp.where(run == 0, first, other), impl=OF_PULLS)

    def key(index: Array, arm: Array) -> Key:
        own = jax.random.fold_in(root, index)
        return jax.random.key_data(own if shared else jax.random.fold_in(own, arm))

    return jax.vmap(key)(index, arms)
