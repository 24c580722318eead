"""The asks of a session with contexts, in blocks: the open ones, and the rows of those whose rewards were told."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxbandit.support.types import PyTree

BLOCK = 256  # rows that are copied together
Table = Mapping[int, Any]  # trees of arrays with a leading axis: at key i the rows number BLOCK i to BLOCK (i + 1) - 1


class Open(NamedTuple):
    """Asks that wait for a reward, in order of ids."""

    id: np.ndarray  # int64[n], also the number of their row
    pull: np.ndarray  # int32[n], how often the arm was asked before; of other actions, the id
    context: PyTree  # a leading axis n for every leaf
    choice: PyTree  # what `select` returned, a leading axis n for every leaf


class Told(NamedTuple):
    """Asks with their rewards, in the order of telling."""

    id: np.ndarray  # int64[n]
    asks: np.ndarray  # int64[n], how many asks there had been when the reward was told
    reward: np.ndarray  # float64[n]
    context: PyTree
    choice: PyTree


class Asks(NamedTuple):
    """All asks of a session with contexts. What was withdrawn or has expired is in neither table."""

    end: int  # id of the next ask
    asked: np.ndarray  # int64[num_arms], asks of each arm; zeros where an action is not one arm
    open: Table  # of Open
    told: Table  # of Told
    num_told: int

    @property
    def form(self) -> PyTree:
        """A context of this session, without its values; None if there is none."""
        rows = next(iter((*self.open.values(), *self.told.values())), None)
        return (
            None if rows is None else jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape[1:], x.dtype), rows.context)
        )

    @property
    def pending(self) -> np.ndarray:
        """Ids of the open asks, int64[n]."""
        return np.concatenate([np.zeros(0, np.int64), *(rows.id for rows in self.open.values())])

    def is_open(self, ids: np.ndarray) -> np.ndarray:
        """Whether each of these ids is that of an open ask, bool[n]."""
        return np.array([i // BLOCK in self.open and i in self.open[i // BLOCK].id for i in ids.tolist()], bool)

    def rewards(self, ids: np.ndarray) -> np.ndarray:
        """The rewards that were told of these ids, float64[n]; NaN if none was."""
        found = np.full(len(ids), np.nan)
        for rows in self.told.values() if len(ids) else ():
            at, row = np.nonzero(ids[:, None] == rows.id)
            found[at] = rows.reward[row]
        return found


def no_asks(num_arms: int) -> Asks:
    """Asks before the first one."""
    return Asks(0, np.zeros(num_arms, np.int64), {}, {}, 0)


def added(table: Table, first: int, rows: Any) -> Table:
    """Return the table with further rows, whose numbers are `first` and the next ones."""
    after, start, n = dict(table), 0, len(rows[0])
    while start < n:
        block = (first + start) // BLOCK
        stop = min(n, (block + 1) * BLOCK - first)
        part = some(rows, slice(start, stop))
        after[block] = concatenate([after[block], part]) if block in after else part
        start = stop
    return after


def removed(table: Table, ids: np.ndarray) -> tuple[Table, Any]:
    """Return a table of `Open` without some of its rows, and these, in order of ids."""
    after, parts = dict(table), []
    for block in sorted(set((ids // BLOCK).tolist())):
        rows = after[block]
        gone = rows.id == ids[0] if len(ids) == 1 else np.isin(rows.id, ids)
        parts.append(some(rows, gone))
        if gone.all():
            del after[block]
        else:
            after[block] = some(rows, ~gone)
    return after, concatenate(parts)


def some(rows: Any, which: Any) -> Any:
    """Return some of the rows, as arrays of their own."""
    return jax.tree.map(lambda x: x[which].copy(), rows)


def concatenate(parts: Sequence[Any]) -> Any:
    """Return the rows of several parts as one."""
    return parts[0] if len(parts) == 1 else jax.tree.map(lambda *leaves: np.concatenate(leaves), *parts)


def whole(table: Table) -> Any:
    """Return all rows of a table in the order of their numbers; None if there is none."""
    return concatenate(list(table.values())) if table else None
