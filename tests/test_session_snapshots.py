"""A snapshot is a cache of the log of a session directory: with it, without it or with a damaged one, all is equal."""

import base64
import hashlib
import json
import logging
import os

import jax
import numpy as np
import pytest
from test_sessions import leaves

import jaxbandit as jb
from jaxbandit.base.contract import Offer
from jaxbandit.decide.core.log import line_of
from jaxbandit.decide.sessions import directory, snapshot
from jaxbandit.decide.sessions import stored as files_of_sessions
from jaxbandit.decide.sessions.directory import LOG, read_session
from jaxbandit.decide.sessions.events import Events, with_one_more
from jaxbandit.engine.storage import files, npz

pytestmark = pytest.mark.quickly_compiled
RNG = np.random.default_rng(0)
DISJOINT = jb.algorithms.lin_ucb_disjoint(3, 2)
SOFTMAX = jb.algorithms.ridge_softmax(3, (6,), temperature=0.5)


class Killed(BaseException):
    """The process ends here."""


def often(monkeypatch, every=8):
    monkeypatch.setattr(directory, "EVERY", every)
    monkeypatch.setattr(directory, "AT_CLOSE", every)


def visits(store, n, dim, start=0):
    """Visits of which every third has no answer, one is told twice and one is forgotten."""
    rng = np.random.default_rng(start)
    for i in range(n):
        pulls = store.ask(context=rng.normal(size=dim))
        if i % 3:
            store.tell(pulls.id, float(i % 2))
        elif i % 5 == 0:
            store.expire(pulls.id)


def race(store, n):
    for i in range(n):
        pulls = store.ask(limit=5)
        store.tell(pulls.id[::2], np.cos(pulls.arm[::2] + i))
        if len(pulls.id) > 1 and i % 2:
            store.withdraw(pulls.id[1])


def draws(store, n):
    for i in range(n):
        pulls = store.ask()
        if i % 4:
            store.tell(pulls.id, np.full(len(pulls.id), i % 2))
        if i == 9:
            store.expire(pulls.id[0] - 1)
            store.tell_outside([0, 1], [1, 0])
            store.close_arms(2)
            store.amend(pulls.id[0], 1 - i % 2)


CASES = {
    "contexts": (DISJOINT, lambda store, n: visits(store, n, 2)),
    "probabilities": (SOFTMAX, lambda store, n: visits(store, n, 6)),
    "race": (jb.algorithms.paired_race(4, delta=0.05, epsilon=0.05), race),
    "draws": (jb.algorithms.thompson(3), draws),
    "single": (jb.algorithms.ucb1(3), lambda store, n: [store.tell(store.ask().id, i % 2) for i in range(n)]),
}


def equal(one, other):
    """Whether two sessions are equal in everything that decides, and in their events and rows."""
    assert [same(a, b) for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)].count(False) == 0
    assert [(e.kind, *map(str, e[1:4])) for e in one.events] == [(e.kind, *map(str, e[1:4])) for e in other.events]


def same(one, other):
    """Whether two leaves have the same dtype and numbers."""
    one, other = np.asarray(one), np.asarray(other)
    return one.dtype == other.dtype and np.array_equal(one, other, equal_nan=one.dtype.kind == "f")


def without_past(session):
    """The session whose rewarded asks are in memory, as those of a session that was never closed."""
    if not session.contextual or session.pulls.past is None:
        return session
    pulls, parts = session.pulls, ()
    for row in pulls.told:
        parts = with_one_more(parts, row)
    return session.but(pulls=pulls._replace(parts=parts, past=None))


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_a_session_goes_on_from_its_snapshot_as_from_its_log(name, tmp_path, monkeypatch):
    rule, play = CASES[name]
    often(monkeypatch)
    for path, every in (("with", 8), ("without", 10**9)):
        often(monkeypatch, every)
        for n in (11, 6, 17):
            with jb.session_directory(tmp_path / path, rule, seed=3) as store:
                play(store, n)
    assert (tmp_path / "with" / LOG).read_bytes() == (tmp_path / "without" / LOG).read_bytes()
    assert (tmp_path / "with" / snapshot.SNAPSHOT).exists() and not (tmp_path / "without" / snapshot.SNAPSHOT).exists()
    found, wanted = read_session(tmp_path / "with", rule), read_session(tmp_path / "without", rule)
    assert found.num_told == wanted.num_told and len(found.events) == len(wanted.events)
    equal(without_past(found), wanted)


