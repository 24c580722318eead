"""Commands that are killed or meet a full disk at random instants, and are started again: same bytes, none lost."""

import contextlib
import functools
import json
import os
import random
import select
import shutil
import time
from pathlib import Path
from typing import Any

import numpy as np
from kills import compare
from lives import Lives

import jaxbandit as jb

from . import logs
from .outcomes import HARMLESS, REFUSED, Failure, Said, call, checked
from .workshop import Workshop, files_of

PROGRAM = """
    import json, os, random, resource, signal, sys, time
    from pathlib import Path
    from jaxbandit.lab.cli import cache
    cache.use()
    import matplotlib.pyplot, tomli_w, tyro  # what commands import when they are called
    import jaxbandit as jb
    from jaxbandit.lab import cli
    from jaxbandit.lab.cli import commands
    from jaxbandit.lab.experiments import experiment, merging, search
    from jaxbandit.decide.sessions import directory
    from jaxbandit.engine.driver import programs
    from jaxbandit.engine.storage import checkpoint

    def main(kind, *arguments):
        sys.path.insert(0, arguments[0])
        os.chdir(arguments[0])
        os.dup2(os.open(arguments[1], os.O_WRONLY), 2)
        programs.FIRST_BLOCKS = 1
        checkpoint.SAVE_SECONDS = programs.CALL_SECONDS = 0.02
        if kind == "command":
            limit = int(arguments[2])
            if limit:
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
            os._exit(cli.main(json.loads(arguments[3])))
        else:
            os._exit(processes(*arguments[2:]))

    def worker(path, count, acknowledged, seed):
        chance = random.Random(seed)
        rule = jb.algorithms.paired_race(3, delta=0.05, epsilon=1e-6)
        file = os.open(acknowledged, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        while True:
            try:
                with jb.session_directory(path, rule, seed=5) as store:
                    for _ in range(chance.randint(1, 4)):
                        if store.session.num_told >= count:
                            return
                        pulls = store.ask()
                        some = chance.sample(range(len(pulls.id)), chance.randint(1, len(pulls.id)))
                        for i in some:
                            number = int(pulls.id[i])
                            store.tell([number], [reward(number, int(pulls.arm[i]))])
                            os.write(file, f"{number}\\n".encode())
            except ValueError as error:
                if "in use by" not in str(error):
                    raise
                time.sleep(chance.uniform(0, 0.02))

    def reward(number, arm):
        return 0.5 + 0.01 * ((number * 7919 + 31 * arm) % 101) / 101

    def processes(path, count, acknowledged, seed, kills):
        chance = random.Random(seed)
        kills, running, born = int(kills), {}, 0
        failed = 0
        while True:
            while len(running) < 4 and not failed and born < 4 + int(kills):
                born += 1
                pid = os.fork()
                if pid == 0:
                    try:
                        worker(path, int(count), acknowledged, f"{seed} {born}")
                    except BaseException as error:
                        os.write(2, f"{type(error).__name__}: {error}\\n".encode())
                        os._exit(1)
                    os._exit(0)
                running[pid] = time.monotonic()
            if kills > 0 and len(running) == 4:
                time.sleep(chance.uniform(0.3, 2.0))
                victim = chance.choice(list(running))
                os.kill(victim, signal.SIGKILL)
                kills -= 1
            pid, status = os.wait()
            running.pop(pid)
            failed += os.waitstatus_to_exitcode(status) == 1
            if not running:
                return 1 if failed else 0
"""
COMMANDS: dict[str, list[str]] = {
    "run": ["run", "run.toml", "--out", "DIR"],
    "tune": ["tune", "train_module:train", "tune.toml", "--out", "DIR"],
    "audit": ["audit", "audit.toml", "--runs", "400", "--out", "DIR"],
    "tell": ["tell", "DIR", "15=0.5", "16=0.25", "17=0.125"],  # up to here those of the tests, each of its own storage
    "part": ["run", "run.toml", "--part", "1/2", "--out", "DIR"],
    "merge": ["merge", "DIR", "OTHER"],
    "ask": ["ask", "DIR", "session.toml", "--n", "9"],
}
TEMPORARY = (".tmp", ".lock")


class Dying:
    """A server of lives, and a pipe for what they say, which no limit on files stops."""

    def __init__(self, workshop: Workshop):
        self.lives = Lives(PROGRAM)
        self.pipe = workshop.root / "said"
        os.mkfifo(self.pipe)
        self.reading = os.open(self.pipe, os.O_RDWR | os.O_NONBLOCK)
        self.seconds: dict[str, float] = {}

    def live(self, *arguments: object, kill_after: float = 100) -> Said | None:
        """Start a life and wait for its end, or kill it; what it said, or None where it was killed."""
        self.lives.begin(*arguments)
        if not select.select([self.lives._server.stdout], [], [], kill_after)[0]:
            status = self.lives.end(9)
            said = self._said()
            return None if status == -9 else Said(status, "", said)
        status = self.lives._code()
        return Said(status, "", self._said())

    def _said(self) -> str:
        with contextlib.suppress(BlockingIOError):
            return os.read(self.reading, 2**20).decode("utf-8", "replace")
        return ""


