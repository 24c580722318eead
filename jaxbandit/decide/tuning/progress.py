"""The progress that a search reports while it runs, and the progress bar or the lines that show it."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from jaxbandit.support import extras, threads
from jaxbandit.support.refusals import wrong
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
def reporting(
    progress: bool | Callable[[SearchProgress], None] | None, begun: int
) -> Iterator[Callable[[SearchProgress], None]]:
    """Yield a function that receives the progress, as `_shown`; unless it is False, silence is reported, too."""
    with _shown(progress, begun) as report:
        if progress is False:
            yield report
            return
        with watched(report) as heard:
            yield heard


@contextmanager
def _shown(
    progress: bool | Callable[[SearchProgress], None] | None, begun: int
) -> Iterator[Callable[[SearchProgress], None]]:
    """Yield a function that receives the progress: the caller's, one that shows it on stderr, or one without effect."""
    if callable(progress):
        yield progress
        return
    if progress not in (None, True, False):
        wrong("tune: progress", progress, "a function, a boolean or None")
    tqdm = extras.bar(progress)
    if tqdm is None:
        yield (lambda _: None) if progress is False else _lines()
        return
    with tqdm(desc="tune", unit="training", initial=begun, file=sys.stderr, leave=False) as bar:

        def show(now: SearchProgress) -> None:
            bar.set_postfix_str(_state(now), refresh=False)
            bar.update(now.trainings - bar.n)

        yield show


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
