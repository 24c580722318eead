"""Submission of calls to an executor, at most a thousand at a time, and collection of their results."""

import queue
from collections.abc import Generator, Iterable
from concurrent.futures import BrokenExecutor, Executor, Future

from jaxbandit.engine.driver import interrupts

MOST = 1000  # largest number of unfinished calls, which is also the size of a Slurm job array
DEATHS = 3  # number of workers that may die during a call before it is abandoned
LOOK = 0.2  # seconds between two checks whether the process was asked to stop


class Lost(RuntimeError):
    """A call was abandoned, because its workers died one after the other or because it was cancelled."""


def is_lost(error: BaseException) -> bool:
    """Whether an executor abandoned a call because its workers died; Dask has its own error type for this."""
    return isinstance(error, Lost) or type(error).__name__ == "KilledWorker"


def is_broken(error: BaseException) -> bool:
    """Whether an executor accepts no more calls, as an executor of `concurrent.futures` whose worker was killed."""
    return isinstance(error, BrokenExecutor)


def completed(executor: Executor, calls: Iterable[tuple], most: int = MOST) -> Generator[tuple[tuple, Future]]:
    """Submit calls, each a function and its arguments, and yield each call with its future when it is done.

    At most `most` calls are submitted and not done at a time. When the generator is closed, calls that have not
    started are cancelled.

    Raises:
      KeyboardInterrupt: the process has been asked to stop.
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
