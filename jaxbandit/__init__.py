"""Bandit algorithms in JAX: pure functions of one run, of which the engine plays thousands at once.

The stub `__init__.pyi` lists the public names. They are imported on first use, so that `import jaxbandit` alone is fast
and does not import JAX.
"""

import importlib
import re
from pathlib import Path
from typing import Any

from jaxbandit import algorithms, environments
from jaxbandit.support.version import __version__ as __version__

_STUB = Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")
_HOMES = {name: module for module, name in re.findall(r"^from (\.\w[\w.]*) import (\w+) as", _STUB, re.MULTILINE)}
__all__ = sorted([*_HOMES, "__version__", "algorithms", "environments"])  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if home := _HOMES.get(name):
        module = importlib.import_module(home, __name__)
        value = getattr(module, name) if hasattr(module, name) else importlib.import_module(f"{home}.{name}", __name__)
        return globals().setdefault(name, value)  # the next use finds it there
    import difflib  # only needed for an error message

    paths = {each: f"{package.__name__}.{each}" for package in (algorithms, environments) for each in package.__all__}
    paths |= {each: f"{__name__}.{each}" for each in __all__}
    names = {each.casefold(): path for each, path in paths.items()}
    close = difflib.get_close_matches(name.casefold(), names, 1, 0.7)
    guess = "".join(f"; did you mean {names[near]}?" for near in close)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{guess}")


def __dir__() -> list[str]:
    return __all__
