"""A task: a range of runs of a cell, described by plain data, which a worker on any machine turns into parts.

A task contains either an experiment as TOML and the index of a cell, or an algorithm and an environment as calls of
named factories. It contains no closures. A factory outside the package is imported where the task is played.
"""

import functools
import json
import socket
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from jaxbandit.base.refusals import BadInput
from jaxbandit.engine.driver import interrupts
from jaxbandit.engine.storage import files as storage
from jaxbandit.engine.storage import identity, parts
from jaxbandit.lab.experiments import directory, playing
from jaxbandit.lab.specs import spec
from jaxbandit.lab.specs.spec import Experiment
from jaxbandit.running import carried

LEAST = 64  # runs, the engine's smallest tile
GROWTH = 16  # largest factor between the runs of successive pieces while a task measures how long runs take


def file_name(first: int, end: int) -> str:
    """Return the file name of the part with runs [first, end)."""
    return f"runs-{first:010d}-{end:010d}.npz"


def of_experiment(experiment: Experiment) -> dict[str, Any]:
    """Return the entries of a task that describe its experiment; the caller adds `cell`."""
    about = directory.provenance(experiment)
    return {"spec": experiment.to_toml(), "name": experiment.name, "provenance": json.dumps(about)}


def play(task: Mapping[str, Any]) -> dict[str, Any]:
    """Play a task, on any machine.

    Args:
      task: plain data with the entries of `of_experiment` or `carried.of_pair`; `first_run` and `num_runs`; `options`,
        those of the engine; `folder`, the directory to which parts are written, or None if they are sent back; and
        `until`, a number of seconds or None. A task with `until` measures how long runs take: it plays pieces of
        increasing length until one of them takes about that long.

    Returns:
      A dictionary with `parts`, a list with first_run, num_runs, steps, seconds and, if parts are sent back, the bytes
      of each part; or a dictionary with `refused`, an error message of one line.
    """
    try:
        return {"parts": _pieces(task)}
    except ValueError as error:
        return {"refused": " ".join(str(error).split())}
    except OSError as error:
        return {"refused": f"{socket.gethostname()}: {task['folder']}: cannot be written ({error.strerror})"}


def _pieces(task: Mapping[str, Any]) -> list[dict[str, Any]]:
    first, end, until = task["first_run"], task["first_run"] + task["num_runs"], task["until"]
    number, played = (end - first if until is None else LEAST), []
    record_of = _player(task)
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


def _piece(task: Mapping[str, Any], record_of: Callable[..., Any], first: int, end: int) -> dict[str, Any]:
    """Play one part, or read it if an earlier worker that died in the same task has already finished it."""
    path = None if task["folder"] is None else Path(task["folder"]) / file_name(first, end)
    if path is not None and path.exists():
        part, data = parts.decoded(path.read_bytes(), str(path)), b""
    else:
        part = parts.part_of(record_of(first_run=first, num_runs=end - first, **task["options"]), first)
        data = parts.encoded(part)
        if interrupts.asked():
            raise KeyboardInterrupt
        if path is not None:
            storage.write_bytes(path, data)
            data = b""
    steps = part.about["steps"]["run"]
    told = {"first_run": first, "num_runs": end - first, "steps": steps, "seconds": part.about["seconds"]["run"]}
    return told | ({"data": data} if data else {})


def _player(task: Mapping[str, Any]) -> Callable[..., Any]:
    """Return a function that plays runs of a task's cell, given first_run, num_runs and options of the engine."""
    if "call" in task:
        return carried.player(task["call"])
    experiment = _experiment(task["spec"], task["name"], task["provenance"])
    cell = list(experiment.cells())[task["cell"]]
    return lambda **options: playing.record_of(experiment, cell, options)


@functools.lru_cache(maxsize=8)
def _experiment(text: str, name: str, provenance: str) -> Experiment:
    """Return the experiment of a task; raise BadInput if versions, sources or files differ from those of the caller."""
    host = f"worker on {socket.gethostname()}"
    try:
        experiment = spec.parse(tomllib.loads(text), name)
    except BadInput as error:
        raise BadInput(f"{error} ({host})") from None
    here, wanted = directory.provenance(experiment), json.loads(provenance)
    found = identity.differences(here["versions"], wanted["versions"])
    for what, key in (("the source of module", "sources"), ("the content of", "files")):
        found += [f"{what} {n}" for n, digest in here[key].items() if wanted[key].get(n) != digest]
    if found:
        raise BadInput(f"{name}: the {host} differs from the caller: {'; '.join(found)}; make them equal")
    return experiment
