"""Metrics: what is measured of a run besides its regret, round by round.

A metric is a function of a `Round` that returns one number, which is summed over the rounds, or a `Metric` for
everything else. `simulate(..., metrics={"switches": jb.metrics.switches})` takes them by name.
"""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp

from jaxbandit.support.numerics import as_float, kahan_pair
from jaxbandit.support.types import Array, PyTree, Scalar


class Round(NamedTuple):
    """One round of one run, as a metric sees it.

    Attributes:
      state: the algorithm's state before its update.
      context: what the environment showed before the action; None without contexts.
      action: the action that the environment received.
      choice: what `select` returned: the action, or the `Choice` with its `info`.
      feedback: what the environment returned.
      regret: gap of the action, float[] >= 0; None if the environment does not define it.
      world: the environment's state in which the action was taken.
      round: number of the round, int32[], counted from 1.
    """

    state: PyTree
    context: PyTree
    action: PyTree
    choice: PyTree
    feedback: PyTree
    regret: Array | None
    world: PyTree
    round: Array


class Checkpoint(NamedTuple):
    """One run after the last round before a checkpoint, as the value of a metric may see it.

    Attributes:
      state: the algorithm's state after its update.
      world: the environment's state.
      recommendation: what the algorithm would recommend, by default the arm pulled most; None if it recommends nothing.
      simple_regret: by how much its mean is below the best one, float[] >= 0, NaN if unknown; None if nothing is
        recommended, or the environment does not define simple regret.
    """

    state: PyTree
    world: PyTree
    recommendation: PyTree
    simple_regret: Array | None


class Metric(NamedTuple):
    """A metric that is no sum over rounds, as pure functions of one run.

    Attributes:
      init: `() -> carry`, an array or a tree of arrays, before the first round. It may take one argument: a `Round` of
        `jax.ShapeDtypeStruct`, for a carry with the shape of an action or of a context.
      step: `(carry, round) -> carry`, with the shapes and dtypes of `init`.
      value: `(carry) -> float[]`, evaluated at the checkpoints only. It may take a `Checkpoint` as a second argument.
      limits: the least and the largest value that a run can have, the latter a number or "gap", the largest difference
        of the instance's means; the mean has then the interval of a bounded variable, which is right however many runs
        are equal. None if they are not known.
    """

    init: Callable[..., PyTree]
    step: Callable[[PyTree, Round], PyTree]
    value: Callable[..., Array]
    limits: tuple[float, float | Literal["gap"]] | None = None


def reward(r: Round) -> Array:
    """Sum of the rewards: of the feedback, or of its first entry if it is a tuple, such as (reward, cost)."""
    return jnp.sum(as_float(r.feedback[0] if isinstance(r.feedback, tuple) else r.feedback))


def cost(index: int) -> Callable[[Round], Array]:
    """Return the metric of one cost: the sum of entry `index` of the costs, where the feedback is (reward, costs)."""

    def paid(r: Round) -> Array:
        if not isinstance(r.feedback, tuple) or len(r.feedback) < 2:
            raise ValueError("the feedback must be a tuple (reward, costs)")
        costs = jnp.ravel(as_float(r.feedback[1]))
        if not 0 <= index < len(costs):
            raise ValueError(f"index = {index}, must be in [0, {len(costs) - 1}], because there are {len(costs)} costs")
        return costs[index]

    return paid


def best_arm(r: Round) -> Array:
    """Number of rounds in which the action had no regret, because it was the best one."""
    if r.regret is None:
        raise ValueError("the environment must define regret")
    return as_float(r.regret <= 0)


def collisions(r: Round) -> Array:
    """Number of players on an arm that another player chose in the same round, for actions int32[M] of M players."""
    if jnp.ndim(r.action) != 1 or not jnp.issubdtype(r.action.dtype, jnp.integer):
        raise ValueError("the action must be int32[M], an arm for each of M players")
    return jnp.sum(as_float(jnp.sum(r.action[:, None] == r.action[None, :], axis=1) > 1))


def _switched(carry: tuple[PyTree, Array], r: Round) -> tuple[PyTree, Array]:
    last, count = carry
    differ = [jnp.any(old != new) for old, new in zip(jax.tree.leaves(last), jax.tree.leaves(r.action), strict=True)]
    return r.action, count + ((r.round > 1) & jnp.stack(differ).any()).astype(jnp.int32)


#: Number of rounds whose action differs from that of the round before, for actions of any shape.
switches = Metric(
    init=lambda r: (jax.tree.map(jnp.zeros_like, r.action), jnp.int32(0)),
    step=_switched,
    value=lambda carry: as_float(carry[1]),
)


class _Welford(NamedTuple):
    rounds: Array  # int32[]
    mean: Array  # float[2], with its rounding error
    squares: Array  # float[2], sum of the squared deviations from the mean, with its rounding error


def _welford(carry: _Welford, r: Round) -> _Welford:
    rounds, x = carry.rounds + 1, reward(r)
    apart = x - carry.mean[0]
    mean = kahan_pair(carry.mean, apart / as_float(rounds))
    return _Welford(rounds, mean, kahan_pair(carry.squares, apart * (x - mean[0])))


def mean_variance(rho: Scalar) -> Metric:
    """Return the metric of the mean-variance of the rewards of a run so far: their variance - rho times their mean.

    The variance has the divisor of the number of rounds. Smaller values of the metric are better. Source: Sani,
    Lazaric, Munos, Risk-aversion in multi-armed bandits, 2012, Section 2.
    """
    return Metric(
        init=lambda: _Welford(jnp.int32(0), jnp.zeros(2), jnp.zeros(2)),
        step=_welford,
        value=lambda carry: carry.squares[0] / as_float(carry.rounds) - as_float(rho) * carry.mean[0],
    )


#: Variance of the rewards of a run so far, with the divisor of the number of rounds (Welford's algorithm).
variance = mean_variance(0.0)


def _shortfall(carry: PyTree, now: Checkpoint) -> Array:
    if now.simple_regret is None:
        raise ValueError("the algorithm must recommend an arm, and the environment define simple_regret")
    return now.simple_regret


def _wrong(carry: PyTree, now: Checkpoint) -> Array:
    short = _shortfall(carry, now)
    return jnp.where(jnp.isnan(short), short, as_float(short > 0))


def _carry(carry: PyTree, r: Round) -> PyTree:
    return carry


#: Simple regret of the recommendation at a checkpoint: by how much its mean is below the best one.
simple_regret = Metric(init=lambda: (), step=_carry, value=_shortfall, limits=(0.0, "gap"))

#: Whether the recommendation at a checkpoint is wrong, 1 or 0: whether its mean is below the best one. Its mean over
#: runs is the probability of error.
error = Metric(init=lambda: (), step=_carry, value=_wrong, limits=(0.0, 1.0))

FACTORIES = ("mean_variance", "cost")  # in TOML they are written with their argument, such as cost(0)
BUILT_IN: dict[str, Any] = {  # by the name in TOML
    "reward": reward,
    "switches": switches,
    "variance": variance,
    "best_arm": best_arm,
    "collisions": collisions,
    "simple_regret": simple_regret,
    "error": error,
    "mean_variance": mean_variance,
    "cost": cost,
}
