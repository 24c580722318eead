"""Configurations to choose from: a pytree whose leaves, the columns, have one entry per configuration.

A column of numbers is traced. A column of Python objects or strings (NumPy dtypes `object` and `str`) is static.
Configurations with equal static values form a group and share a compilation.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxbandit.base.refusals import BadInput, Unfinished, refuse
from jaxbandit.base.text import printable
from jaxbandit.base.types import ArrayLike, PyTree, Scalar

NUMBERS, OBJECTS = "biuf", "OU"  # kinds of dtype of traced columns and of static ones
SHOWN = 400  # most characters of a configuration in a message


class Group(NamedTuple):
    """Configurations with equal static values."""

    rows: np.ndarray  # int[], their numbers, increasing
    static: tuple[object, ...]  # the value of each static column


@dataclass(frozen=True, eq=False)
class Configs:
    """Checked configurations, whose columns have the same length."""

    names: tuple[str, ...]  # of the columns, as paths in the tree
    columns: tuple[np.ndarray, ...]
    structure: Any  # of the tree

    @property
    def count(self) -> int:
        """Number of configurations."""
        return len(self.columns[0])

    @cached_property
    def is_static(self) -> tuple[bool, ...]:
        """Whether each column is static."""
        return tuple(column.dtype.kind in OBJECTS for column in self.columns)

    def tree(self) -> PyTree:
        """Return the pytree of the columns."""
        return self.structure.unflatten(self.columns)

    def row(self, index: int) -> PyTree:
        """Return one configuration, with Python numbers and objects, and with arrays where entries are arrays."""
        return self.structure.unflatten([_entry(column, index) for column in self.columns])

    def text(self, index: int) -> str:
        """Return one configuration in one line, as name = value, truncated to a readable length."""
        text = ", ".join(
            f"{name} = {_entry_text(_entry(c, index))}" for name, c in zip(self.names, self.columns, strict=True)
        )
        text = printable(" ".join(text.split()))
        return text if len(text) <= SHOWN else text[: SHOWN - 3] + "..."

    def groups(self) -> list[Group]:
        """Return the groups in the order of their first configurations; without static columns there is one group."""
        static = [column for column, fixed in zip(self.columns, self.is_static, strict=True) if fixed]
        indices: dict[Hashable, list[int]] = {}
        for i in range(self.count):
            indices.setdefault(tuple(_typed(_entry(column, i)) for column in static), []).append(i)
        return [Group(np.array(rows), tuple(_entry(c, rows[0]) for c in static)) for rows in indices.values()]

    def traced(self, rows: Sequence[int] | np.ndarray) -> tuple[np.ndarray, ...]:
        """Return the entries of the traced columns for these configurations."""
        return tuple(c[rows] for c, fixed in zip(self.columns, self.is_static, strict=True) if not fixed)

    def join(self, traced: Sequence[Scalar], static: Sequence[object]) -> PyTree:
        """Return the configuration made of entries of the traced columns and of the static ones."""
        numbers, objects = iter(traced), iter(static)
        return self.structure.unflatten([next(objects) if fixed else next(numbers) for fixed in self.is_static])


def read(where: str, configs: PyTree, *, distinct: bool = True) -> Configs:
    """Return checked configurations.

    Args:
      where: name of the caller, for error messages.
      configs: a pytree whose leaves have one entry per configuration along their first axis.
      distinct: whether equal configurations are an error.

    Raises:
      BadInput: there are no configurations, the columns differ in length, an entry is neither a number nor hashable,
        a number is not finite, or two configurations are equal.
    """
    flat, structure = jax.tree_util.tree_flatten_with_path(configs, is_leaf=lambda node: isinstance(node, list))
    if not flat:
        refuse(where, ": configs has no columns, must have one or more, such as jb.grid(lr=[0.1, 0.01])")
    names = tuple(jax.tree_util.keystr(path, simple=True, separator=".") or "config" for path, _ in flat)
    columns = tuple(_column(where, name, leaf) for name, (_, leaf) in zip(names, flat, strict=True))
    lengths = {name: len(column) for name, column in zip(names, columns, strict=True)}
    if len(set(lengths.values())) > 1:
        sizes = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        refuse(where, f": configs have columns of different lengths ({sizes}), must have equal lengths")
    configs = Configs(names, columns, structure)
    if not configs.count:
        refuse(where, ": configs is empty, must have at least one configuration")
    if distinct:
        _distinct(where, configs)
    return configs


def _column(where: str, name: str, leaf: ArrayLike) -> np.ndarray:
    if isinstance(leaf, list):
        refuse(
            where,
            f": configs: {name} is a list, must be an array; jb.grid and jb.random_configs make arrays from lists",
        )
    column = np.array(leaf)
    if column.ndim == 0:
        refuse(where, f": configs: {name} = {leaf!r} has no leading axis, must have one entry per configuration")
    if column.dtype.kind not in NUMBERS + OBJECTS:
        refuse(where, f": configs: {name} is of dtype {column.dtype}, must be of numbers, strings or objects")
    if column.dtype.kind in OBJECTS:
        if column.ndim > 1:
            refuse(where, f": configs: {name} has shape {column.shape}, a static column must have one axis")
        for i in range(len(column)):
            try:
                hash(_entry(column, i))
            except TypeError:
                refuse(where, f": configs: {name}[{i}] is static and a {type(column[i]).__name__}, must be hashable")
    elif not np.isfinite(column).all():
        i = int(np.argwhere(~np.isfinite(column))[0][0])
        refuse(where, f": configs: {name}[{i}] = {column[i]}, must be finite")
    return column


def _distinct(where: str, configs: Configs) -> None:
    """Raise an error if two configurations are equal, because no rule can distinguish them."""
    seen: dict[Hashable, int] = {}
    for i in range(configs.count):
        entries = [_entry(column, i) for column in configs.columns]
        key = tuple(e.tobytes() if isinstance(e, np.ndarray) else _typed(e) for e in entries)
        if key in seen:
            refuse(
                where,
                f": configs {seen[key]} and {i} are equal ({configs.text(i)}); drop one, no rule can distinguish them",
            )
        seen[key] = i


def _entry(column: np.ndarray, index: int) -> Any:
    entry = column[index]
    if isinstance(entry, np.ndarray):  # train may write into its configuration
        return entry.copy()
    return entry.item() if isinstance(entry, np.generic) else entry


def _typed(value: object) -> tuple[type, object]:
    """The value with its type, because 1, 1.0 and True are equal in Python but compile to different programs."""
    return type(value), value


def _entry_text(entry: object) -> str:
    return f"{entry:.6g}" if isinstance(entry, float) else str(entry)


def failed(
    where: str, configs: Configs, index: int, what: str, error: type[BadInput | Unfinished] = BadInput
) -> BadInput | Unfinished:
    """Return the error for a configuration whose training failed, with a one-line message that contains it."""
    return error(" ".join(f"{where}: configuration {index} ({configs.text(index)}) {what}".split()))
