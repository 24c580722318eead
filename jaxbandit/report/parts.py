"""Parts of a page: tables that scroll, details, lists, and JSON that may stand inside HTML."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from jaxbandit.markup import Html, html_table, join, tag

LONG = 44  # characters of a cell that stay on one line


def table(
    caption: Any,
    head: Sequence[Any],
    rows: Iterable[Sequence[Any]],
    *,
    labels: int = 1,
    numbers: Iterable[int] = (),
    foot: Any = None,
) -> Html:
    """Return a table that scrolls inside its own container where the page is narrow; empty columns are left out.

    Args:
      caption: what the table holds.
      head: titles of the columns.
      rows: cells of each row, as many as `head`.
      labels: how many columns at the left name the row.
      numbers: columns that are aligned to the right.
      foot: a note below the table.
    """
    rows = [list(row) for row in rows]
    kept = [i for i in range(len(head)) if i < labels or not rows or any(row[i] != "" for row in rows)]
    right = {kept.index(i) for i in numbers if i in kept}
    shown = [[_broken(row[i]) for i in kept] for row in rows]
    headings = [head[i] for i in kept]
    inner = html_table(headings, shown, caption=caption, labels=labels, right=right, styled=False)
    note = None if foot is None else tag("p", foot, class_="note")
    return join([tag("div", inner, class_="scroll", tabindex=0, role="region", aria_label=caption), note])


def _broken(cell: Any) -> Any:
    """A cell whose text is so long that it is broken into lines."""
    return tag("span", cell, class_="w") if len(str(cell)) > LONG else cell


def details(summary: Any, *children: Any, opened: bool = False, class_: str | None = None) -> Html:
    """Return what is unfolded on demand; open it is shown without JavaScript, and a script may fold it."""
    return tag("details", tag("summary", summary), *children, open=opened, class_=class_)


def definitions(pairs: Mapping[str, Any]) -> Html:
    """Return names with their values as a list of definitions."""
    return tag("dl", *(join([tag("dt", name), tag("dd", value)]) for name, value in pairs.items()))


def bullets(lines: Iterable[Any]) -> Html | None:
    """Return lines as a list; None where there is none."""
    items = [tag("li", line) for line in lines]
    return tag("ul", *items) if items else None


def embedded_json(name: str, content: Any) -> Html:
    """Return data for a script as a block of JSON that no text inside it can end."""
    text = json.dumps(content, allow_nan=False, separators=(",", ":"))  # ASCII alone
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Html(f'<script type="application/json" id="{name}">{text}</script>')
