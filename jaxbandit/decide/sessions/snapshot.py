"""The snapshot of a session in a directory: its state after some lines of the log, so that these need no replay.

It is a cache of what the log says, and the log stays the truth: a snapshot that is damaged, of another version, or of
other bytes than the log begins with, is left out. It holds arrays and no code, and what no decision needs (the contexts
and choices of rewarded asks, and the events) is read again from the log when somebody asks for it (`Past`).
"""

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.base.contract import Algorithm
from jaxbandit.decide.core.log import Place
from jaxbandit.decide.sessions import stored as files
from jaxbandit.decide.sessions.asks import Asks, Open, OpenOffer, Told, as_given, no_asks, stack, unstack
from jaxbandit.decide.sessions.events import Event, Events, context_of, plain_context
from jaxbandit.decide.sessions.forms import copy_of
from jaxbandit.decide.sessions.ledger import Ledger
from jaxbandit.decide.sessions.rewards import Totals, array_of, longer
from jaxbandit.decide.sessions.saving import fold, identity_of, session_of
from jaxbandit.decide.sessions.session import Session
from jaxbandit.decide.sessions.stored import Stored
from jaxbandit.engine.storage import files as storage
from jaxbandit.support import reading
from jaxbandit.support.refusals import BadInput
from jaxbandit.support.types import Json, PyTree

SNAPSHOT = "snapshot.npz"
ABOUT = "about"  # name of the array that holds the JSON
SCHEMA = 2
HISTORIES = ("history", "arms", "rounds", "outside")  # of a ledger
DTYPES = (np.float64, np.int32, np.int32, np.int64)  # of these
COLUMNS = ("asked", "spare", "spare_values", "actions", "index", "status", "values")  # of a ledger, each one array
NUMBERS = ("first", "expired", "given")  # of a ledger

logger = logging.getLogger("jaxbandit")
Arrays = dict[str, np.ndarray]


class Past:
    """The lines that a snapshot stands for; `ids` and `rewards` are those of asks that have a reward, else empty."""

    def __init__(self, path: Path, rule: Algorithm, lines: int, ids: np.ndarray, rewards: np.ndarray, context: PyTree):
        self.path, self.rule, self.lines, self.ids, self.rewards = path, rule, lines, ids, rewards
        self.example = Open(-1, -1, context, None) if len(ids) else None

    def events(self) -> Iterator[Event]:
        """The events of these lines."""
        return files.with_arrays(self._log())

    def rows(self) -> list[Told]:
        """The asks with a reward, in the order of telling; the rule decides again, which takes long."""
        stored = self._log()
        pulls: Any = fold(stored, session_of(self.path, stored.about["identity"], self.rule)).pulls
        return list(pulls.told)

    def _log(self) -> Stored:
        stored = files.read(self.path)
        if len(stored.lines.bodies) < self.lines:
            raise BadInput(f"{self.path}: its log was cut after the session was read; read it again")
        return stored.first(self.lines)


jax.tree_util.register_pytree_node(Past, lambda past: ((), past), lambda past, _: past)


class Snapshot(NamedTuple):
    """What is stored."""

    about: Json
    arrays: Arrays


def begin(path: Path) -> storage.Digests | None:
    """Begin to read the log of a directory that has a snapshot, while the programs of its rule are prepared."""
    return files.begin(path) if (path / SNAPSHOT).exists() and (path / files.ABOUT).exists() else None


def open_session(
    path: Path, fresh: Session, lines: int | None = None, digests: storage.Digests | None = None
) -> tuple[Stored, Session]:
    """Return what a directory holds and its session, given before its first pull, perhaps after so many lines only.

    `digests` is the result of `begin`, to be called before the session is made.

    Raises:
      BadLog: the log is damaged, or another of the errors of `fold`.
    """
    snapshot = _read(path, identity_of(fresh))
    if snapshot is not None and (lines is None or snapshot.about["place"]["lines"] <= lines):
        stored = files.read(path, snapshot.about["place"], digests)
        try:
            if not stored.start.lines:
                raise ValueError("the log has other bytes")
            fresh = _session(path, snapshot, fresh)
        except Exception as error:  # whatever a file with the right digest makes of it
            reason = " ".join(f"{type(error).__name__}: {error}".split())
            logger.warning("%s: left out (%s); the session is read from its log", path / SNAPSHOT, reason)
            stored = files.read(path)
    else:
        stored = files.read(path)
    stored.require_whole()
    return stored, fold(stored if lines is None else stored.first(lines), fresh)


