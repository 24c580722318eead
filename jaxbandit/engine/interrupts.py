"""A request to end, which every simulation of this process hears between two chunks: it saves and stops.

The command line makes it when a signal comes. Nothing else does: in Python the signals are the user's own.
"""

import contextlib
import threading
from collections.abc import Callable, Iterator

_asked = threading.Event()
_saves: dict[object, Callable[[], None]] = {}  # one a simulation that is being played
_changed = threading.Condition()


def ask() -> None:
    """Ask every simulation of this process, those that have not begun too, to save and to raise KeyboardInterrupt."""
    _asked.set()


def asked() -> bool:
    """Whether the process has been asked to end."""
    return _asked.is_set()


@contextlib.contextmanager
def heard(save: Callable[[], None]) -> Iterator[None]:
    """A simulation that can be saved by `save` from any thread; KeyboardInterrupt at its end if it was to stop.

    Args:
      save: saves what is known of the simulation, and may be called at any time.

    Raises:
      KeyboardInterrupt: the process has been asked to end.
    """
    me = object()
    with _changed:
        _saves[me] = save
    try:
        yield
    finally:
        with _changed:
            del _saves[me]
            _changed.notify_all()
    if asked():
        raise KeyboardInterrupt


def stopped(seconds: float) -> bool:
    """Wait at most so many seconds until no simulation is being played; whether none is."""
    with _changed:
        return _changed.wait_for(lambda: not _saves, seconds)


def save() -> None:
    """Save what is known of the simulations that are still being played."""
    with _changed:
        saves = list(_saves.values())
    for each in saves:
        each()
