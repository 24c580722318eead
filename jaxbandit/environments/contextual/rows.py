"""The rows of a file as a contextual bandit: its columns are contexts and classes, or contexts and rewards."""

import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from jaxbandit.base.contract import Environment
from jaxbandit.base.declaration import declare
from jaxbandit.environments import data_sets
from jaxbandit.environments.contextual.classes import classes
from jaxbandit.environments.contextual.rewards_table import rewards_table
from jaxbandit.environments.contextual.row_orders import Order
from jaxbandit.support import checks, csv_rows, reading
from jaxbandit.support.columns import Table, cells, read_columns
from jaxbandit.support.refusals import BadInput, nearest, python, reason

Names = str | tuple[str, ...]


@declare(
    settings=(
        {"contexts": ("x", "y"), "label": "kind"},
        {"contexts": "x", "rewards": ("u", "v"), "available": ("a", "b")},
    )
)
def rows(
    file: str | Path,
    *,
    contexts: Names | None = None,
    rewards: Names | None = None,
    label: str | None = None,
    available: Names | None = None,
    order: Order = "shuffle",
    standardize: bool = True,
) -> Environment:
    """The rows of a CSV or NPZ file, with the reward of every arm or the right class.

    Either `label` is given, and the arm of the row's class pays 1 (`classes`), or `rewards`, with the reward of every
    arm (`rewards_table`).

    Args:
      file: path of a CSV file with a line of names, or of an NPZ file with an array for each name; static.
      contexts: names of columns of numbers; or of one array of an NPZ file, float[rows, dim] or float[rows, num_arms,
        dim]. None without contexts. Static.
      rewards: names of the columns with the rewards of the arms, in the order of the arms; or of one array, float[rows,
        num_arms]. Static.
      label: name of the column with the class of each row, texts or numbers; arms are the classes in ascending order.
        Static.
      available: names of the columns that say, by 1 and 0 or yes and no, whether an arm may be pulled in a row; or of
        one array, bool[rows, num_arms]. Only with `rewards`. Static.
      order: as in `classes`: "shuffle", "draw" or "as_is"; static.
      standardize: whether columns of contexts are put on one scale, as in `classes`; contexts with a row for each arm
        are used as they are.

    Returns:
      An Environment as `classes` or `rewards_table`.

    Raises:
      ValueError: the file cannot be read, a column is missing, a cell is not a number, or both or neither of `label`
        and `rewards` are given.
    """
    if (label is None) == (rewards is None):
        given = "both are given" if label is not None else "neither is given"
        raise ValueError(f"label and rewards: {given}, must be one of them: the right class, or all rewards")
    if label is not None and contexts is None:
        raise ValueError("contexts = None, must be the names of columns of numbers, with label")
    if label is not None and available is not None:
        checks.wrong("available", available, "left out with label")
    asked = {"contexts": contexts, "rewards": rewards, "label": label, "available": available}
    for name, some in asked.items():
        if some is not None and not _is_names(some):
            raise ValueError(f"{name} = {python(some)}, must be the name of a column, or a list of names")
    try:
        table = _table(Path(file), [name for some in asked.values() if some is not None for name in _listed(some)])
        seen, paid, offered = (None if x is None else _array(table, x) for x in (contexts, rewards, available))
        kinds = None if label is None else np.asarray(cells(table.cells[label]))
    except BadInput as error:
        raise ValueError(f"{error}") from None
    if standardize and seen is not None and seen.ndim == 2:
        seen = data_sets.with_ones(data_sets.standardized(checks.take("contexts", seen, checks.arrays(ndim=2))))
    if label is not None:
        return classes(seen, kinds, order=order, standardize=False)._replace(name="rows")
    return rewards_table(seen, paid, available=offered, order=order)._replace(name="rows")


def _is_names(value: Any) -> bool:
    return isinstance(value, str) or (
        isinstance(value, list | tuple) and len(value) > 0 and all(isinstance(name, str) for name in value)
    )


def _listed(value: Names) -> list[str]:
    return [value] if isinstance(value, str) else list(value)


def _table(file: Path, names: list[str]) -> Table:
    """Return the columns or arrays with these names."""
    if file.suffix != ".npz":
        return read_columns(str(file), file, list(dict.fromkeys(names)))
    try:
        with reading.opened(str(file), file, "an NPZ file") as data, np.load(data, allow_pickle=False) as arrays:
            csv_rows.require_distinct(str(file), arrays.files)
            for name in names:
                if name not in arrays:
                    held = ", ".join(map(repr, arrays.files[:20]))
                    raise BadInput(f"{file}: has no array {name!r}, its arrays are {held}{nearest(name, arrays.files)}")
            return read_columns(str(file), {name: arrays[name] for name in names}, names)
    except BadInput:
        raise
    except (OSError, EOFError, TypeError, ValueError, zipfile.BadZipFile) as error:  # an object array, or no archive
        raise BadInput(f"{file}: cannot be read ({reason(error)}); give an NPZ file") from None


def _array(table: Table, names: Names) -> np.ndarray:
    """Return columns side by side, or one array as it is; NaN where a cell is empty."""
    columns = [table.numbers(name, "a number") for name in _listed(names)]
    return columns[0] if isinstance(names, str) and columns[0].ndim > 1 else np.column_stack(columns)
