"""Ctrl-C and SIGTERM in the process of the command line: what is known is saved, one line is said, the status is 3.

No exception is raised where a signal happens to find the main thread: inside an import, a callback of XLA or an exit
handler it would be swallowed, or end in a traceback. A thread of our own hears the signal, also while the main thread
compiles, asks the simulations to save and to stop, and ends the process itself where nothing is being played. Threads
that still compile are never waited for: tearing the interpreter down under them crashes.
"""

import contextlib
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from typing import NoReturn

from jaxbandit.engine import interrupts

INTERRUPTED = 3
LINE = "interrupted; run the same command to resume"
TWICE = "interrupted twice, so not saved again; run the same command to resume from the last save"
GRACE = 5.0  # seconds for the chunk at hand: a container's manager kills ten seconds after SIGTERM
LEAVING = 0.3  # seconds for the main thread to close its progress bar
TOGETHER = 0.5  # seconds in which signals are one: `timeout`, `srun` and others send theirs twice
SIGNALS = (signal.SIGINT, signal.SIGTERM)

_last = threading.Lock()  # whoever takes it says the last line


def run(command: Callable[[], int]) -> int:
    """Return the status of a command, or end the process with 3 on a signal; for the main thread of a process of ours.

    Signals that the process was started to ignore stay ignored.
    """
    hears, wakes = socket.socketpair()
    wakes.setblocking(False)
    signal.set_wakeup_fd(wakes.detach(), warn_on_full_buffer=False)  # open as long as the process
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda *_: None)  # the byte in the socket tells it
    threading.Thread(target=_listen, args=(hears,), daemon=True).start()
    try:
        status = command()
    except KeyboardInterrupt:  # a simulation has saved and stopped
        leave(LINE)
    if interrupts.asked():
        sys.stdout.flush()
        os._exit(status)
    return status


def leave(line: str) -> NoReturn:
    """Say one last line and end the process at once with status 3; nothing is torn down, no exit handler runs."""
    if _last.acquire(blocking=False):
        start = "\n" if os.isatty(2) else ""  # behind ^C or a progress bar
        with contextlib.suppress(OSError):
            os.write(2, f"{start}jaxbandit: {line}\n".encode())
    os._exit(INTERRUPTED)


def _listen(hears: socket.socket) -> None:
    hears.recv(1)
    first = time.monotonic()
    interrupts.ask()
    threading.Thread(target=_stop, daemon=True).start()
    while True:
        hears.recv(1)
        if time.monotonic() - first > TOGETHER:
            leave(TWICE)


def _stop() -> None:
    """End the process when what is being played has been saved."""
    line = LINE
    if not interrupts.stopped(GRACE):
        try:
            interrupts.save()
        except OSError as error:
            line = f"interrupted; what is not saved is lost ({error.strerror}); run the same command to resume"
    time.sleep(LEAVING)
    leave(line)
