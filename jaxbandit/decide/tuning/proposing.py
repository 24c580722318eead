"""Proposals of configurations from a space: at random, by a sampler of Optuna, or by a function.

A space is a dictionary of distributions, such as `loguniform`, or a function of a trial that asks the trial for values.
Trials are those of Optuna, or, for random proposals, objects with the same methods.
"""

import copy
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from jaxbandit.decide.tuning.configs import objects
from jaxbandit.decide.tuning.space import Distribution
from jaxbandit.support import checks, extras
from jaxbandit.support.domains import choice, integer, number
from jaxbandit.support.refusals import error_line, refuse, show
from jaxbandit.support.types import PyTree

DRAW = 0x51ED270B  # of proposals, among the purposes of a search's seed
KINDS = "random", "tpe"


class Space(NamedTuple):
    """A space of configurations."""

    propose: Callable[[Any], dict[str, Any]]  # trial -> configuration
    static: Mapping[str, bool] | None  # whether each hyperparameter is static; None for a function of a trial

    def columns(self, rows: Sequence[Mapping[str, Any]]) -> PyTree:
        """Return configurations in the form that `tune` takes."""
        if self.static is None:
            return [dict(row) for row in rows]
        values = {name: [row[name] for row in rows] for name in self.static}
        return {name: objects(column) if self.static[name] else np.array(column) for name, column in values.items()}


def read_space(space: Any) -> Space:
    """Return a checked space, a dictionary of distributions or a function."""
    if callable(space):

        def propose(trial: Any) -> dict[str, Any]:
            try:
                config = space(trial)
            except Exception as error:
                raise ValueError(f"space fails: {error_line(error)}") from error
            if not isinstance(config, dict) or not config or not all(isinstance(name, str) for name in config):
                raise ValueError(f"space returns {show(config)}, must return a dictionary with strings as keys")
            return config

        return Space(propose, None)
    if not isinstance(space, Mapping) or not space:
        allowed = "a dictionary such as {'lr': jb.space.loguniform(1e-4, 1)}, or a function of a trial"
        checks.wrong("space", space, allowed)
    for name, law in space.items():
        if not isinstance(name, str) or not isinstance(law, Distribution):
            remedy = "must be loguniform, uniform, uniform_int or choice of something"
            raise ValueError(f"space: {name} = {law!r}, {remedy}")
    static = {name: law.static for name, law in space.items()}
    return Space(lambda trial: {name: law.suggest(trial, name) for name, law in space.items()}, static)


