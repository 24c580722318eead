"""Execute the notebooks and keep a figure of each as its thumbnail: `python docs/thumbnails.py [NAME ...]`.

`figure` in gallery.toml says which one, counted from 0 (-1: the last). Executed in full they take a minute
each; JAXBANDIT_NOTEBOOK_QUICK=1 makes smaller experiments.
"""

import base64
import io
import os
import sys
import tempfile
import tomllib
from pathlib import Path

import matplotlib.image
import matplotlib.pyplot as plt
import nbclient
import nbformat

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
WIDTH, HEIGHT = 400, 250  # pixels


def figures(notebook: Path) -> list[bytes]:
    """Return the PNG figures that a notebook shows when it is executed, in order."""
    document = nbformat.read(notebook, as_version=4)
    with tempfile.TemporaryDirectory() as place:
        nbclient.NotebookClient(document, timeout=1800, resources={"metadata": {"path": place}}).execute()
    outputs = [output for cell in document.cells for output in cell.get("outputs", [])]
    return [base64.b64decode(o["data"]["image/png"]) for o in outputs if "image/png" in o.get("data", {})]


def thumbnail(png: bytes, path: Path) -> None:
    """Write a figure, scaled to fit on white, as a PNG of WIDTH x HEIGHT pixels."""
    image = matplotlib.image.imread(io.BytesIO(png), format="png")
    page = plt.figure(figsize=(WIDTH / 100, HEIGHT / 100), dpi=100, facecolor="white")
    axes = page.add_axes((0.02, 0.02, 0.96, 0.96))
    axes.imshow(image, interpolation="antialiased", interpolation_stage="rgba")
    axes.set_axis_off()
    page.savefig(path, dpi=100)
    plt.close(page)


def main(names: list[str]) -> None:
    """Make the thumbnails of the notebooks named, or of all."""
    os.environ["PYTHONPATH"] = str(ROOT)
    place = DOCS / "_static" / "gallery"
    place.mkdir(parents=True, exist_ok=True)
    known = tomllib.loads((DOCS / "gallery.toml").read_text(encoding="utf-8"))
    for name in names or known:
        shown = figures(ROOT / "notebooks" / f"{name}.ipynb")
        thumbnail(shown[known[name]["figure"]], place / f"{name}.png")
        print(f"{name}: {len(shown)} figures", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
