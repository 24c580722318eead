"""The commands for getting started: `list`, `show` and `new`."""

from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import Positional, arg

from jaxbandit.lab.cli import listing, showing, streams
from jaxbandit.lab.cli.endings import DONE
from jaxbandit.support.refusals import BadInput, unwritable


@dataclass(frozen=True)
class List:
    """List algorithms, environments and embedded experiments; with WORD those that it describes, each in a line."""

    word: Annotated[Positional[str], arg(metavar="[WORD]")] = ""
    """List only what has this word in its name or in the line about it, such as dueling."""
    kind: Literal["simulate", "identify", "wrapper", "environment", "experiment"] | None = None
    """List only one group, for example simulate: algorithms for a fixed horizon, or identify: algorithms that stop.
    Default: all groups."""
    package: Annotated[str | None, arg(name="from", metavar="PACKAGE")] = None
    """List the algorithms and environments that a package of your own declares, instead of those of jaxbandit. The
    package is imported, from the working directory or the environment."""
    json: bool = False
    """Print one JSON document instead of text."""

    def __call__(self) -> int:
        """Print the listing."""
        listing.show(self.json, self.kind, self.package, self.word)
        return DONE


@dataclass(frozen=True)
class Show:
    """Show what a name stands for: its arguments with defaults, its source, a line of Python, and a TOML example."""

    name: Annotated[Positional[str], arg(metavar="NAME")]
    """An algorithm, wrapper, environment or embedded experiment that `jaxbandit list` shows, or package.module:factory
    of a package of your own."""
    json: bool = False
    """Print one JSON document instead of text."""

    def __call__(self) -> int:
        """Print it."""
        print(showing.document(self.name) if self.json else showing.text(self.name), file=streams.output())
        return DONE


@dataclass(frozen=True)
class New:
    """Write a commented experiment to start from, which runs as it is."""

    path: Annotated[Positional[Path], arg(metavar="FILE.toml")]
    """File to write; it must not exist yet."""
    kind: Literal["simulate", "identify", "tune", "session"] = "simulate"
    """Kind of experiment: simulate measures regret up to a fixed horizon, identify runs algorithms until they stop,
    tune searches among configurations, and session suggests pulls whose rewards you report."""

    def __call__(self) -> int:
        """Write the file."""
        if self.path.suffix != ".toml":
            raise BadInput(f"new: FILE = {str(self.path)!r}, must end in .toml; write {str(self.path) + '.toml'!r}")
        template = resources.files("jaxbandit.lab.specs") / "templates" / f"{self.kind}.toml"
        text = template.read_text(encoding="utf-8").replace("FILE", str(self.path)).replace("NAME", self.path.stem)
        try:
            with self.path.open("x", encoding="utf-8") as file:
                file.write(text)
        except FileExistsError:
            raise BadInput(f"new: {self.path} already exists and is not changed; give another name") from None
        except OSError as error:
            unwritable(f"new: {self.path}", error, "give another path")
        print(self.path)
        return DONE
