"""The device of `python -m benchmarks gpu`: what it is, how fast it copies, and what it costs to start a kernel."""

import os
import platform as system
import shutil
import statistics
import subprocess
import time
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from benchmarks import bare, machine
from jaxbandit.engine.layout import sizes

REPEATS = 5
WIDTH = 1024  # floats that a kernel of a chain reads
PACKAGES = (
    "jax-cuda13-plugin jax-cuda13-pjrt jax-cuda12-plugin jax-cuda12-pjrt jax-rocm7-plugin scipy lazy_loader filelock"
).split()
DRIVER = Path("/proc/driver/nvidia/version")


def device() -> dict[str, Any]:
    """Return the device, its driver and the versions."""
    first = jax.devices()[0]
    known = {name: getattr(first, name, None) for name in ("device_kind", "compute_capability", "core_count")}
    return {
        **known,
        "devices": len(jax.devices()),
        "memory_for_this_process_bytes": sizes.memory(first),
        "compiler": str(getattr(getattr(first, "client", None), "platform_version", "?")).splitlines(),
        "driver": _driver(),
        **machine.machine(),
        "system": system.platform(),
        "packages": {name: version for name in PACKAGES if (version := _version(name))},
        "stand_ins": bare.replaced,
        "XLA_FLAGS": os.environ.get("XLA_FLAGS", ""),
    }


def _driver() -> str | None:
    """Return what the driver says about itself; None if it says nothing."""
    command = shutil.which("nvidia-smi")
    if command is not None:
        asked = "--query-gpu=name,driver_version,memory.total,clocks.max.sm,clocks.max.mem,power.limit,mig.mode.current"
        done = subprocess.run(
            [command, asked, "--format=csv,noheader"], capture_output=True, text=True, timeout=20, check=False
        )
        if done.returncode == 0:
            return done.stdout.strip()
    return DRIVER.read_text(encoding="utf-8").splitlines()[0] if DRIVER.exists() else None


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def copy(mebibytes: int) -> dict[str, Any]:
    """Return the bytes a second that adding 1 to an array of this size reads and writes."""
    x = jnp.zeros(mebibytes * 2**18, jnp.float32)
    add = jax.jit(lambda x: x + 1).lower(x).compile()
    seconds = _seconds(lambda: add(x))
    return {"array_bytes": x.nbytes, "copy_us": seconds * 1e6, "copied_bytes_per_s": 2 * x.nbytes / seconds}


def launches(trips: int, chain: int) -> dict[str, Any]:
    """Return the time that a kernel costs whose work is negligible, and that an iteration of a loop costs.

    Each kernel of a chain is the mean of the maximum of a number and a small array, and needs the one before it.
    `straight` is a chain of `chain` kernels without a loop, which XLA turns into a graph, a command buffer. A loop has
    one kernel of the chain in an iteration; its length is an argument, as that of the engine's loop over rounds, or
    known.
    """
    values = jnp.linspace(0.0, 1.0, WIDTH, dtype=jnp.float32)

    def once(s: Any, values: Any) -> Any:
        return jnp.sum(jnp.maximum(values, s)) / WIDTH

    def iteration(known: bool) -> float:
        """Return the seconds of an iteration of a loop."""

        def play(values: Any, turns: Any) -> Any:
            return lax.fori_loop(0, trips if known else turns, lambda _, s: once(s, values), jnp.float32(0))

        compiled = jax.jit(play).lower(values, jnp.int32(trips)).compile()
        return _seconds(lambda: compiled(values, jnp.int32(trips))) / trips

    def straight(values: Any) -> Any:
        s = jnp.float32(0)
        for _ in range(chain):
            s = once(s, values)
        return s

    compiled, tiny = jax.jit(straight).lower(values).compile(), jax.jit(lambda x: x + 1).lower(values).compile()
    call = _seconds(lambda: tiny(values))
    return {
        "trips": trips,
        "open_loop_iteration_us": iteration(known=False) * 1e6,
        "known_loop_iteration_us": iteration(known=True) * 1e6,
        "straight_kernels": chain,
        "straight_kernel_us": (_seconds(lambda: compiled(values)) - call) / chain * 1e6,
        "call_us": call * 1e6,
    }


def _seconds(work: Callable[[], Any]) -> float:
    """Return the median time of a call whose result is waited for."""
    jax.block_until_ready(work())
    found = []
    for _ in range(REPEATS):
        begun = time.perf_counter()
        jax.block_until_ready(work())
        found.append(time.perf_counter() - begun)
    return statistics.median(found)
