"""Executors that misbehave."""

import threading
from concurrent.futures import Executor, Future, ThreadPoolExecutor


class Now(Executor):
    """An executor that calls at once, and answers with what `answer` makes of each result."""

    def __init__(self):
        self.calls = 0

    def submit(self, fn, /, *args, **kwargs):
        self.calls += 1
        future = Future()
        self.answer(future, fn(*args, **kwargs))
        return future

    def answer(self, future, result):
        future.set_result(result)


class Backwards(Now):
    """An executor that ends calls in the opposite order, once nobody submits more."""

    def __init__(self):
        super().__init__()
        self.waiting = []

    def answer(self, future, result):
        self.waiting.append((future, result))
        if len(self.waiting) == 1:
            threading.Timer(0.05, self.end).start()

    def end(self):
        waiting, self.waiting = self.waiting, []
        for future, result in reversed(waiting):
            future.set_result(result)


class Swapping(Backwards):
    """An executor that gives each call the result of another."""

    def end(self):
        waiting, self.waiting = self.waiting, []
        for (future, _), (_, result) in zip(waiting, reversed(waiting), strict=True):
            future.set_result(result)


class Twice(Now):
    """An executor whose futures report twice that they have ended."""

    class Repeated(Future):
        def add_done_callback(self, fn):
            super().add_done_callback(fn)
            super().add_done_callback(fn)

    def submit(self, fn, /, *args):
        future = self.Repeated()
        future.set_result(fn(*args))
        return future


class Silent(Now):
    """An executor whose futures end without telling anybody."""

    class Mute(Future):
        def add_done_callback(self, fn):
            pass

    def submit(self, fn, /, *args):
        future = self.Mute()
        future.set_result(fn(*args))
        return future


class Stale(Now):
    """An executor that now and then answers with the result of the first call."""

    first = None

    def answer(self, future, result):
        self.first = self.first or result
        future.set_result(self.first if self.calls % 5 == 0 else result)


class Repeating(Stale):
    """An executor that answers every call with the result of the first."""

    def answer(self, future, result):
        self.first = self.first or result
        future.set_result(self.first)


class Always(Now):
    """An executor that answers every call with the same object, or error, from some call on."""

    def __init__(self, what, since=2):
        super().__init__()
        self.what, self.since = what, since

    def answer(self, future, result):
        if self.calls < self.since:
            future.set_result(result)
        elif isinstance(self.what, BaseException):
            future.set_exception(self.what)
        else:
            future.set_result(self.what)


class Cancelling(Now):
    """An executor that cancels its second call."""

    def answer(self, future, result):
        if self.calls == 2:
            future.cancel()
            future.set_running_or_notify_cancel()
        else:
            future.set_result(result)


class Closing(ThreadPoolExecutor):
    """An executor that closes itself before its second call."""

    def submit(self, fn, /, *args):
        future = super().submit(fn, *args)
        self.shutdown(wait=False)
        return future


class Shapeless(Exception):
    """An error that cannot be shown."""

    def __str__(self):
        raise RuntimeError("no text")


class Damaging(Now):
    """An executor on whose way back the data of every part but the first is damaged."""

    def answer(self, future, result):
        if self.calls > 1:
            result["parts"] = [piece | {"data": b"PK"} for piece in result["parts"]]
        future.set_result(result)


class Deaf(Executor):
    """An executor that accepts no call, from some call on."""

    def __init__(self, error, since=1):
        self.error, self.left = error, since

    def submit(self, fn, /, *args):
        self.left -= 1
        if self.left <= 0:
            raise self.error
        return Now().submit(fn, *args)


class NoFuture(Executor):
    """An executor that returns results in the place of futures."""

    def submit(self, fn, /, *args):
        return fn(*args)
