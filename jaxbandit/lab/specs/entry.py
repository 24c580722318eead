"""What is known of a factory by its name without calling it: its declaration, its docstring and its arguments."""

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from jaxbandit.base import docstrings, origin
from jaxbandit.base.declaration import Declaration
from jaxbandit.base.parameters import Parameter, parameters_of
from jaxbandit.lab.specs.priors import FamilyPrior


@dataclass(frozen=True, kw_only=True)
class Entry(Declaration):
    """A factory: what it declares, and where it is imported from."""

    name: str  # its `type` in TOML; for a factory outside the package "package.module:factory"
    module: str
    attribute: str  # name of the factory in the module
    arguments: tuple[str, ...]
    doc: str = ""  # its docstring as it is written, without what annotations say

    @property
    def summary(self) -> str:
        """The first line of the docstring, without the full stop."""
        return self.doc.partition("\n")[0].removesuffix(".")

    @property
    def guarantee(self) -> str:
        """What is proved, in one line: the first paragraph of the docstring's Guarantee; "" without one."""
        return " ".join(docstrings.sections(self.doc).get("Guarantee", "").partition("\n\n")[0].split())

    def factory(self) -> Callable[..., Any]:
        """Import and return the factory."""
        return getattr(importlib.import_module(self.module), self.attribute)

    def build(self, given: Mapping[str, Any]) -> Any:
        """Call the factory with concrete arguments; nested tuples of numbers become float64 NumPy arrays.

        An environment with an argument that is a prior is `drawn`.
        """
        import numpy as np

        parameters = self.parameters()
        lists = {k: np.asarray(v) for k, v in given.items() if parameters[k].traced and isinstance(v, tuple)}
        factory, arguments = self.factory(), {**given, **lists}
        if has_prior(given):
            from jaxbandit.base.prior import drawn

            return drawn(factory, **arguments)
        made = factory(**arguments)
        if origin.origin_of(made) is None:  # a factory that is not declared
            origin.note(factory, arguments, made)
        return made

    def parameters(self) -> dict[str, Parameter]:
        """Return the factory's arguments by name, in order. This imports its module."""
        return parameters_of(self.factory())

    def traced(self, given: Mapping[str, Any]) -> set[str]:
        """Return the names of those of the given arguments that can change without recompilation.

        Beside a prior there are none, so that the noise can be told to depend on nothing that is drawn.
        """
        if has_prior(given):
            return set()
        still, parameters = self.concrete_in(given), self.parameters()
        return {
            k for k, v in given.items() if parameters[k].traced and not isinstance(v, str | None) and k not in still
        }


def has_prior(given: Mapping[str, Any]) -> bool:
    """Whether one of the arguments is drawn from a prior."""
    return any(isinstance(value, FamilyPrior) for value in given.values())
