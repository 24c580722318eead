"""One round, or one batch of pulls, of a single run, as used by the engine, `rollout` and `run_until_stop`."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.base.batches import SetPulls
from jaxbandit.base.contract import Algorithm, Environment, action_of
from jaxbandit.engine.rounds import keys
from jaxbandit.support.numerics import argmax, as_float
from jaxbandit.support.types import Array, PyTree

NEVER_NONE = "algorithm.select", "algorithm.pulls", "environment.reward", "environment.regret"
Words = tuple[Array, Array]  # key words of the environment and of the algorithm, uint32[words] each


class Played(NamedTuple):
    """The results of one round."""

    world: PyTree
    state: PyTree
    context: PyTree
    action: PyTree
    choice: PyTree  # what `select` returned: the action, or a Choice with it
    feedback: PyTree
    regret: Array | None  # float[], None if the environment does not define it


def called(name: str, function: Callable, *arguments: PyTree) -> PyTree:
    """Return function(*arguments); an error inside it becomes a one-line ContractError that names the function."""
    try:
        found = function(*arguments)
    except (TypeError, ValueError, IndexError, AttributeError, jax.errors.JAXTypeError) as error:
        if isinstance(error, ContractError):
            raise
        shapes = ", ".join(_shape(x) for x in arguments)
        reason = (str(error) or type(error).__name__).strip().splitlines()[0]
        raise ContractError(f"{name} fails on ({shapes}): {type(error).__name__}: {reason}") from error
    if found is None and name in NEVER_NONE:
        raise ContractError(f"{name} returns None; is a return statement missing?")
    return found


class ContractError(ValueError):
    """An algorithm or environment violates its contract; the one-line message names the function."""


def same_state(name: str, kind: str, before: PyTree, after: PyTree) -> None:
    """Raise a ContractError if a function changes a state's structure, shapes or dtypes, which a loop cannot carry."""
    if after is None and before is not None:
        raise ContractError(f"{name} returns None, must return the next {kind}; is a return statement missing?")
    if jax.tree.structure(before) != jax.tree.structure(after):
        raise ContractError(
            f"{name} returns a {kind} of structure {jax.tree.structure(after)}, but init returns "
            f"{jax.tree.structure(before)}: both must be the same NamedTuple"
        )
    for (path, old), new in zip(jax.tree_util.tree_leaves_with_path(before), jax.tree.leaves(after), strict=True):
        if (old.shape, old.dtype) != (new.shape, new.dtype):
            raise ContractError(
                f"{name} changes {kind}{jax.tree_util.keystr(path)} from {old.dtype}{list(old.shape)} to "
                f"{new.dtype}{list(new.shape)}: shapes and dtypes must not change"
            )


@contextlib.contextmanager
def without_notes() -> Iterator[None]:
    """Replace a ContractError by a new one, because JAX attaches notes of several lines to one that passes through."""
    try:
        yield
    except ContractError as error:
        raise ContractError(str(error)) from error.__cause__


def _shape(x: PyTree) -> str:
    """A short description of an argument: float32[9], None, or the name of the state's type."""
    leaves = jax.tree.leaves(x)
    if len(leaves) == 1 and not isinstance(x, tuple):
        return f"{jnp.result_type(leaves[0])}{list(jnp.shape(leaves[0]))}"
    return "None" if x is None else type(x).__name__


def begin(algorithm: Algorithm, environment: Environment, words: Words, implementation: str) -> tuple[PyTree, PyTree]:
    """States of the environment and of the algorithm before the first round."""
    first, second = (keys.round_key(w, jnp.uint32(0), implementation) for w in words)
    return called("environment.init", environment.init, first), called("algorithm.init", algorithm.init, second)


def draw(
    algorithm: Algorithm, environment: Environment, words: Words, round: Array, implementation: str
) -> tuple[PyTree, PyTree]:
    """All randomness of one round, of the environment and of the algorithm."""
    first, second = (keys.round_key(w, round, implementation) for w in words)
    return called("environment.noise", environment.noise, first), called("algorithm.noise", algorithm.noise, second)


