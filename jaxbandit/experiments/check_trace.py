"""The part of check_algorithm that needs no numbers: types, precision, where chance is drawn, purity."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, NoReturn

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jax.extend import core

from jaxbandit.base import Algorithm, Environment
from jaxbandit.types import Array, Key, PyTree


class CheckFailed(AssertionError):
    """A property does not hold; one line: algorithm (case): property: what was seen; what to do."""


class Case(NamedTuple):
    """One factory at one number of arms in one precision."""

    name: str
    make: Callable[..., Algorithm]
    num_arms: int
    hyper: list[dict[str, Any]]  # settings of the traced hyperparameters, the base first
    environment: Callable[[int], Environment] | None
    rounds: int

    @property
    def dtype(self) -> np.dtype:
        """Default float of the current scope."""
        return np.dtype(jnp.result_type(float))

    def line(self, prop: str, message: str) -> str:
        """The one line of a failure."""
        return f"{self.name} (num_arms = {self.num_arms}, {self.dtype}): {prop}: {message}"

    def fail(self, prop: str, message: str) -> NoReturn:
        """Raise CheckFailed."""
        raise CheckFailed(self.line(prop, message))


class _Round(NamedTuple):
    """What the six functions return in one round."""

    state: PyTree
    noise: PyTree
    action: Array
    after: PyTree
    recommendation: PyTree
    stop: Array


@contextmanager
def explained(case: Case, what: str) -> Iterator[None]:
    """Turn whatever tracing raises into one line."""
    try:
        yield
    except CheckFailed:
        raise
    except Exception as error:
        line = (str(error).strip() or type(error).__name__).splitlines()[0].removesuffix(".")
        prop = "traceable"
        if isinstance(error, jax.errors.ConcretizationTypeError | jax.errors.TracerArrayConversionError):
            remedy = "Python asks for the value of something traced (if, float(), range()): use jnp.where and jnp"
            if what.startswith("hyperparameter"):
                remedy += ", or make it static (int, bool, Literal) and leave it out of traced"
        elif isinstance(error, jax.errors.UnexpectedTracerError):
            remedy = "a traced value was kept outside the state: put it in the state"
        elif "dtype promotion" in line:
            prop, line = "precision", line.split(" have no available")[0]
            remedy = "not mixed silently: cast explicitly, floats with jaxbandit.numerics.as_float"
        else:
            remedy = f"{type(error).__name__} while tracing"
        raise CheckFailed(case.line(prop, f"{what}: {line}; {remedy}")) from error


def make_key(seed: int = 0) -> Key:
    """A key of the engine's implementation."""
    return jax.random.key(seed, impl="threefry4x32")


def _context(case: Case, key: Key) -> PyTree:
    if case.environment is None:
        return None
    world = case.environment(case.num_arms)
    return world.observe(world.init(key), world.noise(key))


def _one_round(case: Case, algorithm: Algorithm, key: Key) -> _Round:
    """The first round: each function under its own name should it fail, each result judged before the next sees it."""
    with explained(case, "init"):
        state = algorithm.init(key)
    counts = getattr(state, "counts", None)
    if counts is not None and (counts.shape, counts.dtype) != ((case.num_arms,), np.int32):
        case.fail(
            "types",
            f"state.counts is {_describe(counts)}, must be int32[{case.num_arms}] or have another name",
        )
    with explained(case, "noise"):
        noise = algorithm.noise(key)
    _check_floats(case, _leaves(state, "state") | _leaves(noise, "noise"))
    with explained(case, "the environment"):
        context = _context(case, key)
    with explained(case, "select"):
        action = jnp.asarray(algorithm.select(noise, state, context))
    if (action.shape, action.dtype) != ((), np.int32):
        case.fail("types", f"select returns {_describe(action)}, must be int32[]; add .astype(jnp.int32)")
    with explained(case, "update"):
        after = algorithm.update(state, context, action, jnp.zeros((), case.dtype))
    _check_kept(case, _leaves(state, "state"), _leaves(after, "state"), "init", "update")
    with explained(case, "recommend"):
        recommendation = algorithm.recommend(after)
    _check_floats(case, _leaves(recommendation, "recommendation"))
    with explained(case, "stop"):
        stop = jnp.asarray(algorithm.stop(after))
    if (stop.shape, stop.dtype) != ((), np.bool_):
        case.fail("types", f"stop returns {_describe(stop)}, must be bool[]; never() if it does not stop")
    return _Round(state, noise, action, after, recommendation, stop)


