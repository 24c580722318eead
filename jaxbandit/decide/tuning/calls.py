"""Trainings in plain Python, one at a time or on an executor."""

import itertools
import time
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import closing
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.decide.sessions.rewards import as_float, usable
from jaxbandit.decide.tuning.configs import Configs, failed
from jaxbandit.decide.tuning.limits import LateError, within
from jaxbandit.decide.tuning.store import LATE, VALUE, Failure
from jaxbandit.decide.tuning.values import copied
from jaxbandit.engine.rounds import keys
from jaxbandit.running.distribution import driving
from jaxbandit.support.refusals import Unfinished, error_line
from jaxbandit.support.types import PyTree, Scalar

Train = Callable[[Any, PyTree], Scalar]  # (key or integer seed, config) -> score

NUMBERS = itertools.count()  # numbers all calls of this process, so that no result is taken for that of another call
NO_NUMBERS = "cmMSU"  # kinds of dtypes that `float` would accept or cut


# Exceptions that only a mistake in the program can raise: to give them a score would hide it.
MISTAKES = (
    "IndexError KeyError LookupError TypeError NameError UnboundLocalError AttributeError ImportError "
    "ModuleNotFoundError NotImplementedError SyntaxError IndentationError RecursionError"
).split()
SET_ON_FAILURE = (
    'set on_failure to the score that such a training should have, or to "separate", or retries= to try it again'
)
MEND = "mend train: this is a mistake in a program, and no failure of a training that should have a score"


def remedy(failure: Failure) -> str:
    """Return what to do about a failed training."""
    return MEND if failure.kind in MISTAKES else SET_ON_FAILURE


class Part(NamedTuple):
    """Some of the requested trainings, which have ended."""

    places: np.ndarray  # int[n], their positions in the request
    scores: np.ndarray  # float64[n]
    failure: Failure | None = None  # why the score is NaN; None if train returned it
    fatal: bool = False  # whether on_failure cannot replace the score, because train is wrong
    attempts: int = 1  # how often each of them was begun


Evaluate = Callable[..., Iterator[Part]]  # (words of keys, configurations, attempts, deadline) -> what has ended


class Calls:
    """Trainings as direct calls of train, with Python numbers in the configuration."""

    def __init__(
        self,
        train: Train,
        configs: Configs,
        executor: Executor | None,
        *,
        integer: bool = False,
        timeout: float | None = None,
    ):
        """Prepare the calls of train, on an executor or here; one that lasts `timeout` seconds has failed."""
        self._train = train
        self._integer, self._timeout = integer, timeout
        self._configs = configs
        self._executor = executor
        self._losses = 0  # requests without any result, one after the other

    def __call__(
        self, words: np.ndarray, arms: np.ndarray, attempts: int = 1, deadline: float | None = None
    ) -> Iterator[Part]:
        """Train the configurations `arms` with the seeds of these words, and yield the results as they end.

        A result says to which call it belongs, because there are executors that swap and repeat results. A training
        whose result does not come is left to the next request. When the iterator is closed, or at the deadline,
        trainings that have not begun are cancelled, and those that run on an executor are not waited for.

        Args:
          words: uint32[n, 2], from `pull_words`.
          arms: int[n], the configurations.
          attempts: how often a training with the same seed may be begun in all if it fails, >= 1.
          deadline: a time of time.monotonic() at which to end.

        Raises:
          Unfinished: the executor has lost its workers, has given up or cancelled a training, or returns no results.
        """
        options = self._integer, attempts, self._timeout
        if self._executor is None:
            for place, arm in enumerate(arms):
                if deadline is not None and time.monotonic() >= deadline:
                    return
                yield _call(place, self._train, words[place], self._configs.row(int(arm)), *options)
            return
        places: dict[int, int] = {}  # of the trainings without a result, by the number of the call

        def calls() -> Iterator[tuple]:
            for place, arm in enumerate(arms):
                number = next(NUMBERS)
                places[number] = place
                yield _call, number, self._train, words[place], self._configs.row(int(arm)), *options

        place = 0
        with closing(driving.completed(self._executor, calls(), deadline=deadline)) as ended:
            try:
                for call, future in ended:
                    place = places.get(call[1], place)
                    part = self._result(future, int(arms[place]))
                    number = int(part.places[0])
                    if number in places:
                        yield part._replace(places=np.array([places.pop(number)]))
            except BrokenExecutor as error:
                what = f"or a training beside it ended the workers of the executor ({error_line(error)})"
                raise failed(self._configs, int(arms[place]), what, Unfinished) from error
        if deadline is not None and time.monotonic() >= deadline:
            return
        self._losses = self._losses + 1 if len(places) == len(arms) else 0
        if self._losses == driving.DEATHS:
            raise failed(self._configs, int(arms[0]), "got no result from the executor", Unfinished)

    def _result(self, future: Future, arm: int) -> Part:
        """The result of a call; an error names the configuration."""
        try:
            part: Any = future.result()
        except (KeyboardInterrupt, BrokenExecutor):
            raise
        except BaseException as error:
            kind, what = ValueError, f"cannot be trained on the executor ({error_line(error)})"
            if driving.is_lost(error):
                kind, what = Unfinished, f"was given up by the executor ({error_line(error)})"
            elif driving.is_cancelled(error):
                kind, what = Unfinished, "was cancelled by the executor"
            raise failed(self._configs, arm, what, kind) from error
        if not isinstance(part, Part):
            what = f"got a {type(part).__name__} from the executor, which is not the result of its call"
            raise failed(self._configs, arm, what)
        return part


def _call(
    number: int,
    train: Train,
    words: np.ndarray,
    config: PyTree,
    integer: bool,
    attempts: int,
    timeout: float | None,
) -> Part:
    """One training, in any process, begun again while it fails. Its place in the result is the number of the call."""
    part = _attempt(number, train, words, config, integer, timeout)
    for attempt in range(2, attempts + 1):
        if part.fatal or usable(part.scores).all():
            break
        part = _attempt(number, train, words, config, integer, timeout)._replace(attempts=attempt)
    return part


def _attempt(
    number: int, train: Train, words: np.ndarray, config: PyTree, integer: bool, timeout: float | None
) -> Part:
    at, nothing = np.array([number]), np.array([np.nan])
    seed = int(words[1]) if integer else jax.random.wrap_key_data(jnp.asarray(words), impl=keys.OF_PULLS)
    try:
        own = copied(config)
        score = train(seed, own) if timeout is None else within(timeout, train, seed, own)
    except LateError as error:
        return Part(at, nothing, Failure(LATE, str(error)))
    except (Exception, SystemExit, GeneratorExit) as error:
        return Part(at, nothing, Failure(type(error).__name__, f"raises {error_line(error)}"))
    value, shape = _number(score)
    if value is None:
        message = f"returns a {type(score).__name__}" + (f" of shape {shape}" if shape else "")
        return Part(at, nothing, Failure(VALUE, f"{message}, must return one number, the score"), fatal=True)
    return Part(at, np.array([value]))


def _number(score: Any) -> tuple[float | None, tuple[int, ...]]:
    """What train has returned as a float, None if it is not one real number, and its shape if it has one."""
    shape = ()
    try:
        shape = np.shape(score)
        text = isinstance(score, str | bytes | bytearray)
        if shape or text or getattr(getattr(score, "dtype", None), "kind", "O") in NO_NUMBERS:
            return None, shape
        return as_float(score), shape
    except Exception:  # of methods of its type, such as __float__
        return None, shape
