"""The command line: `process` is the command itself, and `main` runs one in a process of the user's own."""

from collections.abc import Sequence

from jaxbandit.lab.cli import leaving


def process() -> int:
    """Run the command that the process was started with, handle its signals, and return the exit status."""
    leaving.from_the_start()
    from jaxbandit.lab.cli import command_line

    return command_line.process()


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command of `argv` (default: the process's) and return the exit status."""
    from jaxbandit.lab.cli import command_line

    return command_line.main(argv)
