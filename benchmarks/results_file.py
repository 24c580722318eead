"""Tables of RESULTS.md are written by the command that measures them, between two marks; prose around them stays."""

import datetime
import os
import re
from pathlib import Path

RESULTS = Path(__file__).with_name("RESULTS.md")


class NoPlace(Exception):
    """One line: RESULTS.md has no marks for a part."""


def begin(part: str) -> str:
    """The mark before a part's table."""
    return f"<!-- {part}: written by `python -m benchmarks {part} --write` -->"


def end(part: str) -> str:
    """The mark behind it."""
    return f"<!-- end of {part} -->"


def parts(path: Path | None = None) -> list[str]:
    """The parts that have a place in the file, in its order."""
    return re.findall(r"^<!-- (\w+): written by ", (path or RESULTS).read_text(encoding="utf-8"), re.MULTILINE)


def write(part: str, about: str, text: str, path: Path | None = None) -> None:
    """Replace what stands between a part's marks by this table and where it was measured."""
    path = path or RESULTS
    old = path.read_text(encoding="utf-8")
    before, first, rest = old.partition(begin(part))
    _, last, after = rest.partition(end(part))
    if not (first and last):
        raise NoPlace(f"{path.name}: no place for {part}, must hold {begin(part)} and {end(part)}")
    found = f"{first}\n```text\n{about}; {datetime.date.today()}; load {os.getloadavg()[0]:.1f}\n\n{text}\n```\n{last}"
    replacement = path.with_suffix(".tmp")
    replacement.write_text(before + found + after, encoding="utf-8")
    replacement.replace(path)
