"""Several processes of one service: three ways in which they share one session, by time and processor time of a visit.

A visit is an ask and a tell whose reward is on the disk, made in turn by each process as fast as it can. "HTTP" is the
recipe's service, "queue" a process that owns the session and answers over a socket of `multiprocessing.connection`.
With "sqlite" every process has a session of its own and writes its visits to a table, a commit for each ask and reward,
and receives those of the others before each ask, so that each process updates for the visits of all.
"""

import contextlib
import multiprocessing
import os
import sqlite3
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Client, Listener
from pathlib import Path
from typing import Any

import httpx2
import numpy as np

import jaxbandit as jb
from benchmarks.columns import table as table_of
from benchmarks.service import ARMS, DIM, Service, processor_seconds

VISITS = 200
CONTEXT = multiprocessing.get_context("spawn")
Visit = Callable[[np.ndarray], None]


def rule() -> jb.Algorithm:
    """Return the rule, whose contexts are DIM floats."""
    return jb.algorithms.lin_ucb_disjoint(ARMS, DIM)


def by_http(place: str) -> Visit:
    """Return a visit of the recipe's service."""
    client = httpx2.Client(base_url=place)

    def visit(x: np.ndarray) -> None:
        id = client.post("/ask", json=x.tolist()).json()["id"]
        client.post("/tell", params={"id": id, "reward": 1.0}).raise_for_status()

    return visit


def by_queue(place: str) -> Visit:
    """Return a visit of the process that listens at a socket."""
    owner = Client(place)

    def visit(x: np.ndarray) -> None:
        owner.send(("ask", x))
        owner.send(("tell", owner.recv()[0], 1.0))
        owner.recv()

    return visit


def by_sqlite(place: str) -> Visit:
    """Return a visit of a process that shares a table with the others."""
    table, own, seen = sqlite3.connect(place, timeout=60, isolation_level=None), [jb.session(rule())], [0]
    table.execute("PRAGMA synchronous=FULL")
    me = os.getpid()

    def receive() -> None:
        rows = table.execute("SELECT id, context FROM visits WHERE id > ? AND reward IS NOT NULL AND process != ?"
                             " ORDER BY id", (seen[0], me)).fetchall()  # fmt: skip
        for id, context in rows:  # what an update costs; the arm would be that of the row
            after, pulls = jb.ask(own[0], context=np.frombuffer(context))
            own[0], seen[0] = jb.tell(after, pulls.id, 1.0), id

    def visit(x: np.ndarray) -> None:
        receive()
        own[0], pulls = jb.ask(own[0], context=x)
        row = me, int(pulls.arm[0]), x.tobytes()
        id = table.execute("INSERT INTO visits (process, arm, context) VALUES (?, ?, ?)", row).lastrowid
        table.execute("UPDATE visits SET reward = 1 WHERE id = ?", (id,))
        own[0] = jb.tell(own[0], pulls.id, 1.0)

    return visit


WAYS = {"HTTP": by_http, "queue": by_queue, "sqlite": by_sqlite}


def play(way: str, place: str, visits: int, start: Any, found: Any) -> None:
    """Make visits, and report the time of each and the processor time of all."""
    visit, rng = WAYS[way](place), np.random.default_rng(os.getpid())
    for _ in range(20):
        visit(rng.normal(size=DIM))
    found.put(None)
    start.wait()
    begin, times = time.process_time(), []
    for _ in range(visits):
        at = time.perf_counter()
        visit(rng.normal(size=DIM))
        times.append(time.perf_counter() - at)
    found.put((times, time.process_time() - begin))


def owner(place: str, directory: str) -> None:
    """Own a session, and answer each connection in a thread."""
    with jb.session_directory(directory, rule()) as store, Listener(place) as listener:
        store.warm_up()

        def answer(connection: Any) -> None:
            with contextlib.suppress(EOFError):
                while True:
                    kind, *given = connection.recv()
                    if kind == "ask":
                        pulls = store.ask(context=given[0])
                        connection.send((pulls.id, pulls.arm))
                    else:
                        store.tell(*given)
                        connection.send(None)

        while True:
            threading.Thread(target=answer, args=(listener.accept(),), daemon=True).start()


@contextlib.contextmanager
def shared(way: str, place: Path) -> Iterator[tuple[str, int | None]]:
    """Yield where the processes find what they share, and the process that owns it."""
    if way == "HTTP":
        service = Service(place)
        service.seconds_to_start()
        try:
            yield service.url, service.process.pid
        finally:
            service.end()
    elif way == "queue":
        process = CONTEXT.Process(target=owner, args=(str(place / "socket"), str(place / "session")))
        process.start()
        while not (place / "socket").exists():
            time.sleep(0.05)
        try:
            yield str(place / "socket"), process.pid
        finally:
            process.terminate()
            process.join()
    else:
        with contextlib.closing(sqlite3.connect(place / "visits.sqlite")) as table:
            table.execute("PRAGMA journal_mode=WAL")
            columns = "id INTEGER PRIMARY KEY, process INT, arm INT, context BLOB, reward REAL"
            table.execute(f"CREATE TABLE visits ({columns})")
            table.commit()
        yield str(place / "visits.sqlite"), None


def measure(quick: bool) -> list[dict[str, Any]]:
    """Return a row for each way and number of processes."""
    rows, visits = [], 5 if quick else VISITS
    for way in WAYS:
        for number in (1, 2):
            with tempfile.TemporaryDirectory() as folder, shared(way, Path(folder)) as (place, process):
                start, found = CONTEXT.Event(), CONTEXT.Queue()
                given = way, place, visits, start, found
                players = [CONTEXT.Process(target=play, args=given) for _ in range(number)]
                for player in players:
                    player.start()
                for _ in players:
                    found.get()  # until all have compiled
                before, begin = processor_seconds(process) if process else 0.0, time.perf_counter()
                start.set()
                reports = [found.get() for _ in players]
                seconds = time.perf_counter() - begin
                owned = processor_seconds(process) - before if process else 0.0
                for player in players:
                    player.join()
            times = np.sort(np.concatenate([report[0] for report in reports]))
            processor = owned + sum(report[1] for report in reports)
            rows.append(
                {
                    "way": way,
                    "processes": number,
                    "least": 1e3 * times[0],
                    "median": 1e3 * np.median(times),
                    "rate": len(times) / seconds,
                    "processor": 1e3 * processor / len(times),
                }
            )
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    """Return the rows as text."""
    return f"lin_ucb_disjoint, {ARMS} arms, contexts of {DIM} floats\n\n" + table_of(
        rows,
        "way -> {way} | processes -> {processes} | least ms -> {least:.1f} | median ms -> {median:.1f}"
        "| visits a second -> {rate:.0f} | processor ms a visit -> {processor:.1f}",
    )
