"""The command `gate`, which says whether a new version is worse than an old one."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from jaxbandit.lab.cli import leaving, streams
from jaxbandit.lab.cli.endings import DONE, UNDECIDED, WORSE, bad_input


@dataclass(frozen=True)
class Gate:
    """Is the new command worse than the old one? Exit status 0 if it is not, 4 if it is, 5 if this is undecided."""

    old: Annotated[Positional[str], arg(metavar="OLD")]
    """The command in use, as one word of the shell, such as "python old.py"; with --table its column."""
    new: Annotated[Positional[str], arg(metavar="NEW")]
    """The command in question."""
    table: Annotated[Path | None, arg(metavar="FILE.csv")] = None
    """Compare the recorded numbers of two columns, a pair in each row, in place of commands."""
    margin: Annotated[float, arg(metavar="R")] = 1.05
    """How many times worse is tolerated, at least 1."""
    quantile: Annotated[float, arg(metavar="P")] = 0.5
    """Compare this quantile: 0.5 is the median, of the ratios within pairs."""
    mean: bool = False
    """Compare means in place of a quantile."""
    maximize: bool = False
    """Larger numbers are better."""
    delta: Annotated[float, arg(metavar="D")] = 0.05
    """Probability with which the verdict may be wrong."""
    range: Annotated[tuple[float, float] | None, arg(metavar="LOW HIGH")] = None
    """The least and the largest possible number, for --mean."""
    from_output: bool = False
    """The value of a command is the number on the last line that it prints, and not its seconds."""
    max_calls: Annotated[int, arg(metavar="N")] = 6000
    """Calls of both commands together, without those to warm up."""
    timeout: Annotated[str, arg(metavar="LENGTH")] = "60s"
    """The time that all calls may take together, such as 90s or 10min."""
    warm_up: Annotated[int, arg(metavar="N")] = 1
    """Calls of each command that do not count."""
    seed: Annotated[int, arg(metavar="N")] = 0
    """Seed of the order within the pairs."""
    json: bool = False
    """Print one JSON document instead of the text."""

    def __call__(self) -> int:
        """Decide, and print the result."""
        from jaxbandit.decide.gate.no_worse import no_worse
        from jaxbandit.support.columns import read_columns
        from jaxbandit.support.refusals import refuse

        leaving.keep_nothing()
        with bad_input():
            names = ("margin", "maximize", "delta", "max_calls", "timeout", "warm_up", "from_output", "seed")
            options = {name: getattr(self, name) for name in names}
            options |= {"quantile": None if self.mean else self.quantile, "score_range": self.range}
            old, new = self.old, self.new
            if self.table is not None:
                if old == new:
                    refuse("gate", f": OLD and NEW are both the column {old!r}; give two columns")
                columns = read_columns("--table", self.table, (old, new))
                old, new = (columns.numbers(name, "a number >= 0") for name in (old, new))
            result = no_worse(old, new, **options)
        streams.reply(self.json, result.to_json, lambda: str(result))
        return {"pass": DONE, "fail": WORSE}.get(result.verdict, UNDECIDED)
