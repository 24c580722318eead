"""A compiler option by which JAX below 0.12 turns the loops of a CPU program into a single kernel.

Delete this module when the oldest JAX of pyproject.toml is 0.12. It is the only one that names a private module of JAX:
`asked` adds the option to those that JAX builds in `get_compile_options`. If there is no such function, programs are
slower, with the same results to the byte.
"""

import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import jax

OPTION = "xla_cpu_small_while_loop_byte_threshold"
SMALL = 1_000_000_000  # bytes that an iteration reads and writes; large enough for every loop of the engine
# Field numbers in XLA's messages CompileOptionsProto, ExecutableBuildOptionsProto and DebugOptions, from
# compile_options.proto and xla.proto.
BUILD_OPTIONS, DEBUG_OPTIONS, BACKEND_OPTIONS = 3, 3, 500

_thread = threading.local()


@contextmanager
def asked(wanted: bool) -> Iterator[bool]:
    """Context manager in which this thread compiles loops for a CPU whole if `wanted`; yields whether it does."""
    assert jax.__version_info__ < (0, 12), "from JAX 0.12 on, XLA compiles loops whole by itself"
    before = getattr(_thread, "wanted", False)
    _thread.wanted = wanted and _hooked()
    try:
        yield _thread.wanted
    finally:
        _thread.wanted = before


def with_option(options: Any) -> Any:
    """The compiler's options with OPTION added; unchanged if it cannot be set, or if the user has set it."""
    try:
        serialized = options.SerializeAsString()
        if OPTION.encode() in serialized:
            return options
        # If a protocol buffer contains a message field twice, the parser merges both.
        entry = _field(1, OPTION.encode()) + _field(2, str(SMALL).encode())
        message = _field(BUILD_OPTIONS, _field(DEBUG_OPTIONS, _field(BACKEND_OPTIONS, entry)))
        merged = type(options).ParseFromString(serialized + message)
        return merged if OPTION.encode() in merged.SerializeAsString() else options
    except Exception:  # the form is internal to JAX
        return options


def options_module() -> Any:
    """JAX's private module whose `get_compile_options` builds the compiler's options; None if this JAX has none."""
    try:
        from jax._src import compiler
    except ImportError:
        return None
    return compiler if hasattr(compiler, "get_compile_options") else None


def _hooked() -> bool:
    """Wrap the function that builds JAX's compiler options, unless that was done; return whether there is one."""
    compiler = options_module()
    if compiler is None:
        return False
    make: Callable[..., Any] = compiler.get_compile_options
    if hasattr(make, "with_whole_loops"):
        return True

    @functools.wraps(make)
    def get_compile_options(*arguments: Any, **options: Any) -> Any:
        made = make(*arguments, **options)
        return with_option(made) if getattr(_thread, "wanted", False) else made

    get_compile_options.with_whole_loops = True  # pyright: ignore[reportFunctionMemberAccess, reportAttributeAccessIssue]
    compiler.get_compile_options = get_compile_options
    return True


def _field(number: int, data: bytes) -> bytes:
    """The encoding of a field of bytes in a protocol buffer."""
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _varint(number: int) -> bytes:
    """The variable-length encoding of an integer >= 0: seven bits per byte, the lowest first."""
    low, rest = number & 127, number >> 7
    return bytes([low | 128]) + _varint(rest) if rest else bytes([low])
