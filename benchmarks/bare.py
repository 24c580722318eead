"""Stand-ins for lazy_loader and filelock where only JAX and NumPy are installed and nothing can be downloaded.

`python -m benchmarks gpu` is made for such a machine. jaxbandit imports both packages, but needs neither to play runs:
lazy_loader imports names on first use, and filelock locks directories, which a benchmark of speed does not write. A
package that is installed is never replaced.
"""

import ast
import importlib
import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import util
from pathlib import Path
from types import ModuleType
from typing import Any

replaced: list[str] = []  # the packages that a stand-in replaces in this process


def stand_in() -> None:
    """Put a stand-in in the place of each of the two packages that is missing."""
    for name, contents in STAND_INS.items():
        if name not in sys.modules and util.find_spec(name) is None:
            sys.modules[name] = module = ModuleType(name, f"Stand-in of {__name__}.")
            vars(module).update(contents)
            replaced.append(name)


def attach(
    package: str, submodules: Iterable[str] = (), submod_attrs: Mapping[str, Iterable[str]] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` of a package whose names are imported on first use."""
    owners = {name: f"{package}.{module}" for module, names in (submod_attrs or {}).items() for name in names}
    folders = {*submodules}
    public = sorted({*owners, *folders})

    def get(name: str) -> Any:
        if name not in public:
            raise AttributeError(f"No {package} attribute {name}")
        own = importlib.import_module(owners.get(name, f"{package}.{name}"))
        value = getattr(own, name) if name in owners else own
        vars(sys.modules[package])[name] = value
        return value

    class Package(ModuleType):
        """A package in which a file does not hide the function of the same name when it is imported."""

        def __setattr__(self, name: str, value: Any) -> None:
            if not (owners.get(name) == f"{package}.{name}" and isinstance(value, ModuleType)):
                super().__setattr__(name, value)

    sys.modules[package].__class__ = Package
    return get, lambda: public, list(public)


def attach_stub(package: str, filename: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return the same for the names that the stub beside a package's `__init__.py` imports."""
    stub = ast.parse(Path(filename).with_suffix(".pyi").read_text(encoding="utf-8"))
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    folders = [alias.name for node in imports if not node.module for alias in node.names]
    named: dict[str, list[str]] = {}
    for node in imports:
        if node.module:
            named.setdefault(node.module, []).extend(alias.name for alias in node.names)
    return attach(package, folders, named)


class FileLock:
    """What asks for a lock is told what is missing."""

    def __init__(self, *_: object, **__: object):
        raise ModuleNotFoundError("filelock is not installed, and directories are not written without it")


STAND_INS = {
    "lazy_loader": {"attach": attach, "attach_stub": attach_stub},
    "filelock": {"FileLock": FileLock, "Timeout": TimeoutError},
}
