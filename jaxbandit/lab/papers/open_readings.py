"""Claims about an algorithm that the paper leaves ambiguous: each is checked under every reading of the algorithm.

[paper.readings] maps such an algorithm to the algorithms of the TOML file that may be meant, for each of which "{NAME}"
in a claim stands in turn.
"""

from collections.abc import Sequence

from jaxbandit.lab.papers import origins
from jaxbandit.support.refusals import BadInput, nearest
from jaxbandit.support.text import align
from jaxbandit.support.types import Json, Table

OPEN = ("algorithm", "against", "gap", "ratio")  # keys of a claim that name algorithms
Names = str | list["Names"]  # of one algorithm or of several
NO_READING = "(no reading)"  # the row of claims that do not depend on a reading


def each_reading(paper: Table) -> list[Json]:
    """Return the claims of the table [paper], one with a key `reading` for each reading of those that depend on it."""
    readings = paper.get("readings", {})
    claims = []
    for claim in paper.get("claim", []):
        names = {name for key in OPEN for name in _names_in_braces(claim.get(key))}
        for name in names:
            if name not in readings:
                known = f"{', '.join(readings) or 'none'}{nearest(name, readings)}"
                raise BadInput(f"claim {claim['id']}: reading {name!r}, must be one of {known}")
        if len(names) > 1:
            raise BadInput(f"claim {claim['id']}: readings {', '.join(sorted(names))}, must be of one algorithm")
        if not names:
            claims.append(dict(claim))
            continue
        (name,) = names
        for reading in readings[name]:
            filled = {key: _fill(claim[key], name, reading) for key in OPEN if key in claim}
            claims.append(dict(claim) | filled | {"reading": reading})
    return claims


def table(paper: Table, judged: Sequence[Table]) -> Json | None:
    """Return the verdicts by reading and claim: `claims` (ids), `rows` (reading -> verdicts, "" where none).

    None if the paper has no readings.
    """
    if not paper.get("readings"):
        return None
    claims = list(dict.fromkeys(claim["id"] for claim in judged))
    verdicts = {(claim.get("reading", NO_READING), claim["id"]): origins.verdict_of(claim) for claim in judged}
    rows = [*(reading for names in paper["readings"].values() for reading in names), NO_READING]
    shown = {row: [verdicts.get((row, claim), "") for claim in claims] for row in rows}
    return {"claims": claims, "rows": {row: cells for row, cells in shown.items() if any(cells)}}


def text(readings: Table) -> str:
    """Return the table as text."""
    rows = [("reading", *readings["claims"]), *((name, *cells) for name, cells in readings["rows"].items())]
    return f"readings by claims\n{align(rows)}"


def _names_in_braces(value: object) -> list[str]:
    values = value if isinstance(value, list) else [value]
    return [v[1:-1] for v in values if isinstance(v, str) and v.startswith("{") and v.endswith("}")]


def _fill(value: Names, name: str, reading: str) -> Names:
    if isinstance(value, list):
        return [_fill(item, name, reading) for item in value]
    return reading if value == f"{{{name}}}" else value
