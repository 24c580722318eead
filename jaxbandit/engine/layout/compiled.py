"""Compilation of functions, and a cache of the functions that earlier calls have compiled."""

import functools
import itertools
import os
import threading
import warnings
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

import jax
from jax.stages import Lowered

from jaxbandit.engine.layout import compiling, program_files, whole_loops
from jaxbandit.support.numerics import lapack_lock
from jaxbandit.support.types import Device, PyTree

MOST = 64  # programs in the cache
CPU_OPTIONS = {
    "xla_cpu_prefer_vector_width": 512,  # twice the default; the compiler uses less if the CPU does not support it
    "xla_cpu_multi_thread_eigen": False,
    # Reductions must not become library calls, which store the operand, split it over threads and wait for them.
    "xla_cpu_experimental_ynn_fusion_type": "",
}
MORE_OPTIONS: dict[str, Any] = {}  # further compiler options for every platform; empty unless a caller adds some

# Options of JAX with a context manager in `jax`, which the threads of a call take up.
SCOPES = (
    "enable_x64 explicit_x64_dtypes default_device default_matmul_precision default_prng_impl threefry_partitionable "
    "enable_custom_prng legacy_prng_key numpy_dtype_promotion numpy_rank_promotion debug_nans debug_infs "
    "debug_key_reuse softmax_custom_jvp allow_f16_reductions enable_checks"
).split()
# Options that change what is computed or how it is compiled, although they are no part of JAX's own trace context.
NOT_TRACED = (
    "default_prng_impl enable_custom_prng legacy_prng_key debug_nans debug_infs enable_checks "
    "compiler_enable_remat_pass disable_most_optimizations exec_time_optimization_effort memory_fitting_effort "
    "memory_fitting_level optimization_level use_hlo_logistic_lowering use_magma use_rgv3"
).split()

# Targets of custom calls that are not library calls, because XLA implements them itself.
OF_XLA = frozenset(
    (
        "Sharding SPMDFullToShardShape SPMDShardToFullShape LayoutConstraint annotate_device_placement "
        "mhlo.topk TopK ApproxTopK stablehlo.dynamic_top_k"
    ).split()
)
PYTHON = "python_cpu_callback"  # suffix of the targets that call Python

_programs: OrderedDict[Hashable, Any] = OrderedDict()  # least recently used first
_constructed: dict[Hashable, threading.Event] = {}  # what some thread is constructing; set when that has ended
_lock = threading.Lock()
_warnings: set[str] = set()  # those already issued
_contexts = itertools.count()


class Same:
    """A hashable key that compares an object by identity, because its contents, such as arrays, may not be hashable."""

    def __init__(self, value: object):
        self.value: Any = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self.value is other.value


def remember(key: Hashable, construct: Callable[[], Any]) -> Any:
    """Return the cached value for this key in the current trace context, or call construct() and cache its result.

    What another thread is constructing is waited for.
    """
    key = (key, trace_context())
    while True:
        with _lock:
            if key in _programs:
                _programs.move_to_end(key)
                return _programs[key]
            others = _constructed.get(key)
            if others is None:
                ended = _constructed[key] = threading.Event()
                break
        with compiling.said():
            others.wait()
    try:
        with compiling.said():
            value = construct()
        with _lock:
            _programs[key] = value
            while len(_programs) > MOST:
                _programs.popitem(last=False)
    finally:
        with _lock:
            del _constructed[key]
        ended.set()
    return value


def remembers(key: Hashable) -> bool:
    """Whether remember(key, ...) would return a cached value."""
    with _lock:
        return (key, trace_context()) in _programs


def forget() -> None:
    """Clear the cache, and let `warn_once` repeat its warnings."""
    with _lock:
        _programs.clear()
        _warnings.clear()


def warn_once(message: str) -> None:
    """Issue a one-line warning, once per process."""
    with _lock:
        repeated = message in _warnings
        _warnings.add(message)
    if not repeated:
        warnings.warn(f"jaxbandit: {message}", RuntimeWarning, stacklevel=2)


def trace_context() -> tuple[Hashable, ...]:
    """A key of this thread's trace context: equal only if the same function gives the same compiled program."""
    (number,) = jax.eval_shape(_number_of_context)
    options = [(name, repr(_value(name))) for name in NOT_TRACED]
    return (number, *options, *((name, repr(value)) for name, value in sorted(MORE_OPTIONS.items())))


@jax.jit
def _number_of_context() -> dict[int, None]:
    """A number for each trace context. JAX runs this body again only where it would trace any other function again."""
    return {next(_contexts): None}


def scopes_of_thread() -> Callable[[], AbstractContextManager[None]]:
    """Return a context manager that applies this thread's scoped options in another thread, which starts without."""
    values = {name: _value(name) for name in SCOPES if hasattr(jax, name)}

    @contextmanager
    def scopes() -> Iterator[None]:
        with ExitStack() as stack:
            for name, value in values.items():
                if _value(name) != value:
                    stack.enter_context(getattr(jax, name)(value))
            yield

    return scopes


def _value(name: str) -> Any:
    """The value of an option of JAX in this thread; None if this version of JAX does not have the option."""
    try:
        return jax.config.read(f"jax_{name}")
    except AttributeError:  # options with a scope are attributes instead
        return getattr(jax.config, f"jax_{name}", None)


