"""Matplotlib figures as SVG that stands inside an HTML page: small, and without a name that another figure has."""

import io
import re
from typing import Any
from xml.etree import ElementTree

from jaxbandit.extras import lab
from jaxbandit.markup import UNPRINTABLE, Html

PLACES = 1  # decimals of a coordinate, in points of 1/72 inch
MANY = 20  # equal dots, from which on they are one path
COORDINATES = ("x", "y", "width", "height", "transform", "points")
DROPPED = ("metadata", "style", "title")  # `style` would hold for the whole page; report.css has its rules
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")
COMMAND = re.compile(r"([A-Za-z])([^A-Za-z]*)")


def inline_svg(figure: Any, description: str, order: int) -> Html:
    """Return a figure as an <svg> element.

    Args:
      figure: a matplotlib figure.
      description: what it shows, for readers who do not see it.
      order: number of the figure in its page, which its ids begin with.
    """
    with lab():
        import matplotlib

    file = io.BytesIO()
    # Texts stay texts, so that they can be searched and are short.
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "jaxbandit"}):
        figure.savefig(file, format="svg", bbox_inches="tight", pad_inches=0.1, metadata={"Date": None})
    root = ElementTree.fromstring(UNPRINTABLE.sub("\ufffd", file.getvalue().decode()))
    view = root.get("viewBox", "")
    root.attrib.clear()
    _tidy(root, f"figure{order}-")
    _merge_dots(root)
    root.attrib.update({"viewBox": view, "role": "img", "aria-label": UNPRINTABLE.sub("\ufffd", description)})
    return Html(ElementTree.tostring(root, encoding="unicode", short_empty_elements=False))


def figure_title(figure: Any) -> str:
    """Return the titles of a figure's axes in one line."""
    return "; ".join(filter(None, (ax.get_title(loc="left") for ax in figure.axes)))


def _tidy(node: ElementTree.Element, prefix: str) -> None:
    """Shorten a tree in place: bare tags, rounded coordinates, ids that are referred to alone, dots as one path."""
    node.tag = _bare(node.tag)
    for key in list(node.attrib):
        value, name = node.attrib.pop(key), _bare(key)
        if name == "id":
            value = prefix + value
        elif name == "href":
            value = f"#{prefix}{value[1:]}"
        elif name == "d":
            value = _path(value)
        elif name == "style":
            value = "; ".join(part for part in value.split("; ") if not part.startswith("font-family"))
        elif name in COORDINATES:
            value = "" if value.startswith("rotate(-0 ") else NUMBER.sub(lambda found: _short(float(found[0])), value)
        if value and not (name == "id" and node.tag == "g"):
            node.set(name, value.replace("url(#", f"url(#{prefix}"))
    for child in list(node):
        if not isinstance(child.tag, str) or _bare(child.tag) in DROPPED:
            node.remove(child)
            continue
        _tidy(child, prefix)
    children: list[ElementTree.Element] = []
    for child in node:
        bare = child.tag == "g" and not child.attrib
        children += list(child) if bare else [child]
    node[:] = [child for child in children if len(child) or child.tag not in ("defs", "g")]
    if node.tag not in ("text", "tspan"):
        node.text = None
    node.tail = None


def _merge_dots(root: ElementTree.Element) -> None:
    """Draw many equal round markers as one path, whose pieces of length 0 have round ends."""
    markers = {f"#{path.get('id')}": path.get("d", "") for path in root.iter("path") if path.get("id")}
    for group in root.iter("g"):
        dots = group.findall("use")
        looks = {(dot.get("href", ""), dot.get("style", "")) for dot in dots}
        if len(dots) < MANY or len(looks) > 1:
            continue
        ((marker, look),) = looks
        shape = markers.get(marker, "")
        style = dict(part.split(": ") for part in look.split("; ") if ": " in part)
        if "C" not in shape:  # not round
            continue
        width = 2 * max(abs(float(number)) for number in NUMBER.findall(shape)) + float(style.get("stroke-width", 0))
        ink = f"fill: none; stroke: {style.get('stroke', '#000')}; stroke-width: {_short(width)}; stroke-linecap: round"
        d = "".join(f"M{dot.get('x')} {dot.get('y')}h0" for dot in dots)
        group[:] = [ElementTree.Element("path", {"d": d, "style": ink})]


def _bare(name: str) -> str:
    return name.rpartition("}")[2]


def _short(value: float) -> str:
    text = f"{value:.{PLACES}f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def _path(text: str) -> str:
    """Return a path with rounded coordinates, none repeated: lines along an axis name the other coordinate alone."""
    found: list[str] = []
    before: list[str] = []
    command = ""
    for name, numbers in COMMAND.findall(text):
        point = [_short(float(number)) for number in numbers.split()]
        new = name
        if name == "L":
            if point == before:
                continue
            new = "V" if point[0] == before[0] else "H" if point[1] == before[1] else "L"
        shown = " ".join({"V": point[1:], "H": point[:1]}.get(new, point))
        found.append(f" {shown}" if new == command or (new == "L" and command == "M") else f"{new}{shown}")
        before, command = point[-2:] or before, new
    return "".join(found)
