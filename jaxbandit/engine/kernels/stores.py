"""How the arrays along the arms are stored after a round: one entry where one was set, else all of them."""

from collections.abc import Sequence

from jaxbandit.engine.kernels.arms import Arm, ArmCode, Exists, Home, arm_of
from jaxbandit.engine.kernels.arrays import Values
from jaxbandit.engine.kernels.ptx import Atom, NoRule, Value, Vector


def store(code: ArmCode, changes: Sequence[tuple[Values, Values]]) -> None:
    """Store arrays, given as the vectors that were loaded and the values that take their place."""
    entries: list[tuple[Home, Arm, Atom]] = []
    whole: list[tuple[Home, Value]] = []
    for old, new in changes:
        for before, value in zip(old.flat, new.flat, strict=True):
            updates = []
            rest = value
            while isinstance(rest, Vector) and rest.op == "update":
                rest, index, entry = rest.operands
                updates.append((index, entry))
            if rest is not before:
                whole.append((before.operands[0], value))
                continue
            for index, entry in reversed(updates):
                entries.append((before.operands[0], arm_of(index), entry))
    if any(_looks_up(value) for _, value in whole):
        raise NoRule("an array of arms that is computed from other places of itself")
    wait(code, changes)  # every thread of the run has read what the others overwrite
    if whole:
        # All are computed before the first is stored, in each turn of the loop, and each reads its own arm only.
        def body(arms: list[Arm], exists: Exists) -> None:
            columns = code.values([value for _, value in whole], arms)
            wait(code, changes)  # several threads have the last arm
            for (home, _), atoms in zip(whole, columns, strict=True):
                for arm, atom in zip(arms, atoms, strict=True):
                    code.store(home.space, code.place(home, arm), atom)

        code.turns(body)
    for home, arm, atom in entries:
        code.store(home.space, code.place(home, arm), atom)
    wait(code, changes)


def wait(code: ArmCode, changes: Sequence) -> None:
    """Wait for all threads of the run, if something changes."""
    if code.width > 1 and changes:
        code.raw("bar.warp.sync -1;")


def _looks_up(value: Value) -> bool:
    """Whether a vector depends on entries of other arms."""
    todo: list[Value] = [value]
    seen = set()
    while todo:
        v = todo.pop()
        if isinstance(v, Vector) and v.number not in seen:
            if v.op == "at":
                return True
            seen.add(v.number)
            todo += [x for x in v.operands if isinstance(x, Vector)]
    return False
