"""The command `jaxbandit tune`: a search among the configurations of a TOML file, stored in a directory."""

from pathlib import Path
from typing import Any

import numpy as np

from jaxbandit.decide.tuning import grid
from jaxbandit.decide.tuning.result import TuneResult
from jaxbandit.decide.tuning.tune import tune
from jaxbandit.lab.specs import references
from jaxbandit.lab.specs.search import SearchSpec
from jaxbandit.running.plotting.style import SIZE, canvas, save_figure
from jaxbandit.running.plotting.tuning import plot_tuning

FIGURE = "tune.png"


def search(train: str, spec: SearchSpec, out: Path, executor: Any = None) -> TuneResult:
    """Search, or resume the search that the directory holds, and store the result there.

    Args:
      train: reference to the training function, "package.module:function".
      spec: the search.
      out: directory of the session and of the result.
      executor: executor on whose workers train is called, or None.

    Raises:
      ValueError: an argument is wrong, a training fails, or the directory holds another search. The message has one
        line.
      KeyboardInterrupt: the search was interrupted. Scores are kept in the directory.
    """
    function = references.resolve("train", train).factory()
    space = _space(spec)
    result = tune(
        function,
        space,
        spec.build(len(next(iter(space.values())))),
        delta=spec.delta,
        epsilon=spec.epsilon,
        seed=spec.seed,
        paired=spec.paired,
        batch=spec.batch,
        directory=out,
        executor=executor,
        on_failure=spec.on_failure,
        maximize=spec.maximize,
    )
    result.save(out)
    return result


def draw(result: TuneResult, out: Path) -> Path:
    """Write the figure of a result to a directory, and return its path."""
    figure = plot_tuning(result, canvas(SIZE))
    path = out / FIGURE
    save_figure(figure, path)
    return path


def _space(spec: SearchSpec) -> dict[str, np.ndarray]:
    if isinstance(spec.configs, dict):
        return grid.grid(**{name: _column(spec, name, values) for name, values in spec.configs.items()})
    return {name: _column(spec, name, [row[name] for row in spec.configs]) for name in spec.configs[0]}


def _column(spec: SearchSpec, name: str, values: list[Any]) -> np.ndarray:
    mixed = any(isinstance(value, str) for value in values) and not all(isinstance(value, str) for value in values)
    return grid.static(values) if name in spec.static or mixed else np.asarray(values)
