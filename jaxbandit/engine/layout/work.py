"""The work of a function of one run: the number of elementary operations that its traced program names.

It depends on nothing else: not on the machine, its memory, or the number of runs.
"""

import math

from jaxbandit.engine.layout.jaxprs import Equation, Program, ShapeDtype

COMBINED = ("reduce", "arg", "cum")  # beginnings of the names of operations that combine the numbers they read
VIEWS = frozenset(("broadcast_in_dim", "reshape", "slice", "squeeze", "transpose"))  # which compute nothing
UPDATES = {"dynamic_update_slice": 1, "scatter": 2, "scatter-add": 2}  # the operand that is written into another


def operations(program: Program) -> int:
    """Return the number of entries that the operations compute, and in sums and searches the number that they combine.

    A loop of known length counts as often as it turns, one of unknown length once, and of branches the longest.
    """
    return sum(map(_of_equation, program.equations))


def _of_equation(equation: Equation) -> int:
    inner = list(map(operations, equation.programs))
    if inner and not equation.name.startswith((*COMBINED, "scatter")):  # theirs combine two numbers
        turns = equation.params["length"] if equation.name == "scan" else 1
        return max(inner) if equation.name == "cond" else turns * sum(inner)
    if equation.name == "dot_general":
        (summed, _), _ = equation.params["dimension_numbers"]
        return _entries(equation.outputs[0]) * math.prod(equation.inputs[0].shape[axis] for axis in summed)
    if equation.name in VIEWS:
        return 0
    if equation.name in UPDATES:
        return _entries(equation.inputs[UPDATES[equation.name]])
    return max(map(_entries, equation.inputs if equation.name.startswith(COMBINED) else equation.outputs), default=0)


def _entries(array: ShapeDtype) -> int:
    return math.prod(getattr(array, "shape", ()))
