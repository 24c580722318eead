"""Compiling ahead: a call of the engine that compiles what it needs and plays nothing."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

_thread = threading.local()


class _Compiled(Exception):
    """Ends a call of the engine once everything that it needs is compiled."""


@contextmanager
def only_compiling() -> Iterator[None]:
    """End the call of the engine that this thread makes inside as soon as its programs are compiled.

    The next call with equal arguments, from any thread, then finds them. Nothing may be saved by the call that ends.
    """
    _thread.only = True
    try:
        yield
    except _Compiled:
        pass
    finally:
        _thread.only = False


def compiled() -> None:
    """Called by the engine when everything is compiled; it does not return if nothing is to be played."""
    if getattr(_thread, "only", False):
        raise _Compiled
