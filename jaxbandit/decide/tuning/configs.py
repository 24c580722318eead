"""Configurations to choose from: a pytree whose leaves, the columns, have one entry per configuration, or dictionaries.

A column of numbers is traced. A column of Python objects or strings (NumPy dtypes `object` and `str`) is static.
Configurations with equal static values form a group and share a compilation.
"""

import enum
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxbandit.decide.tuning.digests import NoDigest, value_digest
from jaxbandit.decide.tuning.values import copied, words
from jaxbandit.support.refusals import Unfinished
from jaxbandit.support.text import printable
from jaxbandit.support.types import ArrayLike, PyTree, Scalar

NUMBERS, OBJECTS = "biuf", "OU"  # kinds of dtype of traced columns and of static ones
SHOWN = 400  # most characters of a configuration in a message


class Mark(enum.Enum):
    """What stands in the place of a value."""

    ABSENT = ""  # in a column, for a dictionary without this name
    TRACED = "traced"  # in a group, for numbers that JAX traces

    def __str__(self) -> str:
        return self.value


ABSENT, TRACED = Mark.ABSENT, Mark.TRACED


class Group(NamedTuple):
    """Configurations with equal static values, and traced numbers of the same dtypes and shapes."""

    rows: np.ndarray  # int[], their numbers, increasing
    static: tuple[object, ...]  # for each column the static value, or TRACED, or ABSENT
    key: tuple[Hashable, ...]  # the same, hashable


