"""Bandit algorithms in JAX: pure functions of one run, of which the engine plays thousands at once.

Each subpackage lists its public names in its stub `__init__.pyi`, and all of them are names of `jaxbandit`. They are
imported on first use, so that `import jaxbandit` alone is fast and does not import JAX.
"""

from typing import Any

import lazy_loader

from jaxbandit import algorithms, base, decide, engine, environments, lab, running, theory
from jaxbandit.base.version import __version__ as __version__

_PACKAGES = (algorithms, base, decide, engine, environments, lab, running, theory)
_get, __dir__, __all__ = lazy_loader.attach(
    __name__, submod_attrs={package.__name__.partition(".")[2]: package.__all__ for package in _PACKAGES}
)
__all__ += ["__version__", "algorithms", "environments"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        import difflib  # only needed for an error message

        near = difflib.get_close_matches(name, __all__, 1)
        guess = f"; did you mean {near[0]!r}?" if near else ""
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{guess}")
    return _get(name)
