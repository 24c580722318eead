"""What a gate compares: two functions, two commands, or two columns of numbers that were measured before."""

import inspect
import os
import shlex
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from jaxbandit.support import columns, decimals, threads
from jaxbandit.support.domains import check, number
from jaxbandit.support.refusals import error_line, python

VALUE = number(0, columns.LARGEST)
MEND = "mend it, because a failed call has no value"
KINDS = "a function, a command (a text or a list of its words), or a column of numbers"

Subject = Callable[..., Any] | str | Sequence[Any] | np.ndarray
Measure = Callable[[int], float]  # from the number of a seed to what a call has measured


class LateError(Exception):
    """Raised for a call that was ended because the time of the gate is over."""


def kind_of(name: str, subject: Any) -> str:
    """Return "function", "command" or "column"; raise ValueError for anything else."""
    if callable(subject):
        return "function"
    words = [subject] if isinstance(subject, str) else subject
    if isinstance(words, list | tuple) and words and all(isinstance(word, str) for word in words):
        return "command"
    if hasattr(subject, "__array__") or isinstance(subject, list | tuple):
        return "column"
    raise ValueError(f"{name} = {python(subject)}, must be {KINDS}")


def column(name: str, subject: Any) -> np.ndarray:
    """Return a column as float64[rows], of which each number is finite and not negative."""
    values = columns.numbers(subject, lambda row: f"{name}[{row}]", VALUE.allowed)
    if values.ndim != 1:
        raise ValueError(f"{name} has shape {values.shape}, must have one number in each row")
    columns.refuse_first(~((values >= 0) & np.isfinite(values)), lambda row: f"{name}[{row}]", values, VALUE.allowed)
    return values


def measure_of_function(name: str, function: Callable[..., Any]) -> Measure:
    """Return the measurement of a function: its seconds if it has no argument, or what it returns for a seed."""
    try:
        given = [p for p in inspect.signature(function).parameters.values() if p.default is p.empty]
        required = len([p for p in given if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)])
    except (TypeError, ValueError):  # of a function in C
        required = 0
    if required > 1:
        allowed = "no argument, to be timed, or one, the seed, to return a number"
        raise ValueError(f"{name} = {python(function)} takes {required} arguments, must take {allowed}")

    def call(seed: int) -> float:
        start = time.perf_counter()
        try:
            value = function(*[seed][:required])
        except Exception as error:
            raise ValueError(f"{name} raises {error_line(error)}; {MEND}") from error
        return check(f"{name}: a call returns a value", value, VALUE) if required else time.perf_counter() - start

    return call


class Commands:
    """Commands as processes, one at a time, which are ended when the time is over."""

    def __init__(self, seconds: float, from_output: bool):
        """Begin the time; a value is the number on the last line of output with `from_output`, or the seconds."""
        self._process: subprocess.Popen | None = None
        self._seconds, self._from_output, self._over = seconds, from_output, False
        self._timer = threads.start_later(seconds, self.close, name="limit of the gate")

    def close(self) -> None:
        """End the process that runs, with those that it has begun, and begin no other."""
        self._over = True
        self._timer.cancel()
        if (process := self._process) is not None and process.poll() is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)

    def measure(self, name: str, command: str | Sequence[str]) -> Measure:
        """Return the measurement of a command, which is not executed by a shell."""
        try:
            words = shlex.split(command) if isinstance(command, str) else list(command)
        except ValueError as error:
            raise ValueError(f"{name} = {command!r} cannot be divided into words ({error})") from None
        if not words:
            raise ValueError(f"{name} = {command!r}, must be {KINDS}")
        where = f"{name}: the command {python(shlex.join(words))}"
        return lambda seed: self._seconds_or_number(where, words)

    def _seconds_or_number(self, where: str, words: list[str]) -> float:
        if self._over:
            raise LateError
        with tempfile.TemporaryFile() as errors, tempfile.TemporaryFile() as output:
            options: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stderr": errors, "start_new_session": True}
            options["stdout"] = output if self._from_output else subprocess.DEVNULL
            start = time.perf_counter()
            try:
                self._process = subprocess.Popen(words, **options)
            except OSError as error:
                what = f"cannot be started ({error.strerror})"
                raise ValueError(f"{where} {what}; give the path of a program, and its arguments") from None
            try:
                if self._over:  # in between
                    self.close()
                status = self._process.wait()
                seconds = time.perf_counter() - start
            finally:
                if self._process.poll() is None:  # an interrupt
                    self.close()
            if self._over and status == -signal.SIGKILL:
                what = f"did not end within the {self._seconds:g} s of the gate"
                raise LateError(f"{where} {what}; give a longer timeout")
            if status:
                ending = f"was ended by signal {-status}" if status < 0 else f"ended with exit status {status}"
                said = f" ({line})" if (line := _last_line(errors)) else ""
                raise ValueError(f"{where} {ending}{said}; {MEND}")
            return self._number(where, _last_line(output)) if self._from_output else seconds

    @staticmethod
    def _number(where: str, line: str) -> float:
        value = decimals.number(line)
        return check(f"{where}: the last line of what it prints", line if value is None else value, VALUE)


def _last_line(file: Any) -> str:
    """Return the last line that is not empty, "" if there is none."""
    file.seek(0)
    lines = file.read().decode(errors="backslashreplace").split("\n")
    return next((" ".join(line.split())[:200] for line in reversed(lines) if line.strip()), "")
