"""The command `report`, which writes the contents of a directory as one HTML file."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from jaxbandit.cli.guards import bad_input

DONE = 0


@dataclass(frozen=True)
class Report:
    """Write the results in a directory as one HTML file with curves, tables, figures and provenance."""

    directory: Annotated[Positional[Path], arg(metavar="DIR")]
    """Directory that `run`, `reproduce` or `tune` wrote, or that of a session."""
    out: Annotated[Path | None, arg(metavar="FILE", aliases=("-o",))] = None
    """The HTML file; default: report.html in DIR. An existing report is replaced; any other file is an error."""
    no_import: bool = False
    """For a session: refuse a type = "package.module:factory", whose module would be imported, which runs its code."""

    def __call__(self) -> int:
        """Write the report and print its path."""
        from jaxbandit.report.write import write_report

        with bad_input():
            print(write_report(self.directory, self.out, imports=not self.no_import))
        return DONE
