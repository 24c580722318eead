"""The common frame of SAQM, SA-FOA, ICB and Exhaustive (Kuroki et al. 2019): a static allocation over super-arms.

Difference from the paper: the stopping rule is evaluated after whole periods of the allocation, on a geometric grid.
There A_t = t Lambda exactly, so what the rule needs from A_t is computed once for all runs.
"""

from collections.abc import Callable
from typing import Annotated, Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxbandit.algorithms.exploration import tracking
from jaxbandit.algorithms.exploration.super_arms import AllocationKind, SuperArms, SupportKind, super_arms
from jaxbandit.algorithms.exploration.thresholds import independent_threshold
from jaxbandit.base.batches import Batch, SetPulls
from jaxbandit.base.contract import Algorithm, Arms, Promise, Rewards, none
from jaxbandit.base.parameters import Arg
from jaxbandit.support import checks
from jaxbandit.support.numerics import as_float, matrix_vector
from jaxbandit.support.types import Array, ArrayLike, Key, PyTree, Scalar
from jaxbandit.theory.solvers.decision_classes import DecisionClass, top_k

Schedule = Annotated[
    Literal["geometric", "every"],
    Arg(
        meaning='"geometric" evaluates the stopping rule on the grid; "every" evaluates it in every round, for at most '
        "24 arms"
    ),
]
MOST_EVERY = 24  # up to this many arms the rule may be evaluated in every round, which inverts a matrix each time


class SuperArmState(NamedTuple):
    """The statistics of the estimate, and when to evaluate the stopping rule next."""

    rounds: Array  # int[], pulls so far
    response: Array  # float[n], mean of r chi over the pulls, where r is the reward and chi the indicator of the set
    look: Array  # int[], number of pulls at which the stopping rule is evaluated next
    design: PyTree  # what the rule needs from the allocation alone; None if it is computed at each evaluation
    words: Array | None  # uint32[2], a key of the run, for rules that draw random numbers


class Look(NamedTuple):
    """The information on which a rule decides at one evaluation."""

    rounds: Array  # float[], t
    estimate: Array  # float[n], estimated means of the single arms
    inverse: Array  # float[n, n], t A_t^-1
    design: PyTree  # what `prepare` computed from inverse
    key: Key | None  # the key of this evaluation
    due: Array  # bool[], whether the answer is used; an expensive rule may skip its work otherwise


class Rule(NamedTuple):
    """When to stop."""

    prepare: Callable[[Array], PyTree]  # t A_t^-1 -> what `stop` needs from it
    stop: Callable[[Look], Array]  # bool[]
    draws: bool = False


class Support(NamedTuple):
    """The arguments of `super_arms` beside num_arms and k, which `saqm` explains."""

    support: SupportKind
    num_sets: int | None
    support_seed: int
    sets: ArrayLike | None
    allocation: AllocationKind
    weights: ArrayLike | None


class Task(NamedTuple):
    """What is pulled, what may be recommended, and what is promised of it."""

    arms: SuperArms  # the support and the allocation
    family: DecisionClass  # the sets that may be recommended
    promised: Promise
    sigma: Scalar  # bound on the noise of a pull

    def level(self, rounds: Array) -> Array:
        """Return the paper's C_t / sigma, float[], a union bound over the sets of the family and the rounds."""
        return 2 * independent_threshold(rounds, log_arms=self.family.log_size, delta=self.promised.delta)

    def radius(self, rounds: Array) -> Array:
        """Return C_t / sqrt(t), float[], by which norms in t A_t^-1 are multiplied."""
        return as_float(self.sigma) * self.level(rounds) / jnp.sqrt(rounds)


def static_task(
    num_arms: int,
    k: int,
    support: Support,
    delta: Scalar,
    epsilon: Scalar,
    sigma: Scalar,
    *,
    proved: bool = True,
    family: DecisionClass | None = None,
) -> Task:
    """Check the arguments that the four algorithms share; None as `family` means all sets of k."""
    arms = super_arms(num_arms, k, **support._asdict())
    promised = Promise(delta, epsilon, k, proved)
    if family is None:
        family = top_k(num_arms, k)
    checks.decision_class(family, num_arms, k)
    return Task(arms, family, promised, sigma)


