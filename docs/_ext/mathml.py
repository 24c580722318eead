"""Formulas as MathML, which browsers show without a script: MathJax would be fetched from the network."""

import re

from docutils import nodes
from docutils.utils.math import MathError, latex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

LOG = logging.getLogger(__name__)


def _shown(node: nodes.math | nodes.math_block, block: bool) -> str:
    try:
        return latex2mathml.tex2mathml(re.sub(r"\\dots\b", r"\\ldots", node.astext()), as_block=block)
    except MathError as error:
        LOG.warning("cannot be shown as MathML: %s", error, location=node)
        return ""


def inline(translator: HTML5Translator, node: nodes.math) -> None:
    """Write a formula in a line."""
    translator.body.append(_shown(node, False))
    raise nodes.SkipNode


def block(translator: HTML5Translator, node: nodes.math_block) -> None:
    """Write a formula in a block of its own, which scrolls where it is wider than the page."""
    translator.body.append(f'<div class="math">{_shown(node, True)}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
