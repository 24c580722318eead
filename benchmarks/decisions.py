"""Whether certificates keep what they promise, and what they cost: each number beside the one that is stated for it.

The stated numbers are those of the derivations of the rules, or of simulations by other programs; limits are marked by
"<=". z is the difference in standard errors of both. Nothing is trained and no program is compiled: searches run on
recorded scores and known laws, many at once from tables of all bounds, or by the allocations of `tune`.
"""

import math
from typing import Any

from benchmarks import decisions_parts as parts
from benchmarks import decisions_rare as rare
from benchmarks.decisions_cells import Cell

PARTS = {  # and the runs of each
    parts.coverage: 2000, parts.budgets: 300, parts.regrets: 40, parts.growth: 300, rare.rare: 800, rare.remarks: 1000,
}  # fmt: skip


def measure(quick: bool) -> dict[str, list[dict[str, Any]]]:
    """Return the cells of all parts; `quick` takes a tenth of the runs."""
    found: dict[str, list[dict[str, Any]]] = {}
    for part, runs in PARTS.items():
        cells = part(runs // 10 if quick else runs)
        found[part.__name__] = [cell._asdict() | {"z": distance(cell)} for cell in cells]
    names = ("kind", "arms", "seeds", "enter", "certificate")
    found["seconds"] = [dict(zip(names, row, strict=True)) for row in parts.seconds()]
    return found


def distance(cell: Cell) -> float:
    """Return by how many standard errors a cell differs from what is stated."""
    if cell.value == cell.stated:
        return 0.0
    error = math.hypot(cell.error, cell.stated_error)
    return (cell.value - cell.stated) / error if error else math.copysign(math.inf, cell.value - cell.stated)


def far(cell: dict[str, Any]) -> bool:
    """Whether a cell contradicts what is stated, by more than three standard errors."""
    return cell["z"] > 3 or (cell["z"] < -3 and not cell["at_most"])


def table(found: dict[str, list[dict[str, Any]]]) -> str:
    """Return the cells as text."""
    cells = [cell for name, rows in found.items() if name != "seconds" for cell in rows]
    equal = [cell for cell in cells if not cell["at_most"]]
    lines = [
        f"{sum(map(far, equal))} of {len(equal)} numbers differ from the stated ones by more than 3 standard errors "
        f"(se), {sum(abs(cell['z']) > 2 for cell in equal)} by more than 2;",
        f"{sum(map(far, cells)) - sum(map(far, equal))} of {len(cells) - len(equal)} shares are above a promised limit "
        "by more than 3 se",
    ]
    for group in dict.fromkeys(cell["group"] for cell in cells):
        lines += ["", f"{group:<68}{'measured':>10}{'se':>9}{'stated':>12}{'se':>9}{'z':>6}"]
        for cell in cells:
            if cell["group"] == group:
                stated = f"{'<= ' if cell['at_most'] else ''}{cell['stated']:.4g}"
                theirs = f"{cell['stated_error']:.2g}" if not cell["at_most"] else ""
                z = "" if cell["at_most"] else f"{cell['z']:.1f}"
                lines.append(
                    f"{cell['name']:<68}{cell['value']:>10.4g}{cell['error']:>9.2g}{stated:>12}{theirs:>9}{z:>6}"
                    + (" *" if far(cell) else "")
                )
    lines += ["", f"{'bounds':<10}{'arms':>6}{'seeds':>7}{'enter all scores, s':>21}{'one certificate, s':>20}"]
    for row in found["seconds"]:
        lines.append(
            f"{row['kind']:<10}{row['arms']:>6}{row['seeds']:>7}{row['enter']:>21.4f}{row['certificate']:>20.4f}"
        )
    return "\n".join(lines)
