"""What an event changes: `apply` is the only place where a session becomes another one."""

from collections.abc import Callable

import numpy as np

from jaxbandit.decide.sessions import contextual
from jaxbandit.decide.sessions.asks import Asks
from jaxbandit.decide.sessions.events import Event, Kind
from jaxbandit.decide.sessions.feed import again, feed
from jaxbandit.decide.sessions.ledger import EXPIRED, OUTSIDE, TOLD, WITHDRAWN, Ledger
from jaxbandit.decide.sessions.next_pulls import next_pulls
from jaxbandit.decide.sessions.rewards import check_ids, check_rewards, each_once, replaced, require_asked, same
from jaxbandit.decide.sessions.session import Session


def apply(session: Session, event: Event) -> Session:
    """Return the session after an event, which may say which arms an ask returned; the same one if it changes nothing.

    Raises:
      OtherPulls: the rule asks for other arms than the event says.
      ValueError: the event is refused, as by the function of the same name.
    """
    return next_pulls(session, event)[0] if event.kind == "ask" else CHANGES[event.kind](session, event)


def _rewards(where: str, session: Session, event: Event) -> tuple[np.ndarray, np.ndarray]:
    """The ids and rewards of an event, with `on_failure` in place of rewards that are not usable."""
    limits = session.programs.limits
    ids, values = check_rewards(where, event.ids, event.rewards, session.on_failure, *limits)
    require_asked(where, ids, session.end)
    return ids, values


def _tell(session: Session, event: Event) -> Session:
    ids, values = _rewards("tell", session, event)
    event = event._replace(ids=ids, rewards=values)
    if isinstance(session.pulls, Asks):
        after = contextual.receive(session, session.pulls, ids, values)
        return after if after is session else after.with_event(event)
    ids, values = each_once("tell", ids, values)
    ledger = session.pulls
    before, expired = ledger.known(ids)
    if expired.any():
        raise ValueError(f"tell: id = {ids[expired][0]} has expired; report its reward with tell_outside")
    old = ~np.isnan(before)
    same("tell", ids[old], values[old], before[old], "was reported before; an id has one reward, which amend corrects")
    if old.all():
        return session
    return feed(session, ledger.marked(ids[~old] - ledger.first, TOLD, values[~old])).with_event(event)


def _withdraw(session: Session, event: Event) -> Session:
    return _marked(session, event._replace(ids=check_ids("withdraw", event.ids)), WITHDRAWN)


def _expire(session: Session, event: Event) -> Session:
    ids, ledger = check_ids("expire", event.ids), session.pulls
    require_asked("expire", ids, session.end)
    if isinstance(ledger, Ledger) and session.programs.kind == "batch" and not session.stopped:
        alive, here = session.survivors, ids[ids >= ledger.first]
        needed = np.ones(len(here), bool)
        if alive is not None and session.programs.set_size is None:
            needed = alive[ledger.actions[here - ledger.first]]
        if needed.any():
            name = session.rule.name or "the rule"
            raise ValueError(
                f"expire: id = {here[needed][0]}: {name} needs the rewards of its whole plan; give it to withdraw, "
                "so that ask returns it again, or tell a number in its place"
            )
    return _marked(session, event._replace(ids=ids), EXPIRED)


def _marked(session: Session, event: Event, status: int) -> Session:
    """The session with another status of some pending pulls; those with contexts are forgotten."""
    where, ids, ledger = event.kind, event.ids, session.pulls
    require_asked(where, ids, session.end)
    if not len(ids):
        return session
    if isinstance(ledger, Asks):
        return contextual.forgotten(session, ledger, where, ids).with_event(event)
    values, expired = ledger.known(ids)
    if (wrong := ~np.isnan(values) | expired).any():
        at = int(np.argmax(wrong))
        reason = "has expired" if expired[at] else "already has a reward"
        raise ValueError(f"{where}: id = {ids[at]} {reason}, must be one that is pending")
    return feed(session, ledger.marked(ids - ledger.first, status)).with_event(event)


