"""Saving a session to a file and loading it, without pickle."""

import contextlib
import json
from pathlib import Path
from typing import Any

import jax
import numpy as np

from jaxbandit.base.contract import Algorithm
from jaxbandit.decide.sessions.certifying import certificate
from jaxbandit.decide.sessions.filling import ARRAYS, BATCH, EARLY_NUMBERS, HISTORIES, NUMBERS, filled
from jaxbandit.decide.sessions.rewards import joined
from jaxbandit.decide.sessions.session import Session, session
from jaxbandit.decide.sessions.stored_asks import NAME, OLD, plain_asks, with_asks
from jaxbandit.engine.storage import files as storage
from jaxbandit.engine.storage import identity
from jaxbandit.support import reading
from jaxbandit.support.refusals import BadInput, refuse, show
from jaxbandit.support.types import Json

SCHEMA = 1
OPTIONS = ("seed", "run", "paired", "on_failure")  # of a session, in its identity
# Entries that may differ between versions although the rule is the same.
VERSIONS = ("jax", "jaxlib", "jaxbandit", "platform")
# A file of `save_session` has no log, so that `repair_session` has nothing to read.
REMEDY = f"{storage.RESTORE}, or read with numpy.load what can still be read of its rewards"


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
    batch, state = session.batch, jax.tree.leaves(session.state)
    states = {f"state.{i}": np.asarray(leaf) for i, leaf in enumerate(state)}
    about = {"identity": identity_of(session), "round": session.round, "stopped": session.stopped}
    if session.asks is not None:
        more, arrays = plain_asks(session.asks)
        about |= certified(session) | more
        storage.write_arrays(Path(path), {"about": np.asarray(json.dumps(about)), **states, **arrays})
        return
    arrays = {f"{BATCH}.{name}": np.asarray(getattr(batch, name)) for name in ARRAYS} | states
    arrays |= {f"plan.{i}": np.asarray(leaf) for i, leaf in enumerate(jax.tree.leaves(batch.plan))}
    arrays |= {f"totals.{name}": value for name, value in session.totals._asdict().items()}
    numbers = {name: getattr(batch, name) for name in NUMBERS}
    about |= numbers | certified(session) | {"context": None}
    arrays |= {name: joined(getattr(session, name), dtype) for name, dtype in HISTORIES.items()}
    arrays |= {"closed": session.closed}
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
    if fresh.asks is not None and NAME not in about:
        refuse(str(path), f": {OLD}")
    try:
        return with_asks(fresh, about, arrays) if NAME in about else filled(fresh, about, arrays)
    except Exception as error:  # also what JAX and a rule make of numbers that no session has saved
        reason = str(error) if isinstance(error, ValueError) else type(error).__name__
        refuse(str(path), f": damaged, {reason}; {REMEDY}")


def read_saved(path: Path) -> tuple[Json, dict[str, np.ndarray]]:
    """Return what a file of `save_session` holds: plain data, and arrays by name.

    Raises:
      ValueError: the file cannot be read, or holds something else. The message has one line.
    """
    arrays = storage.read_arrays(path, REMEDY)
    text, about = arrays.pop("about", np.zeros(0)), None
    with contextlib.suppress(ValueError):
        about = reading.json_of(str(text)) if text.dtype.kind == "U" and not text.shape else None
    if not isinstance(about, dict) or not isinstance(about.get("identity"), dict):
        refuse(str(path), ": not a session")
    for name in (*NUMBERS, *EARLY_NUMBERS, "round", "told", "pending"):
        if name in about and not (type(about[name]) is int and 0 <= about[name] < 2**62):
            refuse(str(path), f": {name} = {show(about[name])}, must be an integer >= 0")
    return about, arrays
