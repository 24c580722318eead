"""Keys of TOML files: the fields of a typed value that are read from a file, with what each may be.

A field that is declared by `key` is read, judged and, where the file leaves it out, given its default by `read`.
"""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from jaxbandit.support.domains import Domain, check, values
from jaxbandit.support.refusals import known, refuse, show

REQUIRED: Any = object()
Domains = Domain | Callable[[Mapping[str, Any]], Domain]


class Key(NamedTuple):
    """One key. Its domain and its default may depend on the values of the keys before it."""

    domain: Domains
    default: Any = REQUIRED  # in the form that is used, or a function that returns it
    kind: str = ""  # the one kind of experiment that has the key; "" for all kinds


def key(
    domain: Domains,
    default: Any = REQUIRED,
    *,
    kind: str = "",
    otherwise: Any = dataclasses.MISSING,
) -> Any:
    """Return the field of a dataclass that is a key; `otherwise` is its value for experiments of another kind."""
    return dataclasses.field(default=otherwise, metadata={"key": Key(domain, default, kind)})


def keys_of(spec: type) -> dict[str, Key]:
    """Return the keys among the fields of a dataclass, by name and in order."""
    return {field.name: field.metadata["key"] for field in dataclasses.fields(spec) if "key" in field.metadata}


def read(at: str, data: Mapping[str, Any], keys: Mapping[str, Key]) -> dict[str, Any]:
    """Return the value of each key of the kind that `data` gives, in the form that is used, defaults included.

    `at` is the place of the data, for messages: the file and ": ". If some keys belong to one kind of experiment, the
    key `kind` comes before them.
    """
    known(at, data, keys)
    settings: dict[str, Any] = {}
    for name, key in keys.items():
        if key.kind and key.kind != settings["kind"]:
            if name in data:
                refuse(f"{at}{name}", f' = {show(data[name])}: only for kind = "{key.kind}"; leave it out')
            continue
        domain = key.domain if isinstance(key.domain, Domain) else key.domain(settings)
        if name in data:
            settings[name] = check(f"{at}{name}", data[name], domain)
        elif key.default is REQUIRED:
            refuse(f"{at}{name}", f": missing, must be {domain.allowed}")
        else:
            settings[name] = key.default(settings) if callable(key.default) else key.default
    return settings


def tables(name: str, *, one: bool = False) -> Domain:
    """Return the domain of one or more tables [[name]], or of a single one."""
    return values(
        f"one [[{name}]] table" if one else f"one or more [[{name}]] tables",
        lambda value: (
            isinstance(value, list)
            and value
            and all(isinstance(table, dict) for table in value)
            and not (one and len(value) > 1)
        ),
    )


ANY = values("any value", lambda value: True)
SCALAR = values("a number, a string, true or false", lambda value: type(value) in (bool, int, float, str))
