"""Factories outside the package, given as "package.module:factory", which are used and checked like registered ones.

The module is searched for in the working directory and then in the environment. Importing it runs its code.
"""

import functools
import hashlib
import importlib
import inspect
import os
import pkgutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from jaxbandit.base.declaration import declaration_of
from jaxbandit.base.parameters import parameters_of
from jaxbandit.lab.specs.entry import Entry
from jaxbandit.support.refusals import BadInput, nearest, refuse, show


def is_reference(type_: Any) -> bool:
    """Whether a `type` names a factory outside the package, or a wrapper around one."""
    return isinstance(type_, str) and ":" in type_


def require_trust(where: str, reference: str, imports: bool) -> None:
    """Raise BadInput with the location `where` unless code outside the package may be imported."""
    if not imports:
        remedy = "leave out --no-import or give --import if you trust it"
        refuse(where, f" = {show(reference)}, names code outside the package, which is not imported; {remedy}")


def resolve(where: str, reference: str) -> Entry:
    """Return the entry of the factory that `reference` names; raise BadInput with the location `where` if it cannot."""
    try:
        return entry(reference)
    except BadInput as error:
        refuse(where, f" = {show(reference)}, {error}")


@functools.cache
def entry(reference: str) -> Entry:
    """Import the factory that `reference` names, "package.module:factory", and return its entry, or raise BadInput."""
    module, attribute, factory = find(reference)
    if not callable(factory):
        raise BadInput(f"is a {type(factory).__name__}, must be a function that returns an algorithm or an environment")
    return _entry(reference, module, attribute, factory)


def find(reference: str) -> tuple[ModuleType, str, Any]:
    """Import the module of "package.module:name"; return it, the name, and what has this name there."""
    name, _, attribute = reference.partition(":")
    if not all(map(str.isidentifier, [*name.split("."), attribute])):
        raise BadInput('must be "package.module:factory", the name of a function in a module that can be imported')
    module = _import(name)
    thing = getattr(module, attribute, None)
    if thing is None:
        functions = [key for key, value in vars(module).items() if callable(value) and not key.startswith("_")]
        raise BadInput(f"has no {attribute} in module {name}{nearest(attribute, functions)}")
    return module, attribute, thing


def _entry(reference: str, module: ModuleType, attribute: str, factory: Callable[..., Any]) -> Entry:
    try:
        arguments = tuple(parameters_of(factory))
    except ValueError as error:
        raise BadInput(f"has no signature to read arguments from ({error})") from None
    declared = declaration_of(factory)
    about: dict[str, Any] = {} if declared is None else dict(vars(declared))
    place: dict[str, Any] = {"name": reference, "module": module.__name__, "attribute": attribute}
    factory_entry = Entry(**about, **place, arguments=arguments, doc=inspect.getdoc(factory) or "")
    sources(factory_entry)  # digest the source that was imported, which may be edited while this process runs
    return factory_entry


def declarations(package: str) -> list[Entry]:
    """Import a module outside the package, with all that it contains, and return what its functions declare."""
    if not all(map(str.isidentifier, package.split("."))):
        raise BadInput("must be the name of a module or package that can be imported")
    modules = [_import(package)]
    for each in pkgutil.walk_packages(getattr(modules[0], "__path__", ()), f"{package}."):
        if not each.name.endswith(".__main__"):  # a program, which would run
            modules.append(_import(each.name))
    own = [(m, name, f) for m in modules for name, f in vars(m).items() if inspect.isfunction(f)]
    return [entry(f"{m.__name__}:{name}") for m, name, f in own if f.__module__ == m.__name__ and declaration_of(f)]


@functools.cache
def sources(factory_entry: Entry) -> dict[str, str]:
    """Return the SHA-256 digest of the source of each module that an outside factory comes from, by module name."""
    return digests(factory_entry.module, getattr(factory_entry.factory(), "__module__", None))


def digests(*modules: str | None) -> dict[str, str]:
    """Return the SHA-256 digest of the source of each of these modules that has a file, by name."""
    names = dict.fromkeys(modules)
    files = {name: getattr(sys.modules.get(name), "__file__", None) for name in names if name}
    return {name: hashlib.sha256(Path(file).read_bytes()).hexdigest() for name, file in files.items() if file}


def _import(name: str) -> ModuleType:
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)  # it stays there, because a module may import its neighbors when it is called
    importlib.invalidate_caches()
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and f"{name}.".startswith(f"{error.name}."):
            raise BadInput(f"has no module {error.name} in {here} or the environment") from None
        raise BadInput(f"cannot be imported: {in_one_line(error)}") from None
    except (Exception, SystemExit) as error:
        raise BadInput(f"cannot be imported: {in_one_line(error)}") from None


def build(where: str, factory_entry: Entry, given: Mapping[str, Any]) -> Any:
    """Call a factory outside the package with concrete arguments; raise its errors as BadInput."""
    return call(where, factory_entry.name, lambda: factory_entry.build(given))


def trace(where: str, factory_entry: Entry, given: Mapping[str, Any]) -> None:
    """Call a factory as the engine does, with traced arguments if possible; raise its errors as BadInput."""
    import jax
    import numpy as np

    moving = {name: np.asarray(given[name], np.float32) for name in factory_entry.traced(given)}
    still = {name: value for name, value in given.items() if name not in moving}

    def play(arguments: dict[str, Any]) -> tuple[()]:
        factory_entry.factory()(**still, **arguments)
        return ()

    if moving:
        call(where, factory_entry.name, lambda: jax.eval_shape(play, moving), f" with {', '.join(moving)} traced")


def call(where: str, name: str, function: Callable[[], Any], when: str = "") -> Any:
    """Call a function from outside the package and raise its errors as BadInput; messages use its `name`."""
    from jax.errors import JAXTypeError

    try:
        return function()
    except JAXTypeError as error:
        remedy = "write it with jax.numpy, or annotate arguments that must be concrete as int, bool or Literal"
        refuse(where, f": {name} raises {type(error).__name__}{when}; {remedy}")
    except Exception as error:
        refuse(where, f": {name} raises {in_one_line(error)}{when}")


def in_one_line(error: BaseException) -> str:
    """Return an exception in one line, as its type and the first line of its message."""
    first = next(iter(str(error).strip().splitlines()), "")
    return f"{type(error).__name__}{': ' if first else ''}{first}"
