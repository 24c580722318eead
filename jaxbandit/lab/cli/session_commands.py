"""The commands of a session: ask for pulls, report their rewards, show the status. The directory holds the session."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from tyro.conf import Positional, arg

from jaxbandit.lab.cli import streams
from jaxbandit.lab.cli.endings import DONE, bad_input
from jaxbandit.support import text
from jaxbandit.support.refusals import BadInput, refuse, show

if TYPE_CHECKING:
    from jaxbandit.decide.core.certificate import Certificate
    from jaxbandit.decide.sessions.ledger import Pulls
    from jaxbandit.decide.sessions.session import Session
    from jaxbandit.lab.specs.session import SessionSpec
    from jaxbandit.support.types import Json

DIRECTORY = arg(metavar="DIR")
IMPORT = arg(name="import")
NOT_CURRENT = (
    "There is no certificate: it would have to be computed by {type}, which this command does not import, and the one "
    "that was stored is not of the log as it is; run jaxbandit ask {directory} if you trust this code."
)
Row = dict[str, Any]  # of the JSON document: id, arm or arms with names, and key of a pull


@dataclass(frozen=True)
class Ask:
    """Print the arms to pull now, beginning with those whose reward is pending; SPEC starts the session in DIR."""

    directory: Annotated[Positional[Path], DIRECTORY]
    """Directory of the session."""
    spec: Annotated[Positional[Path | None], arg(metavar="[SPEC]")] = None
    """TOML file of kind "session"; required the first time."""
    n: int | None = None
    """Number of pulls; a race gives exactly as many, beyond what it needs next. Default: what it needs next, at most
    1024, or 1 if the algorithm draws at random. A deterministic one that decides on single pulls gives one, and says
    so."""
    context: str | None = None
    """The context, for an algorithm that takes one: an index, numbers such as 0.1,0.2, a JSON array, or {"available":
    [true, false], "features": [..]}. Each makes a new ask, whichever are open."""
    contexts: Path | None = None
    """CSV file with one context in each row, for as many asks in one state."""
    imports: Annotated[bool, IMPORT] = False
    """Import the module of type = "package.module:factory" in a directory that no ask of yours has begun. This runs its
    code."""
    no_import: bool = False
    """Raise an error for type = "package.module:factory", because importing the module would execute its code."""
    no_cache: bool = False
    """Neither read compiled programs from the user's cache directory nor keep them there."""
    json: bool = False
    """Print one JSON document instead of the table."""

    def __call__(self) -> int:
        """Print the pulls."""
        from jaxbandit.decide.sessions.directory import session_directory
        from jaxbandit.lab.experiments.beginning import nothing_left
        from jaxbandit.lab.specs.session_context import read_context, read_contexts

        with bad_input():
            spec, meta = spec_of(self.directory, self.spec, self.imports, not self.no_import)
            rule, given = spec.build(), {}
            if self.context is not None:
                given["context"] = read_context(self.context)
            if self.contexts is not None:
                given["contexts"] = read_contexts(self.contexts, rule)
            options = {"seed": spec.seed, "paired": spec.paired, "on_failure": spec.on_failure}
            with (
                nothing_left(self.directory) as begun,
                session_directory(self.directory, rule, meta=meta, **options) as store,
                begun(),
            ):
                store.certifies |= spec.outside
                pulls, session = store.ask(self.n, **given), store.session
        note = ""
        single = session.programs.kind == "single" and not session.stopped and (not session.contextual or bool(given))
        if self.n is not None and self.n > 1 and single:
            note = f"{spec.algorithm.type} is deterministic and decides on one pull at a time, so this is 1 pull and "
            note += f"not {self.n}"
            if not session.contextual:
                note += f"; if its reward will never come, let it expire: jaxbandit expire {self.directory} ID"
            print(f"jaxbandit: {note}", file=sys.stderr)
        rows = _rows(session, pulls, spec)
        if self.json:
            streams.document(
                {"schema": 1, "stopped": session.stopped, "pulls": rows, **({"note": note} if note else {})}
            )
        elif rows:
            print(_table(rows))
        else:
            print(f"stopped: there is nothing left to pull; `jaxbandit status {self.directory}` shows the result")
        return DONE


@dataclass(frozen=True)
class Status:
    """Print the arms with means and intervals, the survivors, the guarantee with its assumptions, and pending pulls."""

    directory: Annotated[Positional[Path], DIRECTORY]
    """Directory of the session."""
    no_import: bool = False
    """Accepted as for ask; this command never imports a module that the directory names."""
    no_cache: bool = False
    """Do not use the cache of compiled programs, as for ask."""
    json: bool = False
    """Print one JSON document instead of the table."""

    def __call__(self) -> int:
        """Print it."""
        from jaxbandit.decide.sessions.certifying import certificate
        from jaxbandit.decide.sessions.directory import read_session
        from jaxbandit.decide.sessions.summary import summary_of
        from jaxbandit.lab.specs.session import load_stored

        with bad_input():
            spec = load_stored(self.directory, imports=None)
            if spec.outside:
                result, _, pending, current = summary_of(self.directory)
            else:
                session = read_session(self.directory, spec.build())
                result, pending, current = certificate(session), session.pending.tolist(), True
            labels = spec.labels if len(result.pulls) == len(spec.names) else None
        missing = "" if current else NOT_CURRENT.format(type=spec.algorithm.type, directory=self.directory)
        if self.json:
            arms = {"names": list(spec.names)} if spec.configs is None else {"configs": list(spec.configs)}
            about = {"schema": 1, "name": spec.name, "seed": spec.seed, **arms, "pending": pending}
            found = {"certificate": result.to_json()} if current else {"arms": _arms(result), "missing": missing}
            streams.document({**about, **found})
            return DONE
        shown = result if labels is None else result.with_names(labels)
        print(shown if current else f"{missing}\n\n{_means(result, spec.labels)}")
        print(f"\npending: {', '.join(map(str, pending[:20]))}{', ...' * (len(pending) > 20)}" if pending else "")
        return DONE


