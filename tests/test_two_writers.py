"""Two processes that write one log, with the lock file removed and without any locks: no reward that was told vanishes.

Each reward is either in the log, or the call that told it has raised.
"""

import contextlib
import errno
import json
import os
import subprocess
import sys
import textwrap

import pytest

import jaxbandit as jb
from jaxbandit.decide.sessions.repair import repair_session
from jaxbandit.decide.tuning import store
from jaxbandit.engine.storage.appending import OpenLog
from jaxbandit.engine.storage.directories import LOCK
from jaxbandit.support.refusals import BadInput, NoLocks

RULE = jb.algorithms.uniform(3)
ABOUT = {"seed": 0, "paired": False}
pytestmark = pytest.mark.quickly_compiled


@pytest.fixture
def no_locks(monkeypatch):
    def flock(descriptor, operation):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr("fcntl.flock", flock)


@contextlib.contextmanager
def unlocked(path):
    """A session that is open where there are no locks."""
    with pytest.warns(NoLocks, match=f"{path}: its file system has no locks"), jb.session_directory(path, RULE) as d:
        yield d


def begun(path, pulls=4):
    with jb.session_directory(path, RULE) as d:
        d.ask(pulls)


def logged(path):
    """The rewards in the log of a session, by id."""
    entries = [json.loads(line) for line in (path / "log.jsonl").read_text().splitlines()]
    return {id_: r for e in entries if "tell" in e for id_, r in zip(e["tell"], e["rewards"], strict=True)}


@pytest.mark.slow
def test_the_log_itself_is_locked(tmp_path):
    begun(tmp_path)
    with jb.session_directory(tmp_path, RULE) as d:
        (tmp_path / LOCK).unlink()  # git clean, rsync --delete
        busy = pytest.raises(BadInput, match=r"log\.jsonl: in use by another process; wait")
        with busy, jb.session_directory(tmp_path, RULE) as other:
            other.tell(0, 0.0)
        d.tell(0, 0.25)
    with jb.session_directory(tmp_path, RULE) as d:
        assert d.session.num_told == 1 and logged(tmp_path) == {0: 0.25}


def test_so_it_is_for_searches(tmp_path):
    with store.opened(tmp_path, ABOUT) as scores:
        scores.enter([store.Entry("a", "p")], blind=False, delta=0.1)
        (tmp_path / LOCK).unlink()
        busy = pytest.raises(BadInput, match=r"scores\.jsonl: in use by another process")
        with busy, store.opened(tmp_path, ABOUT) as other:
            other.add([0], [0], [store.Outcome(0.5)])
        scores.add([0], [0], [store.Outcome(0.25)])
    with store.opened(tmp_path, ABOUT) as scores:
        assert scores.outcome(0, 0).score == 0.25


def test_without_locks_the_second_writer_is_told_so(tmp_path, no_locks):
    with pytest.warns(NoLocks):
        begun(tmp_path)
    with unlocked(tmp_path) as first, unlocked(tmp_path) as second:
        first.tell(0, 0.25)
        size = (tmp_path / "log.jsonl").stat().st_size
        for _ in range(2):
            with pytest.raises(BadInput, match="another process wrote while it was open here; nothing of this call"):
                second.tell(1, 0.5)
        assert second.session.num_told == 0 and (tmp_path / "log.jsonl").stat().st_size == size
        first.tell(1, 0.75)
    assert logged(tmp_path) == {0: 0.25, 1: 0.75}
    with unlocked(tmp_path) as d:
        assert d.session.num_told == 2


