"""Strict conversion of TOML values to hashable arguments of a factory, with error messages of one line.

Arrays become nested tuples of floats, so that a resolved experiment can be compared, hashed and written back to TOML.
In every function below, `where` is the location of the value as it appears in error messages: file, table and key.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from jaxbandit.base.parameters import Parameter
from jaxbandit.lab.specs.priors import FamilyPrior
from jaxbandit.support import csv_rows, decimals
from jaxbandit.support.domains import INT32, Domain, check, choice, integer, number, several
from jaxbandit.support.refusals import BadArgument, known, refuse, show, wrong

NUMBER = number()


class Sweep(tuple[float, ...]):
    """The values of a traced hyperparameter that is swept. Each value makes a cell of its own."""


def convert(where: str, value: Any, parameter: Parameter, base: Path) -> Any:
    """Return a TOML value as the hashable argument that a factory takes.

    The string "none" stands for None where the parameter allows it. Relative paths start from `base`, and those of
    files and directories that are not there from the working directory.
    """
    if parameter.optional and value == "none":
        return None
    match parameter.kind:
        case "number" if type(value) in (int, float):
            return check(where, value, NUMBER)
        case "array" if parameter.choices and isinstance(value, str) and not Path(value).suffix:
            return check(where, value, choice(parameter.choices))
        case "array" | "number":
            return read_csv(where, base / value) if isinstance(value, str) else array(where, value)
        case "scalar":
            return check(where, value, parameter.domain() or NUMBER)
        case "path":
            path = value if isinstance(value, str) and value else wrong(where, value, "the name of a file or directory")
            return str(base / path) if (base / path).exists() else path
        case "integer":
            return check(where, value, parameter.domain() or integer(-INT32 - 1, INT32))
        case "boolean" | "choice":
            return check(where, value, parameter.domain() or ANY)
        case "choices":
            item = choice(parameter.choices) if parameter.choices else ANY
            return check(where, value, several(item, f"a list of {', '.join(map(str, parameter.choices)) or 'values'}"))
        case _:
            return hashable(value)


def sweep(where: str, value: Mapping[str, Any], parameter: Parameter) -> Sweep:
    """Return the values of `{sweep = [..]}` of a traced hyperparameter, which are different numbers."""
    if not parameter.traced:
        remedy = "write one [[algorithm]] for each value"
        refuse(where, f" = {show(value)}, cannot be swept, because every value is compiled separately; {remedy}")
    known(f"{where}.", value, ("sweep",))
    item = parameter.domain() if parameter.kind == "scalar" else NUMBER
    return Sweep(check(f"{where}.sweep", value["sweep"], several(item or NUMBER, "a list of numbers", distinct=True)))


def array(where: str, value: Any) -> tuple[Any, ...]:
    """Return a rectangular nested list of finite numbers as nested tuples of floats."""
    if value == []:
        refuse(where, " = [] is empty, must be a list of numbers")
    if not isinstance(value, list):
        wrong(where, value, "a list of numbers")
    if not isinstance(value[0], list):
        return tuple(check(f"{where}[{i}]", v, NUMBER) for i, v in enumerate(value))
    rows = tuple(array(f"{where}[{i}]", v) for i, v in enumerate(value))
    for i, row in enumerate(rows):
        if shape(row) != shape(rows[0]):
            wrong(f"{where}[{i}]", value[i], f"of shape {shape(rows[0])} like {where.rpartition('.')[2]}[0]")
    return rows


def shape(value: Any) -> tuple[int, ...]:
    """Return the shape of a rectangular nested tuple, and () for a number."""
    return (len(value), *shape(value[0])) if isinstance(value, tuple) else ()


def hashable(value: Any) -> Any:
    """Return a TOML value with every list as a tuple and every table as a tuple of pairs of key and value."""
    if isinstance(value, list | tuple):
        return tuple(map(hashable, value))
    return tuple((k, hashable(v)) for k, v in value.items()) if isinstance(value, dict) else value


ANY = Domain("any value", hashable)


def constant(value: Any) -> Any:
    """Return a computed NumPy or JAX value in the form that `convert` returns, with arrays as nested tuples."""
    return hashable(value.tolist()) if hasattr(value, "tolist") else value


def plain(value: Any) -> Any:
    """Return a converted value in the form that TOML and JSON can write, the inverse of `convert`."""
    if isinstance(value, Sweep):
        return {"sweep": list(value)}
    if isinstance(value, FamilyPrior):
        return value.to_dict()
    if value is None:
        return "none"
    return [plain(v) for v in value] if isinstance(value, tuple | list) else value


def read_csv(where: str, path: Path) -> tuple[tuple[float, ...], ...]:
    """Return the numbers of a CSV file, row by row, all of one length.

    A first row without any number is taken as a header, and a first column without any number as labels. Both are left
    out, and so are rows without any text.
    """
    at = f'{where} = "{path}"'
    rows = text_rows(at, path, "a CSV file of numbers or a nested list")
    first_row, first_column = 0, 0
    if rows and not any(map(_is_number, rows[0][1])):
        first_row = 1
    if len(rows) > first_row and not any(_is_number(row[0]) for _, row in rows[first_row:]):
        first_column = 1
    body = [(line, row[first_column:]) for line, row in rows[first_row:]]
    if not body or not body[0][1]:
        refuse(at, ": contains no numbers; give a CSV file of numbers or a nested list")
    for line, row in body:
        for j, cell in enumerate(row):
            if not _is_number(cell):
                column = j + first_column + 1
                refuse(at, f": line {line}, column {column} is {show(cell)}, must be a finite number")
    return tuple(tuple(map(float, row)) for _, row in body)


def text_rows(at: str, path: Path, wanted: str) -> list[tuple[int, list[str]]]:
    """Return the line and the cells of each row of a CSV file that has any text, without spaces around a cell."""
    return [(line, [cell.strip() for cell in row]) for line, row in csv_rows.read(at, path, wanted) if any(row)]


def _is_number(cell: str) -> bool:
    value = decimals.number(cell)
    return value is not None and math.isfinite(value)


def call(where: str, names: Mapping[str, Any], build: Callable[[], Any]) -> Any:
    """Return what a factory builds; raise its ValueError about an argument as BadInput with the location of the key.

    `where` is the location of the table, and `names` are the arguments.
    """
    try:
        return build()
    except ValueError as error:
        message = error.what if isinstance(error, BadArgument) else str(error)
        refuse(where, f".{message}" if message.startswith(tuple(names)) else f": {message}")


def product(arguments: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the arguments with every sweep replaced by each of its values, where the last sweep varies fastest."""
    for name, value in arguments.items():
        if isinstance(value, Sweep):
            for v in value:
                yield from product({**arguments, name: v})
            return
    yield dict(arguments)
