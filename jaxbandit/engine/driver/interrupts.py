"""A request to stop, which every simulation of this process checks between two chunks; it then saves and stops.

Only the command line makes this request, when it receives a signal.
"""

import contextlib
import threading
from collections.abc import Callable, Iterator

_asked = threading.Event()
_saves: dict[object, Callable[[], None]] = {}  # one per simulation in progress
_stops: dict[object, Callable[[], None]] = {}  # of those that end at once
_changed = threading.Condition()


def ask() -> None:
    """Ask every simulation of this process, present and future, to save and to raise KeyboardInterrupt."""
    _asked.set()
    with _changed:
        stops = list(_stops.values())
    for stop in stops:
        stop()


def asked() -> bool:
    """Whether the process has been asked to stop."""
    return _asked.is_set()


@contextlib.contextmanager
def heard(save: Callable[[], None], *, at_once: bool = False) -> Iterator[None]:
    """Register a simulation while it is played, and raise KeyboardInterrupt at its end if it was asked to stop.

    `save` saves its current state; it may be called at any time and from any thread. It is called if the simulation
    does not stop by itself in time, or with `at_once` as soon as it is asked to.
    """
    me = object()
    with _changed:
        _saves[me] = save
        if at_once:
            _stops[me] = save
    try:
        yield
    finally:
        with _changed:
            del _saves[me]
            _stops.pop(me, None)
            _changed.notify_all()
    if asked():
        raise KeyboardInterrupt


def stopped(seconds: float) -> bool:
    """Wait until no simulation is in progress, but at most `seconds`; return whether none is."""
    with _changed:
        return _changed.wait_for(lambda: not _saves, seconds)


def save() -> None:
    """Save the current state of every simulation in progress, and then raise an error if there was one."""
    with _changed:
        saves = list(_saves.values())
    with contextlib.ExitStack() as stack:  # which calls all of them, also after an error
        for each in saves:
            stack.callback(each)
