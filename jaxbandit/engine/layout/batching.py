"""Batching of functions of one run over many runs, with the run axis last and without copies of shared leaves.

A leaf that all runs share is stored once. A function of one run is traced once and replayed on arrays whose last axis
is the run, because `jax.vmap` may move the batch axis to the front inside a function, where a round costs many times
more.

Fast, because they have a rule in `replay.py`: elementwise operations, broadcasts and reductions along the arms; `x[i]`,
also of a list i, and `x.at[i].set(v)` of a vector (`get_at` and `set_at` omit the wrapping of negative indices); a row
of a matrix by `lax.dynamic_index_in_dim(matrix, arm, 0, keepdims=False)`; `argmax`; and whatever all runs share. Slow
are chains of selects unrolled over the arms, sorting, scatters of several entries, and `cond` and `while_loop`. A form
of JAX that `jaxprs.py` cannot read falls back to plain vmap, with a warning.
"""

from collections.abc import Callable
from typing import TypeVar

import jax
import jax.numpy as jnp

from jaxbandit.engine.layout import analysis, jaxprs, work
from jaxbandit.engine.layout.compiled import warn_once
from jaxbandit.engine.layout.replay import RUNS, replay, with_runs
from jaxbandit.support.types import Array, PyTree

T = TypeVar("T")

READING = True  # if False, no program is read, as if its form were unknown; used for comparison


def varying_outputs(function: Callable[..., PyTree], arguments: tuple, varying: tuple) -> PyTree:
    """Return a tree of bools shaped like function(*arguments): True where an output may differ between runs.

    An output that depends on an input marked in `varying` counts as varying.
    """
    traced, shape = jaxprs.trace(function, *arguments)
    structure, marks = jax.tree.structure(shape), jax.tree.leaves(varying)
    flags = _read(lambda: analysis.dependent_outputs(jaxprs.read(traced), marks), lambda: [True] * structure.num_leaves)
    return jax.tree.unflatten(structure, flags)


def changed(function: Callable[..., PyTree], state: PyTree, *arguments: PyTree) -> PyTree:
    """Return a tree of bools like `state`: False where function(state, *arguments) returns a leaf unchanged."""

    def read(program: jaxprs.Program) -> list[bool]:
        return [not same for same in analysis.unchanged_outputs(program)]

    return _like(state, read, True, function, state, *arguments)


def needed(function: Callable[..., PyTree], state: PyTree, *arguments: PyTree) -> PyTree:
    """Return a tree of bools like `state`: False where function(state, *arguments) does not depend on a leaf."""
    return _like(state, analysis.needed_inputs, True, function, state, *arguments)


def keeps_faults(function: Callable[..., PyTree], state: PyTree, feedback: PyTree, *arguments: PyTree) -> PyTree:
    """Return a tree of bools like `state`: True where a leaf of the next state reveals every non-finite feedback.

    Such a leaf of function(state, feedback, *arguments) is not finite if the feedback is not finite, or if the leaf
    was not finite before.
    """
    rewards = [("feedback", i) for i in range(jax.tree.structure(feedback).num_leaves)]
    names = [*range(jax.tree.structure(state).num_leaves), *rewards]

    def read(program: jaxprs.Program) -> list[bool]:
        more = len(program.inputs) - len(names)
        shown = analysis.shown_faults(program, [*(frozenset([x]) for x in names), *[frozenset()] * more])
        return [faults >= {*rewards, i} for i, faults in enumerate(shown)]

    return _like(state, read, False, function, state, feedback, *arguments)


def _like(
    state: PyTree, read: Callable[[jaxprs.Program], list[bool]], unknown: bool, function: Callable, *arguments: PyTree
) -> PyTree:
    """A tree like `state` of the first of the bools that are read off the program of function(*arguments)."""
    traced, _ = jaxprs.trace(function, *arguments)
    structure = jax.tree.structure(state)
    number = structure.num_leaves
    flags = _read(lambda: read(jaxprs.read(traced))[:number], lambda: [unknown] * number)
    return jax.tree.unflatten(structure, flags)


