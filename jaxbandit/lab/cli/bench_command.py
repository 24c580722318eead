"""The command `bench`, for developers of jaxbandit. The benchmarks themselves are in benchmarks/ of a checkout."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

from tyro.conf import Positional, arg

from jaxbandit.support.refusals import BadInput

NEEDED = Path("benchmarks", "revisions.py")


@dataclass(frozen=True)
class Bench:
    """Time two revisions of jaxbandit in alternation; exit status 4 if a case is slower. Needs a git checkout."""

    replaces_process: ClassVar[bool] = True  # by one that prints on the same stdout

    revision: Annotated[Positional[tuple[str, ...]], arg(metavar="[REV [REV]]")] = ()
    """Git revisions, or directories that hold the package; default: HEAD and the working tree."""
    processes: int = 3
    """Number of pairs of processes."""
    rounds: int = 5
    """Number of timed calls of each case in a process."""
    limit: float = 1.05
    """Ratio of times above which a case counts as slower."""
    only: str = ""
    """Time only the cases whose name contains this text."""
    quick: bool = False
    """Only test that the command works, with too little work for a meaningful measurement."""
    json: bool = False
    """Print one JSON document instead of the table."""

    def __call__(self) -> int:
        """Replace this process by the one that measures."""
        revisions = [str(Path(name).resolve()) if Path(name).is_dir() else name for name in self.revision]
        options = [f"--{name}={getattr(self, name)}" for name in ("processes", "rounds", "limit", "only")]
        options += [f"--{name}" for name in ("quick", "json") if getattr(self, name)]
        os.chdir(checkout())
        sys.stdout.flush()
        os.execv(sys.executable, [sys.executable, "-m", "benchmarks", "revisions", *options, "--", *revisions])


def checkout() -> Path:
    """Return the checkout of the repository: the one that contains the current directory, or that of the package."""
    here = Path.cwd()
    for place in (here, *here.parents, Path(__file__).resolve().parents[2]):
        if (place / NEEDED).is_file():
            return place
    raise BadInput(
        f"bench: {NEEDED} is not in {here}, above it, or beside the package; clone the repository "
        "of jaxbandit and run this command in it"
    )
