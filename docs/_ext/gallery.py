"""The gallery: the notebooks beside docs/, copied where Sphinx finds them, and a card with a thumbnail for each."""

import json
import tomllib
from pathlib import Path
from typing import Any

import repository_files
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

DOCS = Path(__file__).resolve().parents[1]
NOTEBOOKS = DOCS.parent / "notebooks"
COPIES = DOCS / "notebooks"
MARK = "```{gallery-of-notebooks}\n```\n"


def title(notebook: Path) -> str:
    """Return the first heading of a notebook."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    lines = (line for cell in cells if cell["cell_type"] == "markdown" for line in "".join(cell["source"]).splitlines())
    return next(line.removeprefix("# ") for line in lines if line.startswith("# "))


def cards() -> str:
    """Return a grid of cards, one a notebook, and their table of contents, as Markdown.

    Raises:
      ExtensionError: gallery.toml and the notebooks differ.
    """
    known = tomllib.loads((DOCS / "gallery.toml").read_text(encoding="utf-8"))
    there = {path.stem for path in NOTEBOOKS.glob("*.ipynb")}
    if there != set(known):
        raise ExtensionError(f"docs/gallery.toml and notebooks/ differ in {', '.join(sorted(there ^ set(known)))}")
    parts = ["::::{grid} 1 2 2 3", ":gutter: 3", ""]
    for name, entry in known.items():
        parts += [f":::{{grid-item-card}} {title(NOTEBOOKS / f'{name}.ipynb')}", f":link: notebooks/{name}"]
        parts += [":link-type: doc", f":img-top: _static/gallery/{name}.png", f":img-alt: {entry['alt']}", ""]
        parts += [entry["about"], ":::", ""]
    contents = ["```{toctree}", ":hidden:", "", *(f"notebooks/{name}" for name in known), "```"]
    return "\n".join([*parts, "::::", "", *contents, ""])


def _for_the_site(path: Path, repository_url: str) -> str:
    notebook = json.loads(path.read_text(encoding="utf-8"))
    first = next(cell for cell in notebook["cells"] if cell["cell_type"] == "code")
    first["metadata"] = {"tags": ["hide-input"]}  # the installation, which a reader of the site has no use for
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            text = repository_files.rewrite("".join(cell["source"]), NOTEBOOKS, COPIES, repository_url)
            cell["source"] = text.splitlines(keepends=True)
    return json.dumps(notebook, indent=1, ensure_ascii=False)


def copy(app: Sphinx, config: Any) -> None:
    """Copy the notebooks that changed, with links that hold on the site, and delete those that are gone."""
    COPIES.mkdir(exist_ok=True)
    sources = {path.name: _for_the_site(path, config.repository_url) for path in NOTEBOOKS.glob("*.ipynb")}
    for path in COPIES.iterdir():
        if path.name not in sources:
            path.unlink()
    for name, content in sources.items():
        path = COPIES / name
        if not path.exists() or path.read_text(encoding="utf-8") != content:
            path.write_text(content, encoding="utf-8")


def read(app: Sphinx, page: str, content: list[str]) -> None:
    """Put the cards where a page asks for them."""
    content[0] = content[0].replace(MARK, cards()) if MARK in content[0] else content[0]


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.connect("config-inited", copy)
    app.connect("source-read", read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
