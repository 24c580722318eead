"""The asks of a session with contexts in a file of `save_session`: written, and checked when they are read."""

from dataclasses import replace
from typing import Any

import jax
import numpy as np

from jaxbandit.base.contract import action_of
from jaxbandit.decide.sessions.asks import BLOCK, Asks, Open, Told, added, no_asks, some, whole
from jaxbandit.decide.sessions.context_programs import choice_form
from jaxbandit.decide.sessions.contextual import counts_of_arms
from jaxbandit.decide.sessions.filling import require
from jaxbandit.decide.sessions.log import context_of, plain_context
from jaxbandit.decide.sessions.rewards import usable
from jaxbandit.decide.sessions.session import Session
from jaxbandit.engine.rounds import fit
from jaxbandit.support.types import Json, PyTree

NAME = "asks"  # in plain data, and of the arrays
OLD = (
    "saved by a version in which a rule with contexts waited for the reward of each pull; go on in its directory if it "
    "has one, whose log can be read, or begin a new session"
)


def plain_asks(asks: Asks) -> tuple[Json, dict[str, np.ndarray]]:
    """Return the asks as plain data and arrays."""
    form = asks.form
    context = None if form is None else plain_context(jax.tree.map(lambda x: np.zeros(x.shape, x.dtype), form))
    tables = {f"{NAME}.asked": asks.asked}
    for name in ("open", "told"):
        rows = whole(getattr(asks, name))
        tables |= {f"{NAME}.{name}.{i}": np.asarray(leaf) for i, leaf in enumerate(jax.tree.leaves(rows))}
    return {NAME: {"end": asks.end, "context": context}}, tables


def with_asks(fresh: Session, about: Json, arrays: dict[str, np.ndarray]) -> Session:
    """Return the session of these arrays; raise a ValueError if they are not those of one session of the rule."""
    programs, end = fresh.programs, about[NAME]["end"]
    require("end", type(end) is int and 0 <= end < 2**31 - 1, "must be an integer >= 0")
    form = context_of(about[NAME]["context"], True)
    choice = None if form is None else choice_form(programs, fresh.words, form)
    taken = set()

    def take(name: str, like: Any, rows: int | None = None) -> np.ndarray:
        found = arrays.get(name, np.zeros((0, 0)))
        shape = like.shape if rows is None else (rows, *like.shape)
        require(name, found.dtype == like.dtype and found.shape == shape, f"must be {like.dtype}{list(shape)}")
        taken.add(name)
        return found

    def tree(name: str, like: PyTree, rows: int | None = None) -> PyTree:
        leaves, structure = jax.tree.flatten(like)
        return jax.tree.unflatten(structure, [take(f"{name}.{i}", leaf, rows) for i, leaf in enumerate(leaves)])

    def rows(name: str, *columns: Any) -> list[PyTree] | None:
        """The rows of a table, if there are any: some columns, the contexts and the choices."""
        n = len(np.atleast_1d(arrays.get(f"{NAME}.{name}.0", np.zeros(0))))
        return tree(f"{NAME}.{name}", [*columns, form, choice], n) if n else None

    whole_number, index, real = (np.zeros((), dtype) for dtype in (np.int64, np.int32, np.float64))
    open_, told = rows("open", whole_number, index), rows("told", whole_number, whole_number, real)
    asked, state = take(f"{NAME}.asked", fresh.batch.asked), tree("state", fresh.state)
    asks = no_asks(fresh.num_arms)._replace(end=end, asked=asked)
    ids, counts = [], fresh.totals.counts
    if open_ is not None:
        row = Open(*open_)
        ids.append(row.id)
        require("open", (np.diff(row.id) > 0).all(), "must be in order of ids")
        blocks = row.id // BLOCK
        asks = asks._replace(open={block: some(row, blocks == block) for block in np.unique(blocks).tolist()})
    if told is not None:
        row = Told(*told)
        ids.append(row.id)
        low, high = fit.limits(fresh.rule.rewards)
        require("rewards", ((row.reward >= low) & (row.reward <= high)).all(), f"must be in [{low:g}, {high:g}]")
        require("rewards", usable(row.reward).all(), "must be finite")
        ordered = (np.diff(row.asks) >= 0).all() and (row.id < row.asks).all() and row.asks[-1] <= end
        require("told", ordered, "must be in the order of telling")
        asks = asks._replace(told=added({}, 0, row), num_told=len(row.id))
        counts = counts + counts_of_arms(np.asarray(action_of(row.choice)), fresh.num_arms)
    known = np.concatenate([np.zeros(0, np.int64), *ids])
    floats = [x for x in jax.tree.leaves((open_ and open_[-2], told and told[-2])) if x.dtype.kind == "f"]
    require("contexts", all(np.isfinite(x).all() for x in floats), "must be finite")
    require("ids", len(np.unique(known)) == len(known), "must differ")
    require("ids", ((known >= 0) & (known < end)).all(), f"must be in [0, {end})")
    if programs.set_size is None:
        require("asked", (asked >= counts).all() and asked.sum() == end, f"must be {end} pulls")
    require("round", about["round"] == end + 1, f"must be {end + 1}")
    stopped = bool(programs.decision(state).stopped)
    require("stopped", about["stopped"] is stopped, f"must be {stopped}")
    require("told", about["told"] == asks.num_told, f"must be {asks.num_told}")
    require("the file", taken == arrays.keys(), "must hold no other array")
    totals = fresh.totals._replace(counts=counts)
    return replace(fresh, state=state, stopped=stopped, round=end + 1, asks=asks, totals=totals)
