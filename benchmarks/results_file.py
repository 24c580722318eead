"""Write a table of RESULTS.md, or of another page, between its two marks, and leave the prose around it unchanged."""

import datetime
import os
import re
from pathlib import Path

RESULTS = Path(__file__).with_name("RESULTS.md")


class NoPlace(Exception):
    """RESULTS.md has no marks for a part; the message is one line."""


def begin(part: str) -> str:
    """Return the mark before a part's table."""
    return f"<!-- {part}: written by `python -m benchmarks {part} --write` -->"


def end(part: str) -> str:
    """Return the mark after a part's table."""
    return f"<!-- end of {part} -->"


def parts(path: Path | None = None) -> list[str]:
    """Return the parts that have marks in the file, in its order."""
    return re.findall(r"^<!-- (\w+): written by ", (path or RESULTS).read_text(encoding="utf-8"), re.MULTILINE)


def write(part: str, about: str, text: str, path: Path | None = None) -> None:
    """Replace the text between a part's marks by this table and a line with the machine, the date and the load."""
    replace(part, f"```text\n{about}; {today()}\n\n{text}\n```", path or RESULTS)


def today() -> str:
    """Return the date and the load, which stand beside every measurement."""
    return f"{datetime.date.today()}; load {os.getloadavg()[0]:.1f}"


def replace(part: str, block: str, path: Path) -> None:
    """Replace what is between a part's marks in a file by a block of Markdown."""
    old = path.read_text(encoding="utf-8")
    before, first, rest = old.partition(begin(part))
    _, last, after = rest.partition(end(part))
    if not (first and last):
        raise NoPlace(f"{path.name}: no place for {part}, must hold {begin(part)} and {end(part)}")
    replacement = path.with_suffix(".tmp")
    replacement.write_text(f"{before}{first}\n{block}\n{last}{after}", encoding="utf-8")
    replacement.replace(path)
