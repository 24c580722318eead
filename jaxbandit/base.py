"""The two contracts, Algorithm and Environment, and the codes that say how a run ended.

Both are tuples of pure functions of ONE run: no batch axis, no jit, no classes. The engine adds the batch.
A factory `name(problem data, *, hyperparameters)` returns one and closes over its arguments; static or traced is
visible in the signature: `int`, `bool`, `Literal` and callables are static, `Array` and `Scalar` are traced.
"""

import enum
from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp

from jaxbandit.types import Array, Key

State = Any
Noise = Any
Context = Any
Action = Any
Recommendation = Any


class Algorithm(NamedTuple):
    """A bandit algorithm: pure functions of one run.

    State is a NamedTuple that holds what the next round needs and nothing else. If it has a field `counts`, that
    field must be the int32[num_arms] pulls per arm: the recorder then reads it instead of counting again.
    """

    init: Callable[[Key], State]
    noise: Callable[[Key], Noise]  # the chance one round's select uses; `none()` if deterministic
    select: Callable[[Noise, State, Context], Action]
    update: Callable[[State, Context, Action, Array], State]  # the last argument is the reward, float[]
    recommend: Callable[[State], Recommendation]
    stop: Callable[[State], Array]  # bool[]; `never()` for regret algorithms


class Environment(NamedTuple):
    """A bandit problem: it owns the truth, and its reward is deterministic given the round's noise.

    `noise` does not depend on the action or the state, so that the engine draws it for a block of rounds at once and
    two algorithms on the same (seed, run, round) meet the same chance. A reward law that cannot be written so takes a
    key as its noise.
    """

    init: Callable[[Key], State]
    observe: Callable[[State, Noise], Context]  # None when there is no context
    noise: Callable[[Key], Noise]
    reward: Callable[[State, Context, Action, Noise], Array]
    regret: Callable[[State, Context, Action], Array]  # float[]: the action's gap; seen by the recorder alone


class Outcome(enum.IntEnum):
    """How one run ended. MAX_ROUNDS is censoring, and is reported as such."""

    STOPPED = 0
    MAX_ROUNDS = 1
    NONFINITE = 2
    PRECISION = 3


def none() -> Callable[[Key], None]:
    """Noise of something deterministic: nothing is drawn."""
    return lambda key: None


def no_context() -> Callable[[State, Noise], None]:
    """Observation of an environment without contexts."""
    return lambda state, noise: None


def never() -> Callable[[State], Array]:
    """Stopping rule of an algorithm that runs to the horizon."""
    return lambda state: jnp.zeros((), bool)
