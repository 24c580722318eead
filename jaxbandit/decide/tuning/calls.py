"""Trainings in plain Python, one at a time or on an executor."""

from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.base.types import Key, PyTree, Scalar
from jaxbandit.decide.tuning.configs import Configs
from jaxbandit.engine.rounds import keys
from jaxbandit.running.distribution.driving import completed

Train = Callable[[Key, PyTree], Scalar]  # (key, config) -> score


class Part(NamedTuple):
    """Some of the requested trainings, which have ended."""

    places: np.ndarray  # int[n], their positions in the request
    scores: np.ndarray  # float64[n]
    reason: str = ""  # why the score is NaN, in words that follow the configuration; "" if train returned it
    fatal: bool = False  # whether on_failure cannot replace the score, because train is wrong


class Calls:
    """Trainings as direct calls of train, with Python numbers in the configuration."""

    def __init__(self, train: Train, configs: Configs, executor: Executor | None):
        self._train = train
        self._configs = configs
        self._executor = executor

    def __call__(self, words: np.ndarray, arms: np.ndarray) -> Iterator[Part]:
        """Train the configurations `arms` with the keys of these words, and yield the results as they end."""
        each = ((i, self._train, words[i], self._configs.row(int(arm))) for i, arm in enumerate(arms))
        if self._executor is None:
            yield from (_call(*task) for task in each)
        else:
            for _, future in completed(self._executor, ((_call, *task) for task in each)):
                yield future.result()


def _call(place: int, train: Train, words: np.ndarray, config: PyTree) -> Part:
    """One training, in any process."""
    at, nothing = np.array([place]), np.array([np.nan])
    try:
        score = train(jax.random.wrap_key_data(jnp.asarray(words), impl=keys.OF_PULLS), config)
    except Exception as error:
        return Part(at, nothing, f"raises {error_line(error)}")
    try:
        if np.shape(score) != ():
            raise TypeError
        return Part(at, np.array([float(score)]))
    except (TypeError, ValueError):
        message = f"returns a {type(score).__name__}" + (f" of shape {np.shape(score)}" if np.ndim(score) else "")
        return Part(at, nothing, f"{message}, must return one number, the score", fatal=True)


def error_line(error: BaseException) -> str:
    """Return an exception of user code in one line: its type and the first line of its message."""
    first = next(iter(str(error).strip().splitlines()), "")
    return f"{type(error).__name__}{': ' if first else ''}{first}"
