"""Tables of values as text."""

from jaxbandit.support.text import tabulate


def test_a_table_of_values_has_formats_functions_and_empty_cells():
    rows = [
        {"name": "a", "mean": 1.25, "more": {"low": 2.0}, "note": "odd"},
        {"name": "longer", "mean": 12.5, "more": {"low": None}},
        {"name": "b", "mean": None, "more": {}},
    ]
    columns = ("rule", "{name}"), ("mean", "{mean:.2f}"), ("low", "{more[low]:.1f}")
    text = tabulate(rows, *columns, ("length", lambda row: str(len(row["name"]))), ("<note", "{note}"))
    assert text.splitlines() == [
        "rule     mean  low  length  note",
        "--------------------------------",
        "a        1.25  2.0       1  odd",
        "longer  12.50            6",
        "b                        1",
    ]
    both = tabulate(rows[:1], *columns[:2], labels=2).splitlines()[-1], tabulate(rows[:1], *columns[:2], labels=0)
    assert both[0] == "a     1.25" and both[1].splitlines()[-1] == "   a  1.25"
