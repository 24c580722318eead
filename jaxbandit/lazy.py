"""Public names of a package that are imported on first use."""

import difflib
import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any


class _Package(ModuleType):
    """A package in which a public name may equal the name of a module; it then means the object, not the module."""

    def __setattr__(self, name: str, value: Any) -> None:
        # Importing a module sets it as an attribute of its package, which would hide the object of that name.
        if not isinstance(value, ModuleType) or self.__dict__["_HOME"].get(name) != name:
            super().__setattr__(name, value)


def names(
    package: str, home: Mapping[str, str], public: Sequence[str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the functions `__getattr__` and `__dir__` of a package.

    Args:
      package: name of the package.
      home: name -> the module of the package that defines it, or "" if the name is that of a module.
      public: the names that `dir` lists.
    """

    def get(name: str) -> Any:
        if name not in home:
            near = difflib.get_close_matches(name, public, 1)
            guess = f"; did you mean {near[0]!r}?" if near else ""
            raise AttributeError(f"module {package!r} has no attribute {name!r}{guess}")
        module = importlib.import_module(f"{package}.{home[name] or name}")
        value = getattr(module, name) if home[name] else module
        setattr(sys.modules[package], name, value)
        return value

    sys.modules[package].__class__ = _Package
    return get, lambda: sorted(public)
