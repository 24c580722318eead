"""Limits of time: calls that nobody has to wait for, because they run on threads that may be left behind.

A call that never returns cannot be ended within its process: a compiled program does not look at anything until it
ends, nor does a thread of Python. It can only be left alone. Its thread is a daemon, which does not keep the process
from ending, and until then it computes on.
"""

import queue
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from typing import Any

from jaxbandit.base import durations
from jaxbandit.base.refusals import refuse
from jaxbandit.engine.layout import compiled

LATE = "did not end within"  # how the reason of a training begins that nobody has waited for


class Daemons(Executor):
    """An executor whose threads are daemons: nobody waits for a call that never returns, not even at the end."""

    def __init__(self, workers: int):
        """Begin with threads that wait for calls."""
        self._calls: queue.SimpleQueue[tuple[Future, Callable, tuple] | None] = queue.SimpleQueue()
        self._workers = workers
        for number in range(workers):
            threading.Thread(target=self._work, name=f"train-{number}", daemon=True).start()

    def submit(self, fn: Callable, /, *args: Any, **kwargs: Any) -> Future:
        """Return the future of a call."""
        future: Future = Future()
        self._calls.put((future, fn, args))
        return future

    def shutdown(self, wait: bool = False, *, cancel_futures: bool = False) -> None:
        """Let the threads end after the calls that they have begun; nobody waits for them."""
        for _ in range(self._workers):
            self._calls.put(None)

    def _work(self) -> None:
        while (call := self._calls.get()) is not None:
            future, function, arguments = call
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(function(*arguments))
            except BaseException as error:
                future.set_exception(error)


def each_of(where: str, value: Any) -> float | None:
    """Return timeout_each in seconds, None without one; raise a BadInput if it is no length of time above 0."""
    limit = None if value is None else durations.seconds(where, "timeout_each", value)
    if limit == 0:
        refuse(where, ": timeout_each = 0, must be a number of seconds > 0")
    return limit


class LateError(Exception):
    """Raised for a call that has not returned in time, which is left behind on its thread."""


def within(seconds: float, function: Callable, *arguments: Any) -> Any:
    """Return function(*arguments), or raise a LateError if it has not returned after so many seconds."""
    scope, ended = compiled.scopes_of_thread(), []

    def run() -> None:
        try:
            with scope():
                ended.append((function(*arguments), None))
        except BaseException as error:
            ended.append((None, error))

    thread = threading.Thread(target=run, name="train", daemon=True)
    thread.start()
    thread.join(seconds)
    if not ended:
        raise LateError(f"{LATE} {seconds:g} s")
    result, error = ended[0]
    if error is not None:
        raise error
    return result


@contextmanager
def daemons(workers: int) -> Iterator[Daemons]:
    """Yield an executor whose threads end afterwards, without anybody waiting for them."""
    pool = Daemons(workers)
    try:
        yield pool
    finally:
        pool.shutdown()
