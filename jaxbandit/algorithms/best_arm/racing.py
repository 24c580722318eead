"""The common frame of races: all surviving arms are pulled equally often, and rules decide who survives.

A round is one pull of every survivor, in ascending order, or one batch; at its end the rule keeps some survivors. The
race is over when one is left. A rule that holds at all times may compare only on a geometric grid. Among equal scores
the lowest-numbered arms survive.
"""

from collections.abc import Callable
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jaxbandit.algorithms.exploration import tracking
from jaxbandit.base.batches import Batch
from jaxbandit.base.contract import Algorithm, Arms, Promise, Rewards
from jaxbandit.support.numerics import add_at, argmax, as_float, get_at, set_at
from jaxbandit.support.types import Array, Key, PyTree, Scalar
from jaxbandit.theory.estimators.counts import deviation
from jaxbandit.theory.solvers.families import Family

Drop = Literal["worst", "all"]
# With more arms than this, a run played alone skips the comparison, which may be of all pairs, in rounds where it is
# not due. (Under vmap both sides of a branch are computed anyway.)
MANY_ARMS = 64


class RaceState(NamedTuple):
    """The survivors, and what is known about the arms."""

    survivors: Array  # bool[num_arms]
    counts: Array  # int[num_arms], pulls
    rounds: Array  # int[], pulls of each survivor when they were last compared
    # float[num_arms], sums of rewards up to then; sums and not means, so that equal totals tie in whatever order
    sums: Array
    fresh: Array  # float[num_arms], sums of rewards since then
    # float[num_arms], the first reward of each arm, from which `sums` and `fresh` are deviations; None: they are not
    origin: Array | None
    statistic: PyTree  # further statistics of the rule; None if there are none
    first: Array | None = None  # float[], the first reward of the run, which is subtracted from all; None: it is not


class Look(NamedTuple):
    """What a rule sees when it compares the survivors.

    In a race on deviations, `rewards`, `before` and `means` are relative to each arm's `origin`.
    """

    survivors: Array  # bool[num_arms]
    rounds: Array  # float[], pulls of each survivor, r
    pulls: Array  # float[], pulls of all arms together, t
    rewards: Array  # float[num_arms], sums of rewards since the last comparison
    before: Array  # float[num_arms], mean rewards at the last comparison
    means: Array  # float[num_arms], mean rewards now; for an eliminated arm, those at its elimination
    origin: Array | None = None

    @property
    def places(self) -> Array:
        """Mean rewards now, float[num_arms]."""
        return self.means if self.origin is None else self.origin + self.means

    @property
    def leads(self) -> Array:
        """Mean of arm l minus mean of arm i at [l, i], float[num_arms, num_arms], as exact as the difference allows."""
        leads = self.means[:, None] - self.means[None]
        return leads if self.origin is None else (self.origin[:, None] - self.origin[None]) + leads


