"""Delayed feedback, which arrives some rounds after its pull: a wrapper for algorithms with a fixed horizon.

The algorithm selects from the feedback that has arrived, and its clock is 1 + the number of feedbacks received. The
reduction of Joulani, Gyorgy and Szepesvari (2013) holds back early feedback; here each is passed on as it arrives.
"""

from typing import Annotated, Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

from jaxbandit.algorithms.feedback.wrappers import check_wrapped, no_pulls, with_pull
from jaxbandit.base.arguments import NonNegative
from jaxbandit.base.contract import Algorithm, Choice, Phases, Replan, action_of
from jaxbandit.base.declaration import declare
from jaxbandit.base.parameters import Arg
from jaxbandit.support.domains import integer
from jaxbandit.support.numerics import as_float, get_at, set_at
from jaxbandit.support.types import Array, Key, PyTree

_OWN = 0x64656C61  # combined with the first word of a round's key to get another key; rounds differ in the last word


class Pending(NamedTuple):
    """What the algorithm will receive with a feedback that has not arrived; its slot is the round modulo slots."""

    context: PyTree  # [slots, ...]
    selected: PyTree  # [slots, ...], what select returned
    feedback: PyTree  # [slots, ...]


class Arrivals(NamedTuple):
    """The feedbacks that arrive in each round, in the order of their pulls, as circular lists."""

    following: Array  # int32[slots], the next slot with the same round of arrival; the last one points to the first
    # int32[slots], by round of arrival modulo slots, the round of the last pull in its list; may be outdated
    last: Array


class DelayedState(NamedTuple):
    """The algorithm's state from the feedback that has arrived, and the feedback that has not."""

    algorithm: PyTree
    round: Array  # int32[], rounds played
    pulls: Array | None  # int32[num_pulls], all pulls made
    pending: Pending
    # For a constant delay, the slot that is due in the next round. It is read after the round's own slot is written,
    # because a slot that is read before makes XLA copy all of them in every round.
    due: Pending | None
    arrivals: Arrivals | None  # None if the delay is constant


Rounds = Annotated[int, Arg(integer(0, 10**6))]


@declare()
def delayed(
    algorithm: Algorithm, *, delay: Rounds | None = None, mean: NonNegative | None = None, cap: Rounds = 1000
) -> Algorithm:
    """With feedback that arrives some rounds after its pull, Joulani et al. 2013.

    Return the algorithm under delayed feedback: that of round s can be used from round s + 1 + delay on.

    Feedbacks that arrive in the same round are applied in the order of their pulls. Those due after the horizon are
    lost.

    Guarantee: for many stochastic algorithms, the paper bounds the additional regret by the expected number of
    feedbacks that are pending, times the gaps; it is additive and does not grow with the horizon.

    Args:
      algorithm: an algorithm that plays single pulls, or sets of arms, to a fixed horizon and declares its arms.
        Contexts are int32[].
      delay: constant delay in rounds, where 0 means no delay. Memory grows with it.
      mean: instead of delay, the mean in rounds of independent geometric delays, P(delay = k) = q (1 - q)^k for k = 0,
        1, ... with q = 1 / (1 + mean). They are drawn in `noise`, so that algorithms share random draws.
      cap: largest geometric delay; longer ones are cut to it. Memory grows with it.

    Returns:
      An Algorithm with the same actions and rewards, named delayed(NAME). Its pulls are all pulls made; its
      recommendation and its rounds by kind are based on the feedback that has arrived.

    Raises:
      ValueError: the algorithm has a stopping rule, pulls in batches or does not declare its arms; not exactly one of
        delay and mean is given; or an argument is out of range.

    Source:
      Joulani, Gyorgy and Szepesvari (2013), Online learning under delayed feedback, ICML.
    """
    algorithm = check_wrapped(algorithm)
    if (delay is None) == (mean is None):
        raise ValueError(f"delay = {delay}, mean = {mean}, exactly one of the two must be given")
    name = f"delayed({algorithm.name})"
    if delay == 0:
        return algorithm._replace(name=name)
    slots = delay or cap + 1
    arms, replan = algorithm.arms, algorithm.replan
    assert arms is not None

    def init(key: Key) -> DelayedState:
        state = algorithm.init(key)
        context = None if arms.num_contexts is None else jnp.zeros((), jnp.int32)
        selected = jax.eval_shape(lambda: algorithm.select(algorithm.noise(key), state, context))
        by_member = arms.set_size is not None and arms.members
        feedback = jnp.zeros(arms.num_arms) if by_member else jnp.zeros(())
        one = Pending(context, selected, feedback)
        return DelayedState(
            algorithm=state,
            round=jnp.zeros((), jnp.int32),
            pulls=no_pulls(algorithm, state),
            pending=jax.tree.map(lambda x: jnp.zeros((slots, *x.shape), x.dtype), one),
            due=jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), one) if delay else None,
            arrivals=None if delay else Arrivals(jnp.zeros(slots, jnp.int32), jnp.full(slots, -slots, jnp.int32)),
        )

    def noise(key: Key) -> tuple[PyTree, Array]:
        data = jax.random.key_data(key)
        own = jnp.concatenate([data[:1] ^ jnp.uint32(_OWN), data[1:]])
        uniform = jax.random.uniform(jax.random.wrap_key_data(own, impl=jax.random.key_impl(key)))
        return algorithm.noise(key), -jnp.log1p(-uniform)  # standard exponential

    def select_random(noise: tuple[PyTree, Array], state: DelayedState, context: PyTree) -> Choice:
        inner, exponential = noise
        selected = algorithm.select(inner, state.algorithm, context)
        rounds = jnp.floor(exponential / jnp.log1p(1 / as_float(mean)))  # at mean 0 the quotient is 0
        return Choice(action_of(selected), (selected, jnp.minimum(rounds, slots - 1).astype(jnp.int32)))

    def update_constant(state: DelayedState, context: PyTree, selected: PyTree, feedback: PyTree) -> DelayedState:
        assert state.due is not None
        after, came = algorithm.update(state.algorithm, *state.due), state.round >= slots
        pending = _stored(state.pending, state.round % slots, Pending(_known(context), selected, feedback))
        return state._replace(
            algorithm=jax.tree.map(lambda new, old: jnp.where(came, new, old), after, state.algorithm),
            round=state.round + 1,
            pulls=with_pull(algorithm, state.pulls, context, selected),
            pending=pending,
            due=_row(pending, (state.round + 1) % slots),
        )

    def update_random(state: DelayedState, context: PyTree, choice: Choice, feedback: PyTree) -> DelayedState:
        selected, rounds = choice.info
        slot = state.round % slots
        pending = _stored(state.pending, slot, Pending(_known(context), selected, feedback))
        arrivals = _appended(state.arrivals, state.round, rounds, slots)
        pulled = get_at(arrivals.last, slot)
        final = pulled % slots

        def one(carry: tuple[PyTree, Array, Array]) -> tuple[PyTree, Array, Array]:
            inner, slot, _ = carry
            next_slot = get_at(arrivals.following, slot)
            after = algorithm.update(_settled(replan, inner), *_row(pending, next_slot))
            return after, next_slot, next_slot != final

        start = (state.algorithm, final, pulled > state.round - slots)
        return DelayedState(
            algorithm=lax.while_loop(lambda carry: carry[2], one, start)[0],
            round=state.round + 1,
            pulls=with_pull(algorithm, state.pulls, context, selected),
            pending=pending,
            due=None,
            arrivals=arrivals,
        )

    def _known(context: PyTree) -> PyTree:
        return None if arms.num_contexts is None else context

    return _over(algorithm)._replace(
        init=init,
        noise=algorithm.noise if delay else noise,
        select=(lambda noise, state, context: algorithm.select(noise, state.algorithm, context))
        if delay
        else select_random,
        update=update_constant if delay else update_random,
        name=name,
    )