def dying(workshop: Workshop) -> Dying:
    """The server of this workshop, started when it is needed first."""
    if "dying" not in workshop.__dict__:
        workshop.__dict__["dying"] = Dying(workshop)
        workshop.closing.append(lambda: workshop.__dict__["dying"].lives.__exit__())
    return workshop.__dict__["dying"]


def _prepared(workshop: Workshop, name: str) -> tuple[Path, list[str], Path]:
    """The directory that a command is called for, its words, and the directory that must result."""
    clean = {"merge": "merged", "part": "parts", "ask": "session", "tell": "session"}.get(name, name)
    for each in ("parts", clean):
        getattr(workshop, each)
    scratch = workshop.scratch()
    path = scratch / "d"
    if name == "merge":
        shutil.copytree(workshop.parts / "0", path)
        shutil.copytree(workshop.parts / "1", scratch / "other")
    if name == "tell":
        workshop.copy("session", path)
    words = [str(path) if w == "DIR" else str(scratch / "other") if w == "OTHER" else w for w in COMMANDS[name]]
    wanted = _wanted(workshop, name)
    return path, words, wanted


def _wanted(workshop: Workshop, name: str) -> Path:
    """What the command leaves if nothing disturbs it."""
    if name in ("ask", "tell"):
        path = workshop.root / f"undisturbed-{name}"
        if not path.exists():
            if name == "tell":
                shutil.copytree(workshop.session, path)
            call(*[str(path) if word == "DIR" else word for word in COMMANDS[name]], cwd=workshop.specs)
        return path
    if name == "part":
        return workshop.parts / "1"
    return {"merge": workshop.merged}.get(name) or getattr(workshop, name)


def _finished(name: str, path: Path, wanted: Path) -> None:
    """The directory is the one that must result."""
    if left := [each for each in files_of(path) if each.endswith(TEMPORARY)]:
        raise Failure(f"{', '.join(left)} left behind")
    if name in ("run", "merge"):
        try:
            compare(wanted, path)
        except AssertionError as error:
            raise Failure(f"other bytes: {error}") from None
        return
    names = {
        "part": [each for each in files_of(wanted) if each.endswith(".npz")],
        "tune": ["summary.json", "table.npz", "history.npz"],
        "audit": [each for each in files_of(wanted) if each.endswith(".npz")],
        "ask": ["log.jsonl"],
        "tell": ["log.jsonl"],
    }[name]
    for each in names:
        if not (path / each).exists() or _bytes(path / each) != _bytes(wanted / each):
            raise Failure(f"other bytes in {each}")


def _bytes(path: Path) -> Any:
    """The bytes of a file; of arrays those that tell of no life, as its seconds do."""
    if path.suffix != ".npz":
        return path.read_bytes()
    with np.load(path, allow_pickle=False) as arrays:
        return {name: array.tobytes() for name, array in arrays.items() if array.dtype != np.uint8 and array.ndim}


def _again(what: str, name: str, path: Path, words: list[str], wanted: Path, workshop: Workshop) -> None:
    said = call(*words, cwd=workshop.specs)
    if said.status:
        raise Failure(f"{what}: the same command is refused: {said.err}")
    try:
        _finished(name, path, wanted)
    except Failure as failure:
        raise Failure(f"{what}: {failure}") from None


def killed(workshop: Workshop, number: int, chance: random.Random) -> str:
    """SIGKILL at random instants, then the same command."""
    name = list(COMMANDS)[number % len(COMMANDS)]
    path, words, wanted = _prepared(workshop, name)
    server = dying(workshop)
    arguments = ("command", workshop.specs, server.pipe, 0, json.dumps(words))
    if name not in server.seconds:
        begun = time.monotonic()
        said = server.live(*arguments)
        assert said is not None
        checked(" ".join(words), said)
        server.seconds[name] = time.monotonic() - begun
        path, words, wanted = _prepared(workshop, name)
        arguments = (*arguments[:-1], json.dumps(words))
    for count in range(1, chance.randint(2, 3)):
        after = server.seconds[name] * chance.uniform(0.2, 1.1)
        if (said := server.live(*arguments, kill_after=after)) is not None:
            checked(" ".join(words), said)
            break
        what = f"{name} killed {count} times, the last after {after:.2f} s"
    else:
        _again(what, name, path, words, wanted, workshop)
        return HARMLESS
    _again(name, name, path, words, wanted, workshop)
    return HARMLESS


