"""Draw the figures of pages by the Python code of these pages: `python docs/figures.py [NAME ...]`, such as `tune`.

A page shows `_static/pages/X.png`, and one of its blocks saves `X.png`. A digest of the code up to this block is stored
in the file, so that a test finds figures of other code without executing it.
"""

import hashlib
import os
import re
import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
from PIL import Image, PngImagePlugin

DOCS = Path(__file__).resolve().parent
PLACE = DOCS / "_static" / "pages"
COLORS = 64  # of a figure, which makes its file a third as large, and nobody sees it


def figures(page: Path) -> list[tuple[str, str]]:
    """Return the figures that a page shows: (name of the file, text that stands for it)."""
    found = re.findall(r"^!\[([^\]]*)\]\((?:\.\./)?_static/pages/([\w-]+\.png)\)$", page.read_text("utf-8"), re.M)
    return [(name, text) for text, name in found]


def code(page: Path, figure: str) -> str:
    """Return the Python code of a page up to the block that saves this figure."""
    blocks = re.findall(r"^```python\n(.*?)^```$", page.read_text("utf-8"), re.M | re.S)
    [last] = [n for n, block in enumerate(blocks) if f'savefig("{figure}")' in block]
    return "\n".join(blocks[: last + 1])


def digest(text: str) -> str:
    """Return what is stored in a figure of this code."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def stored(figure: str) -> str:
    """Return the digest of the code that drew a figure."""
    with Image.open(PLACE / figure) as image:
        return image.info["code"]


def draw(page: Path) -> None:
    """Execute the code of a page in an empty directory, and store the figures that it shows."""
    codes = {name: code(page, name) for name, _ in figures(page)}
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as place, plt.rc_context():
        os.chdir(place)
        try:
            exec(compile(max(codes.values(), key=len), str(page), "exec"), {})
            for name, text in codes.items():
                about = PngImagePlugin.PngInfo()
                about.add_text("code", digest(text))
                few = Image.open(name).convert("RGB").quantize(COLORS)
                few.save(PLACE / name, "PNG", optimize=True, pnginfo=about)
        finally:
            os.chdir(here)
    plt.close("all")


if __name__ == "__main__":
    plt.switch_backend("agg")
    PLACE.mkdir(exist_ok=True)
    for path in sorted(DOCS.glob("*.md")) + sorted(DOCS.glob("recipes/*.md")):
        if figures(path) and (path.stem in sys.argv[1:] or len(sys.argv) == 1):
            draw(path)
            print(path.stem, *(name for name, _ in figures(path)), flush=True)
