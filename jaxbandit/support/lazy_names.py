"""Packages whose names, listed in a stub, are imported when they are first used."""

from collections.abc import Callable
from typing import Any

import lazy_loader

from jaxbandit.support.refusals import nearest


def attach_stub(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return a package's `__getattr__`, `__dir__` and `__all__`; a name that it lacks is compared with those it has."""
    imported, names, public = lazy_loader.attach_stub(package, file)

    def attribute(name: str) -> Any:
        if name in public:
            return imported(name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}{nearest(name, public)}")

    return attribute, names, public
