"""Digests of values and functions that are the same in every process, by which stored scores are found again.

A value is digested by its type and its content, never by its address. A function is known by its bytecode, constants
and names, its defaults, the variables of enclosing functions and the globals that it reads; of these, functions,
classes and modules of the user are known by their code in turn, and those of installed packages by their names. Its own
name, its module, line numbers, comments and docstrings do not count. Each version of Python has its own digests.
"""

import copyreg
import dis
import enum
import random
import types
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import PurePath
from typing import Any

import jax
import numpy as np

from jaxbandit.decide.tuning.inspection import core, filled, installed, instructions, package_of
from jaxbandit.engine.storage import identity
from jaxbandit.support.refusals import error_line

PLAIN = {bool, int, float, str, bytes, type(None)}  # types whose repr is their content
DEEPEST = 100  # nested parts of a value; deeper ones belong to a structure without an end
DOCSTRING = 0x4000000  # flag of code that has one, since Python 3.13
# A list on which a function calls only these methods is no input of it.
WRITING = {"append", "appendleft", "extend", "insert", "add", "update", "put", "put_nowait"}
# The state of a generator changes with each number drawn, and is no part of what a function is.
GENERATORS = (np.random.Generator, np.random.RandomState, np.random.BitGenerator, random.Random)


class NoDigest(Exception):
    """Raised for a value that has no content to digest, such as an open file; the message says which."""


def value_digest(value: object) -> str:
    """Return a digest of the type and content of a value, the same in every process.

    NumPy numbers that are Python numbers too, such as float64, have the digest of the Python number.

    Raises:
      NoDigest: the value, or a part of it, is known by its address alone.
    """
    return _Walk("", strict=True).value(value).hex()


def function_digest(function: Callable) -> str:
    """Return a digest of a function's code and of the data that it uses, the same in every process.

    Data without a content to digest, such as a lock or a connection, is known by its type. Random generators, and
    variables that the function only writes, are left out.
    """
    return _Walk(package_of(core(function)), strict=False).value(function).hex()


