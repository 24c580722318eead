"""The number of runs that are played at once, and the number of steps whose noise is drawn at once.

They depend on the platform, the memory of the device and the bytes of a run, and change no result. A core of a CPU
plays as many runs as fit into its second-level cache, and only one if its rounds are long.
"""

import contextlib
import math
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import jax

from jaxbandit.engine.layout.compiled import total_memory
from jaxbandit.support.types import Device

LANE_MULTIPLE = 16  # one 512-bit vector of float32, which avoids a scalar remainder loop with different rounding
LANES_LEAST = 64  # shorter loops may be unrolled and rounded differently, and would not be faster
NOISE_STEPS = 64  # largest number of steps of a block, for which noise is drawn at once
CACHE_FILE = Path("/sys/devices/system/cpu/cpu0/cache/index2/size")  # "1024K", where sysconf has no answer
BATCH_STEPS = 2  # the same for batches: a run may have only five, and its lane is idle until the end of the block


def cache() -> int:
    """The size of a core's second-level cache in bytes, 1 MiB if the system does not tell; no number depends on it."""
    found = 0
    with contextlib.suppress(ValueError, OSError, AttributeError):
        found = os.sysconf("SC_LEVEL2_CACHE_SIZE")
    if found <= 0:
        with contextlib.suppress(ValueError, OSError):
            found = 1024 * int(CACHE_FILE.read_text(encoding="ascii").strip().removesuffix("K"))
    return min(max(found, 1 << 18), 1 << 22) if found > 0 else 1 << 20


class Sizes(NamedTuple):
    """The limits from which sizes are computed for one kind of device."""

    cache: int | None  # bytes for state and noise of all runs played at once; None for a share of the memory
    tile_most: int  # largest number of runs of a tile with a fixed horizon
    lanes_most: int  # largest number of lanes for runs with a stopping rule
    refills: int  # smallest number of runs per lane; with fewer runs there are fewer lanes
    noise: int  # largest number of bytes of one run's noise in a block
    slots: int  # largest number of write-outs of results in a call
    pack: int  # number of runs that are replanned together, the same in every tile for identical rounding
    together: int  # number of rounds of a loop of known length, in which the host is not asked whether to go on
    unroll: int  # number of rounds written out in an iteration of that loop, which saves copies of the state
    heavy: int | None = None  # number of elementary operations of a step from which runs are played one at a time


CPU = Sizes(
    cache=cache(),
    tile_most=2048,
    lanes_most=256,  # more lanes are not faster, and more of them are idle at the end
    refills=8,  # because lanes are idle while the last runs are played
    noise=2048,  # it must fit into the cache together with the state
    slots=32,
    pack=32,  # whole vectors
    together=1,
    unroll=1,
    heavy=1 << 16,  # from here on 64 runs take at most about four times as long alone as in a tile, one run a ninth
)
# Measured on an H100 (benchmarks/results/accelerators.md), but for noise, slots and pack; estimated for a TPU.
ACCELERATOR = Sizes(
    cache=None,
    tile_most=1 << 18,  # the states of a few arms then fit into the second-level cache
    lanes_most=1 << 17,
    refills=1,  # an idle lane costs nothing until the device is full
    noise=1 << 14,  # blocks of 64 steps up to 256 bytes per step; each block launches additional kernels
    slots=8,  # each slot holds all lanes and is copied to the host
    pack=4096,
    together=16,  # a loop asks the host once for 16 rounds, which takes as long as a few rounds
    unroll=4,
)
PLATFORMS: Mapping[str, Sizes] = {"cpu": CPU}  # all other platforms are accelerators
SHARE = 0.25  # share of an accelerator's memory for the carry, which a loop may hold twice besides temporary buffers
FITS = 0.9  # share of an accelerator's memory that a program may need; the rest is for results and copies
UNKNOWN = 2**33  # assumed bytes of an accelerator that does not report its memory


def of(platform: str) -> Sizes:
    """The sizes of a platform, which is named as in JAX."""
    return PLATFORMS.get(platform, ACCELERATOR)


def memory(device: Device) -> int:
    """Bytes of an accelerator's memory that this process may use."""
    return int((device.memory_stats() or {}).get("bytes_limit", 0)) or UNKNOWN


def alone(platform: str, operations: int) -> bool:
    """Whether runs are played one at a time: a property of the program, so that no number depends on other runs.

    With so many `operations` in a step, one run by itself fills vectors with its arms.
    """
    heavy = of(platform).heavy
    return heavy is not None and operations >= heavy


def block_steps(platform: str, noise_bytes: int, *, batches: bool = False, alone: bool = False) -> int:
    """The number of steps whose noise, of `noise_bytes` per run and step, is drawn at once: a power of two.

    A run that is played alone has the room of LANES_LEAST. Its blocks have at least four steps, because XLA's CPU
    compiler computes parts of the generator again and again for axes of length one or two.
    """
    steps = BATCH_STEPS if batches else NOISE_STEPS
    noise, least = of(platform).noise * (LANES_LEAST if alone else 1), 4 if alone else 1
    while steps > least and steps * noise_bytes > noise:
        steps //= 2
    return steps


def tile(
    platform: str, memory: int, run_bytes: int, num_runs: int, workers: int, devices: int, size: int | None = None
) -> int:
    """The number of runs of a tile with a fixed horizon: as many as fit, and about the same for every worker."""
    sizes, unit = of(platform), LANE_MULTIPLE * devices
    if size is None:
        most = min(max(_room(sizes, memory) // max(run_bytes, 1), LANES_LEAST), sizes.tile_most) * devices
        tiles = max(-(-num_runs // most), 1)
        if num_runs >= workers * LANES_LEAST:
            tiles = -(-tiles // workers) * workers
        size = -(-num_runs // tiles)
    return -(-max(size, LANES_LEAST * devices) // unit) * unit


def lanes(platform: str, memory: int, run_bytes: int, num_runs: int, queues: int, number: int | None = None) -> int:
    """The number of lanes of a queue: a power of two that fits and that refills keep busy, unless it is given."""
    sizes = of(platform)
    if number is None:
        fitting = min(sizes.lanes_most, _room(sizes, memory) // max(run_bytes, 1))
        wanted = min(fitting, num_runs // queues // sizes.refills)
        number = 1 << max(wanted, 1).bit_length() - 1
    return max(-(-number // LANE_MULTIPLE) * LANE_MULTIPLE, LANES_LEAST)


def fitting(compiled: Callable[[int], Callable], runs: int, memory: int, devices: int = 1) -> int:
    """Return `runs`, divided by a power of two if necessary, so that the program fits into an accelerator's memory."""
    unit, least = LANE_MULTIPLE * devices, LANES_LEAST * devices
    while runs > least:
        try:
            needs = total_memory(compiled(runs)) or 0
        except jax.errors.JaxRuntimeError as error:
            if "RESOURCE_EXHAUSTED" not in str(error):
                raise
            needs = 2 * memory  # a guess, because the message has no figure in a fixed form
        excess = needs / (FITS * memory)
        if excess <= 1:
            break
        runs = max((runs >> math.ceil(math.log2(excess))) // unit * unit, least)
    return runs


def _room(sizes: Sizes, memory: int) -> int:
    return int(SHARE * memory) if sizes.cache is None else sizes.cache
