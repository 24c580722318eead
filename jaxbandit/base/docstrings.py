"""Sections of docstrings, which are plain text under Google's headings."""

import re
import textwrap

TITLES = "Args|Returns|Raises|Yields|Guarantees?|Complexity|Sources?|References?|Notes?|Examples?|See also|Attributes"


def sections(doc: str) -> dict[str, str]:
    """Return the sections of a docstring by title, all that is before the first one under ""."""
    texts, title = {"": []}, ""
    for line in doc.splitlines():
        if match := re.match(rf"({TITLES}):(?: (.+))?$", line):
            title, line = match[1], match[2] or ""
            texts[title] = []
        texts[title].append(line)
    return {title: textwrap.dedent("\n".join(lines)).strip() for title, lines in texts.items()}


def meanings(text: str) -> dict[str, str]:
    """Return the meaning of each argument, on one line, from the section Args of a docstring."""
    found: dict[str, str] = {}
    name = ""
    for line in text.splitlines():
        if match := re.match(r"(\**\w+): (.*)", line):
            name, line = match[1], match[2]
            found[name] = ""
        if name:
            found[name] = f"{found[name]} {line.strip()}".strip()
    return found
