"""What is read off a program as JAX writes it, a jaxpr: the one place that knows their form, which JAX may change.

Nothing here imports that form: atoms and equations are known by their attributes. What cannot be read raises, and
`engine/batching.py` then does without.
"""

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from typing import Any

import jax
import jax.numpy as jnp

INLINED = {  # calls, and the parameter that holds what they call
    "jit": "jaxpr",
    "pjit": "jaxpr",
    "closed_call": "call_jaxpr",
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
}
# Operations whose result is not finite where an operand is not: 0 inf and inf - inf are NaN.
_SHOW_FAULTS = frozenset(
    "add broadcast_in_dim concatenate convert_element_type copy mul neg pad reduce_sum reshape squeeze sub "
    "transpose".split()
)
_SAME_NUMBERS = ("broadcast_in_dim", "copy", "reshape", "squeeze")  # that only arrange them
_NOTHING: frozenset = frozenset()


def is_literal(atom: Any) -> bool:
    """Whether an operand is a constant written into the program, not a variable."""
    return hasattr(atom, "val")


def opened(value: Any) -> tuple[Any, Sequence[Any]] | None:
    """The program and its constants if `value` is one, closed or not; else None."""
    if not hasattr(value, "eqns"):
        return None
    return getattr(value, "jaxpr", value), getattr(value, "consts", ())


def inner_programs(equation: Any) -> Iterator[Any]:
    """Yield the programs among an operation's parameters: of a call, a loop, branches."""
    for part in jax.tree.leaves(list(equation.params.values()), is_leaf=lambda x: hasattr(x, "eqns")):
        if (program := opened(part)) is not None:
            yield program[0]


def called(equation: Any) -> tuple[Any, Sequence[Any]] | None:
    """The program that a plain call plays, and its constants; None for every other operation."""
    return opened(equation.params.get(INLINED.get(equation.primitive.name)))


def bind(equation: Any, operands: Sequence[Any]) -> Sequence[Any]:
    """The operation's results on other operands, as JAX's own evaluator asks for them."""
    with scope(equation):
        results = equation.primitive.bind(*operands, **equation.primitive.get_bind_params(equation.params))
    return results if equation.primitive.multiple_results else [results]


def scope(equation: Any) -> Any:
    """The context in which the operation was written, such as `jax.threefry_partitionable`."""
    return getattr(getattr(equation, "ctx", None), "manager", None) or nullcontext()


def dependent_outputs(closed: Any, flags: Sequence[bool]) -> list[bool]:
    """Which outputs depend, through any operation, on an input with a flag."""
    marked = {v for v, flag in zip(closed.jaxpr.invars, flags, strict=True) if flag}
    for equation in closed.jaxpr.eqns:
        if any(not is_literal(v) and v in marked for v in equation.invars):
            marked.update(equation.outvars)
    return [not is_literal(v) and v in marked for v in closed.jaxpr.outvars]


def needed_inputs(closed: Any) -> list[bool]:
    """Which inputs some output depends on."""
    needed = {v for v in closed.jaxpr.outvars if not is_literal(v)}
    for equation in reversed(closed.jaxpr.eqns):
        if not needed.isdisjoint(equation.outvars):
            needed.update(v for v in equation.invars if not is_literal(v))
    return [v in needed for v in closed.jaxpr.invars]


def passed_on(closed: Any) -> list[bool]:
    """Which of the outputs are the input at the same place, untouched."""
    return [new is old for old, new in zip(closed.jaxpr.invars, closed.jaxpr.outvars, strict=False)]


def shown_faults(program: Any, inputs: Sequence[frozenset]) -> list[frozenset]:
    """Of each output, the names whose faults it shows: it is not finite in some entry if what has the name is not.

    Args:
      program: an open program.
      inputs: of each input, the names whose faults it shows.
    """
    shown = dict(zip(program.invars, inputs, strict=True))

    def read(atom: Any) -> frozenset:
        return _NOTHING if is_literal(atom) else shown.get(atom, _NOTHING)

    for equation in program.eqns:
        operands, name, out = [read(v) for v in equation.invars], equation.primitive.name, equation.outvars
        if (inner := called(equation)) is not None:
            shown.update(zip(out, shown_faults(inner[0], operands), strict=True))
        elif name == "scan":
            shown.update(zip(out, _shown_by_scan(equation, operands), strict=False))
        elif name == "div":
            shown[out[0]] = operands[0]
        elif name == "select_n":
            shown[out[0]] = frozenset.intersection(*operands[1:])
        elif name in _SHOW_FAULTS and _keeps_every_entry(equation):
            shown[out[0]] = _NOTHING.union(*operands)
    return [read(v) for v in program.outvars]


def is_from_boolean(program: Any) -> bool:
    """Whether the first output's numbers are 0 and 1, made from booleans."""
    made = {v: equation for equation in program.eqns for v in equation.outvars}
    atom = program.outvars[0]
    while not is_literal(atom) and (equation := made.get(atom)) is not None:
        if (inner := called(equation)) is not None:
            return len(equation.outvars) == 1 and is_from_boolean(inner[0])
        if equation.primitive.name == "convert_element_type" and equation.invars[0].aval.dtype == bool:
            return True
        if equation.primitive.name not in _SAME_NUMBERS:
            return False
        atom = equation.invars[0]
    return False


def _keeps_every_entry(equation: Any) -> bool:
    """Whether the result is of floats, and each entry of each operand is in it somewhere."""
    out = equation.outvars[0].aval
    edges = equation.params["padding_config"] if equation.primitive.name == "pad" else ()
    return out.size > 0 and jnp.issubdtype(out.dtype, jnp.floating) and all(low >= 0 <= high for low, high, _ in edges)


def _shown_by_scan(equation: Any, operands: Sequence[frozenset]) -> list[frozenset]:
    """Of each carried value in the end: what its beginning and the inputs of each turn show, if every turn keeps it."""
    inner: Any = opened(equation.params["jaxpr"])
    # What passes through turn by turn has an axis more outside: that tells the parts in every form of the parameters.
    whole = [a.aval.ndim == b.aval.ndim for a, b in zip(equation.invars, inner[0].invars, strict=True)]
    carried = sum(a.aval.ndim == b.aval.ndim for a, b in zip(equation.outvars, inner[0].outvars, strict=True))
    first = sum(whole) - carried
    begun = operands[first : first + carried]
    inputs = [*operands[:first], *(frozenset([("carried", j)]) for j in range(carried)), *operands[first + carried :]]
    after = shown_faults(inner[0], inputs)
    own = [("carried", j) for j in range(carried)]
    return [
        start | end.difference(own) if equation.params["length"] and name in end else _NOTHING
        for start, end, name in zip(begun, after, own, strict=False)
    ]
