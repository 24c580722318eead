"""Formatting of numbers and tables as text, and lines on stderr."""

import contextlib
import math
import shutil
import sys
import textwrap
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

LEAST_WIDTH = 80


MANY = 16  # different names, from which on rows are sorted by their numbers
INTERVAL = "95 % interval"  # the heading of a column that belongs to the one before it


def align(rows: Sequence[Sequence[str]], right: Collection[int] = (), keys: int = 0) -> str:
    """Return rows, of which the first has the headings, as an aligned table.

    Columns in `right` are flush right. A table that is too wide for the screen is divided into several, each with the
    first `keys` columns; with 0 it is not divided.
    """
    rows = [[printable(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    parts = _parts(rows[0], widths, keys, room()) if keys else [list(range(len(widths)))]
    return "\n\n".join(_columns(rows, widths, right, part) for part in parts)


def tabulate(
    rows: Iterable[Mapping[str, Any]], *columns: tuple[str, str | Callable[[Any], str]], labels: int = 1
) -> str:
    """Return rows of values as an aligned table.

    Args:
      *columns: the heading of a column, and a format of a row's values, such as "{mean:.2f}", or a function of the row.
        Where a value is missing, or None with a format of its own, the cell is empty. A column is flush right unless
        its heading begins with "<".
    """
    heads, forms = zip(*columns, strict=True)
    right = [i for i, head in enumerate(heads) if i >= labels and not head.startswith("<")]
    cells = [[_cell(row, form) for form in forms] for row in rows]
    return align([[head.removeprefix("<") for head in heads], *cells], right)


def _cell(row: Mapping[str, Any], form: str | Callable[[Any], str]) -> str:
    if not isinstance(form, str):
        return form(row)
    try:
        return form.format_map(row)
    except (KeyError, TypeError):  # a value that is missing, or None
        return ""


def printable(text: str) -> str:
    """Return a text with escapes such as `\\x1b` in place of what a terminal obeys instead of showing it."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def is_ranking(names: Iterable[str]) -> bool:
    """Return whether rows with these names, such as algorithms, are sorted by their numbers: there are many."""
    return len(set(names)) >= MANY


def room() -> int:
    """Return the columns of the screen; 80 where there is none, or where it has fewer."""
    return max(LEAST_WIDTH, shutil.get_terminal_size((LEAST_WIDTH, 24)).columns)


def wrapped(head: str, *texts: str) -> str:
    """Return a head with texts beside it, each on lines of its own that fit the screen."""
    indent = " " * (len(head) + 2)
    lines = [line for text in texts for line in textwrap.wrap(text, max(room() - len(indent), 20))]
    return "\n".join([f"{head}  {lines[0]}", *(indent + line for line in lines[1:])]) if lines else head


def say(line: str) -> None:
    """Print a line on stderr with the name of the package in front; nothing if stderr is closed.

    In Jupyter it goes to stdout, because stderr is shown there in the red of errors.
    """
    stream = sys.stdout if in_jupyter() else sys.stderr
    if stream is not None:  # print would take stdout instead
        with contextlib.suppress(OSError, ValueError):
            print(f"jaxbandit: {printable(line)}", file=stream, flush=True)


def in_jupyter() -> bool:
    """Return whether this process is the kernel of a notebook."""
    return "ipykernel.kernelapp" in sys.modules


def _parts(head: Sequence[str], widths: Sequence[int], keys: int, room: int) -> list[list[int]]:
    """Return the columns of each part; an interval stays beside its estimate."""
    groups: list[list[int]] = []
    for i in range(keys, len(head)):
        if groups and head[i] == INTERVAL:
            groups[-1].append(i)
        else:
            groups.append([i])
    parts = [list(range(keys))]
    for group in groups:
        wide = sum(widths[i] + 2 for i in [*parts[-1], *group]) - 2
        if wide > room and len(parts[-1]) > keys:
            parts.append([*range(keys), *group])
        else:
            parts[-1] += group
    return parts


def _columns(rows: Sequence[Sequence[str]], widths: Sequence[int], right: Collection[int], part: list[int]) -> str:
    lines = [
        "  ".join(row[i].rjust(widths[i]) if i in right else row[i].ljust(widths[i]) for i in part).rstrip()
        for row in rows
    ]
    return "\n".join([lines[0], "-" * max(map(len, lines)), *lines[1:]])


def number(value: float) -> str:
    """Return a number of samples as text, with commas and without decimals from a thousand on."""
    return f"{value:,.0f}" if abs(value) >= 1000 or value == int(value) else f"{value:.1f}"


def with_interval(value: float, low: float | None = None, high: float | None = None) -> str:
    """Return a number as text, with its interval if it has one; the width of the interval sets the decimals.

    A number below 1 % keeps two digits that mean something, however wide the interval is: 0.0030 and not 0.00. An end
    that is not finite is unknown and shown as "?".
    """
    if low is None or high is None or not (math.isfinite(low) or math.isfinite(high)):
        return f"{value:,.1f}" if abs(value) >= 1000 else f"{value:.4g}"
    half = (high - low) / 2 if math.isfinite(high - low) else min(abs(value - low), abs(value - high))
    places = 1 - round(math.log10(half)) if math.isfinite(half) and half > 0 else 1
    if 0 < abs(value) < 0.01:
        places = max(places, 1 - math.floor(math.log10(abs(value))))
    places = min(max(places, 0), 12)
    ends = [f"{end:,.{places}f}" if math.isfinite(end) else "?" for end in (low, high)]
    return f"{value:,.{places}f} [{', '.join(ends)}]"
