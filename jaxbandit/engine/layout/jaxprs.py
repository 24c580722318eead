"""Analysis of jaxprs. This is the only module that depends on their format, which JAX may change.

Nothing is imported from JAX's internals: atoms and equations are recognized by their attributes. If a jaxpr cannot be
read, the functions raise, and `engine/batching.py` falls back to running without the analysis.
"""

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from typing import Any

import jax
import jax.numpy as jnp

INLINED = {  # call primitives, and the parameter that holds the called jaxpr
    "jit": "jaxpr",
    "pjit": "jaxpr",
    "closed_call": "call_jaxpr",
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
}
# Operations whose result is not finite wherever an operand is not finite; 0 * inf and inf - inf are NaN.
_SHOW_FAULTS = frozenset(
    "add broadcast_in_dim concatenate convert_element_type copy mul neg pad reduce_sum reshape squeeze sub "
    "transpose".split()
)
_SAME_NUMBERS = ("broadcast_in_dim", "copy", "reshape", "squeeze")  # operations that only rearrange numbers
_NOTHING: frozenset = frozenset()


def is_literal(atom: Any) -> bool:
    """Return whether an operand is a constant in the jaxpr and not a variable."""
    return hasattr(atom, "val")


def opened(value: Any) -> tuple[Any, Sequence[Any]] | None:
    """Return the jaxpr and its constants if `value` is a jaxpr, closed or not; otherwise None."""
    if not hasattr(value, "eqns"):
        return None
    return getattr(value, "jaxpr", value), getattr(value, "consts", ())


def inner_programs(equation: Any) -> Iterator[Any]:
    """Yield the jaxprs among the parameters of an equation: those of a call, a loop or branches."""
    for part in jax.tree.leaves(list(equation.params.values()), is_leaf=lambda x: hasattr(x, "eqns")):
        if (program := opened(part)) is not None:
            yield program[0]


def called(equation: Any) -> tuple[Any, Sequence[Any]] | None:
    """Return the jaxpr that a plain call executes and its constants; None for every other operation."""
    return opened(equation.params.get(INLINED.get(equation.primitive.name)))


def bind(equation: Any, operands: Sequence[Any]) -> Sequence[Any]:
    """Return the results of an equation on other operands, computed as in JAX's own evaluator."""
    with scope(equation):
        results = equation.primitive.bind(*operands, **equation.primitive.get_bind_params(equation.params))
    return results if equation.primitive.multiple_results else [results]


def scope(equation: Any) -> Any:
    """Return the context in which the equation was traced, such as `jax.threefry_partitionable`."""
    return getattr(getattr(equation, "ctx", None), "manager", None) or nullcontext()


def dependent_outputs(closed: Any, flags: Sequence[bool]) -> list[bool]:
    """Return for each output whether it depends, through any operation, on a flagged input."""
    marked = {v for v, flag in zip(closed.jaxpr.invars, flags, strict=True) if flag}
    for equation in closed.jaxpr.eqns:
        if any(not is_literal(v) and v in marked for v in equation.invars):
            marked.update(equation.outvars)
    return [not is_literal(v) and v in marked for v in closed.jaxpr.outvars]


def needed_inputs(closed: Any) -> list[bool]:
    """Return for each input whether some output depends on it."""
    needed = {v for v in closed.jaxpr.outvars if not is_literal(v)}
    for equation in reversed(closed.jaxpr.eqns):
        if not needed.isdisjoint(equation.outvars):
            needed.update(v for v in equation.invars if not is_literal(v))
    return [v in needed for v in closed.jaxpr.invars]


def passed_on(closed: Any) -> list[bool]:
    """Return for each output whether it is the input at the same position, unchanged."""
    return [new is old for old, new in zip(closed.jaxpr.invars, closed.jaxpr.outvars, strict=False)]


def shown_faults(program: Any, inputs: Sequence[frozenset]) -> list[frozenset]:
    """Return for each output the names whose faults it shows.

    A value shows the faults of a name if the value has an entry that is not finite whenever the named quantity has
    one.

    Args:
      program: an open jaxpr.
      inputs: for each input, the names whose faults it shows.
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
    """Return whether the first output consists of zeros and ones that were converted from booleans."""
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
    """Return whether the result is of floating point and contains every entry of every operand."""
    out = equation.outvars[0].aval
    edges = equation.params["padding_config"] if equation.primitive.name == "pad" else ()
    return out.size > 0 and jnp.issubdtype(out.dtype, jnp.floating) and all(low >= 0 <= high for low, high, _ in edges)


def _shown_by_scan(equation: Any, operands: Sequence[frozenset]) -> list[frozenset]:
    """Return for each final carry of a scan the names whose faults it shows.

    These are the names shown by its initial value and by the inputs of each iteration, if every iteration keeps them.
    """
    inner: Any = opened(equation.params["jaxpr"])
    # Values that are scanned over have one more axis outside the loop. This distinguishes them from constants and
    # carries in every version of the parameters.
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