@dataclass(frozen=True, eq=False)
class Configs:
    """Checked configurations, in columns of the same length."""

    names: tuple[str, ...]  # of the columns, as paths in the tree
    columns: tuple[np.ndarray, ...]
    structure: Any  # of the tree; None for dictionaries
    given: tuple[dict[str, Any], ...] = ()  # the dictionaries

    @property
    def count(self) -> int:
        """Number of configurations."""
        return len(self.columns[0])

    @property
    def is_static(self) -> tuple[bool, ...]:
        """Whether each column is static."""
        return tuple(column.dtype.kind in OBJECTS for column in self.columns)

    def tree(self) -> PyTree:
        """Return the pytree of the columns."""
        return dict(zip(self.names, self.columns, strict=True)) if self.given else self._tree(self.columns)

    def row(self, index: int) -> PyTree:
        """Return one configuration, with Python numbers and objects, and with arrays where entries are arrays.

        What can be changed is copied, because `train` may write into its configuration.
        """
        return copied(self.given[index]) if self.given else self._tree([_entry(c, index) for c in self.columns])

    def key(self, index: int) -> str:
        """Return a digest of the names, types and values of one configuration, by which its scores are found again.

        It depends neither on the other configurations nor on the process.
        """
        try:
            return value_digest(self.row(index))
        except NoDigest as error:
            what = "which has no content that could be stored; give its name and look it up in train"
            raise failed(self, index, f"holds {error}, {what}") from None

    def text(self, index: int) -> str:
        """Return one configuration in one line, as name = value, truncated to a readable length."""
        entries = [(name, _entry(c, index)) for name, c in zip(self.names, self.columns, strict=True)]
        words = [f"{name} = {_entry_text(entry)}" for name, entry in entries if entry is not ABSENT]
        if sum(map(len, words)) > SHOWN:  # such as prompts
            most = max(SHOWN // len(words) - 2, 20)
            words = [text if len(text) <= most else text[: most - 3] + "..." for text in words]
        text = printable(" ".join(", ".join(words).split()))
        return text if len(text) <= SHOWN else text[: SHOWN - 3] + "..."

    def groups(self) -> list[Group]:
        """Return the groups in the order of their first configurations; without static values there is one group.

        Which group a configuration belongs to does not depend on the others.
        """
        cells = list(zip(self.columns, self.is_static, strict=True))
        rows: dict[Hashable, list[int]] = {}
        static: dict[Hashable, tuple[object, ...]] = {}
        for i in range(self.count):
            values, key = [], []
            for column, fixed in cells:
                entry = column[i]
                number = np.asarray(entry) if self.given and _is_number(entry) else None
                traced = number is not None or not fixed
                values.append(TRACED if traced else _entry(column, i))
                key.append((str(number.dtype), number.shape) if number is not None else None if traced else _key(entry))
            rows.setdefault(tuple(key), []).append(i)
            static.setdefault(tuple(key), tuple(values))
        return [Group(np.array(rows[key]), static[key], key) for key in rows]  # pyright: ignore[reportArgumentType]

    def traced(self, group: Group, rows: Sequence[int] | np.ndarray) -> tuple[np.ndarray, ...]:
        """Return the traced numbers of these configurations, which belong to a group."""
        used = (c[rows] for c, value in zip(self.columns, group.static, strict=True) if value is TRACED)
        return tuple(np.array(c.tolist()) if c.dtype.kind in OBJECTS else c for c in used)

    def join(self, traced: Sequence[Scalar], group: Group) -> PyTree:
        """Return the configuration of a group with these traced numbers."""
        numbers = iter(traced)
        values = [next(numbers) if value is TRACED else copied(value) for value in group.static]
        if not self.given:
            return self._tree(values)
        known = dict(zip(self.names, values, strict=True))
        return {name: known[name] for name in self.given[group.rows[0]]}

    def _tree(self, leaves: Sequence[Any]) -> PyTree:
        return self.structure.unflatten(leaves)


def read(configs: PyTree, *, distinct: bool = True) -> Configs:
    """Return checked configurations.

    Args:
      configs: a pytree whose leaves have one entry per configuration along their first axis, or a list of
        dictionaries, whose names and values may differ.
      distinct: whether equal configurations are an error.
    """
    known = _of_dictionaries(configs) if _is_dictionaries(configs) else _of_tree(configs)
    if not known.count:
        raise ValueError("configs is empty, must have at least one configuration")
    for name, column in zip(known.names, known.columns, strict=True):
        for i in range(len(column)) if column.dtype.kind in OBJECTS else ():
            try:
                _key(column[i])
            except TypeError as error:
                raise ValueError(
                    f"configs: {name}[{i}] is {error}, must be hashable or have a content; give its name"
                ) from None
    if distinct:
        _distinct(known)
    return known


def _is_dictionaries(configs: PyTree) -> bool:
    return isinstance(configs, list) and any(isinstance(config, dict) for config in configs)


def _of_dictionaries(configs: list[Any]) -> Configs:
    names: dict[str, None] = {}
    for i, config in enumerate(configs):
        if not isinstance(config, dict):
            raise ValueError(f"configs[{i}] is a {type(config).__name__}, must be a dictionary like the others")
        if not config or not all(isinstance(name, str) for name in config):
            raise ValueError(f"configs[{i}] = {config!r}, must be a dictionary with strings as keys")
        names.update(dict.fromkeys(config))
    columns = tuple(_column_of([config.get(name, ABSENT) for config in configs]) for name in names)
    return Configs(tuple(names), columns, None, tuple(map(copied, configs)))


def _column_of(values: list[Any]) -> np.ndarray:
    """A column of numbers if all values are numbers of the same type, and a static one otherwise."""
    if all(map(_is_number, values)) and len({(np.asarray(x).dtype, np.shape(x)) for x in values}) == 1:
        return np.array(values)
    return objects(values)


def objects(values: Sequence[object]) -> np.ndarray:
    """Return a column of objects."""
    column = np.empty(len(values), object)
    for i, value in enumerate(values):  # not at once, which would take lists apart
        column[i] = value
    return column


def _of_tree(configs: PyTree) -> Configs:
    flat, structure = jax.tree_util.tree_flatten_with_path(configs, is_leaf=lambda node: isinstance(node, list))
    if not flat:
        raise ValueError("configs has no columns, must have one or more, such as jb.space.grid(lr=[0.1, 0.01])")
    names = tuple(jax.tree_util.keystr(path, simple=True, separator=".") or "config" for path, _ in flat)
    columns = tuple(_column(name, leaf) for name, (_, leaf) in zip(names, flat, strict=True))
    lengths = {name: len(column) for name, column in zip(names, columns, strict=True)}
    if len(set(lengths.values())) > 1:
        sizes = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        raise ValueError(f"configs have columns of different lengths ({sizes}), must have equal lengths")
    return Configs(names, columns, structure)


def _column(name: str, leaf: ArrayLike) -> np.ndarray:
    if isinstance(leaf, list):
        raise ValueError(
            f"configs: {name} is a list, must be an array; jb.space.grid and jb.space.random_configs make arrays of "
            "lists",
        )
    column = np.array(leaf)
    if column.ndim == 0:
        raise ValueError(f"configs: {name} = {leaf!r} has no leading axis, must have one entry per configuration")
    if column.dtype.kind not in NUMBERS + OBJECTS:
        raise ValueError(f"configs: {name} is of dtype {column.dtype}, must be of numbers, strings or objects")
    if column.dtype.kind in OBJECTS:
        if column.ndim > 1:
            raise ValueError(f"configs: {name} has shape {column.shape}, a static column must have one axis")
    elif not np.isfinite(column).all():
        i = int(np.argwhere(~np.isfinite(column))[0][0])
        raise ValueError(f"configs: {name}[{i}] = {column[i]}, must be finite")
    return column


def firsts(configs: Configs) -> list[int]:
    """Return the number of the first configuration that equals each one."""
    seen: dict[Hashable, int] = {}
    return [seen.setdefault(tuple(_key(column[i]) for column in configs.columns), i) for i in range(configs.count)]


def _distinct(configs: Configs) -> None:
    """Raise an error if two configurations are equal, because no rule can distinguish them."""
    for i, first in enumerate(firsts(configs)):
        if first != i:
            remedy = "drop one, no rule can distinguish them"
            raise ValueError(f"configs {first} and {i} are equal ({configs.text(i)}); {remedy}")


def _is_number(value: Any) -> bool:
    """Whether a value of a dictionary is a number, or an array of numbers, that JAX can trace."""
    return isinstance(value, bool | int | float | np.generic | np.ndarray) and np.asarray(value).dtype.kind in NUMBERS


def _entry(column: np.ndarray, index: int) -> Any:
    entry = column[index]
    return entry.item() if isinstance(entry, np.generic) else copied(entry)


def _key(value: object) -> Hashable:
    """The content of a value, or the value itself if it has none; 1, 1.0 and True compile to different programs."""
    if value is ABSENT:
        return None
    if isinstance(value, str):
        return str(value)
    try:
        return "content", value_digest(value)
    except NoDigest as error:
        try:
            return type(value), hash(value), value
        except TypeError:
            raise TypeError(str(error)) from None


def _entry_text(entry: object) -> str:
    return f"{entry:.6g}" if isinstance(entry, float) else words(entry)


def failed(
    configs: Configs, index: int, what: str, error: type[ValueError | Unfinished] = ValueError
) -> ValueError | Unfinished:
    """Return the error for a configuration whose training failed, with a one-line message that contains it."""
    return error(" ".join(f"configuration {index} ({configs.text(index)}) {what}".split()))
