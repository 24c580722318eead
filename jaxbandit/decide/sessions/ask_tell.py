"""Ask and tell: which pulls a session makes next, and what it does with their rewards.

Each function returns the next session. The algorithm receives a batch when all its rewards are reported, in the order
of ids, so that nothing depends on the order in which rewards arrive.
"""

from dataclasses import replace

import numpy as np

from jaxbandit.base import checks
from jaxbandit.base.contract import action_of
from jaxbandit.base.types import ArrayLike, Key, PyTree
from jaxbandit.decide.sessions.pulls import Pulls, actions_at, checked_context, next_batch, pulls_at, without_reward
from jaxbandit.decide.sessions.rewards import (
    check_ids,
    check_rewards,
    longer,
    new,
    require_asked,
    values_of,
    with_rewards,
)
from jaxbandit.decide.sessions.session import Session
from jaxbandit.engine.rounds import fit, keys

LIMIT = 1024  # default of `ask` for the number of pulls of a batch


def ask(session: Session, *, limit: int | None = None, context: PyTree = None) -> tuple[Session, Pulls]:
    """Return the next session and the pulls to make now: first those without a reward, in order of ids, then new ones.

    A rule that plans batches returns the rest of its batch; the next batch begins when all rewards of this one are
    reported. A rule that draws at random, such as `thompson`, returns `limit` independent draws from its current
    state and receives their rewards together. A deterministic rule decides on one pull at a time, whatever the limit.

    Args:
      session: the current session.
      limit: largest number of pulls, >= 1. Default: 1024 for a batch, and 1 for a rule that draws at random.
      context: the context of a contextual rule, int32[] in [0, num_contexts) or whatever the rule takes. None for
        other rules, and while rewards of earlier pulls are missing.

    Returns:
      The next session, and the pulls, of which there are none once the rule has stopped.

    Raises:
      ValueError: an argument is out of range, or a context is missing or superfluous.
    """
    programs = session.programs
    most = checks.integer("ask", "limit", LIMIT if limit is None else limit, 1, 2**31 - 1)
    waits = session.batch.size > 0 and programs.kind != "batch"
    context = checked_context(programs, session.batch, session.stopped, context)
    if session.stopped:
        return session, _pulls(session, np.zeros(0, np.int64))
    if programs.kind != "batch" and not waits:
        session = _with_choices(session, most if limit is not None and programs.kind == "draws" else 1, context)
    batch = session.batch
    waiting = without_reward(batch)[:most]
    more = np.arange(batch.issued, min(batch.size, batch.issued + most - len(waiting)), dtype=np.int64)
    positions = np.concatenate([waiting, more])
    withdrawn = np.setdiff1d(batch.withdrawn, positions, assume_unique=True)
    session = replace(session, batch=batch._replace(issued=batch.issued + len(more), withdrawn=withdrawn))
    return session, _pulls(session, positions)


def tell(session: Session, ids: ArrayLike, rewards: ArrayLike) -> Session:
    """Return the next session, which has received the rewards of some of the pulls, in any order.

    Args:
      session: the current session.
      ids: ids of the pulls, int[n] or a single one. An id whose reward is already known is ignored if the reward is
        the same.
      rewards: their rewards, float[n] or a single one.

    Returns:
      The next session.

    Raises:
      ValueError: an id was not asked for, a reward is not finite, of modulus above 1e150 or outside the range for
        which the rule is designed, or it differs from an earlier reward with the same id. The message names the id.
    """
    return receive(session, *accept(session, ids, rewards))


