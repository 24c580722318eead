"""What a thread compiles: one line on stderr if it takes more than two seconds, on a terminal or not.

Who plays says what is compiled (`named`), or that nothing may be printed (`quietly`); both are of the thread that
compiles.
"""

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from jaxbandit.support import text, threads

SECONDS = 2.0


class _Thread(threading.local):
    name = "a program"
    quiet = False
    spent = 0.0  # seconds on what is named
    active = False  # whether a compilation is under way; one within another is a part of it
    lines: Any = ()  # those that were printed about what is named
    ahead = False  # whether nothing is to be played


_thread = _Thread()


def beside() -> Callable[[], AbstractContextManager[None]]:
    """Return a context manager for another thread that compiles a part of what this thread waits for."""
    names = {name: getattr(_thread, name) for name in ("name", "quiet", "active", "ahead")}
    return lambda: _changed(**names)


@contextmanager
def named(name: str) -> Iterator[None]:
    """Name in this thread what is compiled next, in the words of a user: "UCB1 on bernoulli"."""
    with _changed(name=name, spent=0.0, lines=[]):
        yield


@contextmanager
def quietly(quiet: bool = True) -> Iterator[None]:
    """Print nothing about compilations of this thread, if `quiet`."""
    with _changed(quiet=quiet or _thread.quiet):
        yield


class _Compiled(Exception):
    """Ends a call of the engine once everything that it needs is compiled."""


@contextmanager
def only_compiling() -> Iterator[None]:
    """End the call of the engine that this thread makes inside as soon as its programs are compiled.

    The next call with equal arguments, from any thread, then finds them. Nothing may be saved by the call that ends.
    """
    with contextlib.suppress(_Compiled), _changed(ahead=True):
        yield


def compiled() -> None:
    """Called by the engine when everything is compiled; it does not return if nothing is to be played."""
    if _thread.ahead:
        raise _Compiled


@contextmanager
def said() -> Iterator[None]:
    """Compile something; if that takes too long, a line says what."""
    if _thread.active:
        yield
        return
    begun, left = time.monotonic(), max(SECONDS - _thread.spent, 0.0)
    lines = [] if _thread.name == _Thread.name else _thread.lines
    line = f"compiling {_thread.name}: more than {SECONDS:g} s so far ..."
    timer = None
    if not lines and not _thread.quiet:  # the timer of an earlier program may have been canceled in its last moment
        timer = threads.start_later(left, _say, line, lines, name="timer of a compilation")
    try:
        with _changed(active=True):
            yield
    finally:
        if timer is not None:
            timer.cancel()
        if _thread.name != _Thread.name:
            _thread.spent += time.monotonic() - begun


def _say(line: str, lines: list[str]) -> None:
    lines.append(line)
    bar = getattr(sys.modules.get("tqdm"), "tqdm", None)
    # The line comes above the bars that are shown.
    above = nullcontext() if bar is None or sys.stderr is None else bar.external_write_mode(file=sys.stderr)
    with contextlib.suppress(OSError, ValueError), above:  # stderr may be closed
        text.say(line)


@contextmanager
def _changed(**values: Any) -> Iterator[None]:
    before = {name: getattr(_thread, name) for name in values}
    try:
        vars(_thread).update(values)
        yield
    finally:
        vars(_thread).update(before)
