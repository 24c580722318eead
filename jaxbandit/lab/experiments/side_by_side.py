"""Running several experiments at once: while one compiles, which uses one core, others run or compile as well."""

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from jaxbandit.engine.driver.execution import Execution
from jaxbandit.lab.experiments.experiment import SHOWN, bar, run_experiment
from jaxbandit.lab.specs.spec import Experiment


def run_experiments(
    experiments: Sequence[tuple[Experiment, Path]],
    *,
    at_once: int = 1,
    execution: Execution = SHOWN,
    **options: Any,
) -> None:
    """Run or resume experiments of one kind, each in its own directory.

    Args:
      experiments: pairs of an experiment and its directory.
      at_once: number of experiments that run side by side. It does not affect the results.
      execution: as for `run_experiment`; one progress bar is shown for all of them.
      **options: as for `run_experiment`.

    Raises:
      KeyboardInterrupt: the runs were interrupted. All have saved their state, and the same call resumes.
    """
    if at_once == 1:
        for experiment, directory in experiments:
            run_experiment(experiment, directory, execution=execution, **options)
        return
    stop = threading.Event()
    with bar([experiment for experiment, _ in experiments], execution.progress) as advance:

        def heard(news: Any) -> None:
            if stop.is_set():  # an exception raised here makes the engine save its state and end
                raise KeyboardInterrupt
            if advance is not None:
                advance(news)

        execution = execution._replace(progress=heard)
        with ThreadPoolExecutor(at_once) as pool:
            futures = [pool.submit(run_experiment, e, d, execution=execution, **options) for e, d in experiments]
            try:
                for future in as_completed(futures):
                    future.result()
            except BaseException:
                stop.set()
                for future in futures:
                    future.cancel()
                raise
