"""Instances that only the figures of a paper use: recorded data from a directory that the user names, or a given m.

Each table [[paper.instance]] is an [[instance]] with further keys: `files` maps an argument to a CSV file in that
directory, `without` lists columns that are left out, and `source` states where the data come from. `m` is passed to the
algorithms of its figures if the environment itself does not specify it, and `tell` holds other arguments of these
algorithms.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from jaxbandit.lab.papers.figure_experiments import Figure
from jaxbandit.lab.specs import arguments
from jaxbandit.lab.specs.registry import ENVIRONMENTS
from jaxbandit.support import csv_rows
from jaxbandit.support.refusals import BadInput, refuse
from jaxbandit.support.types import Json, Table

OWN = ("files", "without", "source")


def add_instances(data: Json, paper: Table, directory: Path | None) -> dict[str, str]:
    """Add a paper's own instances to its experiment; return those that need `directory`: name -> reason."""
    missing = {}
    for table in paper.get("instance", []):
        instance = {key: value for key, value in table.items() if key not in OWN}
        files = table.get("files", {})
        if files and directory is None:
            missing[table["name"]] = f"needs --data DIR with {', '.join(files.values())} ({table['source']})"
            continue
        for argument, file in files.items():
            where = f"--data {directory}: {argument}"
            numbers = read_columns(where, Path(directory or ".") / file, table.get("without", []))
            instance[argument] = _in_span(numbers) if argument == "features" else numbers.tolist()
        data["instance"] = [*data["instance"], instance]
    return missing


def read_columns(where: str, path: Path, without: list[str]) -> np.ndarray:
    """Return the numbers of a CSV file as `arguments.read_csv` does, without the named columns."""
    numbers = np.array(arguments.read_csv(where, path))
    _, head = arguments.text_rows(where, path, "a CSV file of numbers")[0]
    csv_rows.require_distinct(f"{where}: {path}", head)
    offset = len(head) - numbers.shape[1]  # 1 if the first column holds labels
    left_out = [head.index(name) - offset for name in without if name in head]
    return np.delete(numbers, left_out, axis=1)


def _in_span(features: np.ndarray) -> list[list[float]]:
    """Return the features in an orthonormal basis of their span, as the optimized rule needs; products stay."""
    _, values, basis = np.linalg.svd(features, full_matrices=False)
    return (features @ basis[values > 1e-10 * values[0]].T).tolist()


def split(
    figures: Mapping[str, Figure], missing: Mapping[str, str], target: str, *, quick: bool = False
) -> tuple[dict[str, Figure], list[str]]:
    """Return the figures that can be run, and a line for each other one; raise BadInput if that is the target.

    With `quick`, a figure cannot be run if it has no `quick` settings, or if it takes its cells from another that
    then lacks some of them.
    """
    runnable, lines = {}, []
    for name, figure in figures.items():
        source = figures[figure.within] if figure.within else figure
        reasons = [missing[instance] for instance in figure.instances if instance in missing]
        lacking = figure.within and not figure.quick and set(figure.algorithms) - set(source.hurried().algorithms)
        reasons += ["available only without --quick"] if quick and (not source.quick or lacking) else []
        if not reasons:
            runnable[name] = figure
        elif name == target:
            raise BadInput(f"reproduce: figure {name}: {reasons[0]}")
        elif not target:
            lines.append(f"{figure.title}: not run, {reasons[0]}")
    return runnable, lines


def parts(experiment: Json) -> dict[str, Json]:
    """Return the experiment of a figure as several by name, one for each `tell` of its instances; "" if there is one.

    The arguments in `tell` of an instance override those in the table of the algorithm.
    """
    lots: list[tuple[Json, list[Json]]] = []
    for table in experiment["instance"]:
        more, instance = table.get("tell", {}), {key: value for key, value in table.items() if key != "tell"}
        same = [instances for other, instances in lots if other == more]
        if same:
            same[0].append(instance)
        else:
            lots.append((more, [instance]))
    experiments = {}
    for more, instances in lots:
        algorithms = [table | more for table in experiment["algorithm"]]
        part = experiment | {"instance": instances, "algorithm": algorithms}
        experiments["" if len(lots) == 1 else instances[0]["name"]] = tell(part)
    return experiments


def tell(experiment: Json) -> Json:
    """Return the experiment of a figure in which the m of the instances is an argument of the algorithms."""
    values, instances = set(), []
    for table in experiment["instance"]:
        unknown = "m" in table and "m" not in ENVIRONMENTS[table["type"]].arguments
        values |= {table["m"]} if unknown else set()
        instances.append({key: value for key, value in table.items() if key != "m" or not unknown})
    if len(values) > 1:
        refuse(experiment["name"], f": m = {sorted(values)}, must be one for all instances of a figure")
    more = {"m": values.pop()} if values else {}
    return experiment | {"instance": instances, "algorithm": [table | more for table in experiment["algorithm"]]}


def one_each(entries: Sequence[Table]) -> list[Json]:
    """Return the published numbers one by one: if `algorithm` is a list, the other lists have one item for each."""
    singles: list[Json] = []
    for entry in entries:
        if isinstance(entry["algorithm"], str):
            singles.append(dict(entry))
            continue
        lists = {key: value for key, value in entry.items() if isinstance(value, list)}
        for row in zip(*lists.values(), strict=True):
            singles.append(dict(entry) | dict(zip(lists, row, strict=True)))
    return singles
