"""Docstrings of the package, which are plain text under Google's headings, as reStructuredText."""

import re
from collections.abc import Callable, Iterable

CODE = re.compile(r"`([^`]+)`")
HEADING = re.compile(r"(Args|Returns|Raises):$")
ENTRY = re.compile(r"  ([\w*][\w, *]*): ?(.*)")
ITEM = re.compile(r"(- |\* |\(?\d+[.)] )")
LED = re.compile(r"(Guarantee|Sources?|Proved|Measured|Args, Returns, Raises(?:, Source)?|Returns, Raises, Source):")


def converted(lines: Iterable[str], link: Callable[[str], str]) -> list[str]:
    """Return a docstring's lines as reStructuredText; `link` turns what stands in backticks into a role or literal."""
    found: list[str] = []
    for block in _blocks(list(lines)):
        heading = HEADING.match(block[0])
        if heading:
            found += _fields(heading[1], block[1:], link)
        else:
            found += _paragraph(block, link)
        found.append("")
    return found


def _blocks(lines: list[str]) -> list[list[str]]:
    """Return paragraphs, and sections of a heading with all that is indented below it."""
    blocks: list[list[str]] = []
    section = False
    for line in (line.rstrip() for line in lines):
        if HEADING.match(line):
            blocks.append([line])
            section = True
        elif section and (line.startswith("  ") or not line):
            blocks[-1].append(line)
        elif not line:
            blocks.append([])
            section = False
        else:
            if section or not blocks:
                blocks.append([])
            section = False
            blocks[-1].append(line)
    return [block for block in blocks if any(block)]


def _fields(heading: str, lines: list[str], link: Callable[[str], str]) -> list[str]:
    if heading == "Returns":
        return [":returns: " + _text(" ".join(line.strip() for line in lines if line), link)]
    entries: list[list[str]] = []
    for line in filter(None, lines):
        entry = ENTRY.match(line)
        if entry:
            entries.append([entry[1], entry[2]])
        elif entries:
            entries[-1].append(line.strip())
        else:
            entries.append(["", line.strip()])
    found = []
    for name, *text in entries:
        names = ", ".join(f"**{escaped(part)}**" for part in name.split(", ")) if name else ""
        body = _text(" ".join(filter(None, text)), link)
        if heading == "Raises":
            found.append(f":raises {name}: {body}")
        elif "," in name or not name:
            found.append(f":Parameters: {names}: {body}" if name else f":Parameters: {body}")
        else:
            found.append(f":param {escaped(name)}: {body}")
    return found


def _paragraph(lines: list[str], link: Callable[[str], str]) -> list[str]:
    """Return a paragraph, or a list; lines that only go on a sentence lose their indentation."""
    found: list[str] = []
    for line in lines:
        if ITEM.match(line):
            item = re.sub(r"^\((\d+)\) ", r"(\1) ", line)
            found += ["", item[:2] + _text(item[2:], link)]
        elif found and found[-1].startswith(("- ", "* ")):
            found[-1] += " " + _text(line.strip(), link)
        else:
            found.append(_text(line.strip() if found else line, link))
    if led := LED.match(found[0]):
        found[0] = f"**{led[1]}.**" + found[0][led.end() :]
    return found


def _text(text: str, link: Callable[[str], str]) -> str:
    parts = CODE.split(text)
    # A literal needs a space or punctuation on both sides: escaped spaces separate and do not show.
    return "".join(escaped(part) if i % 2 == 0 else f"\\ {link(part)}\\ " for i, part in enumerate(parts))


def escaped(text: str) -> str:
    """Return plain text with what reStructuredText would read as markup escaped."""
    return re.sub(r"([\\*|`]|_(?=\W|$))", r"\\\1", text)