def accept(session: Session, ids: ArrayLike, rewards: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Return ids and rewards as `receive` takes them, with `on_failure` in place of rewards that are not usable.

    Raises:
      ValueError: as for `tell`, except that a reward may differ from an earlier one with the same id.
    """
    ids, values = check_rewards(ids, rewards, session.on_failure, *fit.limits(session.rule.rewards))
    require_asked("tell", ids, session.batch.first + session.batch.issued)
    return ids, values


def receive(session: Session, ids: np.ndarray, values: np.ndarray) -> Session:
    """Return the next session after rewards that `accept` returned: the same one if none of them is new."""
    batch = session.batch
    ids, values = new(ids, values, session.history, batch.first, batch.later, batch.values)
    if not len(ids):
        return session
    later = np.concatenate([batch.later, ids - batch.first])
    order = np.argsort(later)
    later, values = later[order], np.concatenate([batch.values, values])[order]
    gaps = np.flatnonzero(later != batch.entered + np.arange(len(later)))
    ready = int(gaps[0]) if len(gaps) else len(later)
    withdrawn = np.setdiff1d(batch.withdrawn, later, assume_unique=True)
    batch = batch._replace(later=later[ready:], values=values[ready:], withdrawn=withdrawn)
    session = replace(session, batch=batch)
    return _entered(session, values[:ready]) if ready else session


def withdraw(session: Session, ids: ArrayLike) -> Session:
    """Return the session without some pending pulls, which `ask` returns again with the same ids and keys.

    Args:
      session: the current session.
      ids: ids of pulls that were asked for and have no reward yet, int[n] or a single one.

    Returns:
      The next session.

    Raises:
      ValueError: an id was not asked for or already has a reward. The message names it.
    """
    batch = session.batch
    ids = check_ids("withdraw", ids)
    require_asked("withdraw", ids, batch.first + batch.issued)
    here = ids - batch.first
    known = (here < batch.entered) | np.isin(here, batch.later)
    if known.any():
        raise ValueError(f"withdraw: id = {ids[known][0]} already has a reward, must be one that is pending")
    return replace(session, batch=batch._replace(withdrawn=np.union1d(batch.withdrawn, here)))


def pull_keys(session: Session, pulls: Pulls) -> Key:
    """Return one PRNG key per pull, for the training run or simulation that computes its reward.

    Every call returns the same keys. The key is fold_in(fold_in(root, index), arm), or fold_in(root, index) if the
    session is `paired`. In the latter case all arms share random draws (common random numbers), which reduces the
    variance of their differences. `root` is jax.random.key(seed) for run 0, and a key of the run otherwise. If an
    action is a set of arms, the key is fold_in(root, index), where index is the id.

    Args:
      session: the session that returned the pulls.
      pulls: n pulls.

    Returns:
      Typed keys [n] of the generator threefry2x32.
    """
    shared = session.paired or session.programs.set_size is not None
    arms = np.zeros(len(pulls.id), np.int32) if shared else pulls.arm
    return keys.pull_keys(session.seed, session.run, pulls.index, arms, shared)


def _with_choices(session: Session, number: int, context: PyTree) -> Session:
    """The session after choosing `number` pulls from the rule's current state."""
    programs, batch = session.programs, session.batch
    numbers = range(session.round, session.round + number)
    choices = tuple(programs.select(session.words, t, session.state, context) for t in numbers)
    actions = np.stack([np.asarray(action_of(choice)) for choice in choices])
    batch = batch._replace(size=number, choices=choices, actions=actions, context=context)
    return replace(session, batch=batch)


def _pulls(session: Session, positions: np.ndarray) -> Pulls:
    return pulls_at(session.batch, positions, session.num_arms, session.programs.set_size)


def choose_again(session: Session) -> Session:
    """The session with the choices of its open batch recomputed; they are the only part that cannot be stored."""
    batch = session.batch
    if not batch.size or batch.plan is not None:
        return session
    return _with_choices(session, batch.size, batch.context)


def _entered(session: Session, values: np.ndarray) -> Session:
    """The session with further rewards in its totals, and in the rule's state if they complete the open batch."""
    batch = session.batch
    positions = np.arange(batch.entered, batch.entered + len(values), dtype=np.int64)
    actions, arms = actions_at(batch, positions)
    sums, squares = batch.sums, batch.squares
    if batch.plan is not None:
        sums, squares = sums.copy(), squares.copy()
        np.add.at(sums, actions, values)  # one after the other, in the order of ids
        np.add.at(squares, actions, values * values)
    totals = with_rewards(session.totals, arms, values)
    history = longer(session.history, values)
    known = session.arms if arms.dtype == bool else longer(session.arms, arms.astype(np.int32))
    batch = batch._replace(entered=batch.entered + len(values), sums=sums, squares=squares)
    session = replace(session, batch=batch, totals=totals, history=history, arms=known)
    return session if batch.entered < batch.size else _decided(session)


def _decided(session: Session) -> Session:
    """The session after the rule has received all rewards of the open batch."""
    programs, batch, state, decision = session.programs, session.batch, session.state, None
    if batch.plan is not None:
        decision, played = programs.absorb(state, batch.plan, batch.sums, batch.squares), 1
    else:
        end = batch.first + batch.size
        values = values_of(session.history, np.arange(batch.first, end, dtype=np.int64))
        played = batch.size
        for choice, value in zip(batch.choices, values, strict=True):
            decision = programs.update(state, batch.context, choice, value)
            state = decision.state
            if batch.size > 1 and bool(decision.stopped):
                break  # the rule did not need the remaining draws
    assert decision is not None
    return replace(
        session,
        state=decision.state,
        stopped=bool(decision.stopped),
        round=session.round + played,
        batch=next_batch(decision, batch.first + batch.size, session.totals.counts),
    )
