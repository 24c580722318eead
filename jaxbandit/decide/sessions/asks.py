"""The asks of a session with contexts, each a row: those that wait for a reward, and those whose reward was told."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxbandit.base.contract import Offer
from jaxbandit.decide.sessions.events import with_one_more
from jaxbandit.support.types import PyTree

BLOCK = 64  # open asks that are copied together


class OpenOffer(Offer):
    """The context of an ask that was given no `Offer`, while arms of the session were closed."""

    __slots__ = ()


class Open(NamedTuple):
    """An ask that waits for a reward."""

    id: int
    pull: int  # how often the arm was asked before; of other actions, the id
    context: PyTree  # of arrays that belong to the ask alone
    choice: PyTree  # what `select` returned, as NumPy arrays


class Told(NamedTuple):
    """An ask with its reward."""

    id: int
    asks: int  # how many asks there had been when the reward was told
    reward: float
    context: PyTree
    choice: PyTree


class Asks(NamedTuple):
    """All asks of a session with contexts. What was withdrawn or has expired is in neither table."""

    end: int  # id of the next ask
    asked: np.ndarray  # int64[num_arms], asks of each arm; zeros where an action is not one arm
    blocks: Mapping[int, Mapping[int, Open]]  # of open asks by id; that of an id is number id // BLOCK
    parts: tuple[tuple[Told, ...], ...]  # in the order of telling, as `with_one_more` makes them
    past: Any = None  # those before, if their rows are read from a log when they are wanted (`snapshot.Past`)

    @property
    def open(self) -> list[Open]:
        """The open asks in order of ids."""
        return [row for block in self.blocks.values() for row in block.values()]

    @property
    def told(self) -> Iterator[Told]:
        """The asks with a reward, in the order of telling."""
        yield from self.past.rows() if self.past else ()
        yield from (row for part in self.parts for row in part)

    @property
    def columns(self) -> tuple[np.ndarray, np.ndarray]:
        """The ids, int64[n], and the rewards, float64[n], of the asks with a reward, in the order of telling."""
        rows = [(row.id, row.reward) for part in self.parts for row in part]
        ids, rewards = (np.array([row[i] for row in rows], dtype) for i, dtype in enumerate((np.int64, np.float64)))
        if not self.past:
            return ids, rewards
        return np.concatenate([self.past.ids, ids]), np.concatenate([self.past.rewards, rewards])

    @property
    def num_told(self) -> int:
        """Number of asks with a reward."""
        return sum(map(len, self.parts)) + (len(self.past.ids) if self.past else 0)

    @property
    def example(self) -> Open | Told | None:
        """One of the asks, because all contexts have the same form; None if there is none."""
        for block in self.blocks.values():
            return next(iter(block.values()))
        return self.parts[0][0] if self.parts else self.past.example if self.past else None

    @property
    def pending(self) -> np.ndarray:
        """Ids of the open asks, int64[n]."""
        return np.array([row.id for row in self.open], np.int64)

    def at(self, id: int) -> Open | None:
        """The open ask with this id; None if it is not open."""
        return self.blocks.get(id // BLOCK, {}).get(id)

    def rewards(self, ids: Iterable[int]) -> dict[int, float]:
        """The rewards of those of these ids whose rewards were told."""
        wanted = list(ids)
        if not wanted:
            return {}
        told, rewards = self.columns
        found = np.isin(told, wanted)
        return dict(zip(told[found].tolist(), rewards[found].tolist(), strict=True))

    def more(self, rows: Iterable[Open], asked: np.ndarray) -> "Asks":
        """The asks with further ones, which have the next ids; `asked` is as above, after them."""
        blocks, end = dict(self.blocks), self.end
        for row in rows:
            blocks[row.id // BLOCK] = {**blocks.get(row.id // BLOCK, {}), row.id: row}
            end = row.id + 1
        return self._replace(end=end, asked=asked, blocks=blocks)

    def less(self, ids: Iterable[int]) -> "Asks":
        """The asks without these open ones."""
        blocks = dict(self.blocks)
        for id_ in ids:
            rest = dict(blocks[id_ // BLOCK])
            del rest[id_]
            if rest:
                blocks[id_ // BLOCK] = rest
            else:
                del blocks[id_ // BLOCK]
        return self._replace(blocks=blocks)

    def tell(self, rows: Iterable[Told]) -> "Asks":
        """The asks after the rewards of these, which were open."""
        rows, parts = list(rows), self.parts
        for row in rows:
            parts = with_one_more(parts, row)
        return self.less(row.id for row in rows)._replace(parts=parts)


def no_asks(num_arms: int) -> Asks:
    """Asks before the first one."""
    return Asks(0, np.zeros(num_arms, np.int64), {}, ())


def as_given(context: PyTree) -> PyTree:
    """Return the context that `ask` was given, before closed arms made an `Offer` of it."""
    return context.features if isinstance(context, OpenOffer) else context


def without_closed(context: PyTree, closed: np.ndarray) -> PyTree:
    """Return the context as the rule gets it: with closed arms an `Offer` without them."""
    if not closed.any():
        return context
    if not isinstance(context, Offer):
        return OpenOffer(~closed, context)
    if not (open_ := context.available & ~closed).any():
        raise ValueError(
            f"context: of the arms only {np.flatnonzero(context.available)} are available, which are closed"
        )
    return context._replace(available=open_)


def stack(trees: Iterable[PyTree]) -> PyTree:
    """Return trees of equal form as one, whose leaves have a leading axis."""
    return jax.tree.map(lambda *leaves: np.stack(leaves), *trees)


def unstack(tree: PyTree, n: int) -> list[Any]:
    """Return the n trees, each with arrays of its own, of which the leaves of one tree have a row."""
    return [jax.tree.map(lambda x, i=i: np.array(x[i]), tree) for i in range(n)]
