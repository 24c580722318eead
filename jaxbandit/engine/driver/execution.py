"""How runs are played: by which workers and devices, with which sizes, saved where, and reported to whom."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import jax

from jaxbandit.base.arguments import Count, CountOfRounds, Whole
from jaxbandit.base.calls import record
from jaxbandit.base.parameters import Arg
from jaxbandit.engine.layout.compiled import cores
from jaxbandit.support import checks, durations
from jaxbandit.support.domains import number
from jaxbandit.support.types import Device


class Progress(NamedTuple):
    """Progress since the previous report."""

    finished: int  # number of runs
    run_steps: int  # number of steps, summed over runs


@record
class Execution(NamedTuple):
    """How runs and trainings are played, which never affects the results of runs. A verb refuses a field without use.

    Attributes:
      workers: number of threads; of each device, for runs that stop by their own rule; of each task, with an executor.
        Default: the number of cores on a single CPU device, otherwise 1. Of trainings, the number of calls of `train`
        that are under way at a time, which JAX then does not trace: on so many threads, on the event loop if it is an
        `async def`, or on the executor. Default: one call, 32 of an `async def`, or the workers of the executor.
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
      kernel: "auto" to play runs of a fixed horizon in one kernel, on an NVIDIA GPU of compute capability 8.0 or more
        and if their program can be written so; False for the engine's own loop. Last digits differ between the two,
        and are the same on every such GPU with the kernel. See docs/gpu.md.
      directory: directory in which interrupted runs save their state, and from which the same call resumes, also
        with another Execution and another number of runs. One process can use it at a time. Default: nothing is saved.
      progress: whether to show a progress bar on stderr, or a function that receives `Progress` from time to time, from
        any thread. Default: a bar on a terminal only, if tqdm is installed. A compilation of more than two seconds
        says so in a line on stderr, except if this is False or in an executor's workers.
      batch: of trainings, the number side by side on one device, >= 1. Default: as many as the memory of the compiled
        program allows, but not more than are useful; of `successive_halving` and `hyperband` 1 on a CPU and 64
        elsewhere. If it is given and `train` cannot be traced, an error is raised. Scores may be rounded differently
        with another batch size.
      isolate: whether to search in a process of its own, which is ended if it does not return in time, 5 s after
        `Budget(seconds=...)`, or if it is interrupted twice. `train`, of a module and not of a notebook, must be
        picklable, as all other arguments, and a script needs `if __name__ == "__main__":`.
      seconds_each: seconds, > 0, or a text such as "10min", after which a call of `train` is left behind on its thread,
        also on an executor; it has failed, and a note lists it as one that did not end. Not if JAX traces `train`.
      retries: how often a failed training is repeated with the same key, >= 0; its score is that of the first success.
        It is not repeated if it is traced, because it would fail again.
      traced: whether JAX traces `train`. Default: it does if the function uses JAX, and calls it directly if it does
        not or cannot be traced.
      same_train: whether to use the scores of the directory although `train` has changed, because it computes the same.
    """

    workers: CountOfRounds | None = None
    devices: Sequence[Device] | None = None
    executor: Any = None
    runs_per_task: Count | None = None
    seconds_per_task: Annotated[float, Arg(number(0, open_low=True))] = 60.0
    send_back: bool = False
    width: CountOfRounds | None = None
    chunk: CountOfRounds | None = None
    kernel: Literal["auto", False] = "auto"
    directory: str | Path | None = None
    progress: bool | Callable[[Any], None] | None = None
    batch: Count | None = None
    isolate: bool = False
    seconds_each: Annotated[float | str, Arg(durations.SOME_SECONDS)] | None = None
    retries: Whole = 0
    traced: bool | None = None
    same_train: bool = False

    def here(self) -> tuple[list[Device], int]:
        """Return the devices and the number of workers of this process; refuse a field without a meaning for runs."""
        checks.only(self, RUNS, "runs")
        devices = list(jax.local_devices() if self.devices is None else self.devices)
        single = devices[0].platform == "cpu" and len(devices) == 1
        return devices, self.workers or (cores() if single else 1)


DEFAULT = Execution()
RUNS = Execution._fields[: Execution._fields.index("batch")]  # the fields with a meaning for runs