@compiling.said()
def compile_program(
    function: Callable,
    device: Device,
    *examples: PyTree,
    donate: tuple[int, ...] = (),
    whole: bool = False,
    searches: bool = False,
) -> Any:
    """Compile `function` for the shapes of the examples, with the compiler options of the device's platform.

    On a CPU, functions that call LAPACK are executed one at a time (`numerics.lapack_lock`); the loops of others are
    compiled whole if `whole` is True (`whole_loops.py`), with `searches` also an argmax arm by arm (`search.py`).
    """
    cpu = device.platform == "cpu"

    def lower() -> Lowered:
        # A new function each time, because JAX caches traces and the trace depends on `searches`.
        @functools.wraps(function)  # keeps the program's name in profiles and in the compilation cache
        def anew(*arguments: PyTree) -> PyTree:
            return function(*arguments)

        # All arguments are in the text by which a program is kept: two that use different ones must not look alike.
        lowered = jax.jit(anew, donate_argnums=donate, keep_unused=True).lower(*examples)
        if _partitions(lowered) == 1:
            return lowered
        # A program for several devices is not kept, and nothing says how an unused argument is divided among them.
        return jax.jit(anew, donate_argnums=donate).lower(*examples)

    def attempt(whole: bool) -> tuple[Any, bool]:
        """The compiled function, and whether it calls a library."""
        with whole_loops.whole(whole and cpu, searches):
            lowered = lower()
            calls = cpu and calls_library(lowered)
            return None if calls and whole else _compile(lowered, device, whole), calls

    compiled, takes_turns = attempt(whole)
    if takes_turns and whole:
        compiled, _ = attempt(whole=False)
    if not takes_turns:
        return compiled

    def one_at_a_time(*arguments: PyTree) -> PyTree:
        with lapack_lock():
            return jax.block_until_ready(compiled(*arguments))

    return one_at_a_time


def _partitions(lowered: Any) -> int:
    """Return among how many devices a program is divided."""
    attributes = lowered.compiler_ir("stablehlo").operation.attributes
    return attributes["mhlo.num_partitions"].value if "mhlo.num_partitions" in attributes else 1


def _compile(lowered: Lowered, device: Device, whole: bool) -> Any:
    """Compile a program, or read it from the user's cache directory."""
    settings = {name: repr(_value(name)) for name in NOT_TRACED} | {"whole": whole and whole_loops.ALLOWED}
    path = program_files.path_of(lowered, settings | _platform_options(device), device)
    compiled = path and program_files.read(path, lowered, device)
    if compiled is None:
        compiled = lowered.compile(compiler_options=_options(device))
        if path is not None:
            program_files.write(path, compiled)
    return compiled


def compile_all(*calls: Callable[[], Any]) -> list[Any]:
    """Return what some functions return that compile a program each, side by side, as if this thread had called them.

    Python runs on one thread at a time, but XLA compiles on all.
    """
    scopes, beside = scopes_of_thread(), compiling.beside()

    def call(compile: Callable[[], Any]) -> Any:
        with scopes(), beside():
            return compile()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(call, calls))


@compiling.said()
def memory(function: Callable, device: Device, *examples: PyTree) -> int | None:
    """Return the bytes that a compiled function needs besides its arguments; None if the compiler reports none."""
    options = _options(device)
    if device.platform == "cpu":  # the buffers are those of the optimized program, at a sixth of the compile time
        options |= known_options({"xla_backend_optimization_level": 0}, device)
    needs = _needs(jax.jit(function).lower(*examples).compile(compiler_options=options))
    return None if needs is None else int(needs.temp_size_in_bytes + needs.output_size_in_bytes)


def total_memory(compiled: Callable) -> int | None:
    """Return the bytes that a compiled program needs including its arguments; None if the compiler reports none."""
    needs = _needs(compiled)
    if needs is None:
        return None
    own = needs.temp_size_in_bytes + needs.output_size_in_bytes - needs.alias_size_in_bytes
    return int(needs.argument_size_in_bytes + own)


def _needs(compiled: Any) -> Any:
    try:
        return compiled.memory_analysis()
    except (AttributeError, NotImplementedError, jax.errors.JaxRuntimeError):
        return None


def calls_library(lowered: Any) -> bool:
    """Whether a lowered function, jax.jit(...).lower(...), calls a library; True if this cannot be determined."""
    try:
        targets = set(_targets(lowered.compiler_ir("stablehlo").operation))
    except Exception:  # the form is internal to the compiler, and executing one at a time is always correct
        return True
    return any(target not in OF_XLA and not target.endswith(PYTHON) for target in targets)


def _targets(operation: Any) -> Iterator[str]:
    """Targets of the custom calls within an MLIR operation and its regions."""
    if operation.name == "stablehlo.custom_call":
        yield operation.attributes["call_target_name"].value
    for region in operation.regions:
        for block in region.blocks:
            for inner in block.operations:
                yield from _targets(inner.operation)


def _platform_options(device: Device) -> dict[str, Any]:
    """Options for a device's platform."""
    return (CPU_OPTIONS if device.platform == "cpu" else {}) | MORE_OPTIONS


def _options(device: Device) -> dict[str, Any]:
    """Those that XLA has; one that it does not have is dropped with a warning."""
    wanted = _platform_options(device)
    known = known_options(wanted, device)
    if unknown := sorted(wanted.keys() - known.keys()):
        warn_once(
            f"the compiler of JAX {jax.__version__} does not know {', '.join(unknown)}: compiled without; programs may "
            "be slower and results may differ in the last digits, but their distributions are the same"
        )
    return known


def known_options(options: Mapping[str, Any], device: Device) -> dict[str, Any]:
    """The options that the device's compiler accepts, which is tested once per process."""
    items = tuple(options.items())
    if _is_accepted(items, device):
        return dict(items)
    return dict(item for item in items if _is_accepted((item,), device))


@functools.cache
def _is_accepted(options: tuple[tuple[str, Any], ...], device: Device) -> bool:
    with jax.default_device(device):
        lowered = jax.jit(lambda: 0).lower()
    try:
        lowered.compile(compiler_options=dict(options))
    except jax.errors.JaxRuntimeError:
        return False
    return True


def cores() -> int:
    """Number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
