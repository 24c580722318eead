"""How runs are played: by which workers and devices, with which sizes, saved where, and reported to whom."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax

from jaxbandit.engine.layout.compiled import cores
from jaxbandit.support import checks
from jaxbandit.support.types import Device


class Progress(NamedTuple):
    """Progress since the previous report."""

    finished: int  # number of runs
    run_steps: int  # number of steps, summed over runs


class Execution(NamedTuple):
    """How runs are played. Nothing in this record affects the results.

    Attributes:
      workers: number of threads; of each device, for runs that stop by their own rule; of each task, with an executor.
        Default: the number of cores on a single CPU device, otherwise 1.
      devices: JAX devices of one kind among which the runs are divided. Default: those of this process. With
        `jax.devices()` in several processes of `jax.distributed`, each process plays its share, and all return the
        same result.
      executor: a PEP 3148 executor on whose workers the runs are played, which must not be forked. Default: the runs
        are played by this process. See docs/cluster.md.
      runs_per_task: number of runs of one task of the executor, >= 1. Default: as many as take about
        `seconds_per_task`, measured by a first task.
      seconds_per_task: target duration of a task of the executor in seconds, > 0.
      send_back: whether the executor's workers send their results back instead of writing them into the caller's
        directory, which need then not be shared.
      width: number of runs that a worker plays side by side, >= 1, rounded up to whole vectors and to at least 64.
        Default: as many as fit into the cache of a core or the memory of a device. A CPU plays a program of long
        rounds one run at a time in any case.
      chunk: number of steps in one call of the compiled loop, >= 1, rounded up to whole blocks of at most 64. Default:
        as many as take about a second or less.
      directory: directory in which interrupted runs save their state, and from which the same call resumes, also
        with another Execution and another number of runs. One process can use it at a time. Default: nothing is saved.
      progress: whether to show a progress bar on stderr, or a function that receives `Progress` from time to time, from
        any thread. Default: a bar on a terminal only, if tqdm is installed. A compilation of more than two seconds
        says so in a line on stderr, except if this is False or in an executor's workers.
    """

    workers: int | None = None
    devices: Sequence[Device] | None = None
    executor: Any = None
    runs_per_task: int | None = None
    seconds_per_task: float = 60.0
    send_back: bool = False
    width: int | None = None
    chunk: int | None = None
    directory: str | Path | None = None
    progress: bool | Callable[[Progress], None] | None = None

    def updated(self, **fields: Any) -> "Execution":
        """Return the record with those of the fields that are not None."""
        return self._replace(**{name: value for name, value in fields.items() if value is not None})

    def here(self, where: str) -> tuple[list[Device], int]:
        """Return the devices and the number of workers of this process.

        Raises:
          ValueError: a number of the record is out of range; the message begins with `where`.
        """
        for name in ("workers", "width", "chunk"):
            if (value := getattr(self, name)) is not None:
                checks.integer(where, name, value, 1, 2**31 - 1)
        devices = list(jax.local_devices() if self.devices is None else self.devices)
        single = devices[0].platform == "cpu" and len(devices) == 1
        return devices, self.workers or (cores() if single else 1)


DEFAULT = Execution()
