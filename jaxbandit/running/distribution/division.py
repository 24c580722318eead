"""Division of cells into tasks for an executor, and joining of the parts that its workers return.

A first task of each cell measures how long its runs take. Parts on the disk are always complete, whichever process
wrote them.
"""

import contextlib
import itertools
import math
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from jaxbandit.base.contract import Outcome
from jaxbandit.engine.driver import interrupts, parts
from jaxbandit.engine.driver.execution import Execution, Progress
from jaxbandit.engine.driver.parts import Part
from jaxbandit.engine.driver.records import RUNS, STOPPED_RUNS, Identified, Record
from jaxbandit.engine.rounds.metrics import included, is_curve
from jaxbandit.engine.rounds.moments import Moments
from jaxbandit.engine.rounds.states import is_per_run
from jaxbandit.engine.storage import files as storage
from jaxbandit.running.distribution import driving, executors, tasks
from jaxbandit.running.distribution.executors import Crew
from jaxbandit.running.results.base import Result
from jaxbandit.support.refusals import BadInput, Unfinished, error_line, refuse

FOLDER = "parts"  # in the directory of results
FIRST_SHARE = 12  # the task that measures how long runs take has about 1/12 of that time
EACH = 4  # least number of tasks per worker if there are enough runs, so that all workers end at about the same time
SHORTEST = 1.0  # seconds; shorter tasks would be dominated by their overhead

NUMBERS = itertools.count()  # numbers all tasks of this process, so that no answer is taken for that to another task

Range = tuple[int, int]
Piece = tuple["Share", int, int, float | None]  # first run, last run + 1, seconds of a task that measures durations
Play = Callable[[Mapping[str, Any]], dict[str, Any]]  # a function that workers can import, as `tasks.play`


class Share:
    """Runs [first, end) of one cell: the parts that exist and the runs that are left."""

    def __init__(self, what: str, play: Play, task: Mapping[str, Any], first: int, end: int, folder: Path | None):
        self.what, self.play, self.task = what, play, dict(task)
        self.first, self.end, self.folder = first, end, folder
        self.have: list[Part | Range] = []  # a part in the folder is represented by its range of runs
        self.lost: list[Range] = []
        self.rate = math.nan  # runs per second on one worker
        for a, b in found(folder):
            if a >= max([first, *(self._range(x)[1] for x in self.have)]) and b <= end:
                self.have.append((a, b))

    @staticmethod
    def _range(part: Part | Range) -> Range:
        return (part.first_run, part.end) if isinstance(part, Part) else part

    def left(self) -> list[Range]:
        """Return the ranges of runs that no part contains, without those that were given up."""
        ranges, at, some = sorted([*map(self._range, self.have), *self.lost]), self.first, []
        for a, b in [*ranges, (self.end, self.end)]:
            if at < a:
                some.append((at, a))
            at = max(at, b)
        return some

    def add(self, piece: Mapping[str, Any], host: str) -> None:
        """Add a part that a worker has played; a part that was sent back is written to the folder."""
        first, end = piece["first_run"], piece["first_run"] + piece["num_runs"]
        data = piece.get("data")
        if self.folder is None:
            self.have.append(decoded(data or b"", f"{self.what}, {host}", first, end))
            return
        path = self.folder / tasks.file_name(first, end)
        if data is not None:
            decoded(data, f"{self.what}, {host}", first, end)  # damaged data are not stored
            storage.write_bytes(path, data)
        elif not path.exists():
            raise BadInput(
                f"{path}: {host} has written this file, but it is not visible here, so the directory is not shared; "
                "use --send-back"
            )
        self.have.append((first, end))

    def parts(self) -> list[Part]:
        """Return the parts in the order of their runs."""
        return parts.in_order([x if isinstance(x, Part) else read(self.folder, *x) for x in self.have], self.what)


def found(folder: Path | None) -> list[Range]:
    """Return the sorted ranges of runs of the parts in a folder."""
    if folder is None:
        return []
    names = [path.stem.split("-")[1:] for path in folder.glob("runs-*-*.npz")]
    return sorted((int(a), int(b)) for a, b in names)


def read(folder: Path | None, first: int, end: int) -> Part:
    """Return the part with these runs from a folder; raise BadInput if it is damaged."""
    path = (folder or Path()) / tasks.file_name(first, end)
    return decoded(storage.read_bytes(path), str(path), first, end)


