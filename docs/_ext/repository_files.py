"""Pages that show files of the repository, and links from pages to files outside docs/.

Links in the Markdown are written for the code host: relative paths, to sources and directories too. Here they become
links between pages, links to the code host where `repository_url` names one, or else links to a copy of the file.
"""

import os
import re
from pathlib import Path

from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
# The pages of benchmarks/results/, in the order in which RESULTS.md lists them.
RESULTS = re.findall(r"\]\(results/(\w+)\.md\)", (ROOT / "benchmarks" / "RESULTS.md").read_text(encoding="utf-8"))
# Pages whose text is a file outside docs/, by page.
SHOWN = {"benchmarks": "benchmarks/RESULTS.md", "changelog": "CHANGELOG.md", "contributing": "CONTRIBUTING.md"}
SHOWN |= {f"results/{name}": f"benchmarks/results/{name}.md" for name in RESULTS}
PAGES = {path: f"{page}.md" for page, path in SHOWN.items()} | {"README.md": "index.md", "notebooks": "gallery.md"}
# Pages that the site's search leaves out, in which every name occurs and none is explained.
NOT_FOUND = ("benchmarks", "changelog", "contributing", *(f"results/{name}" for name in RESULTS))
# Pages below another in the table of contents, by that page: written here, so that the Markdown stays plain.
BELOW = {"benchmarks": tuple(f"results/{name}" for name in RESULTS)}
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?![a-z]+:|#)([^)#\s]+)(#[^)\s]*)?\)")
FENCE = re.compile(r"^(```+).*?^\1\s*$", re.MULTILINE | re.DOTALL)


def rewrite(text: str, home: Path, page: Path, repository_url: str = "") -> str:
    """Return Markdown written in directory `home` with links that hold on the site, on a page in directory `page`."""

    def link(match: re.Match[str]) -> str:
        image, words, target, anchor = match[1], match[2], match[3], match[4] or ""
        path = (home / target).resolve()
        if not path.is_relative_to(ROOT) or not path.exists():
            return match[0]  # left for Sphinx, which warns
        inside = path.relative_to(ROOT).as_posix()
        if image or path.is_relative_to(DOCS) or inside in PAGES:
            place = DOCS / PAGES[inside] if inside in PAGES else path
        elif repository_url:
            return f"[{words}]({repository_url}/{'tree' if path.is_dir() else 'blob'}/main/{inside}{anchor})"
        elif path.is_dir():
            return words
        else:
            place, anchor = path, ""
        return f"{image}[{words}]({Path(os.path.relpath(place, page)).as_posix()}{anchor})"

    parts, end = [], 0
    for fence in FENCE.finditer(text):
        parts += [LINK.sub(link, text[end : fence.start()]), fence[0]]
        end = fence.end()
    return "".join([*parts, LINK.sub(link, text[end:])])


def write_pages(app: Sphinx, config: object) -> None:
    """Write docs/results/, pages without text of their own, and delete those that RESULTS.md no longer lists."""
    place = DOCS / "results"
    place.mkdir(exist_ok=True)
    for path in place.glob("*.md"):
        if path.stem not in RESULTS:
            path.unlink()
    for name in RESULTS:
        (place / f"{name}.md").touch()


def read(app: Sphinx, page: str, content: list[str]) -> None:
    """Replace a page's source by the file that it shows, and its links by those of the site."""
    if page.startswith(("notebooks/", "reference/")):
        return
    shown = SHOWN.get(page)
    source = ROOT / shown if shown else DOCS / f"{page}.md"
    text = source.read_text(encoding="utf-8") if shown else content[0]
    if shown:
        app.env.note_dependency(str(source))
    content[0] = rewrite(text, source.parent, (DOCS / page).parent, app.config.repository_url)
    if page in NOT_FOUND:
        content[0] = f"---\nnosearch: true\n---\n{content[0]}"
    if page in BELOW:
        content[0] += "\n\n```{toctree}\n:hidden:\n\n" + "\n".join(BELOW[page]) + "\n```\n"


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.add_config_value("repository_url", "", "env", str)
    app.connect("config-inited", write_pages)
    app.connect("source-read", read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
