"""Sessions with contexts: each ask is decided by the state after all rewards so far, and nobody waits."""

from typing import Any

import jax
import numpy as np

from jaxbandit.base.contract import Offer, action_of
from jaxbandit.decide.sessions.asks import Asks, Open, Told, added, no_asks, removed, some, whole
from jaxbandit.decide.sessions.context_programs import select_each
from jaxbandit.decide.sessions.given_contexts import checked_context, checked_contexts, require_offers
from jaxbandit.decide.sessions.ledger import Pulls, no_actions
from jaxbandit.decide.sessions.rewards import earlier, same
from jaxbandit.decide.sessions.session import Session
from jaxbandit.support.types import PyTree


def begun(session: Session, context: PyTree, several: PyTree) -> Session:
    """The session, which from its first ask on is one with contexts if that has an `Offer`, and the rule takes it."""
    offer = next((x for x in (context, several) if isinstance(x, Offer)), None)
    if isinstance(session.pulls, Asks) or offer is None:
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
        return session, _pulls(session, None)
    if context is None and several is None:
        if not asks.open:
            raise ValueError(f"context = None, must be given: {name} needs a context")
        return session, _pulls(session, some(whole(asks.open), slice(0, limit)))
    if several is not None:
        n, contexts = checked_contexts(rule, asks, several)
    else:
        contexts = checked_context(rule, asks, context)
        n = (limit or 1) if session.programs.draws else 1
        contexts = jax.tree.map(lambda x: np.broadcast_to(x, (n, *np.shape(x))).copy(), contexts)
    if isinstance(contexts, Offer) and asks.form is None:
        require_offers(rule, some(contexts, 0))
    choices = select_each(session.programs, session.words, session.round, session.state, contexts)
    actions = np.asarray(action_of(choices))
    _check(name, actions, session.num_arms, contexts.available if isinstance(contexts, Offer) else None)
    ids, asked = np.arange(asks.end, asks.end + n), asks.asked
    if actions.dtype != bool:
        pull = asked[actions] + earlier(actions)
        asked = asked + np.bincount(actions, minlength=len(asked))
    else:
        pull = ids
    rows = Open(ids, pull.astype(np.int32), contexts, choices)
    asks = asks._replace(end=asks.end + n, asked=asked, open=added(asks.open, asks.end, rows))
    return session.but(pulls=asks, round=asks.end + 1), _pulls(session, rows)


def receive(session: Session, ids: np.ndarray, values: np.ndarray) -> Session:
    """The session after rewards of ids that were asked for, in this order; the same one if none of them is new."""
    asks: Any = session.pulls
    first = np.sort(np.unique(ids, return_index=True)[1])
    same(ids, values, values[first][_places(ids[first], ids)], "was reported before; an id has one reward")
    ids, values = ids[first], values[first]
    new = asks.is_open(ids)
    before = asks.rewards(ids[~new])
    _require_rewards(ids[~new], before, "its context is forgotten, so that the rule cannot receive its reward")
    same(ids[~new], values[~new], before, "was reported before; an id has one reward, which amend corrects")
    if not new.any():
        return session
    ids, values = ids[new], values[new]
    left, rows = removed(asks.open, ids)
    rows = some(rows, _places(rows.id, ids))
    told = Told(ids, np.full(len(ids), asks.end), values, rows.context, rows.choice)
    actions = np.asarray(action_of(rows.choice))
    asks = asks._replace(open=left, told=added(asks.told, asks.num_told, told), num_told=asks.num_told + len(ids))
    counts = session.totals.counts + counts_of_arms(actions, session.num_arms)
    return _updated(session.but(pulls=asks, totals=session.totals._replace(counts=counts)), told)


def forget(session: Session, ids: np.ndarray) -> Session:
    """The session without some of its open asks."""
    asks: Any = session.pulls
    ids = np.unique(ids)
    if len(rest := ids[~asks.is_open(ids)]):
        _require_rewards(rest, asks.rewards(rest), "must be one that is pending")
        raise ValueError(f"id = {rest[0]} already has a reward, must be one that is pending")
    return session.but(pulls=asks._replace(open=removed(asks.open, ids)[0]))


def correct(session: Session, ids: np.ndarray, values: np.ndarray) -> Session:
    """The session after other rewards of ids that have one, as if these had been told; the same if none differs."""
    asks: Any = session.pulls
    before = asks.rewards(ids)
    if len(none := ids[np.isnan(before)]):
        remedy = "report it with tell" if asks.is_open(none)[0] else "it was withdrawn or has expired"
        raise ValueError(f"id = {none[0]} has no reward yet, {remedy}")
    if (before == values).all():
        return session
    table = {}
    for block, rows in asks.told.items():
        here, reward = np.isin(rows.id, ids), rows.reward.copy()
        reward[here] = values[_places(ids, rows.id[here])]
        table[block] = rows._replace(reward=reward)
    decision = session.programs.begin(session.seed, session.run)[1]
    fresh = session.but(state=decision.state, stopped=bool(decision.stopped), pulls=asks._replace(told=table))
    return _updated(fresh, whole(table))


def _updated(session: Session, told: Told) -> Session:
    """The session after its rule has received these rewards, one after the other until it stops."""
    programs, state, stopped = session.programs, session.state, session.stopped
    for i, reward in enumerate(told.reward.tolist()):
        if stopped:
            break  # the rule does not need the remaining ones
        context, choice = some((told.context, told.choice), i)
        decision = programs.update(state, context, choice, reward)
        state, stopped = decision.state, bool(decision.stopped)
    return session.but(state=state, stopped=stopped)


def _places(ids: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Where each of the wanted ids is among `ids`."""
    order = np.argsort(ids)
    return order[np.searchsorted(ids, wanted, sorter=order)]


def _require_rewards(ids: np.ndarray, rewards: np.ndarray, remedy: str) -> None:
    if len(gone := ids[np.isnan(rewards)]):
        raise ValueError(f"id = {gone[0]} was withdrawn or has expired, {remedy}")


def _check(name: str, actions: np.ndarray, num_arms: int, available: np.ndarray | None) -> None:
    """Raise an error if an action is no arm, or one that is not available."""
    if actions.dtype == bool:
        bad = np.zeros(actions.shape, bool) if available is None else actions & ~available
    else:
        bad = (actions < 0) | (actions >= num_arms)
        if bad.any():
            raise ValueError(f"{name} chose arm {actions[bad].flat[0]}, must be in [0, {num_arms - 1}]")
        bad = bad if available is None else ~available[np.arange(len(actions)), actions]
    if bad.any():
        row = int(np.argwhere(bad)[0][0])
        allowed = np.flatnonzero(np.ones(num_arms) if available is None else available[row])
        raise ValueError(f"{name} chose {actions[row]}, must be available, but only {allowed} are")


def counts_of_arms(actions: np.ndarray, num_arms: int) -> np.ndarray:
    """Pulls of each arm in these actions, int64[num_arms]."""
    return actions.sum(axis=0) if actions.dtype == bool else np.bincount(actions, minlength=num_arms)


def _pulls(session: Session, rows: Any) -> Pulls:
    if rows is None:
        return Pulls(
            np.zeros(0, np.int64), no_actions(session.num_arms, session.programs.set_size), np.zeros(0, np.int32)
        )
    actions = np.asarray(action_of(rows.choice))
    return Pulls(rows.id, actions if actions.dtype == bool else actions.astype(np.int32), rows.pull)
