"""What is read off a program as JAX writes it, a jaxpr: the one place that knows their form, which JAX may change.

Nothing here imports that form: atoms and equations are known by their attributes. What cannot be read raises, and
`engine/batching.py` then does without.
"""

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from typing import Any

import jax

INLINED = {  # calls, and the parameter that holds what they call
    "jit": "jaxpr",
    "pjit": "jaxpr",
    "closed_call": "call_jaxpr",
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
}


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
