"""What a reproduction of a fixed horizon shows beside its figures: regret, and what a longer one would take."""

from collections.abc import Mapping, Sequence
from typing import Any

from jaxbandit.results import base
from jaxbandit.text import align


def regret_table(instance: str, cells: Sequence[Mapping[str, Any]]) -> str:
    """Return the regret of the cells of one instance as text."""
    head = ("algorithm", "regret", "95 % interval", "independent", "")
    rows = []
    known = [cell for cell in cells if cell["regret"]["mean"]]
    for cell in sorted(known, key=lambda c: -c["regret"]["mean"][-1]):
        regret, given = cell["regret"], cell.get("published")
        interval = f"[{regret['low'][-1]:,.2f}, {regret['high'][-1]:,.2f}]" if "low" in regret else ""
        beside = f"{given['value']:g} [{given['low']:.1f}, {given['high']:.1f}]" if given else ""
        rows.append((cell["algorithm"], f"{regret['mean'][-1]:,.2f}", interval, beside, cell.get("verdict", "")))
    first = cells[0]
    after = f"after {known[0]['regret']['at'][-1]:,} rounds" if known else "is not known"
    title = f"{instance}: regret {after}, {first['runs']:,} runs"
    bound = first["regret"].get("lower_bound")
    foot = f"\nlower bound, log(t) times the constant: {bound[-1]:,.2f}" if bound else ""
    shown = [row[: 5 if any(r[3] for r in rows) else 3] for row in [head, *rows]]
    return "\n".join([title, f"{align(shown, right=(1, 2, 3))}{foot}", *left_out(cells)])


def left_out(cells: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return, a line each, the cells whose means leave runs out, how many and why."""
    found = [(cell, base.left_out(cell["runs"], cell.get("outcomes", {}))) for cell in cells]
    return [f"{cell['instance']}/{cell['algorithm']}: {words}" for cell, words in found if words]


def cost(content: Mapping[str, Any], longer: Mapping[int, int]) -> list[str]:
    """Return, a line each, what the same cells would take at other horizons: `longer`, horizon -> runs."""
    played = sum(cell["run_steps"] for cell in content["cells"])
    seconds = sum(cell["seconds"]["run"] for cell in content["cells"])
    horizon = max((cell["regret"]["at"][-1] for cell in content["cells"] if cell["regret"]["at"]), default=0)
    lines = []
    for other, runs in longer.items():
        if other == horizon or not played:
            continue
        hours = seconds / played * other * runs * len(content["cells"]) / 3600
        what = f"{hours:.1f} hours" if hours >= 1 else f"{60 * hours:.0f} minutes"
        lines.append(
            f"with --horizon {other} these cells play {runs:,} runs each: at most about {what} here, resumable"
        )
    return lines
