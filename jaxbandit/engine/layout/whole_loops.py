"""Loops that XLA turns into a single kernel on a CPU, where calling the kernels of a body costs as much as a round.

From JAX 0.12 on, XLA does so for all loops; before, `whole_loops_option.py` asks for it.
"""

import functools
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

import jax

from jaxbandit.support import cpuinfo

BY_XLA = jax.__version_info__ >= (0, 12)  # whether XLA compiles loops whole without being asked
ALLOWED = True  # if False, loops are compiled as XLA does by itself, and nothing is searched arm by arm; for comparison
# Largest state of one run for which this is faster (measured in benchmarks/results/engine.md): with many arms nothing
# is gained, and batches that compare all pairs of twelve arms become a tenth slower.
STATE_BYTES, BATCH_STATE_BYTES = 40960, 1024

_thread = threading.local()


@contextmanager
def whole(wanted: bool, searches: bool = False) -> Iterator[None]:
    """Context manager in which this thread compiles loops for a CPU whole, if `wanted` is True and JAX supports it.

    With `searches`, functions traced in it compute an argmax over many arms arm by arm (`search.py`).
    """
    before = searches_arms()
    with _asked(wanted and ALLOWED) as are_whole:
        _thread.searches = searches and are_whole
        try:
            yield
        finally:
            _thread.searches = before


def searches_arms() -> bool:
    """Whether functions traced by this thread should compute an argmax over many arms arm by arm."""
    return getattr(_thread, "searches", False)


@functools.cache
def has_wide_vectors() -> bool:
    """Whether a vector of this CPU has 512 bits, as far as its system says."""
    try:
        return any("avx512f" in line.split() for line in cpuinfo.lines(("flags",)))
    except OSError:
        return False


def _asked(wanted: bool) -> AbstractContextManager[bool]:
    """Context manager that yields whether the loops that this thread compiles are whole, as wanted."""
    if BY_XLA:
        return nullcontext(wanted)
    from jaxbandit.engine.layout import whole_loops_option  # uses a private name of JAX

    return whole_loops_option.asked(wanted)
