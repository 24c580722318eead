"""Directories that somebody sent, which name code: no command that reads them executes any."""

import functools
import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jaxbandit as jb

from .outcomes import REFUSED, Failure, Said, call, checked, python
from .workshop import Workshop

MARKER = "executed"
EVIL = f"""
from pathlib import Path
Path(__file__).with_name({MARKER!r}).touch()
import jaxbandit as jb
def rule(num_arms: int):
    return jb.algorithms.ucb1(num_arms)
def world(means):
    return jb.environments.bernoulli(means)
"""
# Modules that the package imports only when it needs them; a directory that is the working directory may hold such.
SHADOWS = "matplotlib tomli_w tyro filelock scipy tqdm optuna sklearn pandas evil_module".split()
Command = Callable[[Path], Any]


def _cli(*argv: str) -> Command:
    return lambda path: call(*(path if word == "DIR" else word for word in argv), cwd=path.parent)


COMMANDS: dict[str, Command] = {
    "report": _cli("report", "DIR"),
    "status": _cli("status", "DIR"),
    "status --json": _cli("status", "DIR", "--json"),
    "compare": _cli("compare", "DIR", "DIR"),
    "plot": _cli("plot", "DIR"),
    "merge": _cli("merge", "DIR"),
    "ask": _cli("ask", "DIR"),
    "tell": _cli("tell", "DIR", "0=0.5"),
    "load": lambda path: python("load", lambda: jb.load(path)),
    "session_directory": lambda path: python("session_directory", lambda: _open(path)),
}


def _open(path: Path) -> None:
    with jb.session_directory(path, jb.algorithms.ucb1(2)):
        pass


def _entries(path: Path, number: int = 0) -> list[dict[str, Any]]:
    """Tables that name code, as under `[[algorithm]]`; the modules of each try have names of their own."""
    return [
        {"type": "os:system", "command": f"touch {path / MARKER}"},
        {"type": "subprocess:getoutput", "cmd": f"touch {path / MARKER}"},
        {"type": f"evil_module_{number}:rule"},
        {"type": f"delayed(evil_module_{number}:rule)"},
        {"type": f"evil_package_{number}.inner:rule"},
        {"type": "builtins:exec", "source": f"open({str(path / MARKER)!r}, 'w')"},
    ]


@functools.cache
def cases(workshop: Workshop) -> list[tuple[str, int, str]]:
    """(command, which entry, what holds it)."""
    kinds = ["session", "run", "parts/0", "audit", "tune"]
    found = [(name, entry, kind) for kind in kinds for name in COMMANDS for entry in range(len(_entries(Path())))]
    random.Random(0).shuffle(found)
    found.sort(key=lambda case: case[2] != "session" or case[0] in ("compare", "plot", "load", "merge"))
    return found


def count(workshop: Workshop) -> int:
    return len(cases(workshop))


def one(workshop: Workshop, number: int, chance: random.Random) -> str:
    """A received directory names code in its description or in its specification."""
    name, index, kind = cases(workshop)[number % count(workshop)]
    if kind == "parts/0":
        workshop.parts  # noqa: B018  (written now)
        scratch = workshop.scratch()
        path = workshop.copy("parts", scratch / "parts") / "0"
    else:
        path = workshop.copy(kind)
        scratch = path.parent
    entry = _entries(scratch, number)[index]
    for place in (scratch, path):
        (place / f"evil_module_{number}.py").write_text(EVIL)
        package = place / f"evil_package_{number}"
        package.mkdir()
        (package / "__init__.py").write_text(EVIL)
        (package / "inner.py").write_text(EVIL)
    _name(path, entry)
    what = f"{name} in a directory of {kind} that names {entry['type']}"
    before = list(sys.path)
    try:
        said = COMMANDS[name](path)
    except Failure as failure:
        said = failure
    finally:
        sys.path[:] = before
    if list(scratch.rglob(MARKER)):
        raise Failure(f"{what}: code was executed")
    if isinstance(said, Failure):
        raise Failure(f"{what}: {said}")
    return said.outcome if isinstance(said, Said) else said[0]


def _name(path: Path, entry: dict[str, Any]) -> None:
    """Name code wherever the directory describes algorithms and instances."""
    if (about := path / "session.json").exists():
        content = json.loads(about.read_text())
        content.setdefault("meta", {}).setdefault("spec", {})["algorithm"] = [entry]
        content["meta"]["train"] = entry["type"]
        about.write_text(json.dumps(content))
    if (spec := path / "spec.toml").exists():
        table = "\n".join(f"{key} = {json.dumps(value)}" for key, value in entry.items())
        spec.write_text(spec.read_text() + f'\n[[algorithm]]\nname = "evil"\n{table}\n')


def shadowed(workshop: Workshop, number: int, chance: random.Random) -> str:
    """The working directory is a received one, whose modules have the names of those that the package imports."""
    name, argv = [
        ("run", ["report", "."]),
        ("session", ["status", "."]),
        ("run", ["plot", "."]),
        ("tune", ["report", "."]),
        ("run", ["compare", ".", "."]),
        ("session", ["ask", "."]),
    ][number % 6]
    path = workshop.copy(name)
    for module in SHADOWS:
        (path / f"{module}.py").write_text(EVIL + "\nraise ImportError\n")
    _name(path, {"type": "evil_module:rule"})
    script = "import sys; from jaxbandit.lab.cli import process; sys.exit(process())"
    package = str(Path(jb.__file__).parents[1])
    environment = os.environ | {"PYTHONPATH": package, "PYTHONSAFEPATH": "1"}  # as the installed script is started
    done = subprocess.run(
        [sys.executable, "-c", script, *argv], cwd=path, env=environment, capture_output=True, text=True, timeout=100
    )
    if list(path.rglob(MARKER)):
        raise Failure(f"jaxbandit {' '.join(argv)} in a received directory of {name}: a module in it was imported")
    return checked(f"jaxbandit {' '.join(argv)}", Said(done.returncode, done.stdout, done.stderr)).outcome or REFUSED