def decoded(data: bytes, where: str, first: int, end: int) -> Part:
    """Return the part with these runs from its bytes; raise BadInput if it is damaged or of other runs."""
    try:
        part = parts.decoded(data, where)
    except ValueError as error:
        raise BadInput(str(error)) from None
    if (part.first_run, part.end) != (first, end):
        raise BadInput(
            f"{where}: holds runs {part.first_run} to {part.end - 1}, which are not those in its name; delete it"
        )
    return part


def divide(shares: Sequence[Share], execution: Execution, crew: Crew) -> None:
    """Play the remaining runs of all shares on the executor of `execution`.

    Whatever is raised, finished tasks are kept: BadInput if a task cannot be played; Unfinished if one was given up
    because its workers died repeatedly, or the executor has failed; KeyboardInterrupt.
    """
    for share in shares:
        share.task["folder"] = None if share.folder is None or execution.send_back else str(share.folder.absolute())
        share.task["execution"] = {"workers": crew.threads, "width": execution.width, "chunk": execution.chunk}
    with interrupts.heard(lambda: None):
        if execution.runs_per_task is None:
            first = [(s, *gaps[0], execution.seconds_per_task / FIRST_SHARE) for s in shares if (gaps := s.left())]
            _play(first, execution)
        left, losses = None, 0
        while pieces := _pieces(shares, execution, crew):  # more than once if the executor loses answers
            _play(pieces, execution)
            before, left = left, sum(b - a for share in shares for a, b in share.left())
            losses = losses + 1 if left == before else 0
            if losses == driving.DEATHS:
                share, *runs = pieces[0][:3]
                raise Unfinished(f"{_at(share, *runs)}: the executor returned no result; {_stored(share)}")
    gone = [_at(s, *runs) for s in shares for runs in s.lost]
    if gone:
        lost = "; ".join(gone[:3]) + (f" and {len(gone) - 3} more" if len(gone) > 3 else "")
        many = ("a task", "was") if len(gone) == 1 else (f"{len(gone)} tasks", "were")
        raise Unfinished(
            f"{lost}: {many[0]} killed {driving.DEATHS} workers and {many[1]} given up; the rest is finished and kept; "
            "run the same command to try again"
        )


def divided(share: Share, execution: Execution) -> Record | Identified:
    """Return the record of one share, played on an executor, and delete the folder of its parts."""
    divide([share], execution, executors.crew_of(execution.executor, execution.workers))
    record = record_of(share.parts())
    if share.folder is not None:
        shutil.rmtree(share.folder, ignore_errors=True)
    return record


