"""Trainings in plain Python, one at a time or on an executor."""

import inspect
import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.decide.sessions.rewards import as_float, usable
from jaxbandit.decide.tuning.configs import Configs, failed
from jaxbandit.decide.tuning.items import Items
from jaxbandit.decide.tuning.limits import Daemons, LateError, wait_for, within
from jaxbandit.decide.tuning.store import LATE, VALUE, Failure
from jaxbandit.decide.tuning.values import copied
from jaxbandit.engine.layout import compiled
from jaxbandit.engine.rounds import keys
from jaxbandit.running.distribution import driving
from jaxbandit.running.distribution.executors import crew_of
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
    'set on_failure to the score that such a training should have, or to "separate" (a field of Goal), '
    "or retries to try it again (of Execution)"
)
MEND = "mend train: this is a mistake in a program, and no failure of a training that should have a score"


def remedy(failure: Failure) -> str:
    """Return what to do about a failed training."""
    if failure.kind == "TypeError":
        first = "an integer if it is named seed or annotated as int, else a key of JAX"
        return f"{MEND}; it is called as train(seed, config), where the first argument is {first}"
    return MEND if failure.kind in MISTAKES else SET_ON_FAILURE


class Part(NamedTuple):
    """Some of the requested trainings, which have ended."""

    places: np.ndarray  # int[n], their positions in the request
    scores: np.ndarray  # float64[n]
    failure: Failure | None = None  # why the score is NaN; None if train returned it
    fatal: bool = False  # whether on_failure cannot replace the score, because train is wrong
    attempts: int = 1  # how often each of them was begun


Evaluate = Callable[..., Iterator[Part]]  # (words of keys, configurations, attempts, deadline) -> what has ended


