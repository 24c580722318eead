"""Saving a session to a file and loading it, without pickle."""

import contextlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np

from jaxbandit.base.contract import Algorithm
from jaxbandit.base.refusals import BadInput, refuse, show
from jaxbandit.base.types import Json, PyTree
from jaxbandit.decide.sessions.ask_tell import choose_again
from jaxbandit.decide.sessions.certifying import certificate
from jaxbandit.decide.sessions.log import context_of, plain_context
from jaxbandit.decide.sessions.pulls import checked_context
from jaxbandit.decide.sessions.rewards import Totals, joined, longer
from jaxbandit.decide.sessions.rule_programs import counts_of
from jaxbandit.decide.sessions.session import Session, session
from jaxbandit.engine.rounds import fit
from jaxbandit.engine.storage import files as storage
from jaxbandit.engine.storage import identity

SCHEMA = 1
OPTIONS = ("seed", "run", "paired", "on_failure")  # of a session, in its identity
NUMBERS = ("first", "size", "issued", "entered")
BATCH = "opened"  # name of the open batch in files
ARRAYS = ("base", "later", "values", "withdrawn", "sums", "squares")
# Entries that may differ between versions although the rule is the same.
VERSIONS = ("jax", "jaxlib", "jaxbandit", "platform")


def identity_of(session: Session) -> dict[str, Any]:
    """Return what determines the pulls of the session, by name, as plain data."""
    rule, promise = session.rule, session.rule.promise
    terms = (
        {} if promise is None else {"delta": float(promise.delta), "epsilon": float(promise.epsilon), "m": promise.m}
    )
    return {
        "schema": SCHEMA,
        "rule": rule.name,
        "num_arms": session.num_arms,
        **terms,
        **({} if rule.budget is None else {"budget": float(rule.budget)}),
        "seed": session.seed,
        "run": session.run,
        "paired": session.paired,
        **({} if session.on_failure is None else {"on_failure": session.on_failure}),
        "program": session.programs.digest,
        **identity.surroundings("cpu"),
    }


def require_same(where: object, stored: dict[str, Any], here: dict[str, Any]) -> None:
    """Raise a ValueError if the stored data belongs to another session; a different version alone is allowed."""
    left_out = VERSIONS
    if any(stored.get(name) != here.get(name) for name in VERSIONS):
        left_out = (*VERSIONS, "program")  # another version may trace the same rule to another program
    one, other = ({k: v for k, v in x.items() if k not in left_out} for x in (stored, here))
    if changes := identity.differences(one | {"program": ""}, other | {"program": ""}) or identity.differences(
        one, other
    ):
        remedy = "give another path, or the rule with which it was begun"
        refuse(f"{where}", f": of another session: {'; '.join(changes)}; {remedy}")


def session_of(where: object, stored: dict[str, Any], rule: Algorithm) -> Session:
    """Return the session with this identity before its first pull; raise a ValueError if it is not one of the rule."""
    options: Any = {name: stored.get(name) for name in OPTIONS}
    try:
        fresh = session(rule, **options)
    except (ValueError, TypeError) as error:
        raise BadInput(f"{where}: {' '.join(str(error).split())}") from error
    require_same(where, stored, identity_of(fresh))
    return fresh


def certified(session: Session) -> dict[str, Any]:
    """Return the certificate and the number of pulls as plain data for reports, which do not know the rule."""
    counts = {"told": session.num_told, "pending": len(session.pending)}
    return {**counts, "certificate": certificate(session).to_json()}


def save_session(path: str | Path, session: Session) -> None:
    """Write a session to a file atomically. NumPy alone can read the file.

    Args:
      path: path of the file, which is replaced if it exists.
      session: the session.
    """
    batch = session.batch
    arrays = {f"{BATCH}.{name}": np.asarray(getattr(batch, name)) for name in ARRAYS}
    arrays |= {f"state.{i}": np.asarray(leaf) for i, leaf in enumerate(jax.tree.leaves(session.state))}
    arrays |= {f"plan.{i}": np.asarray(leaf) for i, leaf in enumerate(jax.tree.leaves(batch.plan))}
    arrays |= {f"totals.{name}": value for name, value in session.totals._asdict().items()}
    numbers = {name: getattr(batch, name) for name in NUMBERS}
    about = {"identity": identity_of(session), "round": session.round, "stopped": session.stopped, **numbers}
    about |= certified(session) | {"context": plain_context(batch.context)}
    arrays |= {"history": joined(session.history, np.float64), "arms": joined(session.arms, np.int32)}
    storage.write_arrays(Path(path), {"about": np.asarray(json.dumps(about)), **arrays})


def load_session(path: str | Path, rule: Algorithm) -> Session:
    """Read a session that `save_session` wrote.

    Args:
      path: path of the file.
      rule: the algorithm of the session, which must be the one with which it was saved.

    Returns:
      The Session.

    Raises:
      ValueError: the file is incomplete or holds something else, or the session has another rule.
    """
    about, arrays = read_saved(Path(path))
    fresh = session_of(path, about["identity"], rule)
    try:
        return choose_again(_filled(fresh, about, arrays))
    except Exception as error:  # also what JAX and a rule make of numbers that no session has saved
        reason = str(error) if isinstance(error, ValueError) else type(error).__name__
        refuse(str(path), f": damaged, {reason}; restore it from a copy")


