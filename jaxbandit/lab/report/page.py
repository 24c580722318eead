"""The page of a report: sections of charts, figures and tables in one HTML file that refers to nothing outside it."""

import base64
import hashlib
from collections.abc import Iterable
from importlib import resources
from typing import TYPE_CHECKING

from jaxbandit.lab.report import parts
from jaxbandit.lab.report.charts import Chart, shared
from jaxbandit.lab.report.vectors import figure_title, inline_svg
from jaxbandit.support.markup import Html, join, tag
from jaxbandit.support.types import Json

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MARK = "<!doctype html>\n<!-- jaxbandit report -->\n"  # the first lines of every report
UPLOT = "uplot-1.6.32.html"


class Page:
    """A page to which sections are added. Its charts and figures are numbered in the order in which they are made."""

    def __init__(self, title: str, about: Iterable[str]):
        self.title = title
        self._about = list(about)
        self._sections: list[tuple[str, Html]] = []
        self._charts: list[Json] = []
        self._figures = 0
        self.notes: list[str] = []  # what is drawn or tabulated in part only

    def add(self, heading: str, *content: str | None) -> None:
        """Add a section, unless it has no content."""
        inner = join(content)
        if inner:
            self._sections.append((heading, inner))

    def chart(self, chart: Chart, *below: str | None) -> Html | None:
        """Return a chart followed by `below`, or `below` alone if no curve has a point; None if both are empty.

        The chart is drawn by JavaScript, and is hidden if JavaScript does not run.
        """
        content = chart.content()
        if not content["curves"]:
            return join(below) or None
        self._charts.append(content)
        number = len(self._charts) - 1
        plot = tag("div", class_="plot", data_chart=number, hidden=True)
        return join([tag("figure", tag("figcaption", chart.title), plot, class_="chart"), *below])

    def figure(self, figure: "Figure") -> Html:
        """Return a matplotlib figure as SVG. JavaScript folds it on the screen and unfolds it for printing."""
        title = figure_title(figure)
        svg = inline_svg(figure, title, self._figures)
        self._figures += 1
        inner = tag("figure", svg, tag("figcaption", title))
        return parts.details("Figure for printing", inner, is_open=True, class_="print")

    def render(self) -> bytes:
        """Return the bytes of the HTML file."""
        style, script = _asset("report.css"), _asset("report.js")
        vendored = _asset(UPLOT)
        notice, _, rest = vendored.partition("<style>")
        plot_style, _, rest = rest.partition("</style>")
        plot_script = rest.partition("<script>")[2].rpartition("</script>")[0]
        scripts = (plot_script, script) if self._charts else ()
        policy = "default-src 'none'; style-src 'unsafe-inline'; script-src " + (
            " ".join(map(_digest, scripts)) or "'none'"
        )
        head = [
            tag("meta", charset="utf-8"),
            tag("meta", http_equiv="Content-Security-Policy", content=policy),
            tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
            tag("meta", name="color-scheme", content="light dark"),
            tag("meta", name="generator", content="jaxbandit report"),
            tag("title", f"{self.title} · jaxbandit"),
            tag("style", Html((plot_style if scripts else "") + style)),
        ]
        links = [tag("li", tag("a", name, href=f"#s{i}")) for i, (name, _) in enumerate(self._sections)]
        navigation = tag("nav", tag("ul", *links), aria_label="Sections")
        sections = [
            tag("section", tag("h2", name), content, id=f"s{i}") for i, (name, content) in enumerate(self._sections)
        ]
        header = tag("header", tag("h1", self.title), *(tag("p", line) for line in self._about))
        body = [header, navigation, tag("main", *sections)]
        if scripts:
            body.append(parts.embedded_json("charts", shared(self._charts)))
            body.append(Html(notice))
            body += [Html(f"<script>{one}</script>") for one in scripts]
        document = tag("html", tag("head", *head), tag("body", *body), lang="en")
        return f"{MARK}{document}\n".encode()


def _asset(name: str) -> str:
    return (resources.files("jaxbandit.lab.report") / "assets" / name).read_text(encoding="utf-8")


def _digest(script: str) -> str:
    """Return the digest of a script for the page's security policy, so that no other script runs."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
