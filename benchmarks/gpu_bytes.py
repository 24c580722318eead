"""`python -m benchmarks gpu_bytes` plays every algorithm on this device in two ways that must lead to the same bytes.

One way plays 64 runs by themselves with one checkpoint. The other plays them among 2^14 runs or more, in calls of 64
rounds, with checkpoints at which the groups of rounds that an accelerator starts together end early. Rows are printed
as they are found, and written as JSON lines. Like `gpu`, it needs the root of the repository, JAX and NumPy.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

HORIZON, MOST = 200, 500  # rounds of a fixed horizon; most rounds of a rule that stops
FEW, MANY, LANES = 64, 2**16, 2**12
MARKS = [1, 2, 5, 30, 31, 77, 128, 150]


def main(argv: Sequence[str]) -> int:
    """Play what `argv` asks for in several processes; return the exit status, 1 if anything has other bytes."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks gpu_bytes", description=__doc__)
    parser.add_argument("--algorithms", nargs="+", metavar="NAME", help="default: all that are registered")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="default: as many as cores")
    parser.add_argument("--seconds", type=float, default=300.0, help="time for the whole, default 300")
    parser.add_argument("--out", type=Path, default=Path("build/gpu"), help="directory of gpu_bytes.jsonl")
    parser.add_argument("--here", action="store_true", help="play in this process, and print JSON lines")
    asked = parser.parse_args(argv)
    if asked.here:
        for name in asked.algorithms:
            print(json.dumps(row(name)), flush=True)
        return 0
    from benchmarks import bare

    bare.stand_in()
    from jaxbandit.lab.specs.registry import ALGORITHMS

    names = asked.algorithms or list(ALGORITHMS)
    if unknown := [name for name in names if name not in ALGORITHMS]:
        parser.error(f"algorithms: {unknown[0]!r} is not registered")
    asked.out.mkdir(parents=True, exist_ok=True)
    rows = list(_played(names, asked.processes, asked.seconds, asked.out / "gpu_bytes.jsonl"))
    print(text(names, rows))
    return int(any(found.get("same") is False for found in rows))


def _played(names: Sequence[str], processes: int, seconds: float, path: Path) -> Iterator[dict[str, Any]]:
    """Yield the rows of the algorithms, each process playing some of them, until the time is up."""
    environment = os.environ | {"XLA_PYTHON_CLIENT_PREALLOCATE": "false", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "benchmarks", "gpu_bytes", "--here", "--algorithms"]
    begun = time.monotonic()
    parts = [names[i::processes] for i in range(min(processes, len(names)))]
    with path.open("w", encoding="utf-8") as file:
        players = [
            subprocess.Popen([*command, *part], env=environment, stdout=file, stderr=subprocess.DEVNULL)
            for part in parts
        ]
        for player in players:
            try:
                player.wait(max(begun + seconds - time.monotonic(), 0.1))
            except subprocess.TimeoutExpired:
                player.kill()
                player.wait()
    for line in path.read_text(encoding="utf-8").splitlines():
        yield json.loads(line)


def text(names: Sequence[str], rows: Sequence[dict[str, Any]]) -> str:
    """Return what was found, in words."""
    by = {found["algorithm"]: found for found in rows}
    same = [name for name in names if by.get(name, {}).get("same")]
    other = [f"{name} ({', '.join(by[name]['other'])})" for name in names if by.get(name, {}).get("same") is False]
    failed = [f"{name} ({by[name]['error']})" for name in names if "error" in by.get(name, {})]
    missing = [name for name in names if name not in by]
    lines = [f"{len(same)} of {len(names)} algorithms have the same bytes"]
    lines += [f"other bytes: {', '.join(other)}"] if other else []
    lines += [f"failed: {'; '.join(failed)}"] if failed else []
    lines += [f"not reached: {', '.join(missing)}"] if missing else []
    return "\n".join(lines)


def row(name: str) -> dict[str, Any]:
    """Return whether an algorithm has the same bytes in both ways, and the arrays that differ; a failure is a row."""
    from benchmarks import bare

    bare.stand_in()
    begun = time.monotonic()
    try:
        other = differing(name)
    except Exception as error:  # whatever it is, it is the row
        found: dict[str, Any] = {"error": " ".join(f"{type(error).__name__}: {error}".split())[:300]}
    else:
        found = {"same": not other, "other": other}
    return {"algorithm": name, **found, "seconds": round(time.monotonic() - begun, 1)}


def differing(name: str) -> list[str]:
    """Return the names of the arrays of the first runs that are different in the two ways."""
    import numpy as np

    from benchmarks.accelerators import small_pair
    from jaxbandit.engine.driver.execution import Execution
    from jaxbandit.engine.driver.identify import identify_cell
    from jaxbandit.engine.driver.simulate import simulate_cell
    from jaxbandit.engine.rounds.step import plays_batches
    from jaxbandit.lab.specs.registry import ALGORITHMS

    pair = small_pair(name)
    if plays_batches(*pair) or ALGORITHMS[name].kind == "identify":
        alone: Any = identify_cell(lambda _: pair, {}, num_runs=FEW, max_rounds=MOST)
        how = Execution(chunk=64)
        among: Any = identify_cell(lambda _: pair, {}, num_runs=LANES, max_rounds=MOST, execution=how)
    else:
        horizon = min(HORIZON, pair[0].length or HORIZON)
        marks = [mark for mark in MARKS if mark < horizon]
        alone = simulate_cell(lambda _: pair, {}, horizon=horizon, num_runs=FEW, checkpoints=[])
        how = Execution(chunk=64)
        among = simulate_cell(lambda _: pair, {}, horizon=horizon, num_runs=MANY, checkpoints=marks, execution=how)
    other = []
    for key, one in vars(alone).items():
        many = getattr(among, key)
        if isinstance(one, np.ndarray) and one.ndim and len(one) == FEW:
            one, many = (one[:, -1:], many[:, -1:]) if key in ("regret", "hindsight") else (one, many)
            if one.tobytes() != many[:FEW].tobytes():
                other.append(key)
    return other


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
