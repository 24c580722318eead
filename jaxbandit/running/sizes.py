"""Whether results and states fit into the memory of this machine and onto the disk, decided before the first round."""

import math
import os
import shutil
from pathlib import Path
from typing import Any

import jax

from jaxbandit.base.contract import Environment
from jaxbandit.engine.layout.batching import varying_outputs
from jaxbandit.engine.layout.sizes import CPU
from jaxbandit.engine.rounds.keys import root_key

CONTROL_GROUP = Path("/sys/fs/cgroup/memory.max")  # the memory limit of a container, if there is one


def shortage(needed: int, directory: str | Path | None, remedy: str, *, half: bool = False) -> str:
    """Return whether results need more memory than this machine has, or more room than a directory has; "" if not.

    With `half`, half of the memory is the limit.
    """
    what = f"what is kept of each run takes about {text(needed)} in all"
    there = memory()
    if there is not None and needed > there / (2 if half else 1):
        most = "with metrics or states at most half of it may be kept; " if half else ""
        return f"{what}, and this machine has {text(there)} of memory; {most}{remedy}"
    there = None if directory is None else _room(Path(directory), needed)
    if there is not None and needed > there:
        return f"{what}, and {directory} has room for {text(there)}; {remedy}, or give another directory"
    return ""


def of_runs(width: int, checkpoints: int, curves: int, num_arms: int, per_run: bool) -> int:
    """Return about how many bytes the results of one run take, with numbers of `width` bytes."""
    return 1 + (width * checkpoints * curves + 4 * num_arms if per_run else 0)


def of_stopped(num_arms: int, metrics: int = 0) -> int:
    """Return about how many bytes the results of one run that stops take."""
    return 16 + 4 * num_arms + 8 * metrics


def memory() -> int | None:
    """Return the bytes of memory that this process may use, or None if the system does not report them."""
    try:
        there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None
    try:
        return min(there, int(CONTROL_GROUP.read_text(encoding="utf-8")))
    except (OSError, ValueError):  # no such file, or "max"
        return there


def _room(directory: Path, needed: int) -> int | None:
    """Return the bytes that are free for a directory, with its own if these are not enough; None if unknown."""
    try:
        place = next(place for place in (directory, *directory.absolute().parents) if os.path.exists(place))
        free = shutil.disk_usage(place).free
    except (OSError, StopIteration):
        return None
    if needed <= free:
        return free
    return free + sum(_bytes(os.path.join(folder, name)) for folder, _, names in os.walk(directory) for name in names)


def _bytes(path: str) -> int:
    try:
        return os.lstat(path).st_size
    except OSError:  # another process has just removed it
        return 0


def text(number: int) -> str:
    """Return a number of bytes as text."""
    power = min(int(math.log(max(number, 1), 1024)), 4)
    return f"{number / 1024**power:,.{0 if power == 0 else 1}f} {('B', 'KiB', 'MiB', 'GiB', 'TiB')[power]}"


def check_states(environment: Environment, num_runs: int) -> None:
    """Raise ValueError if the environment's own states need more than a quarter of this machine's memory."""
    there, at_once = memory(), min(num_runs, CPU.tile_most * (os.cpu_count() or 1))
    key = jax.eval_shape(lambda: root_key(0))
    leaves = jax.tree.leaves(jax.eval_shape(environment.init, key))
    if there is None or 4 * at_once * sum(map(_size, leaves)) <= there:
        return
    varies = jax.tree.leaves(varying_outputs(environment.init, (key,), (True,)))
    each = sum(_size(leaf) for leaf, own in zip(leaves, varies, strict=True) if own)
    if 4 * at_once * each > there:
        what = f"num_runs = {num_runs}: the state of {environment.name or 'the environment'} takes "
        what += f"{text(each)} in each run, "
        what += f"{text(at_once * each)} at once, above a quarter of this machine's {text(there)} of memory"
        raise ValueError(f'{what}; ask for fewer runs, or for a smaller state, such as that of order = "draw"')


def _size(leaf: Any) -> int:
    return leaf.size * getattr(leaf.dtype, "itemsize", 0)
