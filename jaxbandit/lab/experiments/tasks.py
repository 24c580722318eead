"""Tasks of an experiment: its TOML and the index of a cell, from which a worker on any machine plays runs."""

import functools
import json
import socket
from collections.abc import Callable, Mapping
from typing import Any

from jaxbandit.engine.layout import compiling
from jaxbandit.engine.storage import identity
from jaxbandit.lab.experiments import directory, playing
from jaxbandit.lab.specs import spec
from jaxbandit.lab.specs.spec import Experiment
from jaxbandit.running.distribution import tasks
from jaxbandit.support import reading
from jaxbandit.support.refusals import BadInput


def of_experiment(experiment: Experiment) -> dict[str, Any]:
    """Return the entries of a task that describe its experiment; the caller adds `cell`."""
    about = directory.provenance(experiment)
    return {"spec": experiment.to_toml(), "name": experiment.name, "provenance": json.dumps(about)}


def play(task: Mapping[str, Any]) -> dict[str, Any]:
    """Play a task with the entries of `of_experiment` and `cell`, as `running.distribution.tasks.play` does."""
    with compiling.quietly():  # a worker has no terminal of its own
        return tasks.play(task, _player)


def _player(task: Mapping[str, Any]) -> Callable[..., Any]:
    """Return a function that plays runs of a task's cell, given first_run, num_runs and execution."""
    experiment = _experiment(task["spec"], task["name"], task["provenance"])
    cell = list(experiment.cells())[task["cell"]]
    return functools.partial(playing.record_of, experiment, cell)


@functools.lru_cache(maxsize=8)
def _experiment(text: str, name: str, provenance: str) -> Experiment:
    """Return the experiment of a task; raise BadInput if versions, sources or files differ from those of the caller."""
    host = f"worker on {socket.gethostname()}"
    try:
        experiment = spec.parse(reading.toml_of(text), name)
    except BadInput as error:
        raise BadInput(f"{error} ({host})") from None
    here, wanted = directory.provenance(experiment), reading.json_of(provenance)
    differences = identity.differences(here["versions"], wanted["versions"])
    for what, key in (("the source of module", "sources"), ("the content of", "files")):
        differences += [f"{what} {n}" for n, digest in here[key].items() if wanted[key].get(n) != digest]
    if differences:
        raise BadInput(f"{name}: the {host} differs from the caller: {'; '.join(differences)}; make them equal")
    return experiment
