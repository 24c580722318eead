"""While a cell is played, a thread of its own compiles the program of the next one.

The thread plays, writes and prints nothing, and leaves an error to be raised when the cell's turn comes.
"""

import contextlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from jaxbandit.engine.layout import compiling
from jaxbandit.engine.layout.compiled import scopes_of_thread
from jaxbandit.support import threads


@contextlib.contextmanager
def compiler() -> Iterator[Callable[[Callable[[], Any]], None]]:
    """Yield a function that has a thread compile what a call of the engine needs, one call after another.

    On an error and on ctrl-C, a compilation that has begun is not waited for.
    """
    pool, scopes = ThreadPoolExecutor(1), scopes_of_thread()

    def compiled(call: Callable[[], Any]) -> None:
        with (
            contextlib.suppress(Exception, KeyboardInterrupt),
            scopes(),
            compiling.quietly(),
            compiling.only_compiling(),
        ):
            call()

    def compile(call: Callable[[], Any]) -> None:
        pool.submit(threads.guarded(compiled, "compilation ahead"), call)

    try:
        yield compile
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
