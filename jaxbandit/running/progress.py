"""Progress bars on stderr, which count run-steps for a fixed horizon and finished runs for algorithms that stop."""

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from jaxbandit import extras


@contextmanager
def progress_bar(total: int, label: str, show: bool | None = None) -> Iterator[Callable[[int], None] | None]:
    """Yield a function that advances a bar of `total` run-steps on stderr, or None if no bar is shown.

    By default, the bar is shown if stderr is a terminal and tqdm is installed; `show` overrides this.
    """
    tqdm = extras.bar(show)
    if tqdm is None:
        yield None
        return
    lock = threading.Lock()  # the engine reports from its worker threads

    with tqdm(total=total, desc=label, unit="step", unit_scale=True, file=sys.stderr, leave=False) as bar:

        def advance(steps: int) -> None:
            with lock:
                bar.update(steps)

        yield advance


@contextmanager
def runs_bar(total: int, label: str, show: bool | None = None) -> Iterator[Callable[[Any], None] | None]:
    """Yield a function that advances a bar of `total` runs on stderr, or None if no bar is shown.

    The remaining time is estimated from all finished runs with equal weights. By default, the bar is shown if stderr
    is a terminal and tqdm is installed; `show` overrides this.
    """
    tqdm = extras.bar(show)
    if tqdm is None:
        yield None
        return
    lock, steps = threading.Lock(), 0  # the engine reports from its worker threads

    with tqdm(total=total, desc=label, unit="run", smoothing=0, file=sys.stderr, leave=False) as bar:

        def advance(progress: Any) -> None:
            nonlocal steps
            with lock:
                steps += progress.run_steps
                bar.set_postfix_str(f"{tqdm.format_sizeof(steps)} run-steps", refresh=False)
                bar.update(progress.finished)

        yield advance