@pytest.mark.parametrize("same", [True, False])
def test_a_line_that_came_in_between_is_kept_and_the_own_one_withdrawn(same, tmp_path, no_locks, monkeypatch):
    """The other process writes after this one has looked; even if both write the same bytes, one of them is told."""
    with pytest.warns(NoLocks):
        begun(tmp_path)
    write, waiting = os.write, []

    def late(descriptor, data):
        if waiting:
            waiting.pop()()
        return write(descriptor, data)

    monkeypatch.setattr(os, "write", late)
    with unlocked(tmp_path) as first, unlocked(tmp_path) as second:
        waiting.append(lambda: first.tell(0, 0.25))
        with pytest.raises(BadInput, match="another process wrote"):
            second.tell(0, 0.25 if same else 0.5)
        first.tell(1, 0.75)
    assert logged(tmp_path) == {0: 0.25, 1: 0.75}
    with unlocked(tmp_path) as d:
        assert d.session.num_told == 2


def test_searches_without_locks(tmp_path, no_locks):
    with pytest.warns(NoLocks), store.opened(tmp_path, ABOUT) as scores:
        scores.enter([store.Entry("a", "p")], blind=False, delta=0.1)
        with store.opened(tmp_path, ABOUT) as other:
            other.add([0], [0], [store.Outcome(0.5)])
            with pytest.raises(BadInput, match="another process wrote"):
                scores.add([0], [1], [store.Outcome(0.25)])
    with pytest.warns(NoLocks), store.opened(tmp_path, ABOUT) as scores:
        assert scores.outcome(0, 0).score == 0.5 and scores.outcome(0, 1) is None


def test_nothing_is_told_to_a_log_that_was_removed_or_replaced(tmp_path):
    begun(tmp_path)
    log, copy = tmp_path / "log.jsonl", tmp_path / "copy"
    with jb.session_directory(tmp_path, RULE) as d:
        log.rename(copy)
        with pytest.raises(BadInput, match="was removed or replaced while it was open"):
            d.tell(0, 0.5)
        log.write_bytes(copy.read_bytes())
        with pytest.raises(BadInput, match="was removed or replaced while it was open"):
            d.tell(0, 0.5)
    copy.unlink()
    with jb.session_directory(tmp_path, RULE) as d:
        assert d.session.num_told == 0
        d.tell(0, 0.75)
    assert logged(tmp_path) == {0: 0.75}


def test_a_log_that_grew_between_reading_and_opening_is_refused(tmp_path):
    log = tmp_path / "log.jsonl"
    log.write_bytes(b"a\nb\n")
    for read in (2, 6):
        with pytest.raises(BadInput, match="another process has just written it; open it again"):
            OpenLog(log, read, 2)
    assert log.read_bytes() == b"a\nb\n"


def test_a_log_that_is_replaced_while_it_is_written(tmp_path, monkeypatch):
    begun(tmp_path)
    log = tmp_path / "log.jsonl"
    write = os.write

    def late(descriptor, data):
        written = write(descriptor, data)
        if data.startswith(b'{"tell'):
            log.unlink()
        return written

    monkeypatch.setattr(os, "write", late)
    with jb.session_directory(tmp_path, RULE) as d, pytest.raises(BadInput, match="would be lost"):
        d.tell(0, 0.5)


def torn(path):
    begun(path)
    with (path / "log.jsonl").open("ab") as file:
        file.write(b'{"tell": [0], "rewar')
    return (path / "log.jsonl").read_bytes()


def test_an_unfinished_line_is_cut_if_nobody_else_can_be_writing_it(tmp_path):
    torn(tmp_path)
    with jb.session_directory(tmp_path, RULE) as d:
        d.tell(0, 0.5)
    assert logged(tmp_path) == {0: 0.5}


def test_an_unfinished_line_without_locks_is_left_to_the_user(tmp_path, no_locks):
    with pytest.warns(NoLocks):
        data = torn(tmp_path)
    with (
        pytest.raises(BadInput, match=f"ends in an unfinished line, and .* jaxbandit repair {tmp_path} removes"),
        unlocked(tmp_path),
    ):
        pass
    assert (tmp_path / "log.jsonl").read_bytes() == data
    with pytest.warns(NoLocks):
        assert "an unfinished line at the end is removed" in repair_session(tmp_path, RULE)
    with unlocked(tmp_path) as d:
        d.tell(0, 0.5)
    assert logged(tmp_path) == {0: 0.5}


