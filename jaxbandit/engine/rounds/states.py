"""What results keep of each run, in particular last states, as arrays by name."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp

from jaxbandit.base.contract import Algorithm
from jaxbandit.engine.rounds.metrics import is_curve
from jaxbandit.engine.rounds.step import called
from jaxbandit.support.types import Array, PyTree

STATE = "state/"  # before the name of an entry of the last state in the name of an array of results


Keep = Sequence[Literal["runs", "states"] | Callable[[PyTree], PyTree]]


class Kept(NamedTuple):
    """What is kept of each run besides its outcome and the means over all runs."""

    runs: bool  # its regret, pulls and recommendation
    state: Callable[[PyTree], PyTree] | None  # of its last state


def kept_of(keep: Keep) -> Kept:
    """Return what is kept of each run; raise ValueError for another argument."""
    several = isinstance(keep, list | tuple)
    states = [x if callable(x) else {"states": _whole}.get(x) for x in keep if x != "runs"] if several else [None]
    if len(states) > 1 or None in states:
        raise ValueError(f'keep = {keep!r}, must list at most "runs", and "states" or a function of a state')
    return Kept("runs" in keep, states[0] if states else None)


def _whole(state: PyTree) -> PyTree:
    return state


def is_state(name: str) -> bool:
    """Whether an array of results is an entry of the last states, [runs, ...]."""
    return name.startswith(STATE)


def is_per_run(name: str) -> bool:
    """Whether an array of results is one of these two kinds, with a row for each run."""
    return is_curve(name) or is_state(name)


def kept(tree: PyTree) -> dict[str, Array]:
    """Return the leaves of what is kept of a state by the names of arrays of results; keys as their words."""
    names = jax.tree.leaves(_names(tree))
    return {name: _data(leaf) for name, leaf in zip(names, jax.tree.leaves(tree), strict=True)}


def named_states(algorithm: Algorithm, keep: Callable[[PyTree], PyTree] | None, precision: str) -> tuple[int, PyTree]:
    """Return how many bytes are kept of each run's last state, and the tree of the names of its arrays, or None."""
    if keep is None:
        return 0, None
    with jax.enable_x64(precision == "float64"):
        key = jax.eval_shape(lambda: jax.random.key(0))
        tree = jax.eval_shape(lambda key: keep(called("algorithm.init", algorithm.init, key)), key)
        data = jax.tree.leaves(jax.eval_shape(kept, tree))
    return sum(x.size * x.dtype.itemsize for x in data), _names(tree)


def _names(tree: PyTree) -> PyTree:
    """The tree with the names of the arrays of its leaves."""

    def name(path: tuple, leaf: Any) -> str:
        return STATE + (jax.tree_util.keystr(path, simple=True, separator="/") or "value")

    return jax.tree_util.tree_map_with_path(name, tree)


def _data(leaf: Array) -> Array:
    leaf = jnp.asarray(leaf)
    return jax.random.key_data(leaf) if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key) else leaf
