"""Reading the TOML of an experiment from a file or from the package, and changing it with `--set`."""

import os
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from jaxbandit.support import decimals, reading
from jaxbandit.support.refusals import SHOWN, nearest, refuse


def embedded_files() -> dict[str, Path]:
    """Return the TOML files that come with the package, by name."""
    folder = Path(str(resources.files("jaxbandit.lab.papers") / "experiments"))
    return {path.stem: path for path in sorted(folder.glob("*.toml"))}


def about(path: Path) -> str:
    """Return the paper that an embedded TOML reproduces, its title and year, or the comment on its first line.

    It adds whether none of the paper's claims was compared with its text.
    """
    if paper := read(path).get("paper"):
        quoted = not any("read" in claim for claim in paper["claim"])
        return f"{paper['title']} ({paper['year']})" + "; quoted, not verified" * quoted
    return path.read_text(encoding="utf-8").partition("\n")[0].lstrip("# ")


def locate(spec: str | Path) -> Path:
    """Return the path of a TOML file, or of the one of that name that comes with the package."""
    path = Path(spec)
    if path.suffix == ".toml" or os.path.exists(path) or len(path.parts) != 1:
        return path
    names = embedded_files()
    if str(spec) not in names:
        remedy = "give a TOML file, or an experiment that jaxbandit list --kind experiment names"
        refuse(str(spec), f": no such file; {remedy}{nearest(spec, names)}")
    return names[str(spec)]


def read(path: Path) -> dict[str, Any]:
    """Return the content of a TOML file."""
    content = reading.text(str(path), path, "a TOML file")
    try:
        return reading.toml_of(content)
    except ValueError as error:
        refuse(str(path), f": not valid TOML: {error}")


def copy(content: Any) -> Any:
    """Return the content of a TOML file that is given as mappings and sequences of any kind, such as OmegaConf's."""
    if isinstance(content, Mapping):
        return {key: copy(value) for key, value in content.items()}
    if hasattr(content, "tolist"):  # of NumPy
        return content.tolist()
    if isinstance(content, Sequence) and not isinstance(content, str | bytes):
        return [copy(value) for value in content]
    return content


def override(data: dict[str, Any], text: str) -> None:
    """Change the content of a TOML file in place, as `--set` does.

    The text is `key=value`, `algorithm.NAME.key=value` or `instance.NAME.key=value`, where NAME may also be the number
    of the table, from 0. It is TOML, so a name that contains a dot must be quoted; a bare word is read as a string.
    """
    where = f"--set {text if len(text) <= SHOWN else text[:SHOWN] + '...'}"
    key, equals, value = text.partition("=")
    if not equals:
        refuse(where, ": must be key=value, for instance algorithm.kl.c=3.0")
    word = value.strip()
    if word.replace("_", "").isalnum() and word[:1].isalpha() and not _is_toml(f"x={word}"):
        value = f'"{word}"'
    try:
        tree = reading.toml_of(f"{key}={value}")
    except ValueError as error:
        refuse(where, f": not valid TOML: {error}; write for instance 3, 0.5 or [1, 2]")
    [(top, rest)] = tree.items() if len(tree) == 1 else refuse(where, ": must set one key")
    if top not in ("instance", "algorithm"):
        data[top] = rest
        return
    items = data.get(top, [])
    if not isinstance(rest, dict) or not isinstance(items, list):
        refuse(where, f": must be {top}.NAME.key=value, NAME being a name or number of [[{top}]]")
    [(name, keys)] = rest.items()
    names = [default_name(item) if isinstance(item, dict) else "" for item in items]
    if name in names:
        at = names.index(name)
    elif (number := decimals.integer(name)) is not None and 0 <= number < len(items):
        at = number
    else:
        refuse(where, f": no {top} {name!r}, must be one of {', '.join(names)}{nearest(name, names)}")
    if not isinstance(keys, dict) or not isinstance(items[at], dict):
        refuse(where, f": must be {top}.{name}.key=value")
    items[at] |= keys


def default_name(table: Mapping[str, Any]) -> str:
    """Return the name of an [[instance]] or [[algorithm]]; without one, its type or the name of its outside factory."""
    type_ = str(table.get("type", ""))
    return str(table.get("name", type_ if type_.endswith(")") else type_.rpartition(":")[2]))


def _is_toml(text: str) -> bool:
    try:
        reading.toml_of(text)
    except ValueError:
        return False
    return True
