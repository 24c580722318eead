"""Where every random number of a run comes from: (seed, run, purpose, round), and nothing else.

`fold_in(key(seed), run)` is the run's key; two keys are drawn from it, one a purpose; adding t to the last word of a
purpose's key gives round t's key (t = 0 is init). Threefry is a counter-based generator whose keys need not be random
themselves (Salmon et al. 2011), so this costs an addition where a fold_in would cost a block of Threefry a run and
round. A number therefore does not depend on batch size, chunk, lane, order, device or resume.
"""

import jax
import jax.numpy as jnp

from jaxbandit import checks
from jaxbandit.types import Array, Key

IMPLEMENTATIONS = ("threefry4x32", "threefry2x32")


def root_key(seed: int, implementation: str = "threefry4x32") -> Key:
    """Key of an experiment. `rbg` kinds are refused: under vmap a lane's numbers would depend on its batch."""
    seed = checks.integer("simulate", "seed", seed, 0, 2**32 - 1)
    checks.choice("simulate", "implementation", implementation, IMPLEMENTATIONS)
    return jax.random.key(seed, impl=implementation)


def run_keys(root: Key, runs: Array) -> tuple[Array, Array]:
    """Environment's and algorithm's key words, uint32[words, len(runs)] each, of the runs numbered `runs`."""
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
