"""Checks that an algorithm takes the context that an environment gives, and uses it."""

import jax
import jax.numpy as jnp

from jaxbandit.base.contract import Algorithm, Environment, Offer, no_observation
from jaxbandit.engine.layout import batching
from jaxbandit.engine.rounds import keys
from jaxbandit.engine.rounds import step as rounds
from jaxbandit.engine.rounds.step import ContractError
from jaxbandit.support.types import Key, PyTree

FITTING = {1: "lin_ucb_disjoint", 2: "lin_ucb_shared"}  # a rule for a float context with so many axes, as advice
KIND = keys.IMPLEMENTATIONS[0]  # any generator: only shapes and dependences are traced


def check_declared(algorithm: Algorithm, environment: Environment) -> None:
    """Raise a one-line error if both sides declare their contexts, and these differ."""
    mine, theirs = algorithm.arms, environment.arms
    if mine is None or theirs is None:
        return
    one, other = algorithm.name or "the algorithm", environment.name or "the environment"
    if mine.context is not None and mine.context != theirs.context:
        if theirs.context is None:
            gives = "none" if theirs.num_contexts is None else f"an index below {theirs.num_contexts}"
            raise ValueError(f"{one} needs a context {_floats(mine.context)} in every round, {other} gives {gives}")
        raise ValueError(
            f"{one} is made for a context {_said(mine.context)}, {other} gives {_said(theirs.context)}"
            f"{_advice(mine.context, theirs.context)}"
        )
    if mine.num_contexts is not None and mine.num_contexts != theirs.num_contexts:
        if theirs.context is not None:
            raise ValueError(
                f"{one} needs an index below {mine.num_contexts} in every round, the number of a known action set, "
                f"{other} gives {_floats(theirs.context)}{_advice(None, theirs.context)}"
            )
        rest = "no contexts" if theirs.num_contexts is None else f"{theirs.num_contexts} contexts"
        raise ValueError(f"{one} is made for {mine.num_contexts} contexts, {other} has {rest}: must be equal")
    if mine.available and not theirs.available:
        raise ValueError(f"{one} needs an Offer with the available arms in every round, {other} gives none")


def check_observed(algorithm: Algorithm, environment: Environment, context: PyTree) -> None:
    """Raise a ContractError if the context that was traced is not what the environment, or the algorithm, declares."""
    other, theirs, mine = environment.name or "the environment", environment.arms, algorithm.arms
    floats = context.features if isinstance(context, Offer) else context
    if mistake := misdeclared(environment, context):
        raise ContractError(f"{other}: {mistake}")
    shape = None if theirs is not None or mine is None else mine.context
    if shape is not None and not _matches(floats, jnp.floating, shape):
        one, wanted = algorithm.name or "the algorithm", _floats(shape)
        raise ContractError(f"{one} needs a context {wanted} in every round, {other} gives {_described(context)}")


def misdeclared(environment: Environment, context: PyTree) -> str:
    """Return how the context that was traced differs from what the environment declares, in words; "" if it does not.

    Indices and contexts of other kinds need no declaration.
    """
    theirs = environment.arms
    if theirs is None or (theirs.context is None and not theirs.available):
        return ""
    offered = isinstance(context, Offer)
    right = offered == theirs.available
    right &= not offered or _matches(context.available, bool, (theirs.num_arms,))
    if theirs.context is not None:
        right &= _matches(context.features if offered else context, jnp.floating, theirs.context)
    if right:
        return ""
    without = "None" if theirs.num_contexts is None else "int32[]"
    wanted = without if theirs.context is None else _floats(theirs.context)
    wanted = f"Offer(bool[{theirs.num_arms}], {wanted})" if theirs.available else wanted
    declared = f"context {theirs.context}" if not theirs.available else f"available, context {theirs.context}"
    return f"observe returns {_described(context)}, Arms declares {declared}: must be {wanted}"


def check_used(algorithm: Algorithm, environment: Environment, any_context: bool) -> bool:
    """Return whether `select` ignores the context; raise a one-line error if it does, unless `any_context` is set."""
    reason = ignored(algorithm, environment)
    if reason and not any_context:
        raise ValueError(f'{reason}; allow = ["context"] plays it all the same')
    return bool(reason)


def ignored(algorithm: Algorithm, environment: Environment) -> str:
    """Return what `select` ignores of the context, floats or which arms are available, in words; "" if it uses both.

    The index of a known action set may be ignored.
    """
    if environment.observe is no_observation:
        return ""

    def first(key: Key) -> tuple:
        words = keys.run_words(key)
        world, state = rounds.begin(algorithm, environment, words, KIND)
        noise = rounds.draw(algorithm, environment, words, jnp.int32(1), KIND)
        return rounds.called("environment.observe", environment.observe, world, noise[0]), noise[1], state

    context, noise, state = jax.eval_shape(first, jax.eval_shape(lambda: keys.root_key(0, KIND)))
    offered = isinstance(context, Offer)
    leaves = jax.tree.leaves(context.features if offered else context)
    floats = [x for x in leaves if jnp.issubdtype(x.dtype, jnp.floating)]
    if not offered and not floats:
        return ""
    still = batching.constant_flags((noise, state), False)

    def uses(flags: PyTree) -> bool:
        def select(*given: PyTree) -> PyTree:
            return rounds.called("algorithm.select", algorithm.select, *given)

        return any(jax.tree.leaves(batching.varying_outputs(select, (noise, state, context), (*still, flags))))

    one, other = algorithm.name or "the algorithm", environment.name or "the environment"
    if offered and not uses(batching.constant_flags(context, False)._replace(available=True)):
        return f"{one} ignores which arms are available in {other}: choose a rule that takes an Offer, such as ucb1"
    whole = batching.constant_flags(context, True)
    if floats and not uses(whole._replace(available=False) if offered else whole):
        fitting = FITTING.get(floats[0].ndim) if len(leaves) == 1 else None
        advice = f": choose {fitting}" if fitting else ""
        return f"{one} ignores the context {_described(context.features if offered else context)} of {other}{advice}"
    return ""


def _matches(x: PyTree, kind: type, shape: tuple[int, ...]) -> bool:
    return hasattr(x, "dtype") and jnp.issubdtype(x.dtype, kind) and x.shape == shape


def _floats(shape: tuple[int, ...]) -> str:
    return f"float{list(shape)}"


def _said(shape: tuple[int, ...]) -> str:
    return _floats(shape) + {1: " shared by the arms", 2: ", a row per arm"}.get(len(shape), "")


def _advice(mine: tuple[int, ...] | None, theirs: tuple[int, ...]) -> str:
    """What to choose for a context of another form; nothing if only the sizes differ."""
    fitting = FITTING.get(len(theirs))
    return f": choose {fitting}" if fitting and (mine is None or len(mine) != len(theirs)) else ": must be equal"


def _described(x: PyTree) -> str:
    """The shape and dtype of a context in words: float[8], int32[], Offer(bool[5], None)."""
    if isinstance(x, Offer):
        return f"Offer({_described(x.available)}, {_described(x.features)})"
    leaves = jax.tree.leaves(x)
    if len(leaves) != 1 or isinstance(x, tuple | list | dict):
        return "None" if x is None else f"a tree of {len(leaves)} arrays"
    [leaf] = leaves
    name = "float" if jnp.issubdtype(leaf.dtype, jnp.floating) else str(leaf.dtype)
    return f"{name}{list(leaf.shape)}"
