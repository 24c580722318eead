"""Matplotlib figures as small SVG elements inside an HTML page, with ids and classes that differ between figures."""

import io
import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from jaxbandit.support.extras import lab
from jaxbandit.support.markup import UNPRINTABLE, Html

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PLACES = 1  # decimals of a coordinate, whose unit is 1/72 inch
MANY = 20  # from this number on, equal dots are drawn as one path
COORDINATES = ("x", "y", "width", "height", "transform", "points")
DROPPED = ("metadata", "style", "title")  # the rules of matplotlib's `style` would apply to the whole page
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")
REFERENCE = re.compile(r"url\(#([^)]*)\)")
COMMAND = re.compile(r"([A-Za-z])([^A-Za-z]*)")


def inline_svg(figure: "Figure", description: str, order: int) -> Html:
    """Return a figure as an <svg> element.

    Args:
      figure: a matplotlib figure.
      description: alternative text.
      order: number of the figure on the page, with which its ids and classes begin.
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
    _tidy(root)
    _merge_dots(root)
    _rename(root, f"f{order}-")
    _share_styles(root, f"f{order}-")
    root.attrib.update({"viewBox": view, "role": "img", "aria-label": UNPRINTABLE.sub("\ufffd", description)})
    return Html(ElementTree.tostring(root, encoding="unicode", short_empty_elements=False))


def figure_title(figure: "Figure") -> str:
    """Return the titles of a figure's axes on one line."""
    return "; ".join(filter(None, (ax.get_title(loc="left") for ax in figure.axes)))


def _tidy(node: ElementTree.Element) -> None:
    """Shorten a tree in place: tags without namespaces, rounded coordinates, no ids of groups, no empty groups."""
    node.tag = _bare(node.tag)
    for key in list(node.attrib):
        value, name = node.attrib.pop(key), _bare(key)
        if name == "d":
            value = _path(value)
        elif name == "style":
            value = "; ".join(part for part in value.split("; ") if not part.startswith("font-family"))
        elif name in COORDINATES:
            value = "" if value.startswith("rotate(-0 ") else NUMBER.sub(lambda match: _short(float(match[0])), value)
        if value and not (name == "id" and node.tag == "g"):
            node.set(name, value)
    for child in list(node):
        if not isinstance(child.tag, str) or _bare(child.tag) in DROPPED:
            node.remove(child)
            continue
        _tidy(child)
    children: list[ElementTree.Element] = []
    for child in node:
        bare = child.tag == "g" and not child.attrib
        children += list(child) if bare else [child]
    node[:] = [child for child in children if len(child) or child.tag not in ("defs", "g")]
    if node.tag not in ("text", "tspan"):
        node.text = None
    node.tail = None


def _merge_dots(root: ElementTree.Element) -> None:
    """Replace many equal round markers by one path whose segments have length 0 and round ends."""
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


def _rename(root: ElementTree.Element, prefix: str) -> None:
    """Number the ids of a figure, with a prefix that no other figure of the page has, and the references to them."""
    ids = {node.get("id", ""): f"{prefix}{i}" for i, node in enumerate(node for node in root.iter() if node.get("id"))}
    for node in root.iter():
        for key, value in node.attrib.items():
            if key == "id":
                node.set(key, ids[value])
            elif key == "href":
                node.set(key, f"#{ids[value[1:]]}")
            elif "url(#" in value:
                node.set(key, REFERENCE.sub(lambda match: f"url(#{ids[match[1]]})", value))


def _share_styles(root: ElementTree.Element, prefix: str) -> None:
    """Replace styles by classes of one style sheet inside the figure; a marker's own style needs no repetition."""
    own = {f"#{node.get('id')}": node.get("style", "") for node in root.iter("path") if node.get("id")}
    for use in root.iter("use"):
        repeated = own.get(use.get("href", ""), "").split("; ")
        left = "; ".join(part for part in use.attrib.pop("style", "").split("; ") if part not in repeated)
        if left:
            use.set("style", left)
    names: dict[str, str] = {}
    for node in root.iter():
        if style := node.attrib.pop("style", ""):
            node.set("class", names.setdefault(style, f"{prefix}{chr(97 + len(names) % 26)}{len(names) // 26 or ''}"))
    sheet = ElementTree.Element("style")
    sheet.text = "".join(f".{name}{{{style.replace(': ', ':').replace('; ', ';')}}}" for style, name in names.items())
    root.insert(0, sheet)


def _bare(name: str) -> str:
    return name.rpartition("}")[2]


def _short(value: float) -> str:
    text = f"{value:.{PLACES}f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def _path(text: str) -> str:
    """Return a path with rounded coordinates. Lines are relative to the rounded point before, so that no error adds up.

    A line that is parallel to an axis names one coordinate, and one that rounds to nothing is left out.
    """
    commands: list[str] = []
    command = ""
    x = y = 0  # the point before, in units of the last decimal
    start = 0, 0
    for name, numbers in COMMAND.findall(text):
        point = [round(float(number) * 10**PLACES) for number in numbers.split()]
        if name == "L":
            dx, dy = point[0] - x, point[1] - y
            if not dx and not dy:
                continue
            new, values = ("v", [dy]) if not dx else ("h", [dx]) if not dy else ("l", [dx, dy])
        else:
            new, values = name, point
        shown = " ".join(_short(value / 10**PLACES) for value in values)
        if new == "l":
            shown = re.sub(r"(?<!\d)0\.", ".", shown).replace(" -", "-")
        commands.append(shown if new == command and shown[0] == "-" else f" {shown}" if new == command else new + shown)
        x, y = point[-2:] if point else start
        start = (x, y) if name == "M" else start
        command = new
    return "".join(commands)
