"""The page of a session in a directory or a file, which shows the certificate, the means of the arms, and the log."""

import json
import math
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from jaxbandit.decide.core.certificate import Certificate
from jaxbandit.decide.sessions.certifying import certificate as certificate_of
from jaxbandit.decide.sessions.directory import read_session
from jaxbandit.decide.sessions.stored import Arm, Book, Stored, book_of, read, read_file
from jaxbandit.decide.sessions.summary import summary
from jaxbandit.lab.specs.session import SessionSpec, load_stored
from jaxbandit.support.document import (
    Block,
    Chart,
    Curve,
    Document,
    Facts,
    Notes,
    Section,
    Verbatim,
    even_positions,
    fold,
)
from jaxbandit.support.document import Table as Cells
from jaxbandit.support.types import Json, Table

NOT_CURRENT = (
    "The recommendation, the guarantee and the intervals cannot be shown, because the rule of this session is defined "
    "outside of jaxbandit, whose reports import nothing, and the session was not closed after its last change. {remedy}"
)
IN_PYTHON = (
    "Open the directory again with session_directory and the rule, leave the with block, and write the report again."
)
IN_SHELL = "Run jaxbandit ask, if you trust the code of the rule, and write the report again."
SHOWN_ENTRIES, SHOWN_ARMS, DRAWN_ARMS, POINTS = 200, 200, 12, 200


class _Summary(NamedTuple):
    """What a page shows of a session besides its log."""

    name: str
    labels: list[str]
    certificate: Certificate
    num_told: int
    pending: int | None  # None: the certificate has only pulls and means, which are computed from the log


def page_of(directory: Path) -> Document:
    """Return the report of a session.

    A session that was begun from a TOML file is rebuilt from its log. If its rule is outside the package, or was given
    in Python, nothing is imported: the certificate is then the one that was written when the session was last closed,
    unless the log has changed since.
    """
    stored = read(directory)
    book, about = book_of(stored), stored.about
    spec = load_stored(directory, imports=None) if isinstance(about["meta"].get("spec"), dict) else None
    if spec is None or spec.outside:
        return _page_of_stored(stored, book, spec)
    session = read_session(directory, spec.build())
    found = _Summary(spec.name, spec.labels, certificate_of(session), session.num_told, len(session.pending))
    return _page(found, spec.algorithm.type, book, about["identity"], spec.to_dict())


def page_of_file(path: Path) -> Document:
    """Return the report of a session that `save_session` wrote."""
    stored = read_file(path)
    return _page_of_stored(stored, book_of(stored), None)


def _page_of_stored(stored: Stored, book: Book, spec: SessionSpec | None) -> Document:
    """Return the report of a session whose rule is not run."""
    about = stored.about
    certificate, told, pending, current = summary(stored, book)
    count, names = len(certificate.pulls), [about["meta"].get(key) for key in ("names", "arms")]
    if spec is not None:
        names.insert(0, spec.labels)
    named = next((x for x in names if isinstance(x, list) and len(x) == count), range(count))
    name = stored.path.resolve().stem if spec is None else spec.name
    found = _Summary(name, list(map(str, named)), certificate, told, len(pending) if current else None)
    rule = certificate.rule if spec is None else spec.algorithm.type
    begun = about["meta"] if spec is None else spec.to_dict()
    return _page(found, rule, book, about["identity"], begun, IN_PYTHON if spec is None else IN_SHELL)


def _page(
    summary: _Summary,
    rule: str,
    book: Book,
    identity: Table,
    begun: Table,
    remedy: str = "",
) -> Document:
    """Return the report that shows the summary of a session and the lines of its log."""
    certificate, labels, pending = summary.certificate, summary.labels, summary.pending
    counts = f"{summary.num_told:,} pulls told" + ("." if pending is None else f", {pending:,} pending.")
    state = "" if pending is None else " It has stopped." if certificate.stopped else " It has not stopped."
    promise = certificate.facts(certificate.rare_events(labels))
    if pending is None:
        first = Section("Certificate", [Notes([NOT_CURRENT.format(remedy=remedy)]), Facts(_guaranteed(identity))])
    elif certificate.recommendation is not None:
        named = ", ".join(labels[int(arm)] for arm in certificate.recommendation)
        first = Section("Recommendation", [Notes([named]), *promise])
    else:
        first = Section("Certificate", promise)
    shown = {name: identity.get(name) for name in ("seed", "run", "paired", "jaxbandit", "jax", "platform")}
    description = Verbatim(json.dumps(begun, indent=1, ensure_ascii=False)) if begun else None
    sections = [
        first,
        Section("Arms", _arms(certificate, labels)),
        Section("Running means", _running(book, labels)),
        Section("Log", _log(book, labels)),
        Section("Provenance", [Facts(shown), fold("Description with which the session was begun", description)]),
    ]
    return Document(summary.name, [Notes([f"Session of {rule} over {len(labels):,} arms.{state}", counts]), *sections])


def _guaranteed(identity: Table) -> Json:
    return {name: identity.get(name) for name in ("rule", "delta", "epsilon", "m", "budget")}


