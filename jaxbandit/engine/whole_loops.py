"""Loops that XLA's CPU compiler makes into one kernel each.

Its runtime calls the kernels of a loop's body one by one, which costs a round of few arms as much as its work. A pass
of the compiler makes a small loop one function instead; what is small is an option, a number of bytes. JAX lets a
program set the plain options of the compiler only, and this one lies in a map, so `wanted` adds it to the record of
options that JAX builds for the compiler: `get_compile_options`, which is not public. Where a JAX has no such function,
or its record another form, programs are compiled as they would be without: slower, with the same results to the byte.
"""

import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

OPTION = "xla_cpu_small_while_loop_byte_threshold"
SMALL = 1_000_000_000  # bytes that a turn of the loop reads and writes: every loop of the engine
# Of the state of one run, by measurement (RESULTS.md): longer passes over arms leave nothing to be gained, and a batch
# that compares all pairs of twelve arms loses a tenth.
STATE_BYTES, BATCH_STATE_BYTES = 40960, 1024
# Fields of XLA's messages CompileOptionsProto, ExecutableBuildOptionsProto and DebugOptions: compile_options.proto
# and xla.proto.
BUILD_OPTIONS, DEBUG_OPTIONS, BACKEND_OPTIONS = 3, 3, 500

_thread = threading.local()


@contextmanager
def wanted(wants: bool, searches: bool = False) -> Iterator[None]:
    """Within it, what this thread compiles for a CPU has its loops compiled whole, if it `wants` so and JAX can.

    Then, if `searches`, what it traces searches many arms one by one (search.py).
    """
    before = getattr(_thread, "wants", False), getattr(_thread, "searches", False)
    _thread.wants = wants and _hooked()
    _thread.searches = searches and _thread.wants
    try:
        yield
    finally:
        _thread.wants, _thread.searches = before


def searches() -> bool:
    """Whether what this thread traces is to search many arms one by one."""
    return getattr(_thread, "searches", False)


def with_option(options: Any) -> Any:
    """The compiler's options with OPTION in the map; as they are where it cannot be set, or the user has set it."""
    try:
        given = options.SerializeAsString()
        if OPTION.encode() in given:
            return options
        # A protocol buffer may hold a part of a message twice, and is read as both together.
        entry = _field(1, OPTION.encode()) + _field(2, str(SMALL).encode())
        message = _field(BUILD_OPTIONS, _field(DEBUG_OPTIONS, _field(BACKEND_OPTIONS, entry)))
        found = type(options).ParseFromString(given + message)
        return found if OPTION.encode() in found.SerializeAsString() else options
    except Exception:  # the form is JAX's own business
        return options


def _hooked() -> bool:
    """Let `wanted` reach the function that makes JAX's options, if it does not yet; whether there is one."""
    try:
        from jax._src import compiler

        make: Callable[..., Any] = compiler.get_compile_options
    except (ImportError, AttributeError):
        return False
    if hasattr(make, "with_whole_loops"):
        return True

    @functools.wraps(make)
    def get_compile_options(*arguments: Any, **options: Any) -> Any:
        made = make(*arguments, **options)
        return with_option(made) if getattr(_thread, "wants", False) else made

    get_compile_options.with_whole_loops = True  # pyright: ignore[reportFunctionMemberAccess, reportAttributeAccessIssue]
    compiler.get_compile_options = get_compile_options
    return True


def _field(number: int, data: bytes) -> bytes:
    """A field of a protocol buffer that holds bytes."""
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _varint(number: int) -> bytes:
    """A whole number >= 0, seven bits a byte, the lowest first."""
    low, rest = number & 127, number >> 7
    return bytes([low | 128]) + _varint(rest) if rest else bytes([low])
