"""A task: a range of runs of a cell, described by plain data, which a worker on any machine turns into parts."""

import socket
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from jaxbandit.engine.driver import interrupts, parts
from jaxbandit.engine.driver.execution import Execution
from jaxbandit.engine.storage import files as storage
from jaxbandit.support.refusals import error_line

LEAST = 64  # runs, the engine's smallest tile
GROWTH = 16  # largest factor between the runs of successive pieces while a task measures how long runs take

Task = Mapping[str, Any]


def file_name(first: int, end: int) -> str:
    """Return the file name of the part with runs [first, end)."""
    return f"runs-{first:010d}-{end:010d}.npz"


def play(task: Task, player: Callable[[Task], Callable[..., Any]]) -> dict[str, Any]:
    """Play a task, on any machine: `player` returns a function that plays runs of its cell.

    The entries of a task are what `player` understands; `number`, which identifies it; `first_run` and `num_runs`;
    `execution`, fields of Execution; `folder`, to which parts are written, or None if they are sent back; and `until`,
    the seconds that the last of some pieces of increasing length takes, to measure the runs. The answer has `number`
    and `parts`, or `refused`, an error message of one line.
    """
    try:
        return {"parts": _pieces(task, player(task)), "number": task["number"]}
    except ValueError as error:
        return {"refused": " ".join(str(error).split())}
    except OSError as error:
        folder = task["folder"]
        ours = folder is not None and str(error.filename or folder).startswith(folder)
        what = f"{folder}: cannot be written ({error.strerror})" if ours else error_line(error)
        return {"refused": f"{socket.gethostname()}: {what}"}


def _pieces(task: Task, record_of: Callable[..., Any]) -> list[dict[str, Any]]:
    first, end, until = task["first_run"], task["first_run"] + task["num_runs"], task["until"]
    number, played = (end - first if until is None else LEAST), []
    while first < end:
        last = min(first + number, end)
        played.append(_piece(task, record_of, first, last))
        if until is not None:
            seconds = played[-1]["seconds"]
            if seconds >= until / 4:
                break
            number = int(number * min(GROWTH, until / max(seconds, 1e-9))) // LEAST * LEAST
        first = last
    return played


def _piece(task: Task, record_of: Callable[..., Any], first: int, end: int) -> dict[str, Any]:
    """Play one part, or read it if an earlier worker that died in the same task has already finished it."""
    path = None if task["folder"] is None else Path(task["folder"]) / file_name(first, end)
    if path is not None and path.exists():
        part, data = parts.decoded(storage.read_bytes(path), str(path)), b""
    else:
        execution = Execution(**task["execution"])
        part = parts.part_of(record_of(first_run=first, num_runs=end - first, execution=execution), first)
        data = parts.encoded(part)
        if interrupts.asked():
            raise KeyboardInterrupt
        if path is not None:
            storage.write_bytes(path, data)
            data = b""
    steps = part.about["steps"]["run"]
    piece = {"first_run": first, "num_runs": end - first, "steps": steps, "seconds": part.about["seconds"]["run"]}
    return piece | ({"data": data} if data else {})
