"""What is true of an instance and known outside of it: its means, the constants of its bounds, and when it changes."""

from collections.abc import Callable
from typing import Any, NamedTuple

from jaxbandit.support.types import Array, ArrayLike, PyTree


def nothing() -> dict[str, Any]:
    """Return an empty dict, for an environment of which nothing is known."""
    return {}


class Schedule(NamedTuple):
    """Piecewise-constant means whose change points are the same in all runs and do not depend on the actions.

    Attributes:
      starts: number of rounds played before each segment begins, increasing from 0. A declared oracle may know them.
      means: float[segments, num_arms], may be traced.
      regret_constant: `(means) -> float >= 0`, the constant of the lower bound on regret, as in `Truth`, of the
        stationary problem with the means of one segment, float[num_arms]. None if it is not known.
    """

    starts: tuple[int, ...]
    means: ArrayLike
    regret_constant: Callable[[ArrayLike], float] | None = None


class Prior(NamedTuple):
    """The prior of an environment each run of which has an instance of its own, as `jb.drawn` returns it.

    Attributes:
      names: names of the arguments of a factory that are drawn.
      arguments: `(state) -> dict`, what a run has drawn, by name.
      instance: `(**arguments) -> Environment`, the instance with these arguments.
    """

    names: tuple[str, ...]
    arguments: Callable[[PyTree], dict[str, Array]]
    instance: Callable[..., Any]


class Truth(NamedTuple):
    """The ground truth of an instance, which results and figures show and no algorithm sees. All of it is optional.

    The functions without arguments are called outside of tracing, on an environment whose arguments are concrete.

    Attributes:
      means: `(state) -> float[num_arms]`, the mean rewards of the single arms in the state's round; with contexts
        float[num_contexts, num_arms], where padding is -inf. Results show them if they are the same in all runs.
      regret_constant: `() -> float >= 0`, the factor of log(t) in the asymptotic lower bound on regret, which holds in
        every run.
      characteristic_time: `() -> float > 0`, T*, the number of pulls per unit of log(1/delta) that every rule needs to
        identify the best arm; inf if two arms are best.
      dim: dimension d of the parameter of linear means, on which the worst-case regret d sqrt(n) depends.
      rates: `() -> float[...]` in [0, 1], the probabilities that uniform numbers are compared with, of environments
        whose means do not tell them; those of the families "bernoulli" and "sign" are their means.
      parameters: `() -> dict`, the true parameters by name, such as theta, for bounds and for declared oracles.
      costly: whether these constants take seconds, because they solve optimization problems. `simulate` and `identify`
        then leave them out; experiments from files include them.
      candidates: `() -> float[num_candidates]`, the means of the candidates, one of which is recommended, if they are
        other than the arms.
      prior: where the instance of each run is drawn from; None if all runs have the same. Constants are then those of
        no run, and are not declared.
    """

    means: Callable[[PyTree], Array] | None = None
    regret_constant: Callable[[], float] | None = None
    characteristic_time: Callable[[], float] | None = None
    dim: int | None = None
    rates: Callable[[], ArrayLike] | None = None
    parameters: Callable[[], dict[str, Any]] = nothing
    costly: bool = False
    candidates: Callable[[], ArrayLike] | None = None
    prior: Prior | None = None