def test_repair_of_a_search_removes_an_unfinished_line_too(tmp_path):
    with store.opened(tmp_path, ABOUT) as scores:
        scores.enter([store.Entry("a", "p")], blind=False, delta=0.1)
    log = tmp_path / "scores.jsonl"
    whole = log.read_bytes()
    log.write_bytes(whole + b'{"config": [0')
    assert "1 lines are kept" in store.repair(tmp_path) and log.read_bytes() == whole
    assert "nothing to repair" in store.repair(tmp_path)


@pytest.mark.slow
def test_lines_that_are_lost_after_a_kill_are_missed_if_a_later_opening_saw_them(tmp_path):
    """A process that is killed does not write where the log ended; the next one that opens the directory does."""
    kills = """
        import os, sys, jaxbandit as jb
        for number in (3, 1):
            if os.fork() == 0:
                with jb.session_directory(sys.argv[1], jb.algorithms.uniform(3)) as d:
                    for _ in range(number):
                        d.ask()
                        d.tell(d.session.num_told, .5)
                    os._exit(9)
            assert os.waitstatus_to_exitcode(os.wait()[1]) == 9
        """
    subprocess.run([sys.executable, "-c", textwrap.dedent(kills), str(tmp_path)], check=True)
    log = tmp_path / "log.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    assert len(lines) == 8
    log.write_bytes(b"".join(lines[:5]))  # of six lines at the second opening
    with (
        pytest.raises(ValueError, match="is the last one, but there were 6 lines"),
        jb.session_directory(tmp_path, RULE),
    ):
        pass
    log.write_bytes(b"".join(lines[:6]))  # what came after it cannot be known
    with jb.session_directory(tmp_path, RULE) as d:
        assert d.session.num_told == 3


WRITER = """
    import errno, os, random, sys, time, warnings
    import fcntl
    import jaxbandit as jb
    from pathlib import Path

    def flock(descriptor, operation):
        raise OSError(errno.ENOLCK, "no locks")

    fcntl.flock = flock
    warnings.simplefilter("ignore")
    path, number, told = Path(sys.argv[1]), int(sys.argv[2]), open(sys.argv[3], "w")
    random.seed(number)
    rule, end, pulls = jb.algorithms.uniform(3), time.monotonic() + 60, 0
    while time.monotonic() < end and (pulls < 20 or not path.with_name("met").exists()):
        try:
            with jb.session_directory(path, rule) as d:
                for _ in range(random.randint(1, 4)):
                    d.ask()
                    waiting = d.session.pending
                    id_, reward = int(random.choice(waiting)), random.random()
                    d.tell(id_, reward)
                    print(id_, reward, file=told, flush=True)
                    pulls += 1
        except (ValueError, FileNotFoundError) as error:
            print(error, file=sys.stderr)
            if "another process" in str(error):
                path.with_name("met").touch()
            if "damaged" in str(error) or "line" in str(error):
                time.sleep(.01)
    told.close()
"""


@pytest.mark.slow
def test_two_processes_without_locks(tmp_path):
    """Two processes open, ask and tell 20 times or more, and until one has noticed the other; nothing vanishes."""
    path = tmp_path / "s"
    begun(path)
    files = [tmp_path / f"told-{i}" for i in range(2)]
    running = [
        subprocess.Popen([sys.executable, "-c", textwrap.dedent(WRITER), str(path), str(i), str(file)],
                         stderr=subprocess.PIPE, text=True)
        for i, file in enumerate(files)
    ]  # fmt: skip
    said = [process.communicate(timeout=120)[1] for process in running]
    pairs = [line.split() for file in files for line in file.read_text().splitlines()]
    assert all(process.returncode == 0 for process in running), said
    assert len(pairs) >= 40 and any("another process" in text for text in said), said
    assert logged(path) == {int(id_): float(reward) for id_, reward in pairs}
    with jb.session_directory(path, RULE) as d:
        assert d.session.num_told == len(pairs)
