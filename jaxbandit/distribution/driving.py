"""Calls on an executor: handed over a thousand at a time, taken back as they end, and given up where workers die."""

import queue
from collections.abc import Generator, Iterable
from concurrent.futures import BrokenExecutor, Future
from typing import Any

from jaxbandit.engine import interrupts

MOST = 1000  # calls handed over and not ended: an array of jobs of Slurm holds as many
DEATHS = 3  # workers that a call may cost
LOOK = 0.2  # seconds between two looks whether the process was asked to end


class Lost(RuntimeError):
    """A call whose workers died under it, one after the other, and which was given up."""


def is_lost(error: BaseException) -> bool:
    """Whether an executor gave a call up because its workers died; Dask has an error of its own for it."""
    return isinstance(error, Lost) or type(error).__name__ == "KilledWorker"


def is_broken(error: BaseException) -> bool:
    """Whether an executor can take no more calls, as one of `concurrent.futures` once a worker was killed."""
    return isinstance(error, BrokenExecutor)


def completed(executor: Any, calls: Iterable[tuple], most: int = MOST) -> Generator[tuple[tuple, Future]]:
    """Submit calls, each a function and its arguments, and yield each with its future once it has ended.

    At most `most` are handed over at a time. What has not begun is taken back when the caller stops listening.

    Raises:
      KeyboardInterrupt: the process has been asked to end.
    """
    waiting: dict[Future, tuple] = {}
    ended: queue.SimpleQueue[Future] = queue.SimpleQueue()
    left = iter(calls)
    try:
        while True:
            for call in left:
                future = executor.submit(*call)
                waiting[future] = call
                future.add_done_callback(ended.put)
                if len(waiting) >= most:
                    break
            if not waiting:
                return
            future = _next(ended)
            yield waiting.pop(future), future
    finally:
        for future in waiting:
            future.cancel()


def _next(ended: queue.SimpleQueue) -> Future:
    while True:
        try:
            return ended.get(timeout=LOOK)
        except queue.Empty:
            if interrupts.asked():
                raise KeyboardInterrupt from None
