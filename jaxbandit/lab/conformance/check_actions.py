"""Actions of any shape in the checks: those that are played, and what is wrong with one that `select` returns."""

import itertools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.base.contract import Algorithm, Arms
from jaxbandit.engine.rounds.actions import is_list
from jaxbandit.support.types import Array, PyTree

FEW = 64  # so many actions are all played; of more, this many random ones
RANDOM = 8  # random sets of arms


class Judged(NamedTuple):
    """An action of a round with its arms forced into the range, and what was wrong with it."""

    action: PyTree
    outside: Array  # bool[], whether an arm is not in [0, num_arms)
    repeated: Array  # bool[], whether an arm stands twice in an ordered list
    infinite: Array  # bool[], whether a number is not finite


def judged(algorithm: Algorithm, num_arms: int, action: PyTree) -> Judged:
    """Judge the action that an algorithm made for `num_arms` arms has chosen."""
    arms = algorithm.arms if algorithm.arms is not None and shaped(algorithm.arms) else Arms(num_arms)
    counts = arms.action is None or is_list(arms)
    safe = jnp.clip(action, 0, arms.num_arms - 1) if counts and arms.num_arms else action
    floats = [x for x in jax.tree.leaves(action) if jnp.issubdtype(x.dtype, jnp.floating)]
    twice = safe[:, None] == safe[None] if arms.ordered else jnp.zeros((1, 1), bool)
    return Judged(
        safe,
        jnp.any(safe != action) if counts else jnp.zeros((), bool),
        jnp.sum(twice.astype(jnp.int32)) > len(twice),
        jnp.any(jnp.stack([jnp.any(~jnp.isfinite(x)) for x in floats])) if floats else jnp.zeros((), bool),
    )


def pulled(algorithm: Algorithm, num_arms: int, size: int, context: PyTree, action: PyTree) -> Array | None:
    """How often an action pulls each arm (in each context, if there are more counts), int32[size]; None if unknown."""
    if not shaped(algorithm.arms):
        place = action if size == num_arms else num_arms * context + action
        return (jnp.arange(size, dtype=jnp.int32) == place).astype(jnp.int32)
    if not is_list(algorithm.arms):
        return None
    return jnp.sum(jnp.arange(size, dtype=jnp.int32)[:, None] == action[None], 1, dtype=jnp.int32)


def shaped(arms: Arms | None) -> bool:
    """Whether an action is neither an arm nor a set of arms."""
    return arms is not None and arms.action is not None


def played(arms: Arms, seed: int) -> tuple[np.ndarray | None, bool]:
    """Actions of an environment, one a row, and whether these are all; None if a declared shape does not tell them."""
    rng = np.random.default_rng(seed)
    if arms.set_size is not None:
        return np.stack([rng.permutation(arms.num_arms) < arms.set_size for _ in range(RANDOM)]), False
    if arms.action is None:
        return np.arange(arms.num_arms, dtype=np.int32), True
    if not is_list(arms) or not arms.num_arms:
        return None, False
    length, all_arms = arms.action.shape[0], range(arms.num_arms)
    every = itertools.permutations(all_arms, length) if arms.ordered else itertools.product(all_arms, repeat=length)
    rows = list(itertools.islice(every, FEW + 1))
    if whole := len(rows) <= FEW:
        chosen = np.array(rows)
    else:
        chosen = np.stack([rng.choice(arms.num_arms, length, replace=not arms.ordered) for _ in range(FEW)])
    return chosen.astype(arms.action.dtype), whole
