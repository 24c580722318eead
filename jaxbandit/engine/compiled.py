"""Compiled functions: how they are compiled, and those of earlier calls, kept to be used again."""

import functools
import os
import threading
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

import jax

from jaxbandit.engine import whole_loops
from jaxbandit.numerics import alone
from jaxbandit.types import Device

KEPT = 64
CPU_OPTIONS = {
    "xla_cpu_prefer_vector_width": 512,  # twice the default; the compiler falls back where the CPU does not have it
    "xla_cpu_multi_thread_eigen": False,
    # Not one library call a reduction: it stores its operand, splits it over threads, and waits for them.
    "xla_cpu_experimental_ynn_fusion_type": "",
}
MORE_OPTIONS: dict[
    str, Any
] = {}  # of the compiler on every platform, beside those above: none, until a caller adds some

# JAX's options that change what is computed: those with a scope of their own in `jax`, and others.
SCOPES = (
    "enable_x64 explicit_x64_dtypes default_matmul_precision default_prng_impl threefry_partitionable "
    "enable_custom_prng legacy_prng_key numpy_dtype_promotion numpy_rank_promotion debug_nans debug_infs "
    "debug_key_reuse softmax_custom_jvp allow_f16_reductions enable_checks"
).split()
SETTINGS = (
    "accurate_erf_inv compiler_enable_remat_pass disable_jit disable_most_optimizations exec_time_optimization_effort "
    "high_dynamic_range_gumbel memory_fitting_effort memory_fitting_level mutable_array_checks optimization_level "
    "random_seed_offset threefry_gpu_kernel_lowering use_hlo_logistic_lowering use_magma use_rgv3 "
    "use_shardy_partitioner"
).split()

# Targets of custom calls that are no library's: XLA does these itself, or they call Python.
OF_XLA = frozenset(
    (
        "Sharding SPMDFullToShardShape SPMDShardToFullShape LayoutConstraint annotate_device_placement "
        "mhlo.topk TopK ApproxTopK stablehlo.dynamic_top_k"
    ).split()
)
PYTHON = "python_cpu_callback"  # how the targets end that call Python

_kept: OrderedDict[Any, Any] = OrderedDict()  # least recently used first
_lock = threading.Lock()
_said: set[str] = set()  # warnings


class Same:
    """An object as a key of its own: what it holds, arrays perhaps, need not be hashable."""

    def __init__(self, value: Any):
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self.value is other.value


def kept(key: Any, construct: Callable[[], Any]) -> Any:
    """Return what construct() gave for an equal key in the same trace context before, or call it."""
    key = (key, trace_context())
    with _lock:
        if key in _kept:
            _kept.move_to_end(key)
            return _kept[key]
    value = construct()
    with _lock:
        _kept[key] = value
        while len(_kept) > KEPT:
            _kept.popitem(last=False)
    return value


def is_kept(key: Any) -> bool:
    """Whether kept(key, ...) would return at once."""
    with _lock:
        return (key, trace_context()) in _kept


def forget() -> None:
    """Drop every kept function, and say again what warn_once has said."""
    with _lock:
        _kept.clear()
        _said.clear()


def warn_once(message: str) -> None:
    """Warn in one line, once a process."""
    with _lock:
        said = message in _said
        _said.add(message)
    if not said:
        warnings.warn(f"jaxbandit: {message}", RuntimeWarning, stacklevel=2)


def trace_context() -> tuple[tuple[str, str], ...]:
    """The values, in this thread, of the options of JAX and of its compiler that change what a program computes."""
    options = [(name, repr(_value(name))) for name in (*SCOPES, *SETTINGS)]
    return (*options, *((name, repr(value)) for name, value in sorted(MORE_OPTIONS.items())))


def same_scopes() -> Callable[[], Any]:
    """Return a context manager that gives another thread this one's scopes: a thread starts without them."""
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
    """Of an option of JAX, in this thread; None where this JAX has no such."""
    try:
        return jax.config.read(f"jax_{name}")
    except AttributeError:  # options with a scope are attributes instead
        return getattr(jax.config, f"jax_{name}", None)


def compile(
    function: Callable,
    device: Device,
    *examples: Any,
    donate: tuple[int, ...] = (),
    whole: bool = False,
    searches: bool = False,
) -> Any:
    """Compile `function` for the examples' shapes, with the options of the device's platform.

    On a CPU, functions that call a library (LAPACK) play one at a time, as `numerics.alone` says; loops of others are
    compiled whole if that is asked for, and many arms searched one by one in them if that is.
    """
    cpu = device.platform == "cpu"

    def lower() -> Any:
        # A function of its own each time: JAX keeps what it has traced, and where it searches it is another program.
        @functools.wraps(function)  # the program's name, in profiles and in the cache of programs
        def anew(*arguments: Any) -> Any:
            return function(*arguments)

        return jax.jit(anew, donate_argnums=donate).lower(*examples)

    def made(whole: bool) -> tuple[Any, bool]:
        """Compiled, and whether it calls a library."""
        with whole_loops.wanted(whole and cpu, searches):
            lowered = lower()
            calls = cpu and calls_library(lowered)
            return None if calls and whole else lowered.compile(compiler_options=_options(device)), calls

    compiled, takes_turns = made(whole)
    if takes_turns and whole:
        compiled, _ = made(whole=False)
    if not takes_turns:
        return compiled

    def one_at_a_time(*arguments: Any) -> Any:
        with alone():
            return jax.block_until_ready(compiled(*arguments))

    return one_at_a_time


def memory(function: Callable, device: Device, *examples: Any) -> int | None:
    """Return the bytes that a compiled function takes beside its arguments; None where the compiler does not say."""
    options = _options(device)
    if device.platform == "cpu":  # its buffers are those of the optimized program, in a sixth of the time
        options |= known_options({"xla_backend_optimization_level": 0}, device)
    compiled = jax.jit(function).lower(*examples).compile(compiler_options=options)
    try:
        needs: Any = compiled.memory_analysis()
        return int(needs.temp_size_in_bytes + needs.output_size_in_bytes)
    except (AttributeError, NotImplementedError, jax.errors.JaxRuntimeError):
        return None


def calls_library(lowered: Any) -> bool:
    """Whether a program, given as what jax.jit(...).lower(...) returns, calls a library; True where nothing tells."""
    try:
        targets = set(_targets(lowered.compiler_ir("stablehlo").operation))
    except Exception:  # the form is the compiler's own business; to take turns is always right
        return True
    return any(target not in OF_XLA and not target.endswith(PYTHON) for target in targets)


def _targets(operation: Any) -> Iterator[str]:
    """Targets of the custom calls of an operation of MLIR, those of functions that it calls included."""
    if operation.name == "stablehlo.custom_call":
        yield operation.attributes["call_target_name"].value
    for region in operation.regions:
        for block in region.blocks:
            for inner in block.operations:
                yield from _targets(inner.operation)


def _options(device: Device) -> dict[str, Any]:
    """Options for a device's platform; one that this XLA does not have is dropped, and that is said once."""
    wanted = (CPU_OPTIONS if device.platform == "cpu" else {}) | MORE_OPTIONS
    known = known_options(wanted, device)
    if unknown := sorted(wanted.keys() - known.keys()):
        warn_once(
            f"the compiler of JAX {jax.__version__} does not know {', '.join(unknown)}: compiled without; the same "
            "laws, but perhaps slower and with other last digits"
        )
    return known


def known_options(options: Mapping[str, Any], device: Device) -> dict[str, Any]:
    """The compiler options among `options` that the device's compiler has, asked once a process."""
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
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
