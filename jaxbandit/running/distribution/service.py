"""Executors (PEP 3148) whose calls are served by threads of this process; no call waits for a thread that is gone."""

import contextlib
import queue
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future, InvalidStateError
from typing import Any

from jaxbandit.support import threads
from jaxbandit.support.refusals import error_line

Call = tuple[Callable[..., Any], tuple, dict[str, Any]]


class Service(Executor, ABC):
    """An executor with at most `number` threads, each of which begins with a call that is submitted.

    An exception that ends a thread becomes the exception of every call that has not ended, and no further one is
    accepted.
    """

    def __init__(self, number: int):
        self.number = number
        self._calls: queue.SimpleQueue[tuple[Future, Call] | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._closed = threading.Event()
        self._open: set[Future] = set()  # of the calls that have not ended
        self._error: BaseException | None = None  # the one that has ended a thread
        self._lock = threading.Lock()

    @abstractmethod
    def _serve(self, place: int) -> None:
        """Serve the calls of the queue, on thread number `place`."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future:
        """Schedule fn(*args, **kwargs) to be called, and return its future."""
        future: Future = Future()
        with self._lock:
            if self._error is not None:
                raise BrokenExecutor(f"a thread of the executor has ended in {error_line(self._error)}")
            if self._closed.is_set():
                raise RuntimeError("the executor has been shut down")
            if len(self._threads) < self.number:
                place = len(self._threads)
                name = f"thread {place} of {type(self).__name__}"
                self._threads.append(threads.start(self._serve, place, name=name, failed=self._broken))
            self._open.add(future)
            future.add_done_callback(self._open.discard)
            self._calls.put((future, (fn, args, kwargs)))
        return future

    def _broken(self, error: BaseException) -> None:
        with self._lock:
            self._error = self._error or error
            left = list(self._open)
        if not left:
            raise error  # nobody waits, so that it is said on stderr
        for future in left:
            with contextlib.suppress(InvalidStateError):  # another thread has just ended it
                future.set_exception(error)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the threads once all calls have ended, or cancel the calls that have not begun."""
        with self._lock:
            self._closed.set()
            left = list(self._open) if cancel_futures else []
            for _ in self._threads:
                self._calls.put(None)
        for future in left:
            future.cancel()
        if wait:
            for thread in self._threads:
                thread.join()

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        self.shutdown(cancel_futures=kind is not None)
