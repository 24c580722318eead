"""The rows of a table as text: cells separated by commas, semicolons or tabs, as RFC 4180 says, and nothing else.

Quotes are around a whole cell and doubled inside of one: a stray quote would make a cell of all rows up to the next.
"""

import csv
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from jaxbandit.support import reading
from jaxbandit.support.refusals import refuse, show

DELIMITERS = ",;\t"
QUOTES = "quotes must be around a whole cell, and a quote inside of one is doubled"


def read(where: str, path: Path, wanted: str) -> Iterator[tuple[int, list[str]]]:
    """Yield each row of a file that is not blank: the line on which it begins, counted from 1, and its cells.

    The delimiter is the one that is most frequent in the first line. Where the file cannot be read as UTF-8, a quote is
    where none may be, or a row has another number of cells than the first one, a BadInput names `where` and the line,
    and what is `wanted`.
    """
    text = reading.text(where, path, wanted, largest=reading.LARGEST_TABLE)
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        refuse(where, f": line {line}: has a null character, must be text; give {wanted}")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    first = text.partition("\n")[0]
    delimiter = max(DELIMITERS, key=first.count)
    taken: list[str] = []  # the lines of the row that is being read

    def lines() -> Iterator[str]:
        at = 0
        while at < len(text):
            end = text.find("\n", at) + 1 or len(text)
            taken.append(text[at:end])
            yield taken[-1]
            at = end

    reader, line, width = csv.reader(lines(), delimiter=delimiter, strict=True), 1, 0
    whole = _form(delimiter) if '"' in text else None
    while True:
        taken.clear()
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            cause = f"{error}; {QUOTES}" if '"' in taken[0] else str(error)
            refuse(f"{where}: line {line}", f": not CSV ({cause})")
        if whole is not None and '"' in (row := "".join(taken).removesuffix("\n")):
            if whole.fullmatch(row) is None:
                refuse(f"{where}: line {line}", f": a quote is in the middle of a cell; {QUOTES}")
            # A row of several lines each of which is a row by itself is one that a stray quote has made of them.
            if len(taken) > 1 and all(each.count(delimiter) == (width or len(cells)) - 1 for each in taken):
                end = f"the row would go on to line {line + len(taken) - 1}, although each line has {len(cells)} cells"
                refuse(f"{where}: line {line}", f": a quote is never closed: {end}; {QUOTES}")
        if cells:
            width = width or len(cells)
            if len(cells) != width:
                refuse(f"{where}: line {line}", f": has {len(cells)} cells, must have {width}, as the first line")
            yield line, cells
        line += len(taken)


def require_distinct(where: str, names: Sequence[str]) -> None:
    """Raise BadInput if two columns have the same name; columns without one have nothing to be confused with."""
    seen: set[str] = set()
    for name in filter(None, names):
        if name in seen:
            refuse(where, f": has a column {name!r} twice, its columns are {show(list(names))}; rename one of them")
        seen.add(name)


def _form(delimiter: str) -> re.Pattern[str]:
    """Return the form of a row whose quotes are where they may be."""
    cell = rf'(?:"(?:[^"]|"")*+"|[^"\n{delimiter}]*+)'
    return re.compile(rf"{cell}(?:{delimiter}{cell})*+")
