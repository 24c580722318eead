"""Commands that are killed or meet a full disk at random instants, and are started again: same bytes, none lost."""

import contextlib
import json
import os
import random
import select
import shutil
import time
from pathlib import Path
from typing import Any

import numpy as np
from kills import compare
from lives import Lives

from .outcomes import HARMLESS, REFUSED, Failure, Said, call, checked
from .workshop import Workshop, files_of

PROGRAM = """
    import json, os, resource, sys
    os.environ.pop("JAX_COMPILATION_CACHE_DIR", None)  # so that files of jaxbandit's own are written
    import matplotlib.pyplot, tomli_w, tyro  # what commands import when they are called
    import jaxbandit as jb
    from jaxbandit.lab import cli
    from jaxbandit.lab.cli import commands
    from jaxbandit.lab.experiments import experiment, merging, search
    from jaxbandit.decide.sessions import directory
    from jaxbandit.engine.driver import programs
    from jaxbandit.engine.storage import checkpoint

    def main(place, said, limit, words):
        sys.path.insert(0, place)
        os.chdir(place)
        os.dup2(os.open(said, os.O_WRONLY), 2)
        programs.FIRST_BLOCKS = 1
        checkpoint.SAVE_SECONDS = programs.CALL_SECONDS = 0.02
        if int(limit):
            resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), resource.RLIM_INFINITY))
        os._exit(cli.main(json.loads(words)))
"""
COMMANDS: dict[str, list[str]] = {
    "run": ["run", "run.toml", "--out", "DIR"],
    "tune": ["tune", "train_module:train", "tune.toml", "--out", "DIR"],
    "audit": ["audit", "audit.toml", "--runs", "400", "--out", "DIR"],
    "tell": ["tell", "DIR", "15=0.5", "16=0.25", "17=0.125"],  # up to here those of the tests, each of its own storage
    "part": ["run", "run.toml", "--part", "1/2", "--out", "DIR"],
    "merge": ["merge", "DIR", "OTHER"],
    "ask": ["ask", "DIR", "session.toml", "--n", "9"],
}
TEMPORARY = (".tmp", ".lock")


class Dying:
    """A server of lives, and a pipe for what they say, which no limit on files stops."""

    def __init__(self, workshop: Workshop):
        self.lives = Lives(PROGRAM)
        self.pipe = workshop.root / "said"
        os.mkfifo(self.pipe)
        self.reading = os.open(self.pipe, os.O_RDWR | os.O_NONBLOCK)
        self.seconds: dict[str, float] = {}

    def live(self, *arguments: object, kill_after: float = 100) -> Said | None:
        """Start a life and wait for its end, or kill it; what it said, or None where it was killed."""
        self.lives.begin(*arguments)
        if not select.select([self.lives._server.stdout], [], [], kill_after)[0]:
            status = self.lives.end(9)
            said = self._said()
            return None if status == -9 else Said(status, "", said)
        status = self.lives._code()
        return Said(status, "", self._said())

    def _said(self) -> str:
        with contextlib.suppress(BlockingIOError):
            return os.read(self.reading, 2**20).decode("utf-8", "replace")
        return ""


def dying(workshop: Workshop) -> Dying:
    """The server of this workshop, started when it is needed first."""
    if "dying" not in workshop.__dict__:
        workshop.__dict__["dying"] = Dying(workshop)
        workshop.closing.append(lambda: workshop.__dict__["dying"].lives.__exit__())
    return workshop.__dict__["dying"]


def _prepared(workshop: Workshop, name: str) -> tuple[Path, list[str], Path]:
    """The directory that a command is called for, its words, and the directory that must result."""
    clean = {"merge": "merged", "part": "parts", "ask": "session", "tell": "session"}.get(name, name)
    for each in ("parts", clean):
        getattr(workshop, each)
    scratch = workshop.scratch()
    path = scratch / "d"
    if name == "merge":
        shutil.copytree(workshop.parts / "0", path)
        shutil.copytree(workshop.parts / "1", scratch / "other")
    if name == "tell":
        workshop.copy("session", path)
    words = [str(path) if w == "DIR" else str(scratch / "other") if w == "OTHER" else w for w in COMMANDS[name]]
    wanted = _wanted(workshop, name)
    return path, words, wanted