def play(
    algorithm: Algorithm, environment: Environment, world: PyTree, state: PyTree, noise: tuple[PyTree, PyTree]
) -> Played:
    """Play one round."""
    context = called("environment.observe", environment.observe, world, noise[0])
    selected = called("algorithm.select", algorithm.select, noise[1], state, context)
    action = action_of(selected)
    met = (world, context, action)
    feedback = called("environment.reward", environment.reward, *met, noise[0])
    after = called("algorithm.update", algorithm.update, state, context, selected, feedback)
    regret = None if environment.regret is None else called("environment.regret", environment.regret, *met)
    if environment.transition is not None:
        world = called("environment.transition", environment.transition, *met, noise[0])
    return Played(world, after, context, action, selected, feedback, regret)


def is_over(environment: Environment, world: PyTree) -> Array | None:
    """Whether the run is over before a round, bool[]; None if runs of this environment end at the horizon only."""
    if environment.over is None:
        return None
    over = jnp.asarray(called("environment.over", environment.over, world))
    if (over.shape, over.dtype) != ((), jnp.bool_):
        raise ContractError(f"environment.over returns {over.dtype}{list(over.shape)}, must return bool[]")
    return over


def unless(over: Array | None, after: PyTree, before: PyTree) -> PyTree:
    """What a round leads to: `before`, if the run was over, so that the round counts nothing."""
    return after if over is None else jax.tree.map(lambda new, old: jnp.where(over, old, new), after, before)


def draw_batch(environment: Environment, words: Words, step: Array, implementation: str) -> PyTree:
    """All randomness of one batch of pulls."""
    law: Any = environment.batch
    return called("environment.batch.noise", law.noise, keys.round_key(words[0], step, implementation))


def play_batch(
    algorithm: Algorithm, environment: Environment, world: PyTree, state: PyTree, noise: PyTree
) -> tuple[PyTree, Array, Array]:
    """Play one batch; return the next state, the reward sums, and the number of pulls, int[], -1 if it is too large."""
    rule: Any = algorithm.batch
    law: Any = environment.batch
    pulls = called("algorithm.batch.plan", rule.plan, state)
    sums = called("environment.batch.sums", law.sums, world, pulls, noise)
    more = (called("environment.batch.squares", law.squares, world, pulls, noise, sums),) if rule.squares else ()
    after = called("algorithm.batch.absorb", rule.absorb, state, pulls, sums, *more)
    return after, sums, _number(pulls.counts if isinstance(pulls, SetPulls) else pulls)


def count_dtype() -> np.dtype:
    """Dtype of the number of pulls in batches: int64 if float64 is enabled, else int32."""
    return jnp.result_type(int)


def _number(counts: Array) -> Array:
    """The sum of the counts, or -1 if a count is negative or the sum is too large to be exact as a float.

    A sum of integers would overflow silently.
    """
    total = jnp.sum(jnp.where(counts < 0, jnp.inf, as_float(counts)))
    exact = total <= 2.0 ** (jnp.finfo(total.dtype).nmant + 1)
    return jnp.where(exact, total, -1).astype(count_dtype())


def plays_batches(algorithm: Algorithm, environment: Environment) -> bool:
    """Whether the steps of a run are batches of pulls, which the algorithm and the environment must both support."""
    rule, law = algorithm.batch, environment.batch
    return rule is not None and law is not None and (law.squares is not None or not rule.squares)


def stops(algorithm: Algorithm, state: PyTree) -> Array:
    """Whether a run stops in this state, bool[]; False for an algorithm that does not stop by itself."""
    return jnp.zeros((), bool) if algorithm.stop is None else called("algorithm.stop", algorithm.stop, state)


def recommends(algorithm: Algorithm) -> bool:
    """Whether something is recommended: where an action is neither an arm nor a set, only what the algorithm says."""
    by_pulls = algorithm.pulls is not None and (algorithm.arms is None or algorithm.arms.action is None)
    return algorithm.recommend is not None or by_pulls


def recommendation(algorithm: Algorithm, state: PyTree) -> PyTree:
    """The algorithm's recommendation: by default the arm pulled most, or the first of them; None without pulls."""
    if algorithm.recommend is not None:
        return called("algorithm.recommend", algorithm.recommend, state)
    pulls: Any = algorithm.pulls
    return argmax(called("algorithm.pulls", pulls, state)) if recommends(algorithm) else None
