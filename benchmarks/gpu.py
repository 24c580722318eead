"""`python -m benchmarks gpu` measures on a GPU what decides how jaxbandit should play there, in at most eight minutes.

It runs in the root of the repository with only JAX and NumPy installed, and needs no network. Every row has a time
limit, and what fails is a row too. Rows are printed as they are measured. After each, gpu.json and gpu.md are written
anew. How to read them is said in benchmarks/results/accelerators.md.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import gpu_agreement, gpu_table
from benchmarks.gpu_plan import FLAGS, HERE, Session, Task, plan
from benchmarks.gpu_process import Ended, Process

SECONDS = 460.0  # of the whole; what ends a process and writes the last row takes a few more
START = 60.0  # seconds that a process has to find its device
LEAST = 2.0  # seconds that must be left for a task to begin


class Report:
    """The rows so far, printed and written one by one."""

    def __init__(self, directory: Path, seconds: float):
        self.directory, self.begun = directory, time.monotonic()
        self.deadline = self.begun + seconds
        self.rows: list[dict[str, Any]] = []
        directory.mkdir(parents=True, exist_ok=True)

    def left(self) -> float:
        """Return the seconds that are left for the whole."""
        return self.deadline - time.monotonic()

    def add(self, session: Session, task: Task, seconds: float, found: dict[str, Any]) -> None:
        """Print a row, and write all of them."""
        about = {"group": task.group, "name": task.name, "variant": session.variant, "platform": session.platform}
        about |= {"flags": FLAGS.get(session.variant, ""), "limit_s": task.limit, "wall_s": seconds}
        self.rows.append({**about, "given": task.given, **found})
        title = f"{task.name}, {session.variant}" if session.variant else task.name
        passed = time.monotonic() - self.begun
        print(f"{passed:5.0f} s  {task.group}: {title}: {gpu_table.said(self.rows[-1])}", flush=True)
        self.write()

    def write(self) -> None:
        """Write the document and its tables."""
        document = gpu_table.document(self.rows)
        texts = {"gpu.json": json.dumps(document, indent=1) + "\n", "gpu.md": gpu_table.text(document)}
        for name, text in texts.items():
            temporary = self.directory / f"{name}.tmp"
            temporary.write_text(text, encoding="utf-8")
            temporary.replace(self.directory / name)


def main(argv: Sequence[str]) -> int:
    """Measure what `argv` asks for; return the exit status, 1 if no row was measured."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks gpu", description=__doc__)
    parser.add_argument("--platform", choices=("gpu", "cpu"), default="gpu", help="default gpu")
    parser.add_argument("--tiny", action="store_true", help="play everything at tiny sizes, which measure nothing")
    parser.add_argument("--seconds", type=float, default=SECONDS, help=f"time for the whole, default {SECONDS:g}")
    parser.add_argument("--only", nargs="+", metavar="GROUP", help="only the tables named, such as limits rounds loops")
    parser.add_argument("--out", type=Path, help="directory of gpu.json and gpu.md; default: $OUT, or else build/gpu")
    asked = parser.parse_args(argv)
    out = asked.out or Path(os.environ.get("OUT") or "build/gpu")
    report = Report(out, asked.seconds)
    with tempfile.TemporaryDirectory(prefix="jaxbandit-") as directory:
        sessions = plan(asked.platform, asked.tiny, Path(directory))
        groups = {task.group for session in sessions for task in session.tasks}
        if unknown := sorted(set(asked.only or ()) - groups):
            parser.error(f"only: {unknown[0]!r}, must be among {', '.join(sorted(groups))}")
        for session in sessions:
            chosen = [task for task in session.tasks if not asked.only or task.group in asked.only]
            play(session._replace(tasks=chosen), report)
    measured = [row for row in report.rows if "error" not in row]
    print(f"{len(measured)} of {len(report.rows)} rows measured: {out / 'gpu.md'}, {out / 'gpu.json'}")
    return 0 if measured else 1


def play(session: Session, report: Report) -> None:
    """Ask for every task of a session. A process that has ended is started again, unless it could not even start."""
    process, hopeless = None, ""
    try:
        for task in session.tasks:
            begun = time.monotonic()
            try:
                if hopeless:
                    raise Ended(hopeless)
                if report.left() < LEAST:
                    raise Ended("not begun: the time was up")
                if session.platform == HERE:
                    found = _here(task)
                else:
                    if process is None:
                        process = Process(session.platform, FLAGS.get(session.variant, ""))
                        hopeless = "its process did not start"
                        process.ready(min(START, report.left()))
                        hopeless, begun = "", time.monotonic()
                    found = process.ask(task.function, task.given, max(min(task.limit, report.left()), 0.1))
            except Ended as error:
                if hopeless and process is not None:
                    hopeless = str(error)
                process = None
                found = {"error": str(error)}
            report.add(session, task, time.monotonic() - begun, found)
    finally:
        if process is not None:
            process.end()


def _here(task: Task) -> dict[str, Any]:
    """Return the row of a task that needs no JAX."""
    functions = {each.__name__: each for each in (gpu_agreement.compare_pulls, gpu_agreement.compare_arithmetic)}
    try:
        return functions[task.function](**task.given)
    except FileNotFoundError as error:
        return {"error": f"{Path(error.filename).name} was not written, because its row failed"}
    except Exception as error:  # whatever it is, it is the row
        return {"error": f"{type(error).__name__}: {error}".splitlines()[0][:300]}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
