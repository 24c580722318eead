"""The program that plays an algorithm through the rows of a log, many runs side by side, in float64."""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.base.contract import Algorithm, action_of
from jaxbandit.engine.layout import compiling
from jaxbandit.engine.layout.compiled import compile_program, remember
from jaxbandit.engine.rounds import keys
from jaxbandit.engine.rounds.single import same_state
from jaxbandit.engine.rounds.step import called, without_notes
from jaxbandit.running.structures import value_key
from jaxbandit.support.types import Array, PyTree

Order = Literal["shuffle", "bootstrap", "as_is"]
IMPLEMENTATION = "threefry4x32"
WIDE, MOST_BYTES = 64, 2**28  # runs of a program, of which there are fewer if their states are larger than this


class Inputs(NamedTuple):
    """The rows of a log, as a program reads them; every leaf has a leading axis."""

    context: PyTree
    action: Any  # int32[n]
    reward: Any  # float64[n]
    chance: Any  # float64[n], with which a row whose action the algorithm chooses is accepted


class Replayed(NamedTuple):
    """One run so far; all runs, with a leading axis and in NumPy, when they have ended."""

    state: PyTree
    accepted: Any  # int32[]
    rows: Any  # int32[], rows that were looked at
    total: Any  # float64[], sum of the rewards that were accepted
    sums: Any  # float64[C], `total` at the checkpoints that were reached, else NaN
    pulls: Any  # int32[num_arms]


def replayed(
    algorithm: Algorithm, rows: Inputs, num_arms: int, checkpoints: np.ndarray, order: Order, seed: int, num_runs: int
) -> tuple[Replayed, np.ndarray]:
    """Return all runs, as NumPy arrays with a leading axis, and whether the state of each has no NaN.

    The bytes of a run do not depend on how many there are: a program always plays as many side by side.
    """
    n, marks = len(rows.action), np.asarray(checkpoints, np.int32)
    with jax.enable_x64(True):
        root = keys.compiled_root_key(seed, IMPLEMENTATION)
        state = jax.eval_shape(algorithm.init, root)
        size = sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(state)) + 8 * n * (order == "shuffle")
        wide = max(min(WIDE, 1 << max(MOST_BYTES // max(size, 1), 1).bit_length() - 1), 1)
        shapes = tuple((x.shape, str(x.dtype)) for x in jax.tree.leaves(rows))
        form = jax.tree.structure(rows), shapes, num_arms, len(marks), order, wide
        program = remember(
            ("replay", value_key(algorithm), form),
            lambda: _compiled(algorithm, rows, num_arms, marks, order, root, wide),
        )
        parts = []
        for first in range(0, num_runs, wide):
            played = program(root, np.arange(first, first + wide, dtype=np.int32), rows, marks)
            parts.append(jax.tree.map(lambda x: np.asarray(x)[: num_runs - first], played))  # noqa: B023
    return jax.tree.map(lambda *leaves: np.concatenate(leaves), *parts)


def _compiled(
    algorithm: Algorithm, rows: Inputs, num_arms: int, marks: np.ndarray, order: Order, root: Any, wide: int
) -> Callable:
    n = len(rows.action)

    def play(root: Any, runs: Array, rows: Inputs, marks: Array) -> tuple[Replayed, Array]:
        own, drawn = (words.T for words in keys.run_keys(root, runs))
        begun, places = jax.vmap(begin)(own, drawn)

        def goes_on(carry: tuple) -> Array:
            i, runs = carry
            return (i < n) & jnp.any(runs.accepted < marks[-1])

        def step(carry: tuple) -> tuple:
            i, runs = carry
            runs = planned(runs, runs.accepted < marks[-1])
            return i + 1, jax.vmap(look, (None, 0, 0, 0, 0, None, None))(i, runs, places, own, drawn, rows, marks)

        ended: Any = jax.lax.while_loop(goes_on, step, (jnp.int32(0), begun))[1]
        floats = [x for x in jax.tree.leaves(ended.state) if jnp.issubdtype(x.dtype, jnp.floating)]
        sound = [~jnp.any(jnp.isnan(x), axis=tuple(range(1, x.ndim))) for x in floats]
        return ended, jnp.all(jnp.stack([jnp.isfinite(ended.total), *sound]), axis=0)

    def begin(own: Array, drawn: Array) -> tuple[Replayed, Array]:
        """A run before its first row, and the order of its rows."""
        state = called("algorithm.init", algorithm.init, keys.round_key(drawn, jnp.uint32(0), IMPLEMENTATION))
        places = jnp.zeros((), jnp.int32)
        if order == "shuffle":  # not jax.random.permutation, whose splits take minutes to compile
            key = keys.round_key(own, jnp.uint32(0), IMPLEMENTATION)
            places = jnp.argsort(jax.random.bits(key, (n,), jnp.uint64)).astype(jnp.int32)
        nothing, zero = jnp.full(len(marks), jnp.nan), jnp.zeros((), jnp.int32)
        return Replayed(state, zero, zero, jnp.zeros(()), nothing, jnp.zeros(num_arms, jnp.int32)), places

    def planned(runs: Replayed, active: Array) -> Replayed:
        """The runs after the rare work that is due in some of them."""
        replan = algorithm.replan
        if replan is None:
            return runs
        due = jax.vmap(replan.due)(runs.state) & active
        apply = lambda state: _where(due, jax.vmap(replan.apply)(state), state)  # noqa: E731
        return runs._replace(state=jax.lax.cond(jnp.any(due), apply, lambda state: state, runs.state))

    def look(i: Array, run: Replayed, places: Array, own: Array, drawn: Array, rows: Inputs, marks: Array) -> Replayed:
        """A run after one more row, which changes nothing unless it is accepted."""
        key = keys.round_key(own, i + 1, IMPLEMENTATION)
        if order == "bootstrap":
            other = keys.round_key(own.at[0].add(jnp.uint32(1)), i + 1, IMPLEMENTATION)
            at = jnp.minimum(jnp.floor(jax.random.uniform(other) * n).astype(jnp.int32), n - 1)
        else:
            at = places[i] if order == "shuffle" else i
        row = jax.tree.map(lambda x: x[at], rows)
        # The draws are those of the row and not of the round: an action that does not fit is not chosen forever.
        noise = called("algorithm.noise", algorithm.noise, keys.round_key(drawn, i + 1, IMPLEMENTATION))
        choice = called("algorithm.select", algorithm.select, noise, run.state, row.context)
        active = run.accepted < marks[-1]
        taken = (action_of(choice) == row.action) & (jax.random.uniform(key) < row.chance) & active
        after = called("algorithm.update", algorithm.update, run.state, row.context, choice, row.reward)
        same_state("algorithm.update", "state", run.state, after)
        accepted, total = run.accepted + taken.astype(jnp.int32), run.total + jnp.where(taken, row.reward, 0.0)
        return Replayed(
            state=jax.tree.map(lambda new, old: jnp.where(taken, new, old), after, run.state),
            accepted=accepted,
            rows=run.rows + active.astype(jnp.int32),
            total=total,
            sums=jnp.where(taken & (marks == accepted), total, run.sums),
            pulls=run.pulls.at[row.action].add(taken.astype(jnp.int32)),
        )

    with compiling.named(algorithm.name or "the algorithm"), without_notes():
        return compile_program(play, jax.devices()[0], root, np.arange(wide, dtype=np.int32), rows, marks)


def _where(flags: Array, one: PyTree, other: PyTree) -> PyTree:
    """One of two states, for each run."""
    return jax.tree.map(lambda x, y: jnp.where(flags.reshape(-1, *[1] * (x.ndim - 1)), x, y), one, other)
