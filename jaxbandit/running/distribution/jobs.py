"""An executor (PEP 3148) on top of submitit: calls become Slurm jobs, and calls submitted together a job array."""

import contextlib
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import TYPE_CHECKING, Any

from jaxbandit.running.distribution.driving import DEATHS, Lost

if TYPE_CHECKING:
    from submitit import AutoExecutor, Job

Call = tuple[Callable[..., Any], tuple, dict[str, Any]]

TOGETHER = 0.5  # seconds within which calls are combined into one job array
LOOK = 0.5  # seconds between two checks of the jobs; submitit itself queries Slurm less often


class Jobs(Executor):
    """Run calls as jobs of a submitit executor; a job that ends without a result is submitted again.

    Args:
      submitit: a `submitit.AutoExecutor(...)` whose parameters are set.
    """

    def __init__(self, submitit: "AutoExecutor"):
        self._submitit = submitit
        self._new: queue.SimpleQueue[tuple[Future, Call, int]] = queue.SimpleQueue()
        self._closed = threading.Event()
        self._cancelled = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future:
        """Schedule fn(*args, **kwargs) to be called in a job."""
        if self._closed.is_set():
            raise RuntimeError("the executor has been shut down")
        future: Future = Future()
        self._new.put((future, (fn, args, kwargs), 0))
        if not self._thread.ident:
            self._thread.start()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Wait for the jobs, or cancel them."""
        if cancel_futures:
            self._cancelled.set()
        self._closed.set()
        if wait and self._thread.ident:
            self._thread.join()

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        self.shutdown(cancel_futures=kind is not None)

    def _serve(self) -> None:
        waiting: list[tuple[Future, Call, int, Job]] = []
        while not (self._closed.is_set() and self._new.empty() and not waiting):
            try:
                waiting += self._submitted()
            except BaseException as error:  # sbatch is missing or the disk is full, for example: all calls fail
                for future, *_ in waiting:
                    future.set_exception(error)
                return
            left = []
            for item in waiting:
                if self._cancelled.is_set():
                    item[3].cancel()
                    item[0].set_exception(Lost("cancelled"))
                elif item[3].done():
                    self._ended(*item)
                else:
                    left.append(item)
            waiting = left
            time.sleep(LOOK if waiting else 0.0)

    def _submitted(self) -> list[tuple[Future, Call, int, "Job"]]:
        """Submit the calls that have arrived since the last check, as one job array."""
        calls, until = [], time.monotonic() + TOGETHER
        with contextlib.suppress(queue.Empty):
            while True:
                item = self._new.get(timeout=max(until - time.monotonic(), 0.0))
                if item[2] or item[0].set_running_or_notify_cancel():
                    calls.append(item)
        if not calls or self._cancelled.is_set():
            return []
        try:
            with self._submitit.batch():
                jobs = [self._submitit.submit(fn, *args, **kwargs) for _, (fn, args, kwargs), _ in calls]
        except BaseException as error:
            for future, *_ in calls:
                future.set_exception(error)
            return []
        return [(*call, job) for call, job in zip(calls, jobs, strict=True)]

    def _ended(self, future: Future, call: Call, deaths: int, job: "Job") -> None:
        from submitit.core.utils import UncompletedJobError

        try:
            future.set_result(job.result())
        except UncompletedJobError:
            if deaths + 1 < DEATHS:
                self._new.put((future, call, deaths + 1))
            else:
                future.set_exception(Lost(f"{DEATHS} jobs ended without a result"))
        except BaseException as error:
            future.set_exception(error)