More = Callable[[], tuple[int, np.ndarray, int] | None]  # place, words and configuration


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
        workers: int | None = None,
        items: Items | None = None,
    ):
        """Prepare the calls of train; one that lasts `timeout` seconds has failed.

        They are made on an executor, on `workers` threads, or else here. With an executor `workers` is the number of
        calls that it makes at a time, by default that of its workers. With `items`, train gets one of them in the place
        of a seed.
        """
        if executor is None and workers is not None:
            executor, train = Daemons(workers), in_scope(train)
        self._train = train
        self._integer, self._timeout, self._items = integer or items is not None, timeout, items
        self._configs = configs
        self._executor = executor
        self.workers = workers if executor is None or workers is not None else crew_of(executor).workers
        self._queue = None if executor is None else driving.CallQueue(executor)
        self._most = driving.MOST if isinstance(executor, Daemons) or workers is None else workers
        self._tasks: dict[int, tuple[int, int]] = {}  # place and configuration by the number of the call
        self._open: set[int] = set()  # numbers of the calls without a result
        self._losses = 0  # requests without any result, one after the other

    @property
    def idle(self) -> bool:
        """Whether calls are made elsewhere, of which none has ended that was not taken."""
        return self._queue is not None and self._queue.idle

    def __call__(
        self,
        words: np.ndarray,
        arms: np.ndarray,
        attempts: int = 1,
        deadline: float | None = None,
        places: Sequence[int] | None = None,
        more: More = lambda: None,
    ) -> Iterator[Part]:
        """Train the configurations `arms` with the seeds of these words, and yield the results as they end.

        A result says to which call it belongs, because there are executors that swap and repeat results. A training
        whose result does not come is left to the next request. When the iterator is closed, or at the deadline,
        trainings that have not begun are cancelled, and those that run on an executor are not waited for. With `places`
        all stay under way, for the next request, until `close`.

        Args:
          words: uint32[n, 2], from `pull_words`.
          arms: int[n], the configurations.
          attempts: how often a training with the same seed may be begun in all if it fails, >= 1.
          deadline: a time of time.monotonic() at which to end.
          places: the places of the trainings in the results, which no other training has; None: 0, .., n - 1. What is
            under way from an earlier request is not begun again.
          more: returns what to begin ahead of the next request when a worker is free.

        Raises:
          Unfinished: the executor has lost its workers, has given up or cancelled a training, or returns no results.
        """
        options = self._integer, attempts, self._timeout
        if self._queue is None:
            for place, (word, arm) in enumerate(zip(words, arms.tolist(), strict=True)):
                if deadline is not None and time.monotonic() >= deadline:
                    return
                place = place if places is None else places[place]
                yield _call(place, self._train, self._seed(word), self._configs.row(arm), *options)
            return
        own = places is None
        tasks = list(zip(range(len(arms)) if places is None else places, words, arms.tolist(), strict=True))
        request = frozenset(place for place, _, _ in tasks)
        wanted, begun = set(request), set(self._under_way())
        left, refusal, arm = iter([task for task in tasks if task[0] not in begun]), None, int(arms[0])
        try:
            while wanted:
                try:
                    self._fill(self._queue, left, more, options)
                except Exception as error:  # raised once the calls that were submitted before have ended
                    left, more, refusal = iter(()), lambda: None, error
                if request.isdisjoint(self._under_way()):
                    break
                if (taken := self._queue.take(deadline)) is None:
                    return
                call, future = taken
                _, arm = self._tasks[call[1]]
                part = self._result(future, arm)
                number = int(part.places[0])
                if number in self._open:
                    self._open.discard(number)
                    place, _ = self._tasks[number]
                    wanted.discard(place)
                    yield part._replace(places=np.array([place]))
            if refusal is not None:
                raise refusal
        except BrokenExecutor as error:
            what = f"or a training beside it ended the workers of the executor ({error_line(error)})"
            raise failed(self._configs, arm, what, Unfinished) from error
        finally:
            if own:
                self.cancel()
        if deadline is not None and time.monotonic() >= deadline:
            return
        self._losses = self._losses + 1 if len(wanted) == len(tasks) else 0
        if self._losses == driving.DEATHS:
            raise failed(self._configs, int(arms[0]), "got no result from the executor", Unfinished)

    def _under_way(self) -> Iterator[int]:
        """The places of the calls that the executor has, in the order in which they were submitted."""
        assert self._queue is not None
        return (self._tasks[call[1]][0] for call in self._queue.calls.values())

    def _fill(self, queue: driving.CallQueue, left: Iterator[tuple], more: More, options: tuple) -> None:
        """Submit what is left of a request, and as much of what comes after it as there are free workers."""
        while len(queue.calls) < self._most and (task := next(left, None)) is not None:
            self._submit(queue, task, options)
        while self.workers is not None and len(queue.calls) < self.workers and (task := more()) is not None:
            self._submit(queue, task, options)

    def _submit(self, queue: driving.CallQueue, task: tuple[int, np.ndarray, int], options: tuple) -> None:
        (place, words, arm), number = task, next(NUMBERS)
        self._tasks[number] = place, arm
        self._open.add(number)
        queue.put((_call, number, self._train, self._seed(words), self._configs.row(arm), *options))

    def _seed(self, words: np.ndarray) -> Any:
        """What a training gets for the words of its seed, which stay as they are for a key."""
        if self._items is not None:
            return self._items.item(int(words[1]))
        return int(words[1]) if self._integer else words

    def cancel(self) -> list[int]:
        """Cancel the calls that have not begun, wait for none, and return the places of those that never will."""
        places = [] if self._queue is None else [self._tasks[call[1]][0] for call in self._queue.cancel()]
        self._tasks.clear()
        self._open.clear()
        return places

    def close(self) -> list[int]:
        """Do what `cancel` does, and let threads of this search end with their calls."""
        places = self.cancel()
        if isinstance(self._executor, Daemons):
            self._executor.shutdown(wait=False)
        return places

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


def in_scope(train: Train) -> Train:
    """Return the function as it is called on another thread, with the scoped options of this one."""
    scope = compiled.scopes_of_thread()

    def call(seed: Any, config: PyTree) -> Scalar:
        with scope():
            return train(seed, config)

    return call


def _call(
    number: int,
    train: Train,
    seed: Any,
    config: PyTree,
    integer: bool,
    attempts: int,
    timeout: float | None,
) -> Part:
    """One training, in any process, begun again while it fails. Its place in the result is the number of the call."""
    part = _attempt(number, train, seed, config, integer, timeout)
    for attempt in range(2, attempts + 1):
        if part.fatal or usable(part.scores).all():
            break
        part = _attempt(number, train, seed, config, integer, timeout)._replace(attempts=attempt)
    return part


def _attempt(number: int, train: Train, seed: Any, config: PyTree, integer: bool, timeout: float | None) -> Part:
    at, nothing = np.array([number]), np.array([np.nan])
    if not integer:
        seed = jax.random.wrap_key_data(jnp.asarray(seed), impl=keys.OF_PULLS)
    try:
        own = copied(config)
        score = train(seed, own) if timeout is None else within(timeout, train, seed, own)
        if inspect.isawaitable(score):
            score = wait_for(timeout, score)
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
