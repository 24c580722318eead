"""Damage to the log of a session and of a search: refused, or the numbers of the lines that are whole."""

import functools
import json
import random
from pathlib import Path
from typing import Any

import jaxbandit as jb

from . import damage
from .outcomes import HARMLESS, Failure, call, python
from .workshop import Workshop

RULE = functools.cache(lambda: jb.algorithms.paired_race(3, delta=0.05, epsilon=0.02))
LOG = "log.jsonl"
ROUNDS = 8


@functools.cache
def clean(root: Path) -> Path:
    """The directory of a session of RULE, begun in Python, in which rewards are reported in two orders."""
    path = root / "log"
    with jb.session_directory(path, RULE(), seed=5) as store:
        for number in range(ROUNDS):
            pulls = store.ask()
            values = [0.3 * int(arm) + 0.01 * ((7 * int(i)) % 11) for arm, i in zip(pulls.arm, pulls.id, strict=True)]
            half = len(values) // 2
            for part in (slice(half, None), slice(0, half))[:: 1 if number % 2 else -1]:
                if len(pulls.id[part]):
                    store.tell(pulls.id[part], values[part])
            if number == 4:
                store.tell_outside([2, 0], [0.5, 0.25])
                store.amend([1, 4], [0.5, 0.125])
            if number == 2:
                store.withdraw(store.ask(limit=1).id[:1])
        store.ask()
    return path


def numbers(session: Any) -> str:
    """What a session says of its rewards."""
    certificate = jb.certificate(session).to_json()
    return json.dumps([certificate, session.num_told, session.pending.tolist(), session.counts.tolist()])


def opened(path: Path) -> tuple[str, Any]:
    """Open the session in a directory and close it again; its numbers."""

    def read() -> str:
        with jb.session_directory(path, RULE(), seed=5) as store:
            return numbers(store.session)

    return python("session_directory", read)


@functools.cache
def prefixes(root: Path) -> dict[bytes, str]:
    """The numbers of the session after each of its lines, by the bytes of the lines so far."""
    path, found = clean(root), {}
    lines = (path / LOG).read_bytes().splitlines(keepends=True)
    for count in range(len(lines) + 1):
        copied = root / f"log-{count}"
        copied.mkdir()
        (copied / "session.json").write_bytes((path / "session.json").read_bytes())
        (copied / LOG).write_bytes(b"".join(lines[:count]))
        found[b"".join(lines[:count])] = opened(copied)[1]
    return found


def judged(root: Path, data: bytes, outcome: str, said: Any, what: str) -> str:
    """A damaged log is refused, or has the numbers of its whole lines, where these begin the undamaged log."""
    whole = data[: data.rfind(b"\n") + 1]
    known = prefixes(root)
    if outcome == HARMLESS and said not in (known[clean_bytes(root)], known.get(whole)):
        raise Failure(f"{LOG}: {what}: other numbers, and not refused")
    return outcome


def clean_bytes(root: Path) -> bytes:
    return (clean(root) / LOG).read_bytes()


def session_log(workshop: Workshop, number: int, chance: random.Random) -> str:
    """Flipped, deleted, swapped, repeated and torn lines in the log of a session."""
    prefixes(workshop.root)
    path = workshop.scratch() / "log"
    path.mkdir()
    for name in ("session.json", "certificate.json"):
        (path / name).write_bytes((clean(workshop.root) / name).read_bytes())
    data, what = damage.lines_damaged(clean_bytes(workshop.root), chance)
    (path / LOG).write_bytes(data)
    outcome = judged(workshop.root, data, *opened(path), what)
    if number % 20 == 0:  # slower
        try:
            call("report", path, cwd=path.parent)
        except Failure as failure:
            raise Failure(f"{LOG}: {what}: {failure}") from None
    return outcome


def tune_log(workshop: Workshop, number: int, chance: random.Random) -> str:
    """The same in the log of a search, which is then resumed: the same result."""
    path = workshop.copy("tune")
    for name in ("summary.json", "result.json", "table.npz", "history.npz"):
        (path / name).unlink()
    log = path / "scores.jsonl"
    data, what = damage.lines_damaged(log.read_bytes(), chance)
    log.write_bytes(data)
    try:
        said = call("tune", "train_module:train", "tune.toml", "--out", path, "--json", cwd=workshop.specs)
    except Failure as failure:
        raise Failure(f"{log.name}: {what}: {failure}") from None
    if said.status == 0:
        here, there = (json.loads((d / "summary.json").read_text()) for d in (path, workshop.tune))
        if here != there:
            raise Failure(f"{log.name} of a search: {what}: another result, and not refused")
    return said.outcome
