"""What every benchmark beside other libraries has: its command, and the answer of a library in a process of its own."""

import argparse
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import machine, results_file


def command(
    part: str,
    about: str | None,
    measure: Callable[..., dict[str, Any]],
    table: Callable[[dict[str, Any]], str],
    argv: Sequence[str],
    write: Callable[[dict[str, Any]], None] | None = None,
    folder: str = "",
) -> int:
    """Measure, print and perhaps write the table of a part, into its page by default; return the exit status.

    `measure` gets whether it is quick, the interpreters, and the folder if there is one, of which `folder` says what
    it has.
    """
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks {part}", description=about)
    parser.add_argument("--peers", action="append", default=[], metavar="PYTHON", help="an interpreter that has peers")
    parser.add_argument("--quick", action="store_true", help="smaller sizes")
    parser.add_argument("--write", action="store_true", help="write the table into its page")
    if folder:
        parser.add_argument("folder", type=Path, help=folder)
    asked = parser.parse_args(argv)
    interpreters = []
    for python in asked.peers:
        if (path := shutil.which(python)) is None:
            parser.error(f"peers: {python} is not an interpreter that can be started")
        interpreters.append(os.path.abspath(path))  # peers run in other directories
    if asked.write and asked.quick:
        parser.error("quick = True with write, must be without: what is written is measured in full")
    found = measure(asked.quick, interpreters, *([asked.folder] if folder else []))
    text = table(found)
    print(text)
    if asked.write and write is not None:
        write(found)
    elif asked.write:
        results_file.write(part, machine.text(machine.machine()), text)
    return 0


def answer(interpreters: Sequence[str], side: Path, name: str, given: dict[str, Any]) -> dict[str, Any] | None:
    """Return the arrays of a peer, of the first interpreter that has it; None if no interpreter has it."""
    for python in interpreters:
        probe = f"import importlib.util as u; raise SystemExit(u.find_spec({name!r}) is None)"
        if subprocess.run([python, "-c", probe], check=False).returncode:
            continue
        with tempfile.TemporaryDirectory() as folder:
            np.savez(Path(folder) / "in.npz", **given)
            parts = [python, str(side), name, "in.npz", "out.npz"]
            subprocess.run(parts, cwd=folder, check=True, stdout=subprocess.DEVNULL)
            with np.load(Path(folder) / "out.npz") as file:
                return dict(file)
    return None
