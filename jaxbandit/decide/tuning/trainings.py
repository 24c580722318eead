"""Trainings as pytrees, many of which are advanced side by side and can be stopped and resumed bitwise identically.

A program always advances `batch` trainings at once, and the last batch is padded with copies, because XLA rounds
differently in programs of different batch sizes. The first and the last step are arguments of the program, so that one
program serves all rungs. Between rungs, states are kept in the memory of the host.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.engine.layout import compiled
from jaxbandit.engine.rounds import keys
from jaxbandit.engine.storage import identity
from jaxbandit.support.domains import UINT32
from jaxbandit.support.refusals import error_line
from jaxbandit.support.types import Array, ArrayLike, Key, PyTree, Scalar

BATCH = {"cpu": 1}  # a core gains little from several networks at once, and padding costs its full time
BATCH_ELSEWHERE = 64
DRAWS = UINT32  # takes the place of the repeat in keys with which configurations are drawn


class Trainee(NamedTuple):
    """A training that can be stopped and resumed, given by its initial state, one step, and a score.

    All three functions are traced. The state of a training is a pytree of arrays. The functions close over whatever is
    the same for all trainings, such as the data.

    Attributes:
      init: `(key, config) -> state`, the initial state.
      step: `(state, key, config) -> state` with the same structure, shapes and dtypes. Every step has its own key.
      score: `(state, config) -> float[]`, the score of the training so far. It may be computed after any step.
    """

    init: Callable[[Key, PyTree], PyTree]
    step: Callable[[PyTree, Key, PyTree], PyTree]
    score: Callable[[PyTree, PyTree], Scalar]


class Programs(NamedTuple):
    """The compiled functions of a Trainee, each for `batch` trainings at once, with states as plain arrays.

    `who` identifies the trainings by the numbers of their configurations and of their repeats, each uint32[batch].
    """

    init: Callable[..., PyTree]  # (who, configs, root) -> states
    advance: Callable[..., PyTree]  # (states, who, configs, root, begin, end) -> states, steps begin + 1 to end
    score: Callable[..., Array]  # (states, configs) -> float[batch]
    batch: int
    digest: str  # digest of the trainee's functions


def programs(trainee: Trainee, configs: PyTree, batch: int | None) -> Programs:
    """Return the programs of a trainee; programs of earlier calls are reused while they are cached."""
    width = BATCH.get(jax.default_backend(), BATCH_ELSEWHERE) if batch is None else batch
    generators, digest = _judged(trainee, jax.tree.map(lambda column: jnp.asarray(column[0]), configs))
    key = ("trainings", trainee, width, digest)
    return compiled.remember(key, lambda: _programs(trainee, width, generators, digest))


def root(seed: int) -> np.ndarray:
    """Return the words of the root key, from which all keys of the trainings are derived."""
    return np.asarray(jax.random.key_data(jax.random.key(seed, impl=keys.OF_PULLS)))


def _programs(trainee: Trainee, batch: int, generators: Sequence[str | None], digest: str) -> Programs:
    def plain(state: PyTree) -> PyTree:
        leaves, structure = jax.tree.flatten(_strong(state))
        pairs = zip(leaves, generators, strict=True)
        return structure.unflatten([x if name is None else jax.random.key_data(x) for x, name in pairs])

    def typed(state: PyTree) -> PyTree:
        leaves, structure = jax.tree.flatten(state)
        pairs = zip(leaves, generators, strict=True)
        return structure.unflatten([x if name is None else jax.random.wrap_key_data(x, impl=name) for x, name in pairs])

    def init(who: tuple[Array, Array], config: PyTree, root: Array) -> PyTree:
        return plain(trainee.init(jax.random.fold_in(_own_key(root, who), 0), config))

    def advance(
        state: PyTree, who: tuple[Array, Array], config: PyTree, root: Array, begin: Array, end: Array
    ) -> PyTree:
        key = _own_key(root, who)

        def step(t: Array, state: PyTree) -> PyTree:
            return plain(trainee.step(typed(state), jax.random.fold_in(key, t), config))

        return jax.lax.fori_loop(begin + 1, end + 1, step, state)

    return Programs(
        jax.jit(jax.vmap(init, (0, 0, None))),
        jax.jit(jax.vmap(advance, (0, 0, 0, None, None, None))),
        jax.jit(jax.vmap(lambda state, config: trainee.score(typed(state), config))),
        batch,
        digest,
    )


def _own_key(root: Array, who: tuple[Array, Array]) -> Key:
    """The key of a training, fold_in(fold_in(root, repeat), configuration)."""
    config, repeat = who
    return jax.random.fold_in(jax.random.fold_in(jax.random.wrap_key_data(root, impl=keys.OF_PULLS), repeat), config)


def draw_key(seed: int, draw: int) -> Key:
    """Return the key with which a set of configurations is drawn; it differs from the keys of all trainings."""
    return jax.random.fold_in(jax.random.fold_in(jax.random.key(seed, impl=keys.OF_PULLS), DRAWS), draw)


def _judged(trainee: Trainee, config: PyTree) -> tuple[Sequence[str | None], str]:
    """Return the generator of each leaf of the state that holds keys (None for other leaves), and the digest."""
    key, generators = jax.random.key(0, impl=keys.OF_PULLS), []

    def begin() -> PyTree:
        state = _strong(trainee.init(key, config))
        generators[:] = [jax.random.key_impl(x) if _is_key(x) else None for x in jax.tree.leaves(state)]
        return state

    state = called("init", jax.eval_shape, begin)
    after = called("step", jax.eval_shape, lambda s: _strong(trainee.step(s, key, config)), state)
    score = called("score", jax.eval_shape, lambda s: trainee.score(s, config), state)
    if (before := _form(state)) != (now := _form(after)):
        changed = next((f"{a} to {b}" for a, b in zip(before, now, strict=False) if a != b), "in structure")
        raise ValueError(f"step changes the state ({changed}), must keep its structure, shapes and dtypes")
    leaves = jax.tree.leaves(score)
    if len(leaves) != 1 or leaves[0].shape or not jnp.issubdtype(leaves[0].dtype, jnp.floating):
        outputs = ", ".join(f"{leaf.dtype}{list(leaf.shape)}" for leaf in leaves) or "nothing"
        raise ValueError(f"score returns {outputs}, must return one real number, float[]")
    functions = ((trainee.init, (key, config)), (trainee.step, (state, key, config)), (trainee.score, (state, config)))
    return generators, identity.of_program(functions)


def called(what: str, function: Callable, *arguments: PyTree) -> PyTree:
    """Return function(*arguments). Any exception of a user's function becomes a ValueError with a one-line message."""
    try:
        return function(*arguments)
    except (Exception, SystemExit, GeneratorExit) as error:
        raise ValueError(f"{what} fails: {error_line(error)}") from error