def _amend(session: Session, event: Event) -> Session:
    ids, values = each_once("amend", *_rewards("amend", session, event))
    event, ledger = event._replace(ids=ids, rewards=values), session.pulls
    if isinstance(ledger, Asks):
        contextual.require_rewards(ledger, ids)
        after = contextual.corrected(session, ledger, ids, values)
        return after if after is session else after.with_event(event)
    before, expired = ledger.known(ids)
    if (none := np.isnan(before)).any():
        at = int(np.argmax(none))
        remedy = "it has expired; report its reward with tell_outside" if expired[at] else "report it with tell"
        raise ValueError(f"amend: id = {ids[at]} has no reward yet, {remedy}")
    programs, past = session.programs, ids < ledger.first
    if past.any() and (programs.set_size is not None or (programs.kind != "batch" and programs.arm_dtype is None)):
        name = session.rule.name or "the rule"
        raise ValueError(
            f"amend: id = {ids[past][0]}: {name} has received its reward, and takes more than the arm of a pull, so "
            "that its state cannot be computed again; begin a new session"
        )
    if (before == values).all():
        return session
    here = ids[~past] - ledger.first
    ledger = ledger.marked(here, ledger.status[here], values[~past])
    if (before[past] == values[past]).all():
        return session.but(pulls=ledger).with_event(event)
    history = replaced(ledger.history, ids[past], values[past])
    return again(session, ledger._replace(history=history)).with_event(event)


def _outside(session: Session, event: Event) -> Session:
    programs, name, ledger = session.programs, session.rule.name or "the rule", session.pulls
    if programs.set_size is not None or isinstance(ledger, Asks):
        what = "acts on sets of arms" if programs.set_size is not None else "has contexts"
        raise ValueError(f"tell_outside: {name} {what}, must be a rule for single arms without contexts")
    if session.paired:
        raise ValueError("tell_outside: the session is paired, and these pulls share no random draws with its own")
    limits = session.programs.limits
    arms, values = check_rewards("tell_outside", event.arms, event.rewards, session.on_failure, *limits, "arm")
    _require_arms("tell_outside", session, arms)
    if not len(arms):
        return session
    event = event._replace(ids=session.end + np.arange(len(arms)), arms=arms, rewards=values)
    return feed(session, ledger.more(arms.astype(np.int32), OUTSIDE, values)).with_event(event)


def _close(session: Session, event: Event) -> Session:
    programs, name = session.programs, session.rule.name or "the rule"
    if isinstance(session.pulls, Asks):
        raise ValueError(f"close_arms: {name} has contexts; give an Offer with the arms that are available as context")
    if programs.kind != "draws" or programs.set_size is not None:
        why = {"batch": "plans batches, of which it needs every pull", "single": "is deterministic, and would insist"}
        reason = why.get(programs.kind, "does not act on single arms")
        raise ValueError(
            f"close_arms: {name} {reason}; take a rule that draws at random, such as thompson, or begin a new session "
            "without the arm, and report the rewards so far with tell_outside"
        )
    after = _with_arms("close_arms", session, event, True)
    if after.closed.all():
        raise ValueError(f"close_arms: all {len(after.closed)} arms would be closed, must leave one open")
    return after


def _open(session: Session, event: Event) -> Session:
    return _with_arms("open_arms", session, event, False)


def _with_arms(where: str, session: Session, event: Event, closed: bool) -> Session:
    arms, marked = check_ids(where, event.arms, "arm"), session.closed.copy()
    _require_arms(where, session, arms)
    marked[arms] = closed
    return session.but(closed=marked).with_event(event._replace(arms=arms))


def _require_arms(where: str, session: Session, arms: np.ndarray) -> None:
    """Raise an error if one of the arms does not exist."""
    wrong = (arms < 0) | (arms >= session.num_arms)
    if wrong.any():
        raise ValueError(f"{where}: arm = {arms[wrong][0]}, must be in [0, {session.num_arms - 1}]")


def ids_before(session: Session, end: int) -> np.ndarray:
    """The ids below `end` of the pulls that wait for a reward, also if they were withdrawn."""
    ledger = session.pulls
    waiting = ledger.pending if isinstance(ledger, Asks) else ledger.first + ledger.waiting
    return waiting[waiting < end]


CHANGES: dict[Kind, Callable[[Session, Event], Session]] = {
    "tell": _tell,
    "withdraw": _withdraw,
    "expire": _expire,
    "amend": _amend,
    "outside": _outside,
    "close": _close,
    "open": _open,
}
