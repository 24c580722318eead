"""The guarantee of a stopping rule as numbers, taken from the algorithm that declares it."""

import math
from typing import Any

import numpy as np

from jaxbandit.base.contract import Algorithm

SAME = 1e-6  # relative tolerance for a number that has been rounded to float32


def guarantee_of(algorithm: Algorithm, delta: float | None = None, epsilon: float | None = None) -> dict[str, Any]:
    """Return delta, epsilon, m and proved of an algorithm's guarantee; without a guarantee, epsilon alone.

    A `delta` or `epsilon` that the caller expects must be equal to that of the guarantee; without one, epsilon is the
    simple regret above which a recommendation is an error, by default 0.
    """
    promise, name = algorithm.promise, algorithm.name or "the algorithm"
    if promise is None:
        if delta is not None:
            raise ValueError(f"delta = {delta:g}, but {name} guarantees no error rate; leave it out")
        return {"epsilon": 0.0 if epsilon is None else _number(epsilon)}
    guarantee = {"delta": _number(promise.delta), "epsilon": _number(promise.epsilon)}
    for key, given in (("delta", delta), ("epsilon", epsilon)):
        if given is not None and not math.isclose(_number(given), guarantee[key], rel_tol=SAME, abs_tol=0.0):
            raise ValueError(f"{key} = {given:g}, but {name} guarantees {key} = {guarantee[key]:g}; leave it out")
    return guarantee | {"m": int(promise.m), "proved": bool(promise.proved)}


def _number(value: Any) -> float:
    """Return a number as float64; a float32 gives the shortest decimal that rounds to it, such as 0.05."""
    value = np.asarray(value)
    return float(str(value[()])) if value.dtype == np.float32 else float(value)
