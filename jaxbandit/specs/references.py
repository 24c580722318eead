"""Factories outside the package, named "package.module:factory": imported, read and checked like registered ones.

The module is looked for in the working directory, then in the environment. Importing it runs its code.
"""

import functools
import hashlib
import importlib
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from jaxbandit.refusals import BadInput, nearest, refuse, show
from jaxbandit.specs.entry import Entry


def is_reference(type_: Any) -> bool:
    """Whether a `type` names a factory outside the package, or a wrapper around one."""
    return isinstance(type_, str) and ":" in type_


def resolve(where: str, reference: str) -> Entry:
    """Return what `reference` names, or refuse it at `where`."""
    try:
        return entry(reference)
    except BadInput as error:
        refuse(where, f" = {show(reference)}, {error}")


@functools.cache
def entry(reference: str) -> Entry:
    """Import what `reference` names and return its entry; BadInput says what is wrong with it."""
    name, _, attribute = reference.partition(":")
    if not all(map(str.isidentifier, [*name.split("."), attribute])):
        raise BadInput('must be "package.module:factory", the name of a function in a module that can be imported')
    module = _import(name)
    factory = getattr(module, attribute, None)
    if factory is None:
        functions = [key for key, value in vars(module).items() if callable(value) and not key.startswith("_")]
        raise BadInput(f"has no {attribute} in module {name}{nearest(attribute, functions)}")
    if not callable(factory):
        raise BadInput(f"is a {type(factory).__name__}, must be a function that returns an algorithm or an environment")
    found = Entry(
        reference,
        name,
        "",
        attribute=attribute,
        kind="",
        described=callable(getattr(module, f"describe_{attribute}", None)),
    )
    try:
        arguments = tuple(found.parameters())
    except ValueError as error:
        raise BadInput(f"has no signature to read arguments from ({error})") from None
    sources(found)  # of the source as it is now, not as somebody may leave it while this process runs
    return Entry(**{**vars(found), "arguments": arguments})


@functools.cache
def sources(found: Entry) -> dict[str, str]:
    """Return the digest of the source of each module that a factory outside the package comes from, by module."""
    names = dict.fromkeys((found.module, getattr(found.factory(), "__module__", None)))
    files = {name: getattr(sys.modules.get(name), "__file__", None) for name in names if name}
    return {name: hashlib.sha256(Path(file).read_bytes()).hexdigest() for name, file in files.items() if file}


def _import(name: str) -> ModuleType:
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)  # and left there: a module may import its neighbours when it is called
    importlib.invalidate_caches()
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and f"{name}.".startswith(f"{error.name}."):
            raise BadInput(f"has no module {error.name} in {here} or the environment") from None
        raise BadInput(f"cannot be imported: {said(error)}") from None
    except (Exception, SystemExit) as error:
        raise BadInput(f"cannot be imported: {said(error)}") from None


def build(where: str, found: Entry, given: Mapping[str, Any]) -> Any:
    """Call a factory outside the package with concrete arguments; refuse what it raises."""
    return call(where, found.name, lambda: found.build(given))


def trace(where: str, found: Entry, given: Mapping[str, Any]) -> None:
    """Call it as the engine will, with traced arguments where it takes them; refuse what it raises."""
    import jax
    import numpy as np

    moving = {name: np.asarray(given[name], np.float32) for name in found.traced(given)}
    still = {name: value for name, value in given.items() if name not in moving}

    def play(arguments: dict[str, Any]) -> tuple[()]:
        found.factory()(**still, **arguments)
        return ()

    if moving:
        call(where, found.name, lambda: jax.eval_shape(play, moving), f" with {', '.join(moving)} traced")


def call(where: str, name: str, function: Callable[[], Any], when: str = "") -> Any:
    """Call somebody's code, of this name in refusals; refuse what it raises."""
    from jax.errors import JAXTypeError

    try:
        return function()
    except JAXTypeError as error:
        remedy = "write it with jax.numpy, or annotate what Python must know as int, bool or Literal"
        refuse(where, f": {name} raises {type(error).__name__}{when}; {remedy}")
    except Exception as error:
        refuse(where, f": {name} raises {said(error)}{when}")


def said(error: BaseException) -> str:
    """Return an exception of somebody's code in a line: its type and the first line of what it says."""
    first = next(iter(str(error).strip().splitlines()), "")
    return f"{type(error).__name__}{': ' if first else ''}{first}"
