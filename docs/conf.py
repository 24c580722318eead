"""The documentation site: `sphinx-build -W -n docs build/site`, without network. Notebooks keep what they show."""

import sys
import tomllib
from pathlib import Path

DOCS = Path(__file__).parent
ROOT = DOCS.parent
sys.path[:0] = [str(ROOT), str(DOCS / "_ext"), str(DOCS)]

import jaxbandit  # noqa: E402

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
# The one place that knows where the source is hosted: links to files outside docs/ lead there once it is set.
repository_url = PROJECT.get("urls", {}).get("Repository", "")

project = "jaxbandit"
author = "The jaxbandit developers"
copyright = "the jaxbandit developers"
version = release = jaxbandit.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "sphinx_design",
    "sphinx_copybutton",
    "sphinx_llms_txt",
    "algorithm_tables",
    "gallery",
    "linked_names",
    "mathml",
    "navigation",
    "reference_pages",
    "repository_files",
]
exclude_patterns = ["_build", "paper", "**/.ipynb_checkpoints"]
nitpicky = True
maximum_signature_line_length = 80
viewcode_line_numbers = True

html_theme = "furo"
html_math_renderer = "mathml"
html_title = f"jaxbandit {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["tables.js"]
html_search_scorer = str(DOCS / "_static" / "scorer.js")
html_show_sphinx = False
html_theme_options = (
    {"source_repository": repository_url, "source_branch": "main", "source_directory": "docs/"}
    if repository_url
    else {}
)

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4
nb_execution_mode = "off"
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_execution_timeout = 600

autosummary_generate = False  # reference_pages.py writes the pages of the names
