"""A search in a process of its own, which can be ended although a training in it never ends."""

import contextlib
import math
import multiprocessing
import pickle
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from jaxbandit.decide.tuning import recorded
from jaxbandit.decide.tuning.store import LOG, opened, read_about
from jaxbandit.support.refusals import BadInput, Unfinished, error_line

GRACE = 5.0  # seconds after its timeout, or after an interrupt, in which the process may end by itself
LOOK = 0.1  # seconds between two looks at the process
ENDED = "the process of the search was ended {:.0f} s after its timeout, because a training did not end"


def play(search: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    """Return what search(**arguments) returns, from a process that is ended when its time is over.

    If it has to be ended, the result is made here of the scores that it has stored, without a training. At the second
    interrupt the process is ended at once.
    """
    execution = arguments["execution"]._replace(isolate=False)
    if execution.executor is not None:
        raise ValueError("isolate = True and executor are both given, which exclude each other; give seconds_each")
    arguments = {**arguments, "execution": execution}
    for name, value in arguments.items():
        try:
            pickle.dumps(value)
        except Exception as error:
            what = f"{name} cannot be pickled ({error_line(error)})"
            raise ValueError(f"isolate = True, but {what}; define it at the top level of a module") from error
    limit = arguments["budget"].seconds
    with contextlib.ExitStack() as stack:
        if own := execution.directory is None:
            place = stack.enter_context(tempfile.TemporaryDirectory(prefix="jaxbandit-"))
            arguments["execution"] = execution = execution._replace(directory=place)
        path = Path(str(execution.directory))
        try:
            result = _played(search, arguments, limit)
        except (BadInput, Unfinished, KeyboardInterrupt) as error:
            if own and search.__name__ == "tune":
                _keep(error, path)
            raise
        if result is not None:
            return result
        if not any(file.stat().st_size for file in path.rglob(LOG)):
            raise Unfinished(
                f"{search.__name__}: no training has ended within {limit:g} seconds, and its process was ended"
            )
        # Neither traced nor called, so that nothing can hang here: the scores are those of this function.
        arguments["execution"] = execution._replace(traced=False, batch=None, same_train=True)
        result = search(**arguments | {"budget": replace(arguments["budget"], seconds=0.0)})
        object.__setattr__(result, "notes", (ENDED.format(GRACE), *result.notes))
        return result


def _played(search: Callable[..., Any], arguments: dict[str, Any], limit: float | None) -> Any:
    """What the process returns; None if it had to be ended."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_run, args=(there, search, arguments), name=f"{search.__name__}-search")
    process.start()
    there.close()
    try:
        ends = math.inf
        while time.monotonic() < ends:
            if not here.poll(LOOK):
                continue
            try:
                kind, content = here.recv()
            except EOFError:
                process.join(GRACE)
                code = process.exitcode
                raise Unfinished(
                    f"{search.__name__}: the process of the search has ended with exit status {code}"
                ) from None
            except Exception as error:  # of a class that cannot be made here
                raise Unfinished(
                    f"{search.__name__}: the process returns what cannot be read ({error_line(error)})"
                ) from error
            if kind == "begun":
                ends = math.inf if limit is None else time.monotonic() + limit + GRACE
            elif kind == "result":
                return content
            else:
                raise _error(kind, *content)
        return None
    except KeyboardInterrupt:
        with contextlib.suppress(KeyboardInterrupt):  # the second one
            process.join(GRACE)
        raise
    finally:
        process.kill()
        process.join()
        here.close()


def _error(kind: str, message: str, notes: list[str], scores: np.ndarray | None) -> BaseException:
    error = {"BadInput": BadInput, "Unfinished": Unfinished, "KeyboardInterrupt": KeyboardInterrupt}[kind](message)
    for note in notes:
        error.add_note(note)
    if scores is not None:
        error.scores = scores  # pyright: ignore[reportAttributeAccessIssue]
    return error


def _run(there: Connection, search: Callable[..., Any], arguments: dict[str, Any]) -> None:
    """Search, in the process."""
    there.send(("begun", None))
    try:
        there.send(("result", search(**arguments)))
    except BaseException as error:
        kind = next((k.__name__ for k in (BadInput, Unfinished, KeyboardInterrupt) if isinstance(error, k)), None)
        message = str(error) if kind else f"the search raises {error_line(error)}"
        there.send((kind or "Unfinished", (message, getattr(error, "__notes__", []), getattr(error, "scores", None))))
    finally:
        there.close()


def _keep(error: BaseException, path: Path) -> None:
    """Give an error the scores of a directory that is about to be deleted."""
    with contextlib.suppress(ValueError, OSError), opened(path, read_about(path)) as store:
        recorded.keep(error, store, np.arange(len(store.entries)), None)
