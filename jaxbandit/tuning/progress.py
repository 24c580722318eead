"""What a search reports while it goes on, and the bar that shows it."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from jaxbandit import extras
from jaxbandit.refusals import wrong


class Progress(NamedTuple):
    """How far a search is."""

    trainings: int  # scored so far
    survivors: int  # configurations still in question
    best: int  # the one of the best mean among them
    score: float  # its mean; NaN before the first score


@contextmanager
def reporting(progress: bool | Callable[[Progress], None] | None, begun: int) -> Iterator[Callable[[Progress], None]]:
    """Yield what takes the progress: the caller's function, a bar on stderr, or nothing.

    Args:
      progress: a function; True, a bar; None, a bar where stderr is a terminal and tqdm is installed; False, nothing.
      begun: trainings that were scored before.
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
            best = f"best so far {now.best} ({now.score:.5g})" if now.score == now.score else "none scored"
            bar.set_postfix_str(f"{now.survivors:,} left, {best}", refresh=False)
            bar.update(now.trainings - bar.n)

        yield show
