"""What a stopping rule promises, as numbers: read off the algorithm, which alone says it."""

import math
from typing import Any

import numpy as np

from jaxbandit.base import Algorithm
from jaxbandit.refusals import refuse

SAME = 1e-6  # of a number: what float32 leaves of it


def guarantee_of(
    algorithm: Algorithm, *, delta: float | None = None, epsilon: float | None = None, where: str = "identify"
) -> dict[str, Any]:
    """Return delta, epsilon, m and proved of an algorithm's promise; without one, epsilon alone, for judging it.

    Args:
      algorithm: with concrete numbers in its promise.
      delta: what the caller believes it to be; refused if it is not.
      epsilon: the same; of an algorithm without a promise, how far a recommendation may fall short, default 0.
      where: who refuses.
    """
    promise, name = algorithm.promise, algorithm.name or "the algorithm"
    if promise is None:
        if delta is not None:
            refuse(where, f": delta = {delta:g}, and {name} promises no error rate; leave it out")
        return {"epsilon": 0.0 if epsilon is None else _number(epsilon)}
    found = {"delta": _number(promise.delta), "epsilon": _number(promise.epsilon)}
    for key, given in (("delta", delta), ("epsilon", epsilon)):
        if given is not None and not math.isclose(_number(given), found[key], rel_tol=SAME, abs_tol=0.0):
            refuse(where, f": {key} = {given:g}, and {name} promises {key} = {found[key]:g}; leave it out")
    return found | {"m": int(promise.m), "proved": bool(promise.proved)}


def _number(value: Any) -> float:
    """A number as float64; of a float32 the shortest decimal that rounds to it, 0.05 and not 0.05000000074505806."""
    value = np.asarray(value)
    return float(str(value[()])) if value.dtype == np.float32 else float(value)
