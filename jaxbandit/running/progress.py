"""Progress on stderr, which counts run-steps for a fixed horizon and finished runs for algorithms that stop.

It is a bar on a terminal, and elsewhere a line every ten seconds, if the caller asks for it.
"""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from jaxbandit.engine.driver.execution import Progress
from jaxbandit.engine.layout import compiling
from jaxbandit.support import extras, text

LINE_SECONDS = 10.0
LOOK_SECONDS = 1.0  # after the first report, until which the program was compiled
LONG_SECONDS = 60.0


@contextmanager
def progress_bar(
    total: int,
    label: str,
    unit: str,
    show: bool | Callable[[Progress], None] | None = None,
    lines: bool = False,
    alike: bool = True,
) -> Iterator[Callable[[Progress], None] | None]:
    """Yield a function that receives the engine's progress, from any thread, or None if nothing is shown.

    The bar counts `total` run-steps or runs, as `unit` says. `show` is that of Execution. `lines` asks for a line every
    ten seconds where there is no bar. Steps are `alike` if all take about as long as the first ones.
    """
    if callable(show):
        yield show
        return
    played = 0
    with compiling.quietly(show is False), _shown(total, label, unit, show, lines, alike) as shown:

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
    total: int, label: str, unit: str, show: bool | None, lines: bool, alike: bool
) -> Iterator[Callable[[int, str], None] | None]:
    """Yield a function of the work done since its last call and a note; it may be called from any thread."""
    tqdm, lock = extras.bar(show), threading.Lock()
    if tqdm is None:
        told = [_Lines(total, label, unit)] if lines else []
        told += [_Estimate(total, label)] if alike and unit == "step" else []
        if not told or show is False:
            yield None
            return

        def one_line(done: int, note: str) -> None:
            with lock:
                now = time.monotonic()
                for each in told:
                    each.add(done, note, now)

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

    def add(self, done: int, note: str, now: float) -> None:
        """Add the work done, and print a line if the last one is at least ten seconds old."""
        self.done += done
        if now - self.last < LINE_SECONDS:
            return
        self.last = now
        share = 100 * self.done / max(self.total, 1)
        line = f"{self.label}: {share:.0f} % of {_rounded(self.total)} {self.unit}s after {now - self.begun:.0f} s"
        print(f"{line}, {note}" if note else line, file=sys.stderr, flush=True)


class _Estimate:
    """One line on stderr about how long the steps take, if that is long."""

    def __init__(self, total: int, label: str):
        self.total, self.label = total, label
        self.done = 0
        self.first: float | None = None  # when the first report came
        self.ended = False

    def add(self, done: int, note: str, now: float) -> None:
        """Add the work done, and print the line once enough of it has been timed."""
        if self.first is None:
            self.first = now
            return
        self.done += done
        elapsed = now - self.first
        if self.ended or elapsed < LOOK_SECONDS or not self.done:
            return
        self.ended = True
        seconds = self.total * elapsed / self.done
        if seconds > LONG_SECONDS:
            text.say(f"{self.label}: {_rounded(self.total)} steps take about {_duration(seconds)}")


def _duration(seconds: float) -> str:
    """Return a time of more than a minute in words."""
    for name, size in (("days", 86400), ("h", 3600)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {name}"
    return f"{seconds / 60:.0f} min"


def _rounded(number: int) -> str:
    """Return a number with three significant digits and the suffix k, M or G."""
    for unit, size in (("G", 10**9), ("M", 10**6), ("k", 10**3)):
        if number >= size:
            return f"{number / size:.3g}{unit}"
    return str(number)
