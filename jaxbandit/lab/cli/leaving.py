"""The end of a command on a signal: one line on stderr and status 3. It imports almost nothing, to be ready at once."""

import contextlib
import os
import signal
from _thread import allocate_lock
from typing import NoReturn

INTERRUPTED = 3  # the same command resumes
LINE = "interrupted; run the same command to resume"
ANEW = "interrupted; nothing is kept, and the same command begins anew"
SIGNALS = (signal.SIGINT, signal.SIGTERM)

_last = allocate_lock()  # the thread that acquires it prints the last line
_resumes = True


def keep_nothing() -> None:
    """Let every last line say that the same command begins anew, in place of what resumes."""
    global _resumes
    _resumes = False


def last_line(line: str) -> str:
    """Return a last line that says what resumes, or for a command that keeps nothing, that it begins anew."""
    return line if _resumes else ANEW


def from_the_start() -> None:
    """End the process as soon as a signal arrives, until `signals.run` saves what is running first.

    Signals that the process was started to ignore stay ignored.
    """
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda *_: leave(LINE))


def leave(line: str) -> NoReturn:
    """Print a last line and end the process immediately with status 3, without running exit handlers."""
    if _last.acquire(blocking=False):
        start = "\n" if os.isatty(2) else ""  # after ^C or a progress bar
        with contextlib.suppress(OSError):
            os.write(2, f"{start}jaxbandit: {line}\n".encode())
    os._exit(INTERRUPTED)
