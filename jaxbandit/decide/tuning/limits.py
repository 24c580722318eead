"""Limits of time: calls that nobody has to wait for, because they run on threads that may be left behind.

A call that never returns cannot be ended within its process. Its thread is a daemon, which does not keep the process
from ending, and until then it computes on.
"""

import asyncio
import functools
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from typing import Any

from jaxbandit.engine.layout import compiled
from jaxbandit.running.distribution.service import Service
from jaxbandit.support import threads


class Daemons(Service):
    """An executor whose threads are daemons: nobody waits for a call that never returns, not even at the end."""

    def _serve(self, place: int) -> None:
        while (item := self._calls.get()) is not None:
            future, (function, arguments, options) = item
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(function(*arguments, **options))
            except BaseException as error:
                future.set_exception(error)


class LateError(Exception):
    """Raised for a call that has not returned in time, which is left behind on its thread."""


def within(seconds: float, function: Callable, *arguments: Any) -> Any:
    """Return function(*arguments), or raise a LateError if it has not returned after so many seconds."""
    scope, ended = compiled.scopes_of_thread(), Future()

    def run() -> None:
        with scope():
            ended.set_result(function(*arguments))

    threads.start(run, name="training", failed=ended.set_exception)
    wait([ended], seconds)
    if not ended.done():
        raise LateError(f"did not end within {seconds:g} s")
    return ended.result()


def wait_for(seconds: float | None, work: Awaitable) -> Any:
    """Return what is awaited on the event loop of this process; cancel it and raise a LateError after `seconds`."""

    async def result() -> Any:
        return await work

    future = asyncio.run_coroutine_threadsafe(result(), _loop())
    wait([future], seconds)
    if not future.done():
        future.cancel()
        raise LateError(f"did not end within {seconds:g} s")
    return future.result()


@functools.cache
def _loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threads.start(loop.run_forever, name="event loop of the trainings")
    return loop


@contextmanager
def daemons(workers: int) -> Iterator[Daemons]:
    """Yield an executor whose threads end afterwards, without anybody waiting for them."""
    pool = Daemons(workers)
    try:
        yield pool
    finally:
        pool.shutdown(wait=False)
