"""Tables of rows of values, which every benchmark writes in the same way."""

from collections.abc import Iterable, Mapping
from typing import Any

from jaxbandit.support.text import tabulate


def table(rows: Iterable[Mapping[str, Any]], columns: str, labels: int = 1) -> str:
    """Return rows as text; columns are given as "heading -> {value:.1f} | ...", and a value that is missing is blank.

    The first `labels` columns, and those whose heading begins with "<", are flush left.
    """
    pairs = (column.split("->") for column in columns.split("|"))
    return tabulate(rows, *((head.strip(), form.strip()) for head, form in pairs), labels=labels)
