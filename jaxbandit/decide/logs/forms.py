"""What a format of logged data gives: a `Form`, and how lines of JSON and features by name become one."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxbandit.support import reading
from jaxbandit.support.refusals import refuse

FEATURES = "features"  # the name of the column of contexts, which is made only if it is asked for
MOST = 2**28  # cells of a table of features


class Form(NamedTuple):
    """The rows of a file in one format."""

    columns: dict[str, Any]  # each with an entry for each row
    lines: Sequence[int]  # of the file, on which each row begins
    roles: dict[str, Any]  # the column of each argument of `read_log`; and `arms`, if the format says them


def objects(where: str, lines: Sequence[tuple[int, str]]) -> list[tuple[int, dict[str, Any]]]:
    """Return the JSON object of each line that is not blank, with the number of the line."""
    found = []
    for number, line in lines:
        if not line.strip():
            continue
        try:
            content = reading.json_of(line)
        except ValueError as error:
            refuse(f"{where}: line {number}", f": not JSON ({error})")
        if not isinstance(content, dict):
            refuse(f"{where}: line {number}", ": must be a JSON object, {..}")
        found.append((number, content))
    return found


def matrix(where: str, rows: Sequence[Mapping[str, float]]) -> np.ndarray:
    """Return the features of rows by name, float64[rows, names]: 0 where a row does not have one."""
    names = {name: number for number, name in enumerate(dict.fromkeys(name for row in rows for name in row))}
    if len(rows) * len(names) > MOST:
        refuse(where, f": has {len(names):,} different features in {len(rows):,} rows, which is too much for a table; "
               "read it without context, or give features of your own as an array")  # fmt: skip
    found = np.zeros((len(rows), max(len(names), 1)))
    for number, row in enumerate(rows):
        for name, value in row.items():
            found[number, names[name]] = value
    return found
