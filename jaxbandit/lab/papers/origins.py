"""Where each number and claim of a paper's TOML file comes from: read, quoted from memory, or this project's own.

Every table of ENTRIES has exactly one of three keys, whose value names the place:

- `read`: somebody compared the entry with this place in the paper or in its authors' public programs. Only these are
  counted as what the paper published.
- `unverified`: the entry was quoted from memory and never compared with this place. It is shown as QUOTED, and it gets
  no interval and no verdict.
- `ours`: the paper does not say this. It gets a verdict, which is counted apart.
"""

from jaxbandit.support.refusals import BadInput
from jaxbandit.support.types import Json, Table

READ, UNVERIFIED, OURS = ORIGINS = ("read", "unverified", "ours")
ENTRIES = ("claim", "near", "share", "published", "untested")
QUOTED = "quoted, not verified"


def settle(paper: Table, file: str) -> Json:
    """Return the table [paper] of a TOML file, in which every entry has `source`, the place, and `origin`, the key.

    A computed table [paper.complexity.NAME] has a `source`, too, which has to be read. `file` is the name in messages.
    """
    content = dict(paper)
    for kind in ENTRIES:
        where = f"{file}: paper.{kind}"
        allowed = (OURS,) if kind == "near" else ORIGINS  # it is we who compare a group of numbers with ours
        entries = [_settle(entry, f"{where}[{i}]", allowed) for i, entry in enumerate(paper.get(kind, []))]
        content |= {kind: entries} if kind in paper else {}
    tables = {name: dict(table) for name, table in paper.get("complexity", {}).items()}
    for name, table in tables.items():
        tables[name] = _settle(table, f"{file}: paper.complexity.{name}", (READ,))
        del tables[name]["origin"]
    return content | ({"complexity": tables} if tables else {})


def _settle(entry: Table, where: str, allowed: tuple[str, ...]) -> Json:
    keys = [key for key in ORIGINS if key in entry]
    if len(keys) != 1 or keys[0] not in allowed:
        name = f" ({entry['id']})" if "id" in entry else ""
        raise BadInput(f"{where}{name}: has {' and '.join(keys) or 'no place'}, must have one of {', '.join(allowed)}")
    rest = {key: value for key, value in entry.items() if key not in ORIGINS}
    return rest | {"source": entry[keys[0]], "origin": keys[0]}


def is_quoted(entry: Table) -> bool:
    """Return whether an entry was quoted from memory and never compared with its source."""
    return entry.get("origin") == UNVERIFIED


def place(entry: Table) -> str:
    """Return the source of an entry in words, which say so if the paper is not the source."""
    source = entry.get("source", "")
    return f"{QUOTED}: {source}" if is_quoted(entry) else f"ours: {source}" if entry.get("origin") == OURS else source


def verdict_of(entry: Table) -> str:
    """Return the verdict on an entry in words."""
    return QUOTED if is_quoted(entry) else entry.get("verdict", "")
