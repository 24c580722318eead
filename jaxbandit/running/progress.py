"""Progress on stderr, which counts run-steps for a fixed horizon and finished runs for algorithms that stop.

It is a bar on a terminal. Elsewhere it is a line every ten seconds, if the caller asks for it.
"""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from jaxbandit.base import extras
from jaxbandit.engine.driver.execution import Progress
from jaxbandit.engine.layout import compiling

LINE_SECONDS = 10.0


@contextmanager
def progress_bar(
    total: int, label: str, unit: str, show: bool | Callable[[Progress], None] | None = None, lines: bool = False
) -> Iterator[Callable[[Progress], None] | None]:
    """Yield a function that receives the engine's progress, from any thread, or None if nothing is shown.

    Args:
      total: number of run-steps or runs.
      label: text in front of the bar.
      unit: what the bar counts, "step" or "run". The remaining time of runs is estimated from all finished ones with
        equal weights.
      show: whether to show a bar on stderr. None shows one if stderr is a terminal and tqdm is installed. A function is
        yielded as it is. False also leaves out the line about a compilation that takes long.
      lines: whether to print a line every ten seconds if no bar is shown.
    """
    if callable(show):
        yield show
        return
    played = 0
    with compiling.quietly(show is False), _shown(total, label, unit, show, lines) as shown:

        def advance(progress: Progress) -> None:
            nonlocal played
            played += progress.run_steps
            assert shown is not None
            if unit == "step":
                shown(progress.run_steps, "")
            else:
                shown(progress.finished, f"{_rounded(played)} run-steps")

        yield None if shown is None else advance


@contextmanager
def _shown(
    total: int, label: str, unit: str, show: bool | None, lines: bool
) -> Iterator[Callable[[int, str], None] | None]:
    """Yield a function of the work done since its last call and a note; it may be called from any thread."""
    tqdm, lock = extras.bar(show), threading.Lock()
    if tqdm is None:
        if not lines or show is False:
            yield None
            return
        printed = _Lines(total, label, unit)

        def one_line(done: int, note: str) -> None:
            with lock:
                printed.add(done, note)

        yield one_line
        return
    options = {"unit_scale": True} if unit == "step" else {"smoothing": 0}
    with tqdm(total=total, desc=f"{label}: compiling", unit=unit, file=sys.stderr, leave=False, **options) as bar:

        def advance(done: int, note: str) -> None:
            with lock:
                bar.set_description_str(label, refresh=False)  # after the first report, the program is compiled
                bar.set_postfix_str(note, refresh=False)
                bar.update(done)

        yield advance


class _Lines:
    """A line on stderr every ten seconds."""

    def __init__(self, total: int, label: str, unit: str):
        self.total, self.label, self.unit = total, label, unit
        self.done = 0
        self.begun = self.last = time.monotonic()

    def add(self, done: int, note: str) -> None:
        """Add the work done, and print a line if the last one is at least ten seconds old."""
        self.done += done
        now = time.monotonic()
        if now - self.last < LINE_SECONDS:
            return
        self.last = now
        share = 100 * self.done / max(self.total, 1)
        line = f"{self.label}: {share:.0f} % of {_rounded(self.total)} {self.unit}s after {now - self.begun:.0f} s"
        print(f"{line}, {note}" if note else line, file=sys.stderr, flush=True)


def _rounded(number: int) -> str:
    """Return a number with three significant digits and the suffix k, M or G."""
    for unit, size in (("G", 10**9), ("M", 10**6), ("k", 10**3)):
        if number >= size:
            return f"{number / size:.3g}{unit}"
    return str(number)
