"""What is known of a program before it runs: which outputs depend on which inputs, and which faults a result shows.

The answers are conservative.
"""

from collections.abc import Sequence

import jax.numpy as jnp

from jaxbandit.engine.layout.jaxprs import Equation, Literal, Program, evaluate, scan_parts

# Operations whose result is not finite wherever an operand is not finite; 0 * inf and inf - inf are NaN.
_SHOW_FAULTS = frozenset(
    "add broadcast_in_dim concatenate convert_element_type copy mul neg pad reduce_sum reshape squeeze sub "
    "transpose".split()
)
_SAME_NUMBERS = ("broadcast_in_dim", "copy", "reshape", "squeeze")  # operations that only rearrange numbers
_NOTHING: frozenset = frozenset()


def dependent_outputs(program: Program, flags: Sequence[bool]) -> list[bool]:
    """Return for each output whether it depends, through any operation, on a flagged input."""

    def depends(equation: Equation, operands: list[bool]) -> list[bool]:
        return [any(operands)] * len(equation.results)

    return evaluate(program, flags, depends, lambda _: False)


def needed_inputs(program: Program) -> list[bool]:
    """Return for each input whether some output depends on it."""
    needed = {v for v in program.outputs if not isinstance(v, Literal)}
    for equation in reversed(program.equations):
        if not needed.isdisjoint(equation.results):
            needed.update(v for v in equation.operands if not isinstance(v, Literal))
    return [v in needed for v in program.inputs]


def unchanged_outputs(program: Program) -> list[bool]:
    """Return for each output whether it is the input at the same position."""
    return [new is old for old, new in zip(program.inputs, program.outputs, strict=False)]


def shown_faults(program: Program, inputs: Sequence[frozenset]) -> list[frozenset]:
    """Return for each output the names whose faults it shows, given those of each input.

    A value shows the faults of a name if it has an entry that is not finite whenever the named quantity has one.
    """

    def shown(equation: Equation, operands: list[frozenset]) -> list[frozenset]:
        faults = _NOTHING
        if (inner := equation.called) is not None:
            return shown_faults(inner, operands)
        if equation.name == "scan":
            return _shown_by_scan(equation, operands)
        if equation.name == "div":
            faults = operands[0]
        elif equation.name == "select_n":
            faults = frozenset.intersection(*operands[1:])
        elif equation.name in _SHOW_FAULTS and _keeps_every_entry(equation):
            faults = _NOTHING.union(*operands)
        return [faults, *[_NOTHING] * (len(equation.results) - 1)]

    return evaluate(program, inputs, shown, lambda _: _NOTHING)


def is_from_boolean(program: Program) -> bool:
    """Return whether the first output consists of zeros and ones that were converted from booleans."""

    def converted(equation: Equation, operands: list[bool]) -> list[bool]:
        is_boolean = False
        if (inner := equation.called) is not None:
            is_boolean = len(equation.results) == 1 and is_from_boolean(inner)
        elif equation.name == "convert_element_type" and equation.inputs[0].dtype == bool:
            is_boolean = True
        elif equation.name in _SAME_NUMBERS:
            is_boolean = operands[0]
        return [is_boolean] * len(equation.results)

    return evaluate(program, [False] * len(program.inputs), converted, lambda _: False)[0]


def _keeps_every_entry(equation: Equation) -> bool:
    """Return whether the result is of floating point and contains every entry of every operand."""
    out = equation.outputs[0]
    edges = equation.params["padding_config"] if equation.name == "pad" else ()
    return out.size > 0 and jnp.issubdtype(out.dtype, jnp.floating) and all(low >= 0 <= high for low, high, _ in edges)


def _shown_by_scan(equation: Equation, operands: Sequence[frozenset]) -> list[frozenset]:
    """Return for each result of a scan the names whose faults it shows; nothing is known of those that are stacked."""
    (inner,), (first, number) = equation.programs, scan_parts(equation)
    own = [("carry", j) for j in range(number)]
    inputs = [*operands[:first], *(frozenset([name]) for name in own), *operands[first + number :]]
    after = shown_faults(inner, inputs)
    shown = [
        start | end.difference(own) if equation.params["length"] and name in end else _NOTHING
        for start, end, name in zip(operands[first : first + number], after, own, strict=False)
    ]
    return shown + [_NOTHING] * (len(equation.results) - number)
