"""Runs of a cell given as Python objects, played by an executor's workers or by all processes of `jax.distributed`."""

import functools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jaxbandit.base.refusals import refuse
from jaxbandit.engine.storage import files as storage
from jaxbandit.engine.storage import parts
from jaxbandit.lab.experiments import division
from jaxbandit.lab.experiments.division import How, Share
from jaxbandit.running.carried import of_pair
from jaxbandit.running.cell import Across, Make
from jaxbandit.running.distribution import hosts

HERE = ("checkpoint_dir", "progress", "num_runs", "devices", "workers")  # options that are not sent with a task


def across_of(
    where: str,
    algorithm: Any,
    environment: Any,
    executor: Any,
    runs_per_task: int | None,
    devices: Sequence[Any] | None,
) -> Across | None:
    """Return a function that plays the runs of a pair in other processes, or None if this process plays them all.

    Args:
      where: "simulate" or "identify".
      algorithm: an Algorithm, or a functools.partial of a factory, which is required for an executor.
      environment: an Environment, or a functools.partial of a factory.
      executor: the executor on whose workers the runs are played, or None.
      runs_per_task: as for `simulate`.
      devices: as for `simulate`.
    """
    if executor is None:
        several = devices is not None and any(device.process_index != hosts.index() for device in devices)
        return functools.partial(_on_hosts, where) if several else None
    if devices is not None:
        refuse(
            where,
            ": devices and executor are both given; workers use their own devices; leave devices out",
        )
    return functools.partial(_divided, where, of_pair(where, algorithm, environment), executor, runs_per_task)


def _divided(
    where: str,
    call: dict[str, Any],
    executor: Any,
    runs_per_task: int | None,
    name: str,
    make: Make,
    arguments: dict[str, Any],
    **given: Any,
) -> Any:
    engine = {key: value for key, value in given.items() if key not in HERE and value is not None}
    if engine.get("checkpoints") is not None:
        engine["checkpoints"] = [int(mark) for mark in engine["checkpoints"]]
    traced = {key: float(value) for key, value in arguments.items()}
    task = {"call": {**call, "kind": where, "options": engine, "arguments": traced}, "options": {}}
    folder = None if given["checkpoint_dir"] is None else Path(given["checkpoint_dir"]) / division.FOLDER
    if folder is not None:
        _claim(folder, json.dumps(task, indent=1).encode())
    share = Share(f"{where}: {name}", task, 0, given["num_runs"], folder)
    how = How(executor, runs_per_task, threads=given.get("workers"))
    return division.divided(share, how, given["progress"], where, given.get("horizon", 0))


def _claim(folder: Path, call: bytes) -> None:
    """Claim a folder for the parts of one call; raise BadInput if it belongs to another call."""
    path = folder / "call.json"
    if not path.exists():
        storage.write_bytes(path, call)
    elif path.read_bytes() != call:
        refuse(str(folder), ": holds parts of another call; give another checkpoint_dir or delete it")


def _on_hosts(where: str, name: str, make: Make, arguments: dict[str, Any], **given: Any) -> Any:
    """Play this process's share of the runs on its own devices, and return the record of all runs."""
    if given["checkpoint_dir"] is not None:
        refuse(
            where, ": checkpoint_dir cannot be used with devices of several processes; leave it out or give an executor"
        )
    own = [device for device in given["devices"] if device.process_index == hosts.index()]
    if not own:
        refuse(where, f": devices contains none of process {hosts.index()}; give jax.devices()")
    present = sorted({device.process_index for device in given["devices"]})
    if present != list(range(hosts.count())):
        refuse(where, f": devices has those of processes {present}, must cover all {hosts.count()}; give jax.devices()")
    first, end = hosts.share(0, given["num_runs"], hosts.index(), hosts.count())
    mine = []
    if first < end:
        from jaxbandit.engine.driver.horizon import simulate_cell
        from jaxbandit.engine.driver.identify import identify_cell

        play: Any = simulate_cell if where == "simulate" else identify_cell
        options = {**given, "devices": own, "first_run": first, "num_runs": end - first}
        mine.append(parts.encoded(parts.part_of(play(make, arguments, **options), first)))
    some = [parts.decoded(data, f"part {i}") for i, data in enumerate(hosts.exchange(mine))]
    return division.record_of(parts.in_order(some, f"{where}: {name}"))
