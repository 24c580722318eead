"""Reading an experiment from TOML into a frozen, resolved `Experiment`, which is checked before anything runs.

Every error is a BadInput with a message of one line: file, key, value, what is allowed. Lists are numbered from 0.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jaxbandit.lab.specs import keys, metrics, source, tables
from jaxbandit.lab.specs.experiment import KEYS, AlgorithmSpec, Cell, Experiment, InstanceSpec
from jaxbandit.support.refusals import refuse, show

__all__ = ["KEYS", "AlgorithmSpec", "Cell", "Experiment", "InstanceSpec", "load", "parse", "read"]

PUBLISHED = "paper"  # a table with the published numbers of a paper, which is not part of the experiment
QUICK_RUNS = 20

read = source.read


def load(
    spec: str | Path | Mapping[str, Any],
    overrides: Sequence[str] = (),
    *,
    imports: bool = True,
    quick: bool = False,
    **given: int | None,
) -> Experiment:
    """Return the experiment of a TOML file; every cell can be built and its algorithm fits its instance.

    Args:
      spec: path of a TOML file, or the name of one that comes with the package, or the content of one.
      overrides: texts as for `--set`, applied in this order.
      imports: whether a `type` may name a factory outside the package; importing its module runs its code.
      quick: whether to limit the experiment to QUICK_RUNS runs.
      **given: runs, horizon and seed, which replace those of the file unless they are None. Checkpoints after a shorter
        horizon are dropped.
    """
    path = Path("experiment") if isinstance(spec, Mapping) else source.locate(spec)
    data = source.copy(spec) if isinstance(spec, Mapping) else source.read(path)
    for text in overrides:
        source.override(data, text)
    if quick and isinstance(data.get("runs"), int):
        data["runs"] = min(data["runs"], QUICK_RUNS)
    data |= {key: value for key, value in given.items() if value is not None}
    marks = data.get("checkpoints")
    if given.get("horizon") is not None and isinstance(marks, list):
        data["checkpoints"] = [mark for mark in marks if not (isinstance(mark, int) and mark > data["horizon"])]
        if not data["checkpoints"]:
            del data["checkpoints"]
    return parse(data, str(path), path.parent, imports=imports)


def parse(data: Mapping[str, Any], origin: str, base: Path = Path(), *, imports: bool = True) -> Experiment:
    """Return the experiment described by plain data, the content of a TOML file.

    The stem of `origin`, the name of the file in messages, is the default name of the experiment. Relative paths start
    from `base`, and `imports` is as for `load`.
    """
    at = f"{origin}: "
    written = {"name": Path(origin).stem, **{key: value for key, value in data.items() if key != PUBLISHED}}
    settings = keys.read(at, written, KEYS)
    kind, budgeted = settings["kind"], bool(settings.get("budget"))
    metrics.check(f"{at}metrics", settings.get("metrics", ()), imports)
    instances, environments = [], {}
    for i, table in enumerate(settings.pop("instance")):
        item, environment = tables.instance(f"{at}instance[{i}]", table, base, imports)
        instances.append(item)
        environments[item.name] = environment
    algorithms = [
        tables.algorithm(f"{at}algorithm[{i}]", table, base, kind, imports, budgeted)
        for i, table in enumerate(settings.pop("algorithm"))
    ]
    for key, items in (("instance", instances), ("algorithm", algorithms)):
        names = [item.name for item in items]
        for i, name in enumerate(names):
            if (first := names.index(name)) < i:
                refuse(f"{at}{key}[{i}].name", f" = {show(name)}, must differ from {key}[{first}].name")
    experiment = Experiment(**settings, instances=tuple(instances), algorithms=tuple(algorithms))
    for cell in experiment.cells():  # the factories check ranges and what depends on the instance
        where = f"{at}algorithm[{algorithms.index(cell.algorithm)}]"
        tables.judge(where, cell, environments[cell.instance.name], experiment)
    return experiment
