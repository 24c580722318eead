"""Mutated specifications, JSON files and arguments: refused in one line, or the command does what it is asked to."""

import functools
import json
import random
import tomllib
from typing import Any

import tomli_w

from . import damage
from .outcomes import HARMLESS, Failure, call
from .workshop import SPECS, Workshop

# The commands that read each specification, without playing it for long.
READ_BY = {
    "run.toml": ["run", "SPEC", "--dry-run"],
    "identify.toml": ["run", "SPEC", "--dry-run"],
    "audit.toml": ["audit", "SPEC", "--out", "audited", "--runs", "200", "--seconds", "1"],
    "session.toml": ["ask", "asked", "SPEC", "--no-cache"],
    "tune.toml": ["tune", "train_module:train", "SPEC", "--out", "tuned", "--json"],
}
LONG = ("runs", "horizon", "max_rounds", "budget", "checkpoints", "batch", "n")  # what a large value makes slow
LINES = ["key = 1", "[table]", "[[algorithm]]", "[[instance]]", 'type = "', "= 3", "x", "\ufeff", "\x00", "a.b.c = {}"]


def specification(workshop: Workshop, number: int, chance: random.Random) -> str:
    """TOML with another value, key, line, byte or encoding."""
    name = chance.choice(list(READ_BY))
    data, what = _toml(SPECS[name], chance)
    scratch = workshop.scratch()
    for inner in ("configs.csv", "train_module.py"):
        (scratch / inner).write_text(SPECS[inner])
    (scratch / "spec.toml").write_bytes(data)
    argv = [word.replace("SPEC", "spec.toml") for word in READ_BY[name]]
    try:
        said = call(*argv, cwd=scratch)
        left = [path.name for path in scratch.iterdir() if path.is_dir() and path.name != "__pycache__"]
        if said.status == 2 and left:
            raise Failure(f"refused, but it leaves {', '.join(left)}")
    except Failure as failure:
        raise Failure(f"{name}: {what}: {failure}") from None
    return said.outcome


def _toml(text: str, chance: random.Random) -> tuple[bytes, str]:
    kind = chance.choice(["tree"] * 8 + ["bytes", "line", "line", "encoding", "deep", "mark"])
    if kind == "tree":
        tree, what = damage.tree_damaged(tomllib.loads(text), chance)
        try:
            # What would be played for long is refused or not before it is played, as `--dry-run` shows.
            return tomli_w.dumps(_bounded(tree)).encode("utf-8", "surrogatepass"), what
        except (TypeError, AttributeError, ValueError):  # TOML has no null
            return b"= " + repr(tree).encode("utf-8", "backslashreplace"), what
    data = text.encode()
    if kind == "bytes":
        return damage.bytes_damaged(data, chance)
    if kind == "line":
        lines = text.splitlines()
        place, line = chance.randrange(len(lines)), chance.choice([*LINES, chance.choice(lines)])
        lines.insert(place, line)
        return "\n".join(lines).encode(), f"{line!r} in line {place + 1}"
    if kind == "encoding":
        encoding = chance.choice(["utf-16", "utf-8-sig", "latin1"])
        return text.replace("plain", "plän").encode(encoding), f"in {encoding}"
    if kind == "deep":
        return f"a = {'[' * 100_000}".encode(), "100,000 brackets"
    return b"\xef\xbb\xbf" + data, "a byte order mark"


def _bounded(tree: Any) -> Any:
    """The same without large numbers where they would only take long."""
    if isinstance(tree, dict):
        return {
            key: 20 if key in LONG and isinstance(value, int | float) and value > 2000 else _bounded(value)
            for key, value in tree.items()
        }
    return [_bounded(value) for value in tree] if isinstance(tree, list) else tree


# JSON files by directory, and the commands that read them.
JSON = {
    "run": ["summary.json", "provenance.json", "cell-000.json"],
    "identify": ["summary.json", "provenance.json", "cell-000.json"],
    "parts": ["0/provenance.json"],
    "audit": ["audit.json", "provenance.json"],
    "tune": ["summary.json", "result.json", "scores.json"],
    "session": ["session.json"],
    "log": ["session.json", "certificate.json"],
}
READING: dict[str, list[list[str]]] = {
    "run": [["report", "DIR"], ["compare", "DIR", "CLEAN"], ["plot", "DIR"], ["run", "run.toml", "--out", "DIR"]],
    "identify": [["report", "DIR"], ["compare", "DIR", "CLEAN"], ["run", "identify.toml", "--out", "DIR"]],
    "parts": [["merge", "DIR/0", "DIR/1"]],
    "audit": [["report", "DIR"], ["audit", "audit.toml", "--out", "DIR", "--runs", "400"]],
    "tune": [["report", "DIR"], ["tune", "train_module:train", "tune.toml", "--out", "DIR", "--json"]],
    "session": [["status", "DIR", "--json"], ["tell", "DIR", "15=0.5"], ["ask", "DIR"], ["report", "DIR"]],
    "log": [["report", "DIR"], ["status", "DIR"], ["ask", "DIR"]],
}


