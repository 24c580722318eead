"""HTML made of tags whose text is escaped unless it is HTML already, and JSON that may stand inside HTML."""

import html
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

# Characters that HTML and XML cannot hold: controls but tab and newline, and halves of surrogate pairs.
UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
LONG = 44  # characters of a cell that stay on one line
EMPTY = ("meta", "br")  # tags that have no end


class Html(str):
    """Text that is HTML already; every other string is escaped where it enters a document."""


def printable(value: Any) -> str:
    """Return text with a replacement character for each character that HTML cannot hold."""
    return UNPRINTABLE.sub("\ufffd", str(value))


def escaped(value: Any) -> Html:
    """Return a value as HTML: itself if it is HTML, otherwise its text with every special character escaped."""
    return value if isinstance(value, Html) else Html(html.escape(printable(value), quote=True))


def tag(name: str, /, *children: Any, **attributes: Any) -> Html:
    """Return an element; `class_` is the attribute class, `aria_label` aria-label, and True an attribute alone."""
    told = {key.rstrip("_").replace("_", "-"): value for key, value in attributes.items()}
    given = [
        f" {key}" if value is True else f' {key}="{escaped(value)}"'
        for key, value in told.items()
        if value is not None and value is not False
    ]
    inner = join(children)
    return Html(f"<{name}{''.join(given)}>" + ("" if name in EMPTY else f"{inner}</{name}>"))


def join(children: Iterable[Any]) -> Html:
    """Return pieces one after the other, each escaped unless it is HTML."""
    return Html("".join(escaped(child) for child in children if child is not None))


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
    right = {kept.index(i): "n" for i in numbers if i in kept}
    head, rows = [head[i] for i in kept], [[row[i] for i in kept] for row in rows]
    first = tag("tr", *(tag("th", title, scope="col", class_=right.get(i)) for i, title in enumerate(head)))
    body = [
        tag(
            "tr",
            *(
                tag("th", cell, scope="row", class_=_look(cell))
                if i < labels
                else tag("td", cell, class_=right.get(i) or _look(cell))
                for i, cell in enumerate(row)
            ),
        )
        for row in rows
    ]
    inner = tag("table", tag("caption", caption), tag("thead", first), tag("tbody", *body))
    note = None if foot is None else tag("p", foot, class_="note")
    return join([tag("div", inner, class_="scroll", tabindex=0, role="region", aria_label=caption), note])


def _look(cell: Any) -> str | None:
    """The class of a cell whose text is so long that it is broken into lines."""
    return "w" if len(str(cell)) > LONG else None


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