def test_lines_before_the_snapshot_are_not_decided_again(tmp_path, monkeypatch):
    often(monkeypatch)
    with jb.session_directory(tmp_path, DISJOINT) as store:
        visits(store, 40, 2)
    calls = []
    monkeypatch.setattr(snapshot, "fold", lambda stored, begun: calls.append(len(stored.lines.bodies)) or begun)
    read_session(tmp_path, DISJOINT)
    assert calls[0] <= 3  # lines, of which each counts two or more of eight


def damages(path):
    data = path.read_bytes()
    yield "a flipped bit", data[:100] + bytes([data[100] ^ 1]) + data[101:]
    yield "half of it", data[: len(data) // 2]
    yield "nothing", b""
    yield "another file", b"PK" + bytes(200)


def test_a_damaged_snapshot_is_left_out_with_a_line(tmp_path, monkeypatch, caplog):
    often(monkeypatch)
    with jb.session_directory(tmp_path, DISJOINT) as store:
        visits(store, 20, 2)
    wanted = leaves(without_past(read_session(tmp_path, DISJOINT)))
    file = tmp_path / snapshot.SNAPSHOT
    for name, data in list(damages(file)):
        file.write_bytes(data)
        caplog.clear()
        found = leaves(read_session(tmp_path, DISJOINT))
        assert all(np.array_equal(a, b) for a, b in zip(found, wanted, strict=True)), name
        (line,) = [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING]
        assert "snapshot.npz" in line and "read from its log" in line and "\n" not in line, name


def test_a_snapshot_of_other_lines_is_left_out_and_a_damaged_log_is_refused(tmp_path, monkeypatch, caplog):
    often(monkeypatch)
    with jb.session_directory(tmp_path / "a", DISJOINT) as store:
        visits(store, 20, 2)
    with jb.session_directory(tmp_path / "b", DISJOINT) as store:
        visits(store, 20, 2, start=1)
    wanted = leaves(read_session(tmp_path / "b", DISJOINT).but(events=None))
    os.replace(tmp_path / "a" / snapshot.SNAPSHOT, tmp_path / "b" / snapshot.SNAPSHOT)
    found = read_session(tmp_path / "b", DISJOINT)
    assert "the log has other bytes" in caplog.text
    assert all(np.array_equal(a, b) for a, b in zip(leaves(found)[:3], wanted[:3], strict=True))
    log = tmp_path / "a" / LOG
    data = log.read_bytes()
    log.write_bytes(data[:300] + bytes([data[300] ^ 1]) + data[301:])
    with pytest.raises(ValueError, match="does not fit the lines before it"):
        read_session(tmp_path / "a", DISJOINT)
    os.replace(tmp_path / "b" / snapshot.SNAPSHOT, tmp_path / "a" / snapshot.SNAPSHOT)
    log.unlink()
    with pytest.raises(ValueError, match="line 0: is the last one, but there were 35 lines at the last close"):
        read_session(tmp_path / "a", DISJOINT)


@pytest.mark.parametrize("at", ["fsync", "replace", "write_snapshot"])
def test_a_process_that_is_killed_while_it_writes_a_snapshot_loses_nothing(at, tmp_path, monkeypatch):
    often(monkeypatch)
    whole = snapshot.write_snapshot
    armed = []

    def killed(path, session, end):
        if len(armed) < 2:  # the first ones are written
            armed.append(None)
            return whole(path, session, end)

        def die(*given, **options):
            raise Killed

        with monkeypatch.context() as patch:
            if at != "write_snapshot":
                patch.setattr(os, at, die)
            else:
                die()
            return whole(path, session, end)

    monkeypatch.setattr(directory, "write_snapshot", killed)
    acknowledged = {}
    with pytest.raises(Killed), jb.session_directory(tmp_path, DISJOINT) as store:
        rng = np.random.default_rng(0)
        for i in range(100):
            (id_,) = store.ask(context=rng.normal(size=2)).id
            store.tell(id_, float(i % 2))
            acknowledged[int(id_)] = float(i % 2)
    found = read_session(tmp_path, DISJOINT)
    assert acknowledged.items() <= found.pulls.rewards(range(100)).items() and len(acknowledged) >= 3


def test_what_was_asked_before_the_snapshot_is_read_from_the_log(tmp_path, monkeypatch):
    often(monkeypatch)
    with jb.session_directory(tmp_path, SOFTMAX) as store:
        visits(store, 30, 6)
        wanted, before = store.session.log(), store.session
    with jb.session_directory(tmp_path, SOFTMAX) as store:
        found = store.session.log()
        assert store.session.pulls.past is not None
        for name in ("reward", "propensity", "context"):
            assert np.array_equal(getattr(found, name), getattr(wanted, name))
        store.tell(1, 1.0)  # told again
        with pytest.raises(ValueError, match=r"id = 1: reward = 0.5, but 1.0 was reported before"):
            store.tell(1, 0.5)
        with pytest.raises(ValueError, match=r"id = 0 was withdrawn or has expired"):
            store.tell(0, 0.5)
        store.amend(1, 0.0)
        one, other = jb.amend(before, 1, 0.0), store.session
    equal(one.but(pulls=None, events=Events()), other.but(pulls=None, events=Events()))


def test_a_saved_session_of_a_directory_with_a_snapshot_has_all_events(tmp_path, monkeypatch):
    often(monkeypatch)
    with jb.session_directory(tmp_path / "d", DISJOINT) as store:
        visits(store, 20, 2)
    read = read_session(tmp_path / "d", DISJOINT)
    assert read.events._past is not None
    jb.save_session(tmp_path / "file", read)
    equal(jb.load_session(tmp_path / "file", DISJOINT), without_past(read))


def test_offers_and_sets_of_arms_are_in_a_snapshot(tmp_path, monkeypatch):
    often(monkeypatch)
    rule = jb.algorithms.ridge_greedy(3, (5,))
    for every in (8, 10**9):
        often(monkeypatch, every)
        with jb.session_directory(tmp_path / str(every), rule) as store:
            rng = np.random.default_rng(0)
            for i in range(12):
                pulls = store.ask(context=Offer(np.array([True, i % 2 == 0, True]), rng.normal(size=5)))
                if i % 3:
                    store.tell(pulls.id, float(i % 2))
    assert (tmp_path / "8" / LOG).read_bytes() == (tmp_path / str(10**9) / LOG).read_bytes()
    equal(without_past(read_session(tmp_path / "8", rule)), read_session(tmp_path / str(10**9), rule))


def test_repair_removes_the_snapshot_of_a_log_that_it_cuts(tmp_path, monkeypatch, caplog):
    often(monkeypatch)
    with jb.session_directory(tmp_path, DISJOINT) as store:
        visits(store, 20, 2)
    lines = (tmp_path / LOG).read_bytes().splitlines(keepends=True)
    (tmp_path / LOG).write_bytes(b"".join(lines[:4]) + b"x\n" + b"".join(lines[4:]))
    jb.repair_session(tmp_path)
    assert not (tmp_path / snapshot.SNAPSHOT).exists()
    assert len(read_session(tmp_path, DISJOINT).events) == 4 and not caplog.text


def test_floats_of_contexts_come_back_exactly_as_ten_lines_of_python_read_them(tmp_path):
    contexts = [RNG.normal(size=6), RNG.normal(size=6).astype(np.float32), np.arange(6.0), np.full(6, 1e300)]
    contexts += [-np.zeros(6), np.asfortranarray(RNG.normal(size=(6, 2)))[:, 0], [0.1, 1, 2, 3, 4, 5]]
    with jb.session_directory(tmp_path, SOFTMAX) as store:
        for context in contexts:
            store.ask(context=context)
    found, names = [], []
    for line in (tmp_path / LOG).read_text().splitlines():
        context = json.loads(line)["context"]
        names.append(context["dtype"])
        numbers = np.frombuffer(base64.b64decode(context["base64"]), np.dtype(context["dtype"]).newbyteorder("<"))
        found.append(numbers.reshape(context["shape"]).astype(float))
    assert names == ["float64", "float32", "float16", "float64", "float16", "float64", "float64"]
    for one, other in zip(found, contexts, strict=True):
        assert np.array_equal(one, other) and np.array_equal(np.signbit(one), np.signbit(other))
    kept = [row.context for row in read_session(tmp_path, SOFTMAX).pulls.open]
    assert all(np.array_equal(one, other) for one, other in zip(kept, contexts, strict=True))


def test_a_snapshot_of_another_form_is_left_out(tmp_path, monkeypatch, caplog):
    often(monkeypatch)
    with jb.session_directory(tmp_path, DISJOINT) as store:
        visits(store, 20, 2)
    file, wanted = tmp_path / snapshot.SNAPSHOT, leaves(without_past(read_session(tmp_path, DISJOINT)))
    with file.open("rb") as stored:
        arrays = npz.read(stored)
    for name in ("state.2", "context.0", "totals.1", "about"):
        files.write_arrays(file, arrays | {name: arrays[name][:-1]})
        caplog.clear()
        found = leaves(without_past(read_session(tmp_path, DISJOINT)))
        assert all(np.array_equal(a, b) for a, b in zip(found, wanted, strict=True)), name
    files.write_arrays(file, arrays | {"state.2": arrays["state.2"].astype(np.float32)})
    read_session(tmp_path, DISJOINT)
    assert "state has another form" in caplog.text


def test_a_snapshot_that_cannot_be_written_refuses_no_reward(tmp_path, monkeypatch, caplog):
    often(monkeypatch)

    def full(*given):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(directory, "write_snapshot", full)
    with jb.session_directory(tmp_path, DISJOINT) as store:
        visits(store, 10, 2)
        wanted = store.session.num_told
    assert wanted == read_session(tmp_path, DISJOINT).num_told == 6
    assert "no snapshot was written" in caplog.text and not (tmp_path / snapshot.SNAPSHOT).exists()


@pytest.mark.parametrize(
    "change",
    [{"base64": "AAA"}, {"base64": 3}, {"dtype": "object"}, {"dtype": []}, {"shape": [7]}, {"shape": "x"}],
    ids=str,
)
def test_a_context_that_no_session_has_written_is_refused_in_a_line(change, tmp_path):
    with jb.session_directory(tmp_path, SOFTMAX) as store:
        store.ask(context=RNG.normal(size=6))
    stored = files_of_sessions.read(tmp_path)
    entry = json.loads(stored.lines.bodies[0])
    entry["context"] |= change
    (tmp_path / LOG).write_bytes(line_of(entry, stored.start)[0])
    (tmp_path / "certificate.json").unlink()
    with pytest.raises(ValueError, match=r"log.jsonl: line 1: its context cannot be read \(\w+\)"):
        read_session(tmp_path, SOFTMAX)
    assert "nothing to repair" not in jb.repair_session(tmp_path)
    assert read_session(tmp_path, SOFTMAX).end == 0


def test_a_process_that_is_killed_after_a_snapshot_leaves_one_that_is_later_than_the_last_close(tmp_path, monkeypatch):
    often(monkeypatch)
    with jb.session_directory(tmp_path, DISJOINT) as store:
        visits(store, 3, 2)
    with pytest.raises(Killed), jb.session_directory(tmp_path, DISJOINT) as store:
        visits(store, 20, 2, start=1)
        wanted = leaves(without_past(store.session))
        raise Killed
    found = read_session(tmp_path, DISJOINT)
    assert json.loads((tmp_path / "certificate.json").read_text())["lines"] < found.pulls.past.lines
    assert leaves(without_past(found)) == wanted


def test_a_matrix_in_another_order_of_memory_comes_back_as_it_was(tmp_path):
    rule, context = jb.algorithms.ridge_greedy(2, (2, 3)), np.asfortranarray(np.arange(6.0).reshape(2, 3))
    with jb.session_directory(tmp_path, rule) as store:
        store.ask(context=context)
    assert np.array_equal(read_session(tmp_path, rule).pulls.open[0].context, context)
    assert np.array_equal(read_session(tmp_path, rule).events.last.context, context)


def test_digests_of_the_beginnings_of_a_file(tmp_path, monkeypatch):
    """Computed in a thread, they are those of the bytes that the file has when they are asked for."""
    monkeypatch.setattr(files, "PIECE", 8)
    file, data = tmp_path / "log", bytes(range(20))
    file.write_bytes(data)
    digests = files.Digests(file, hashlib.sha256(b"before"))
    digests._thread.join()

    def require(data):
        for size in (0, 3, 8, 15, 16, len(data)):
            digest, rest = digests.after(size)
            assert (digest.hexdigest(), rest) == (hashlib.sha256(b"before" + data[:size]).hexdigest(), data[size:])
        assert digests.after(len(data) + 1)[1] is None

    require(data)
    with file.open("ab") as log:  # another process goes on
        log.write(data)
    require(data + data)
    (tmp_path / "new").write_bytes(data[::-1] + data)
    os.replace(tmp_path / "new", file)  # as a repair does
    require(data[::-1] + data)
    file.unlink()
    with pytest.raises(FileNotFoundError):
        digests.after(3)
