"""Reading an experiment from TOML into a frozen, resolved `Experiment`, which is checked before anything runs.

Every error is a BadInput with a message of one line: file, key, value, what is allowed. Lists are numbered from 0.
"""

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jaxbandit.base import refusals
from jaxbandit.base.refusals import refuse, wrong
from jaxbandit.lab.specs import source, tables
from jaxbandit.lab.specs.experiment import (
    COMMON,
    KINDS,
    LABELS,
    MOST_ROUNDS,
    OWN,
    AlgorithmSpec,
    Cell,
    Experiment,
    InstanceSpec,
)
from jaxbandit.running.failures import MOST

__all__ = ["AlgorithmSpec", "Cell", "Experiment", "InstanceSpec", "embedded", "load", "parse", "read"]

KEYS = (*LABELS, *OWN["simulate"], *OWN["identify"], *COMMON, "instance", "algorithm")
PUBLISHED = "paper"  # a table with the published numbers of a paper, which is not part of the experiment
PRECISIONS = ("float32", "float64")
MOST_PULLS = 10**15  # for algorithms that pull in batches, which are counted in 64 bits
MAX_ROUNDS = 10_000_000
QUICK_RUNS = 20

embedded, read = source.embedded, source.read


def load(
    spec: str | Path, overrides: Sequence[str] = (), *, imports: bool = True, quick: bool = False, **given: int | None
) -> Experiment:
    """Return the experiment of a TOML file, or of one that comes with the package.

    Args:
      spec: path of a TOML file, or the name of one that comes with the package.
      overrides: texts as for `--set`, applied in this order.
      imports: whether a `type` may name a factory outside the package; importing its module runs its code.
      quick: whether to limit the experiment to QUICK_RUNS runs.
      **given: runs, horizon and seed, which replace those of the file unless they are None. Checkpoints after a shorter
        horizon are dropped.

    Returns:
      The experiment, which has been checked: every cell can be built and its algorithm fits its instance.

    Raises:
      BadInput: the file cannot be read or something in it is wrong; the message is one line.
    """
    path = source.locate(spec)
    data = source.read(path)
    for text in overrides:
        source.override(data, text)
    if quick and isinstance(data.get("runs"), int):
        data["runs"] = min(data["runs"], QUICK_RUNS)
    data |= {key: value for key, value in given.items() if value is not None}
    marks = data.get("checkpoints")
    if given.get("horizon") is not None and isinstance(marks, list):
        data["checkpoints"] = [mark for mark in marks if not (isinstance(mark, int) and mark > data["horizon"])] or None
    return parse(data, str(path), path.parent, imports=imports)


