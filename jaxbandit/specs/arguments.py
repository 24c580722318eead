"""Strict conversion of TOML values to hashable arguments of a factory, with one-line error messages.

Arrays become nested tuples of floats, so that a resolved experiment can be compared, hashed and written back.
"""

import csv
import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from jaxbandit.refusals import boolean, choice, integer, known, number, reason, refuse, show, wrong
from jaxbandit.specs.entry import Parameter


class Sweep(tuple[float, ...]):
    """Values of a traced hyperparameter, one cell each."""


def convert(where: str, value: Any, parameter: Parameter, base: Path) -> Any:
    """Return the TOML value as the hashable argument that `parameter` takes."""
    if parameter.optional and value == "none":
        return None
    match parameter.kind:
        case "number" if type(value) in (int, float):
            return number(where, value)
        case "array" | "number":
            return read_csv(where, base / value) if isinstance(value, str) else array(where, value)
        case "scalar":
            return number(where, value)
        case "path":
            return value if isinstance(value, str) and value else wrong(where, value, "the name of a file or directory")
        case "integer":
            return integer(where, value, -(2**31), 2**31 - 1)
        case "boolean":
            return boolean(where, value)
        case "choice":
            return choice(where, value, parameter.choices)
        case "choices":
            if not isinstance(value, list) or not value:
                wrong(where, value, f"a list of {', '.join(parameter.choices) or 'values'}")
            if not parameter.choices:
                return hashable(value)
            return tuple(choice(f"{where}[{i}]", v, parameter.choices) for i, v in enumerate(value))
        case _:
            return hashable(value)


def sweep(where: str, value: Mapping[str, Any], parameter: Parameter) -> Sweep:
    """Return the values of `{sweep = [..]}`; refused for a static hyperparameter."""
    if not parameter.traced:
        remedy = "write one [[algorithm]] for each value"
        refuse(where, f" = {show(value)}, cannot be swept: each value is compiled by itself; {remedy}")
    known(f"{where}.", value, ("sweep",))
    values = value.get("sweep")
    if not isinstance(values, list) or not values:
        wrong(f"{where}.sweep", values, "a list of numbers")
    numbers = Sweep(number(f"{where}.sweep[{i}]", v) for i, v in enumerate(values))
    for i, v in enumerate(numbers):
        if v in numbers[:i]:
            wrong(f"{where}.sweep[{i}]", v, "a value not listed before")
    return numbers


def array(where: str, value: Any) -> tuple[Any, ...]:
    """Return a nested list of finite numbers, of equal lengths, as nested tuples of floats."""
    if value == []:
        refuse(where, " = [] is empty, must be a list of numbers")
    if not isinstance(value, list):
        wrong(where, value, "a list of numbers")
    if not isinstance(value[0], list):
        return tuple(number(f"{where}[{i}]", v) for i, v in enumerate(value))
    rows = tuple(array(f"{where}[{i}]", v) for i, v in enumerate(value))
    for i, row in enumerate(rows):
        if shape(row) != shape(rows[0]):
            wrong(f"{where}[{i}]", value[i], f"of shape {shape(rows[0])} as {where.rpartition('.')[2]}[0]")
    return rows


def shape(value: Any) -> tuple[int, ...]:
    """Return the shape of a nested tuple."""
    return (len(value), *shape(value[0])) if isinstance(value, tuple) else ()


def hashable(value: Any) -> Any:
    """Return lists as tuples and tables as tuples of pairs."""
    if isinstance(value, list | tuple):
        return tuple(map(hashable, value))
    return tuple((k, hashable(v)) for k, v in value.items()) if isinstance(value, dict) else value


def constant(value: Any) -> Any:
    """Return a computed number or array as a converted one: nested tuples."""
    return hashable(value.tolist()) if hasattr(value, "tolist") else value


def plain(value: Any) -> Any:
    """Return a converted value as TOML and JSON write it."""
    if isinstance(value, Sweep):
        return {"sweep": list(value)}
    if value is None:
        return "none"
    return [plain(v) for v in value] if isinstance(value, tuple | list) else value


def csv_rows(at: str, path: Path, wanted: str) -> list[list[str]]:
    """Return the cells of a CSV file, empty rows left out; `at` names it in a refusal that asks for `wanted`."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            return [[cell.strip() for cell in row] for row in csv.reader(file, strict=True) if any(row)]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        refuse(at, f": cannot be read ({reason(error)}); give {wanted}")


def read_csv(where: str, path: Path) -> tuple[tuple[float, ...], ...]:
    """Return the numbers of a CSV file, rows as they stand.

    A first row without any number is a header, a first column without any holds labels: both are left out.
    """
    at = f'{where} = "{path}"'
    rows = csv_rows(at, path, "a CSV file of numbers or a nested list")
    first_row, first_column = 0, 0
    if rows and not any(map(_is_number, rows[0])):
        first_row = 1
    if len(rows) > first_row and not any(_is_number(row[0]) for row in rows[first_row:]):
        first_column = 1
    body = [row[first_column:] for row in rows[first_row:]]
    if not body or not body[0]:
        refuse(at, ": holds no numbers; give a CSV file of numbers or a nested list")
    for i, row in enumerate(body):
        line, width = i + first_row + 1, len(body[0])
        if len(row) != width:
            refuse(at, f": row {line} has {len(row)} numbers, must have {width} as the first")
        for j, cell in enumerate(row):
            if not _is_number(cell):
                column = j + first_column + 1
                refuse(at, f": row {line}, column {column} holds {show(cell)}, must be a finite number")
    return tuple(tuple(map(float, row)) for row in body)


def _is_number(cell: str) -> bool:
    try:
        return math.isfinite(float(cell))
    except ValueError:
        return False


def call(where: str, names: Mapping[str, Any], build: Callable[[], Any]) -> Any:
    """Call a factory; its refusal of an argument becomes ours, with the key's full place."""
    try:
        return build()
    except ValueError as error:
        message = str(error).partition(": ")[2] or str(error)
        refuse(where, f".{message}" if message.startswith(tuple(names)) else f": {message}")


def product(arguments: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the arguments with every sweep replaced by each of its values, the last one fastest."""
    for name, value in arguments.items():
        if isinstance(value, Sweep):
            for v in value:
                yield from product({**arguments, name: v})
            return
    yield dict(arguments)