def race(
    num_arms: int,
    keep: Callable[[PyTree, Look], Array],
    *,
    promise: Promise,
    rewards: Rewards,
    assumptions: tuple[str, ...] = (),
    begin: Callable[[], PyTree] = lambda: None,
    observe: Callable[[PyTree, Look], PyTree] = lambda statistic, look: statistic,
    first: int = 1,
    grid: Scalar = 1.0,
    deviations: bool = False,
    invariant: bool = False,
) -> Algorithm:
    """Return the race that is defined by these parts.

    Args:
      keep: function from the statistic and a `Look` to which arms survive, bool[num_arms]. If it keeps no survivor, the
        one with the largest mean stays.
      begin: function that returns the statistic before the first pull.
      observe: function from the statistic and a `Look` to the updated statistic, which `keep` then receives.
      first: number of rounds before the first comparison of the survivors; static.
      grid: ratio between successive numbers of rounds after which they are compared; 1 compares after every round.
        Traced.
      deviations: whether deviations of the rewards from the first reward of each arm are added up, so that rounding
        does not grow with their size and number; static.
      invariant: whether `keep` does not change if all means are shifted: the first reward of the run is then subtracted
        from all of them, so that a shift by what floats hold changes nothing. Of a batch it is the first mean, and the
        sums of its rewards, which are given, have been rounded at their own size. Static.
    """

    def init(key: Key) -> RaceState:
        count = jnp.zeros((), int)
        nothing = jnp.zeros(num_arms)
        origin = nothing if deviations else None
        base = as_float(jnp.inf) if invariant else None
        survivors, counts = jnp.ones(num_arms, bool), jnp.zeros(num_arms, int)
        return RaceState(survivors, counts, count, nothing, nothing, origin, begin(), base)

    def next_look(rounds: Array) -> Array:
        """Return the number of rounds after which the survivors are compared next, int[]."""
        further = jnp.minimum(jnp.ceil(as_float(rounds) * as_float(grid)), float(tracking.longest()))
        return jnp.maximum(jnp.maximum(further.astype(rounds.dtype), rounds + 1), first)

    def select(noise: None, state: RaceState, context: None) -> Array:
        return argmax(jnp.where(state.survivors, -as_float(state.counts), -jnp.inf))

    def update(state: RaceState, context: None, action: Array, reward: Array) -> RaceState:
        before, origin = get_at(state.counts, action), state.origin
        base, reward = deviation(state.first, reward)
        if origin is not None:
            own = jnp.where(before > 0, get_at(origin, action), reward)
            origin, reward = set_at(origin, action, own), reward - own
        counts = set_at(state.counts, action, before + 1)
        fresh = add_at(state.fresh, action, reward)
        return looked(state._replace(counts=counts, fresh=fresh, origin=origin, first=base))

    def plan(state: RaceState) -> Array:
        return jnp.where(state.survivors, next_look(state.rounds) - state.counts, 0)

    def absorb(state: RaceState, pulls: Array, sums: Array) -> RaceState:
        origin, base = state.origin, state.first
        if base is not None:
            mean = jnp.sum(sums) / as_float(jnp.maximum(jnp.sum(pulls), 1))
            base = jnp.where(jnp.isinf(base) & jnp.any(pulls > 0), mean, base)
            sums = jnp.where(pulls > 0, sums - as_float(pulls) * base, 0.0)
        if origin is not None:
            origin = jnp.where((state.counts == 0) & (pulls > 0), sums / as_float(jnp.maximum(pulls, 1)), origin)
            sums = jnp.where(pulls > 0, sums - as_float(pulls) * origin, 0.0)
        return looked(state._replace(counts=state.counts + pulls, fresh=state.fresh + sums, origin=origin, first=base))

    def looked(state: RaceState) -> RaceState:
        """Return the state after a comparison if all survivors have the pulls it requires, else unchanged."""
        due = jnp.all(~state.survivors | (state.counts >= next_look(state.rounds)))
        if num_arms > MANY_ARMS:
            return lax.cond(due, compared, lambda same: same, state)
        return jax.tree.map(lambda new, old: jnp.where(due, new, old), compared(state), state)

    def compared(state: RaceState) -> RaceState:
        end = next_look(state.rounds)
        earlier = jnp.where(state.survivors, state.rounds, state.counts)
        sums = state.sums + state.fresh
        look = Look(
            survivors=state.survivors,
            rounds=as_float(end),
            pulls=as_float(jnp.sum(state.counts, dtype=state.counts.dtype)),
            rewards=state.fresh,
            before=state.sums / as_float(jnp.maximum(earlier, 1)),
            means=sums / as_float(jnp.maximum(state.counts, 1)),
            origin=state.origin,
        )
        statistic = observe(state.statistic, look)
        survivors = state.survivors & keep(statistic, look)
        survivors = jnp.where(
            jnp.any(survivors),
            survivors,
            jnp.arange(num_arms, dtype=jnp.int32) == best(places(state._replace(sums=sums)), state.survivors),
        )
        fresh = jnp.zeros(num_arms)
        return RaceState(survivors, state.counts, end, sums, fresh, state.origin, statistic, state.first)

    def places(state: RaceState) -> Array:
        """Return the sums of rewards, or the means where deviations are added up, float[num_arms]."""
        if state.origin is None:
            return state.sums
        earlier = jnp.where(state.survivors, state.rounds, state.counts)
        return state.origin + state.sums / as_float(jnp.maximum(earlier, 1))

    return Algorithm(
        init=init,
        select=select,
        update=update,
        pulls=lambda state: state.counts,
        recommend=lambda state: best(places(state), state.survivors)[None],
        stop=lambda state: jnp.sum(state.survivors, dtype=jnp.int32) <= 1,
        batch=Batch(plan, absorb),
        survivors=lambda state: state.survivors,
        promise=promise,
        arms=Arms(num_arms),
        rewards=rewards,
        assumptions=assumptions,
    )


def family_race(
    law: Family, num_arms: int, keep: Callable[[None, Look], Array], delta: Scalar, proved: bool, grid: Scalar
) -> Algorithm:
    """Return the race for a family of rewards, in which arms are compared after two rounds and then on the grid."""
    return race(
        num_arms,
        keep,
        promise=Promise(delta, proved=proved),
        rewards=law.rewards,
        first=2,
        grid=grid,
        invariant=law.invariant,
    )


def best(scores: Array, survivors: Array) -> Array:
    """Return the survivor with the largest score, int32[]; the lowest-numbered one among equal scores."""
    return argmax(jnp.where(survivors, scores, -jnp.inf))


def worst(scores: Array, survivors: Array) -> Array:
    """Return the survivor with the smallest score, int32[]; the highest-numbered one among equal scores."""
    arms = jnp.arange(scores.shape[0], dtype=jnp.int32)
    candidates = jnp.where(survivors, scores, jnp.inf)
    return jnp.max(jnp.where(candidates == jnp.min(candidates), arms, -1))


def unbeaten(look: Look, drop: Drop, beats: Callable[[Array, Array], Array]) -> Array:
    """Return which survivors stay, bool[num_arms], if arms that the empirically best one beats are eliminated.

    Args:
      drop: "worst" eliminates the worst survivor alone, if it is beaten; "all" eliminates all beaten arms.
      beats: function that returns, elementwise, whether an arm with the first empirical mean beats one with the second;
        no arm beats itself.
    """
    leader = get_at(look.means, best(look.means, look.survivors))
    if drop == "all":
        return ~beats(jnp.broadcast_to(leader, look.means.shape), look.means)
    last = worst(look.means, look.survivors)
    arms = jnp.arange(look.means.shape[0], dtype=jnp.int32)
    return ~(beats(leader, get_at(look.means, last)) & (arms == last))