def read_saved(path: Path) -> tuple[Json, dict[str, np.ndarray]]:
    """Return what a file of `save_session` holds: plain data, and arrays by name.

    Raises:
      ValueError: the file cannot be read, or holds something else. The message has one line.
    """
    arrays = storage.read_arrays(path)
    text, about = arrays.pop("about", np.zeros(0)), None
    with contextlib.suppress(ValueError, RecursionError):
        about = json.loads(str(text)) if text.dtype.kind == "U" and not text.shape else None
    if not isinstance(about, dict) or not isinstance(about.get("identity"), dict):
        refuse(str(path), ": not a session")
    for name in (*NUMBERS, "round", "told", "pending"):
        if name in about and not (type(about[name]) is int and 0 <= about[name] < 2**62):
            refuse(str(path), f": {name} = {show(about[name])}, must be an integer >= 0")
    return about, arrays


def _filled(fresh: Session, about: Json, arrays: dict[str, np.ndarray]) -> Session:
    """The session of these arrays; raise a ValueError if they are not those of one session of the rule."""
    programs, before = fresh.programs, fresh.batch
    first, size, issued, entered = (about[name] for name in NUMBERS)
    taken = {"context"} & arrays.keys()  # an array of its own in files of early versions

    def take(name: str, like: Any, length: int | None = None) -> np.ndarray:
        like, found = np.asarray(like), arrays.get(name, np.zeros((0, 0)))
        shape = like.shape if length is None else (length,)
        _require(name, found.dtype == like.dtype and found.shape == shape, f"must be {like.dtype}{list(shape)}")
        _require(name, like.dtype.kind != "f" or "state" in name or np.isfinite(found).all(), "must be finite")
        taken.add(name)
        return found

    def tree(name: str, like: PyTree) -> PyTree:
        leaves, structure = jax.tree.flatten(like)
        return jax.tree.unflatten(structure, [take(f"{name}.{i}", leaf) for i, leaf in enumerate(leaves)])

    _require("the batch", entered <= issued <= size, "must have entered <= issued <= size")
    _require("stopped", isinstance(about["stopped"], bool), "must be true or false")
    plan = tree("plan", before.plan)
    counts = counts_of(plan)
    planned = issued if counts is None else 0 if about["stopped"] else int(counts.sum())
    _require("the batch", size == planned and (not about["stopped"] or size == 0), f"must have size = {planned}")
    low, high = (1, first + 1) if counts is not None else (first + 1, first + 1)
    _require("round", low <= about["round"] <= high, f"must be in [{low}, {high}]")
    positions = {name: arrays.get(f"{BATCH}.{name}", np.zeros(0)) for name in ("later", "withdrawn")}
    lengths = {**{name: len(x) for name, x in positions.items()}, "values": len(positions["later"])}
    batch = {name: take(f"{BATCH}.{name}", getattr(before, name), lengths.get(name)) for name in ARRAYS}
    pending = np.concatenate([batch["later"], batch["withdrawn"]])
    inside = (pending >= entered) & (pending < issued)
    _require(
        "ids", inside.all() and len(np.unique(pending)) == len(pending), "must be pulls without a reward, each once"
    )
    ordered = all((np.diff(batch[name]) > 0).all() for name in positions)
    _require("ids", ordered and entered not in batch["later"], "must increase, after the first pull without a reward")
    totals = Totals(*(take(f"totals.{name}", like) for name, like in fresh.totals._asdict().items()))
    history = take("history", np.zeros(0), first + entered)
    low, high = fit.limits(fresh.rule.rewards)
    rewards = np.concatenate([history, batch["values"]])
    _require("rewards", ((rewards >= low) & (rewards <= high)).all(), f"must be in [{low:g}, {high:g}]")
    for name, pulls, number in (("base", batch["base"], first), ("totals.counts", totals.counts, first + entered)):
        whole = programs.set_size is not None or pulls.sum() == number
        _require(name, (pulls >= 0).all() and whole, f"must be {number} pulls")
    if programs.set_size is None and "arms" not in arrays:
        arms = np.full(len(history), -1, np.int32)  # a file of an early version
    else:
        arms = take("arms", np.zeros(0, np.int32), 0 if programs.set_size is not None else len(history))
        inside = (arms >= 0) & (arms < programs.num_arms)
        same = programs.set_size is not None or np.array_equal(
            np.bincount(arms[inside], minlength=programs.num_arms), totals.counts
        )
        _require("arms", inside.all() and same, "must be those of the pulls of each arm")
    context = arrays.get("context") if "context" in arrays else context_of(about.get("context"), True)
    _require("context", (context is not None) == (programs.needs_context and size > 0), "must be that of an open batch")
    if context is not None:
        context = checked_context(programs, before, False, context)
    state, numbers = tree("state", fresh.state), {name: about[name] for name in NUMBERS}
    told = first + entered + len(batch["later"])
    _require("told", about.get("told", told) == told, f"must be {told}")
    _require("the file", taken == arrays.keys(), "must hold no other array")
    opened = before._replace(plan=plan, context=context, **numbers, **batch)
    return replace(
        fresh,
        state=state,
        batch=opened,
        totals=totals,
        history=longer((), history),
        arms=longer((), arms),
        round=about["round"],
        stopped=about["stopped"],
    )


def _require(name: str, holds: Any, what: str) -> None:
    if not holds:
        raise ValueError(f"{name} {what}")
