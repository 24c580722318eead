"""The standard streams of the process of a command.

Text that the encoding lacks is written with escapes, a closed stream is one that nobody reads, and an output that
cannot be written is reported at the end, and not by an exception in the middle of the work.
"""

import contextlib
import dataclasses
import errno
import io
import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from jaxbandit.lab.cli.endings import DONE
from jaxbandit.support import text
from jaxbandit.support.refusals import reason

if TYPE_CHECKING:
    from jaxbandit.support.document import Describable


class _Descriptor(io.FileIO):
    """A file descriptor that is written to. What cannot be written is dropped, and the first error remembered."""

    error: OSError | None = None

    def write(self, data: Any, /) -> int | None:
        try:
            return super().write(data)
        except OSError as error:
            self.error = self.error or error
            return len(data)


_outputs: list[_Descriptor] = []  # those through which stdout was written
_document: TextIO | None = None  # where the JSON document goes while user code must not write to stdout


def prepare() -> None:
    """Make sys.stdout and sys.stderr writable in every case. Call it before any other file is opened."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:  # closed: otherwise the next file that is opened would become the standard stream
            os.open(os.devnull, os.O_RDWR)
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115  (as long as the process)
        elif type(stream) is io.TextIOWrapper:
            setattr(sys, name, _open(stream.fileno(), stream))


def _open(number: int, like: TextIO) -> TextIO:
    """Return a text stream on a descriptor, with the encoding and buffering of another one."""
    raw = _Descriptor(number, "wb", closefd=False)
    if like is not sys.stderr:
        _outputs.append(raw)
    assert isinstance(like, io.TextIOWrapper)
    return io.TextIOWrapper(
        io.BufferedWriter(raw),
        like.encoding,
        "backslashreplace",
        line_buffering=like.line_buffering,
        write_through=like.write_through,
    )


@contextlib.contextmanager
def only_a_document(own_process: bool) -> Iterator[None]:
    """Let stdout hold nothing but what `document` prints; what user code and its workers print is on stderr.

    In a process of the command, this includes what is not written by Python.
    """
    global _document
    own_process = own_process and type(sys.stdout) is io.TextIOWrapper
    if not own_process:
        _document = sys.stdout
        try:
            with contextlib.redirect_stdout(sys.stderr):
                yield
        finally:
            _document = None
        return
    stdout = sys.stdout
    stdout.flush()
    there = os.dup(1)
    os.dup2(2, 1)
    _document = _open(there, stdout)
    try:
        yield
    finally:
        stdout.flush()
        _document.flush()
        _document = None
        os.dup2(there, 1)
        os.close(there)


def output() -> TextIO:
    """Return the stream of what the command itself prints."""
    return _document or sys.stdout


def document(content: Any) -> None:
    """Print the JSON document of a command."""
    print(json.dumps(content, allow_nan=False), file=output())


def reply(as_json: bool, content: Callable[[], Any], shown: Callable[[], str]) -> int:
    """Print what a command has found, as one JSON document or as text; return the exit status."""
    if as_json:
        document(content())
    else:
        print(shown())
    return DONE


def answer(result: "Describable", title: str, *, as_json: bool, html: Path | None) -> int:
    """Print a result as `reply` does, and write its report if a file is named; return the exit status."""
    if html is not None:
        from jaxbandit.lab.report.write import write_page

        write_page(dataclasses.replace(result.describe(detail=True), title=title), html)
    return reply(as_json, result.to_json, lambda: str(result))


def remark(experiment: Any) -> None:
    """Print the warnings and the notes on an experiment on stderr."""
    from jaxbandit.lab.experiments.truth import notes_of, warnings_of

    for kind, lines in (("warning", warnings_of(experiment)), ("note", notes_of(experiment))):
        for line in lines:
            text.say(f"{kind}: {line}")


def fault() -> str:
    """Return why stdout could not be written, or ''; a reader that has closed its end, such as `head`, is no reason."""
    with contextlib.suppress(ValueError):  # user code has closed it
        sys.stdout.flush()
    errors = [raw.error for raw in _outputs if raw.error is not None and raw.error.errno != errno.EPIPE]
    return reason(errors[0]) if errors else ""
