"""HTML made of tags whose text is escaped, for notebooks and reports; without JavaScript."""

import html
import re
from collections.abc import Collection, Iterable, Sequence

# Characters that HTML and XML cannot hold: controls but tab and newline, and halves of surrogate pairs.
UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
EMPTY = ("meta", "br")  # tags that have no end


class Html(str):
    """Text that is HTML already; every other string is escaped where it enters a document."""


def printable(value: object) -> str:
    """Return text with a replacement character for each character that HTML cannot hold."""
    return UNPRINTABLE.sub("\ufffd", str(value))


def escaped(value: object) -> Html:
    """Return a value as HTML: itself if it is HTML, otherwise its text with every special character escaped."""
    return value if isinstance(value, Html) else Html(html.escape(printable(value), quote=True))


def tag(name: str, /, *children: object, **attributes: object) -> Html:
    """Return an element; `class_` is the attribute class, `aria_label` aria-label, and True an attribute alone."""
    pairs = {key.rstrip("_").replace("_", "-"): value for key, value in attributes.items()}
    texts = [
        f" {key}" if value is True else f' {key}="{escaped(value)}"'
        for key, value in pairs.items()
        if value is not None and value is not False
    ]
    return Html(f"<{name}{''.join(texts)}>" + ("" if name in EMPTY else f"{join(children)}</{name}>"))


def join(children: Iterable[object]) -> Html:
    """Return pieces one after the other, each escaped unless it is HTML; None is left out."""
    return Html("".join(escaped(child) for child in children if child is not None))


def html_table(
    headings: Sequence[object],
    rows: Iterable[Sequence[object]],
    *,
    caption: object = None,
    labels: int = 1,
    right: Collection[int] = (),
    styled: bool = True,
) -> Html:
    """Return a table; whatever is not HTML already is escaped.

    Without headings there is no row of them. The first `labels` columns name the row. Columns in `right` are flush
    right, by a style of each cell, or if not `styled` by the class "n" alone.
    """

    def cell(kind: str, i: int, content: object, scope: str | None) -> Html:
        flush = i in right
        style = f"text-align: {'right' if flush else 'left'}" if styled else None
        return tag(kind, content, scope=scope, class_="n" if flush else None, style=style)

    head = tag("thead", tag("tr", *(cell("th", i, title, "col") for i, title in enumerate(headings))))
    body = [
        tag("tr", *(cell("th", i, c, "row") if i < labels else cell("td", i, c, None) for i, c in enumerate(row)))
        for row in rows
    ]
    title = None if caption is None else tag("caption", caption)
    return tag("table", title, head if headings else None, tag("tbody", *body))
