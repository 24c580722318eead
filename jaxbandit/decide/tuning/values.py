"""Values of hyperparameters: copies of them, and what is printed and stored of them."""

import math
import re
from typing import Any

import jax
import numpy as np

ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def copied(value: Any) -> Any:
    """Return a value with copies of the lists, dictionaries, sets and arrays in it, because train may write into it."""
    if type(value) is dict:
        return {name: copied(x) for name, x in value.items()}
    if type(value) in (list, tuple):
        return type(value)(map(copied, value))
    return value.copy() if isinstance(value, np.ndarray | set) else value


def words(value: object) -> str:
    """Return a value as text that is the same in every process: without addresses, and with sets in order."""
    if isinstance(value, set | frozenset):
        return f"{{{', '.join(sorted(map(repr, value)))}}}"
    return ADDRESS.sub("", str(getattr(value, "__qualname__", value)))


def as_data(value: Any) -> Any:
    """Return a value of a configuration as plain data for JSON; other objects become text."""
    if isinstance(value, dict):
        return {str(name): as_data(x) for name, x in value.items()}
    if isinstance(value, list | tuple):
        return [*map(as_data, value)]
    if isinstance(value, np.ndarray | np.generic | jax.Array):
        return as_data(value.tolist())
    known = value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and math.isfinite(value))
    return value if known else words(value)
