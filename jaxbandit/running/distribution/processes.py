"""An executor of processes on this machine, which are spawned, pinned to separate cores, and replaced when they die.

Each worker is a pool with a single process, because a pool breaks as a whole if one of its workers is killed.
"""

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Sequence
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from multiprocessing.connection import Connection

from jaxbandit.running.distribution.driving import DEATHS, Lost
from jaxbandit.running.distribution.service import Service
from jaxbandit.support import threads


class Processes(Service):
    """An executor with `number` worker processes, which divide the cores that this process may use."""

    def __init__(self, number: int):
        super().__init__(number)
        self.cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
        self._dismissed = threading.Event()
        self._ends: set[Connection] = set()  # our ends of pipes; closing one ends the worker at the other end

    @property
    def threads(self) -> int:
        """Number of cores of each worker, at least one."""
        return max(len(self.cores) // self.number, 1)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the workers when all calls are done, or immediately with `cancel_futures`."""
        if cancel_futures:
            self._dismissed.set()
            with self._lock:
                for end in self._ends:
                    end.close()
        super().shutdown(wait, cancel_futures=cancel_futures)

    def _serve(self, place: int) -> None:
        """Serve one worker: send it one call at a time, and replace it when it dies."""
        share = self.cores[place % max(len(self.cores), 1) :: self.number]
        with contextlib.ExitStack() as worker:
            pool = None
            while (item := self._calls.get()) is not None:
                future, (fn, args, kwargs) = item
                if not future.set_running_or_notify_cancel():
                    continue
                for _ in range(DEATHS):
                    try:
                        pool = pool or self._worker(share, worker)
                        future.set_result(pool.submit(fn, *args, **kwargs).result())
                    except BrokenExecutor:
                        worker.close()
                        pool = None
                        if not self._dismissed.is_set():
                            continue
                        future.set_exception(Lost("dismissed"))
                    except BaseException as error:
                        future.set_exception(error)
                    break
                else:
                    future.set_exception(Lost(f"{DEATHS} workers died"))

    def _worker(self, share: Sequence[int], closing: contextlib.ExitStack) -> ProcessPoolExecutor:
        context = multiprocessing.get_context("spawn")  # JAX's threads do not survive a fork
        theirs, ours = context.Pipe(duplex=False)
        with self._lock:
            if self._dismissed.is_set():
                raise BrokenExecutor
            self._ends.add(ours)
        closing.callback(self._forget, ours)
        # The pool passes `theirs` to its process, which it starts with the first call.
        return closing.enter_context(
            ProcessPoolExecutor(1, mp_context=context, initializer=begin, initargs=(theirs, list(share)))
        )

    def _forget(self, end: Connection) -> None:
        with self._lock:
            self._ends.discard(end)
        end.close()


def begin(end: Connection, cores: Sequence[int]) -> None:
    """Initialize a worker: pin it to these cores, ignore SIGINT, and exit when the other end of the pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if cores and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, cores)
    threads.start(_watch, end, name="watch over the caller", failed=lambda _: os._exit(1))


def _watch(end: Connection) -> None:
    with contextlib.suppress(EOFError, OSError):
        end.recv()
    os._exit(1)
