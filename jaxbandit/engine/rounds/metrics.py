"""The metrics of one run in the engine: what is carried from round to round, and the values at the checkpoints."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.base.contract import Algorithm, Environment
from jaxbandit.base.metrics import Checkpoint, Metric, Round
from jaxbandit.engine.rounds.step import ContractError, Played, called, recommendation, same_state
from jaxbandit.support.checks import take
from jaxbandit.support.domains import NAME
from jaxbandit.support.numerics import as_float, kahan_pair
from jaxbandit.support.types import Array, PyTree

# Results are arrays by name; this comes before the name of a metric.
METRIC = "metric/"
MEAN, VARIANCE, COUNTED = "metric_mean/", "metric_variance/", "metric_runs/"  # over the runs, and how many these are
MEASURES = ("regret", "feedback", "hindsight")  # names of the other curves of a result
FIGURES = ("gap",)  # other names of what a figure draws
COLUMNS = ("round", "mean", "se", "low", "high", "runs")  # of a table of curves, in which metrics are columns too

Given = Mapping[str, Metric | Callable[[Round], Array]]


class Carries(NamedTuple):
    """What the metrics of one run carry from round to round."""

    round: Array  # int32[], number of rounds so far
    own: tuple[PyTree, ...]  # a carry of each metric


class Metrics(NamedTuple):
    """The metrics of a run; all fields are static."""

    names: tuple[str, ...] = ()
    each: tuple[Metric, ...] = ()
    example: Any = None  # Round of the shapes of a round
    checkpoint: Any = None  # a function that returns the Checkpoint of shapes

    def empty(self) -> Carries | None:
        """What is carried before the first round; None without metrics."""
        if not self.names:
            return None
        return Carries(jnp.int32(0), tuple(self._begun(i) for i in range(len(self.names))))

    def after(self, carries: Carries, state: PyTree, world: PyTree, played: Played) -> Carries:
        """What is carried after a round, which was played in these states of the algorithm and the environment."""
        r = round_of(state, world, played, carries.round + 1)
        steps = zip(self.names, self.each, carries.own, strict=True)
        return Carries(r.round, tuple(called(f"metrics.{name}", metric.step, own, r) for name, metric, own in steps))

    def values(self, carries: Carries | None, now: Callable[[], Checkpoint]) -> tuple[Array, ...]:
        """The value of each metric, float[]; `now` returns the run at the checkpoint, for those that look at it."""
        every = () if carries is None else zip(self.names, self.each, carries.own, strict=True)
        return tuple(as_float(_value(name, metric, own, now)) for name, metric, own in every)

    def check(self) -> None:
        """Raise a ContractError of one line if a metric cannot be carried by a loop, or is not one number."""
        for i, (name, metric) in enumerate(zip(self.names, self.each, strict=True)):
            carry = jax.eval_shape(lambda i=i: self._begun(i))
            where = f"metrics.{name}"
            after = jax.eval_shape(lambda c, r, m=metric, at=where: called(at, m.step, c, r), carry, self.example)
            same_state(f"{where}: step", "carry", carry, after)
            now = self.checkpoint() if _looks(metric) else None
            jax.eval_shape(lambda c, x, n=name, m=metric: _value(n, m, c, lambda: x), carry, now)

    def _begun(self, i: int) -> PyTree:
        init, where = self.each[i].init, f"metrics.{self.names[i]}"
        required = [p for p in inspect.signature(init).parameters.values() if p.default is p.empty]
        shapes = (self.example,) if required else ()
        return jax.tree.map(lambda x: jnp.array(x, jnp.result_type(x)), called(where, init, *shapes))


def metrics_of(given: tuple[tuple[str, Any], ...], example: Round, checkpoint: Callable[[], Any]) -> Metrics:
    """Return the metrics of a run, given by name, for rounds of these shapes; raise an error if one is no number."""
    names = tuple(name for name, _ in given)
    every = tuple(x if isinstance(x, Metric) else _summed(f"metrics.{name}", x) for name, x in given)
    metrics = Metrics(names, every, example, checkpoint)
    metrics.check()
    return metrics


def round_of(state: PyTree, world: PyTree, played: Played, number: Any) -> Round:
    """Return what metrics see of a round that was played in these states of the algorithm and the environment."""
    return Round(
        state=state,
        context=played.context,
        action=played.action,
        choice=played.choice,
        feedback=played.feedback,
        regret=played.regret,
        world=world,
        round=number,
    )


def checkpoint_of(algorithm: Algorithm, environment: Environment, world: PyTree, state: PyTree) -> Checkpoint:
    """Return what metrics see of a run at a checkpoint."""
    recommended, judge = recommendation(algorithm, state), environment.simple_regret
    if recommended is None or judge is None:
        return Checkpoint(state, world, recommended, None)
    return Checkpoint(state, world, recommended, called("environment.simple_regret", judge, world, recommended))


def limits_of(given: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Return the limits of the metrics that declare them, by name, as plain data."""
    return {name: list(x.limits) for name, x in given.items() if isinstance(x, Metric) and x.limits is not None}


