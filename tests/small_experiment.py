"""A small experiment, interrupted where a test asks for it: what tests of directories and of resuming share."""

import tomllib

from jaxbandit.lab.specs import spec

TEXT = """
name = "resume"
kind = "simulate"
runs = 48
horizon = 300
checkpoints = [10, 100, 300]

[[instance]]
type = "bernoulli"
means = [0.4, 0.5, 0.6]

[[algorithm]]
type = "ucb1"

[[algorithm]]
name = "greedy"
type = "epsilon_greedy"
epsilon = {sweep = [0.1, 0.2]}
"""


def experiment(**changes):
    return spec.parse(tomllib.loads(TEXT) | changes, "resume.toml")


def content(results):
    """Return the per-run arrays as bytes."""
    return [
        {
            name: (array.dtype.str, array.shape, array.tobytes())
            for name, array in result.arrays.items()
            if name not in ("mean", "variance", "pulls_mean")
        }
        for result in results
    ]


class Stop(Exception):
    """What a test raises in the middle of a run."""


def stop_after(calls):
    left = calls

    def progress(steps):
        nonlocal left
        left -= 1
        if left < 0:
            raise Stop

    return progress
