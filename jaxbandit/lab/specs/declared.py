"""The factories of this package that declare themselves, read from its files without importing JAX.

Each of its packages lists its names in a stub, `__init__.pyi`. What a factory declares is read from its source, from
`@declare` to the end of the docstring; a test compares it with the factory.
"""

import ast
import functools
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from jaxbandit.base.declaration import defaults_of
from jaxbandit.lab.specs.entry import Entry

ROOT = Path(__file__).parents[2]
HEAD = re.compile(r'^@declare\(.*?^    """.*?"""$', re.DOTALL | re.MULTILINE)
PLAYED = ("tries", "settings")  # what tests play may be any expression, and is read from the factory


class Declared(Mapping[str, Entry]):
    """Read-only mapping of the factories that a package lists and that declare themselves, by name."""

    def __init__(self, package: str, wanted: Callable[[Entry], bool] = lambda entry: True):
        self.package, self.wanted = package, wanted

    @functools.cached_property
    def modules(self) -> dict[str, str]:
        """The modules that define the names of the package's stub, by name in alphabetical order."""
        stub = ast.parse((ROOT / self.package / "__init__.pyi").read_text(encoding="utf-8"))
        imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
        listed = [(a.name, f"jaxbandit.{self.package}.{node.module}") for node in imports for a in node.names]
        return dict(sorted(listed))

    def __getitem__(self, name: str) -> Entry:
        entry = read(self.modules[name]).get(name)
        if entry is None or not self.wanted(entry):
            raise KeyError(name)
        return entry

    def __iter__(self) -> Iterator[str]:
        return (name for name in self.modules if name in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)


@functools.cache
def read(module: str) -> dict[str, Entry]:
    """Return the declared factories of a module of this package by name, without importing it.

    Raises:
      ValueError: a declaration is not written in literals.
    """
    text = ROOT.joinpath(*module.split(".")[1:]).with_suffix(".py").read_text(encoding="utf-8")
    entries = {}
    for head in HEAD.findall(text):
        (function,) = ast.parse(head).body
        assert isinstance(function, ast.FunctionDef)
        (call,) = function.decorator_list
        assert isinstance(call, ast.Call)
        try:
            declared = {str(k.arg): ast.literal_eval(k.value) for k in call.keywords if k.arg not in PLAYED}
        except ValueError as error:
            error.add_note(f"{module}: what {function.name} declares, apart from {PLAYED}, must be literals")
            raise
        arguments = tuple(a.arg for a in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs))
        declared |= defaults_of(declared, arguments)
        doc = inspect.cleandoc(ast.get_docstring(function) or "")
        place: dict[str, Any] = {"name": function.name, "module": module, "attribute": function.name}
        entries[function.name] = Entry(**place, arguments=arguments, doc=doc, **declared)
    return entries