def _over(algorithm: Algorithm) -> Algorithm:
    """Return the algorithm with its other functions applied to a DelayedState."""
    replan, recommend, phases = algorithm.replan, algorithm.recommend, algorithm.phases
    return algorithm._replace(
        pulls=None if algorithm.pulls is None else lambda state: state.pulls,
        recommend=recommend and (lambda state: recommend(state.algorithm)),
        phases=phases and Phases(phases.names, lambda state: phases.counts(state.algorithm)),
        replan=replan
        and replan._replace(
            due=lambda state: replan.due(state.algorithm),
            apply=lambda state: state._replace(algorithm=replan.apply(state.algorithm)),
        ),
    )


def _settled(replan: Replan | None, state: PyTree) -> PyTree:
    """Return the state after any replanning that earlier feedback made due, which precedes further feedback."""
    if replan is None:
        return state
    # A loop of at most one iteration, because a batched cond would replan every run at every feedback.
    return lax.while_loop(
        lambda turn: turn[0] & replan.due(turn[1]),
        lambda turn: (~turn[0], replan.apply(turn[1])),
        (jnp.array(True), state),
    )[1]


def _appended(arrivals: Any, round: Array, delay: Array, slots: int) -> Arrivals:
    """Return the lists with this round appended to the list of its round of arrival."""
    slot, place = round % slots, (round + delay) % slots
    before = get_at(arrivals.last, place)
    first_there = before <= round + delay - slots  # from an earlier use of the slot; nothing is pending there
    first = jnp.where(first_there, slot, get_at(arrivals.following, before % slots))
    following = set_at(arrivals.following, slot, first)
    following = set_at(following, jnp.where(first_there, slot, before % slots), slot)
    # The first case never occurs. It makes the write depend on the read, or XLA would copy the vector in every round.
    return Arrivals(following, set_at(arrivals.last, place, jnp.where(before < -slots, before, round)))


def _row(pending: Pending, slot: Array) -> Pending:
    return jax.tree.map(lambda x: lax.dynamic_index_in_dim(x, slot, 0, keepdims=False), pending)


def _stored(pending: Pending, slot: Array, new: Pending) -> Pending:
    def put(x: Array, value: Array) -> Array:
        return lax.dynamic_update_index_in_dim(x, jnp.asarray(value).astype(x.dtype), slot, 0)

    return jax.tree.map(put, pending, new)
