"""Submission of calls to an executor, at most a thousand at a time, and collection of their results."""

import queue
import time
from collections.abc import Collection, Generator, Iterable
from concurrent.futures import BrokenExecutor, Executor, Future

from jaxbandit.engine.driver import interrupts
from jaxbandit.support.refusals import error_line, refuse

MOST = 1000  # largest number of unfinished calls, which is also the size of a Slurm job array
DEATHS = 3  # number of workers that may die, or of answers that may be missing, before a call is abandoned
LOOK = 0.2  # seconds between two checks whether the process was asked to stop


class Lost(RuntimeError):
    """A call was abandoned, because its workers died one after the other or because it was cancelled."""


def is_lost(error: BaseException) -> bool:
    """Whether an executor abandoned a call because its workers died; Dask has its own error type for this."""
    return isinstance(error, Lost) or type(error).__name__ == "KilledWorker"


def is_cancelled(error: BaseException) -> bool:
    """Whether somebody has cancelled a call; `concurrent.futures`, `asyncio` and Dask each have an error for this."""
    return type(error).__name__.endswith("CancelledError")


def is_broken(error: BaseException) -> bool:
    """Whether an executor accepts no more calls, as an executor of `concurrent.futures` whose worker was killed."""
    return isinstance(error, BrokenExecutor)


class CallQueue:
    """Calls that an executor has received, and of which nobody has taken the result."""

    def __init__(self, executor: Executor):
        """Begin without calls."""
        self.calls: dict[Future, tuple] = {}  # each a function and its arguments, by its future
        self._executor = executor
        self._ended: queue.SimpleQueue[Future] = queue.SimpleQueue()

    def put(self, call: tuple) -> None:
        """Submit a call to the executor; whatever goes wrong is what `Executor.submit` raises, or a BadInput."""
        future = _submitted(self._executor, call)
        self.calls[future] = call
        future.add_done_callback(self._ended.put)

    def take(self, deadline: float | None = None) -> tuple[tuple, Future] | None:
        """Wait for a call that is done, whether or not it reports it, and take it; None once the deadline is reached.

        `deadline` is a time of the clock time.monotonic.
        """
        future = _next(self._ended, self.calls, deadline)
        return None if future is None else (self.calls.pop(future), future)

    @property
    def idle(self) -> bool:
        """Whether no call has reported that it is done."""
        return self._ended.empty()

    def cancel(self) -> list[tuple]:
        """Cancel the calls that have not started, wait for none, and return those that will never start."""
        calls, self.calls = self.calls, {}
        return [call for future, call in calls.items() if future.cancel()]


def completed(
    executor: Executor, calls: Iterable[tuple], most: int = MOST, deadline: float | None = None
) -> Generator[tuple[tuple, Future]]:
    """Submit calls, each a function and its arguments, and yield each call with its future when it is done.

    At most `most` calls are submitted and not done at a time. When the generator is closed, or `deadline` is reached by
    the clock time.monotonic, calls that have not started are cancelled, and nobody waits for the others.
    """
    waiting, left, refusal = CallQueue(executor), iter(calls), None
    try:
        while True:
            for call in left:
                try:
                    waiting.put(call)
                except Exception as error:  # raised once the calls that were submitted before have ended
                    left, refusal = iter(()), error
                    break
                if len(waiting.calls) >= most:
                    break
            if not waiting.calls:
                break
            if (taken := waiting.take(deadline)) is None:
                return
            yield taken
        if refusal is not None:
            raise refusal
    finally:
        waiting.cancel()


def _submitted(executor: Executor, call: tuple) -> Future:
    try:
        future = executor.submit(*call)
    except BrokenExecutor:
        raise
    except Exception as error:
        refuse("executor", f": accepts no call ({error_line(error)}); give one that is open")
    if not all(callable(getattr(future, name, None)) for name in ("add_done_callback", "done", "result", "cancel")):
        refuse("executor", f": submit returns a {type(future).__name__}, must return a Future as in PEP 3148")
    return future


def _next(ended: queue.SimpleQueue, waiting: Collection[Future], deadline: float | None) -> Future | None:
    """Return a future of `waiting` that is done, whether or not it reports it; None once the deadline is reached."""
    while True:
        wait = LOOK if deadline is None else min(LOOK, deadline - time.monotonic())
        if wait <= 0:
            return None
        try:
            future = ended.get(timeout=wait)
        except queue.Empty:
            if interrupts.asked():
                raise KeyboardInterrupt from None
            for future in waiting:
                if future.done():
                    ended.put(future)
            continue
        if future in waiting:
            return future
