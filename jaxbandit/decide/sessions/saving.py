"""Saving a session to a file and loading it, without pickle."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np

from jaxbandit.base.contract import Algorithm
from jaxbandit.base.refusals import refuse
from jaxbandit.decide.sessions.ask_tell import choose_again
from jaxbandit.decide.sessions.certificate import certificate
from jaxbandit.decide.sessions.rewards import longer
from jaxbandit.decide.sessions.session import Session, session
from jaxbandit.engine.storage import files as storage
from jaxbandit.engine.storage import identity

SCHEMA = 1
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


def certified(session: Session) -> dict[str, Any]:
    """Return the certificate and the number of pulls as plain data for reports, which do not know the rule."""
    counts = {"told": session.num_told, "pending": len(session.pending)}
    return {**counts, "certificate": certificate(session).to_json()}


def save_session(path: str | Path, session: Session) -> None:
    """Write a session to a file atomically. NumPy alone can read the file.

    Args:
      path: path of the file, which is replaced if it exists.
      session: the session. Its contexts, if it has any, must be arrays.

    Raises:
      ValueError: a context is not an array.
    """
    batch = session.batch
    context = jax.tree.leaves(batch.context)
    if len(context) > 1:
        raise ValueError(f"save_session: a context of {len(context)} arrays, must be one array")
    arrays = {f"{BATCH}.{name}": np.asarray(getattr(batch, name)) for name in ARRAYS}
    arrays |= {f"state.{i}": np.asarray(leaf) for i, leaf in enumerate(jax.tree.leaves(session.state))}
    arrays |= {f"plan.{i}": np.asarray(leaf) for i, leaf in enumerate(jax.tree.leaves(batch.plan))}
    arrays |= {f"totals.{name}": value for name, value in session.totals._asdict().items()}
    arrays |= {"context": np.asarray(context[0])} if context else {}
    numbers = {name: getattr(batch, name) for name in NUMBERS}
    about = {"identity": identity_of(session), "round": session.round, "stopped": session.stopped, **numbers}
    about |= certified(session)
    history = np.concatenate([np.zeros(0), *session.history])
    storage.write_arrays(Path(path), {"about": np.asarray(json.dumps(about)), "history": history, **arrays})


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
    arrays = storage.read_arrays(Path(path))
    try:
        about = json.loads(str(arrays["about"]))
        stored = about["identity"]
        options = {name: stored.get(name) for name in ("seed", "run", "paired", "on_failure")}
    except (KeyError, ValueError, TypeError):
        raise ValueError(f"{path}: not a session") from None
    fresh = session(rule, **options)
    require_same(path, stored, identity_of(fresh))

    def filled(name: str, tree: Any) -> Any:
        leaves, structure = jax.tree.flatten(tree)
        return jax.tree.unflatten(structure, [arrays[f"{name}.{i}"] for i in range(len(leaves))])

    batch = fresh.batch._replace(
        plan=filled("plan", fresh.batch.plan),
        context=arrays.get("context"),
        **{name: about[name] for name in NUMBERS},
        **{name: arrays[f"{BATCH}.{name}"] for name in ARRAYS},
    )
    totals = type(fresh.totals)(*(arrays[f"totals.{name}"] for name in fresh.totals._fields))
    history = longer((), arrays["history"])
    state = filled("state", fresh.state)
    loaded = replace(
        fresh,
        state=state,
        batch=batch,
        totals=totals,
        history=history,
        round=about["round"],
        stopped=about["stopped"],
    )
    return choose_again(loaded)