def _arms(certificate: Certificate, labels: list[str]) -> list[Block]:
    """Return a chart and a table of the arms' pulls, means and intervals; of many arms, those that were pulled most."""
    arms, notes = np.arange(len(labels)), []
    if len(arms) > SHOWN_ARMS:
        arms = np.sort(np.argsort(-certificate.pulls, kind="stable")[:SHOWN_ARMS])
        notes.append(f"Out of {len(labels):,} arms, the {SHOWN_ARMS} that were pulled most are shown.")
    means, low, high = certificate.means, certificate.low, certificate.high
    rows = []
    for arm in arms.tolist():
        row = [labels[arm], f"{certificate.pulls[arm]:,}"]
        row += [] if means is None else [_number(means[arm])]
        row += [] if low is None or high is None else [f"[{_number(low[arm])}, {_number(high[arm])}]"]
        row += [] if certificate.survivors is None else ["yes" if certificate.survivors[arm] else "no"]
        rows.append(row)
    head = ["arm", "pulls", *(["mean reward"] if means is not None else [])]
    head += [] if certificate.coverage is None else [f"{certificate.coverage:.0%} interval"]
    head += [] if certificate.survivors is None else ["survives"]
    if certificate.coverage is not None:
        simultaneous = "The intervals hold simultaneously for all arms and at all times"
        notes.insert(0, f"{simultaneous}, so they may be read while the session is running.")
    table = Cells(head, rows, right=(1, 2), caption="Arms", notes=notes)
    if means is None:
        return [table]
    known = [arm for arm in arms.tolist() if math.isfinite(means[arm])]
    bounds = [] if low is None or high is None else [low, high]
    ends = [[_finite_end(bound[arm], means[arm]) for arm in known] for bound in bounds]
    curve = Curve("mean reward", 0, [arms.tolist().index(arm) for arm in known], [means[arm] for arm in known], *ends)
    named = [labels[arm] for arm in arms.tolist()]
    title = "Mean reward of each arm with its interval, if it is finite"
    chart = Chart(title, "arm", "mean reward", [curve], shape="marks", log_x=None, log_y=None, names=named)
    return [chart, table]


def _finite_end(end: float, mean: float) -> float:
    return float(end) if math.isfinite(end) else float(mean)


def _number(value: float) -> str:
    return f"{value:.6g}" if math.isfinite(value) else "unknown"


def _rewards(book: Book) -> dict[int, list[tuple[int, float]]]:
    """Return the rewards of each arm, each with the number of rewards told so far; without those of sets of arms."""
    rewards = {}
    for number, (id_, reward) in enumerate(book.rewards.items(), 1):  # a correction keeps its place
        if not isinstance(arm := book.arms[id_], list):
            rewards.setdefault(arm, []).append((number, reward))
    return rewards


def _running(book: Book, labels: list[str]) -> list[Block]:
    """Return a chart of the mean of each arm's rewards after each of them; of many arms, those with most rewards."""
    rewards = _rewards(book)
    most = sorted(sorted(rewards, key=lambda arm: -len(rewards[arm]))[:DRAWN_ARMS])
    notes = []
    if len(rewards) > DRAWN_ARMS:
        notes.append(f"Running means are drawn for the {DRAWN_ARMS} arms with most rewards out of {len(rewards):,}.")
    curves = []
    for order, arm in enumerate(most):
        x, values = np.array(rewards[arm], np.float64).T
        keep = even_positions(len(x), POINTS)
        mean = np.cumsum(values) / np.arange(1, len(values) + 1)
        curves.append(Curve(labels[arm], order, x[keep].astype(int), mean[keep]))
    if any(len(of) > POINTS for of in rewards.values()):
        notes.append(f"At most {POINTS} evenly spaced running means of each arm are drawn.")
    title = "Running mean of the rewards of each arm"
    return [Chart(title, "rewards told", "mean reward", curves, shape="step", log_y=None), Notes(notes)]


def _log(book: Book, labels: list[str]) -> list[Block]:
    rows = []
    for number, event in enumerate(book.events, 1):
        ids = event.ids
        arms = [_arm_text(arm, labels) for arm in ([book.arms[id_] for id_ in ids] if ids else event.arms or ())]
        shown = f"{ids[0]} to {ids[-1]}" if isinstance(ids, range) and len(ids) > 1 else _few(map(str, ids))
        rewards = _few(f"{x:.6g}" for x in event.rewards or ())
        rows.append((f"{number:,}", event.kind, shown, _few(arms), rewards))
    notes = []
    if len(rows) > SHOWN_ENTRIES:
        notes.append(f"Out of {len(rows):,} lines of the log, the last {SHOWN_ENTRIES} are shown.")
    head = ("line", "call", "ids of pulls", "arms", "rewards")
    return [Cells(head, rows[-SHOWN_ENTRIES:], right=(0,), caption="Log", notes=notes)]


def _arm_text(arm: Arm, labels: list[str]) -> str:
    return "{" + ", ".join(labels[a] for a in arm) + "}" if isinstance(arm, list) else labels[arm]


def _few(words: Iterable[str], most: int = 8) -> str:
    items = list(words)
    return ", ".join(items[:most]) + (f", and {len(items) - most:,} more" if len(items) > most else "")