@dataclass(frozen=True)
class Repair:
    """Repair a session or a search whose log is refused: what is sound is kept, and the damaged log stays beside it."""

    directory: Annotated[Positional[Path], DIRECTORY]
    """Directory of the session or search."""

    def __call__(self) -> int:
        """Repair it, and print what was changed."""
        from jaxbandit.decide.sessions.repair import repair_session
        from jaxbandit.decide.sessions.stored import read_about
        from jaxbandit.decide.tuning import store
        from jaxbandit.lab.specs.session import load_stored

        with bad_input():
            if (self.directory / store.ABOUT).exists():
                print(store.repair(self.directory))
                return DONE
            stored = isinstance(read_about(self.directory)["meta"].get("spec"), dict)
            spec = load_stored(self.directory, imports=None) if stored else None
            print(repair_session(self.directory, None if spec is None or spec.outside else spec.build()))
        return DONE


def spec_of(directory: Path, path: Path | None, imports: bool, may_import: bool) -> "tuple[SessionSpec, Json]":
    """Return the spec of the session, and what session.json holds or shall hold besides its identity.

    Code outside the package is imported if the session is new, if this user has begun it, or if `imports` says so.
    """
    from jaxbandit.decide.sessions.stored import ABOUT, read_about
    from jaxbandit.lab.specs import ownership, session

    load = partial(session.load_stored, directory) if path is None else partial(session.load, path)
    spec, begun = load(imports=None), (directory / ABOUT).exists()
    meta: Json = read_about(directory)["meta"] if begun else {}
    mark = {name: meta[name] for name in (ownership.SIGNATURE,) if name in meta}
    if spec.outside:
        where = f"{path or directory}: algorithm[0].type = {show(spec.algorithm.type)}, names code outside the package"
        if not may_import:
            refuse(where, ", which is not imported; leave out --no-import if you trust it")
        if begun and not imports and not ownership.is_signed(meta):
            refuse(where, f", and no ask of yours has begun {directory}; give --import if you trust whoever did")
        spec = load(imports=True)
        if not begun:
            try:
                mark = {ownership.SIGNATURE: ownership.sign(spec.to_dict())}
            except BadInput as error:
                print(f"jaxbandit: {error}; ask and tell in {directory} will need --import", file=sys.stderr)
    return spec, {"spec": spec.to_dict(), **mark}


def _arms(result: "Certificate") -> list[Row]:
    """Return the arms of a session of which only the log is known."""
    means = [None] * len(result.pulls) if result.means is None else result.means.tolist()
    known = [{} if mean is None or mean != mean else {"mean": mean} for mean in means]
    return [
        {"arm": i, "pulls": n, **mean} for i, (n, mean) in enumerate(zip(result.pulls.tolist(), known, strict=True))
    ]


def _means(result: "Certificate", labels: Sequence[str]) -> str:
    rows = [[labels[row["arm"]], f"{row['pulls']:,}", f"{row['mean']:.4g}" if "mean" in row else "-"]
            for row in _arms(result)]  # fmt: skip
    return text.align([["arm", "pulls", "mean"], *rows], right=range(1, 3))


def _rows(session: "Session", pulls: "Pulls", spec: "SessionSpec") -> list[Row]:
    """Return the pulls as plain data."""
    import jax
    import numpy as np

    from jaxbandit.decide.sessions.next_pulls import pull_keys

    words = np.asarray(jax.random.key_data(pull_keys(session, pulls))).tolist()
    rows = []
    for id_, arm, index, key in zip(pulls.id.tolist(), pulls.arm, pulls.index.tolist(), words, strict=True):
        row: Row = {"id": id_}
        if pulls.arm.dtype == bool:
            members = np.flatnonzero(arm).tolist()
            row |= {"arms": members, "names": [spec.names[a] for a in members]}
        else:
            row |= {"arm": int(arm), "index": index}
            row |= {"name": spec.names[arm]} if spec.configs is None else {"config": spec.configs[arm]}
        rows.append(row | {"key": key})
    return rows


def _table(rows: Sequence[Row]) -> str:
    flat = [{k: v for k, v in row.items() if k not in ("key", "config")} | row.get("config", {}) for row in rows]
    lines = [list(flat[0]), *([_cell(v) for v in row.values()] for row in flat)]
    return text.align(lines, right=[i for i, v in enumerate(flat[0].values()) if isinstance(v, int | float)])


def _cell(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
