"""Shared parts of check_algorithm: the case, its one-line error messages, and names and types of leaves."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple, NoReturn

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.base.contract import Algorithm, Environment
from jaxbandit.engine.rounds.step import recommends
from jaxbandit.support.numerics import argmax
from jaxbandit.support.types import Array, Key, Numbers, PyTree


class CheckFailed(AssertionError):
    """A property does not hold. The message is one line: algorithm (case): property: contract violation; what to do."""


class Case(NamedTuple):
    """One factory with one number of arms in one precision."""

    name: str
    make: Callable[..., Algorithm]
    num_arms: int
    hyper: list[dict[str, Numbers]]  # values of the traced hyperparameters, the default first
    environment: Callable[[int], Environment] | None
    rounds: int

    @property
    def dtype(self) -> np.dtype:
        """Default floating-point dtype of the current scope."""
        return np.dtype(jnp.result_type(float))

    def num_pulls(self, algorithm: Algorithm, state: PyTree) -> int:
        """Number of counts in `pulls`: num_arms, or num_arms for each of several contexts."""
        if algorithm.arms is not None and algorithm.arms.action is not None:
            return algorithm.arms.num_arms
        if algorithm.pulls is None:
            return self.num_arms
        with explained(self, "pulls"):
            size = jax.eval_shape(algorithm.pulls, state).size
        several = self.environment is not None and size > 0 and size % self.num_arms == 0
        return size if several else self.num_arms

    def line(self, prop: str, message: str) -> str:
        """The one-line message of a failure."""
        return f"{self.name} (num_arms = {self.num_arms}, {self.dtype}): {prop}: {message}"

    def fail(self, prop: str, message: str) -> NoReturn:
        """Raise CheckFailed."""
        raise CheckFailed(self.line(prop, message))


@contextmanager
def explained(case: Case, what: str) -> Iterator[None]:
    """Turn any exception raised while tracing into a one-line CheckFailed."""
    try:
        yield
    except CheckFailed:
        raise
    except Exception as error:
        line = (str(error).strip() or type(error).__name__).splitlines()[0].removesuffix(".")
        prop = "traceable"
        if isinstance(error, jax.errors.ConcretizationTypeError | jax.errors.TracerArrayConversionError):
            remedy = "Python code needs the value of a traced array (if, float(), range()); use jnp.where and jnp"
            if what.startswith("hyperparameter"):
                remedy += ", or make it static (int, bool, Literal) and leave it out of traced"
        elif isinstance(error, jax.errors.UnexpectedTracerError):
            remedy = "a traced value was stored outside the state; put it in the state"
        elif "dtype promotion" in line:
            prop, line = "precision", line.split(" have no available")[0]
            remedy = "dtypes are not promoted silently; cast explicitly, floats with jaxbandit.numerics.as_float"
        else:
            remedy = f"{type(error).__name__} while tracing"
        raise CheckFailed(case.line(prop, f"{what}: {line}; {remedy}")) from error


def make_key(seed: int = 0) -> Key:
    """A key with the random number generator of the engine."""
    return jax.random.key(seed, impl="threefry4x32")


def as_arrays(case: Case, hyper: Mapping[str, Numbers]) -> dict[str, np.ndarray]:
    """The values of the hyperparameters in the current precision."""
    return {name: np.asarray(value, case.dtype) for name, value in hyper.items()}


def describe(leaf: Array) -> str:
    """The type of a leaf, such as int32[3]."""
    shape = ",".join(map(str, leaf.shape))
    return f"{'weak ' if leaf.weak_type else ''}{leaf.dtype}[{shape}]"


def leaves(tree: PyTree, root: str) -> dict[str, Array]:
    """The leaves of a tree by path, where paths begin with `root`."""
    paths = jax.tree_util.tree_leaves_with_path(tree)
    # A Python number is a valid leaf.
    return {root + jax.tree_util.keystr(p): leaf if hasattr(leaf, "dtype") else jnp.asarray(leaf) for p, leaf in paths}


def is_float(leaf: Array) -> bool:
    """Whether the leaf can hold a NaN."""
    return jnp.issubdtype(leaf.dtype, jnp.floating)


def check_floats(case: Case, by_path: Mapping[str, Array]) -> None:
    """Check that floats have the dtype of the scope."""
    for path, leaf in by_path.items():
        if is_float(leaf) and leaf.dtype != case.dtype:
            case.fail("precision", f"{path} is {leaf.dtype}; do not fix the dtype, use jaxbandit.numerics.as_float")


def check_same_types(
    case: Case, before: Mapping[str, Array], after: Mapping[str, Array], first: str, second: str
) -> None:
    """Check that two states have the same tree, shapes and dtypes; `first` and `second` name their origins."""
    if before.keys() != after.keys():
        odd = sorted(before.keys() ^ after.keys())[0]
        case.fail("types", f"{odd} exists in only one of {first} and {second}; return the same tree from both")
    for path, leaf in before.items():
        if describe(leaf) != describe(after[path]):
            was, now = describe(leaf), describe(after[path])
            case.fail("types", f"{path} is {was} from {first}, {now} from {second}; cast so that both are the same")


def flag(case: Case, name: str, function: Callable[[PyTree], Array], state: PyTree, remedy: str) -> Array:
    """Check that `function` returns bool[] for a state, and return its result."""
    with explained(case, name):
        answer = jnp.asarray(function(state))
    if (answer.shape, answer.dtype) != ((), np.bool_):
        case.fail("types", f"{name} returns {describe(answer)}, must be bool[]; {remedy}")
    return answer


def settled(algorithm: Algorithm, state: PyTree) -> PyTree:
    """The state after the new plan, if one is due."""
    replan = algorithm.replan
    if replan is None:
        return state
    # A loop with at most one iteration, because a batched cond would replan every run in every round.
    return jax.lax.while_loop(
        lambda turn: turn[0] & replan.due(turn[1]),
        lambda turn: (~turn[0], replan.apply(turn[1])),
        (jnp.array(True), state),
    )[1]


def waits(algorithm: Algorithm, state: PyTree) -> Array:
    """Whether a new plan is due, bool[]."""
    return jnp.zeros((), bool) if algorithm.replan is None else algorithm.replan.due(state)


def recommended(algorithm: Algorithm, state: PyTree) -> PyTree:
    """The recommendation: by default the arm with the most pulls, and None if the pulls are not known either."""
    if algorithm.recommend is not None:
        return algorithm.recommend(state)
    return argmax(algorithm.pulls(state)) if algorithm.pulls is not None and recommends(algorithm) else None
