"""Wrappers of algorithms, as in the `type` "delayed(kl_ucb)", which takes the arguments of both.

A wrapped algorithm is used like any other algorithm. A wrapper declares no question.
"""

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from jaxbandit.base.parameters import Parameter
from jaxbandit.lab.specs.declared import Declared
from jaxbandit.lab.specs.entry import Entry
from jaxbandit.support.refusals import refuse, show

SHARED = ("horizon",)  # arguments that have the same meaning in the wrapper and in the algorithm


WRAPPERS = Declared("algorithms", lambda entry: not entry.question)


def parts(type_: Any) -> tuple[str, str] | None:
    """Return the wrapper and the inner type of a type such as "delayed(kl_ucb)", or None for any other type."""
    match = re.fullmatch(r"(\w+)\((.+)\)", type_) if isinstance(type_, str) else None
    return (match[1], match[2]) if match else None


def wrapped(where: str, name: str, inner: Entry) -> "Wrapped":
    """Return the entry of a wrapped algorithm; raise an error if an argument of both has different meanings."""
    outer = WRAPPERS[name]
    own = outer.arguments[1:]
    both = [a for a in own if a in inner.parameters() and a not in SHARED]
    if both:
        refuse(
            where,
            f" = {show(f'{name}({inner.name})')}, has two arguments named {both[0]}; rename that of the algorithm",
        )
    arguments = (*inner.arguments, *(a for a in own if a not in inner.arguments))
    about = {"name": f"{name}({inner.name})", "arguments": arguments, "inner": inner, "outer": outer}
    return Wrapped(**{**vars(inner), **about})


@dataclass(frozen=True, kw_only=True)
class Wrapped(Entry):
    """A wrapper around an algorithm, with the arguments of both."""

    inner: Entry
    outer: Entry

    def factory(self) -> Callable[..., Any]:
        """Return the factory of the wrapped algorithm, which is the same object for the same two factories."""
        return _composed(self.outer.factory(), self.inner.factory(), *map(tuple, self._names()))

    def parameters(self) -> dict[str, Parameter]:
        """Return the arguments of both by name. This imports both modules."""
        outer = {k: p for k, p in self.outer.parameters().items() if k != "algorithm"}
        return outer | self.inner.parameters()

    def _names(self) -> tuple[list[str], list[str]]:
        return list(self.outer.parameters())[1:], list(self.inner.parameters())


@functools.cache
def _composed(
    outer: Callable[..., Any], inner: Callable[..., Any], own: tuple[str, ...], its: tuple[str, ...]
) -> Callable[..., Any]:
    def factory(**given: Any) -> Any:
        algorithm = inner(**{k: v for k, v in given.items() if k in its})
        return outer(algorithm, **{k: v for k, v in given.items() if k in own})

    factory.__module__ = inner.__module__  # so that stored results depend on its source
    return factory
