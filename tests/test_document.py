"""What a result shows is said once, as a Document: its text, its HTML in a notebook and its JSON."""

import json
from xml.etree import ElementTree

import numpy as np

from jaxbandit.support.document import (
    Chart,
    Curve,
    Describable,
    Document,
    Facts,
    Figure,
    Notes,
    Section,
    Table,
    Verbatim,
    as_html,
    as_text,
    even_positions,
    finite,
    fold,
    is_wide,
    plain,
)

HOSTILE = "<script>alert('&')</script>"
UNSEEN = (Chart("chart", "x", "y", [Curve("curve", 0, [1], [2])]), Figure(object()), Verbatim("verbatim"))


class Coin(Describable):
    def describe(self, *, detail=False):
        table = Table(("side", "flips"), [("heads", "7"), ("tails", "13")], right=(1,), notes=("of 20",))
        blocks = [Notes(("a fair one",)), table, None, Notes(("one", "two"), "assumptions"), Notes((), "empty")]
        blocks += [Facts({"seed": 0, "name": "", "place": None}), fold("more", Notes(("hidden",))), *UNSEEN]
        blocks += [Section("Section", [Notes(("inner",))]), Section("Nothing", [Notes(())])]
        return Document("a coin", blocks, {"flips": np.array([7, 13]), "share": np.float64(0.35)})


def test_the_text_of_a_document():
    assert str(Coin()) == (
        "a coin\na fair one\n\n"
        "side   flips\n------------\nheads      7\ntails     13\nof 20\n\n"
        "assumptions:\n- one\n- two\n\nseed: 0\n\nSection\n\ninner"
    )
    beside = Document("t", [Notes(("one", "two"), "Assumes", beside=True)])
    assert as_text(beside) == "t\n\nAssumes  one\n         two"
    assert as_text(Document("only")) == "only"


def test_a_text_does_not_command_the_terminal():
    blocks = [Notes(["\x1b[2J"]), Table(["\x1b"], [["\x1b"]], notes=["\x1b"]), Notes(["\x1b"], "h", beside=True)]
    blocks += [Notes(["\x1b"], "h"), Facts({"a": "\x1b"})]
    shown = as_text(Document("\x1b", blocks))
    assert "\x1b" not in shown and shown.count("\\x1b") == 8


def test_a_notebook_shows_what_is_folded_too_and_neither_charts_nor_figures():
    elements = ElementTree.fromstring(Coin()._repr_html_())
    words = " ".join(" ".join(elements.itertext()).split())
    assert words == (
        "a coin a fair one side flips heads 7 tails 13 of 20 assumptions: one two seed 0 more hidden Section inner"
    )
    assert " ".join(elements.find(".//details").itertext()) == "more hidden"
    assert next(cell.get("style") for cell in elements.iter("td")) == "text-align: right"


def test_everything_that_enters_html_is_escaped():
    blocks = [Table([HOSTILE], [[HOSTILE]], caption=HOSTILE, notes=[HOSTILE]), Notes([HOSTILE], HOSTILE)]
    shown = as_html(Document(HOSTILE, [*blocks, Facts({HOSTILE: HOSTILE}), fold(HOSTILE, *blocks)]))
    assert "<script" not in shown and shown.count("&lt;script&gt;alert(&#x27;&amp;&#x27;)&lt;/script&gt;") == 16
    assert 'style="color' not in shown and "background" not in shown  # the page's own colors, light or dark


def test_json_is_plain_data():
    assert Coin().to_json() == {"flips": [7, 13], "share": 0.35}
    assert json.dumps(plain({1: (np.int32(2), None)})) == '{"1": [2, null]}'
    assert finite({"a": None, "b": np.inf, "c": [1.0, np.nan], "d": 0, "e": ""}) == {"c": [1.0, None], "d": 0, "e": ""}


def test_points_are_thinned_evenly_and_axes_of_a_large_range_are_wide():
    assert even_positions(9, 3).tolist() == [0, 4, 8] and even_positions(2, 5).tolist() == [0, 1]
    assert is_wide([1.0, 8.0]) and not any(map(is_wide, ([1.0, 7.9], [0.0, 8.0], [])))
