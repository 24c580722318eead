"""`jaxbandit bench [REV_A] [REV_B]` measures two revisions of the library in alternation.

By default these are the last commit and the working tree. Each revision runs in a process of its own, whose import path
begins with the tree of that revision; both use the environment of the parent, and thus the same JAX. The order of
rounds is A B, B A, A B, ..., so that drift of the machine affects both, and a ratio is taken within a round. There are
several pairs of processes, since two processes of one program differ too. Seconds are those of a whole warm call
without compilation. The cases are those of `revision_cases.cases`; one that a revision cannot play is left out and
named.

A verdict is based on an interval. It spans the medians of the pairs of processes and the order statistics that contain
the median of all ratios with 95 % confidence. "slower" means that the whole interval is above the limit, "faster" that
it is below the inverse, and "same" that it is between the two. Otherwise the verdict is "undecided", and more rounds or
processes may decide. "other numbers" means that rounding or random draws differ, and the times can still be compared.
"other work" means that the numbers or the steps differ by more than 2 %, so that the times cannot be compared.

Exit status: 0 no case is slower; 4 one is slower or did other work; 2 bad input; 1 a revision failed to run.
"""

import argparse
import contextlib
import io
import json
import math
import os
import statistics
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from benchmarks.revision_cases import cases

CHILD = Path(__file__).with_name("revision_cases.py")
REPOSITORY = CHILD.parents[1]
DONE, FAILED, BAD_INPUT, INTERRUPTED, REGRESSION = range(5)
CONFIDENCE, LIMIT = 0.95, 1.05
SLOWER, OTHER_WORK = "slower", "other work"
CLOSE = 0.02  # relative difference of results up to which two revisions did the same work


class Failed(Exception):
    """Two revisions could not be measured; the message is one line with the reason."""


class Unknown(Failed):
    """There is no such revision."""


