"""What a result shows, said once: text, the HTML of notebooks, JSON and the report are written from its Document.

A class of results derives from `Describable` and defines `describe`; `str`, HTML for notebooks and `to_json` follow:

    class Coin(Describable):
        def describe(self, *, detail: bool = False) -> Document:
            blocks = [
                Table(("side", "flips"), [("heads", "7"), ("tails", "3")], right=(1,)),
                Notes(("the flips are independent",), "assumptions"),
                fold("where these numbers come from", Facts({"seed": 0})),
            ]
            if detail:  # what only a report has room for: charts, figures, sections, long tables
                chart = Chart("Share of heads", "flip", "share", [Curve("heads", 0, x, y, low, high)])
                blocks.append(Section("Course", [chart]))
            return Document("a coin: 7 heads in 10 flips", blocks, {"heads": 7, "flips": 10})

Numbers become text once, in `describe`. `data` holds the numbers themselves, as `--json` prints them; a key whose value
is not known is absent (`finite` leaves it out).

| block | text | notebook | report |
|---|---|---|---|
| `Table` | aligned columns, its notes below | table, its notes below | the same; it scrolls |
| `Notes` | lines; with a heading, a list or a hanging paragraph | small lines | paragraph; several lines are a list |
| `Facts` | `name: value` | table of two columns | list of definitions |
| `Section` | its heading, and its blocks | the same | `h2`, with a link at the top of the page |
| `Section`, folded | nothing | unfolded on demand | unfolded on demand |
| `Chart`, `Figure`, `Verbatim` | nothing | nothing | interactive curves, SVG, text of fixed width |
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from jaxbandit.support import text as texts
from jaxbandit.support.markup import Html, html_table, tag

LOG_FROM = 8.0  # an axis is logarithmic if its largest value is at least this multiple of its smallest
Numbers = Sequence[float] | np.ndarray


class Table(NamedTuple):
    """A table. Columns that are empty in every row are left out of the report.

    Attributes:
      head: headings of the columns; empty: no row of headings, which only HTML can show.
      rows: cells of each row, as many as there are headings.
      right: columns of numbers, which are flush right.
      labels: columns from the left that name the row, and that a text repeats where it divides a wide table; 0: a text
        never divides it.
      caption: what the table holds; not shown in a text.
      notes: lines below the table.
    """

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    right: Collection[int] = ()
    labels: int = 1
    caption: str = ""
    notes: Sequence[str] = ()


class Notes(NamedTuple):
    """Lines of prose, each a remark of its own; without lines nothing is shown."""

    lines: Sequence[str]
    heading: str = ""
    beside: bool = False  # whether a text has the lines beside the heading, and not in a list below it


class Facts(NamedTuple):
    """Values by name; those that are None or "" are left out."""

    entries: Mapping[str, object]


class Curve(NamedTuple):
    """A curve of a chart, with a confidence band if `low` and `high` are given."""

    label: str
    order: int | None  # its number, for the color; None: a reference line
    x: Numbers
    y: Numbers
    low: Numbers | None = None
    high: Numbers | None = None


class Chart(NamedTuple):
    """Curves over a shared axis. The values are also in a table beside it: a chart needs JavaScript."""

    title: str
    x: str
    y: str
    curves: Sequence[Curve]
    shape: str = "line"  # "line", "step" (constant after each point) or "marks" (points with intervals)
    log_x: bool | None = False  # initial state; None: the axis cannot be made logarithmic
    log_y: bool | None = False
    names: Sequence[str] = ()  # labels of the positions 0, 1, 2, ... along x


class Figure(NamedTuple):
    """A matplotlib figure for printing."""

    figure: Any


class Verbatim(NamedTuple):
    """Text in a fixed width, such as a file."""

    content: str


class Section(NamedTuple):
    """Blocks under a heading; with `is_folded`, unfolded on demand."""

    heading: str
    blocks: Sequence["Block | None"]
    is_folded: bool = False


Block = Table | Notes | Facts | Chart | Figure | Verbatim | Section


@dataclass(frozen=True)
class Document:
    """What an object shows.

    Attributes:
      title: the object in one line.
      blocks: what follows, in order; None is left out.
      data: the object as data for JSON, whose arrays may be NumPy's.
    """

    title: str
    blocks: Sequence[Block | None] = ()
    data: Mapping[str, Any] = field(default_factory=dict)


class Describable:
    """A class whose objects say by `describe` what they show."""

    def describe(self, *, detail: bool = False) -> Document:
        """Return what the object shows; with `detail`, all that a report has room for."""
        raise NotImplementedError

    def to_json(self) -> dict[str, Any]:
        """Return the object as plain data for JSON; keys that do not apply are absent."""
        return plain(self.describe().data)

    def __str__(self) -> str:
        return as_text(self.describe())

    def _repr_html_(self) -> str:
        return as_html(self.describe())


def fold(heading: str, *blocks: Block | None) -> Section:
    """Return blocks that a reader unfolds on demand, and that a text leaves out."""
    return Section(heading, blocks, is_folded=True)


def table_of(rows: Sequence[Sequence[tuple[str, str]]], left: Collection[str], **more: Any) -> Table:
    """Return the table of rows of (heading, cell), whose columns are flush right unless their heading is in `left`."""
    head = [heading for heading, _ in rows[0]] if rows else []
    right = [i for i, heading in enumerate(head) if heading not in left]
    return Table(head, [[cell for _, cell in row] for row in rows], right, **more)


def as_text(document: Document) -> str:
    """Return a document as text; notes without a heading that come first stand right below the title."""
    first = document.blocks[0] if document.blocks else None
    near = first.lines if isinstance(first, Notes) and not first.heading else ()
    title = "\n".join(map(texts.printable, [document.title, *near]))
    return "\n\n".join(filter(None, [title, blocks_as_text(document.blocks[bool(near) :])]))


def blocks_as_text(blocks: Iterable[Block | None]) -> str:
    """Return blocks as text, with an empty line between them; "" if none of them has a text."""
    return "\n\n".join(filter(None, map(_text, blocks)))


def _text(block: Block | None) -> str:
    match block:
        case Table(head=head, rows=rows) if head:
            table = texts.align([head, *rows], block.right, block.labels)
            return "\n".join([table, *map(texts.printable, block.notes)])
        case Notes(lines=[_, *_]):
            lines = list(map(texts.printable, block.lines))
            if block.beside:
                return texts.wrapped(block.heading, *lines)
            return "\n".join([f"{block.heading}:", *(f"- {line}" for line in lines)] if block.heading else lines)
        case Facts():
            return "\n".join(f"{name}: {texts.printable(str(value))}" for name, value in entries_of(block).items())
        case Section(is_folded=False):
            inner = blocks_as_text(block.blocks)
            return f"{block.heading}\n\n{inner}" if inner else ""
    return ""


def as_html(document: Document) -> str:
    """Return what a notebook shows of an object; it sets no color, and so is legible on light and on dark pages."""
    return tag("div", tag("p", tag("strong", document.title)), *map(_html, document.blocks))


def _html(block: Block | None) -> Html | None:
    match block:
        case Table():
            labels, caption = max(block.labels, 1), block.caption or None
            table = html_table(block.head, block.rows, caption=caption, labels=labels, right=block.right)
            return tag("div", table, *map(_small, block.notes))
        case Notes(lines=[_, *_]):
            heading = [f"{block.heading.strip()}:"] if block.heading else []
            return tag("div", *map(_small, dict.fromkeys([*heading, *block.lines])))
        case Facts():
            return html_table((), entries_of(block).items())
        case Section():
            inner = "".join(filter(None, map(_html, block.blocks)))
            title = tag("summary" if block.is_folded else "p", block.heading)
            return tag("details" if block.is_folded else "div", title, Html(inner)) if inner else None
    return None


def _small(line: str) -> Html:
    return tag("div", tag("small", line))


def entries_of(facts: Facts) -> dict[str, object]:
    """Return the facts that have a value."""
    return {name: value for name, value in facts.entries.items() if value not in (None, "")}


def plain(value: Any) -> Any:
    """Return `value` as plain data for JSON: NumPy scalars and arrays become Python numbers and lists."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value.tolist() if hasattr(value, "tolist") else value


def finite(entries: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entries that are known: neither None nor a number that is not finite; in lists these become None."""

    def is_unknown(value: Any) -> bool:
        return value is None or (isinstance(value, float) and not np.isfinite(value))

    some = {name: value for name, value in entries.items() if not is_unknown(value)}
    return {
        name: [None if is_unknown(x) else x for x in value] if isinstance(value, list) else value
        for name, value in some.items()
    }


def even_positions(length: int, points: int) -> np.ndarray:
    """Return at most `points` evenly spaced positions below `length`, including the first and the last."""
    return np.unique(np.linspace(0, length - 1, min(points, length)).round().astype(int))


def is_wide(values: Numbers) -> bool:
    """Return whether values are positive and span so large a range that a logarithmic axis shows them better."""
    values = np.asarray(values, np.float64)
    return bool(len(values) and values.min() > 0 and values.max() >= LOG_FROM * values.min())
