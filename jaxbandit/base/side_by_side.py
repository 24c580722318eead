"""Whether a function is being traced for many runs that are played side by side, as the engine plays them.

A function of one run may then choose operations that are faster there, if the results are the same.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_DECLARED = ContextVar("side_by_side", default=False)


@contextmanager
def declared() -> Iterator[None]:
    """A scope in which functions are traced for runs side by side; only the engine opens it."""
    token = _DECLARED.set(True)
    try:
        yield
    finally:
        _DECLARED.reset(token)


def is_declared() -> bool:
    """Return whether the function that asks is being traced in such a scope."""
    return _DECLARED.get()
