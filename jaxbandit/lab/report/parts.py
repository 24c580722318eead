"""Parts of a page: tables that scroll, details, lists, and JSON that can be embedded in HTML."""

import json
from collections.abc import Iterable, Mapping, Sequence

from jaxbandit.support.markup import Html, html_table, join, tag
from jaxbandit.support.types import Json

LONG = 44  # largest number of characters of a table cell that is kept on one line


def table(
    caption: str,
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    labels: int = 1,
    numbers: Iterable[int] = (),
    foot: str | None = None,
) -> Html:
    """Return a table that scrolls inside its own container if the page is narrow. Empty columns are left out.

    Args:
      caption: the caption.
      head: headings of the columns.
      rows: cells of each row, as many as there are headings.
      labels: number of columns, from the left, that name the row.
      numbers: indices of the columns that are aligned to the right.
      foot: a note below the table, or None.
    """
    rows = [list(row) for row in rows]
    columns = [i for i in range(len(head)) if i < labels or not rows or any(row[i] != "" for row in rows)]
    right = {columns.index(i) for i in numbers if i in columns}
    cells = [[_broken(row[i]) for i in columns] for row in rows]
    headings = [head[i] for i in columns]
    inner = html_table(headings, cells, caption=caption, labels=labels, right=right, styled=False)
    note = None if foot is None else tag("p", foot, class_="note")
    return join([tag("div", inner, class_="scroll", tabindex=0, role="region", aria_label=caption), note])


def _broken(cell: str) -> str:
    """Return a cell whose text may be broken into lines if it is long."""
    return tag("span", cell, class_="w") if len(cell) > LONG else cell


def details(summary: str, *children: str | None, is_open: bool = False, class_: str | None = None) -> Html:
    """Return content that the reader can fold and unfold; with `is_open`, it is unfolded at first."""
    return tag("details", tag("summary", summary), *children, open=is_open, class_=class_)


def definitions(pairs: Mapping[str, object]) -> Html:
    """Return names and values as a list of definitions."""
    return tag("dl", *(join([tag("dt", name), tag("dd", value)]) for name, value in pairs.items()))


def bullets(lines: Iterable[str]) -> Html | None:
    """Return lines as a bulleted list, or None if there are none."""
    items = [tag("li", line) for line in lines]
    return tag("ul", *items) if items else None


def embedded_json(name: str, content: Json) -> Html:
    """Return data for a script as a block of JSON, escaped so that no text inside it can end the block."""
    text = json.dumps(content, allow_nan=False, separators=(",", ":"))  # ASCII alone
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Html(f'<script type="application/json" id="{name}">{text}</script>')