def static_super_arms(task: Task, rule: Rule, schedule: Schedule, grid: Scalar) -> Algorithm:
    """Return the algorithm that pulls the sets of `task` until `rule` stops it.

    Args:
      schedule: static. "geometric" uses the grid. "every" evaluates the rule in every round from the first that has an
        estimate, whatever the grid; each evaluation then inverts A_t, so at most MOST_EVERY arms are allowed.
      grid: ratio between successive pull counts at which the rule is evaluated; traced. Counts are rounded up to whole
        periods.
    """
    arms = task.arms
    num_arms, period, sets = arms.num_arms, arms.period, arms.sets
    every_round = schedule == "every" and sets is not None
    if schedule == "every" and num_arms > MOST_EVERY:
        raise ValueError(
            f'schedule = "every" with {num_arms} arms, must be at most {MOST_EVERY}: every round would invert '
            'a matrix; use "geometric" with a smaller grid instead'
        )
    inverse_of_mean: Any = arms.inverse
    first, step, begun = arms.first, period, np.zeros((1, 1), np.int32)
    if every_round and sets is not None:
        first, step, begun = _first_answer(sets[arms.order]), 1, _begun(arms)

    def prepared() -> PyTree:
        return None if every_round else rule.prepare(as_float(inverse_of_mean))

    def init(key: Key) -> SuperArmState:
        zero = jnp.zeros((), int)
        return SuperArmState(
            zero,
            jnp.zeros(num_arms),
            zero + first,
            prepared(),
            jax.random.bits(key, (2,), jnp.uint32) if rule.draws else None,
        )

    def pulled(rounds: Array) -> Array:
        """Return the pulls of each listed set, int[m], after this number of rounds."""
        row = jax.lax.dynamic_index_in_dim(jnp.asarray(begun, rounds.dtype), rounds % period, 0, keepdims=False)
        return rounds // period * jnp.asarray(arms.counts, rounds.dtype) + row

    def inverse(rounds: Array) -> Array:
        if not every_round:
            return as_float(inverse_of_mean)
        x = as_float(jnp.asarray(sets))
        counts = as_float(pulled(rounds)) / as_float(jnp.maximum(rounds, 1))
        matrix = jnp.sum(counts[:, None, None] * (x[:, :, None] * x[:, None]), 0)
        return jnp.linalg.inv(jnp.where(rounds >= first, matrix, jnp.eye(num_arms)))

    def estimate(state: SuperArmState) -> Array:
        return matrix_vector(inverse(state.rounds), state.response)

    def next_look(state: SuperArmState) -> Array:
        rounds = state.rounds
        further = rounds
        if schedule == "geometric":
            periods = jnp.ceil(as_float(rounds // step) * as_float(grid))
            further = jnp.minimum(periods, tracking.longest() // step).astype(rounds.dtype) * step
        return jnp.where(rounds >= state.look, jnp.maximum(further, rounds + step), state.look)

    def noise(key: Key) -> Array:
        return jax.random.uniform(key, (num_arms,))

    def select(noise: Array | None, state: SuperArmState, context: None) -> Array:
        if sets is None:  # a random set of k, so that A_t is t Lambda on average
            return noise <= -jax.lax.top_k(-noise, arms.k)[0][-1]  # pyright: ignore[reportOptionalOperand]
        order = jnp.asarray(arms.order)
        place = jax.lax.dynamic_index_in_dim(order, state.rounds % period, 0, keepdims=False)
        return jax.lax.dynamic_index_in_dim(jnp.asarray(sets), place, 0, keepdims=False)

    def moved(state: SuperArmState, count: Array, gained: Array) -> SuperArmState:
        rounds = state.rounds + count
        change = (gained - as_float(count) * state.response) / as_float(rounds)
        return state._replace(rounds=rounds, response=state.response + change, look=next_look(state))

    def update(state: SuperArmState, context: None, action: Array, reward: Array) -> SuperArmState:
        return moved(state, jnp.ones((), state.rounds.dtype), jnp.where(action, reward, 0.0))

    def plan(state: SuperArmState) -> SetPulls:
        more = next_look(state)
        if every_round:
            return SetPulls(jnp.asarray(sets), pulled(more) - pulled(state.rounds))
        turns = (more - state.rounds) // period
        return SetPulls(None if sets is None else jnp.asarray(sets), turns * jnp.asarray(arms.counts, turns.dtype))

    def absorb(state: SuperArmState, pulls: SetPulls, sums: Array) -> SuperArmState:
        if pulls.sets is not None:
            sums = matrix_vector(as_float(pulls.sets).T, sums)
        return moved(state, jnp.sum(pulls.counts, dtype=state.rounds.dtype), sums)

    def recommend(state: SuperArmState) -> Array:
        return in_order(task.family.best(estimate(state)), arms.k)

    def stop(state: SuperArmState) -> Array:
        matrix = inverse(state.rounds)
        key = None
        if state.words is not None:
            key = jax.random.fold_in(jax.random.wrap_key_data(state.words, impl="threefry2x32"), state.rounds)
        design = rule.prepare(matrix) if every_round else state.design
        rounds = as_float(jnp.maximum(state.rounds, 1))
        due = (state.rounds > 0) & (state.rounds >= state.look)
        return due & rule.stop(Look(rounds, estimate(state), matrix, design, key, due))

    narrower = None if task.family == top_k(num_arms, arms.k) else task.family
    return Algorithm(
        init=init,
        select=select,
        update=update,
        recommend=recommend,
        noise=noise if sets is None else none(),
        stop=stop,
        batch=Batch(plan, absorb),
        # A rule that draws random numbers may draw other sets in float64.
        verify=None if rule.draws else lambda state: stop(state._replace(design=prepared())),
        promise=task.promised,
        arms=Arms(num_arms, arms.k, decision_class=narrower),
        rewards=Rewards(sigma=task.sigma),
        assumptions=("a set's mean is the sum of its arms' means",),
    )


def _begun(arms: SuperArms) -> np.ndarray:
    """Return the pulls of each set in the first r rounds of a period, int32[period, m]."""
    one_each = np.eye(len(arms.counts), dtype=np.int32)[arms.order]
    return np.cumsum(one_each, axis=0, dtype=np.int32) - one_each


def _first_answer(rows: np.ndarray) -> int:
    """Return the number of these pulls after which the least-squares estimate exists."""
    x = rows.astype(np.float64)
    ranks = (t for t in range(x.shape[1], len(x) + 1) if np.linalg.matrix_rank(x[:t]) == x.shape[1])
    return next(ranks)


def squared_norm(members: Array, matrix: Array) -> Array:
    """Return chi' W chi, float[], for the indicator chi of `members`."""
    return jnp.sum(jnp.where(members, matrix_vector(matrix, as_float(members)), 0.0))


def in_order(members: Array, k: int) -> Array:
    """Return the k members, int32[k], in increasing order."""
    return jax.lax.top_k(members.astype(jnp.int32), k)[1].astype(jnp.int32)
