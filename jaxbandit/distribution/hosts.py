"""Processes of one `jax.distributed`: each plays its share of the runs on its own devices, and all get all of them.

Nothing is exchanged between runs. So the mesh over all devices is cut along the hosts: each process plays what falls to
its addressable devices, at its own pace, and what the runs have left is exchanged once, at the end of a cell.
"""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np


def count() -> int:
    """Number of processes; 1 without `jax.distributed`."""
    import jax

    return jax.process_count()


def index() -> int:
    """Number of this process, from 0."""
    import jax

    return jax.process_index()


def share(first: int, end: int, place: int, parts: int) -> tuple[int, int]:
    """Return the share of runs [first, end) of one of so many, of about as many runs each; it may be empty."""
    number = end - first
    return first + number * place // parts, first + number * (place + 1) // parts


def exchange(mine: Sequence[bytes]) -> list[bytes]:
    """Give this process's bytes to all, and return those of all processes, in the order of the processes."""
    from jax.experimental import multihost_utils

    if count() == 1:
        return list(mine)
    lengths = json.dumps([len(data) for data in mine]).encode()
    data = b"".join([len(lengths).to_bytes(8, "little"), lengths, *mine])
    sizes = np.asarray(multihost_utils.process_allgather(np.array([len(data)], np.int32))).ravel()
    padded = np.zeros(int(sizes.max()), np.uint8)
    padded[: len(data)] = np.frombuffer(data, np.uint8)
    found: list[bytes] = []
    for row, size in zip(np.asarray(multihost_utils.process_allgather(padded)), sizes, strict=True):
        whole = row[:size].tobytes()
        head = int.from_bytes(whole[:8], "little")
        at = 8 + head
        for length in json.loads(whole[8:at]):
            found.append(whole[at : at + length])
            at += length
    return found


def agreed(mine: Any) -> Any:
    """Return what process 0 says, plain data."""
    return json.loads(exchange([json.dumps(mine).encode()])[0])
