"""Files of figures: their names, and how they are written."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from jaxbandit.engine.storage.files import replacing
from jaxbandit.running.plotting.style import narrow

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def save_figure(figure: Figure, path: Path) -> None:
    """Write a figure as a file of the format that its name says: completely or not at all, and never through a link.

    A narrow figure has exactly its size, so that its text has the size that was asked for; others fit what is drawn.
    """
    import matplotlib as mpl

    fit = {} if narrow(figure) else {"bbox_inches": "tight", "pad_inches": 0.15}
    undated = {"png": {}, "pdf": {"CreationDate": None}, "svg": {"Date": None}}[path.suffix[1:]]  # equal bytes again
    with replacing(path) as file, mpl.rc_context({"svg.hashsalt": "jaxbandit"}):
        figure.savefig(file, format=path.suffix[1:], metadata=undated, **fit)


def file_name(name: str) -> str:
    """Return the name with all characters replaced that are unsuitable for the name of a file."""
    suitable = "".join(c if c.isalnum() or c in "-_." else "-" for c in name)
    try:
        os.fsencode(suitable)
    except UnicodeEncodeError:  # Python takes files to be named in the locale's encoding
        return suitable.encode("ascii", "backslashreplace").decode().replace("\\", "-")
    return suitable
