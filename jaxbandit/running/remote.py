"""Where the runs of a cell are played: in this process, on an executor, or by all processes of `jax.distributed`."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from jaxbandit.engine.driver import parts
from jaxbandit.engine.driver.execution import Execution
from jaxbandit.engine.layout import compiling
from jaxbandit.engine.storage import directories
from jaxbandit.engine.storage import files as storage
from jaxbandit.running import factories
from jaxbandit.running.distribution import division, hosts, tasks
from jaxbandit.running.distribution.division import Share
from jaxbandit.running.factories import Pair
from jaxbandit.support.refusals import refuse


def play(kind: str, name: str, pair: Pair, execution: Execution, options: Mapping[str, Any]) -> Any:
    """Play runs of a cell, and return the engine's record; `options` are its arguments on which the results depend."""
    if execution.executor is None:
        devices = execution.devices or ()
        if any(device.process_index != hosts.index() for device in devices):
            return _on_hosts(kind, name, pair, execution, options)
        return _engine(kind)(pair.make, pair.arguments, **options, execution=execution)
    if execution.devices is not None:
        raise ValueError("devices and executor are both given; workers use their own devices; leave devices out")
    return _divided(kind, name, pair, execution, dict(options))


def play_task(task: Mapping[str, Any]) -> dict[str, Any]:
    """Play a task made by this module, on any machine, as `distribution.tasks.play` does."""
    with compiling.quietly():  # a worker has no terminal of its own
        return tasks.play(task, _player)


def _engine(kind: str) -> Callable[..., Any]:
    if kind == "simulate":
        from jaxbandit.engine.driver.simulate import simulate_cell

        return simulate_cell
    from jaxbandit.engine.driver.identify import identify_cell

    return identify_cell


def _player(task: Mapping[str, Any]) -> Callable[..., Any]:
    call = task["call"]
    pair, engine = factories.pair_of_call(call), _engine(call["kind"])
    options = dict(call["options"])
    if "metrics" in options:
        options["metrics"] = {name: factories.referenced(metric) for name, metric in options["metrics"].items()}
    if "keep" in options:
        options["keep"] = [factories.referenced(x) if ":" in x else x for x in options["keep"]]
    return lambda **more: engine(pair.make, pair.arguments, **options, **more)


def _divided(kind: str, name: str, pair: Pair, execution: Execution, options: dict[str, Any]) -> Any:
    """Play the runs on an executor's workers."""
    number = options.pop("num_runs")
    options = {key: value for key, value in options.items() if value is not None}
    if "checkpoints" in options:
        options["checkpoints"] = [int(mark) for mark in options["checkpoints"]]
    for name, metric in dict(options.get("metrics", {})).items():
        options["metrics"] = {**options["metrics"], name: factories.reference_of(f"metric {name}", metric)}
    if "keep" in options:
        kept = [factories.reference_of("keep", x) if callable(x) else x for x in options["keep"]]
        options["keep"] = kept
    call = factories.of_pair(pair) | {"kind": kind, "options": options}
    folder = None if execution.directory is None else Path(execution.directory) / division.FOLDER
    if folder is not None:
        directories.require_ours(folder.parent, "identity.json", f"{division.FOLDER}/call.json")
        _claim(folder, json.dumps(call, indent=1).encode())
    return division.divided(Share(f"{kind}: {name}", play_task, {"call": call}, 0, number, folder), execution)


def _claim(folder: Path, call: bytes) -> None:
    """Claim a folder for the parts of one call; raise BadInput if it belongs to another call."""
    path = folder / "call.json"
    if not path.exists():
        storage.write_bytes(path, call)
    elif storage.read_bytes(path) != call:
        refuse(str(folder), ": holds parts of another call; give another directory or delete it")


def _on_hosts(kind: str, name: str, pair: Pair, execution: Execution, options: Mapping[str, Any]) -> Any:
    """Play this process's share of the runs on its own devices, and return the record of all runs."""
    if execution.directory is not None:
        raise ValueError("directory cannot be used with devices of several processes; leave it out or give an executor")
    devices = execution.devices or ()
    own = [device for device in devices if device.process_index == hosts.index()]
    if not own:
        raise ValueError(f"devices contains none of process {hosts.index()}; give jax.devices()")
    present = sorted({device.process_index for device in devices})
    if present != list(range(hosts.count())):
        raise ValueError(
            f"devices has those of processes {present}, must cover all {hosts.count()}; give jax.devices()"
        )
    first, end = hosts.share(0, options["num_runs"], hosts.index(), hosts.count())
    mine = []
    if first < end:
        share = {**options, "first_run": first, "num_runs": end - first, "execution": execution._replace(devices=own)}
        mine.append(parts.encoded(parts.part_of(_engine(kind)(pair.make, pair.arguments, **share), first)))
    some = [parts.decoded(data, f"part {i}") for i, data in enumerate(hosts.exchange(mine))]
    return division.record_of(parts.in_order(some, f"{kind}: {name}"))
