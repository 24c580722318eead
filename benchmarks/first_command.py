"""README's first command for a new user: whole processes with an empty compilation cache, then with a filled one.

Wall and processor time are those of the whole process, imports and figure included. Compilation and play of each cell
are wall time. It has to be measured on an idle machine.
"""

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

REPEATS = 3
AIM, AIM_COLD, AIM_KEPT = 12.0, 1.5, 1.0  # seconds of the whole command, and the median to compile a cell
REPOSITORY = Path(__file__).parents[1]
Found = list[dict[str, Any]]


def measure(quick: bool) -> Found:
    """Return a row for an empty compilation cache and one for a cache that the first process filled."""
    repeats, more = (1, ["--runs", "20", "--horizon", "100"]) if quick else (REPEATS, [])
    plays: dict[str, Found] = {"cold": [], "cached": []}
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as place:
            for way, found in plays.items():
                found.append(_play(Path(place), way, more))
                print(f"first command, {way}: {found[-1]['seconds']:.1f} s", file=sys.stderr)
    return [_row(way, found) for way, found in plays.items()]


def table(rows: Found) -> str:
    """Return the rows as text, then the cells of each."""
    head = f"{'jaxbandit run':20s}{'seconds':>10s}{'CPU s':>8s}{'goal':>6s}{'compile/cell':>16s}{'goal':>6s}"
    lines = [head]
    for row in rows:
        aims = f"{AIM:6.0f}" if row["way"] == "cold" else f"{'':6s}"
        most = AIM_COLD if row["way"] == "cold" else AIM_KEPT
        compiled = statistics.median(row["compile"].values())
        lines.append(f"{row['way']:20s}{row['seconds']:10.1f}{row['cpu']:8.1f}{aims}{compiled:16.2f}{most:6.1f}")
    lines += ["", f"{'':20s}" + "".join(f"{name:>10s}" for name in rows[0]["compile"])]
    for row in rows:
        for what in ("compile", "run"):
            lines.append(f"{row['way'] + ', ' + what:20s}" + "".join(f"{s:10.2f}" for s in row[what].values()))
    return "\n".join(lines)


def _play(place: Path, way: str, more: list[str]) -> dict[str, Any]:
    out = place / way
    environment = {name: value for name, value in os.environ.items() if not name.startswith("JAX_COMPILATION_CACHE")}
    environment |= {"XDG_CACHE_HOME": str(place / "cache"), "PYTHONPATH": str(REPOSITORY)}
    command = [sys.executable, "-m", "jaxbandit", "run", "--out", str(out), *more]
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, env=environment, check=True, capture_output=True)
    seconds, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    cells = json.loads((out / "summary.json").read_text(encoding="utf-8"))["cells"]
    return {
        "seconds": seconds,
        "cpu": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        **{what: {cell["algorithm"]: cell["seconds"][what] for cell in cells} for what in ("compile", "run")},
    }


def _row(way: str, found: Found) -> dict[str, Any]:
    row: dict[str, Any] = {"way": way, **{key: statistics.median(f[key] for f in found) for key in ("seconds", "cpu")}}
    for what in ("compile", "run"):
        row[what] = {name: statistics.median(f[what][name] for f in found) for name in found[0][what]}
    return row