class _Walk:
    """Digests of nested values. What contains itself is known by how far up it is, code by when it was seen first."""

    def __init__(self, package: str, *, strict: bool):
        self._package = package  # besides what is not installed, this one is known by its code
        self._strict = strict  # whether a value without content is an error
        self._above: list[int] = []  # ids of the values that contain the present one
        self._seen: dict[int, int] = {}  # by ids of functions and classes

    def value(self, value: Any) -> bytes:
        """Return the digest of a value."""
        value = _python(value)
        if type(value) in PLAIN:
            return identity.joined(type(value).__name__, repr(value))
        if id(value) in self._above:
            return identity.joined("above", str(len(self._above) - self._above.index(id(value))))
        if isinstance(value, types.FunctionType | type):
            if id(value) in self._seen:
                return identity.joined("again", str(self._seen[id(value)]))
            self._seen[id(value)] = len(self._seen)
        if len(self._above) == DEEPEST:
            return identity.joined(*self._without(value, "which is nested too deeply"))
        self._above.append(id(value))
        try:
            return identity.joined(*self._parts(value))
        finally:
            self._above.pop()

    def _parts(self, value: Any) -> list[bytes | str]:
        kind, name = type(value), _name(type(value))
        if kind in (list, tuple):
            entries = [*map(_python, value)]
            plain = set(map(type, entries)) <= PLAIN  # much faster for long lists of numbers
            return [name, "plain", repr(entries)] if plain else [name, *map(self.value, entries)]
        if kind in (set, frozenset):
            return [name, *sorted(map(self._apart, value))]
        if kind is dict:
            return [name, *self._items(value.items())]
        if isinstance(value, np.generic):
            return [name, value.dtype.str, value.tobytes()]
        if isinstance(value, np.ndarray) and value.dtype != object:
            return [name, str(value.dtype), str(value.shape), value.tobytes()]
        if isinstance(value, jax.Array):
            return ["jax.Array", identity.of_arrays(value)]
        if isinstance(value, enum.Enum):
            return [name, value.name]
        if isinstance(value, PurePath):
            return [name, str(value)]
        if isinstance(value, types.CodeType):
            return self._code(value)
        if isinstance(value, types.ModuleType):
            return ["module", value.__name__]
        if isinstance(value, types.FunctionType):
            return self._function(value)
        if isinstance(value, type):
            return self._class(value)
        if isinstance(value, types.MethodType):
            return ["method", self.value(value.__func__), self.value(value.__self__)]
        if callable(value) and callable(inner := getattr(value, "__wrapped__", None)):
            return [name, self.value(inner)]  # a compiled or a cached function
        if not self._strict and isinstance(value, GENERATORS):
            return ["type", name]
        return self._object(value)

    def _apart(self, value: Any) -> bytes:
        """The digest of a value, which does not depend on what was seen before."""
        seen, self._seen = self._seen, dict(self._seen)
        try:
            return self.value(value)
        finally:
            self._seen = seen

    def _items(self, items: Any) -> list[bytes]:
        """The digests of the items of a dictionary in the order of the digests of its keys."""
        pairs = sorted(((self._apart(key), x) for key, x in items), key=lambda pair: pair[0])
        return [identity.joined(key, self.value(x)) for key, x in pairs]

    def _object(self, value: Any) -> list[bytes | str]:
        try:
            reducer = copyreg.dispatch_table.get(type(value))
            reduced: Any = value.__reduce_ex__(4) if reducer is None else reducer(value)
        except Exception as error:
            return self._without(value, error_line(error))
        if isinstance(reduced, str):  # the name of a global
            return ["global", str(getattr(value, "__module__", None)), reduced]
        function, arguments, state, items, pairs = (*reduced[:5], *[None] * (5 - len(reduced[:5])))
        parts = [function, arguments, state, list(items or ())]
        return ["object", *map(self.value, parts), *self._items(pairs or ())]

    def _without(self, value: Any, why: str) -> list[bytes | str]:
        if self._strict:
            raise NoDigest(f"a {type(value).__name__} ({why})")
        return ["type", _name(type(value))]

    def _own(self, value: Any) -> bool:
        package = package_of(value)
        return package == self._package or not installed(getattr(value, "__module__", None))

    def _function(self, function: types.FunctionType) -> list[bytes | str]:
        if not self._own(function) and "<" not in function.__qualname__:
            return ["function", _name(function)]
        code = function.__code__
        names, free = _read(code)
        documentation = function.__doc__ if "__doc__" in code.co_names else None  # such as a prompt
        parts = [self.value(x) for x in (code, function.__defaults__, function.__kwdefaults__, documentation)]
        for name, cell in sorted(zip(code.co_freevars, function.__closure__ or (), strict=True), key=lambda x: x[0]):
            if name in free:
                content = cell.cell_contents if filled(cell) else None
                parts.append(identity.joined(name, self.value(content)))
        with self._leniently():  # what a module has beside a function may have no content
            parts += self._globals(function.__globals__, names, {*code.co_names})
        return ["function", *parts]

    @contextmanager
    def _leniently(self) -> Iterator[None]:
        strict, self._strict = self._strict, False
        try:
            yield
        finally:
            self._strict = strict

    def _globals(self, space: Mapping[str, Any], names: set[str], attributes: set[str]) -> list[bytes]:
        parts = []
        for name in sorted(names & space.keys()):
            value = space[name]
            parts.append(identity.joined(name, self.value(value)))
            if isinstance(value, types.ModuleType) and not installed(value.__name__):
                parts += self._globals(vars(value), attributes, set())
        return parts

    def _class(self, kind: type) -> list[bytes | str]:
        if not self._own(kind):
            return ["class", _name(kind)]
        parts = [self.value(base) for base in kind.__bases__]
        for name, member in sorted(vars(kind).items()):
            for part in (member.fget, member.fset) if isinstance(member, property) else (member,):
                part = getattr(part, "__func__", part)  # of class methods and static methods
                code = isinstance(part, types.FunctionType)
                if code or (type(part) in PLAIN | {list, tuple, dict, set, frozenset} and not name.startswith("__")):
                    parts.append(identity.joined(name, self.value(part)))
        return ["class", *parts]

    def _code(self, code: types.CodeType) -> list[bytes | str]:
        """Its instructions, with constants in the place of their numbers, which a docstring shifts."""
        steps = []
        here = list(dis.get_instructions(code))
        for step, after in zip(here, [*here[1:], None], strict=True):
            if after is not None and after.argval == "__firstlineno__":  # of a class
                continue
            constant = step.argval.rpartition("<locals>.")[2] if isinstance(step.argval, str) else step.argval
            steps.append(step.opname)
            steps.append(self.value(constant if step.opcode in dis.hasconst else step.arg))
        arguments = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        numbers = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags & ~DOCSTRING
        return ["code", *map(self.value, (numbers, arguments, code.co_names, code.co_exceptiontable)), *steps]


def _python(value: Any) -> Any:
    """The Python number for a NumPy number of the same precision, and any other value itself."""
    if not isinstance(value, np.generic):
        return value
    number = value.item()
    return number if type(number) in PLAIN and np.asarray(number).dtype == value.dtype else value


def _read(code: types.CodeType) -> tuple[set[str], set[str]]:
    """The names of globals and of variables of enclosing functions that code reads and does not assign."""
    steps = instructions(code)
    assigned = {step.argval for step in steps if step.opname in ("STORE_GLOBAL", "STORE_DEREF")}
    names, free = set(), set()
    for step, after in zip(steps, [*steps[1:], None], strict=True):
        if step.argval in assigned or not step.opname.startswith("LOAD_") or not isinstance(step.argval, str):
            continue
        if after is not None and after.opname in ("LOAD_METHOD", "LOAD_ATTR") and after.argval in WRITING:
            continue
        if step.opname.endswith("DEREF"):
            free.add(step.argval)
        elif step.opname.endswith(("GLOBAL", "GLOBALS", "NAME")):
            names.add(step.argval)
    return names, free


def _name(value: Any) -> str:
    return f"{value.__module__}.{value.__qualname__}"
