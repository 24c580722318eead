"""A small experiment, interrupted where a test asks for it: what tests of directories and of resuming share."""

import tomllib
from typing import Any

import tomli_w

from jaxbandit.lab.specs import spec

UCB1 = {"type": "ucb1"}
TWO = {"type": "bernoulli", "means": [0.1, 0.9]}
THREE = {"type": "bernoulli", "means": [0.4, 0.5, 0.6]}


def written(kind: str, instances: Any, algorithms: Any, **more: Any) -> str:
    """The TOML text of an experiment; instances and algorithms are one table each, or lists of them."""
    tables = {"instance": instances, "algorithm": algorithms}
    several = {name: some if isinstance(some, list) else [some] for name, some in tables.items()}
    return tomli_w.dumps({"kind": kind, **more, **several})


TEXT = written(
    "simulate",
    THREE,
    [UCB1, {"name": "greedy", "type": "epsilon_greedy", "epsilon": {"sweep": [0.1, 0.2]}}],
    name="resume",
    runs=48,
    horizon=300,
    checkpoints=[10, 100, 300],
)


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