class Process:
    """One revision at work."""

    def __init__(self, tree: Path, quick: bool, errors: IO[str]):
        self._errors = errors
        command = [sys.executable, "-P", str(CHILD), *(["--quick"] if quick else [])]
        self._process = subprocess.Popen(
            command,
            cwd=tree,
            env=os.environ | {"PYTHONPATH": str(tree)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
        self.about = self._answer()
        if not Path(self.about["jaxbandit"]).is_relative_to(tree.resolve()):
            self.close()
            raise Failed(f"revisions: {self.about['jaxbandit']} was imported, must be the package in {tree}")

    def time(self, case: str) -> dict[str, Any]:
        """Return the seconds, steps and work of one call, or why this revision has no such case."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # the answer will be missing
            self._process.stdin.write(case + "\n")
            self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self.close()
            self._errors.seek(0)
            said = self._errors.read().strip().splitlines() or ["it said nothing"]
            raise Failed(f"revisions: a process ended with status {self._process.returncode}: {said[-1]}")
        return json.loads(line)

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.communicate()


@contextlib.contextmanager
def tree_of(revision: str, repository: Path = REPOSITORY) -> Iterator[tuple[Path, str]]:
    """Yield the directory that holds the package as it was at a git revision, and the commit's hash.

    A directory stands for its contents: `.` is the working tree.
    """
    if Path(revision).is_dir():
        yield Path(revision).resolve(), "a directory"
        return
    with tempfile.TemporaryDirectory(prefix="jaxbandit-") as place:
        commit = (
            _git(repository, "rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}").decode().strip()
        )
        with tarfile.open(
            fileobj=io.BytesIO(_git(repository, "archive", "--format=tar", commit, "jaxbandit"))
        ) as archive:
            archive.extractall(place, filter="data")
        yield Path(place).resolve(), commit


def _git(repository: Path, *arguments: str) -> bytes:
    try:
        return subprocess.run(["git", "-C", str(repository), *arguments], check=True, capture_output=True).stdout
    except subprocess.CalledProcessError as error:
        said = error.stderr.decode(errors="replace").strip().splitlines() or ["no reason given"]
        raise Unknown(f"revisions: git {arguments[0]} {arguments[-1]}: {said[-1]}") from None
    except OSError as error:
        raise Failed(f"revisions: git: {error.strerror}") from None


def measure(
    revisions: Sequence[str],
    names: Sequence[str],
    *,
    processes: int,
    rounds: int,
    limit: float = LIMIT,
    quick: bool = False,
) -> dict[str, Any]:
    """Return `revisions` (what each is), `rows` (what was measured, one for each case) and `left_out` (case, reason).

    Args:
      revisions: two git revisions or directories.
      names: cases, of `revision_cases.cases`.
      processes: pairs of processes, >= 1.
      rounds: timed calls of each case in each process, >= 1.
      limit: ratio beyond which a case is slower, > 1.
      quick: only check that the cases run; too little is played for a measurement.
    """
    samples: dict[str, list[list[list[dict[str, Any]]]]] = {name: [] for name in names}
    left_out: dict[str, str] = {}
    with contextlib.ExitStack() as trees:
        found = [trees.enter_context(tree_of(revision)) for revision in revisions]
        versions: list[str] = []
        for pair in range(processes):
            with contextlib.ExitStack() as stack:
                players = []
                for tree, _ in found:
                    errors = stack.enter_context(tempfile.TemporaryFile("w+"))
                    players.append(Process(tree, quick, errors))
                    stack.callback(players[-1].close)
                versions = [player.about["version"] for player in players]
                for name in (name for name in names if name not in left_out):
                    first = [player.time(name) for player in players]  # compiles
                    missing = [
                        f"{ab}: {found['missing']}" for ab, found in zip("AB", first, strict=True) if "missing" in found
                    ]
                    if missing:
                        left_out[name] = "; ".join(missing)
                        continue
                    played = [_round(players, name, swap=i % 2 == 1) for i in range(rounds)]
                    samples[name].append([first, *played])
                    print(f"{name}: pair {pair + 1} of {processes}", file=sys.stderr)
    about = [
        {"revision": revision, "commit": commit, "version": version}
        for revision, (_, commit), version in zip(revisions, found, versions, strict=True)
    ]
    rows = [row(name, pairs, limit) for name, pairs in samples.items() if name not in left_out]
    return {"revisions": about, "rows": rows, "left_out": left_out}


def _round(players: Sequence[Process], name: str, swap: bool) -> list[dict[str, Any]]:
    if not swap:
        return [player.time(name) for player in players]
    return [player.time(name) for player in reversed(players)][::-1]


def row(name: str, pairs: Sequence[Sequence[Sequence[dict[str, Any]]]], limit: float = LIMIT) -> dict[str, Any]:
    """Return the row of one case from its calls: `pairs[process][round][revision]`, of which round 0 compiled."""
    timed = [played for pair in pairs for played in pair[1:]]
    ratios = [b["seconds"] / a["seconds"] for a, b in timed]
    processes = [statistics.median(b["seconds"] / a["seconds"] for a, b in pair[1:]) for pair in pairs]
    quartiles = statistics.quantiles(ratios, n=4, method="inclusive") if len(ratios) > 1 else ratios * 3
    low, high = of_median(ratios)
    interval = [min(low, *processes), max(high, *processes)]
    steps, work = ([sorted({x[i][key] for x in timed}) for i in (0, 1)] for key in ("steps", "work"))
    same_work = steps[0] == steps[1] and work[0] == work[1] and len(work[0]) == 1
    return {
        "case": name,
        "steps": steps,
        "work": work,
        "ns_per_run_step": [statistics.median(x[i]["seconds"] / x[i]["steps"] for x in timed) * 1e9 for i in (0, 1)],
        "first_call_seconds": [statistics.median(pair[0][i]["seconds"] for pair in pairs) for i in (0, 1)],
        "ratio": statistics.median(ratios),
        "ratio_quartiles": [quartiles[0], quartiles[2]],
        "ratio_of_processes": [min(processes), max(processes)],
        "ratio_interval": interval,
        "ratios": ratios,
        "same_work": same_work,
        "verdict": verdict(interval, limit) if _close(work) and _close(steps) else OTHER_WORK,
    }


def _close(found: Sequence[Sequence[float]]) -> bool:
    low, high = min(map(min, found)), max(map(max, found))
    return high - low <= CLOSE * max(abs(low), abs(high))


def of_median(values: Sequence[float]) -> tuple[float, float]:
    """Return the order statistics that contain the median with CONFIDENCE for any law; of few values the extremes."""
    number, below, chance = len(values), 0, 0.0
    while below < number // 2:
        chance += math.comb(number, below) / 2**number
        if chance > (1 - CONFIDENCE) / 2:
            break
        below += 1
    ordered = sorted(values)
    place = max(below - 1, 0)
    return ordered[place], ordered[number - 1 - place]


def verdict(interval: Sequence[float], limit: float) -> str:
    """Return the verdict of an interval of the ratio B / A."""
    low, high = interval
    if low > limit:
        return SLOWER
    if high < 1 / limit:
        return "faster"
    return "same" if 1 / limit <= low and high <= limit else "undecided"


def table(result: dict[str, Any]) -> str:
    """Return the result as text."""
    lines = [
        f"{letter}: {about['revision']} ({about['commit']}), version {about['version']}"
        for letter, about in zip("AB", result["revisions"], strict=True)
    ]
    head = f"{'case':24s}{'A ns/step':>11s}{'B ns/step':>11s}{'B / A':>7s}{'quartiles':>15s}{'interval':>15s}"
    lines += ["", f"{head}{'first call s':>14s}  verdict"]
    for found in result["rows"]:
        a, b = found["ns_per_run_step"]
        spreads = [f"{low:.2f} to {high:.2f}" for low, high in (found["ratio_quartiles"], found["ratio_interval"])]
        first = "{:.1f}, {:.1f}".format(*found["first_call_seconds"])
        other = "" if found["same_work"] or found["verdict"] == OTHER_WORK else ", other numbers"
        lines.append(
            f"{found['case']:24s}{a:11.2f}{b:11.2f}{found['ratio']:7.3f}{spreads[0]:>15s}{spreads[1]:>15s}"
            f"{first:>14s}  {found['verdict']}{other}"
        )
    return "\n".join(lines + [f"{name}: left out, {why}" for name, why in result["left_out"].items()])


def main(argv: Sequence[str]) -> int:
    """Measure what `argv` names, print a table or JSON, and return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks revisions",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    about = "git revision, or a directory that holds jaxbandit (default: HEAD and the directory of the repository)"
    parser.add_argument("revision", nargs="*", metavar="REV", help=about)
    parser.add_argument("--processes", type=int, default=3, help="pairs of processes (default: 3)")
    parser.add_argument("--rounds", type=int, default=5, help="timed calls in each process (default: 5)")
    parser.add_argument("--limit", type=float, default=LIMIT, help=f"ratio that is slower (default: {LIMIT})")
    parser.add_argument("--only", default="", metavar="TEXT", help="only cases whose name contains this")
    parser.add_argument("--quick", action="store_true", help="only check that the cases run; nothing is measured")
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of the table")
    asked = parser.parse_args(argv)
    names = [name for name in cases(asked.quick) if asked.only in name]
    if len(asked.revision) > 2:
        parser.error(f"revisions = {' '.join(asked.revision)}, must be two at most")
    if not names:
        parser.error(f"only = {asked.only!r}, must be part of one of: {'; '.join(cases(asked.quick))}")
    if min(asked.processes, asked.rounds) < 1:
        parser.error(f"processes = {asked.processes}, rounds = {asked.rounds}, must be 1 or more")
    if not 1 < asked.limit < math.inf:
        parser.error(f"limit = {asked.limit}, must be above 1")
    both = [*asked.revision, *["HEAD", str(REPOSITORY)][len(asked.revision) :]]
    played = {"processes": asked.processes, "rounds": asked.rounds, "limit": asked.limit, "quick": asked.quick}
    try:
        result = measure(both, names, **played)
    except Failed as error:
        print(error, file=sys.stderr)
        return BAD_INPUT if isinstance(error, Unknown) else FAILED
    except KeyboardInterrupt:
        print("revisions: interrupted, nothing is kept", file=sys.stderr)
        return INTERRUPTED
    print(json.dumps(result) if asked.json else table(result))
    return REGRESSION if any(row["verdict"] in (SLOWER, OTHER_WORK) for row in result["rows"]) else DONE
