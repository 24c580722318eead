"""The command `report`, which summarizes a directory in one HTML file."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from jaxbandit.lab.cli.endings import DONE, bad_input


@dataclass(frozen=True)
class Report:
    """Write a self-contained HTML report on a directory, with curves, tables, figures for print and provenance."""

    directory: Annotated[Positional[Path], arg(metavar="DIR")]
    """Directory that `run`, `reproduce`, `audit` or `tune` wrote, or directory or file of a session."""
    out: Annotated[Path | None, arg(metavar="FILE", aliases=("-o",))] = None
    """File to write; default: report.html in DIR, or a file beside that of a session. An existing report is replaced;
    any other existing file is kept, with an error."""
    no_import: bool = False
    """Accepted as for other commands; a report never imports a module that the directory names."""

    def __call__(self) -> int:
        """Write the report and print its path."""
        from jaxbandit.lab.report.write import write_report

        with bad_input():
            print(write_report(self.directory, self.out))
        return DONE
