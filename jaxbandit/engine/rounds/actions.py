"""Checks that an algorithm chooses the actions that an environment takes, and how many arms an action pulls."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.base.contract import Algorithm, Arms, Environment
from jaxbandit.support.types import PyTree

EXAMPLE = "jax.ShapeDtypeStruct((2,), jnp.int32)"


def check_declared(algorithm: Algorithm, environment: Environment) -> None:
    """Raise a one-line error if the actions that the two declare differ, or if a declaration contradicts itself."""
    mine, theirs = algorithm.arms, environment.arms
    one, other = algorithm.name or "the algorithm", environment.name or "the environment"
    for name, arms in ((one, mine), (other, theirs)):
        if reason := contradiction(arms):
            raise ValueError(f"{name}: {reason}")
    if mine is None or theirs is None or (mine.action is None and theirs.action is None):
        return
    if mine.action is None or theirs.action is None or _kind(mine.action) != _kind(theirs.action):
        raise ValueError(f"{one} chooses {described(mine)}, {other} takes {described(theirs)}: must be equal")
    if theirs.ordered and not mine.ordered:
        raise ValueError(
            f"{one} may choose an arm twice in {described(mine)}, {other} takes lists of different arms: declare "
            "Arms(.., ordered=True) if it never does"
        )


def contradiction(arms: Arms | None) -> str:
    """Return why the declaration of an action makes no sense, or ""."""
    if arms is None or arms.action is None:
        return "Arms(ordered=True) without an action, must declare action = int32[k]" if arms and arms.ordered else ""
    wrong = [x for x in jax.tree.leaves(arms.action) if not (hasattr(x, "shape") and hasattr(x, "dtype"))]
    if wrong or not jax.tree.leaves(arms.action):
        got = f"{wrong[0]!r:.40}" if wrong else "nothing"
        return f"Arms.action holds {got}, must be a tree of shapes and dtypes, such as {EXAMPLE}"
    if arms.set_size is not None or arms.members:
        return f"Arms declares sets of arms and an action {described(arms)}, must be one of the two"
    if arms.ordered and not (is_list(arms) and arms.action.shape[0] <= arms.num_arms):
        allowed = f"must be int32[k] with k at most num_arms = {arms.num_arms}"
        return f"Arms(ordered=True) with an action {described(arms)}, {allowed}"
    return ""


def check_selected(algorithm: Algorithm, environment: Environment, action: PyTree) -> None:
    """Raise a one-line error if what `select` returns is not what the algorithm or the environment declares."""
    one, other = algorithm.name or "the algorithm", environment.name or "the environment"
    for arms, whose in ((algorithm.arms, "its Arms declare"), (environment.arms, f"{other} takes")):
        if reason := misfit(arms, action):
            raise ValueError(f"{one}: select returns {reason}, {whose} {described(arms)}: must be equal")


def misfit(arms: Arms | None, action: PyTree) -> str:
    """Return the type of an action if it is not the declared one, or ""; a float may have any precision."""
    if arms is None or arms.set_size is not None:
        return ""
    if arms.action is not None:
        return "" if _kind(action) == _kind(arms.action) else named(action)
    return "" if hasattr(action, "dtype") and action.shape == () and _is(action, jnp.integer) else named(action)


def is_list(arms: Arms | None) -> bool:
    """Whether an action is declared as int32[n], arms that are pulled together or in this order."""
    action = None if arms is None else arms.action
    return action is not None and hasattr(action, "dtype") and len(action.shape) == 1 and _is(action, jnp.integer)


def pulls_of_a_round(arms: Arms | None) -> tuple[int, ...]:
    """The numbers of pulls that a round may count; none if nothing is known of them."""
    if arms is None or arms.action is None:
        return (1,) if arms is None or arms.set_size is None else (1, arms.set_size)
    return (arms.action.shape[0],) if is_list(arms) and arms.num_arms else ()


def described(arms: Arms | None) -> str:
    """Return what an action is, such as "an arm, int32[]" or "int32[2]"."""
    if arms is None or arms.action is None:
        return "an arm, int32[]" if arms is None or arms.set_size is None else f"a set of arms, bool[{arms.num_arms}]"
    return named(arms.action)


def named(tree: PyTree) -> str:
    """Return the types of a tree in short, such as "int32[2]" or "(int32[], float[3])"."""
    names = jax.tree.map(lambda x: _Name(f"{_type(x)}[{', '.join(map(str, x.shape))}]"), tree)
    return repr(names)


class _Name(str):
    """A name that is shown without quotation marks within a tree."""

    __slots__ = ()
    __repr__ = str.__str__


def _kind(tree: PyTree) -> Any:
    """What of a tree is compared: its structure, its shapes, and its dtypes, where every float is the same."""
    return jax.tree.structure(tree), [(tuple(x.shape), _type(x)) for x in jax.tree.leaves(tree)]


def _type(x: Any) -> str:
    return "float" if _is(x, jnp.floating) else str(np.dtype(x.dtype))


def _is(x: Any, kind: Any) -> bool:
    return jnp.issubdtype(x.dtype, kind)
