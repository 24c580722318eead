"""The page of a directory that `jaxbandit tune` wrote: the result, its figure, and where its numbers come from."""

from pathlib import Path

import numpy as np

from jaxbandit.decide.tuning import loading
from jaxbandit.decide.tuning.store import ABOUT, read_about
from jaxbandit.running.plotting.style import SIZE, canvas, plain_text
from jaxbandit.running.plotting.tuning import plot_tuning
from jaxbandit.support.document import Document, Facts, Figure, Notes, Section, fold


def page_of(directory: Path) -> Document:
    """Return the report of a finished search."""
    result, name = loading.load(directory), directory.resolve().name
    shown = result.describe(detail=True)
    lead, *sections = shown.blocks
    assert isinstance(lead, Notes)
    about = Facts({"directory": name, "seeds": f"{len(np.unique(result.history['seed'])):,}"})
    stored = fold("Scores of the search", Facts(read_about(directory))) if (directory / ABOUT).exists() else None
    figure = Section("Figure", [Figure(plain_text(plot_tuning(result, canvas(SIZE))))])
    return Document(
        name,
        [
            Notes([shown.title, *lead.lines]),
            *sections[:-1],
            figure,
            Section("Provenance", [about, sections[-1], stored]),
        ],
    )
