"""Programs as JAX traces them, read into plain records. This is the only module that knows the format of a jaxpr.

The parts are recognized by their attributes, without JAX's internals. A form that cannot be read raises UnknownForm,
and nothing else does, so that `batching.py` can fall back while an error of our own is still seen.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, NamedTuple, NoReturn, TypeVar

import jax
import numpy as np

from jaxbandit.base.side_by_side import is_declared
from jaxbandit.engine.layout import whole_loops
from jaxbandit.support.types import Array, ArrayLike, PyTree

ShapeDtype = jax.ShapeDtypeStruct  # or another object with a shape and a dtype
Variable = Hashable

CALLS = {  # call primitives, and the parameter that contains the called jaxpr
    "jit": "jaxpr",
    "pjit": "jaxpr",
    "closed_call": "call_jaxpr",
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
}
T = TypeVar("T")


class UnknownForm(Exception):
    """A jaxpr has a form that this version of jaxbandit cannot read."""


class Literal(NamedTuple):
    """An operand that is a constant in the program."""

    value: ArrayLike
    type: ShapeDtype  # shape and dtype

    @property
    def array(self) -> ArrayLike:
        """The constant with its dtype, which JAX leaves out of a bool."""
        return self.value if hasattr(self.value, "dtype") else np.asarray(self.value, self.type.dtype)


class Params(dict):
    """The parameters of an operation. Reading one that this version of JAX does not have raises UnknownForm."""

    def __missing__(self, name: str) -> NoReturn:
        raise UnknownForm(f"an operation without the parameter {name}")


class Equation(NamedTuple):
    """One operation of a program. Operands are literals and variables; variables can be hashed and compared."""

    name: str
    params: Params
    operands: tuple["Literal | Variable", ...]
    results: tuple[Variable, ...]
    inputs: tuple[ShapeDtype, ...]  # shape and dtype of each operand
    outputs: tuple[ShapeDtype, ...]  # shape and dtype of each result
    context: Any  # in which it was traced, such as `jax.threefry_partitionable`; None if JAX does not store it
    effects: bool  # whether it does more than to compute its results
    primitive: Any

    @property
    def identity(self) -> Hashable:
        """Equal for two operations that compute the same from the same operands; None if nothing is the same."""
        key = (self.primitive, tuple(sorted(self.params.items())), self.context)
        try:
            hash(key)
        except TypeError:  # a parameter cannot be hashed
            return None
        return None if self.effects else key

    @property
    def called(self) -> "Program | None":
        """The program that a plain call executes; None for every other operation."""
        return program_of(self.params.get(CALLS.get(self.name, "")))

    @property
    def programs(self) -> "list[Program]":
        """The programs among the parameters: those of a call, a loop or branches."""
        parts = jax.tree.leaves(list(self.params.values()), is_leaf=lambda x: hasattr(x, "eqns"))
        return [program for program in map(program_of, parts) if program is not None]

    def scope(self) -> AbstractContextManager:
        """Context manager for the context in which the operation was traced."""
        return getattr(self.context, "manager", None) or nullcontext()

    def bind(self, operands: Sequence[Array]) -> Sequence[Array]:
        """The results on other operands, computed as in JAX's own evaluator."""
        with _reading():
            params = self.primitive.get_bind_params(dict(self.params))
            several = self.primitive.multiple_results
        if not isinstance(params, Mapping):
            raise UnknownForm("the parameters with which an operation is bound are no mapping")
        with self.scope():
            results = self.primitive.bind(*operands, **params)
        return results if several else [results]


class Program(NamedTuple):
    """A traced function: its operations in order, and the variables and literals that they read and define."""

    inputs: tuple[Variable, ...]
    equations: tuple[Equation, ...]
    outputs: tuple["Literal | Variable", ...]
    input_types: tuple[ShapeDtype, ...]  # shape and dtype of each input
    output_types: tuple[ShapeDtype, ...]
    variables: tuple[Variable, ...] = ()  # those whose values are the constants
    variable_types: tuple[ShapeDtype, ...] = ()
    constants: tuple[ArrayLike, ...] = ()


