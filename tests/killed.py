"""Calls for workers that are killed: nothing is imported that takes its time."""

import os
import signal


def double(x):
    return 2 * x


def until(path, times):
    """Kill the process that plays this, so many times; then return its cores."""
    with path.open("a") as file:
        file.write("x")
    if path.stat().st_size <= times:
        os.kill(os.getpid(), signal.SIGKILL)
    return sorted(os.sched_getaffinity(0))
