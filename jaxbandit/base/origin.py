"""Where an algorithm or an environment comes from, which a declared factory notes in what it returns.

It holds for the object as it was returned: after `_replace` of anything but the name, nothing is known of it.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

_ATTRIBUTE = "__jaxbandit_origin__"  # of the function `init`, because a NamedTuple has no room of its own


class Origin(NamedTuple):
    """A call of a factory, and what it returned."""

    factory: Callable[..., Any]
    arguments: Mapping[str, Any]  # all of them by name, as the factory took them
    result: Any


def note(factory: Callable[..., Any], arguments: Mapping[str, Any], result: Any) -> None:
    """Note where an object comes from, unless it has no function `init` that can hold the note."""
    if (room := getattr(getattr(result, "init", None), "__dict__", None)) is not None:
        room[_ATTRIBUTE] = Origin(factory, arguments, result)


def origin_of(thing: Any) -> Origin | None:
    """Return the origin of an algorithm or an environment, if it is known."""
    found = getattr(getattr(thing, "init", None), _ATTRIBUTE, None)
    if found is None:
        return None
    parts = zip(thing._replace(name=""), found.result._replace(name=""), strict=True)
    return found if all(one is other for one, other in parts) else None