def metrics_by_name(given: Given | None, taken: Sequence[str] = ()) -> dict[str, Any]:
    """Return the metrics by name; raise ValueError unless each is a function or a Metric with a name of its own.

    `taken` are more names that results of this kind use.
    """
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise ValueError(f"metrics is a {type(given).__name__}, must be a dictionary of functions or Metrics by name")
    for name, metric in given.items():
        take("metrics: name", name, NAME)
        if name in (*MEASURES, *FIGURES, *COLUMNS, *taken):
            raise ValueError(f"metrics: {name!r} is the name of something else in results; choose another name")
        if not callable(metric) and not isinstance(metric, Metric):
            kind = type(metric).__name__
            raise ValueError(f"metrics: {name!r} is of type {kind}, must be a function of a Round or a Metric")
    return dict(given)


def is_curve(name: str) -> bool:
    """Whether an array of results is recorded at checkpoints, float[runs, checkpoints]."""
    return name in MEASURES or name.startswith(METRIC)


def included(name: str, rows: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return which of the runs `counts`, bool[runs], are in the means of an array [runs, checkpoints] of this name.

    A run with a value of a metric that is not finite is left out of it.
    """
    return counts & np.isfinite(rows).all(axis=1) if name.startswith(METRIC) else counts


def _looks(metric: Metric) -> bool:
    """Whether the value of a metric looks at the run, and not at its carry alone."""
    required = [p for p in inspect.signature(metric.value).parameters.values() if p.default is p.empty]
    return len(required) > 1


def _value(name: str, metric: Metric, carry: PyTree, now: Callable[[], Checkpoint]) -> Any:
    more = (now(),) if _looks(metric) else ()
    return _number(f"metrics.{name}", called(f"metrics.{name}", metric.value, carry, *more))


def _summed(where: str, function: Callable[[Round], Array]) -> Metric:
    """The metric of the sum of a function over the rounds."""
    return Metric(
        init=lambda: jnp.zeros(2),
        step=lambda total, r: kahan_pair(total, as_float(_number(where, function(r)))),
        value=lambda total: total[0],
    )


def _number(where: str, x: Any) -> Any:
    """Return x if it is one number; raise a ContractError otherwise."""
    if isinstance(x, bool | int | float) or (getattr(x, "shape", None) == () and _is_real(x.dtype)):
        return x
    got = f"{x.dtype}{list(x.shape)}" if hasattr(x, "shape") else "None" if x is None else f"a {type(x).__name__}"
    raise ContractError(f"{where} returns {got}, must return one number, float[]")


def _is_real(dtype: Any) -> bool:
    return any(jnp.issubdtype(dtype, kind) for kind in (jnp.floating, jnp.integer, jnp.bool_))