def trace(function: Callable[..., PyTree], *arguments: PyTree) -> tuple[Any, PyTree]:
    """Trace function(*arguments). Returns the jaxpr, to be read by the functions of this module, and the shapes.

    A method of an object that has a dictionary `traces` is traced once for the shapes of its arguments, because the
    object belongs to one context of tracing.
    """
    traces: dict | None = getattr(getattr(function, "__self__", None), "traces", None)
    if traces is None:
        return jax.make_jaxpr(function, return_shape=True)(*arguments)
    leaves, structure = jax.tree.flatten(arguments)
    shapes = tuple((leaf.shape, leaf.dtype, getattr(leaf, "weak_type", False)) for leaf in leaves)
    key = (function.__func__, structure, shapes, whole_loops.searches_arms(), is_declared())  # pyright: ignore[reportFunctionMemberAccess]
    if key not in traces:
        traces[key] = jax.make_jaxpr(function, return_shape=True)(*arguments)
    return traces[key]


def program_of(value: Any) -> Program | None:
    """Read a jaxpr, with its constants if it is closed; None if `value` is no jaxpr."""
    if isinstance(value, Program):
        return value
    if not hasattr(value, "eqns"):
        return None
    with _reading():
        jaxpr = getattr(value, "jaxpr", value)
        return Program(
            tuple(jaxpr.invars),
            tuple(map(_equation, jaxpr.eqns)),
            tuple(map(_atom, jaxpr.outvars)),
            tuple(variable.aval for variable in jaxpr.invars),
            tuple(atom.aval for atom in jaxpr.outvars),
            tuple(jaxpr.constvars),
            tuple(variable.aval for variable in jaxpr.constvars),
            tuple(getattr(value, "consts", ())),
        )


def read(closed: Any) -> Program:
    """Read what `trace` returned."""
    program = program_of(closed)
    if program is None:
        raise UnknownForm("a traced function without operations")
    return program


def evaluate(
    program: Program,
    inputs: Sequence[T],
    compute: Callable[[Equation, list[T]], Sequence[T]],
    constant: Callable[[ArrayLike], T],
) -> list[T]:
    """Return the outputs of a program for values of any kind, by `compute` of an operation, `constant` of a number."""
    if len(program.variables) != len(program.constants):
        raise UnknownForm("a program without the values of its constants")
    values = dict(zip(program.variables, map(constant, program.constants), strict=True))
    values.update(zip(program.inputs, inputs, strict=True))

    def value(atom: Literal | Variable) -> T:
        return constant(atom.array) if isinstance(atom, Literal) else values[atom]

    for equation in program.equations:
        values.update(zip(equation.results, compute(equation, list(map(value, equation.operands))), strict=True))
    return list(map(value, program.outputs))


def scan_parts(equation: Equation) -> tuple[int, int]:
    """The numbers of constants and of carries among the operands of a scan, told by their axes in every JAX."""
    (inner,) = equation.programs

    def whole(outside: Sequence[ShapeDtype], inside: Sequence[ShapeDtype]) -> int:
        return sum(len(a.shape) == len(b.shape) for a, b in zip(outside, inside, strict=True))

    carries = whole(equation.outputs, inner.output_types)
    return whole(equation.inputs, inner.input_types) - carries, carries


@contextmanager
def _reading() -> Iterator[None]:
    """Context manager for reading parts of JAX's records, and nothing else: an error then is one of their form."""
    try:
        yield
    except (AttributeError, KeyError, TypeError, ValueError, NotImplementedError) as error:
        raise UnknownForm(f"{type(error).__name__}: {error}".splitlines()[0]) from error


def _equation(equation: Any) -> Equation:
    return Equation(
        equation.primitive.name,
        Params(equation.params),
        tuple(map(_atom, equation.invars)),
        tuple(equation.outvars),
        tuple(atom.aval for atom in equation.invars),
        tuple(variable.aval for variable in equation.outvars),
        getattr(equation, "ctx", None),
        bool(getattr(equation, "effects", ())),
        equation.primitive,
    )


def _atom(atom: Any) -> Literal | Variable:
    """A literal, or the variable itself."""
    return Literal(atom.val, atom.aval) if hasattr(atom, "val") else atom
