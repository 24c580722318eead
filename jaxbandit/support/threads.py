"""Threads of this package begin here, so that no exception of one is lost and nobody waits for a thread that is gone.

The exception goes to the one who waits, or is one line on stderr.
"""

import threading
from collections.abc import Callable

from jaxbandit.support.refusals import error_line
from jaxbandit.support.text import say

Failed = Callable[[BaseException], object]


def guarded(work: Callable[..., object], name: str, failed: Failed | None = None) -> Callable[..., None]:
    """Return a function that calls `work` with its arguments, and from which no exception comes out.

    `failed` receives it, of whatever type: the `set_exception` of a future, for example. Without it, or if it raises
    one itself, the exception is one line on stderr, with the name of the thread, such as "watch over the trainings".
    """

    def call(*arguments: object) -> None:
        try:
            try:
                work(*arguments)
            except BaseException as error:
                if failed is None:
                    raise
                failed(error)
        except BaseException as error:
            say(f"the {name} has ended in {error_line(error)}; please report this")

    return call


def start(work: Callable[..., object], *arguments: object, name: str, failed: Failed | None = None) -> threading.Thread:
    """Call work(*arguments) on a new thread, which keeps no process from ending; the rest is as for `guarded`."""
    thread = threading.Thread(target=guarded(work, name, failed), args=arguments, name=name, daemon=True)
    thread.start()
    return thread


def start_later(seconds: float, work: Callable[..., object], *arguments: object, name: str) -> threading.Timer:
    """Call work(*arguments) on a thread after so many seconds, unless the timer that is returned is canceled before."""
    timer = threading.Timer(seconds, guarded(work, name), arguments)
    timer.daemon = True
    timer.start()
    return timer
