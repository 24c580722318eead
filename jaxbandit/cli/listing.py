"""What `jaxbandit list` prints; it needs no package of an extra."""

import json
from typing import Any

from jaxbandit.specs import source


def listing() -> dict[str, list[dict[str, Any]]]:
    """Return algorithms, environments and embedded experiments, with one line each."""
    from jaxbandit.specs.registry import ALGORITHMS, ENVIRONMENTS, PROBLEM_DATA, WRAPPERS

    found: dict[str, list[dict[str, Any]]] = {}
    for title, entries, hidden in (
        ("algorithms", ALGORITHMS, PROBLEM_DATA),
        ("wrappers", WRAPPERS, ()),
        ("environments", ENVIRONMENTS, ()),
    ):
        found[title] = [
            {
                "name": entry.name,
                "arguments": [name for name in entry.arguments if name not in hidden],
                "summary": entry.summary,
            }
            for entry in entries.values()
        ]
    found["papers"] = [{"name": name, "summary": source.about(path)} for name, path in source.embedded().items()]
    return found


def show(as_json: bool) -> None:
    """Print the listing as text, or as one JSON document."""
    found = listing()
    if as_json:
        print(json.dumps(found, indent=1))
        return
    for title, rows in found.items():
        print(title)
        for row in rows:
            head = row["name"] + (f"({', '.join(row['arguments'])})" if row.get("arguments") else "")
            print(f"  {head:<40}  {row['summary']}")
