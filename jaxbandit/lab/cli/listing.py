"""The output of `jaxbandit list`, which needs none of the optional packages."""

import json
import textwrap
from typing import Any

from jaxbandit.lab.specs import facts, source

WIDTH, INDENT = 80, 29
HEADINGS = {  # group -> its heading
    "simulate": 'algorithms for a fixed horizon (kind = "simulate")',
    "identify": 'algorithms that stop by their rule or after a budget (kind = "identify")',
    "wrapper": 'wrappers of algorithms, as in type = "delayed(kl_ucb)"',
    "environment": "environments",
    "experiment": "embedded experiments",
}
KEYS = {"simulate": "algorithms", "identify": "algorithms", "wrapper": "wrappers"}  # of the JSON document
KEYS |= {"environment": "environments", "experiment": "papers"}


def listing(kind: str | None = None) -> dict[str, list[dict[str, Any]]]:
    """Return algorithms, wrappers, environments and embedded experiments, or one group of HEADINGS, one line each."""
    found: dict[str, list[dict[str, Any]]] = {}
    for group in HEADINGS if kind is None else (kind,):
        found.setdefault(KEYS[group], []).extend(_group(group))
    return found


def _group(group: str) -> list[dict[str, Any]]:
    from jaxbandit.lab.specs.registry import ALGORITHMS, ENVIRONMENTS, PROBLEM_DATA, WRAPPERS

    if group == "experiment":
        return [{"name": name, "summary": source.about(path)} for name, path in source.embedded().items()]
    entries = {"wrapper": WRAPPERS, "environment": ENVIRONMENTS}.get(group, ALGORITHMS)
    hidden = PROBLEM_DATA if entries is ALGORITHMS else ()
    return [
        {
            "name": entry.name,
            "arguments": [name for name in entry.arguments if name not in hidden],
            "summary": entry.summary,
        }
        | ({"kind": entry.kind, "setting": facts.facts()[entry.name].setting} if entries is ALGORITHMS else {})
        for entry in entries.values()
        if entries is not ALGORITHMS or entry.kind == group
    ]


def show(as_json: bool, kind: str | None = None) -> None:
    """Print the listing as text of at most 80 columns, or as one JSON document."""
    if as_json:
        print(json.dumps(listing(kind), indent=1))
        return
    for group in HEADINGS if kind is None else (kind,):
        print(HEADINGS[group])
        rows = _group(group)
        for setting, heading in [*facts.SETTINGS.items(), (None, "")]:
            some = [row for row in rows if row.get("setting") == setting]
            if some and heading:
                print(f" {heading}:")
            for row in some:
                _print(row)
    if kind is None:
        print("`jaxbandit show NAME` prints arguments, a line of Python and a TOML example")


def _print(row: dict[str, Any]) -> None:
    lines = textwrap.wrap(row["summary"], WIDTH - INDENT)
    print(f"  {row['name']:<{INDENT - 4}}  {lines[0]}")
    for line in lines[1:]:
        print(" " * INDENT + line)
