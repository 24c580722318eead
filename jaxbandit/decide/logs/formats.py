"""What a format of logged data gives: a `Form`; JSON in lines, and the bandit feedback of Open Bandit Pipeline."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxbandit.support import reading
from jaxbandit.support.refusals import show

FEATURES = "features"  # the name of the column of contexts, which is made only if it is asked for
MOST = 2**28  # cells of a table of features
FEEDBACK = ("action", "reward", "pscore", "n_actions")  # keys of bandit feedback that have to be there

Lines = Sequence[tuple[int, str]]  # of a file, each with its number from 1


class Form(NamedTuple):
    """The rows of a source in one format."""

    columns: Mapping[str, Any]  # each with an entry for each row
    lines: Sequence[int] | None = None  # of the file, on which each row begins
    roles: Sequence[str] = ()  # arguments of `read_log` that the format gives itself, by columns of the same names
    arms: range | None = None  # labels of the arms, if the format says them


def json_objects(lines: Lines) -> list[tuple[int, dict[str, Any]]]:
    """Return the JSON object of each line that is not blank, with the number of the line."""
    found = []
    for number, line in lines:
        if not line.strip():
            continue
        try:
            content = reading.json_of(line)
        except ValueError as error:
            raise ValueError(f"line {number}: not JSON ({error})") from None
        if not isinstance(content, dict):
            raise ValueError(f"line {number}: must be a JSON object, {{..}}")
        found.append((number, content))
    return found


def json_lines(lines: Lines, wanted: Sequence[str]) -> Form:
    """One JSON object in each line, whose keys are the names of columns; an entry may be a list of numbers."""
    rows = json_objects(lines)
    columns: dict[str, Any] = {name: [] for name in wanted}
    for number, row in rows:
        for name, column in columns.items():
            if name not in row:
                raise ValueError(f"line {number}: has no key {name!r}, its keys are {', '.join(map(repr, row))}")
            column.append(row[name])
    for name, column in columns.items():
        if any(isinstance(entry, list) for entry in column):
            columns[name] = np.stack([_array(f"line {number}: {name}", entry, column[0])
                                      for (number, _), entry in zip(rows, column, strict=True)])  # fmt: skip
    return Form(columns, [number for number, _ in rows])


def _array(place: str, entry: Any, first: Any) -> np.ndarray:
    """Return a list of numbers that has the shape of that of the first row."""
    try:
        found = np.asarray(entry, np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{place} = {show(entry)}, must be a list of numbers") from None
    if found.shape != np.shape(first):
        raise ValueError(f"{place} has the shape {found.shape}, must be {np.shape(first)}, as in the first row")
    return found


def feedback(source: Any, wanted: Sequence[str]) -> Form:
    """The dictionary of bandit feedback of Open Bandit Pipeline; positions are not told apart."""
    missing = next((key for key in FEEDBACK if not isinstance(source, Mapping) or source.get(key) is None), None)
    if missing is not None:
        keys = ", ".join(FEEDBACK)
        raise ValueError(f"has no {missing!r}, must be a dictionary of bandit feedback, with the keys {keys}")
    columns = {**source, "propensity": source["pscore"]}
    if FEATURES in wanted and "context" in source:
        columns[FEATURES] = source["context"]
    return Form(columns, roles=("action", "reward", "propensity"), arms=range(int(source["n_actions"])))


def matrix(rows: Sequence[Mapping[str, float]]) -> np.ndarray:
    """Return the features of rows by name, float64[rows, names]: 0 where a row does not have one."""
    names = {name: number for number, name in enumerate(dict.fromkeys(name for row in rows for name in row))}
    if len(rows) * len(names) > MOST:
        remedy = "read it without context, or give features of your own as an array"
        many = f"{len(names):,} different features in {len(rows):,} rows"
        raise ValueError(f"has {many}, which is too much for a table; {remedy}")
    found = np.zeros((len(rows), max(len(names), 1)))
    for number, row in enumerate(rows):
        for name, value in row.items():
            found[number, names[name]] = value
    return found
