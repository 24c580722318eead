"""The arguments of a function as its signature declares them: kind, domain, meaning, static or traced, required or not.

An annotation may carry an `Arg`, as in `Annotated[Scalar, Arg(number(0, 1), "share of the rounds that explore")]`.
"""

import functools
import inspect
import operator
import re
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from jaxbandit.base import docstrings
from jaxbandit.support.domains import BOOLEAN, Domain, choice

Kind = Literal["array", "scalar", "number", "integer", "boolean", "choice", "choices", "path", "static"]


@dataclass(frozen=True)
class Arg:
    """What is said of an argument beside its type, as metadata of `typing.Annotated`."""

    # The values that it may have; or a function of all arguments of the call, by name, that returns them.
    domain: Domain | Callable[[Mapping[str, Any]], Domain] | None = None
    meaning: str = ""  # of the docstring, which a rule may replace by its own
    tries: tuple[Any, ...] = ()  # traced arguments: values that conformance tests play, the first as base of the others
    within: str = ""  # the domain in words where it depends on other arguments


@dataclass(frozen=True)
class Parameter:
    """One argument of a factory, as declared by its signature."""

    name: str
    kind: Kind  # "array", "scalar" and "number" (either of the two) are traced, all others are static
    required: bool
    default: object = None
    choices: tuple[str, ...] = ()  # of an array: names that may be given instead, which are static
    optional: bool = False  # None is allowed
    real: bool = False  # a float, and no array
    arg: Arg = Arg()
    meaning: str = ""  # by the docstring, or by the `Arg` if that says nothing

    @property
    def traced(self) -> bool:
        """Whether the value can change without recompilation."""
        return self.kind in ("array", "scalar", "number")

    def domain(self, given: Mapping[str, Any] | None = None) -> Domain | None:
        """Return the values that the argument may have beside None, if they are said.

        `given` has all arguments of the call; None leaves open those values that depend on others.
        """
        domain = self.arg.domain
        if domain is None:
            return {"boolean": BOOLEAN, "choice": choice(self.choices)}.get(self.kind)
        if isinstance(domain, Domain):
            return domain
        return None if given is None else domain(given)

    @property
    def text(self) -> str:
        """The meaning with the values, and whether it is static or traced, unless it says so itself."""
        return self.words("traced" if self.traced else "static")

    def words(self, how: str = "") -> str:
        """Return the meaning with the values, and how JAX takes the argument unless it says so itself."""
        if re.search(r"\b(static|traced|concrete)\b", self.meaning, re.IGNORECASE):
            return self.meaning
        sentence, *more = self.meaning.removesuffix(".").split(". ", 1)
        first, *rest = sentence.split("; ", 1)
        first = ", ".join(filter(None, (first, self._values())))
        text = ". ".join(["; ".join(filter(None, (first, *rest, how))), *more])
        return f"{text}." if text else ""

    def _values(self) -> str:
        """Return the values as a docstring says them; "" if it has said them."""
        if self.kind in ("choice", "choices"):
            names = [f'"{name}"' for name in self.choices]
            return (
                "" if all(name in self.meaning for name in names) else " or ".join([", ".join(names[:-1]), names[-1]])
            )
        words = self.arg.within or (self.arg.domain.allowed if isinstance(self.arg.domain, Domain) else "")
        words = words.removeprefix("a number ")
        if match := re.fullmatch(r"in ([(\[])(\S+), inf\)", words):
            words = f"{'>' if match[1] == '(' else '>='} {match[2]}"
        return words


@functools.cache
def parameters_of(factory: Callable[..., Any]) -> dict[str, Parameter]:
    """Return a factory's arguments by name, in order."""
    inner = inspect.unwrap(factory.func if isinstance(factory, functools.partial) else factory)
    said = docstrings.meanings(docstrings.sections(inspect.getdoc(inner) or "").get("Args", ""))
    try:
        hints = typing.get_type_hints(inner, include_extras=True)
    except (NameError, TypeError):  # a factory outside the package may use names that only its type checker knows
        hints = {}
    return {
        name: _parameter(name, hints.get(name, Any), p.default, said.get(name, ""))
        for name, p in inspect.signature(factory).parameters.items()
        if p.kind not in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    }


def plain(annotation: Any) -> Any:
    """Return an annotation without what it says beside the type."""
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        return functools.reduce(operator.or_, map(plain, typing.get_args(annotation)))
    return typing.get_args(annotation)[0] if typing.get_origin(annotation) is typing.Annotated else annotation


def _parameter(name: str, annotation: object, default: object, meaning: str) -> Parameter:
    arg, members = Arg(), set[Any]()
    for member in _members(annotation):
        if isinstance(member, Arg):
            arg = member
        else:
            members.add(member)
    optional = type(None) in members
    members -= {type(None)}
    required = default is inspect.Parameter.empty
    kind, choices = _kind(members)
    return Parameter(
        name,
        kind,
        required,
        None if required else default,
        choices,
        optional,
        kind == "scalar" and members <= {float, int},
        arg,
        meaning or arg.meaning,
    )


def _members(annotation: Any) -> Iterator[Any]:
    """Yield the types of a union, and the `Arg` of each that has one."""
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        for member in typing.get_args(annotation):
            yield from _members(member)
    elif typing.get_origin(annotation) is typing.Annotated:
        inner, *metadata = typing.get_args(annotation)
        yield from (each for each in metadata if isinstance(each, Arg))
        yield from _members(inner)
    else:
        yield annotation


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