def parse(data: Mapping[str, Any], origin: str, base: Path = Path(), *, imports: bool = True) -> Experiment:
    """Return the experiment described by plain data.

    Args:
      data: the content of a TOML file.
      origin: name of the file, for error messages; its stem is the default name of the experiment.
      base: directory that relative paths start from.
      imports: whether a `type` may name a factory outside the package; importing its module runs its code.

    Raises:
      BadInput: something in the data is wrong; the message is one line.
    """
    at = f"{origin}: "
    refusals.known(at, {key: None for key in data if key != PUBLISHED}, KEYS)
    kind = refusals.choice(f"{at}kind", _required(at, data, "kind", KINDS), KINDS)
    for other in KINDS:
        for key in OWN[other]:
            if key in data and other != kind:
                refuse(f"{at}{key}", f' = {refusals.show(data[key])}: only for kind = "{other}"; leave it out')
    runs = refusals.integer(f"{at}runs", _required(at, data, "runs"), 1, 2**31 - 1)
    own: dict[str, Any]
    if kind == "simulate":
        horizon = refusals.integer(f"{at}horizon", _required(at, data, "horizon"), 1, MOST_ROUNDS)
        own = {
            "horizon": horizon,
            "checkpoints": _checkpoints(f"{at}checkpoints", data.get("checkpoints"), horizon),
            "per_run": refusals.boolean(f"{at}per_run", data.get("per_run", True)),
            "hindsight": refusals.boolean(f"{at}hindsight", data.get("hindsight", False)),
            "replan_late": refusals.integer(f"{at}replan_late", data.get("replan_late", 0), 0, 2**31 - 2),
        }
    elif "budget" in data:
        if "max_rounds" in data:
            refuse(
                f"{at}max_rounds",
                f" = {refusals.show(data['max_rounds'])}, not allowed with budget, which ends all runs; leave it out",
            )
        own = {"budget": _budget(f"{at}budget", data["budget"])}
    else:
        own = {"max_rounds": refusals.integer(f"{at}max_rounds", data.get("max_rounds", MAX_ROUNDS), 1, MOST_PULLS)}
    instances = tuple(tables.instance(where, table, base, imports) for where, table in _tables(at, data, "instance"))
    algorithms = tuple(
        tables.algorithm(where, table, base, kind, imports, "budget" in own)
        for where, table in _tables(at, data, "algorithm")
    )
    for key, items in (("instance", instances), ("algorithm", algorithms)):
        names = [item.name for item in items]
        for i, name in enumerate(names):
            if name in names[:i]:
                refuse(
                    f"{at}{key}[{i}].name",
                    f" = {refusals.show(name)}, must differ from {key}[{names.index(name)}].name",
                )
    experiment = Experiment(
        name=refusals.text(f"{at}name", data.get("name", Path(origin).stem)),
        kind=kind,
        runs=runs,
        seed=refusals.integer(f"{at}seed", data.get("seed", 0), 0, 2**32 - 1),
        any_rewards=refusals.boolean(f"{at}any_rewards", data.get("any_rewards", False)),
        max_failed=refusals.share(f"{at}max_failed", data.get("max_failed", MOST)),
        precision=_precision(origin, data.get("precision", "float64" if kind == "identify" else None), own),
        instances=instances,
        algorithms=algorithms,
        **own,
    )
    for cell in experiment.cells():  # the factories check ranges and what depends on the instance
        tables.judge(f"{at}algorithm[{algorithms.index(cell.algorithm)}]", cell, experiment)
    return experiment


def _precision(origin: str, value: Any, own: Mapping[str, Any]) -> str:
    from jaxbandit.base import checks  # it imports JAX

    if value is not None:
        refusals.choice(f"{origin}: precision", value, PRECISIONS)
    name = next(key for key in ("horizon", "max_rounds", "budget") if key in own)
    try:
        return checks.precision(origin, value, name, max(own[name]) if name == "budget" else own[name])
    except ValueError as error:
        raise refusals.BadInput(str(error)) from None


def _required(at: str, data: Mapping[str, Any], key: str, allowed: tuple[str, ...] = ()) -> Any:
    if key not in data:
        refuse(f"{at}{key}", f": missing, must be {'one of ' * bool(allowed)}{', '.join(allowed) or 'given'}")
    return data[key]


def _tables(at: str, data: Mapping[str, Any], key: str) -> list[tuple[str, dict[str, Any]]]:
    value = _required(at, data, key)
    if not isinstance(value, list) or not value or not all(isinstance(item, dict) for item in value):
        wrong(f"{at}{key}", value, f"one or more [[{key}]] tables")
    return [(f"{at}{key}[{i}]", table) for i, table in enumerate(value)]


def _budget(where: str, value: Any) -> tuple[int, ...]:
    """Return the budgets, of which each makes its own cells."""
    if not isinstance(value, list):
        return (refusals.integer(where, value, 1, MOST_PULLS),)
    if not value:
        wrong(where, value, "a number of pulls, or a list of them")
    found = tuple(refusals.integer(f"{where}[{i}]", v, 1, MOST_PULLS) for i, v in enumerate(value))
    for i, v in enumerate(found):
        if v in found[:i]:
            wrong(f"{where}[{i}]", v, "a budget not listed before")
    return found


def _checkpoints(where: str, value: Any, horizon: int) -> tuple[int, ...]:
    if value is None:
        from jaxbandit.engine.driver.horizon import default_checkpoints

        return tuple(default_checkpoints(horizon).tolist())
    if not isinstance(value, list) or not value:
        wrong(where, value, f"a list of increasing rounds in [1, {horizon}]")
    marks = [refusals.integer(f"{where}[{i}]", v, 1, horizon) for i, v in enumerate(value)]
    for i, (before, after) in enumerate(itertools.pairwise(marks)):
        if after <= before:
            wrong(f"{where}[{i + 1}]", after, f"greater than {before}, the previous one")
    return tuple(marks) if marks[-1] == horizon else (*marks, horizon)  # as the engine does
