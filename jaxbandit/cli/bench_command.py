"""The command `bench`, for developers of jaxbandit. The measurements are defined in benchmarks/ of a checkout."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from jaxbandit.refusals import BadInput

NEEDED = Path("benchmarks", "revisions.py")


@dataclass(frozen=True)
class Bench:
    """Time two revisions of jaxbandit in alternation; exit status 4 if a case is slower. Needs a git checkout."""

    revision: Annotated[Positional[tuple[str, ...]], arg(metavar="[REV [REV]]")] = ()
    """Git revisions, or directories that hold the package; default: HEAD and the working tree."""
    processes: int = 3
    """Number of pairs of processes."""
    rounds: int = 5
    """Number of timed calls of each case in a process."""
    limit: float = 1.05
    """Ratio of times above which a case counts as slower."""
    only: str = ""
    """Only cases whose name contains this."""
    quick: bool = False
    """Test the command with too little work for a measurement."""
    json: bool = False
    """Print one JSON document instead of the table."""

    def __call__(self) -> int:
        """Replace this process by the one that measures."""
        given = [str(Path(revision).resolve()) if Path(revision).is_dir() else revision for revision in self.revision]
        options = [f"--{name}={getattr(self, name)}" for name in ("processes", "rounds", "limit", "only")]
        options += [f"--{name}" for name in ("quick", "json") if getattr(self, name)]
        os.chdir(checkout())
        sys.stdout.flush()
        os.execv(sys.executable, [sys.executable, "-m", "benchmarks", "revisions", *options, "--", *given])


def checkout() -> Path:
    """Return the checkout that contains the working directory, or else the one that contains the package."""
    here = Path.cwd()
    for place in (here, *here.parents, Path(__file__).resolve().parents[2]):
        if (place / NEEDED).is_file():
            return place
    raise BadInput(
        f"bench: {NEEDED} is neither in {here} or above nor beside the package, must be a checkout of jaxbandit's "
        "repository; clone it and run the command there"
    )
