"""Sessions with contexts: each ask is decided by the state after all rewards so far, and nobody waits."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from jaxbandit.base.contract import Offer, action_of
from jaxbandit.decide.sessions.asks import Asks, Open, Told, as_given, no_asks, without_closed
from jaxbandit.decide.sessions.context_programs import select_each
from jaxbandit.decide.sessions.forms import zeros_of
from jaxbandit.decide.sessions.given_contexts import checked_context, checked_contexts, require_offers
from jaxbandit.decide.sessions.ledger import Pulls, no_actions, propensities
from jaxbandit.decide.sessions.session import Session
from jaxbandit.support.types import PyTree


def begun(session: Session, context: PyTree, several: PyTree) -> Session:
    """The session, which from its first ask on is one with contexts if that has an `Offer`, and the rule takes it."""
    if isinstance(session.pulls, Asks) or not (isinstance(context, Offer) or isinstance(several, Offer)):
        return session
    if session.pulls.end:
        raise ValueError("an Offer, but the pulls before had none: begin a session in which every ask has one")
    return session.but(pulls=no_asks(session.num_arms))


def ask(session: Session, asks: Asks, limit: int | None, context: PyTree, several: PyTree) -> tuple[Session, Pulls]:
    """As `next_pulls`, for a session with contexts."""
    rule, name = session.rule, session.rule.name or "the rule"
    if (context is not None and several is not None) or (several is not None and limit is not None):
        other = "context" if context is not None else "limit"
        raise ValueError(f"{other} and contexts, both are given, must be one of them")
    if session.stopped:
        return session, _pulls(session, ())
    if context is None and several is None:
        if not asks.blocks:
            raise ValueError(f"context = None, must be given: {name} needs a context")
        return session, _pulls(session, asks.open[:limit])
    if several is not None:
        contexts = checked_contexts(rule, asks, several)
    else:
        contexts = [checked_context(rule, asks, context)] * ((limit or 1) if session.programs.draws else 1)
    if isinstance(contexts[0], Offer) and asks.example is None:
        require_offers(rule, contexts[0])
    contexts = [without_closed(each, session.closed) for each in contexts]
    choices = select_each(session.programs, session.words, session.round, session.state, contexts)
    rows, asked = [], asks.asked.copy()
    for id_, (given, choice) in enumerate(zip(contexts, choices, strict=True), asks.end):
        action = action_of(choice)
        _check(name, action, session.num_arms, given.available if isinstance(given, Offer) else None)
        pull = id_
        if action.dtype != bool:
            pull = int(asked[action])
            asked[action] += 1
        rows.append(Open(id_, pull, given, choice))
    after = asks.more(rows, asked)
    return session.but(pulls=after, round=after.end + 1), _pulls(session, rows)


def require_closable(session: Session, asks: Asks) -> None:
    """Raise a ValueError unless the rule can do without some arms, because it takes an `Offer` of its contexts."""
    programs, name = session.programs, session.rule.name or "the rule"
    if programs.set_size is not None:
        raise ValueError(f"{name} acts on sets of arms, must act on single arms")
    example = as_given(asks.example.context) if asks.example is not None else zeros_of(programs.context_shape())
    if example is None:
        raise ValueError(f"{name} declares no contexts, so that arms can be closed after the first ask only")
    if not isinstance(example, Offer):
        require_offers(session.rule, Offer(np.ones(session.num_arms, bool), example))


def receive(session: Session, ids: np.ndarray, values: np.ndarray) -> Session:
    """The session after rewards of ids that were asked for, in this order; the same one if none of them is new."""
    asks: Any = session.pulls
    given, new, counts = {}, [], session.totals.counts.copy()
    pairs = list(zip(ids.tolist(), values.tolist(), strict=True))
    for id_, value in pairs:
        _require_equal(id_, value, given.setdefault(id_, value), "an id has one reward")
    closed = [id_ for id_ in given if asks.at(id_) is None]
    before = asks.rewards(closed)
    for id_ in closed:
        _require_reward(id_, before, "its context is forgotten, so that the rule cannot receive its reward")
        _require_equal(id_, given[id_], before[id_], "an id has one reward, which amend corrects")
    for id_, value in given.items():
        if (row := asks.at(id_)) is not None:
            new.append(Told(id_, asks.end, value, row.context, row.choice))
            counts[action_of(row.choice)] += 1
    if not new:
        return session
    totals = session.totals._replace(counts=counts)
    return _updated(session.but(pulls=asks.tell(new), totals=totals), new)


def forget(session: Session, ids: np.ndarray) -> Session:
    """The session without some of its open asks."""
    asks: Any = session.pulls
    wanted = sorted(set(ids.tolist()))
    if closed := [id_ for id_ in wanted if asks.at(id_) is None]:
        before = asks.rewards(closed)
        for id_ in closed:
            _require_reward(id_, before, "must be one that is pending")
        raise ValueError(f"id = {closed[0]} already has a reward, must be one that is pending")
    return session.but(pulls=asks.less(wanted))


def correct(session: Session, ids: np.ndarray, values: np.ndarray) -> Session:
    """The session after other rewards of ids that have one, as if these had been told; the same if none differs."""
    asks: Any = session.pulls
    given = dict(zip(ids.tolist(), values.tolist(), strict=True))
    before = asks.rewards(given)
    for id_ in given:
        if id_ not in before:
            remedy = "report it with tell" if asks.at(id_) is not None else "it was withdrawn or has expired"
            raise ValueError(f"id = {id_} has no reward yet, {remedy}")
    if before == given:
        return session
    parts = jax.tree.map(
        lambda row: row._replace(reward=given.get(row.id, row.reward)),
        asks.parts if asks.past is None else (tuple(asks.past.rows()), *asks.parts),
        is_leaf=lambda row: isinstance(row, Told),
    )
    decision = session.programs.begin(session.seed, session.run)[1]
    pulls = asks._replace(parts=parts, past=None)
    return _updated(session.but(state=decision.state, stopped=decision.stopped, pulls=pulls), pulls.told)


def _updated(session: Session, told: Iterable[Told]) -> Session:
    """The session after its rule has received these rewards, one after the other until it stops."""
    programs, state, stopped = session.programs, session.state, session.stopped
    for row in told:
        if stopped:
            break  # the rule does not need the remaining ones
        state, stopped, _ = programs.update(state, row.context, row.choice, row.reward, session.sole)
    return session.but(state=state, stopped=stopped)


def _require_equal(id_: int, value: float, before: float, reason: str) -> None:
    """Raise an error if a reward is not the one that was reported before."""
    if value != before:
        raise ValueError(f"id = {id_}: reward = {value!r}, but {before!r} was reported before; {reason}")


def _require_reward(id_: int, rewards: Mapping[int, float], remedy: str) -> None:
    """Raise an error if an ask that is not open has no reward."""
    if id_ not in rewards:
        raise ValueError(f"id = {id_} was withdrawn or has expired, {remedy}")


def _check(name: str, action: np.ndarray, num_arms: int, available: np.ndarray | None) -> None:
    """Raise an error if an action is no arm, or one that is not available."""
    if action.dtype != bool and not 0 <= action < num_arms:
        raise ValueError(f"{name} chose arm {action}, must be in [0, {num_arms - 1}]")
    if available is not None and (action & ~available if action.dtype == bool else ~available[action]).any():
        raise ValueError(f"{name} chose {action}, must be available, but only {np.flatnonzero(available)} are")


def _pulls(session: Session, rows: Sequence[Open]) -> Pulls:
    ids = np.array([row.id for row in rows], np.int64)
    if not rows:
        return Pulls(ids, no_actions(session.num_arms, session.programs.set_size), np.zeros(0, np.int32))
    actions = np.array([action_of(row.choice) for row in rows])
    arms = actions if actions.dtype == bool else actions.astype(np.int32)
    return Pulls(ids, arms, np.array([row.pull for row in rows], np.int32), propensities([row.choice for row in rows]))
