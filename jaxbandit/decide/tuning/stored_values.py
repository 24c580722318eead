"""Values of hyperparameters and configurations as plain data for JSON, from which they are restored without pickle.

Python's own types, and arrays and numbers of NumPy, are restored with their types; an array of JAX becomes one of
NumPy. Other values, such as functions and objects of classes, are code: a `NotRestored` with their text takes their
place.
"""

import math
from typing import Any

import jax
import numpy as np

from jaxbandit.decide.tuning.configs import Configs, objects, read
from jaxbandit.decide.tuning.values import words
from jaxbandit.support.types import Json

DTYPES = {f"{kind}{bits}" for kind in ("int", "uint", "float") for bits in (8, 16, 32, 64)} - {"float8"} | {"bool"}
SEQUENCES = {kind.__name__: kind for kind in (tuple, set, frozenset)}


class NotRestored:
    """What stands in a loaded result in place of a value that is code, such as a function; `str` is its text."""

    def __init__(self, text: str):
        """Keep the text."""
        self.text = text

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<not restored: {self.text}>"

    def __reduce__(self) -> str:
        raise TypeError("it was loaded from a file, which holds no code")  # so that no search trains it


def encoded(value: Any) -> Any:
    """Return a value as plain data that `decoded` reads."""
    kind = type(value)
    if value is None or kind in (bool, int, str) or (kind is float and math.isfinite(value)):
        return value
    if kind is float:
        return {"float": repr(value)}
    if kind is list:
        return [*map(encoded, value)]
    if kind.__name__ in SEQUENCES and kind is SEQUENCES[kind.__name__]:
        return {kind.__name__: [*map(encoded, value if kind is tuple else sorted(value, key=repr))]}
    if kind is dict:
        return {"dict": [[encoded(name), encoded(x)] for name, x in value.items()]}
    if isinstance(value, np.ndarray | np.generic | jax.Array):
        dtype = "str" if getattr(value.dtype, "kind", "") == "U" else str(value.dtype)
        if dtype in DTYPES or dtype in ("str", "object"):
            flat = [*map(encoded, np.asarray(value).ravel().tolist())]
            return {"number" if isinstance(value, np.generic) else "array": [dtype, list(value.shape), flat]}
    return {"text": words(value)}


def decoded(data: Any) -> Any:
    """Return the value of which `encoded` returned `data`."""
    if isinstance(data, list):
        return [*map(decoded, data)]
    if not isinstance(data, dict):
        return data
    ((kind, content),) = data.items()
    if kind == "text":
        return NotRestored(str(content))
    if kind == "float":
        return float(content)
    if kind == "dict":
        return {decoded(name): decoded(x) for name, x in content}
    if kind in SEQUENCES:
        return SEQUENCES[kind](map(decoded, content))
    dtype, shape, flat = content
    if kind not in ("array", "number") or dtype not in DTYPES | {"str", "object"}:
        raise ValueError(f"{kind} of {dtype} is no value")
    values = decoded(flat)
    array = objects(values) if dtype == "object" else np.array(values, dtype)
    array = array.reshape(shape)
    return array[()] if kind == "number" else array


def data_of(configs: Configs) -> Json:
    """Return configurations as plain data. A tree of containers of other classes is stored as dictionaries."""
    if configs.given:
        return {"rows": encoded(list(configs.given))}
    numbers = configs.structure.unflatten(range(len(configs.columns)))
    if jax.tree.structure(decoded(encoded(numbers))) == configs.structure:
        return {"columns": encoded(configs.tree())}
    entries = [column.tolist() for column in configs.columns]
    rows = [dict(zip(configs.names, row, strict=True)) for row in zip(*entries, strict=True)]
    return {"rows": encoded(rows), "class": type(numbers).__name__}


def configs_of(data: Json) -> Configs:
    """Return the configurations of which `data_of` returned `data`."""
    return read(decoded(data["rows"] if "rows" in data else data["columns"]), distinct=False)


def losses(data: Any) -> list[str]:
    """Return the texts of what `decoded` does not restore, each once, in their order."""
    if isinstance(data, list):
        return [*dict.fromkeys(text for x in data for text in losses(x))]
    if not isinstance(data, dict):
        return []
    own = [str(data[name]) for name in ("text", "class") if isinstance(data.get(name), str)]
    return [*dict.fromkeys(own + [text for x in data.values() for text in losses(x)])]


def stored_columns(configs: Configs) -> dict[str, np.ndarray]:
    """Return the hyperparameters of configurations as `config.NAME`, for files and data frames."""
    names = [name if name == "config" else f"config.{name}" for name in configs.names]
    return {n: _stored(c) for n, c in zip(names, configs.columns, strict=True)}


def _stored(column: np.ndarray) -> np.ndarray:
    """A column without Python objects, for files and data frames."""
    if column.dtype != object:
        return column
    values = column.tolist()
    alike = len({type(value) for value in values}) == 1 and isinstance(values[0], int | float | str)
    return np.array(values if alike else [*map(words, values)])
