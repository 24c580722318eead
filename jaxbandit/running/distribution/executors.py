"""Executors by name, for the command line's `--executor`, and the number of workers and threads of an executor."""

import contextlib
import logging
import os
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from jaxbandit.running.distribution.driving import DEATHS
from jaxbandit.running.distribution.jobs import Jobs
from jaxbandit.running.distribution.processes import Processes
from jaxbandit.support import extras
from jaxbandit.support.refusals import BadInput, nearest, refuse, wrong

NAMES = ("processes:N", "dask", "dask:ADDRESS", "slurm", "slurm:KEY=VALUE,...")
ANSWERS = 5  # seconds within which a scheduler must answer
MINUTES = 60  # default time limit of a Slurm job, for which timeout_min can be given instead


class Crew(NamedTuple):
    """The workers of an executor."""

    workers: int | None  # number of workers, None if unknown
    threads: int | None  # number of threads of each worker's engine; None for the number of cores that it may use

    def __str__(self) -> str:
        if self.workers is None:
            return "workers"
        threads = "" if self.threads is None else f" of {self.threads} thread{'s' * (self.threads != 1)}"
        return f"{self.workers} worker{'s' * (self.workers != 1)}{threads}"


def crew_of(executor: Executor, threads: int | None = None) -> Crew:
    """Return the workers of an executor; raise an error if it is not an executor, or if it forks its workers.

    Workers on one machine share its cores. Dask manages the threads of its workers and runs one task per thread, so
    each task uses one thread.
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
            refuse("executor", f": its workers are forked, and JAX may deadlock in a forked process; give {remedy}")
        number = getattr(executor, "_max_workers", 1)
        return Crew(number, threads or max(cores // number, 1))
    client: Any = getattr(executor, "_client", None)  # of Dask's executor
    number = sum(client.nthreads().values()) if hasattr(client, "nthreads") else None
    return Crew(number, threads or 1)


@contextlib.contextmanager
def open_executor(name: str | None, folder: Path | None = None) -> Iterator[Executor | None]:
    """Yield the executor that `--executor` names, and shut it down afterwards; yield None if the name is None.

    It is "processes:N", "dask" (a local cluster), "dask:ADDRESS" (of a running scheduler), or "slurm", optionally with
    a colon and parameters of submitit, whose logs are in `folder`, by default `slurm` in the working directory.
    """
    if name is None:
        yield None
        return
    kind, _, rest = name.partition(":")
    if kind == "processes":
        if not rest.isdecimal() or not 1 <= int(rest) <= 4096:
            wrong("--executor", name, "processes:N with N in [1, 4096]")
        executor: Executor = Processes(int(rest))
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
            # TLS certificates and keys are taken from Dask's configuration.
            client = distributed.Client(address, timeout=ANSWERS, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            reason = f"no scheduler answers within {ANSWERS} seconds" if isinstance(error, OSError) else str(error)
            refuse(
                f"--executor dask:{address}", f": {reason}; start `dask scheduler` and give the address that it prints"
            )
        yield client
        return
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with (
        config.set({"distributed.scheduler.allowed-failures": DEATHS - 1}),  # the next failure abandons the task
        distributed.LocalCluster(
            n_workers=cores,
            threads_per_worker=1,
            dashboard_address="",
            # A worker that is told to end may log an error because its last heartbeat has no answer; what goes wrong in
            # a task comes back as the error of a call.
            silence_logs=logging.CRITICAL,
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


def _submitit(name: str, rest: str, folder: Path) -> Any:
    with extras.extra("slurm"):
        import submitit
    options: dict[str, Any] = {}
    for item in filter(None, rest.split(",")):
        key, equals, value = item.partition("=")
        if not equals:
            wrong("--executor", name, "slurm:KEY=VALUE,... such as slurm:slurm_partition=short,cpus_per_task=4")
        options[key.strip()] = int(value) if value.strip().isdecimal() else value.strip()
    cluster = options.pop("cluster", "slurm")
    try:
        executor = submitit.AutoExecutor(folder=folder, cluster=cluster)
        executor.update_parameters(**{"timeout_min": MINUTES, **options})
    except (RuntimeError, ValueError, TypeError, NameError, AssertionError) as error:
        raise BadInput(f"--executor {name}: {' '.join(str(error).split())}") from None
    return executor
