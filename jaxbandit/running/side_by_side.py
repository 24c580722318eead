"""Several experiments at once: while one compiles, which is the work of one core, another plays or compiles too."""

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from jaxbandit.running.experiment import bar, run_experiment
from jaxbandit.specs.spec import Experiment


def run_experiments(
    experiments: Sequence[tuple[Experiment, Path]],
    *,
    at_once: int = 1,
    progress: bool | None = True,
    **options: Any,
) -> None:
    """Run, or resume, experiments of one kind, each in its directory.

    Args:
      experiments: with their directories.
      at_once: how many run side by side; changes no number.
      progress: one bar on stderr over all of them, where that is a terminal.
      options: as for `run_experiment`.

    Raises:
      KeyboardInterrupt: after all have saved their state; the same call continues.
    """
    if at_once == 1:
        for experiment, directory in experiments:
            run_experiment(experiment, directory, progress=progress, **options)
        return
    stop = threading.Event()
    with bar([experiment for experiment, _ in experiments], progress) as advance:

        def heard(news: Any) -> None:
            if stop.is_set():  # what the engine hears from here makes it save and end
                raise KeyboardInterrupt
            if advance is not None:
                advance(news)

        with ThreadPoolExecutor(at_once) as pool:
            futures = [pool.submit(run_experiment, e, d, progress=heard, **options) for e, d in experiments]
            try:
                for future in as_completed(futures):
                    future.result()
            except BaseException:
                stop.set()
                for future in futures:
                    future.cancel()
                raise