class RandomTrial:
    """A trial whose values are independent and uniform, with the `suggest` methods of Optuna's trials."""

    def __init__(self, seed: int, number: int):
        """Begin a trial, whose values depend on the seed and its number alone."""
        self.number, self.params = number, dict[str, Any]()
        self._rng = np.random.default_rng((seed, DRAW, number))

    def suggest_float(
        self, name: str, low: float, high: float, *, step: float | None = None, log: bool = False
    ) -> float:
        """Return a number in [low, high]; uniform in its logarithm if `log`, or of low, low + step, .. up to high."""
        where = f"suggest_float({name!r})"
        low = checks.take(f"{where}: low", low, number(0.0 if log else -math.inf, open_low=log))
        high = checks.take(f"{where}: high", high, number(low))
        if step is not None:
            step = float(checks.take(f"{where}: step", step, number(0.0, open_low=True)))
            if log:
                refuse(where, ": step and log are both given; give one of them")
            count = math.floor((high - low) / step * (1 + 1e-12)) + 1
            return self._known(name, lambda: low + step * int(self._rng.integers(count)))
        return self._known(name, lambda: self._between(low, high, log))

    def suggest_int(self, name: str, low: int, high: int, *, step: int = 1, log: bool = False) -> int:
        """Return an integer in [low, high]; about uniform in its logarithm if `log`, or of low, low + step, .."""
        where = f"suggest_int({name!r})"
        low = checks.take(f"{where}: low", low, integer(1 if log else -(2**62)))
        high = checks.take(f"{where}: high", high, integer(low, 2**62))
        step = checks.take(f"{where}: step", step, integer(1))
        if log:
            return self._known(name, lambda: min(max(round(self._between(low - 0.5, high + 0.5, True)), low), high))
        return self._known(name, lambda: low + step * int(self._rng.integers((high - low) // step + 1)))

    def suggest_categorical(self, name: str, choices: Sequence[Any]) -> Any:
        """Return one of some values."""
        if not len(choices):
            refuse(f"suggest_categorical({name!r})", ": choices is empty, must have at least one value")
        return self._known(name, lambda: choices[int(self._rng.integers(len(choices)))])

    def _between(self, low: float, high: float, log: bool) -> float:
        share = float(self._rng.random())
        if not log:
            return low + share * (high - low)
        return min(max(math.exp(math.log(low) + share * (math.log(high) - math.log(low))), low), high)

    def _known(self, name: str, draw: Callable[[], Any]) -> Any:
        if name not in self.params:
            self.params[name] = draw()
        return self.params[name]


class Proposer(Protocol):
    """What proposes configurations, one after the other."""

    name: str

    def propose(self) -> dict[str, Any]:
        """Return the next configuration."""
        ...

    def tell(self, number: int, score: float) -> None:
        """Take the score of proposal number 0, 1, ..; NaN if it failed."""
        ...


class _Random:
    name = "random"

    def __init__(self, space: Space, seed: int):
        self._space, self._seed, self._count = space, seed, 0

    def propose(self) -> dict[str, Any]:
        self._count += 1
        return self._space.propose(RandomTrial(self._seed, self._count - 1))

    def tell(self, number: int, score: float) -> None:
        """Do nothing."""


class _Function:
    def __init__(self, function: Callable[..., Any], seed: int):
        self.name = getattr(function, "__name__", type(function).__name__)
        self._function, self._seed = function, seed
        self._history: list[tuple[dict[str, Any], float | None]] = []

    def propose(self) -> dict[str, Any]:
        words = np.random.SeedSequence((self._seed, DRAW, len(self._history))).generate_state(1)
        try:
            config = self._function(copy.deepcopy(self._history), int(words[0] >> 1))
        except Exception as error:
            raise ValueError(f"proposer fails: {error_line(error)}") from error
        if not isinstance(config, dict) or not config or not all(isinstance(name, str) for name in config):
            raise ValueError(f"proposer returns {show(config)}, must return a dictionary with strings as keys")
        self._history.append((config, None))
        return config

    def tell(self, number: int, score: float) -> None:
        self._history[number] = self._history[number][0], score


class _Sampler:
    """A sampler of Optuna, whose study is kept in memory: its trials are asked for and told again when resuming."""

    def __init__(self, sampler: Any, space: Space, seed: int, maximize: bool):
        with extras.extra("optuna"):
            import optuna
        if sampler == "tpe":
            sampler = optuna.samplers.TPESampler(seed=seed)
        elif not isinstance(sampler, optuna.samplers.BaseSampler):
            allowed = '"random", "tpe", a sampler of Optuna or a function of (history, seed)'
            checks.wrong("proposer", sampler, allowed)
        self.name, self._space, self._failed = type(sampler).__name__, space, optuna.trial.TrialState.FAIL
        level = optuna.logging.get_verbosity()
        optuna.logging.set_verbosity(optuna.logging.WARNING)  # a line on the study in memory helps nobody
        try:
            direction = "maximize" if maximize else "minimize"
            self._study = optuna.create_study(sampler=copy.deepcopy(sampler), direction=direction)
        finally:
            optuna.logging.set_verbosity(level)

    def propose(self) -> dict[str, Any]:
        return self._space.propose(self._study.ask())

    def tell(self, number: int, score: float) -> None:
        if math.isnan(score):
            self._study.tell(number, state=self._failed)
        else:
            self._study.tell(number, score)


def proposer_of(proposer: Any, space: Any, *, seed: int, maximize: bool) -> tuple[Proposer, Space]:
    """Return the proposer of a search at its start, and its space; raise MissingExtra if Optuna is missing for it."""
    if isinstance(proposer, str):
        checks.take("proposer", proposer, choice(KINDS))
    if callable(proposer):
        if space is not None:
            raise ValueError(
                "space and a function as proposer are both given; give space=None, the function knows its own"
            )
        return _Function(proposer, seed), Space(lambda trial: {}, None)
    known = read_space(space)
    if isinstance(proposer, str) and proposer == "random":
        return _Random(known, seed), known
    return _Sampler(proposer, known, seed, maximize), known
