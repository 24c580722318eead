"""`python -m benchmarks ahead_of_time --target h100` compiles every algorithm for an accelerator without one.

This needs the compiler (`jax[cuda12]` for an H100, `libtpu` for a v5e) and no device. Each algorithm is compiled in a
process of its own, within a limit of time and memory. The time of a round is estimated as the larger of the time to
start its kernels and the time to move its bytes at the bandwidth of the memory. Nobody has timed any of it.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import results_file
from benchmarks.accelerators import TARGETS, compiled_row

ROOT = Path(__file__).parents[1]


def main(argv: Sequence[str]) -> int:
    """Compile what `argv` asks for, print a row as each is done and the table at the end; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks ahead_of_time", description=__doc__)
    parser.add_argument("--target", choices=TARGETS, required=True)
    parser.add_argument("--algorithms", nargs="+", metavar="NAME", help="default: all that are registered")
    parser.add_argument("--precision", choices=("float32", "float64"), help="default: the one it is played in")
    parser.add_argument("--rows", type=Path, help="file of JSON lines; the rows of unchanged programs are kept")
    parser.add_argument("--limit", type=float, default=240, help="seconds that an algorithm may take, default 240")
    parser.add_argument("--memory", type=float, default=16, help="GiB that a process may take, default 16")
    parser.add_argument("--write", action="store_true", help="write the table into its page")
    parser.add_argument("--known", metavar="PROGRAMS", help="compile one algorithm here, unless it has these programs")
    asked = parser.parse_args(argv)
    # Set before JAX is imported: it looks for no device, and a TPU's compiler does not ask the cloud where it runs.
    os.environ |= {"JAX_PLATFORMS": "cpu", "TPU_SKIP_MDS_QUERY": "1"}
    from jaxbandit.lab.specs.registry import ALGORITHMS

    names = asked.algorithms or list(ALGORITHMS)
    if unknown := [name for name in names if name not in ALGORITHMS]:
        parser.error(f"algorithms: {unknown[0]!r} is not registered")
    if asked.known is not None:
        most = int(asked.memory * 2**30)
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        print(json.dumps(_row(asked.target, names[0], asked.precision, asked.known)))
        return 0
    stored, rows = _stored(asked.rows, asked.target, asked.precision), {}
    for name in names:
        known = stored.get(name, {})
        row = _in_a_process(asked, name, known.get("programs", ""))
        if row == {}:
            rows[name] = known
            continue
        rows[name] = {"target": asked.target, "algorithm": name, "asked": asked.precision, **row}
        print(json.dumps(rows[name]), file=sys.stderr, flush=True)
        if asked.rows is not None:
            with asked.rows.open("a", encoding="utf-8") as file:
                file.write(json.dumps(rows[name]) + "\n")
    text = table(asked.target, list(rows.values()))
    print(text)
    if asked.write:
        from benchmarks import machine

        results_file.write(f"ahead_of_time --target {asked.target}", machine.text(machine.machine()), text)
    return 0 if all("error" not in row for row in rows.values()) else 1


def _in_a_process(asked: argparse.Namespace, name: str, known: str) -> dict[str, Any]:
    """Return the row of one algorithm, empty if its programs are the known ones; a failure is a row too."""
    command = [sys.executable, "-m", "benchmarks", "ahead_of_time", "--target", asked.target, "--algorithms", name]
    command += ["--precision", asked.precision] if asked.precision else []
    command += ["--memory", str(asked.memory)]
    begun = time.perf_counter()
    try:
        process = subprocess.run(
            [*command, "--known", known],
            stdout=subprocess.PIPE,
            timeout=asked.limit,
            cwd=ROOT,
            env=os.environ | {"ALLOW_MULTIPLE_LIBTPU_LOAD": "1"},
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {"error": f"stopped after {asked.limit:g} s"}
    if process.returncode:
        took = time.perf_counter() - begun
        return {"error": f"its process ended with status {process.returncode} after {took:.0f} s"}
    return json.loads(process.stdout.splitlines()[-1])


def _row(target: str, name: str, precision: str | None, known: str) -> dict[str, Any]:
    """Compile an algorithm and return its row, empty if its programs are the known ones."""
    try:
        return compiled_row(target, name, precision, known)
    except Exception as error:  # whatever the compiler reports is the result
        return {"error": f"{type(error).__name__}: {error}".splitlines()[0][:200]}


def _stored(path: Path | None, target: str, precision: str | None) -> dict[str, dict[str, Any]]:
    """Return the last row of each algorithm that compiled in an earlier call."""
    if path is None or not path.exists():
        return {}
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    asked = (row for row in rows if (row["target"], row["asked"]) == (target, precision))
    return {row["algorithm"]: row for row in asked if "error" not in row}


def table(target: str, rows: Sequence[dict[str, Any]]) -> str:
    """Return the rows as a table in columns, with the assumptions of the estimates."""
    about = TARGETS[target]
    lines = [
        f"Estimates that nobody has timed. They assume that a kernel starts in {about.launch * 1e6:g} us and that the",
        f"memory moves {about.bandwidth / 1e12:g} TB/s. compile: all programs; CPU: processor time of the largest one.",
        "kernels: of one round (+: a loop inside it has an unknown number of iterations and counts as one). bytes and",
        "FLOP: of one round, with every loop inside it counted as one iteration, so that such a round moves more.",
        "GiB: memory of the compiled program; predicted: by engine/layout/sizes.py. even: the number of runs at which",
        "starting the kernels takes as long as moving the bytes. us and ns: for the runs in the column.",
        "",
    ]
    head = "algorithm precision compile CPU kernels runs bytes FLOP GiB predicted even us ns".split()
    under = ["", "", "s", "s", "a round", "", "a run", "a run", "", "GiB", "runs", "a round", "a run-step"]
    cells = [_cells(row) for row in rows]
    whole = [row for row in cells if len(row) == len(head)]
    widths = [max(len(row[i]) for row in [head, under, *whole]) for i in range(len(head))]
    for row in [head, under, *cells]:
        first, *rest = row
        lines.append("  ".join([first.ljust(widths[0]), *(x.rjust(w) for x, w in zip(rest, widths[1:], strict=False))]))
    return "\n".join(line.rstrip() for line in lines)


def _cells(row: dict[str, Any]) -> list[str]:
    """Return the columns of one row, or name and reason if it did not compile."""
    if "error" in row:
        return [row["algorithm"], f"not compiled: {row['error']}"]
    runs, known = row["runs"], row["bytes"] is not None
    return [
        row["algorithm"],
        row["precision"],
        f"{row['seconds'] + row['other_seconds']:.1f}",
        f"{row['cpu_seconds']:.1f}",
        f"{row['kernels']}{'+' if row['open_loops'] else ''}",
        f"{runs:,}",
        f"{row['bytes'] / runs:,.0f}" if known else "?",
        f"{row['flops'] / runs:,.0f}" if known else "?",
        f"{row['memory'] / 2**30:.2f}",
        f"{row['predicted_memory'] / 2**30:.2f}",
        f"{row['even_runs']:,}" if row["even_runs"] else "?",
        f"{row['seconds_a_round'] * 1e6:,.0f}",
        f"{row['seconds_a_round'] / runs * 1e9:.3f}",
    ]
