"""The commands that write into a directory, with the names that they write: taken from clean runs, not from a list."""

import functools
import os
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jaxbandit as jb

from .outcomes import call, python
from .workshop import Workshop, files_of

# In-process names that come and go: the lock, and what is there while runs are played.
PASSING = (".lock", "checkpoint", "parts", "checkpoint/000/live.npz", "checkpoint/000/identity.json", "audit")


@dataclass(frozen=True)
class Writer:
    """A command that writes into a directory; `names` are of a clean run, `begins` whether it may create it."""

    name: str
    call: Callable[[Workshop, Path], str]
    directory: Callable[[Workshop], Path]  # as the command has left it
    begins: bool = True

    def names(self, workshop: Workshop) -> list[str]:
        """Names of files that the command writes, and of the temporary files that come before them."""
        found = [*files_of(self.directory(workshop)), *PASSING]
        own = f"{socket.gethostname()}-{os.getpid()}.tmp"
        return [*found, *(f".{name}.{own}" for name in found if "/" not in name and not name.startswith("."))]


def _command(*argv: object) -> Callable[[Workshop, Path], str]:
    """A command in the directory of the specs; DIR stands for the attacked directory."""

    def run(workshop: Workshop, path: Path) -> str:
        words = [path if word == "DIR" else word(workshop) if callable(word) else word for word in argv]
        return call(*words, cwd=workshop.specs).outcome

    return run


def _part(number: int) -> Callable[[Workshop], Path]:
    return lambda workshop: workshop.parts / str(number)


@functools.cache
def _rule() -> Any:
    return jb.algorithms.ucb1(3)


def _open(workshop: Workshop, path: Path) -> str:
    def use() -> None:
        with jb.session_directory(path, _rule()) as store:
            store.ask()

    return python("session_directory", use)[0]


def _opened(workshop: Workshop) -> Path:
    path = workshop.root / "opened"
    if not path.exists():
        _open(workshop, path)
    return path


def _simulate(workshop: Workshop, path: Path) -> str:
    def use() -> None:
        jb.simulate(
            _rule(),
            jb.environments.bernoulli([0.1, 0.5, 0.9]),
            horizon=20,
            num_runs=4,
            execution=jb.Execution(directory=path),
        )

    return python("simulate", use)[0]


WRITERS = [
    Writer("run", _command("run", "run.toml", "--out", "DIR"), lambda w: w.run),
    Writer("part", _command("run", "run.toml", "--part", "0/2", "--out", "DIR"), _part(0)),
    Writer("merge", _command("merge", _part(0), _part(1), "--out", "DIR"), lambda w: w.merged),
    Writer("audit", _command("audit", "audit.toml", "--runs", "400", "--out", "DIR"), lambda w: w.audit),
    Writer("tune", _command("tune", "train_module:train", "tune.toml", "--out", "DIR"), lambda w: w.tune),
    Writer("ask", _command("ask", "DIR", "session.toml"), lambda w: w.session),
    Writer("ask again", _command("ask", "DIR"), lambda w: w.session, begins=False),
    Writer("tell", _command("tell", "DIR", "15=0.5"), lambda w: w.session, begins=False),
    Writer("plot", _command("plot", "DIR"), lambda w: w.run, begins=False),
    Writer("report", _command("report", "DIR"), lambda w: w.run, begins=False),
    Writer("report of a session", _command("report", "DIR"), lambda w: w.session, begins=False),
    Writer("report of a search", _command("report", "DIR"), lambda w: w.tune, begins=False),
    Writer("session_directory", _open, _opened),
    Writer("simulate", _simulate, lambda w: w.run),
]
READERS = [
    Writer("status", _command("status", "DIR"), lambda w: w.session, begins=False),
    Writer("compare", _command("compare", "DIR", "DIR"), lambda w: w.run, begins=False),
    Writer("load", lambda w, p: python("load", lambda: jb.load(p))[0], lambda w: w.run, begins=False),
]
