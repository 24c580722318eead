"""What may come of an attack: refused in one line, or harmless; everything else is a failure.

An attack is a function of a workshop, the number of the try and a random generator. It returns REFUSED or HARMLESS, or
raises `Failure`. Each try has a generator of its own, so that a failing one can be repeated alone.
"""

import contextlib
import io
import os
import random
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

REFUSED, HARMLESS = "refused", "harmless"
SECONDS = 60  # a try that takes longer hangs
# Lines on stderr beside the one that says why a command ends.
BESIDE = ("jaxbandit: warning: ", "jaxbandit: compiling", "compiling ")


class Failure(Exception):
    """A broken promise; the message says which."""


class Hang(BaseException):
    """Raised by the alarm; no handler of errors takes it for one of its own."""


class Said(NamedTuple):
    """What a command has said."""

    status: int
    out: str
    err: str

    @property
    def outcome(self) -> str:
        return HARMLESS if self.status == 0 else REFUSED


@dataclass(frozen=True)
class Attack:
    """One kind of attack: `one(workshop, number, chance)` is a try; `tries` is how many of them the tests make."""

    name: str
    one: Callable[..., str]
    tries: int
    seconds: float = SECONDS  # of one try, then it hangs
    most: Callable[[Any], int] | None = None  # of a workshop: how many different tries there are, where they are a list


@dataclass
class Tally:
    """Counts of what came of an attack."""

    refused: int = 0
    harmless: int = 0
    failures: list[str] = field(default_factory=list)

    @property
    def tries(self) -> int:
        return self.refused + self.harmless + len(self.failures)


def attempt(attack: Attack, workshop: Any, seed: int, numbers: range) -> Tally:
    """Make these tries of an attack; the message of a failure says how the try is repeated."""
    tally = Tally()
    for number in numbers:
        try:
            with watched(attack.seconds):
                outcome = attack.one(workshop, number, random.Random(f"{attack.name} {seed} {number}"))
        except (Failure, Hang, Exception) as error:
            again = f"python -m tests.attack --only '{attack.name}' --seed {seed} --number {number}"
            tally.failures.append(f"{again}: {_described(error)}")
        else:
            tally.refused += outcome == REFUSED
            tally.harmless += outcome == HARMLESS
    return tally


@contextlib.contextmanager
def watched(seconds: float) -> Iterator[None]:
    """Raise `Hang` in the main thread after so many seconds."""

    def ring(*_: Any) -> None:
        raise Hang(f"still at work after {seconds:g} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def call(*argv: object, cwd: Path) -> Said:
    """Run the command line in this process; a traceback or another status than 0, 2 and 3 is a failure.

    Standard streams are those of a process: bytes in UTF-8, strict on stdout.
    """
    from jaxbandit.lab.cli import main

    words = [str(word) for word in argv]
    streams = io.BytesIO(), io.BytesIO()
    out = io.TextIOWrapper(streams[0], encoding="utf-8", errors="strict")
    err = io.TextIOWrapper(streams[1], encoding="utf-8", errors="backslashreplace")
    here = os.getcwd()
    try:
        os.chdir(cwd)
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), warnings.catch_warnings():
            warnings.simplefilter("default")
            status = main(words)
            out.flush()
    except SystemExit as ended:
        raise Failure(f"{shown(words)}: SystemExit {ended.code!r}") from None
    except Exception as error:
        raise Failure(f"{shown(words)}: {_described(error)}") from None
    finally:
        os.chdir(here)
        close_figures()
    err.flush()
    said = Said(status, streams[0].getvalue().decode(), streams[1].getvalue().decode())
    return checked(shown(words), said)


def checked(command: str, said: Said) -> Said:
    """Require one line on stderr where a command was refused or stopped."""
    if said.status not in (0, 2, 3):
        raise Failure(f"{command}: status {said.status}: {said.err[-300:]}")
    lines = [line for line in said.err.splitlines() if not line.startswith(BESIDE) and " % of " not in line]
    if said.status != 0 and len(lines) != 1:
        raise Failure(f"{command}: status {said.status} with {len(lines)} lines: {said.err[-300:]!r}")
    return said


def python(what: str, function: Callable[[], Any]) -> tuple[str, Any]:
    """Call the library; a ValueError or OSError of one line is a refusal, any other error a failure."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            return HARMLESS, function()
    except (ValueError, OSError) as error:
        if "\n" in str(error).rstrip("\n"):
            raise Failure(f"{what}: a message of several lines: {error!s:.300}") from None
        return REFUSED, str(error)
    except Exception as error:
        raise Failure(f"{what}: {_described(error)}") from None


def shown(words: list[str]) -> str:
    """A command as text, long words cut short."""
    return "jaxbandit " + " ".join(ascii(w if len(w) < 60 else f"{w[:40]}...({len(w)})") for w in words)


def close_figures() -> None:
    """Close figures that a command has left open."""
    if (pyplot := sys.modules.get("matplotlib.pyplot")) is not None:
        pyplot.close("all")


def _described(error: BaseException) -> str:
    if isinstance(error, Failure):
        return str(error)
    frames = traceback.extract_tb(error.__traceback__)
    place = f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    try:
        text = " ".join(str(error).split())[:200]
    except Exception:  # an error that cannot be shown
        text = ""
    return f"{type(error).__name__}{place}: {text}"
