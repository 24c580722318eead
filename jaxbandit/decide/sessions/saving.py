"""A session is saved with its events, and loaded by applying them to a new one of the same rule."""

from pathlib import Path
from typing import Any

from jaxbandit.base.contract import Algorithm
from jaxbandit.decide.core.log import BadLog
from jaxbandit.decide.sessions import stored as files
from jaxbandit.decide.sessions.certifying import certificate
from jaxbandit.decide.sessions.changes import apply
from jaxbandit.decide.sessions.events import plain
from jaxbandit.decide.sessions.next_pulls import OtherPulls
from jaxbandit.decide.sessions.session import Session, session
from jaxbandit.decide.sessions.stored import Stored
from jaxbandit.engine.storage import identity
from jaxbandit.support.refusals import BadInput, refuse

SCHEMA = 1
OPTIONS = ("seed", "run", "paired", "on_failure")  # of a session, in its identity
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
    """Return the certificate and the pulls as plain data for reports, which do not know the rule."""
    counts = {"told": session.num_told, "pending": len(session.pending)}
    return {**counts, "certificate": certificate(session).to_json(), "pending_ids": session.pending.tolist()}


def fold(stored: Stored, session: Session) -> Session:
    """Return the session, given before its first pull, after the events of a log.

    Raises:
      BadLog: a line does not fit, or the rule does not ask for the pulls of a line.
    """
    for number in stored.numbers:
        event = stored.event(number)
        try:
            session = apply(session, event)
        except OtherPulls:
            reason = "the rule asks for other pulls than it did; the rule or JAX has another version"
            raise BadLog(stored.log, number, reason, "") from None
        except ValueError as error:
            raise BadLog(stored.log, number, str(error), stored.remedy) from None
        except Exception as error:  # what JAX and a rule make of numbers that no session has written
            raise BadLog(stored.log, number, f"cannot be read ({type(error).__name__})", stored.remedy) from None
    return session


def save_session(path: str | Path, session: Session) -> None:
    """Write a session to a file atomically: its rule, options and events, and its certificate, as lines of JSON.

    Args:
      path: path of the file, which is replaced if it exists.
      session: the session.
    """
    about = files.about_of(identity_of(session), {})
    files.write_file(Path(path), about, list(map(plain, session.events)), certified(session))


def load_session(path: str | Path, rule: Algorithm) -> Session:
    """Read a session that `save_session` wrote.

    Args:
      path: path of the file.
      rule: the algorithm of the session, which must be the one with which it was saved. It takes its decisions again.

    Raises:
      ValueError: the file is incomplete or holds something else, or the session has another rule.
    """
    stored = files.read_file(Path(path))
    return fold(stored, session_of(path, stored.about["identity"], rule))
