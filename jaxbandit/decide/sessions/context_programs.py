"""What a rule chooses in several contexts, and with which probability, on the host's CPU, in float64."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.base.contract import action_of
from jaxbandit.decide.sessions.asks import stack, unstack
from jaxbandit.decide.sessions.forms import form_of
from jaxbandit.decide.sessions.rule_programs import IMPLEMENTATION, RulePrograms
from jaxbandit.engine.rounds import keys
from jaxbandit.support.types import Array, PyTree

MOST_AT_ONCE = 1024  # contexts that are decided together
MOST_DRAWN = 2**17  # draws of several contexts that are made together


def select_each(
    programs: RulePrograms, words: np.ndarray, round: int, state: PyTree, contexts: Sequence[PyTree]
) -> list[Any]:
    """What `select` returns in one state for each of several contexts, in a round of its own, from `round` on."""
    n = len(contexts)
    if n == 1:
        return [jax.tree.map(np.array, programs.select(words, round, state, contexts[0]))]  # without JAX's buffers
    each = jax.vmap(programs.selected, (None, 0, None, 0))
    choices, together = [], stack(contexts)
    for rows, size in _padded(n, MOST_AT_ONCE):
        given = words, (round + rows).astype(np.int32), state, _at(together, rows)
        with programs.scope():
            found = jax.tree.map(np.asarray, programs.call(("each", form_of(given[-1])), each, *given))
        choices += unstack(found, size)
    return choices


def shares(
    programs: RulePrograms,
    run: tuple[int, int],
    ids: np.ndarray,
    state: PyTree,
    rows: tuple[PyTree, PyTree],
    draws: int,
) -> np.ndarray:
    """How many of so many fresh draws of the rule, in one state, are the action of each ask, int[n].

    `run` is the seed and the run of the session, `state` that in which the asks were decided, and `rows` are their
    contexts and their choices.
    """

    def share(words: Array, id_: Array, state: PyTree, context: PyTree, choice: PyTree) -> Array:
        def equal(i: Array) -> Array:
            own = words.at[0].add(i.astype(jnp.uint32))  # as good a key as a fold_in, and compiled sooner
            drawn = action_of(programs.selected(own, id_, state, context))
            return jnp.all(drawn == action_of(choice))

        return jnp.sum(jax.vmap(equal)(jnp.arange(draws)))

    found, each = [], jax.vmap(share, (None, 0, None, 0, 0))
    own = _other_words(programs, run)
    for at, size in _padded(len(ids), max(MOST_DRAWN // draws, 1)):
        some = _at(rows, at)
        given = own, ids[at].astype(np.int32), state, *some
        with programs.scope():
            found.append(np.asarray(programs.call(("shares", draws, form_of(some)), each, *given))[:size])
    return np.concatenate(found)


def fresh_draws(
    programs: RulePrograms, run: tuple[int, int], round: int, state: PyTree, context: PyTree, draws: int
) -> np.ndarray:
    """The arms of so many fresh draws of the rule in one state and context, int[draws]."""

    def chunk(words: Array, first: Array, round: Array, state: PyTree, context: PyTree) -> Array:
        def arm(i: Array) -> Array:
            own = words.at[0].add((first + i).astype(jnp.uint32))
            return action_of(programs.selected(own, round, state, context))

        return jax.vmap(arm)(jnp.arange(MOST_AT_ONCE))

    words, found = _other_words(programs, run), []
    for first in range(0, draws, MOST_AT_ONCE):
        with programs.scope():
            given = words, np.int64(first), np.int32(round), state, context
            found.append(np.asarray(programs.call(("draws", form_of(context)), chunk, *given)))
    return np.concatenate(found)[:draws]


def _other_words(programs: RulePrograms, run: tuple[int, int]) -> np.ndarray:
    """Key words of the run's environment, which a session has not."""

    def words(seed: Array, run: Array) -> Array:
        return keys.run_words(jax.random.fold_in(jax.random.key(seed, impl=IMPLEMENTATION), run))[0]

    with programs.scope():
        return np.asarray(programs.call("words", words, np.uint32(run[0]), np.int32(run[1])))


def _padded(n: int, most: int) -> list[tuple[np.ndarray, int]]:
    """Positions 0 to n - 1 in parts, each padded to a power of two so that there are few compilations, and its size."""
    starts = range(0, n, most)
    sizes = [min(most, n - start) for start in starts]
    return [
        (start + np.minimum(np.arange(1 << (size - 1).bit_length()), size - 1), size)
        for start, size in zip(starts, sizes, strict=True)
    ]


def _at(rows: PyTree, at: Any) -> PyTree:
    return jax.tree.map(lambda x: np.asarray(x)[at], rows)
