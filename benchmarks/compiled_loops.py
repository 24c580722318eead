"""Read kernels, bytes moved and operations of a round from XLA's text of a compiled program."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from jaxbandit.engine.driver.tile_loop import ROUND

# Instructions that start nothing on the device.
NO_KERNEL = frozenset(
    (
        "parameter tuple get-tuple-element constant bitcast while conditional call after-all opt-barrier iota "
        "partition-id replica-id copy-start copy-done slice-start slice-done async-start async-update async-done"
    ).split()
)
HEAD = re.compile(r"^(?:ENTRY )?%?(\S+) \(.*\{$")
LINE = re.compile(r"^\s+(?:ROOT )?%?\S+ = (\(?.*?\)?) ([a-z][a-z0-9\-]*)\(")
CALLED = re.compile(r"(?:body|condition|calls|to_apply|true_computation|false_computation)=%?([\w.\-]+)")
BRANCHES = re.compile(r"branch_computations=\{([^}]*)\}")
TRIPS = re.compile(r'"known_trip_count":\{"n":"(\d+)"\}')


class Round(NamedTuple):
    """The innermost loop of which every round is one iteration."""

    turns: int | None  # its number of iterations, None if the compiler does not know it
    kernels: int
    open_loops: int  # loops inside a round with an unknown number of iterations, each counted as one iteration
    flops: float | None  # XLA counts every loop inside a round as one iteration
    bytes: float | None  # the same
    by_kind: dict[str, int]


def read(text: str) -> Round:
    """Return the loop of the rounds in a program's text; ValueError if there is none."""
    parts = _computations(text)
    body, begun = _loop(parts)
    turns = TRIPS.search(begun)
    kernels, kinds, unknown = _kernels(parts, body)
    cost = _cost(text, parts, body)
    known = int(turns[1]) if turns else None
    return Round(known, kernels, unknown, cost.get("flops"), cost.get("bytes accessed"), dict(kinds))


def _computations(text: str) -> dict[str, list[str]]:
    """Return the lines of each computation, by name."""
    found: dict[str, list[str]] = {}
    name = None
    for line in text.splitlines():
        if name is None and (head := HEAD.match(line)):
            name = head[1]
            found[name] = [line]
        elif name is not None:
            found[name].append(line)
            name = None if line == "}" else name
    return found


def _loop(parts: dict[str, list[str]]) -> tuple[str, str]:
    """Return the body of the loop in which most different operations are those of a round, and the line that starts it.

    Lines are not counted, because a compiler without a kernel for a factorization writes loops of its own for it, with
    hundreds of lines that all bear the name of one operation.
    """
    lines = [line for lines in parts.values() for line in lines]
    bodies = {m[1]: line for line in lines if (m := re.search(r"body=%?([\w.\-]+)", line))}
    inside = re.compile(rf'op_name="((?:(?!/{ROUND}/)[^"])*/{ROUND}/(?![^"]*while/body)[^"]*)"')

    def own(name: str) -> int:
        return len({match[1] for line in parts[name] if (match := inside.search(line))})

    # Of a loop of single rounds and one with several in an iteration, the longer one is played for most of the time.
    best = max(bodies, key=lambda name: (own(name), len(parts[name])), default=None)
    if best is None or not own(best):
        raise ValueError("no loop of rounds in the compiled program")
    return best, bodies[best]


def _kernels(parts: dict[str, list[str]], name: str) -> tuple[int, Counter[str], int]:
    """Return the kernels of one iteration by kind, those of inner loops repeated, and the loops of unknown length."""
    kinds: Counter[str] = Counter()
    unknown = 0
    for line in parts[name]:
        if not (match := LINE.match(line)):
            continue
        shape, kind = match[1], match[2]
        if kind == "while":
            trips = TRIPS.search(line)
            unknown += trips is None
            inner = [_kernels(parts, part) for part in CALLED.findall(line)]
            for _, more, opened in inner:
                kinds.update({k: n * (int(trips[1]) if trips else 1) for k, n in more.items()})
                unknown += opened
        elif kind in ("conditional", "call"):
            names = [x.strip(" %") for m in BRANCHES.findall(line) for x in m.split(",")] + CALLED.findall(line)
            branches = [_kernels(parts, part) for part in names]
            if branches:
                _, more, opened = max(branches, key=lambda found: found[0])
                kinds.update(more)
                unknown += opened
        elif kind not in NO_KERNEL and (kind in ("fusion", "custom-call") or "[]" not in shape.split("{")[0]):
            kinds[kind] += 1
    return sum(kinds.values()), kinds, unknown


def _cost(text: str, parts: dict[str, list[str]], body: str) -> dict[str, float]:
    """Return XLA's cost analysis of the loop's body alone; empty if this version of JAX does not offer it."""
    try:
        import jax
        from jaxlib import _hlo, _jax  # type: ignore[reportAttributeAccessIssue]

        needed = list(_reached(parts, body))
        module = ["HloModule round", ""]
        for name in needed[::-1]:  # a computation stands before those that call it
            lines = parts[name]
            first = "ENTRY %" + lines[0].removeprefix("%") if name == body else lines[0].removeprefix("ENTRY ")
            module += [first, *(re.sub(r", (?:metadata|frontend_attributes)=\{.*", "", x) for x in lines[1:]), ""]
        client: Any = jax.devices("cpu")[0].client
        return dict(_jax.hlo_module_cost_analysis(client, _hlo.hlo_module_from_text("\n".join(module))))
    except (ImportError, AttributeError):
        return {}


def _reached(parts: dict[str, list[str]], name: str) -> Iterator[str]:
    """Return the computation and those that it calls, callers first, each once."""
    order: list[str] = []

    def visit(name: str) -> None:
        if name in order:
            return
        for line in parts[name]:
            names = [x.strip(" %") for m in BRANCHES.findall(line) for x in m.split(",")]
            for part in [*CALLED.findall(line), *names]:
                visit(part)
        order.append(name)

    visit(name)
    return reversed(order)
