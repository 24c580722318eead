"""How many runs are played side by side, and of how many steps the noise is drawn at once: the one place that decides.

By platform, by the device's memory and by the bytes of a run. No number depends on it: every random number has a key of
its own, and runs never meet in compiled code.

A CPU's core plays as many runs as its second-level cache holds, tile after tile. A GPU or TPU pays for each kernel that
it starts, however few the runs: it is given as many as fill it, within its memory.

A TPU has no float64. XLA emulates it: a step of `lucb` takes twelve times the operations, in three times the kernels.
"""

from collections.abc import Mapping
from typing import NamedTuple

from jaxbandit.types import Device

LANE_MULTIPLE = 16  # one 512-bit vector of float32: no scalar remainder loop, whose rounding could differ
LANES_LEAST = 64  # shorter loops may be unrolled and rounded otherwise; below, a round costs its fixed overhead anyway
NOISE_STEPS = 64  # most steps of a block, whose noise is drawn at once
BATCH_STEPS = 2  # of a block of batches: a run may have five in all, and its lane idles to the end of the block


class Sizes(NamedTuple):
    """What the sizes of a kind of device are made from."""

    cache: int | None  # bytes that state and noise of the runs side by side may take; None: a share of the memory
    tile_most: int  # runs of a tile of a fixed horizon
    lanes_most: int  # lanes of runs that stop
    refills: int  # runs of a lane, at least, before lanes are added
    noise: int  # bytes of one run's noise in a block
    slots: int  # hand-ins of ended runs a call
    pack: int  # runs replanned together: the same number in every tile, so that no rounding differs


CPU = Sizes(
    cache=1 << 20,  # what a core's second-level cache holds (benchmarks/RESULTS.md)
    tile_most=2048,
    lanes_most=256,  # more are less busy in the end, and no faster
    refills=8,  # the last runs leave the other lanes idle
    noise=2048,  # it must stay in the cache beside the state
    slots=32,
    pack=32,  # whole vectors
)
# Estimated for an H100 and a v5e, and timed on neither (benchmarks/RESULTS.md, ahead of time).
ACCELERATOR = Sizes(
    cache=None,
    tile_most=1 << 20,  # the bytes of a round outweigh the starts of its kernels from some 10^5 runs on
    lanes_most=1 << 17,
    refills=1,  # an idle lane costs nothing until the device is full
    noise=1 << 14,  # blocks of 64 steps up to 256 bytes a step; blocks cost kernels of their own
    slots=8,  # each has room for all lanes, and is copied to the host
    pack=4096,
)
PLATFORMS: Mapping[str, Sizes] = {"cpu": CPU}  # all others are accelerators
SHARE = 0.25  # of an accelerator's memory, for what the runs carry: a loop may hold it twice, and its kernels theirs
UNKNOWN = 2**33  # bytes of an accelerator that does not say how many it has


def of(platform: str) -> Sizes:
    """The sizes of a platform, as JAX names it."""
    return PLATFORMS.get(platform, ACCELERATOR)


def memory(device: Device) -> int:
    """Bytes of an accelerator's memory that this process may use."""
    return int((device.memory_stats() or {}).get("bytes_limit", 0)) or UNKNOWN


def block_steps(platform: str, noise_bytes: int, *, batches: bool = False) -> int:
    """Steps whose noise, of so many bytes a run and step, is drawn at once: a power of two."""
    steps = BATCH_STEPS if batches else NOISE_STEPS
    while steps > 1 and steps * noise_bytes > of(platform).noise:
        steps //= 2
    return steps


def tile(
    platform: str, memory: int, run_bytes: int, num_runs: int, workers: int, devices: int, given: int | None = None
) -> int:
    """Runs of a tile of a fixed horizon, split over `devices`: as many as fit, and about the same for every worker.

    Args:
      platform: as JAX names it.
      memory: bytes of a device's memory, read where the platform has no cache to fit into.
      run_bytes: of one run: state and noise of a block, and on an accelerator all that it carries.
      num_runs: to be played.
      workers: threads that play tiles.
      devices: that share a tile.
      given: runs of a tile as the user wants them, in place of what fits.
    """
    sizes, unit = of(platform), LANE_MULTIPLE * devices
    if given is None:
        most = min(max(_room(sizes, memory) // max(run_bytes, 1), LANES_LEAST), sizes.tile_most) * devices
        tiles = max(-(-num_runs // most), 1)
        if num_runs >= workers * LANES_LEAST:
            tiles = -(-tiles // workers) * workers
        given = -(-num_runs // tiles)
    return -(-max(given, LANES_LEAST * devices) // unit) * unit


def lanes(platform: str, memory: int, run_bytes: int, num_runs: int, queues: int, given: int | None = None) -> int:
    """Lanes of a queue of runs that stop: a power of two that fits and that refills keep busy, unless it is given."""
    sizes = of(platform)
    if given is None:
        fitting = min(sizes.lanes_most, _room(sizes, memory) // max(run_bytes, 1))
        wanted = min(fitting, num_runs // queues // sizes.refills)
        given = 1 << max(wanted, 1).bit_length() - 1
    return max(-(-given // LANE_MULTIPLE) * LANE_MULTIPLE, LANES_LEAST)


def _room(sizes: Sizes, memory: int) -> int:
    return int(SHARE * memory) if sizes.cache is None else sizes.cache
