"""Names that are HTML, JavaScript, escape sequences or very long, in tables, figures and reports: text, or refused."""

import contextlib
import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import tomli_w

import jaxbandit as jb

from .outcomes import REFUSED, Failure, Said, call, checked
from .workshop import SPECS, Workshop

FAKE = "FORGED"
NAMES = [
    "</script><script>window.hit=1</script>",
    '<img src=x onerror="window.hit=1">',
    "<svg onload=window.hit=1>",
    "\"><iframe src='javascript:parent.hit=1'>",
    "</title><base href=//evil.example><b>",
    "<!--",
    "]]><x>",
    "&lt;b&gt;&#60;script&#62;window.hit=1&#60;/script&#62;",
    "${window.hit=1}{{window.hit=1}}",
    "' onmouseover='window.hit=1' x='",
    "</style><style>*{display:none}</style>",
    "javascript:window.hit=1",
    "\u2028window.hit=1//\u2029",
    "\x1b[2J\x1b[31mred",
    "\x1b]0;title\x07",
    "\x9b31m",
    "a\x00b",
    f"a\n{FAKE} row",
    f"a\r{FAKE} row",
    "a\tb",
    "\u202egnp.exe",
    "\u200b",
    "e\u0301" * 20,
    "$\\frac{$",
    "$\\undefined$",
    "%s %d {0} {x}",
    "=cmd|' /C calc'!A0",
    "../../../etc/passwd",
    "/etc/passwd",
    "con",
    ".",
    "..",
    "-rf",
    "x" * 5000,
    "é" * 60,
    "\U0001f4a9",
    "日本語",
    "a|b|c",
    "`id`$(id)",
]
KINDS = ("run", "identify", "session", "tune")


class Reader(HTMLParser):
    """The tags and attributes of a page."""

    def __init__(self, text: str):
        super().__init__()
        self.scripts: list[str] = []
        self.bad: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.bad += [f"{tag} {name}" for name, _ in attrs if name.startswith("on")]
        self.bad += [tag] * (tag in ("iframe", "base", "object", "embed"))
        self.bad += [f"{tag} {value}" for _, value in attrs if value and value.strip().startswith("javascript:")]


@contextlib.contextmanager
def opened_browser() -> Iterator[Any]:
    """A headless Chromium, or None where there is none."""
    import shutil

    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        chromium = None
    if chromium is None:
        yield None
        return
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--headless", "--no-sandbox"])
        yield browser
        browser.close()


def one(workshop: Workshop, number: int, chance: random.Random) -> str:
    """A name in one place of a specification; the command, its report, and the report in a browser."""
    import tomllib

    name, kind = NAMES[number % len(NAMES)], KINDS[(number + number // len(NAMES)) % len(KINDS)]
    scratch = workshop.scratch()
    for inner in ("configs.csv", "train_module.py"):
        (scratch / inner).write_text(SPECS[inner])
    spec = tomllib.loads(SPECS[f"{kind}.toml"])
    place = _name(spec, kind, name, chance)
    what = f"{kind}: {place} = {ascii(name)[:60]}"
    try:
        text = tomli_w.dumps(spec)
        (scratch / "spec.toml").write_text(text, encoding="utf-8")
    except (UnicodeError, ValueError):
        return REFUSED
    argv = {
        "run": ["run", "spec.toml", "--out", "d"],
        "identify": ["run", "spec.toml", "--out", "d"],
        "session": ["ask", "d", "spec.toml"],
        "tune": ["tune", "train_module:train", "spec.toml", "--out", "d"],
    }[kind]
    encoding = chance.choice(["utf-8", "utf-8", "utf-8", "ascii"])
    try:
        run = call if encoding == "utf-8" else _in_ascii
        said = _plain(run(*argv, cwd=scratch))
        if said.status:
            return REFUSED
        if kind == "session":
            _plain(call("tell", "d", "0=0.5", cwd=scratch))
            _plain(call("status", "d", cwd=scratch))
            json.loads(call("status", "d", "--json", cwd=scratch).out)
        if _plain(call("report", "d", cwd=scratch)).status == 0:
            _safe(workshop, scratch / "d" / "report.html")
    except Failure as failure:
        raise Failure(f"{what} on {encoding}: {failure}") from None
    return said.outcome


def _in_ascii(*argv: str, cwd: Path) -> Said:
    """The same in a process whose streams are ASCII, since a process sets up its streams at its start."""
    environment = os.environ | {"PYTHONIOENCODING": "ascii", "PYTHONPATH": str(Path(jb.__file__).parents[1])}
    command = [sys.executable, "-m", "jaxbandit", *argv]
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, timeout=100)
    return checked(" ".join(argv), Said(done.returncode, done.stdout.decode("ascii"), done.stderr.decode("ascii")))


def _name(spec: dict[str, Any], kind: str, name: str, chance: random.Random) -> str:
    """Put the name into one place of a specification."""
    if kind == "session":
        if chance.random() < 0.5:
            spec["arms"][1] = name
            return "arms[1]"
        del spec["arms"]
        key = chance.choice([name, "lr"])
        spec["configs"] = [{key: name if key == "lr" else "a"}, {key: "b"}, {key: "c"}]
        return "configs"
    if kind == "tune":
        key = chance.choice([name, "x"])
        spec["configs"] = {"lr": [0.1, 0.2], key: ["a" if key == name else name]}
        return "configs"
    place = chance.choice(["name", "instance", "algorithm"])
    if place == "name":
        spec["name"] = name
    else:
        spec[place][0]["name"] = name
    return place


def _plain(said: Said) -> Said:
    """What is printed has no control characters, and no row that is none."""
    for stream, text in (("stdout", said.out), ("stderr", said.err)):
        if bad := {c for c in text if (ord(c) < 32 and c not in "\n\t") or 127 <= ord(c) < 160}:
            raise Failure(f"control characters {sorted(map(ascii, bad))} on {stream}")
        if any(line.lstrip().startswith(FAKE) for line in text.splitlines()):
            raise Failure(f"a forged line on {stream}")
    return said


def _safe(workshop: Workshop, path: Path) -> None:
    """The page runs nothing and asks for nothing."""
    if bad := Reader(path.read_text(encoding="utf-8")).bad:
        raise Failure(f"{path.name}: {bad[:3]}")
    if workshop.browser is None:
        return
    page, said, asked = workshop.browser.new_page(), [], []
    try:
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(path.as_uri())
        page.wait_for_timeout(50)
        if said or len(asked) > 1 or page.evaluate("window.hit !== undefined"):
            raise Failure(f"{path.name} in a browser: {said[:2]} {asked[1:3]}")
    finally:
        page.close()
