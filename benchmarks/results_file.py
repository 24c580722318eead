"""Write a table between its two marks in RESULTS.md, in results/ or in another page, and leave the prose unchanged."""

import datetime
import os
import re
from pathlib import Path

RESULTS = Path(__file__).with_name("RESULTS.md")


class NoPlace(Exception):
    """No page has marks for a part; the message is one line."""


def begin(part: str) -> str:
    """Return the mark before a part's table."""
    return f"<!-- {part}: written by `python -m benchmarks {part} --write` -->"


def end(part: str) -> str:
    """Return the mark after a part's table."""
    return f"<!-- end of {part} -->"


def pages() -> list[Path]:
    """Return RESULTS.md and the pages in results/."""
    return [RESULTS, *sorted(RESULTS.with_name("results").glob("*.md"))]


def parts() -> list[str]:
    """Return the parts that have marks in a page."""
    texts = (path.read_text(encoding="utf-8") for path in pages())
    return [part for text in texts for part in re.findall(r"^<!-- (\w+): written by ", text, re.MULTILINE)]


def write(part: str, about: str, table: str) -> None:
    """Replace the text between a part's marks by this table and a line with the machine, the date and the load."""
    path = next((path for path in pages() if begin(part) in path.read_text(encoding="utf-8")), RESULTS)
    replace(part, f"```text\n{about}; {today()}\n\n{table}\n```", path)


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
