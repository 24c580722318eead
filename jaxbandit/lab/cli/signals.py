"""Ctrl-C and SIGTERM on the command line: the state is saved, one line is printed, and the exit status is 3.

The signal handler raises no exception, which an import, a callback of XLA or an exit handler would swallow. A separate
thread receives the signal and asks the simulations to save and stop, or ends the process itself if none is running. It
does not wait for threads that still compile, and skips the shutdown of the interpreter, which would crash under them.
"""

import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from typing import NoReturn

from jaxbandit.engine.driver import interrupts
from jaxbandit.lab.cli.leaving import LINE, SIGNALS, last_line, leave
from jaxbandit.support import threads
from jaxbandit.support.refusals import error_line

TWICE = "interrupted twice, so not saved again; run the same command to resume from the last save"
GRACE = 5.0  # seconds to finish the current chunk; container managers usually kill ten seconds after SIGTERM
LEAVING = 0.3  # seconds that the main thread has to close its progress bar
TOGETHER = 0.5  # seconds within which signals count as one, because `timeout`, `srun` and others send theirs twice


def run(command: Callable[[], int]) -> int:
    """Return the status of a command, or end the process with status 3 on a signal. Call it in the main thread.

    Signals that the process was started to ignore stay ignored.
    """
    receiver, sender = socket.socketpair()
    sender.setblocking(False)
    signal.set_wakeup_fd(sender.detach(), warn_on_full_buffer=False)  # stays open as long as the process runs
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda *_: None)  # the byte written to the socket reports the signal
    threads.start(_listen, receiver, name="listener to signals")
    try:
        status = command()
    except KeyboardInterrupt as error:  # raised by a simulation that has saved its state, or by a gate, which says more
        leave(str(error) or last_line(LINE))
    if interrupts.asked():
        sys.stdout.flush()
        os._exit(status)
    return status


def _listen(receiver: socket.socket) -> None:
    receiver.recv(1)
    first = time.monotonic()
    interrupts.ask()
    threads.start(_stop, name="end on a signal", failed=_not_saved)
    while True:
        receiver.recv(1)
        if time.monotonic() - first > TOGETHER:
            leave(last_line(TWICE))


def _stop() -> None:
    """Save what is running, then end the process."""
    if not interrupts.stopped(GRACE):
        interrupts.save()
    time.sleep(LEAVING)
    leave(last_line(LINE))


def _not_saved(error: BaseException) -> NoReturn:
    what = getattr(error, "strerror", None) or error_line(error)
    leave(f"interrupted, but not saved ({what}); run the same command to resume from the last save")
