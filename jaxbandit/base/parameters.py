"""The arguments of a factory as its signature declares them: of which kind, static or traced, required or not."""

import functools
import inspect
import types
import typing
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

Kind = Literal["array", "scalar", "number", "integer", "boolean", "choice", "choices", "path", "static"]


@dataclass(frozen=True)
class Parameter:
    """One argument of a factory, as declared by its signature."""

    name: str
    kind: Kind  # "array", "scalar" and "number" (either of the two) are traced, all others are static
    required: bool
    default: object = None
    choices: tuple[str, ...] = ()  # of an array: names that may be given instead, which are static
    optional: bool = False  # None is allowed

    @property
    def traced(self) -> bool:
        """Whether the value can change without recompilation."""
        return self.kind in ("array", "scalar", "number")


@functools.cache
def parameters_of(factory: Callable[..., Any]) -> dict[str, Parameter]:
    """Return a factory's arguments by name, in order."""
    try:
        hints = typing.get_type_hints(factory.func if isinstance(factory, functools.partial) else factory)
    except (NameError, TypeError):  # a factory outside the package may use names that only its type checker knows
        hints = {}
    return {
        name: _parameter(name, hints.get(name, Any), p.default)
        for name, p in inspect.signature(factory).parameters.items()
        if p.kind not in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    }


def _parameter(name: str, annotation: object, default: object) -> Parameter:
    union = typing.get_origin(annotation) in (typing.Union, types.UnionType)
    members = set(typing.get_args(annotation)) if union else {annotation}
    optional = type(None) in members
    members -= {type(None)}
    required = default is inspect.Parameter.empty
    kind, choices = _kind(members)
    return Parameter(name, kind, required, None if required else default, choices, optional)


def _kind(members: set[Any]) -> tuple[Kind, tuple[str, ...]]:
    import jax
    import numpy as np

    if jax.Array in members:
        scalar = "number" if np.ndarray in members else "scalar"  # jax.typing.ArrayLike has both, and float
        names = [name for member in members if typing.get_origin(member) is Literal for name in typing.get_args(member)]
        return (scalar if float in members else "array"), tuple(names)
    if Path in members:
        return "path", ()
    if float in members and members <= {float, int}:
        return "scalar", ()
    if len(members) != 1:
        return "static", ()
    (only,) = members
    origin, arguments = typing.get_origin(only), typing.get_args(only)
    if only is int or only is bool:
        return ("integer" if only is int else "boolean"), ()
    if origin is Literal:
        return "choice", arguments
    if origin in (tuple, list) or (inspect.isclass(origin) and issubclass(origin, typing.Iterable)):
        inner = arguments[0] if arguments else None
        return "choices", typing.get_args(inner) if typing.get_origin(inner) is Literal else ()
    return "static", ()
