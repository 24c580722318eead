"""Directories with files of the user's own, or of another command: refused, and every byte stays as it is."""

import functools
import random
import shutil
from typing import Any

from .outcomes import HARMLESS, Failure
from .workshop import Workshop, snapshot
from .writers import READERS, WRITERS, Writer

USERS: dict[str, dict[str, str | bytes]] = {
    "notes": {"notes.txt": "mine\n"},
    "only a hidden file": {".secret": "mine\n"},
    "a file that looks temporary": {".thesis.tex.tmp": "mine\n"},
    "a repository": {".git/HEAD": "ref: refs/heads/main\n", ".git/config": "[core]\n", "paper.tex": "mine\n"},
    "another summary": {"summary.json": '{"accuracy": 0.9}\n', "table.npz": b"PK\x03\x04mine"},
    "another summary of a search": {"summary.json": '{"kind": "tune"}\n'},
    "another log": {"log.jsonl": '{"step": 1}\n{"step": 2}\n{"step": 3'},
    "a log alone": {"log.jsonl": "no newline at all"},
    "another session": {"session.json": '{"user": "me"}\n'},
    "another session with a log": {"session.json": "{}", "log.jsonl": '{"step": 1}\n{"st'},
    "weights": {"checkpoint/weights.npz": b"mine", "checkpoint/000/live.npz": b"mine"},
    "parts of something": {"parts/000/a.step": "mine\n", "parts/000/runs-0000000000-0000000004.npz": b"mine"},
    "another spec": {"spec.toml": 'title = "mine"\n'},
    "another specification and work": {"spec.toml": 'title = "mine"\n', "checkpoint/weights": "mine\n"},
    "cells of a notebook": {"cell-000.json": '{"cell_type": "code"}\n', "cell-000.npz": b"mine"},
    "a figure": {"tune.png": b"\x89PNG mine", "regret-it.png": b"\x89PNG mine"},
    "a report": {"report.html": "<html>mine</html>\n"},
    "an identity": {"identity.json": '{"me": 1}\n', "done-000000.npz": b"mine"},
    "an identity alone": {"identity.json": "{}"},
    "done by somebody": {"done-000000.npz": b"mine", "live.npz": b"mine"},
    "a certificate": {"certificate.json": '{"issuer": "me"}\n'},
    "an audit": {"audit/000/cell-000.npz": b"mine", "audit.json": '{"auditor": "me"}\n'},
    "an empty directory inside": {"data/.keep": ""},
    "a lock of another program": {".lock": "4711\n", "data.txt": "mine\n"},
    "provenance": {"provenance.json": '{"cells": [], "order": []}\n'},
    "results with the user's notes in hidden directories": {"checkpoint/.notes": "mine\n", "parts/.notes": "mine\n"},
}
# Commands that may write where another has written, because they go on with it.
SAME = {
    "run": ("run", "part", "merge"),
    "audit": ("audit",),
    "tune": ("tune",),
    "session": ("ask", "ask again", "tell"),
    "identify": (),
}


@functools.cache
def cases(workshop: Workshop) -> list[tuple[Writer, str, Any]]:
    """(command, name, files of the user's or None for results of another command)."""
    found: list[tuple[Writer, str, Any]] = []
    for writer in [*WRITERS, *READERS]:
        found += [(writer, name, files) for name, files in USERS.items()]
        if not writer.name.startswith(("report", "plot", "status", "compare", "load", "simulate")):
            found += [(writer, name, None) for name in SAME if writer.name not in SAME[name]]
    random.Random(0).shuffle(found)
    return found


def count(workshop: Workshop) -> int:
    return len(cases(workshop))


def one(workshop: Workshop, number: int, chance: random.Random) -> str:
    writer, name, files = cases(workshop)[number % count(workshop)]
    path = workshop.scratch() / "d"
    if files is None:
        shutil.copytree(getattr(workshop, name), path)
    for inner, content in (files or {}).items():
        (path / inner).parent.mkdir(parents=True, exist_ok=True)
        (path / inner).write_bytes(content.encode() if isinstance(content, str) else content)
    before = snapshot(path)
    what = f"{writer.name} in a directory with {name}"
    try:
        outcome = writer.call(workshop, path)
    except Failure as failure:
        raise Failure(f"{what}: {failure}") from None
    after = snapshot(path)
    if changed := _changed(before, after):
        raise Failure(f"{what}: {outcome}, and {changed}")
    if outcome == HARMLESS and writer.name != "load":
        raise Failure(f"{what}: not refused")
    return outcome


def _changed(before: dict[str, Any], after: dict[str, Any]) -> str:
    gone = [name for name in before if name not in after]
    new = [name for name in after if name not in before]
    other = [name for name in before if name in after and before[name] != after[name]]
    words = {"gone": gone, "new": new, "changed": other}
    return "; ".join(f"{', '.join(names[:5])} {word}" for word, names in words.items() if names)
