"""Sessions under attack: threads and processes on one directory, logs that were changed, and their repair."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest
from test_sessions import RULES, Killed, in_order, leaves, rewards_of

import jaxbandit as jb
from jaxbandit.decide.core.log import log_of
from jaxbandit.decide.sessions import directory, stored
from jaxbandit.decide.sessions.summary import summary_of
from jaxbandit.engine.storage.json_files import DIGEST, write_json

pytestmark = pytest.mark.quickly_compiled
RULE = RULES["batch"]
LOG, ABOUT, CERTIFICATE = directory.LOG, stored.ABOUT, stored.CERTIFICATE


def opened(path, rule=RULE):
    """The session in a directory."""
    with jb.session_directory(path, rule, seed=3) as d:
        return d.session


def begun(path, asks=4, rule=RULE):
    """The lines of the log of a directory in which each of a few asks was answered by two tells."""
    with jb.session_directory(path, rule, seed=3) as d:
        for _ in range(asks):
            pulls = d.ask()
            rewards = rewards_of(pulls)
            d.tell(pulls.id[1:], rewards[1:])
            d.tell(pulls.id[0], rewards[0])
    return (path / LOG).read_bytes().splitlines(keepends=True)


def refusal(path, rule=RULE):
    """The message with which a directory is refused, by those who write and by those who read."""
    with pytest.raises(ValueError) as written, jb.session_directory(path, rule, seed=3):
        pass
    with pytest.raises(ValueError) as read:
        directory.read_session(path, rule)
    assert str(read.value) == str(written.value) and "\n" not in str(read.value)
    return str(read.value)


def together(number, function):
    """The results of function(0), ..., function(number - 1), called by as many threads at the same moment."""
    ready = threading.Barrier(number)

    def begin(i):
        ready.wait()
        return function(i)

    with ThreadPoolExecutor(number) as pool:
        return list(pool.map(begin, range(number)))


@pytest.mark.slow
def test_threads_take_turns_on_one_directory(tmp_path, monkeypatch):
    rule, sync = jb.algorithms.sequential_halving(2, budget=100), os.fsync
    monkeypatch.setattr(os, "fsync", lambda descriptor: (threading.Event().wait(0.001), sync(descriptor))[1])
    with jb.session_directory(tmp_path, rule, seed=3) as d:
        asked = together(8, lambda i: d.ask(50).id.tolist())
        assert all(ids == list(range(50)) for ids in asked)
        together(8, lambda i: [d.tell(id_, id_ / 100) for id_ in range(i, 50, 8)])
        assert d.session.num_told == 50 and d.ask(50).id.tolist() == list(range(50, 100))
        found = leaves(d.session)
    assert leaves(opened(tmp_path, rule)) == found


HALVING = jb.algorithms.sequential_halving(3, budget=500)


def halved():
    """The session in which the rewards were told in order."""
    s = jb.session(HALVING, seed=3)
    while not s.stopped:
        s, pulls = jb.ask(s, limit=400)
        s = jb.tell(s, pulls.id, rewards_of(pulls))
    return s


def tell_in_threads(path, acknowledged, steps, limit=32, threads=8, rule=HALVING):
    """Tell pulls one by one from threads; return whether the rule has stopped.

    Every second pull is told by two threads. What a tell that returned has told is noted in a file.
    """
    with jb.session_directory(path, rule, seed=3) as d:
        for _ in range(steps):
            pulls = d.ask(limit)
            ids = pulls.id.tolist()
            rewards = dict(zip(ids, rewards_of(pulls).tolist(), strict=True))

            def report(i, ids=ids, rewards=rewards):
                for id_ in ids[i::threads] + ids[(i + 1) % threads :: 2 * threads]:
                    d.tell(id_, rewards[id_])
                    os.write(acknowledged, f"{id_}\n".encode())

            together(threads, report)
            if d.session.stopped:
                return True
        return False


def judge_threads(path, acknowledged):
    """Every reward was told once, and the session is that in which they were told in order."""
    entries = [json.loads(line) for line in (path / LOG).read_text().splitlines()]
    ids = [id_ for entry in entries for id_ in entry.get("tell", [])]
    expected = halved()
    assert sorted(ids) == list(range(expected.num_told))
    assert set(map(int, acknowledged.read_text().split())) <= set(ids)
    found = opened(path, HALVING)
    assert leaves(found) == leaves(expected) and found.recommendation.tolist() == expected.recommendation.tolist()


@pytest.mark.slow
def test_threads_and_kills_lose_no_reward_and_log_none_twice(tmp_path, monkeypatch):
    """The process is not killed here: it leaves its log in the middle of a line, or after one."""
    write, rng, kills, done = os.write, np.random.default_rng(0), 0, False

    def torn(descriptor, data):
        if data[:1] == b"{" and rng.random() < 0.02:
            write(descriptor, data[: rng.integers(1, len(data) + 1)])
            raise Killed
        return write(descriptor, data)

    path, notes = tmp_path / "d", tmp_path / "acknowledged"
    acknowledged = os.open(notes, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    monkeypatch.setattr(os, "write", torn)
    while not done:
        try:
            done = tell_in_threads(path, acknowledged, 100)
        except Killed:
            kills += 1
    monkeypatch.undo()
    assert kills >= 5
    judge_threads(path, notes)


def tell_to_the_end(path, notes):
    """Open the directory, tell and close it again, in turns with other processes, until the rule has stopped."""
    done, acknowledged = False, os.open(notes, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    while not done:
        try:
            done = tell_in_threads(path, acknowledged, 4, limit=8)
        except ValueError as error:
            assert "in use by" in str(error), error
        time.sleep(0.1)


def forked(path, notes):
    """Return the number of a process that tells to the end; this one must not have used JAX before."""
    number = os.fork()
    if number == 0:
        try:
            tell_to_the_end(path, notes)
        except BaseException as error:
            os.write(2, f"{error!r}\n".encode())
            os._exit(1)
        os._exit(0)
    return number


def polled(number):
    """The number and status of a process that has ended, 0 and 0 while it goes on."""
    return os.waitpid(number, os.WNOHANG)


def tell_and_kill(path, notes):
    """Four processes tell; three times, the one that has the directory is killed, and another takes its place."""
    workers, killed, known = {forked(path, notes) for _ in range(4)}, 0, 0
    while not (ended := {number: status for number, status in map(polled, workers) if number}):
        with contextlib.suppress(OSError, TypeError):
            holder = int(re.match(r"process (\d+)", (path / ".lock").read_text())[1])
            now = len(notes.read_text().split())
            if killed < 3 and holder in workers and now > known + 30:  # while it tells
                os.kill(holder, signal.SIGKILL)
                assert os.waitpid(holder, 0)[1] == signal.SIGKILL
                workers ^= {holder, forked(path, notes)}
                known, killed = now, killed + 1
        time.sleep(0.003)
    ended |= dict(os.waitpid(worker, 0) for worker in workers.difference(ended))
    assert [*ended.values()] == [0] * 4 and killed >= 2, (ended, killed)


@pytest.mark.slow
def test_eight_threads_in_four_processes_that_are_killed(tmp_path):
    path, notes = tmp_path / "d", tmp_path / "acknowledged"
    notes.touch()
    # One process imports what the workers need, so that each of them costs its own work alone.
    code = "import sys; from pathlib import Path; from test_trust_sessions import tell_and_kill; "
    command = [sys.executable, "-c", f"{code} tell_and_kill(*map(Path, sys.argv[1:]))", str(path), str(notes)]
    python = os.pathsep.join(filter(None, [str(Path(__file__).parent), *sys.path]))
    subprocess.run(command, env=os.environ | {"PYTHONPATH": python}, timeout=500, check=True)
    judge_threads(path, notes)


@pytest.mark.slow
def test_a_call_that_was_interrupted_leaves_nothing_behind(tmp_path, monkeypatch):
    """Between a line of the log and the session after it: the line is removed by the next call."""
    write = os.write

    def interrupted(descriptor, data):
        write(descriptor, data)
        raise KeyboardInterrupt

    with jb.session_directory(tmp_path, RULE, seed=3) as d:
        pulls = d.ask()
        with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
            patched.setattr(os, "write", interrupted)
            d.tell(pulls.id, [0.25, 0.5, 0.75])
        d.tell(pulls.id, [0.5, 0.5, 0.5])
        with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
            patched.setattr(os, "write", interrupted)
            d.ask(1)
        d.ask(2)
        found = d.session
    again = opened(tmp_path)
    assert leaves(again) == leaves(found) and again.totals.means.tolist() == [0.5] * 3


def test_a_closed_directory_writes_to_no_other_file(tmp_path):
    with jb.session_directory(tmp_path / "a", RULE) as d:
        d.ask()
    descriptor = os.open(tmp_path / "other", os.O_RDWR | os.O_CREAT)  # gets the number that the log had
    with pytest.raises(ValueError, match="was closed, so that nothing can be written"):
        d.tell(0, 0.5)
    os.close(descriptor)
    assert not (tmp_path / "other").read_bytes() and d.session.num_told == 0


def test_neither_a_forked_process_nor_a_cut_log_is_written_to(tmp_path, monkeypatch):
    with jb.session_directory(tmp_path, RULE, seed=3) as d:
        d.ask()
        before = (tmp_path / LOG).read_bytes()
        with monkeypatch.context() as patched, pytest.raises(ValueError, match="is open in process"):
            patched.setattr(os, "getpid", lambda: 1)
            d.tell(0, 0.5)
        (tmp_path / LOG).write_bytes(before[:5])
        with pytest.raises(ValueError, match="has 5 bytes, must have"):
            d.tell(0, 0.5)
        (tmp_path / LOG).write_bytes(before)
        d.tell(0, 0.5)
    assert opened(tmp_path).num_told == 1


def test_the_log_of_a_directory_without_a_session_is_not_touched(tmp_path):
    (tmp_path / LOG).write_text("mine\nand its last line")
    with pytest.raises(ValueError), jb.session_directory(tmp_path, RULE, seed=3):
        pass
    assert (tmp_path / LOG).read_text() == "mine\nand its last line" and not (tmp_path / ABOUT).exists()


def test_a_log_of_another_kind_is_not_cut(tmp_path):
    """A directory is verified before anything in it is changed."""
    begun(tmp_path)
    (tmp_path / LOG).write_text("mine\nand its last line")
    assert "line 1: does not fit" in refusal(tmp_path)
    assert (tmp_path / LOG).read_text() == "mine\nand its last line"


@pytest.mark.slow
def test_arrays_as_contexts_are_read_from_the_log_again(tmp_path):
    rule = jb.Algorithm(
        init=lambda key: jnp.zeros(3),
        select=lambda noise, state, context: jnp.argmax(context["x"][0]).astype(jnp.int32),
        update=lambda state, context, action, reward: (
            state + reward * context["x"][0].astype(state.dtype) * context["scale"]
        ),
        pulls=lambda state: jnp.zeros(3, jnp.int32),
    )
    with jb.session_directory(tmp_path, rule, seed=3) as d:
        for arm in (2, 0):
            context = {"x": (np.eye(3, dtype=np.float32)[arm],), "scale": 0.1}
            d.tell(d.ask(context=context).id, 1.0)
        found = leaves(d.session)
    assert leaves(opened(tmp_path, rule)) == found


def edits(lines):
    """Changes of a log: a name, the lines, and the number of the line that does not fit."""
    count = len(lines)
    for i in range(count):
        yield f"without {i + 1}", [*lines[:i], *lines[i + 1 :]], i + 1
        yield f"{i + 1} twice", [*lines[: i + 1], *lines[i:]], i + 2
    for i in range(count - 1):
        yield f"{i + 1} and the next exchanged", [*lines[:i], lines[i + 1], lines[i], *lines[i + 2 :]], i + 1
    yield "one more", [*lines[:2], b'{"withdraw": []}\n', *lines[2:]], 3
    yield "without checksums", [line[: line.index(b', "sum"')] + b"}\n" for line in lines], 1
    yield "nothing", [], 0


def test_lines_that_were_removed_repeated_moved_or_inserted_are_refused(tmp_path):
    lines = begun(tmp_path)
    for name, changed, number in edits(lines):
        (tmp_path / LOG).write_bytes(b"".join(changed))
        place = len(changed) if name == f"without {len(lines)}" else number  # the last one is missed by its number
        message = refusal(tmp_path)
        assert f"line {place}: " in message and "jaxbandit repair" in message, (name, message)
    (tmp_path / LOG).write_bytes(b"".join(lines))
    opened(tmp_path)


def test_the_log_of_another_session_is_refused(tmp_path):
    begun(tmp_path / "a")
    with jb.session_directory(tmp_path / "b", RULE, seed=3, meta={"names": ["x", "y", "z"]}):
        pass
    (tmp_path / "b" / LOG).write_bytes((tmp_path / "a" / LOG).read_bytes())
    assert "line 1: does not fit" in refusal(tmp_path / "b")


def flipped(data, rng):
    place = int(rng.integers(8 * len(data)))
    return data[: place // 8] + bytes([data[place // 8] ^ (1 << place % 8)]) + data[place // 8 + 1 :]


@pytest.mark.slow
@pytest.mark.parametrize("name", [LOG, ABOUT, CERTIFICATE])
def test_no_flipped_bit_changes_a_number(name, tmp_path, flips=80):
    begun(tmp_path)
    rng, data, found = np.random.default_rng(0), (tmp_path / name).read_bytes(), leaves(opened(tmp_path))
    refused = 0
    for _ in range(flips):
        (tmp_path / name).write_bytes(flipped(data, rng))
        try:
            assert leaves(directory.read_session(tmp_path, RULE)) == found
        except ValueError as error:
            assert "\n" not in str(error)
            refused += 1
    assert refused == (0 if name == CERTIFICATE else flips)


ODD = [
    b'{"tell": [0], "rewards": [NaN]}',
    b'{"tell": [0], "rewards": [1' + b"0" * 400 + b"]}",
    b'{"tell": [1' + b"0" * 5000 + b'], "rewards": [1]}',
    b'{"tell": [' + b"[" * 100_000,
    b'{"tell": [[0]], "rewards": [0.5]}',
    b'{"tell": [0.5], "rewards": [0.5]}',
    b'{"tell": [true], "rewards": ["x"]}',
    b'{"tell": {}, "rewards": {}}',
    b'{"tell": [0, 1], "rewards": [0.5]}',
    b'{"tell": [0], "tell": [0], "rewards": [0.5]}',
    b'{"tell": [0], "rewards": [0.5], "ask": [0]}',
    b'{"tell": [0]}',
    b'{"rewards": [0]}',
    b'{"ask": [0, 1, 2], "limit": "x"}',
    b'{"ask": [0], "limit": 1' + b"0" * 30 + b"}",
    b'{"ask": [0], "context": [[["x"]]]}',
    b'{"ask": 7}',
    b'{"withdraw": [99]}',
    b'{"withdraw": "x"}',
    b"[]",
    b"7",
    b"",
    b"\xff\xfe",
    b"null",
]


def relined(path, bodies):
    """Write a log of these lines, each with the checksum that it should have."""
    (path / LOG).write_bytes(log_of(bodies, stored.start_of(stored.read_about(path)))[0])


def bodies(path):
    """The lines of a log without their checksums."""
    return list(stored.read(path).lines.bodies)


def test_whatever_a_line_holds_it_is_refused_in_one_line(tmp_path):
    begun(tmp_path, asks=1)
    whole, data = bodies(tmp_path), (tmp_path / LOG).read_bytes()
    for odd in ODD:
        (tmp_path / LOG).write_bytes(data + odd + b"\n")
        assert "line 4: " in refusal(tmp_path), odd[:60]
        relined(tmp_path, [*whole, odd])
        assert "line 4: " in refusal(tmp_path), odd[:60]
        if b"tell" in odd:  # read without the rule
            with pytest.raises(ValueError, match="line 4: "):
                summary_of(tmp_path)


def test_the_certificate_is_read_while_it_is_that_of_the_log(tmp_path):
    begun(tmp_path)
    session, content = opened(tmp_path), json.loads((tmp_path / CERTIFICATE).read_text())
    content = {name: value for name, value in content.items() if name != DIGEST}
    for more, current in (({}, True), ({"log_bytes": content["log_bytes"] - 1}, False)):
        write_json(tmp_path / CERTIFICATE, content | more)
        if current:
            found = summary_of(tmp_path)
            assert found.current and found.certificate.low is not None
            assert found.num_told == 12 and found.certificate.pulls.tolist() == [4, 4, 4] and found.pending == []
            np.testing.assert_allclose(found.certificate.means, session.totals.means, rtol=1e-12)
        else:
            with pytest.raises(ValueError, match="is another one, but there were 12 lines at the last close"):
                summary_of(tmp_path)
    arms = content["certificate"]["arms"]
    of_others = ({"told": 11}, {"certificate": content["certificate"] | {"arms": arms[:-1]}}, {"certificate": {}})
    for foreign in of_others:
        write_json(tmp_path / CERTIFICATE, content | foreign)
        with pytest.raises(ValueError, match="holds no certificate"):
            summary_of(tmp_path)


def test_a_repair_keeps_what_is_before_the_damage_and_counts_the_rest(tmp_path):
    lines = begun(tmp_path)
    for i, (changed, expected) in enumerate(
        (
            ([*lines[:7], lines[7].replace(b"0.", b"0.9", 1), *lines[8:]], (6 + 1 - 1, 7, 6)),
            (lines[:-2], (9, 10, 0)),
            ([*lines[:3], *lines[4:]], (3, 3, 9)),
        ),
        1,
    ):
        (tmp_path / LOG).write_bytes(b"".join(lines))
        (tmp_path / CERTIFICATE).unlink(missing_ok=True)
        opened(tmp_path)
        (tmp_path / LOG).write_bytes(b"".join(changed))
        refusal(tmp_path)
        rewards, count, lost = expected
        said = jb.repair_session(tmp_path)
        assert f"{rewards} rewards in {count} lines are kept" in said, said
        assert (f"{lost} rewards in damaged lines or after them are lost" in said) == (lost > 0), said
        assert ("missing" in said) == (changed == lines[:-2]) == ("2 are missing at the end" in said)
        assert opened(tmp_path).num_told == rewards and f"log-damaged-{i}.jsonl" in said


def test_a_repair_with_the_rule_drops_pulls_that_the_rule_does_not_ask_for(tmp_path):
    begun(tmp_path)
    lines = bodies(tmp_path)
    lines[3] = lines[3].replace(b"[0, 1, 2]", b"[2, 1, 0]")
    relined(tmp_path, lines)
    (tmp_path / CERTIFICATE).unlink()
    assert "line 4: the rule asks for other pulls" in refusal(tmp_path)
    assert "nothing to repair" in jb.repair_session(tmp_path)
    assert "3 rewards in 3 lines are kept; 9 rewards" in jb.repair_session(tmp_path, RULE)
    assert opened(tmp_path).num_told == 3
    with pytest.raises(ValueError, match="of another session"):
        jb.repair_session(tmp_path, RULES["single"])


def test_a_file_of_a_session_that_was_changed_is_refused_in_one_line(tmp_path):
    """A line that is cut, altered or moved, and whatever a line holds although its checksum is right."""
    path, session = tmp_path / "s.session", in_order(RULE)
    jb.save_session(path, session)
    assert leaves(jb.load_session(path, RULE)) == leaves(session)
    lines, rng = path.read_bytes().splitlines(keepends=True), np.random.default_rng(0)
    changed = [
        b"".join(lines[:-1]),
        b"".join(lines)[:-1],
        b"".join([*lines, lines[-1]]),
        b"".join([*lines, b"x"]),
        lines[0],
        b"",
        b"{}\n",
    ]
    changed += [b"".join([*lines[:2], *lines[3:]]), b"".join([lines[0], lines[2], lines[1], *lines[3:]])]
    changed += [flipped(b"".join(lines), rng) for _ in range(60)]
    changed.append(b"".join([*lines, b"x"]))
    whole = stored.read_file(path)
    for odd in ODD:
        data = log_of([*whole.lines.bodies[:3], odd, b'{"closed": {}}'], stored.start_of(whole.about))[0]
        changed.append(lines[0] + data)
    for data in changed:
        path.write_bytes(data)
        with pytest.raises(ValueError) as refused:
            jb.load_session(path, RULE)
        assert "\n" not in str(refused.value) and str(path) in str(refused.value), data


def test_a_saved_session_keeps_the_structure_of_its_context(tmp_path):
    rule = jb.Algorithm(
        init=lambda key: jnp.zeros(3),
        select=lambda noise, state, context: jnp.argmax(context["x"][0] + context["y"]).astype(jnp.int32),
        update=lambda state, context, action, reward: state.at[action].add(reward),
        pulls=lambda state: jnp.zeros(3, jnp.int32),
    )
    s, pulls = jb.ask(jb.session(rule), context={"x": (np.eye(3)[2],), "y": np.float64(0.1)})
    jb.save_session(tmp_path / "s.session", s)
    again = jb.load_session(tmp_path / "s.session", rule)
    assert leaves(again) == leaves(s) and leaves(jb.tell(again, 0, 0.5)) == leaves(jb.tell(s, 0, 0.5))
    assert jb.ask(again)[1].arm.tolist() == pulls.arm.tolist() == [2]


def test_a_description_without_a_rule_is_refused(tmp_path):
    begun(tmp_path)
    about = stored.read_about(tmp_path)
    lacking = {name: value for name, value in about["identity"].items() if name != "rule"}
    for identity, meta in ((lacking, about["meta"]), (about["identity"], []), ([], about["meta"])):
        write_json(tmp_path / ABOUT, {"schema": stored.SCHEMA, "identity": identity, "meta": meta})
        with pytest.raises(ValueError, match="not a file that a session has written"):
            stored.read_about(tmp_path)