def as_arrays(case: Case, hyper: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Values of the hyperparameters in the current precision."""
    return {name: np.asarray(value, case.dtype) for name, value in hyper.items()}


def _describe(leaf: Any) -> str:
    shape = ",".join(map(str, leaf.shape))
    return f"{'weak ' if leaf.weak_type else ''}{leaf.dtype}[{shape}]"


def _leaves(tree: PyTree, root: str) -> dict[str, Any]:
    paths = jax.tree_util.tree_leaves_with_path(tree)
    # A Python number is a legal leaf.
    return {root + jax.tree_util.keystr(p): leaf if hasattr(leaf, "dtype") else jnp.asarray(leaf) for p, leaf in paths}


def is_float(leaf: Any) -> bool:
    """Whether the leaf can hold a NaN."""
    return jnp.issubdtype(leaf.dtype, jnp.floating)


def check_types(case: Case) -> None:
    """One round traces; what comes out has the right types, the same for numbers as for traced hyperparameters."""

    def first(hyper: dict[str, Any]) -> _Round:
        with explained(case, "the factory"):
            algorithm = case.make(case.num_arms, **case.hyper[0] | hyper)
        if not isinstance(algorithm, Algorithm):
            case.fail("traceable", f"the factory returned {type(algorithm).__name__}; return an Algorithm")
        return _one_round(case, algorithm, make_key())

    before = _leaves(jax.eval_shape(lambda: first({})).state, "state")
    for name, value in as_arrays(case, case.hyper[0]).items():
        with explained(case, f"hyperparameter {name}"):
            try:
                traced = jax.eval_shape(lambda v, name=name: first({name: v}), value)
            except CheckFailed as error:
                raise (error.__cause__ or error) from None
        _check_kept(case, before, _leaves(traced.state, "state"), f"init with {name} = a number", f"{name} traced")


def _check_floats(case: Case, leaves: dict[str, Any]) -> None:
    for path, leaf in leaves.items():
        if is_float(leaf) and leaf.dtype != case.dtype:
            case.fail("precision", f"{path} is {leaf.dtype}; do not fix the dtype, use jaxbandit.numerics.as_float")


def _check_kept(case: Case, before: dict[str, Any], after: dict[str, Any], first: str, second: str) -> None:
    if before.keys() != after.keys():
        odd = sorted(before.keys() ^ after.keys())[0]
        case.fail("types", f"{odd} is there only in one of {first} and {second}; return the same tree from both")
    for path, leaf in before.items():
        if _describe(leaf) != _describe(after[path]):
            was, now = _describe(leaf), _describe(after[path])
            case.fail("types", f"{path} is {was} from {first}, {now} from {second}; cast so that both are the same")


def _inner(equation: core.JaxprEqn) -> Iterator[core.Jaxpr]:
    for part in jax.tree.leaves(list(equation.params.values()), is_leaf=lambda x: hasattr(x, "eqns")):
        if isinstance(part, core.ClosedJaxpr):
            yield part.jaxpr
        elif isinstance(part, core.Jaxpr):
            yield part


def _draws(jaxpr: core.Jaxpr) -> bool:
    """Whether anything is drawn at all."""
    return any(e.primitive.name.startswith(("random_", "threefry")) or any(map(_draws, _inner(e))) for e in jaxpr.eqns)


def _draws_from_nothing(jaxpr: core.Jaxpr, given: Sequence[bool]) -> bool:
    """Whether a key is made here, or is the same in every run: made from no input that is `given` (bool an input)."""
    derived = {v for v, from_input in zip(jaxpr.invars, given, strict=True) if from_input}
    for equation in jaxpr.eqns:
        flags = [not isinstance(v, core.Literal) and v in derived for v in equation.invars]
        name = equation.primitive.name
        if name == "random_seed" or (name in ("random_bits", "random_fold_in", "random_split") and not flags[0]):
            return True
        for inner in _inner(equation):
            known = flags if len(inner.invars) == len(flags) else [True] * len(inner.invars)
            if _draws_from_nothing(inner, known):
                return True
        if any(flags):
            derived.update(equation.outvars)
    return False


class Programs(NamedTuple):
    """An algorithm and its functions as traced the first time."""

    algorithm: Algorithm
    texts: dict[str, str]


def _trace(case: Case, algorithm: Algorithm) -> dict[str, core.ClosedJaxpr]:
    out = jax.eval_shape(lambda: _one_round(case, algorithm, make_key()))
    context = jax.eval_shape(lambda: _context(case, make_key()))
    reward = jax.ShapeDtypeStruct((), case.dtype)
    arguments = {
        "init": (make_key(),),
        "noise": (make_key(),),
        "select": (out.noise, out.state, context),
        "update": (out.state, context, out.action, reward),
        "recommend": (out.state,),
        "stop": (out.state,),
    }
    # A fresh function each time: JAX would answer from its cache and never call the algorithm's again.
    functions = algorithm._asdict()
    return {name: jax.make_jaxpr(lambda *a, f=functions[name]: f(*a))(*some) for name, some in arguments.items()}


def _text(case: Case, name: str, program: core.ClosedJaxpr) -> str:
    """The program and its constants; addresses of Python functions in it are dropped."""
    if any(isinstance(const, Tracer) for const in program.consts):
        case.fail("pure", f"{name} uses a traced value kept outside the state; put it in the state")
    plain = [c for c in program.consts if not jnp.issubdtype(c.dtype, jax.dtypes.prng_key)]
    return re.sub(r"0x[0-9a-f]+", "", str(program)) + " ".join(np.asarray(c).tobytes().hex() for c in plain)


def check_programs(case: Case) -> Programs:
    """Where chance is drawn; returns the programs, to be compared after the plays."""
    algorithm = case.make(case.num_arms, **case.hyper[0])
    programs = _trace(case, algorithm)
    chance = programs["noise"].out_avals
    keys = any(jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key) for leaf in chance)
    if chance and not (keys or _draws(programs["noise"].jaxpr)):
        case.fail("chance", "noise draws nothing from its key; use none()")
    for name, program in programs.items():
        if _draws_from_nothing(program.jaxpr, [True] * len(program.jaxpr.invars)):
            case.fail("chance", f"{name} draws from a key of its own, the same in every run; draw in noise")
    return Programs(algorithm, {name: _text(case, name, program) for name, program in programs.items()})


def check_same(case: Case, programs: Programs) -> None:
    """The functions trace to what they traced to before the plays."""
    for name, program in _trace(case, programs.algorithm).items():
        if _text(case, name, program) != programs.texts[name]:
            case.fail(
                "pure",
                f"{name} traced again is another program; keep what changes in the state, not in Python",
            )
