"""A task: some runs of a cell as plain data, which a worker anywhere turns into parts.

A task says an experiment as TOML and a cell by its number, or an algorithm and an environment as calls of factories by
their names. No closure and no array travels; a factory outside the package is imported where the task is played.
"""

import functools
import json
import socket
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from jaxbandit.engine import identity, interrupts, parts, storage
from jaxbandit.refusals import BadInput
from jaxbandit.running import carried, directory, playing
from jaxbandit.specs import spec
from jaxbandit.specs.spec import Experiment

LEAST = 64  # runs: the engine's smallest tile
GROWTH = 16  # most times as many runs as in the piece before, while a task finds out how long runs take


def file_name(first: int, end: int) -> str:
    """Return the name of the file of a part of runs [first, end)."""
    return f"runs-{first:010d}-{end:010d}.npz"


def of_experiment(experiment: Experiment) -> dict[str, Any]:
    """Return what a task of one of its cells says of an experiment; `cell` is to be added."""
    about = directory.provenance(experiment)
    return {"spec": experiment.to_toml(), "name": experiment.name, "provenance": json.dumps(about)}


def play(task: Mapping[str, Any]) -> dict[str, Any]:
    """Play a task, on any machine.

    Args:
      task: plain data: `of_experiment` or `carried.of_pair`; `first_run` and `num_runs`; `options` of the engine;
        `folder`, where parts are written, or None, and then they are sent back; and `until`, seconds, or None: a task
        that is to find out how long runs take plays pieces, each longer than the last, until one takes so long.

    Returns:
      `parts`, a list with first_run, num_runs, steps, seconds and, if they are sent back, the bytes of each part; or
      `refused`, a line that says what is wrong.
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
    """Play one part, or find it: a task whose worker died is played again, but not its parts that are whole."""
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
    """Return what plays runs of a task's cell, given first_run, num_runs and options of the engine."""
    if "call" in task:
        return carried.player(task["call"])
    experiment = _experiment(task["spec"], task["name"], task["provenance"])
    cell = list(experiment.cells())[task["cell"]]
    return lambda **options: playing.record_of(experiment, cell, options)


@functools.lru_cache(maxsize=8)
def _experiment(text: str, name: str, provenance: str) -> Experiment:
    """Return the experiment of a task; refuse to play it where its numbers would be of something else."""
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
        raise BadInput(f"{name}: the {host} has something else than who asked it: {'; '.join(found)}; make them equal")
    return experiment
