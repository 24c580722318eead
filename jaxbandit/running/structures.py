"""One compiled program for all pairs of an algorithm and an environment of one structure.

The structure of an object is the factory that made it, its static arguments, and the names of its traced arguments. The
values of these are arguments of the program. An object of which it is not known how it was made is its own structure.
"""

import enum
import functools
import types
from collections.abc import Callable, Hashable, Mapping
from typing import Any, NamedTuple

import numpy as np

from jaxbandit.base.contract import Algorithm, Environment
from jaxbandit.base.declaration import declaration_of
from jaxbandit.base.origin import origin_of
from jaxbandit.base.parameters import parameters_of
from jaxbandit.engine.layout.compiled import Same
from jaxbandit.engine.rounds.single import Make
from jaxbandit.support.types import PyTree


class Structure(NamedTuple):
    """What an object's program depends on, and how it is built from the rest."""

    key: Hashable  # equal for objects of one structure
    arguments: dict[str, Any]  # traced arguments by name; those of an algorithm within this one are a dictionary
    build: Callable[[dict[str, Any]], Any]  # an object of this structure with other traced arguments


def program_of(algorithm: Algorithm, environment: Environment) -> tuple[Make, PyTree]:
    """Return the `make` function of a pair, the same for all pairs of one structure, and the arguments of this pair."""
    one, other = structure_of(algorithm), structure_of(environment)
    make = _make(_Equal((one.key, other.key), (one.build, other.build)))
    return make, {"algorithm": one.arguments, "environment": other.arguments}


def structure_of(made: Any) -> Structure:
    """Return the structure of an algorithm or an environment."""
    found = origin_of(made)
    if found is None:
        return Structure(Same(made), {}, lambda arguments: made)
    factory, parameters = found.factory, parameters_of(found.factory)
    still: dict[str, Any] = {}
    inner: dict[str, Structure] = {}
    moving: dict[str, Any] = {}
    declared = declaration_of(factory)
    concrete = declared.concrete_in(found.arguments) if declared else ()
    for name, value in found.arguments.items():
        if isinstance(value, Algorithm | Environment):
            inner[name] = structure_of(value)
        elif parameters[name].traced and not isinstance(value, str | None) and name not in concrete:
            moving[name] = _array(value)
        else:
            still[name] = value
    moving |= {name: part.arguments for name, part in inner.items() if part.arguments}

    def build(arguments: dict[str, Any]) -> Any:
        if not moving:
            return made
        own = {name: part.build(arguments.get(name, {})) for name, part in inner.items()}
        return factory(**{**still, **arguments, **own})

    keys = {**still, **{name: part.key for name, part in inner.items()}}
    return Structure((factory, key_of(keys), tuple(moving)), moving, build)


def value_key(made: Any) -> Hashable:
    """Return a key that is equal for two objects that were made alike, with equal values of all arguments."""
    structure = structure_of(made)
    return made.name, structure.key, key_of(structure.arguments)


def _array(value: Any) -> np.ndarray:
    """A traced argument; integers are a float, as an equal number is, but an array of integers stays one."""
    array = np.asarray(value)
    return array if array.ndim and array.dtype.kind in "biu" else array.astype(np.float64)


def key_of(value: Any) -> Hashable:
    """Return a key of a static argument: equal for equal numbers, texts and arrays, else for the same object only."""
    if value is None or isinstance(value, bool | int | float | str | enum.Enum):
        return repr(value)  # 1, 1.0 and True differ, and 0.0 and -0.0
    if isinstance(value, types.FunctionType | Same):
        return value
    if isinstance(value, Mapping):
        return tuple((name, key_of(value[name])) for name in sorted(value))
    if isinstance(value, tuple | list):
        return type(value), tuple(map(key_of, value))
    if hasattr(value, "__array__"):
        array = np.asarray(value)
        return array.dtype.str, array.shape, array.tobytes()
    return Same(value)


class _Equal(NamedTuple):
    """A key, with what only the first of its equals is asked for."""

    key: Hashable
    build: tuple[Callable[..., Any], Callable[..., Any]]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Equal) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


@functools.lru_cache(maxsize=64)
def _make(pair: _Equal) -> Make:
    algorithm, environment = pair.build
    return lambda arguments: (algorithm(arguments["algorithm"]), environment(arguments["environment"]))