def in_batches(function: Callable, batch: int, *trees: PyTree) -> PyTree:
    """Return function(*trees) as NumPy arrays, computed `batch` rows of the leading axis at a time."""
    count = len(jax.tree.leaves(trees)[0])
    parts = []
    for begin in range(0, count, batch):
        rows = np.minimum(np.arange(begin, begin + batch), count - 1)
        part = jax.tree.map(np.asarray, function(*take(trees, rows)))
        parts.append(take(part, np.arange(min(batch, count - begin))))
    return jax.tree.map(lambda *pieces: np.concatenate(pieces), *parts)


def take(tree: PyTree, rows: np.ndarray) -> PyTree:
    """Return these rows of every leaf."""
    return jax.tree.map(lambda leaf: leaf[rows], tree)


def _strong(tree: PyTree) -> PyTree:
    """The same numbers without weak types, because the weak type of a Python number could change from step to step."""

    def own(x: ArrayLike) -> ArrayLike:
        return x if _is_key(x) else jax.lax.convert_element_type(x, jnp.result_type(x))

    return jax.tree.map(own, tree)


def _is_key(x: object) -> bool:
    return jnp.issubdtype(jnp.result_type(x), jax.dtypes.prng_key)


def _form(tree: PyTree) -> list[str]:
    """A short description of every leaf of a state: its path, dtype and shape."""
    flat = jax.tree_util.tree_flatten_with_path(tree)[0]
    return [f"{jax.tree_util.keystr(path) or 'state'} {leaf.dtype}{list(leaf.shape)}" for path, leaf in flat]