def is_from_boolean(function: Callable[..., Array], *arguments: PyTree) -> bool:
    """Whether function(*arguments) is a conversion of a boolean, and therefore 0 or 1."""
    traced, _ = jaxprs.trace(function, *arguments)
    return _read(lambda: analysis.is_from_boolean(jaxprs.read(traced)), lambda: False)


def operations(function: Callable[..., PyTree], *arguments: PyTree) -> int:
    """Return the number of elementary operations of function(*arguments), as `work.py` counts; 0 if it is unknown."""
    traced, _ = jaxprs.trace(function, *arguments)
    return _read(lambda: work.operations(jaxprs.read(traced)), lambda: 0)


def constant_flags(tree: PyTree, flag: bool) -> PyTree:
    """Return a tree of the same structure with `flag` at every leaf."""
    return jax.tree.map(lambda _: flag, tree)


def either(left: PyTree, right: PyTree) -> PyTree:
    """Return the leafwise disjunction of two trees of bools."""
    return jax.tree.map(lambda a, b: a or b, left, right)


def batch_last(
    function: Callable[..., PyTree], arguments: tuple, varying: tuple, out: PyTree, lanes: int
) -> Callable[..., PyTree]:
    """Return `function` of one run batched over `lanes` runs; leaves that vary have the run axis last.

    The example `arguments` fix shapes and dtypes; `varying` and `out` are trees of bools like the arguments and the
    output. `out` may be False where the output depends on no varying input.
    """
    traced, shape = jaxprs.trace(function, *arguments)
    structure = jax.tree.structure(shape)
    flags = jax.tree.leaves(varying)
    wanted = [out] * structure.num_leaves if isinstance(out, bool) else jax.tree.leaves(out)

    def batched(*inputs: PyTree) -> PyTree:
        leaves = [jnp.asarray(x) for x in jax.tree.leaves(inputs)]

        def alone() -> list:
            """One run: its axes of length one are removed before the function and added after it."""
            own = [x[..., 0] if flag else x for x, flag in zip(leaves, flags, strict=True)]
            outputs, _ = replay(jaxprs.read(traced), own, [False] * len(own), lanes, {})
            return [x[..., None] if w else x for x, w in zip(outputs, wanted, strict=True)]

        def replayed() -> list:
            if lanes == 1:
                return alone()
            outputs, varies = replay(jaxprs.read(traced), leaves, flags, lanes, {})
            assert all(w or not v for v, w in zip(varies, wanted, strict=True)), "a varying output needs its run axis"
            return [with_runs(x, lanes) if w and not v else x for x, v, w in zip(outputs, varies, wanted, strict=True)]

        def mapped() -> list:
            def one(_: Array, *leaves: Array) -> list:
                return jax.tree.leaves(function(*jax.tree.unflatten(jax.tree.structure(inputs), leaves)))

            axes = [RUNS if flag else None for flag in flags]
            return jax.vmap(one, (0, *axes), [RUNS if w else None for w in wanted])(jnp.arange(lanes), *leaves)

        return jax.tree.unflatten(structure, _read(replayed, mapped))

    return batched


def without_splits(function: Callable[..., PyTree], arguments: tuple) -> Callable[..., PyTree]:
    """Return the function with every jax.random.split of one key replaced by fold_in of 0, 1, 2, ...

    With threefry4x32 the keys are the same, but XLA's CPU compiler recomputes the blocks of a split again and again.
    """
    traced, shape = jaxprs.trace(function, *arguments)

    def rewritten(*inputs: PyTree) -> PyTree:
        leaves = jax.tree.leaves(inputs)

        def replayed() -> PyTree:
            outputs, _ = replay(jaxprs.read(traced), leaves, [False] * len(leaves), 0, {})
            return jax.tree.unflatten(jax.tree.structure(shape), outputs)

        return _read(replayed, lambda: function(*inputs))

    return rewritten


def _read(reading: Callable[[], T], plain: Callable[[], T]) -> T:
    """Return reading(), or plain() and issue a warning if the form of the program is unknown."""
    if not READING:
        return plain()
    try:
        return reading()
    except jaxprs.UnknownForm as error:
        warn_once(
            f"a program is written in a form that this version does not know (JAX {jax.__version__}; {error}): its "
            "runs are batched by jax.vmap, which is slower, with the same results up to rounding"
        )
        return plain()
