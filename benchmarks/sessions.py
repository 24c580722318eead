"""One decision at a time: the time of an `ask` and a `tell` of a session, in memory and in a directory.

The least time of many is what the calls cost where nothing else runs, and the median what was seen. Beside them stand
the two compiled programs of a rule alone, and a write that waits for the disk, as each line with a reward does.
"""

import os
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import jaxbandit as jb
from benchmarks.columns import table as table_of

ARMS, DIM = 9, 20
ROUNDS, LATER = 1000, 100_000  # rounds that are measured, and pulls before the later ones


def measure(quick: bool) -> list[dict[str, Any]]:
    """Return a row for each rule, place and number of pulls before."""
    rounds, later = (10, 50) if quick else (ROUNDS, LATER)
    rows = []
    for name, (rule, context) in rules().items():
        for before, where in ((0, "memory"), (later, "memory"), (0, "directory")):
            if before and name not in ("ucb1", "lin_ucb_disjoint"):
                continue
            play = in_memory if where == "memory" else in_directory
            times = list(play(rule, context, before + rounds))[before + rounds // 10 :]
            rows.append({"name": name, "where": where, "before": before, **microseconds(times)})
        rows.append({"name": name, "where": "its two programs", **microseconds(list(programs(rule, context, rounds)))})
    rows.append({"name": "a write", "where": "to the disk", **microseconds(list(flushes(rounds)))})
    return rows


def rules() -> dict[str, tuple[jb.Algorithm, np.ndarray | None]]:
    """Return rules with a context, if they need one."""
    x = np.linspace(-1, 1, DIM)
    return {
        "ucb1": (jb.algorithms.ucb1(ARMS), None),
        "thompson": (jb.algorithms.thompson(ARMS), None),
        "lin_ucb_disjoint": (jb.algorithms.lin_ucb_disjoint(ARMS, DIM), x),
        "lin_ucb_shared": (jb.algorithms.lin_ucb_shared(ARMS, DIM), np.linspace(-1, 1, ARMS * DIM).reshape(ARMS, DIM)),
        "ridge_epsilon": (jb.algorithms.ridge_epsilon(ARMS, (DIM,), epsilon=0.1), x),
    }


def in_memory(rule: jb.Algorithm, context: np.ndarray | None, rounds: int) -> Iterator[float]:
    """Yield the seconds of an `ask` and a `tell` in each round."""
    session = jb.session(rule)
    for t in range(rounds):
        begin = time.perf_counter()
        session, pulls = jb.ask(session, context=context)
        session = jb.tell(session, pulls.id, float(t % 2))
        yield time.perf_counter() - begin


def in_directory(rule: jb.Algorithm, context: np.ndarray | None, rounds: int) -> Iterator[float]:
    """Yield the seconds of an `ask` and a `tell` of a session directory in each round."""
    with tempfile.TemporaryDirectory() as path, jb.session_directory(Path(path) / "session", rule) as store:
        for t in range(rounds):
            begin = time.perf_counter()
            pulls = store.ask(context=context)
            store.tell(pulls.id, float(t % 2))
            yield time.perf_counter() - begin


def programs(rule: jb.Algorithm, context: np.ndarray | None, rounds: int) -> Iterator[float]:
    """Yield the seconds of `select`, of reading its choice, and of `update`, without the rest of a session."""
    session = jb.session(rule)
    own, words, state = session.programs, session.words, session.state
    for t in range(1, rounds + 1):
        begin = time.perf_counter()
        choice = own.select(words, t, state, context)
        int(np.asarray(jb.contract.action_of(choice)))
        state = own.update(state, context, choice, float(t % 2)).state
        yield time.perf_counter() - begin


def flushes(rounds: int) -> Iterator[float]:
    """Yield the seconds of a write of a line that waits for the disk."""
    with tempfile.TemporaryFile(buffering=0) as file:
        for _ in range(rounds):
            begin = time.perf_counter()
            file.write(b"x" * 100)
            os.fsync(file.fileno())
            yield time.perf_counter() - begin


def microseconds(times: list[float]) -> dict[str, float]:
    """Return the least and the median of these seconds, in microseconds."""
    return {"least": 1e6 * min(times), "median": 1e6 * statistics.median(times)}


def table(rows: list[dict[str, Any]]) -> str:
    """Return the rows as text."""
    text = table_of(
        rows,
        "rule -> {name} | < where -> {where} | pulls before -> {before:,} | least us -> {least:.0f}"
        "| median us -> {median:.0f}",
    )
    return f"an ask and a tell of one pull, {ARMS} arms, contexts of {DIM} numbers (or for each arm)\n\n{text}"
