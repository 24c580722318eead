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


class SetPulls(NamedTuple):
    """A block of pulls where an action is a set of arms, a super-arm: its reward is one number, the sum of its members.

    With `sets` None the pulls are spread evenly over all sets of the environment's size, which are too many to list:
    the environment then answers with sum_s r_s chi_s, float[num_arms], r_s the reward and chi_s the indicator of the
    set pulled at s.
    """

    sets: Array | None  # bool[num_sets, num_arms]
    counts: Array  # int32[num_sets], pulls of each set; int32[1] where sets is None


class Algorithm(NamedTuple):
    """A bandit algorithm: pure functions of one run.

    State is a NamedTuple that holds what the next round needs and nothing else. If it has a field `counts`, that
    field must be the pulls per arm, int32[num_arms]: the recorder then reads it instead of counting again. With several
    action sets it is int32[num_contexts * num_arms], num_arms m + a for arm a of context m, padding included. A field
    `kinds`, int32[num_kinds], counts rounds by kind, such as exploration and exploitation: results show it like pulls.

    Before every round `stop` and then `select` look at the same state. The fields with a default are optional, each
    group whole or absent.
    """

    init: Callable[[Key], State]
    noise: Callable[[Key], Noise]  # the chance one round's select uses; `none()` if deterministic
    select: Callable[[Noise, State, Context], Action]
    update: Callable[[State, Context, Action, Array], State]  # the last argument is the reward, float[]
    recommend: Callable[[State], Recommendation]
    stop: Callable[[State], Array]  # bool[]; `never()` for regret algorithms

    # Rare heavy work: a run whose state needs a refresh plays no round until the engine has refreshed it, and then
    # needs none in that round. Within a fixed horizon, `refresh_late` lets it play on a few rounds with the old state.
    needs_refresh: Callable[[State], Array] | None = None  # bool[]
    refresh: Callable[[State], State] | None = None

    # Blocks of pulls fixed in advance: in place of noise, select and update where the engine may step so.
    # int32[num_arms], pulls of each arm before it looks again, sum >= 1; or SetPulls, where actions are sets.
    block: Callable[[State], Any] | None = None
    update_block: Callable[[State, Any, Array], State] | None = None  # the same pulls; float[num_arms], reward sums

    # In float32: whether a stopped run's state agrees with its integer counts. Evaluated in float64.
    verify: Callable[[State], Array] | None = None  # bool[]; False makes the outcome PRECISION


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

    # float[] >= 0: how far a recommendation falls short of the best; it errs if this exceeds epsilon. Ties are right.
    shortfall: Callable[[State, Recommendation], Array] | None = None

    # The sum of pulls[a] rewards of every arm at once, in law exactly: noise, then float[num_arms]; of every set that
    # SetPulls names, float[num_sets].
    block_noise: Callable[[Key], Noise] | None = None
    block_reward: Callable[[State, Any, Noise], Array] | None = None


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