def _pieces(shares: Sequence[Share], execution: Execution, crew: Crew) -> list[Piece]:
    """Return the remaining tasks, those of the largest cells first."""
    weights = [sum(b - a for a, b in share.left()) / share.rate for share in shares]
    total = sum(weight for weight in weights if math.isfinite(weight))
    target = execution.seconds_per_task
    seconds = max(min(target, total / (EACH * (crew.workers or 1))), min(SHORTEST, target))
    pieces = []
    for weight, share in zip(weights, shares, strict=True):
        known = math.isfinite(share.rate)
        size = execution.runs_per_task or max(int(share.rate * seconds) if known else 0, tasks.LEAST)
        for a, b in share.left():
            if execution.runs_per_task is None:  # divided evenly, with at least `size` runs where there are so many
                number = max((b - a) // size, 1)
                edges = [a + (b - a) * i // number for i in range(number + 1)]
            else:
                edges = [*range(a, b, size), b]
            pieces += [(weight if known else 0.0, (share, *ends, None)) for ends in itertools.pairwise(edges)]
    return [piece for _, piece in sorted(pieces, key=lambda item: -item[0])]


def _play(some: Sequence[Piece], execution: Execution) -> None:
    owners: dict[int, Share] = {}  # of the submitted tasks, by number
    answered: set[int] = set()

    def calls() -> Iterator[tuple]:
        for share, first, end, until in some:
            number = next(NUMBERS)
            owners[number] = share
            task = {"number": number, "first_run": first, "num_runs": end - first, "until": until}
            yield share.play, {**share.task, **task}

    with contextlib.closing(driving.completed(execution.executor, calls())) as ended:
        try:
            for (_, task), future in ended:
                answer = _answer(future, owners[task["number"]], task)
                number = None if answer is None else answer["number"]
                # Usually it is the number of this task, but there are executors that repeat and swap answers.
                if answer is not None and number in owners and number not in answered:
                    answered.add(number)
                    _take(answer["parts"], owners[number], execution.progress)
        except BaseException as error:
            if driving.is_broken(error):
                stored = _stored(some[0][0])
                raise Unfinished(f"the executor lost its workers ({type(error).__name__}); {stored}") from None
            raise


def _answer(future: Any, share: Share, task: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what the executor answers to a task; None if the task was given up."""
    first, number = task["first_run"], task["num_runs"]
    at = _at(share, first, first + number)
    try:
        answer = future.result()
    except BaseException as error:
        if driving.is_cancelled(error):
            raise Unfinished(f"{at}: the executor cancelled this task; {_stored(share)}") from None
        if driving.is_lost(error):
            share.lost.append((first, first + (number if task["until"] is None else min(tasks.LEAST, number))))
            return None
        if isinstance(error, ImportError) or isinstance(error.__cause__, ImportError):
            reason = error.__cause__ or error
            refuse(share.what, f": a worker cannot import a module that it needs ({reason}); install it there")
        if isinstance(error, SystemExit | GeneratorExit):
            refuse(at, f": the task ends in {error_line(error)}")
        if "pickle" in error_line(error):
            refuse(at, f": the task cannot be sent to a worker ({error_line(error)})")
        if isinstance(error, Exception) and error_line(error) == type(error).__name__:  # it has nothing to say
            raise Unfinished(f"{at}: the executor reports {error_line(error)}; {_stored(share)}") from None
        raise
    if isinstance(answer, dict) and "refused" in answer:
        raise BadInput(answer["refused"])
    if not isinstance(answer, dict) or not {"number", "parts"} <= answer.keys():
        refuse(at, f": the executor returned a {type(answer).__name__}, which is not the result of this task")
    return answer


def _take(pieces: Sequence[Mapping[str, Any]], share: Share, progress: Any) -> None:
    for piece in pieces:
        share.add(piece, "a worker")
        if progress is not None:
            progress(Progress(piece["num_runs"], piece["steps"]))
    share.rate = pieces[-1]["num_runs"] / max(pieces[-1]["seconds"], 1e-6)


def _at(share: Share, first: int, end: int) -> str:
    return f"{share.what}, {parts.said(first, end).rpartition(' ')[0]}"


def _stored(share: Share) -> str:
    finished = "finished parts are kept" if share.folder is not None else "nothing is kept without a directory"
    return f"{finished}; run the same command with new workers"


def earlier(result: Result) -> Part:
    """Return a finished result with per-run data as the part that holds the first runs."""
    arrays, fixed = result.arrays, "regret" in result.arrays
    about: dict[str, Any] = {
        "first_run": 0,
        "num_runs": result.runs,
        "identity": {**result.identity, "processor": parts.processor()},
        "seconds": {"compile": 0.0, "run": 0.0},
        "steps": {"run": 0, "lane": 0},
        "devices": result.devices,
        "outcomes": result.outcomes(),
    }
    if fixed:
        counts, sums = arrays["outcome"] == Outcome.STOPPED, {}
        for name in filter(is_curve, arrays):
            moments = Moments(arrays[name].shape[1])
            moments.add(arrays[name].T, included(name, arrays[name], counts))
            sums[name] = moments.plain()
        for name in ("pulls", "kinds"):
            if name in arrays:
                sums[name] = [str(n) for n in arrays[name][counts].sum(0, dtype=np.int64)]
        about |= {"sums": sums, "measure": "regret", "phases": list(getattr(result, "kind_names", ()))}
    names = [*(RUNS if fixed else STOPPED_RUNS), *filter(is_per_run, arrays)]
    return Part(f"the first {result.runs} runs", about, {name: arrays[name] for name in names if name in arrays})


def record_of(some: Sequence[Part], mixed: bool = False) -> Record | Identified:
    """Return the record of all parts; raise BadInput if they cannot be joined."""
    try:
        return parts.joined(some, mixed)
    except ValueError as error:
        raise BadInput(str(error)) from None
