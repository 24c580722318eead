"""Processes under `jax.distributed`: each plays its share of the runs on its own devices and receives all results.

Runs do not communicate, so that the results are exchanged once, at the end of a cell (one algorithm on one instance).
"""

import json
from collections.abc import Sequence

import numpy as np


def count() -> int:
    """Return the number of processes, which is 1 without `jax.distributed`."""
    import jax

    return jax.process_count()


def index() -> int:
    """Return the index of this process, counted from 0."""
    import jax

    return jax.process_index()


def share(first: int, end: int, place: int, parts: int) -> tuple[int, int]:
    """Return share number `place`, maybe empty, when runs [first, end) are divided into `parts` about equal shares."""
    number = end - first
    return first + number * place // parts, first + number * (place + 1) // parts


def exchange(mine: Sequence[bytes]) -> list[bytes]:
    """Send this process's bytes to all others, and return those of all processes in the order of the processes."""
    from jax.experimental import multihost_utils

    if count() == 1:
        return list(mine)
    lengths = json.dumps([len(data) for data in mine]).encode()
    data = b"".join([len(lengths).to_bytes(8, "little"), lengths, *mine])
    sizes = np.asarray(multihost_utils.process_allgather(np.array([len(data)], np.int32))).ravel()
    padded = np.zeros(int(sizes.max()), np.uint8)
    padded[: len(data)] = np.frombuffer(data, np.uint8)
    parts: list[bytes] = []
    for row, size in zip(np.asarray(multihost_utils.process_allgather(padded)), sizes, strict=True):
        whole = row[:size].tobytes()
        head = int.from_bytes(whole[:8], "little")
        at = 8 + head
        for length in json.loads(whole[8:at]):
            parts.append(whole[at : at + length])
            at += length
    return parts
