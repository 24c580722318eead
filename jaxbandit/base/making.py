"""How an algorithm or an environment was made, which a declared factory notes in what it returns.

It holds for the object as it was made: after `_replace` of anything but the name, nothing is known of it.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

_ATTRIBUTE = "__making__"  # of the function `init`, because a NamedTuple has no room of its own


class Making(NamedTuple):
    """A call of a factory, and what it returned."""

    factory: Callable[..., Any]
    arguments: Mapping[str, Any]  # all of them by name, as the factory took them
    made: Any


def note(factory: Callable[..., Any], arguments: Mapping[str, Any], made: Any) -> None:
    """Note how an object was made, unless it has no function `init` that can hold the note."""
    if (room := getattr(getattr(made, "init", None), "__dict__", None)) is not None:
        room[_ATTRIBUTE] = Making(factory, arguments, made)


def making_of(made: Any) -> Making | None:
    """Return how an algorithm or an environment was made, if that is known."""
    found = getattr(getattr(made, "init", None), _ATTRIBUTE, None)
    if found is None:
        return None
    parts = zip(made._replace(name=""), found.made._replace(name=""), strict=True)
    return found if all(one is other for one, other in parts) else None
