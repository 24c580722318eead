"""An executor (PEP 3148) on top of submitit: calls become Slurm jobs, and calls submitted together a job array."""

import queue
import threading
import time
from collections import Counter
from concurrent.futures import Future
from typing import TYPE_CHECKING

from jaxbandit.running.distribution.driving import DEATHS, Lost
from jaxbandit.running.distribution.service import Call, Service

if TYPE_CHECKING:
    from submitit import AutoExecutor, Job

TOGETHER = 0.5  # seconds within which calls are combined into one job array
LOOK = 0.5  # seconds between two checks of the jobs; submitit itself queries Slurm less often


class Jobs(Service):
    """Run calls as jobs of a `submitit.AutoExecutor`; a job that ends without a result is submitted again."""

    def __init__(self, submitit: "AutoExecutor"):
        super().__init__(1)
        self._submitit = submitit
        self._cancelled = threading.Event()
        self._deaths: Counter[Future] = Counter()  # how many jobs of a call have ended without a result

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Wait for the jobs, or cancel them."""
        if cancel_futures:
            self._cancelled.set()
        super().shutdown(wait, cancel_futures=cancel_futures)

    def _serve(self, place: int) -> None:
        waiting: list[tuple[Future, Call, Job]] = []
        while not (self._closed.is_set() and self._calls.empty() and not waiting):
            waiting += self._submitted()
            waiting = [item for item in waiting if not self._ended(*item)]
            time.sleep(LOOK if waiting else 0.0)

    def _submitted(self) -> list[tuple[Future, Call, "Job"]]:
        """Submit the calls that have arrived since the last check, as one job array."""
        taken, until = [], time.monotonic() + TOGETHER
        while True:
            try:
                item = self._calls.get(timeout=max(until - time.monotonic(), 0.0))
            except queue.Empty:
                break
            if item is not None and (item[0].running() or item[0].set_running_or_notify_cancel()):
                taken.append(item)
        if not taken:
            return []
        try:
            if self._cancelled.is_set():
                raise Lost("cancelled")
            with self._submitit.batch():
                jobs = [self._submitit.submit(fn, *args, **kwargs) for _, (fn, args, kwargs) in taken]
        except BaseException as error:  # sbatch is missing or the disk is full, for example
            for future, _ in taken:
                future.set_exception(error)
            return []
        return [(*item, job) for item, job in zip(taken, jobs, strict=True)]

    def _ended(self, future: Future, call: Call, job: "Job") -> bool:
        """Return whether a job has ended or is canceled; its future then has a result, or its call a place again."""
        from submitit.core.utils import UncompletedJobError

        try:
            if self._cancelled.is_set():
                job.cancel()
                raise Lost("cancelled")
            if not job.done():
                return False
            future.set_result(job.result())
        except UncompletedJobError:
            self._deaths[future] += 1
            if self._deaths[future] < DEATHS:
                self._calls.put((future, call))
            else:
                future.set_exception(Lost(f"{DEATHS} jobs ended without a result"))
        except BaseException as error:
            future.set_exception(error)
        return True