def full(workshop: Workshop, number: int, chance: random.Random) -> str:
    """No file may be larger than a random limit, then the same command without the limit."""
    name = list(COMMANDS)[number % len(COMMANDS)]
    path, words, wanted = _prepared(workshop, name)
    server = dying(workshop)
    sizes = [(wanted / each).stat().st_size for each in files_of(wanted)]
    limit = max(1, round(chance.choice(sizes) * chance.uniform(0, 1.2)))
    what = f"{name} with files of at most {limit} bytes"
    said = server.live("command", workshop.specs, server.pipe, limit, json.dumps(words))
    assert said is not None
    checked(what, said)
    if name == "tell" and said.status == 0 and (path / "log.jsonl").read_bytes() != (wanted / "log.jsonl").read_bytes():
        raise Failure(f"{what}: told, but not in the log")
    _again(what, name, path, words, wanted, workshop)
    return REFUSED if said.status else HARMLESS


TOLD = 60


def processes(workshop: Workshop, number: int, chance: random.Random) -> str:
    """Four processes, some of them killed, report rewards to one directory of a session."""
    path, acknowledged = workshop.scratch() / "d", workshop.root / "acknowledged"
    acknowledged.write_text("")
    seed = chance.randrange(10**6)
    server = dying(workshop)
    kills = chance.randint(0, 3)
    said = server.live("processes", workshop.specs, server.pipe, path, TOLD, acknowledged, seed, kills)
    assert said is not None
    what = f"4 processes, {kills} of them killed"
    if said.status:
        raise Failure(f"{what}: {said.err[-300:]}")
    told = {int(line) for line in acknowledged.read_text().split()}
    return _in_order(what, path, told)


def reward(number: int, arm: int) -> float:
    """The reward of a pull, which every process and thread knows."""
    return 0.5 + 0.01 * ((number * 7919 + 31 * arm) % 101) / 101


@functools.cache
def _rule() -> Any:
    return jb.algorithms.paired_race(3, delta=0.05, epsilon=1e-6)


def _in_order(what: str, path: Path, told: set[int]) -> str:
    """The directory opens, holds every reward that was acknowledged, and decides as one that was told in order."""
    rule = _rule()
    with jb.session_directory(path, rule, seed=5) as store:
        there = store.session
    s = jb.session(rule, seed=5)
    arms: dict[int, int] = {}
    while len(told - set(arms)) or s.num_told < there.num_told:
        s, pulls = jb.ask(s)
        if not len(pulls.id):
            break
        ids = [int(i) for i in pulls.id if int(i) not in _missing(there)]
        known = dict(zip(pulls.id.tolist(), pulls.arm.tolist(), strict=True))
        arms |= {i: known[i] for i in ids}
        if not ids:
            break
        s = jb.tell(s, ids, [reward(i, known[i]) for i in ids])
    if lost := sorted(told & set(_missing(there))) or sorted(i for i in told if i not in arms):
        raise Failure(f"{what}: the rewards of {lost[:5]} are lost")
    if there.num_told != s.num_told or (there.counts != s.counts).any():
        raise Failure(f"{what}: {there.num_told} rewards, {s.num_told} in order")
    one, other = (json.loads(logs.numbers(each))[0] for each in (there, s))
    if one != other:
        raise Failure(f"{what}: another certificate than of rewards told in order")
    return HARMLESS


def _missing(there: Any) -> set[int]:
    """Pulls of a session that have no reward: those pending, and all from the next id on."""
    return set(there.pending.tolist()) | set(range(there.num_told + len(there.pending), there.num_told + 10**3))


def threads(workshop: Workshop, number: int, chance: random.Random) -> str:
    """Eight threads share one SessionDirectory: ask, tell one pull each, withdraw, in any order."""
    import threading

    path, told = workshop.scratch() / "d", set()
    errors: list[str] = []
    seeds = [chance.randrange(10**9) for _ in range(8)]
    with jb.session_directory(path, _rule(), seed=5) as store:

        def work(seed: int) -> None:
            own = random.Random(seed)
            try:
                while store.session.num_told < TOLD:
                    pulls = store.ask()
                    i = own.randrange(len(pulls.id))
                    store.tell([int(pulls.id[i])], [reward(int(pulls.id[i]), int(pulls.arm[i]))])
                    told.add(int(pulls.id[i]))
            except Exception as error:
                errors.append(f"{type(error).__name__}: {error}")

        workers = [threading.Thread(target=work, args=(seed,), daemon=True) for seed in seeds]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(60)
        alive = sum(worker.is_alive() for worker in workers)
        inside = store.session
    if errors or alive:
        raise Failure(f"8 threads: {alive} hang, {len(errors)} end with an error: {(errors or [''])[0]}")
    try:
        outcome = _in_order("8 threads", path, told)
        with jb.session_directory(path, _rule(), seed=5) as store:
            if store.session.num_told != inside.num_told:
                raise Failure(f"8 threads: memory has {inside.num_told} rewards, the log {store.session.num_told}")
    except ValueError as error:
        raise Failure(f"8 threads: the directory cannot be opened again: {error}") from None
    return outcome