def write_snapshot(path: Path, session: Session, end: Place) -> None:
    """Write the snapshot of a session at a place of its log, atomically."""
    pulls = session.pulls
    about: Json = {
        "schema": SCHEMA,
        "identity": identity_of(session),
        "place": {"lines": end.lines, "size": end.size, "sum": end.digest.hexdigest()},
        "round": session.round,
        "stopped": bool(session.stopped),
    }
    arrays: Arrays = {"words": session.words, "closed": session.closed}
    _put(arrays, "state", session.state)
    _put(arrays, "totals", session.totals)
    if isinstance(pulls, Asks):
        about |= {
            "end": pulls.end,
            "context": plain_context(as_given(pulls.example.context)) if pulls.example else None,
        }
        arrays["asked"], open_ = pulls.asked, pulls.open
        arrays["ids"], arrays["pulls"] = (np.array([row[i] for row in open_], np.int64) for i in range(2))
        _put_rows(arrays, "context", [as_given(row.context) for row in open_])
        masks = {i: row.context.available for i, row in enumerate(open_) if isinstance(row.context, OpenOffer)}
        arrays["masked"], arrays["masks"] = np.array([*masks], np.int64), np.array([*masks.values()], bool)
        _put_rows(arrays, "choice", [row.choice for row in open_])
        arrays["told"], arrays["rewards"] = pulls.columns
    else:
        about |= {name: int(getattr(pulls, name)) for name in NUMBERS}
        for name, dtype in zip(HISTORIES, DTYPES, strict=True):
            arrays[name] = array_of(getattr(pulls, name), dtype)
        arrays |= {name: getattr(pulls, name) for name in COLUMNS}
        arrays["choice_rounds"] = np.array(pulls.choice_rounds, np.int64)
        _put(arrays, "plan", pulls.plan)
        _put_rows(arrays, "choice", list(pulls.choices))
    arrays[ABOUT] = np.frombuffer(json.dumps(about).encode(), np.uint8)
    storage.write_arrays(path / SNAPSHOT, arrays)


def can_be_stored(session: Session) -> bool:
    """Whether all parts of the rule's state are plain arrays; a typed key is none."""
    return not any(jnp.issubdtype(x.dtype, jax.dtypes.extended) for x in jax.tree.leaves(session.programs.state))


def _read(path: Path, identity: Json) -> Snapshot | None:
    """The snapshot of a directory, if it has one of the same rule and versions; damage is said."""
    about: Any = {}
    arrays: Arrays = {}
    try:
        arrays = storage.read_arrays(path / SNAPSHOT, "it is only a cache, and the session is read from its log")
        about = reading.json_of(arrays.pop(ABOUT).tobytes())
        whole = {"schema", "identity", "place"} <= about.keys() and about["place"].keys() == {"lines", "size", "sum"}
    except FileNotFoundError:
        return None
    except BadInput as error:
        logger.warning("%s", error)
        return None
    except (ValueError, KeyError, AttributeError):
        whole = False
    if whole and about["schema"] == SCHEMA and about["identity"] == reading.json_of(json.dumps(identity)):
        return Snapshot(about, arrays)
    logger.info("%s: of another rule or version; the session is read from its log", path / SNAPSHOT)
    return None


def _session(path: Path, snapshot: Snapshot, fresh: Session) -> Session:
    """The session that was stored, of the rule of a fresh one."""
    about, arrays = snapshot
    programs, lines = fresh.programs, about["place"]["lines"]
    none = np.zeros(0, np.int64)
    if "end" in about:
        context = context_of(about["context"])
        past = Past(path, programs.algorithm, lines, arrays["told"], arrays["rewards"], context)
        n = len(arrays["ids"])
        contexts = _rows(arrays, "context", context, n)
        for i, mask in zip(arrays["masked"].tolist(), arrays["masks"], strict=True):
            contexts[i] = OpenOffer(mask, contexts[i])
        choices = _rows(arrays, "choice", programs.choice(context) if n else None, n)
        ids, pulls = arrays["ids"].tolist(), arrays["pulls"].tolist()
        asks = no_asks(fresh.num_arms).more(map(Open, ids, pulls, contexts, choices), arrays["asked"])
        ledger: Any = asks._replace(end=about["end"], past=past)
    else:
        past = Past(path, programs.algorithm, lines, none, none, None)
        histories = {name: longer((), arrays[name]) for name in HISTORIES}
        columns = {name: arrays[name] for name in COLUMNS}
        rounds = tuple(arrays["choice_rounds"].tolist())
        choices = _rows(arrays, "choice", programs.choice(None) if rounds else None, len(rounds))
        example: Any = fresh.pulls
        rest = {"plan": _like(arrays, "plan", example.plan), "choices": tuple(choices), "choice_rounds": rounds}
        ledger = Ledger(**{name: about[name] for name in NUMBERS}, **histories, **columns, **rest)
    return fresh.but(
        words=arrays["words"],
        closed=arrays["closed"],
        state=copy_of(_like(arrays, "state", programs.state)),
        totals=Totals(*_like(arrays, "totals", tuple(fresh.totals))),
        round=about["round"],
        stopped=about["stopped"],
        pulls=ledger,
        events=Events(past=past),
    )


def _put(arrays: Arrays, name: str, tree: PyTree) -> None:
    arrays |= {f"{name}.{i}": np.asarray(leaf) for i, leaf in enumerate(jax.tree.leaves(tree))}


def _put_rows(arrays: Arrays, name: str, rows: list[PyTree]) -> None:
    if rows:
        _put(arrays, name, stack(rows))


def _like(arrays: Arrays, name: str, example: PyTree, lead: tuple[int, ...] = ()) -> Any:
    """The tree that was put; raise a ValueError unless it has the form of an example, behind axes of this shape."""
    leaves, structure = jax.tree.flatten(example)
    found = [arrays[f"{name}.{i}"] for i in range(len(leaves))]
    for one, other in zip(found, leaves, strict=True):
        if (one.shape, one.dtype) != ((*lead, *other.shape), other.dtype):
            raise ValueError(f"{name} has another form")
    return jax.tree.unflatten(structure, found)


def _rows(arrays: Arrays, name: str, example: PyTree, n: int) -> list[Any]:
    return unstack(_like(arrays, name, example, (n,)), n) if n else []
