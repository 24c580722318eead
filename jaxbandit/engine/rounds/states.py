"""The last states of runs, which results keep if they are asked to, as arrays by name."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from jaxbandit.base.contract import Algorithm
from jaxbandit.engine.rounds.metrics import is_curve
from jaxbandit.engine.rounds.step import called
from jaxbandit.support.refusals import refuse
from jaxbandit.support.types import Array, PyTree

STATE = "state/"  # before the name of an entry of the last state in the name of an array of results


def kept_of(where: str, keep_states: bool | Callable[[PyTree], PyTree]) -> Callable[[PyTree], PyTree] | None:
    """Return what is kept of a last state as a function, None if nothing is; raise BadInput for another argument."""
    if not isinstance(keep_states, bool) and not callable(keep_states):
        refuse(where, f": keep_states = {keep_states!r}, must be True, False or a function of a state")
    return keep_states if callable(keep_states) else _whole if keep_states else None


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


def named_states(
    where: str, algorithm: Algorithm, keep_states: bool | Callable[[PyTree], PyTree], precision: str
) -> tuple[int, PyTree]:
    """Return how many bytes are kept of each run's last state, and the tree of the names of its arrays, or None."""
    keep = kept_of(where, keep_states)
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
