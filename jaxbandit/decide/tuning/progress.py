"""The progress that a search reports while it runs, and the progress bar or the lines that show it."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

from jaxbandit.support import checks, extras, threads
from jaxbandit.support.text import say

# Seconds before the first line, so that short searches, as in tests and notebooks, are silent. Each line comes
# after twice as many seconds as the one before it, but not more than LONGEST after it.
FIRST, LONGEST = 10.0, 600.0
SILENT = 60.0  # seconds without a training that has ended, after which a line says so; the next ones as above


class SearchProgress(NamedTuple):
    """The progress of a search."""

    trainings: int  # scored so far
    survivors: int  # configurations that have not been dropped
    best: int  # the survivor with the best mean
    score: float  # its mean; NaN before the first score


@contextmanager
def watched(report: Callable[[SearchProgress], None]) -> Iterator[Callable[[SearchProgress], None]]:
    """Yield a function like `report`, and print a line if it has not been called for long: something may hang."""
    over, last = threading.Event(), [time.monotonic()]

    def watch() -> None:
        due, since = SILENT, last[0]
        while not over.wait(max(since + due - time.monotonic(), 0.0)):
            if last[0] != since:
                due, since = SILENT, last[0]
            elif (passed := time.monotonic() - since) >= due:
                say(f"tune: no training has ended for {passed:,.0f} s; see 'A search hangs' in the FAQ")
                due = passed + min(passed, LONGEST)

    def heard(now: SearchProgress) -> None:
        last[0] = time.monotonic()
        report(now)

    threads.start(watch, name="watch over the trainings")
    try:
        yield heard
    finally:
        over.set()


@contextmanager
def reporting(progress: bool | Callable[[SearchProgress], None] | None) -> Iterator[Callable[[SearchProgress], None]]:
    """Yield what receives the progress: the caller's function, a bar or lines on stderr; unless it is False, watched.

    With False it is a function without effect.
    """
    if not callable(progress) and progress not in (None, True, False):
        checks.wrong("progress", progress, "a function, a boolean or None")
    if progress is False:
        yield lambda _: None
        return
    with ExitStack() as stack:
        report: Callable[[SearchProgress], None]
        if callable(progress):
            report = progress
        elif (tqdm := extras.bar(progress)) is None:
            report = _lines()
        else:
            bar = stack.enter_context(tqdm(desc="tune", unit="training", file=sys.stderr, leave=False))

            def show(now: SearchProgress) -> None:
                bar.set_postfix_str(_state(now), refresh=False)
                bar.update(now.trainings - bar.n)

            report = show

        yield stack.enter_context(watched(report))


def _lines() -> Callable[[SearchProgress], None]:
    """A function that prints a line now and then."""
    begun = time.monotonic()
    due = FIRST

    def show(now: SearchProgress) -> None:
        nonlocal due
        if (passed := time.monotonic() - begun) >= due:
            due = passed + min(passed, LONGEST)
            say(f"tune: {now.trainings:,} trainings in {passed:,.0f} s, {_state(now)}")

    return show


def _state(now: SearchProgress) -> str:
    best = f"best so far {now.best} ({now.score:.5g})" if now.score == now.score else "none scored yet"
    return f"{now.survivors:,} survivors, {best}"
