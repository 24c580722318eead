"""Execute the notebooks and keep what each shows, and its thumbnail: `python docs/execute.py [NAME ...]`.

`figure` in gallery.toml says which figure, counted from 0 (-1: the last). In full they take a minute each.
"""

import base64
import io
import json
import os
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

import matplotlib.image
import matplotlib.pyplot as plt
import nbclient
import nbformat
from PIL import Image

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
WIDTH, HEIGHT = 400, 250  # pixels of a thumbnail
COLORS = 64  # of a figure, which makes its file a third as large, and nobody sees it
KEPT = ("text/plain", "text/html", "text/latex", "image/png")  # kinds of what a cell shows; bars of progress are none


def shown(outputs: list[Any]) -> list[dict[str, Any]]:
    """Return the outputs of a cell without warnings, progress and what the package says about its compilations."""
    found = []
    for output in outputs:
        if output.output_type == "stream":
            lines = [line for line in output.text.splitlines(keepends=True) if not line.startswith("jaxbandit: ")]
            if lines and output.name == "stdout":
                found.append({"name": "stdout", "output_type": "stream", "text": lines})
            continue
        data = {kind: output.data[kind] for kind in KEPT if kind in output.get("data", {})}
        if not data or "application/vnd.jupyter.widget-view+json" in output.data:
            continue
        if "image/png" in data:
            data = {"image/png": smaller(data["image/png"]), "text/plain": ["<Figure>"]}
        data = {kind: text if kind == "image/png" else as_lines(text) for kind, text in data.items()}
        about = {"data": data, "metadata": {}, "output_type": output.output_type}
        found.append(about | ({"execution_count": None} if output.output_type == "execute_result" else {}))
    return found


def as_lines(text: str | list[str]) -> list[str]:
    """Return text as notebooks store it."""
    return text.splitlines(keepends=True) if isinstance(text, str) else text


def smaller(png: str) -> str:
    """Return a PNG in base64 with few colors."""
    file = io.BytesIO()
    Image.open(io.BytesIO(base64.b64decode(png))).convert("RGB").quantize(COLORS).save(file, "PNG", optimize=True)
    return base64.b64encode(file.getvalue()).decode()


def execute(notebook: Path) -> list[bytes]:
    """Execute a notebook, store in it what its cells show, and return its figures as PNG, in order."""
    document = nbformat.read(notebook, as_version=4)
    with tempfile.TemporaryDirectory() as place:
        nbclient.NotebookClient(document, timeout=1800, resources={"metadata": {"path": place}}).execute()
    outputs = [shown(cell.get("outputs", [])) for cell in document.cells]
    book = json.loads(notebook.read_text(encoding="utf-8"))
    for cell, own in zip(book["cells"], outputs, strict=True):
        if cell["cell_type"] == "code":
            cell["outputs"] = own
    notebook.write_text(json.dumps(book, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    data = [output["data"] for own in outputs for output in own if "data" in output]
    return [base64.b64decode(each["image/png"]) for each in data if "image/png" in each]


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
    """Execute the notebooks named, or all."""
    os.environ["PYTHONPATH"] = str(ROOT)
    place = DOCS / "_static" / "gallery"
    place.mkdir(parents=True, exist_ok=True)
    known = tomllib.loads((DOCS / "gallery.toml").read_text(encoding="utf-8"))
    for name in names or known:
        figures = execute(ROOT / "notebooks" / f"{name}.ipynb")
        thumbnail(figures[known[name]["figure"]], place / f"{name}.png")
        print(f"{name}: {len(figures)} figures", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
