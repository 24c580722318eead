"""The command line. Exit status: 0 success, 2 bad input, 3 interrupted but resumable, 1 a bug.

An error in the input is reported as one line on stderr without a traceback. A bug shows its traceback.
"""

import contextlib
import io
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from jaxbandit.cli import cache, signals
from jaxbandit.cli.signals import INTERRUPTED

DONE, BUG, BAD_INPUT = 0, 1, 2


def process() -> int:
    """Run the command that the process was started with and return the exit status; it handles the signals itself."""
    return signals.run(lambda: _run(sys.argv[1:], own_process=True))


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command given by `argv` (default: the arguments of the process) and return the exit status."""
    try:
        return _run(sys.argv[1:] if argv is None else list(argv))
    except KeyboardInterrupt:
        return _say(signals.LINE, INTERRUPTED)


def _run(argv: list[str], own_process: bool = False) -> int:
    from jaxbandit.extras import MissingExtra
    from jaxbandit.refusals import BadInput, RunsLeftOut, Unfinished

    try:
        command = _parse(argv)
        if own_process and not getattr(command, "no_cache", True):
            cache.use()
        with _warnings_as_lines(RunsLeftOut):
            return command if isinstance(command, int) else command()
    except (BadInput, MissingExtra) as error:
        return _say(str(error), BAD_INPUT)
    except BrokenPipeError:  # the reader of the pipe, such as `head`, has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except Unfinished as error:
        return _say(str(error), INTERRUPTED)


@contextlib.contextmanager
def _warnings_as_lines(category: type[Warning]) -> Iterator[None]:
    """Print every warning of this category as one line on stderr, without the line of source code that issued it.

    JAX's warnings about compiled programs that cannot be read from or written to the cache are not shown, because
    these programs are compiled again.
    """

    def show(message: Warning | str, kind: type[Warning], *rest: Any) -> None:
        if issubclass(kind, category):
            print(f"jaxbandit: warning: {message}", file=sys.stderr)
        elif not cache.dropped(str(message)):
            usual(message, kind, *rest)

    with warnings.catch_warnings():
        warnings.simplefilter("always", category)
        warnings.filterwarnings("always", cache.UNUSABLE.pattern)
        usual, warnings.showwarning = warnings.showwarning, show
        yield


def _parse(argv: list[str]) -> Callable[[], int] | int:
    """Return the command that `argv` asks for, or the exit status after help or an error."""
    from jaxbandit.extras import MissingExtra, lab

    if argv == ["--version"]:
        from jaxbandit import __version__

        print(f"jaxbandit {__version__}")
        return DONE
    if os.environ.get("NO_COLOR"):  # as https://no-color.org asks; tyro has a switch of its own
        os.environ["PYTHON_TYRO_ANSI_CODES"] = "False"
    try:
        with lab():
            import tyro  # noqa: F401  (if it is missing, the error is raised here)
    except MissingExtra:
        from jaxbandit.cli import listing

        asked = [text for text in argv if text != "--json"]
        if asked not in [["list"], *(["list", "--kind", kind] for kind in listing.HEADINGS)]:
            raise
        listing.show("--json" in argv, *asked[2:])
        return DONE

    from jaxbandit.cli.commands import COMMANDS, parsed
    from jaxbandit.refusals import choice, refuse

    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            return parsed(argv)
    except SystemExit as status:
        if not status.code:
            return DONE
        if not argv:
            refuse("command", f": missing, must be one of {', '.join(COMMANDS)}; see jaxbandit --help")
        if not argv[0].startswith("-"):
            choice("command", argv[0], tuple(COMMANDS))
        return _say(_one_line(said.getvalue()), BAD_INPUT)


def _one_line(box: str) -> str:
    """Return the parser's boxed error message as one line: no frame, no colors, and only its first suggestion."""
    blocks: list[list[str]] = [[]]
    for row in box.splitlines():
        line = re.sub(r"\x1b\[[0-9;]*m", "", row).strip(" │")
        if line.startswith(("╭", "╰")) or not line.strip("─-"):  # a rule, or an empty row, ends a block
            blocks.append([])
        else:
            blocks[-1].append(line)
    told = []
    for block in filter(None, blocks):
        if block[0].startswith("Perhaps you meant"):
            told.append(f"perhaps you meant {block[1]}")
        elif block[0] != "Got errors:":  # the parser's own exceptions, one for each type that it tried
            told.append(" ".join(block).removesuffix("."))  # the parser wraps its lines at the width of the terminal
    if len(told) > 1 and told[1].startswith(told[0]):
        told = told[1:]  # without a terminal, the box's title is a row of its own
    return "; ".join(told)


def _say(line: str, status: int) -> int:
    print(f"jaxbandit: {line}", file=sys.stderr)
    return status
