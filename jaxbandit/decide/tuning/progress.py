"""The progress that a search reports while it runs, and the progress bar that shows it."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from jaxbandit.base import extras
from jaxbandit.base.refusals import wrong


class Progress(NamedTuple):
    """The progress of a search."""

    trainings: int  # scored so far
    survivors: int  # configurations that have not been dropped
    best: int  # the survivor with the best mean
    score: float  # its mean; NaN before the first score


@contextmanager
def reporting(progress: bool | Callable[[Progress], None] | None, begun: int) -> Iterator[Callable[[Progress], None]]:
    """Yield a function that receives the progress: the caller's, one that updates a bar, or one without effect.

    Args:
      progress: a function to call, or True for a bar, or False for nothing. None shows a bar if stderr is a terminal
        and tqdm is installed.
      begun: number of trainings that were scored before.
    """
    if callable(progress):
        yield progress
        return
    if progress not in (None, True, False):
        wrong("tune: progress", progress, "a function, a boolean or None")
    tqdm = extras.bar(progress)
    if tqdm is None:
        yield lambda _: None
        return
    with tqdm(desc="tune", unit="training", initial=begun, file=sys.stderr, leave=False) as bar:

        def show(now: Progress) -> None:
            best = f"best so far {now.best} ({now.score:.5g})" if now.score == now.score else "none scored yet"
            bar.set_postfix_str(f"{now.survivors:,} survivors, {best}", refresh=False)
            bar.update(now.trainings - bar.n)

        yield show