def _wanted(workshop: Workshop, name: str) -> Path:
    """What the command leaves if nothing disturbs it."""
    if name in ("ask", "tell"):
        path = workshop.root / f"undisturbed-{name}"
        if not path.exists():
            if name == "tell":
                shutil.copytree(workshop.session, path)
            call(*[str(path) if word == "DIR" else word for word in COMMANDS[name]], cwd=workshop.specs)
        return path
    if name == "part":
        return workshop.parts / "1"
    return {"merge": workshop.merged}.get(name) or getattr(workshop, name)


def _finished(name: str, path: Path, wanted: Path) -> None:
    """The directory is the one that must result."""
    if left := [each for each in files_of(path) if each.endswith(TEMPORARY)]:
        raise Failure(f"{', '.join(left)} left behind")
    if name in ("run", "merge"):
        try:
            compare(wanted, path)
        except AssertionError as error:
            raise Failure(f"other bytes: {error}") from None
        return
    names = {
        "part": [each for each in files_of(wanted) if each.endswith(".npz")],
        "tune": ["summary.json", "table.npz", "history.npz"],
        "audit": [each for each in files_of(wanted) if each.endswith(".npz")],
        "ask": ["log.jsonl"],
        "tell": ["log.jsonl"],
    }[name]
    for each in names:
        if not (path / each).exists() or _bytes(path / each) != _bytes(wanted / each):
            raise Failure(f"other bytes in {each}")


def _bytes(path: Path) -> Any:
    """The bytes of a file; of arrays those that tell of no life, as its seconds do."""
    if path.suffix != ".npz":
        return path.read_bytes()
    with np.load(path, allow_pickle=False) as arrays:
        return {name: array.tobytes() for name, array in arrays.items() if array.dtype != np.uint8 and array.ndim}


def _again(what: str, name: str, path: Path, words: list[str], wanted: Path, workshop: Workshop) -> None:
    said = call(*words, cwd=workshop.specs)
    if said.status:
        raise Failure(f"{what}: the same command is refused: {said.err}")
    try:
        _finished(name, path, wanted)
    except Failure as failure:
        raise Failure(f"{what}: {failure}") from None


def killed(workshop: Workshop, number: int, chance: random.Random) -> str:
    """SIGKILL at random instants, then the same command."""
    name = list(COMMANDS)[number % len(COMMANDS)]
    path, words, wanted = _prepared(workshop, name)
    server = dying(workshop)
    arguments = (workshop.specs, server.pipe, 0, json.dumps(words))
    if name not in server.seconds:
        begun = time.monotonic()
        said = server.live(*arguments)
        assert said is not None
        checked(" ".join(words), said)
        server.seconds[name] = time.monotonic() - begun
        path, words, wanted = _prepared(workshop, name)
        arguments = (*arguments[:-1], json.dumps(words))
    for count in range(1, chance.randint(2, 3)):
        after = server.seconds[name] * chance.uniform(0.2, 1.1)
        if (said := server.live(*arguments, kill_after=after)) is not None:
            checked(" ".join(words), said)
            break
        what = f"{name} killed {count} times, the last after {after:.2f} s"
    else:
        _again(what, name, path, words, wanted, workshop)
        return HARMLESS
    _again(name, name, path, words, wanted, workshop)
    return HARMLESS


def full(workshop: Workshop, number: int, chance: random.Random) -> str:
    """No file may be larger than a random limit, then the same command without the limit."""
    name = list(COMMANDS)[number % len(COMMANDS)]
    path, words, wanted = _prepared(workshop, name)
    server = dying(workshop)
    sizes = [(wanted / each).stat().st_size for each in files_of(wanted)]
    limit = max(1, round(chance.choice(sizes) * chance.uniform(0, 1.2)))
    what = f"{name} with files of at most {limit} bytes"
    said = server.live(workshop.specs, server.pipe, limit, json.dumps(words))
    assert said is not None
    checked(what, said)
    if name == "tell" and said.status == 0 and (path / "log.jsonl").read_bytes() != (wanted / "log.jsonl").read_bytes():
        raise Failure(f"{what}: told, but not in the log")
    _again(what, name, path, words, wanted, workshop)
    return REFUSED if said.status else HARMLESS
