"""The report: a Document as one HTML file that refers to nothing outside it."""

import base64
import hashlib
import io
import json
import re
from collections.abc import Iterable
from importlib import resources
from typing import Any

from jaxbandit.lab.report.charts import content_of
from jaxbandit.support.document import (
    Block,
    Chart,
    Document,
    Facts,
    Figure,
    Notes,
    Section,
    Table,
    Verbatim,
    entries_of,
)
from jaxbandit.support.extras import lab
from jaxbandit.support.markup import UNPRINTABLE, Html, html_table, join, tag

MARK = "<!doctype html>\n<!-- jaxbandit report -->\n"  # the first lines of every report
UPLOT = "uplot-1.6.32.html"
LONG = 44  # largest number of characters of a table cell that is kept on one line
COORDINATES = re.compile(r' (?:d|x|y|points|transform)="[^"<>]*"')
DECIMALS = re.compile(r"(\.\d)\d+")  # of a coordinate, whose unit is 1/72 inch


def html_of(document: Document) -> bytes:
    """Return the bytes of the HTML file of a document.

    Its sections have a link at the top; notes without a heading that come first stand below the title. Charts are drawn
    by JavaScript, and are hidden if it does not run.
    """
    page = _Page()
    first, *others = [*document.blocks, None]
    about = first.lines if isinstance(first, Notes) and not first.heading else ()
    blocks = others if about else document.blocks
    sections = [block for block in blocks if isinstance(block, Section) and not block.is_folded]
    lead = page.join(block for block in blocks if block not in sections)
    contents = [(section.heading, page.join(section.blocks)) for section in sections]
    contents = [(heading, inner) for heading, inner in contents if inner]
    links = [tag("li", tag("a", heading, href=f"#s{i}")) for i, (heading, _) in enumerate(contents)]
    body = [
        tag("header", tag("h1", document.title), *(tag("p", line) for line in about)),
        tag("nav", tag("ul", *links), aria_label="Sections"),
        tag("main", lead, *(tag("section", tag("h2", name), x, id=f"s{i}") for i, (name, x) in enumerate(contents))),
    ]
    style, scripts = _asset("report.css"), []
    if page.charts:
        notice, _, rest = _asset(UPLOT).partition("<style>")
        plot_style, _, rest = rest.partition("</style>")
        scripts = [rest.partition("<script>")[2].rpartition("</script>")[0], _asset("report.js")]
        style = plot_style + style
        body += [
            _data_block("charts", page.charts),
            Html(notice),
            *(Html(f"<script>{one}</script>") for one in scripts),
        ]
    allowed = " ".join(map(_digest, scripts)) or "'none'"
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src {allowed}"
    head = [
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="generator", content="jaxbandit report"),
        tag("title", f"{document.title} · jaxbandit"),
        tag("style", Html(style)),
    ]
    return f"{MARK}{tag('html', tag('head', *head), tag('body', *body), lang='en')}\n".encode()


class _Page:
    """The blocks of a page as HTML; its charts and figures are numbered in the order in which they come."""

    def __init__(self) -> None:
        self.charts: list[dict[str, Any]] = []
        self.figures = 0

    def join(self, blocks: Iterable[Block | None]) -> Html:
        return join(map(self.html, blocks))

    def html(self, block: Block | None) -> Html | None:
        match block:
            case Table(rows=[_, *_]):
                return _table(block)
            case Notes(lines=[line], heading=""):
                return tag("p", line)
            case Notes(lines=[_, *_] as lines):
                heading = tag("h3", block.heading) if block.heading else None
                return join([heading, tag("ul", *(tag("li", line) for line in dict.fromkeys(lines)))])
            case Facts():
                pairs = entries_of(block).items()
                return tag("dl", *(join([tag("dt", name), tag("dd", value)]) for name, value in pairs))
            case Verbatim():
                return tag("pre", block.content)
            case Chart() if content := content_of(block):
                self.charts.append(content)
                plot = tag("div", class_="plot", data_chart=len(self.charts) - 1, hidden=True)
                return tag("figure", tag("figcaption", block.title), plot, class_="chart")
            case Figure():
                return self._figure(block.figure)
            case Section():
                inner = self.join(block.blocks)
                if block.is_folded:
                    return tag("details", tag("summary", block.heading), inner) if inner else None
                return join([tag("h3", block.heading), inner]) if inner else None
        return None

    def _figure(self, figure: Any) -> Html:
        """Return a matplotlib figure as SVG. JavaScript folds it on the screen and unfolds it for printing."""
        title = "; ".join(filter(None, (ax.get_title(loc="left") for ax in figure.axes)))
        inner = tag("figure", _svg(figure, title, self.figures), tag("figcaption", title))
        self.figures += 1
        return tag("details", tag("summary", "Figure for printing"), inner, open=True, class_="print")


def _svg(figure: Any, title: str, number: int) -> Html:
    """Return a figure as an <svg> element whose ids differ from those of the page's other figures."""
    with lab():
        import matplotlib

    file = io.BytesIO()  # texts stay texts, so that they can be searched
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": f"jaxbandit {number}"}):
        figure.savefig(file, format="svg", bbox_inches="tight", pad_inches=0.1, metadata={"Date": None})
    text = UNPRINTABLE.sub("\ufffd", file.getvalue().decode())
    root, _, inner = text[text.index("<svg") :].partition(">")
    inner = re.sub(r"<metadata>.*?</metadata>|<style[^>]*>.*?</style>", "", inner, flags=re.DOTALL)
    inner = COORDINATES.sub(lambda match: DECIMALS.sub(r"\1", match[0]).replace(" \n", " "), inner)
    inner = re.sub(r'<g id="[^"]*"', "<g", inner.replace("xlink:href", "href"))
    view = re.search(r'viewBox="([^"]*)"', root)
    opening = tag("svg", viewBox=view[1] if view else None, role="img", aria_label=title).removesuffix("</svg>")
    return Html(f"{opening}{inner}")


def _table(table: Table) -> Html:
    """Return a table that scrolls inside its own container if the page is narrow. Empty columns are left out."""
    columns = [i for i in range(len(table.head)) if i < table.labels or any(row[i] != "" for row in table.rows)]
    cells = [[_cell(row[i]) for i in columns] for row in table.rows]
    right = {columns.index(i) for i in table.right if i in columns}
    head, caption = [table.head[i] for i in columns], table.caption or None
    inner = html_table(head, cells, caption=caption, labels=max(table.labels, 1), right=right, styled=False)
    notes = [tag("p", note, class_="note") for note in table.notes]
    return join([tag("div", inner, class_="scroll", tabindex=0, role="region", aria_label=caption), *notes])


def _cell(text: str) -> str:
    """Return a cell whose text may be broken into lines if it is long."""
    return tag("span", text, class_="w") if len(text) > LONG else text


def _data_block(name: str, content: Any) -> Html:
    """Return data for a script as a block of JSON, escaped so that no text inside it can end the block."""
    text = json.dumps(content, allow_nan=False, separators=(",", ":"))  # ASCII alone
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Html(f'<script type="application/json" id="{name}">{text}</script>')


def _asset(name: str) -> str:
    return (resources.files("jaxbandit.lab.report") / "assets" / name).read_text(encoding="utf-8")


def _digest(script: str) -> str:
    """Return the digest of a script for the page's security policy, so that no other script runs."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
