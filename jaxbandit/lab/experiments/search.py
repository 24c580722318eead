"""The command `jaxbandit tune`: a search among the configurations or in the space of a TOML file."""

from pathlib import Path
from typing import Any

import numpy as np

from jaxbandit.decide.tuning import space
from jaxbandit.decide.tuning.result import TuneResult
from jaxbandit.decide.tuning.search import search as propose
from jaxbandit.decide.tuning.tune import tune
from jaxbandit.engine.driver.execution import Execution
from jaxbandit.lab.specs import references
from jaxbandit.lab.specs.search import SearchSpec
from jaxbandit.running.plotting.figure_files import save_figure
from jaxbandit.running.plotting.style import SIZE, canvas
from jaxbandit.running.plotting.tuning import plot_tuning

FIGURE = "tune.png"


def search(train: str, spec: SearchSpec, out: Path, executor: Any = None, workers: int | None = None) -> TuneResult:
    """Search, or resume the search that the directory holds, and store the result there.

    Args:
      train: reference to the training function, "package.module:function".
      spec: the search.
      out: directory of the scores and of the result.
      executor: executor on whose workers train is called, or None.
      workers: number of calls of train that are under way at a time, or None for the default.
    """
    function = references.resolve("train", train).factory()
    options = spec.options
    given = options["execution"]._asdict() | {"directory": out, "executor": executor, "workers": workers}
    options["execution"] = Execution(**given)
    if spec.space is not None:
        laws = {name: _law(spec, name, *law) for name, law in spec.space.items()}
        result = propose(function, laws, spec.propose or "tpe", **options)
    else:
        space = _space(spec)
        result = tune(function, space, spec.build(len(next(iter(space.values())))), **options)
    result.save(out)
    return result


def draw(result: TuneResult, out: Path) -> Path:
    """Write the figure of a result to a directory, and return its path."""
    figure = plot_tuning(result, canvas(SIZE))
    path = out / FIGURE
    save_figure(figure, path)
    return path


def _space(spec: SearchSpec) -> dict[str, np.ndarray]:
    assert spec.configs is not None
    if isinstance(spec.configs, dict):
        return space.grid(**{name: _column(spec, name, values) for name, values in spec.configs.items()})
    return {name: _column(spec, name, [row[name] for row in spec.configs]) for name in spec.configs[0]}


def _law(spec: SearchSpec, name: str, kind: str, arguments: list[Any]) -> space.Distribution:
    return space.choice(_column(spec, name, arguments)) if kind == "choice" else getattr(space, kind)(*arguments)


def _column(spec: SearchSpec, name: str, values: list[Any]) -> np.ndarray:
    mixed = any(isinstance(value, str) for value in values) and not all(isinstance(value, str) for value in values)
    return space.static(values) if name in spec.static or mixed else np.asarray(values)