def json_file(workshop: Workshop, number: int, chance: random.Random) -> str:
    """JSON of a directory with another value, key or byte, read by the commands that read it."""
    from . import logs

    name = chance.choice(list(JSON))
    source = logs.clean(workshop.root) if name == "log" else getattr(workshop, name)
    workshop.__dict__.setdefault("log", source) if name == "log" else None
    path = workshop.copy(name)
    file = chance.choice(JSON[name])
    data, what = damage.json_damaged((path / file).read_bytes(), chance)
    (path / file).write_bytes(data)
    outcome = HARMLESS
    try:
        for argv in chance.sample(READING[name], min(2, len(READING[name]))):
            words = [word.replace("DIR", str(path)).replace("CLEAN", str(source)) for word in argv]
            said = call(*words, cwd=workshop.specs)
            outcome = said.outcome if said.status else outcome
    except Failure as failure:
        raise Failure(f"{name}/{file}: {what}: {failure}") from None
    return outcome


SCORES = {"15": 0.5, "16": 0.25}


def scores(workshop: Workshop, number: int, chance: random.Random) -> str:
    """A file of scores with odd ids or rewards: told as it says, or refused whole."""
    path = workshop.copy("session")
    before = (path / "log.jsonl").read_bytes()
    data: Any = SCORES if chance.random() < 0.5 else [{"id": int(i), "reward": r} for i, r in SCORES.items()]
    content, what = damage.json_damaged(json.dumps(data).encode(), chance)
    file = path.parent / "scores.json"
    file.write_bytes(content)
    said = call("tell", path, file, cwd=path.parent)
    after = (path / "log.jsonl").read_bytes()
    if said.status == 2 and after != before:
        raise Failure(f"scores: {what}: refused, but the log has changed")
    if said.status == 0 and call("status", path, cwd=path.parent).status:
        raise Failure(f"scores: {what}: told, but the session cannot be opened again")
    return said.outcome


WORDS = """
- -- -1 0 1 1.5 -0.0 nan inf -inf 1e400 9223372036854775808 0x10 1_000 true None x x=y = .. /dev/null /dev/full
/proc/self/mem / ~ os:system processes:0 processes:x slurm:x dusk 3/2 -1/2 1/0 0/9999999999999999999999 runs=
runs=[ =1 algorithm.9.c=1 name='' absent/it/u run/it/u?c=1 1=0.5 1= =0.5 99999999999999999999=1 1=1e400
""".split()
WORDS += ["", " ", "9" * 400, "a" * 5000, "ü" * 200, "\u202e", "\udcff", "a\nb", "\x1b[31m"]
# Commands that would work for long or reach out, with what they are always given, so that they do not.
FIRST = {
    "run": ["run.toml", "--dry-run"],
    "audit": ["audit.toml", "--seconds", "1"],
    "reproduce": ["nothing"],
    "bench": ["nothing-such"],
    "tune": ["train_module:train", "absent.toml"],
    "ask": ["session"],
    "tell": ["session", "99=1"],
    "status": ["session"],
    "report": ["run"],
    "plot": ["session"],
    "compare": ["run", "run"],
    "merge": ["absent"],
    "new": ["new/../absent/x.toml"],
    "show": ["ucb1"],
}


@functools.cache
def options() -> dict[str, list[str]]:
    """The options of each command, from its fields."""
    import dataclasses

    from jaxbandit.lab.cli.commands import COMMANDS

    return {
        name: [f"--{field.name.replace('_', '-')}" for field in dataclasses.fields(command)]
        for name, command in COMMANDS.items()
    }


def arguments(workshop: Workshop, number: int, chance: random.Random) -> str:
    """Options with odd values, in odd places, twice or unfinished."""
    for name in ("run", "session", "tune"):
        getattr(workshop, name)
    scratch = workshop.scratch()
    for name, text in SPECS.items():
        (scratch / name).write_text(text)
    for name in ("run", "session", "tune"):
        workshop.copy(name, scratch / name)
    commands = options()
    command = list(commands)[number % len(commands)]
    argv = [*FIRST.get(command, [])]
    for _ in range(chance.randint(1, 3)):
        option, word = chance.choice(commands[command]), chance.choice(WORDS)
        new = chance.choice([[option, word], [option, word], [f"{option}={word}"], [option], [word], [option, option]])
        if not {"--out", "--executor", "--data"} & set(new) or word not in ("/", "~", ".."):
            place = chance.randint(0, len(argv))
            argv[place:place] = new
    return call(command, *argv, cwd=scratch).outcome
