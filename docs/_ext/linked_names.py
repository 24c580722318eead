"""Names of the package in code style lead to their pages of the reference, as they do in docstrings.

A name that is also another word, such as `run`, is taken for the package's where it is written `jb.run` or as a call.
"""

import re

import reference_pages
from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

CALL = re.compile(r"(jb\.|jaxbandit\.)?([A-Za-z_][\w.]*)(\(.*\))?", re.DOTALL)
# Names that also are commands, arguments, fields or methods of other libraries.
WORDS = "ab audit certificate choice classes compare delayed fit grid load never none plot replay reproduce".split()
WORDS += "rows run save search session shares static step table uniform".split()


def path_of(code: str) -> str | None:
    """Return the public path of the name that code in a text begins with, such as "algorithms.kl_ucb"; None if none."""
    found = CALL.fullmatch(code)
    if found is None or (found[2] in WORDS and not (found[1] or found[3])):
        return None
    return reference_pages.path_of(found[2])


class LinkedNames(SphinxTransform):
    """Make references of literals; those in links and titles stay as they are."""

    default_priority = 500

    def apply(self, **options: object) -> None:
        """Replace the literals of a page."""
        if self.env.docname.startswith("reference/"):
            return
        for literal in list(self.document.findall(nodes.literal)):
            inside, path = literal.parent, path_of(literal.astext())
            if path is None or isinstance(inside, nodes.reference | pending_xref | nodes.title):
                continue
            about = {"refdomain": "py", "reftype": "obj", "reftarget": f"jaxbandit.{path}", "refwarn": True}
            reference = pending_xref("", refdoc=self.env.docname, refexplicit=True, **about)
            inside.replace(literal, reference)
            reference += literal


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.add_transform(LinkedNames)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
