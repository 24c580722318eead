"""The output of `jaxbandit list`, which needs none of the optional packages."""

import json
import textwrap
from typing import Any

from jaxbandit.base.declaration import SETTINGS
from jaxbandit.lab.cli import streams
from jaxbandit.lab.specs import source
from jaxbandit.lab.specs.entry import Entry
from jaxbandit.support.refusals import BadInput, refuse

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
Row = dict[str, Any]  # of the JSON document: name, summary and, unless it is an experiment, arguments


def listing(kind: str | None = None, package: str | None = None) -> dict[str, list[Row]]:
    """Return algorithms, wrappers, environments and embedded experiments, one line each.

    `kind` is one group of HEADINGS. A `package` outside this one is imported, and what it declares is listed instead.
    """
    content: dict[str, list[Row]] = {}
    for group, rows in _groups(kind, package).items():
        content.setdefault(KEYS[group], []).extend(rows)
    return content


def _groups(kind: str | None, package: str | None) -> dict[str, list[Row]]:
    """Return the rows of each group of HEADINGS, or of one."""
    from jaxbandit.lab.specs.references import declarations
    from jaxbandit.lab.specs.registry import ALGORITHMS, ENVIRONMENTS, WRAPPERS

    if package is None:
        entries = {"wrapper": [*WRAPPERS.values()], "environment": [*ENVIRONMENTS.values()]}
        algorithms = [*ALGORITHMS.values()]
    else:
        try:
            both = declarations(package)
        except BadInput as error:
            refuse("list: --from", f" = {package!r}, {error}")
        if not both:
            refuse("list: --from", f" = {package!r}, declares nothing; decorate its factories with jaxbandit.declare")
        entries = {"environment": [entry for entry in both if not entry.question]}
        algorithms = [entry for entry in both if entry.question]
    entries |= {group: [entry for entry in algorithms if entry.kind == group] for group in ("simulate", "identify")}
    groups = {group: [*map(_row, entries[group])] for group in HEADINGS if entries.get(group)}
    if package is None:
        groups["experiment"] = [
            {"name": name, "summary": source.about(path)} for name, path in source.embedded_files().items()
        ]
    return groups if kind is None else {kind: groups.get(kind, [])}


def _row(entry: Entry) -> Row:
    from jaxbandit.lab.specs.registry import PROBLEM_DATA

    hidden = PROBLEM_DATA if entry.question else ()
    row: Row = {
        "name": entry.name,
        "arguments": [name for name in entry.arguments if name not in hidden],
        "summary": entry.summary,
    }
    return row | ({"kind": entry.kind, "setting": entry.setting} if entry.question else {})


def show(as_json: bool, kind: str | None = None, package: str | None = None, word: str = "") -> None:
    """Print the listing as text of at most 80 columns, or as one JSON document.

    Names alone fit a screen; with a choice of them, each has its line.
    """
    if as_json:
        print(json.dumps(listing(kind, package), indent=1), file=streams.output())
        return
    brief, found = kind is None and package is None and not word, False
    for group, rows in _groups(kind, package).items():
        rows = [row for row in rows if word.lower() in f"{row['name']} {row['summary']}".lower()]
        found = found or bool(rows)
        if rows:
            print(HEADINGS[group])
        for setting, heading in [*SETTINGS.items(), (None, "")]:
            some = [row for row in rows if row.get("setting") == setting]
            if some and heading:
                print(f" {heading}:")
            if some and brief:
                names = "  ".join(row["name"] for row in some)
                print(textwrap.fill(names, WIDTH, initial_indent="  ", subsequent_indent="  "))
                continue
            for row in some:
                _print(row)
    if word and not found:
        refuse("list:", f" WORD = {word!r}, occurs in no name and no summary; jaxbandit list prints all names")
    if brief:
        print("`jaxbandit list WORD` describes those that have the word in their name or line")
    if kind is None:
        print("`jaxbandit show NAME` prints arguments, a line of Python and a TOML example")


def _print(row: Row) -> None:
    lines = textwrap.wrap(row["summary"], WIDTH - INDENT) or [""]
    name = row["name"]
    if len(name) > INDENT - 4:  # of a factory outside the package
        print(f"  {name}")
        name = ""
    print(f"  {name:<{INDENT - 4}}  {lines[0]}")
    for line in lines[1:]:
        print(" " * INDENT + line)
