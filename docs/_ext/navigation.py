"""The navigation of pages that are in no table of contents, which is computed once for all of a folder.

Five of six pages are those of single names and of source, and their navigation took two fifths of a build.
"""

from typing import Any

from sphinx.application import Sphinx

FOLDERS = ("reference/generated/", "_modules/")


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to Sphinx, before the theme."""
    kept: dict[tuple[Any, ...], str] = {}

    def share(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
        computed = context.get("toctree")
        if not page.startswith(FOLDERS) or computed is None:
            return

        def toctree(**options: Any) -> str:
            key = page.rpartition("/")[0], *sorted(options.items())
            if key not in kept:
                kept[key] = computed(**options)
            return kept[key]

        context["toctree"] = toctree

    app.connect("html-page-context", share, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
