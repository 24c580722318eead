"""Executors by name, as the command line has them, and what is known of any executor's workers."""

import contextlib
import logging
import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from jaxbandit import extras
from jaxbandit.distribution.driving import DEATHS
from jaxbandit.distribution.jobs import Jobs
from jaxbandit.distribution.processes import Processes
from jaxbandit.refusals import BadInput, nearest, refuse, wrong

NAMES = ("processes:N", "dask", "dask:ADDRESS", "slurm", "slurm:KEY=VALUE,...")
ANSWERS = 5  # seconds in which a scheduler must answer
MINUTES = 60  # of a job of Slurm, unless timeout_min says otherwise


class Crew(NamedTuple):
    """The workers of an executor."""

    workers: int | None  # None: not known
    threads: int | None  # of each worker's engine; None: the cores that it may use

    def __str__(self) -> str:
        if self.workers is None:
            return "workers"
        threads = "" if self.threads is None else f" of {self.threads} thread{'s' * (self.threads != 1)}"
        return f"{self.workers} worker{'s' * (self.workers != 1)}{threads}"


def crew_of(executor: Any, threads: int | None = None) -> Crew:
    """Return what is known of an executor's workers; refuse what is no executor, or forks its workers.

    Workers of one machine share its cores. Dask counts a worker's threads itself and gives each a task of its own; of
    executors that do not say how many workers they have, each task takes one thread.
    """
    if not callable(getattr(executor, "submit", None)):
        wrong("executor", executor, "an executor of PEP 3148, with submit(fn, *args) that returns a Future")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if isinstance(executor, Processes):
        return Crew(executor.number, threads or executor.threads)
    if isinstance(executor, Jobs):
        return Crew(None, threads)
    if isinstance(executor, ProcessPoolExecutor | ThreadPoolExecutor):
        context = getattr(executor, "_mp_context", None)
        if context is not None and context.get_start_method() == "fork":
            remedy = "ProcessPoolExecutor(mp_context=multiprocessing.get_context('spawn'))"
            refuse("executor", f": its workers are forked, in which JAX's locks never open; give {remedy}")
        number = getattr(executor, "_max_workers", 1)
        return Crew(number, threads or max(cores // number, 1))
    client: Any = getattr(executor, "_client", None)  # of Dask's executor
    number = sum(client.nthreads().values()) if hasattr(client, "nthreads") else None
    return Crew(number, threads or 1)


@contextlib.contextmanager
def opened(name: str | None, folder: Path | None = None) -> Iterator[Any]:
    """Yield the executor that `--executor` names, and end it; None of None.

    Args:
      name: "processes:N", "dask" (a cluster of this machine), "dask:ADDRESS" (of a scheduler that runs), or "slurm",
        with submitit's parameters after a colon.
      folder: where submitit keeps the logs of jobs; default: `slurm` in the working directory.

    Raises:
      BadInput: another name, or a scheduler that does not answer.
      MissingExtra: the package is not installed.
    """
    if name is None:
        yield None
        return
    kind, _, rest = name.partition(":")
    if kind == "processes":
        if not rest.isdecimal() or not 1 <= int(rest) <= 4096:
            wrong("--executor", name, "processes:N with N in [1, 4096]")
        executor: Any = Processes(int(rest))
    elif kind == "dask":
        with _dask(rest) as client, contextlib.closing(client):
            yield client.get_executor(pure=False)
        return
    elif kind == "slurm":
        executor = Jobs(_submitit(name, rest, folder or Path("slurm")))
    else:
        refuse("--executor", f" = {name}, must be one of {', '.join(NAMES)}{nearest(kind, ('dask', 'slurm'))}")
    with executor:
        yield executor


@contextlib.contextmanager
def _dask(address: str) -> Iterator[Any]:
    with extras.extra("dask"):
        import distributed
        from dask import config
    if address:
        try:
            # Certificates and keys of TLS are those of Dask's own configuration.
            client = distributed.Client(address, timeout=ANSWERS, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            told = f"nobody answers there within {ANSWERS} seconds" if isinstance(error, OSError) else str(error)
            refuse(
                f"--executor dask:{address}", f": {told}; start `dask scheduler` and give the address that it prints"
            )
        yield client
        return
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with (
        config.set({"distributed.scheduler.allowed-failures": DEATHS - 1}),  # more is too many
        distributed.LocalCluster(
            n_workers=cores, threads_per_worker=1, dashboard_address="", silence_logs=logging.ERROR
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


def _submitit(name: str, rest: str, folder: Path) -> Any:
    with extras.extra("slurm"):
        import submitit
    given: dict[str, Any] = {}
    for item in filter(None, rest.split(",")):
        key, equals, value = item.partition("=")
        if not equals:
            wrong("--executor", name, "slurm:KEY=VALUE,... such as slurm:slurm_partition=short,cpus_per_task=4")
        given[key.strip()] = int(value) if value.strip().isdecimal() else value.strip()
    cluster = given.pop("cluster", "slurm")
    try:
        executor = submitit.AutoExecutor(folder=folder, cluster=cluster)
        executor.update_parameters(**{"timeout_min": MINUTES, **given})
    except (RuntimeError, ValueError, TypeError, NameError, AssertionError) as error:
        raise BadInput(f"--executor {name}: {' '.join(str(error).split())}") from None
    return executor
