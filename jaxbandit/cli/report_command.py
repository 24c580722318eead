"""The command that writes one HTML file about a directory."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from jaxbandit.cli.guards import bad_input

DONE = 0


@dataclass(frozen=True)
class Report:
    """Write one HTML file about a directory: curves, tables, figures for print, provenance; it needs no network."""

    directory: Annotated[Positional[Path], arg(metavar="DIR")]
    """What `run`, `reproduce` or `tune` wrote, or the directory of a session."""
    out: Annotated[Path | None, arg(metavar="FILE", aliases=("-o",))] = None
    """The file; default: report.html in DIR. A report that is there is replaced, any other file is refused."""
    no_import: bool = False
    """Of a session: refuse a type = "package.module:factory", whose module would be imported, which runs its code."""

    def __call__(self) -> int:
        """Write the report and print its path."""
        from jaxbandit.report.write import write_report

        with bad_input():
            print(write_report(self.directory, self.out, imports=not self.no_import))
        return DONE
