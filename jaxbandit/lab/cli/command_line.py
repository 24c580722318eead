"""The command line. Exit status: 0 done, 2 bad input, 3 interrupted and resumable, 1 a bug.

An error in the input is one line on stderr without a traceback. A bug shows its traceback.
"""

import contextlib
import errno
import io
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from jaxbandit.lab.cli import jax_settings, signals, streams
from jaxbandit.lab.cli.endings import BAD_INPUT, DONE, INTERRUPTED
from jaxbandit.support import text

LONGEST = 300  # characters of a word of an error message, such as a path
UNREADABLE = re.compile(r"Error parsing (\S+): no type matching (?:\{None\}\|)?(\S+) could be .* from \['(.*)'\]")
CHOICES = re.compile(r"\. Expected one of \(([^)]*)\)")


def process() -> int:
    """Run the command that the process was started with, handle its signals, and return the exit status."""
    streams.prepare()
    return signals.run(_run_process)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command of `argv` (default: the process's) and return the exit status."""
    try:
        return _run(sys.argv[1:] if argv is None else list(argv))
    except KeyboardInterrupt as error:
        return _say(str(error) or signals.LINE, INTERRUPTED)


def _run_process() -> int:
    """Run the command; if all went well but stdout could not be written, say so."""
    status = _run(sys.argv[1:], own_process=True)
    fault = streams.fault()
    if status != DONE or not fault:
        return status
    return _say(f"stdout cannot be written ({fault}); what the command has stored is kept; run it again", INTERRUPTED)


def _run(argv: list[str], own_process: bool = False) -> int:
    from jaxbandit.support.extras import MissingExtra
    from jaxbandit.support.refusals import FULL, BadInput, NoLocks, RunsLeftOut, Unfinished, reason

    try:
        command = _parse(argv)
        if own_process and getattr(command, "no_cache", False):
            jax_settings.without_cache()
        if isinstance(command, int):
            return command
        if hasattr(command, "no_cache") and (said := jax_settings.without_jit()):  # before it begins a directory
            return _say(said, BAD_INPUT)
        alone = getattr(command, "json", False) and not getattr(command, "replaces_process", False)
        reserved = streams.only_a_document(own_process) if alone else contextlib.nullcontext()
        with _warnings_as_lines(RunsLeftOut, NoLocks), reserved:
            return command()
    except (BadInput, MissingExtra) as error:
        return _say(str(error), BAD_INPUT)
    except OSError as error:
        if error.errno in FULL:
            return _say(f"{error}; what was stored is kept; make room, and run the same command again", INTERRUPTED)
        if error.errno != errno.ENAMETOOLONG:
            raise
        return _say(f"{error.filename}: cannot be used ({reason(error)}); give a shorter path", BAD_INPUT)
    except Unfinished as error:
        return _say(str(error), INTERRUPTED)
    except Exception as error:
        if said := jax_settings.fault(error):
            return _say(said, BAD_INPUT)
        raise


@contextlib.contextmanager
def _warnings_as_lines(*categories: type[Warning]) -> Iterator[None]:
    """Print every warning of these categories as one line on stderr."""

    def show(message: Warning | str, kind: type[Warning], *rest: Any) -> None:
        if issubclass(kind, categories):
            print(f"jaxbandit: warning: {message}", file=sys.stderr)
        else:
            usual(message, kind, *rest)

    with warnings.catch_warnings():
        for category in categories:
            warnings.simplefilter("always", category)
        usual, warnings.showwarning = warnings.showwarning, show
        yield


def _parse(argv: list[str]) -> Callable[[], int] | int:
    """Return the command that `argv` asks for, or the exit status after help or an error message."""
    from jaxbandit.support.extras import MissingExtra, lab
    from jaxbandit.support.refusals import nearest

    if argv == ["--version"]:
        from jaxbandit.support.version import __version__

        print(f"jaxbandit {__version__}")
        return DONE
    if os.environ.get("NO_COLOR"):  # as https://no-color.org asks; tyro has a switch of its own
        os.environ["PYTHON_TYRO_ANSI_CODES"] = "False"
    try:
        with lab():
            import tyro  # noqa: F401  (if it is missing, fail now)
    except MissingExtra:
        from jaxbandit.lab.cli import listing

        words = [word for word in argv if word != "--json"]
        if words not in [["list"], *(["list", "--kind", kind] for kind in listing.HEADINGS)]:
            raise
        listing.show("--json" in argv, *words[2:])
        return DONE

    from jaxbandit.lab.cli.commands import COMMANDS, command_of, overview

    if argv in ([], ["help"], ["-h"], ["--help"]):
        print(overview())
        return DONE
    if argv[0] == "help":
        argv = [*argv[1:], "--help"]
    stderr = io.StringIO()
    try:
        with contextlib.redirect_stderr(stderr):
            return command_of(argv)
    except SystemExit as status:
        if not status.code:
            return DONE
    with _wide(), contextlib.redirect_stderr(stderr := io.StringIO()), contextlib.suppress(SystemExit):
        command_of(argv)  # again, to get its error message in lines that are not wrapped
    guess = nearest(argv[0], COMMANDS) if argv and argv[0] not in COMMANDS else ""
    return _say(_one_line(stderr.getvalue()) + guess, BAD_INPUT)


@contextlib.contextmanager
def _wide() -> Iterator[None]:
    """Let the parser write lines of any length."""
    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = "10000"
    try:
        yield
    finally:
        if before is None:
            del os.environ["COLUMNS"]
        else:
            os.environ["COLUMNS"] = before


def _one_line(box: str) -> str:
    """Return the parser's boxed error as one line: no frame, colors or Python types, and only its first suggestion."""
    lines = [re.sub(r"\x1b\[[0-9;]*m", "", line).strip(" │") for line in box.splitlines()]
    if len(lines) > 1 and not lines[1].strip("-"):  # in ASCII the title stands above a rule, not in the frame
        del lines[0]
    lines = [line for line in lines if line.strip("─-") and line[0] not in "╭╰"]
    details = next((i for i, line in enumerate(lines) if line.startswith("Got errors")), None)
    if details is not None:  # one error for each type that the argument may have
        lines = [UNREADABLE.sub(r"\1 = \3, must be \2", lines[0]), lines[-1]]
    guess = next((i for i, line in enumerate(lines) if line.startswith("Perhaps you meant")), None)
    if guess is not None:
        given = re.findall(r"--[\w-]+", lines[0])
        begun = [line for line in lines[guess + 1 :] if given and line.startswith(given[0])]
        lines = [*lines[:guess], f"perhaps you meant {[*begun, lines[guess + 1]][0]}", lines[-1]]
    lines = [CHOICES.sub(lambda found: f", must be one of {_choices(found[1])}", line) for line in lines]
    return "; ".join(lines).replace(":; ", ": ").replace(".; ", "; ")


def _choices(listed: str) -> str:
    """Return the words of a tuple that was made of a set, in an order that is always the same."""
    return ", ".join(sorted(word for word in re.findall(r"'([^']*)'", listed) if word != "None"))


def _say(message: str, status: int) -> int:
    """Print a message in one line, in which a word that fills the screen is cut short."""
    line = " ".join(word if len(word) <= LONGEST else f"{word[: LONGEST // 2]}..." for word in message.split())
    text.say(line)
    return status
