"""Comparison of two directories of results, or of single results in them that are given by their names."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from jaxbandit.engine.rounds.metrics import MEASURES
from jaxbandit.running.results import names
from jaxbandit.running.results.base import Result
from jaxbandit.running.results.compare import Comparison, compare
from jaxbandit.running.results.loading import load_results
from jaxbandit.support.document import Describable, Document, Notes, table_of
from jaxbandit.support.refusals import BadInput


@dataclass(frozen=True)
class PlacesComparison(Describable):
    """Comparisons of the cells that two places share, and the names of the cells that only one of them has."""

    a: str
    b: str
    comparisons: tuple[Comparison, ...]
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]

    def describe(self, *, detail: bool = False) -> Document:
        """Return a table of the comparisons with one row each."""
        first = self.comparisons[0].quantity
        counts = first in ("samples", "restricted samples")
        what, where = "samples" if counts else first, "at most" if counts or first == "error" else "round"
        digits = 2 if counts or first in MEASURES else 4
        which = ("a", "b") if any(c.a != c.b for c in self.comparisons) else ("result",)
        pairs = [
            (f"{c.runs} pairs" if c.paired else f"unpaired, {c.reason}")
            + (f", {c.left_out} left out" if c.left_out else "")
            + (f", {c.doubt}" if c.doubt else "")
            for c in self.comparisons
        ]
        rounds = any(c.at is not None for c in self.comparisons)
        rows = [
            [
                *zip(which, (c.a, c.b), strict=False),
                ("", c.verdict),
                (
                    "difference a - b",
                    f"{c.difference:+.{digits + 1}f} [{', '.join(_end(end, digits + 1) for end in (c.low, c.high))}]",
                ),
                *([(where, "" if c.at is None else str(c.at))] if rounds else []),
                (f"{what} a", f"{c.mean_a:,.{digits}f}"),
                (f"{what} b", f"{c.mean_b:,.{digits}f}"),
                *([("runs", each)] if len(set(pairs)) > 1 else []),
            ]
            for c, each in zip(self.comparisons, pairs, strict=True)
        ]
        apart = ((self.a, self.only_a), (self.b, self.only_b))
        notes = [f"intervals of {100 * self.comparisons[0].confidence:g} %"]
        notes += [f"runs: {pairs[0]}"] if len(set(pairs)) == 1 else []
        notes += [f"only in {name}: {', '.join(cells)}" for name, cells in apart if cells]
        data = {
            "schema": 1,
            "a": self.a,
            "b": self.b,
            "comparisons": [c.to_json() for c in self.comparisons],
            "only_a": list(self.only_a),
            "only_b": list(self.only_b),
        }
        table = table_of(rows, (*which, "", "difference a - b", "runs"), labels=len(which), notes=notes)
        return Document(f"a = {self.a}", [Notes([f"b = {self.b}"]), table], data)


def compare_places(
    a: str | Path,
    b: str | Path,
    *,
    what: str | None = None,
    at: int | None = None,
) -> PlacesComparison:
    """Compare two directories of results cell by cell, or two single results.

    A place is a directory of results, or one of its results written as DIR/instance/algorithm or, in a sweep,
    DIR/instance/algorithm?parameter=value. Cells with the same instance, algorithm and parameters are compared. If an
    instance has no such cells and each place has a single algorithm there, these two are compared.

    Raises:
      ValueError: a place is incomplete, or the two have nothing in common that can be compared.
    """
    places = _place(a), _place(b)
    sets = first, second = places[0].results, places[1].results
    called = places[0].names | places[1].names
    if any(place.single for place in places):
        pairs = [(x, y) for x in first for y in second]
    else:
        pairs = [(x, y) for x in first for y in second if _cell(x) == _cell(y)]
        matched = {x.instance for x, _ in pairs}
        for instance in dict.fromkeys(r.instance for r in first):
            single = [[r for r in results if r.instance == instance] for results in sets]
            if instance not in matched and all(len(results) == 1 for results in single):
                pairs.append((single[0][0], single[1][0]))
    if not pairs:
        have = [", ".join(place.names.values()) for place in places]
        raise BadInput(f"compare: the two have nothing in common; {a} holds {have[0]}; {b} holds {have[1]}")
    only = [
        tuple(called[id(r)] for r in results if not any(r is pair[side] for pair in pairs))
        for side, results in enumerate(sets)
    ]
    comparisons = tuple(replace(compare(x, y, what=what, at=at), a=called[id(x)], b=called[id(y)]) for x, y in pairs)
    return PlacesComparison(str(a), str(b), comparisons, *only)


def _end(value: float, digits: int) -> str:
    return f"{value:+.{digits}f}" if math.isfinite(value) else "?"


class _Place(NamedTuple):
    """The results at a place."""

    results: Sequence[Result]
    names: dict[int, str]  # by id, unique within the directory
    single: bool  # whether it is a single result of a directory


def _place(where: str | Path) -> _Place:
    path = Path(where)
    if path.is_dir():
        results = load_results(path)
        return _Place(results, _named(results), single=False)
    text = str(where)
    cuts = [i for i, letter in enumerate(text.partition("?")[0]) if letter == "/"]
    for cut in reversed(cuts):
        if Path(text[:cut]).is_dir() and any(Path(text[:cut]).glob("cell-*.json")):
            results = load_results(text[:cut])
            matches = names.found(results, text[cut + 1 :])
            if len(matches) == 1:
                return _Place(matches, _named(results), single=True)
            known = ", ".join(names.addresses(results))
            raise BadInput(f"compare: {where} names {len(matches)} results, must name one of {known} in {text[:cut]}")
    raise BadInput(f"compare: {where}: is no directory of results; give DIR, or DIR/instance/algorithm?parameter=value")


def _named(results: Sequence[Result]) -> dict[int, str]:
    return dict(zip(map(id, results), names.addresses(results), strict=True))


def _cell(result: Result) -> tuple[str, str, str]:
    return result.instance, result.algorithm, repr(sorted(result.params.items()))
