"""What changes a session, besides `ask`: a kind of events is a function here, which says in one place what it is.

Its name and its positional arguments are the kind and the lists of the event, its docstring is for users, `apply` calls
it again when a log is read, and a line of `Changes` makes it a method of a session directory.
"""

import functools
from collections.abc import Callable
from typing import Annotated, Any, Concatenate, ParamSpec

import numpy as np

from jaxbandit.base.calls import under_name
from jaxbandit.base.parameters import Arg
from jaxbandit.decide.sessions import contextual, feed
from jaxbandit.decide.sessions.asks import Asks
from jaxbandit.decide.sessions.events import CHANGES, COLUMNS, OPTIONS, Event, change
from jaxbandit.decide.sessions.ledger import EXPIRED, OUTSIDE, WITHDRAWN
from jaxbandit.decide.sessions.next_pulls import next_pulls
from jaxbandit.decide.sessions.rewards import check_ids, check_rewards, each_once, require_arms, require_asked
from jaxbandit.decide.sessions.session import Session
from jaxbandit.support.domains import integer
from jaxbandit.support.types import ArrayLike

P = ParamSpec("P")


@change
def tell(session: Session, ids: ArrayLike, rewards: ArrayLike) -> Session:
    """Return the next session, which has received the rewards of some of the pulls, in any order.

    With contexts, the rule receives them at once and in the order in which they are given here.

    Args:
      session: the current session.
      ids: ids of the pulls, int[n] or a single one. An id whose reward is already known is ignored if the reward is
        the same.
      rewards: their rewards, float[n] or a single one.

    Raises:
      ValueError: an id was not asked for, a reward is not finite, of modulus above 1e150 or outside the range for
        which the rule is designed, or it differs from an earlier reward with the same id. The message names the id.
    """
    ids, values = _rewards(session, ids, rewards)
    after = (contextual.receive if session.contextual else feed.receive)(session, ids, values)
    return after if after is session else after.with_event(Event("tell", ids, rewards=values))


@change
def withdraw(session: Session, ids: ArrayLike) -> Session:
    """Return the session without some pending pulls, which `ask` returns again with the same ids and keys.

    With contexts they are forgotten, because whoever asked in that context is gone.

    Args:
      session: the current session.
      ids: ids of pulls that were asked for and have no reward yet, int[n] or a single one.

    Raises:
      ValueError: an id was not asked for, already has a reward or has expired. The message names it.
    """
    return _without("withdraw", session, check_ids(ids), WITHDRAWN)


@change
def expire(
    session: Session, ids: ArrayLike | None = None, *, before: Annotated[int, Arg(integer(0, 2**62))] | None = None
) -> Session:
    """Return the session in which some pending pulls wait for no reward any more, because it will never come.

    The rule goes on as if it had not chosen them. If whether a reward comes depends on the reward, what is left is
    biased, and so are means and intervals; then tell a number in its place. In a `paired` session later rewards of the
    same arm do not enter the achieved epsilon. With contexts, where nobody waits, the asks are forgotten. A late reward
    can be told with `tell_outside`.

    A rule that plans batches needs the rewards of its plan: `withdraw` lets `ask` return such a pull again. Only those
    of arms that it has eliminated, and all once it has stopped, may expire.

    Args:
      session: the current session.
      ids: ids of pulls that were asked for and have no reward yet, int[n] or a single one.
      before: in place of `ids`: all such pulls with a smaller id than this one.

    Raises:
      ValueError: an id was not asked for, already has a reward, has expired before or is needed by the rule. The
        message names it.
    """
    if (ids is None) == (before is None):
        given = "neither is given" if ids is None else "both are given"
        raise ValueError(f"ids or before, {given}, must be one of them")
    if before is not None:
        pulls = session.pulls
        waiting = pulls.pending if isinstance(pulls, Asks) else pulls.first + pulls.waiting  # also if withdrawn
        ids = waiting[waiting < before]
    ids = check_ids(ids)
    require_asked(ids, session.end)
    if not session.contextual:
        feed.require_needless(session, ids)
    return _without("expire", session, ids, EXPIRED)


@change
def amend(session: Session, ids: ArrayLike, rewards: ArrayLike) -> Session:
    """Return the session with other rewards of pulls whose rewards were reported before.

    Totals, intervals, the achieved epsilon and the state of the rule are computed again from the corrected rewards, as
    if they had been reported at first. The pulls that were made stay. A rule that plans batches may now need other
    pulls: those that are there are used, those that are missing are asked for next, and the others count in totals and
    certificate only. A rule that had stopped may go on, and one that had not may stop. With contexts, the rule receives
    all rewards again in the order of telling, each with the choice that was made, whose probability is that of its
    time.

    Args:
      session: the current session.
      ids: ids of pulls with a reward, int[n] or a single one.
      rewards: their corrected rewards, float[n] or a single one.

    Raises:
      ValueError: an id has no reward, a reward is refused as by `tell`, or the rule has received the reward and cannot
        be given it again: the rule acts on sets of arms, or, without contexts, on more than the arm of a pull, as Exp3
        does on its probability.
    """
    ids, values = each_once(*_rewards(session, ids, rewards))
    after = (contextual.correct if session.contextual else feed.correct)(session, ids, values)
    return after if after is session else after.with_event(Event("amend", ids, rewards=values))


@change
def tell_outside(session: Session, arms: ArrayLike, rewards: ArrayLike) -> Session:
    """Return the session after rewards of pulls that no `ask` returned, such as those of a log from before.

    They get the next ids, and enter totals, intervals and achieved epsilon after all pulls that were asked for before.
    A rule that decides on single pulls by their arm and reward (index policies, `thompson`, `top_two`) learns from
    them. One that plans batches does not: its guarantee is about the pulls of its plan.

    The rewards must be what the arms would have given the session, chosen without looking at them.

    Args:
      session: the current session.
      arms: the arms that were pulled, int[n] or a single one.
      rewards: their rewards, float[n] or a single one.

    Raises:
      ValueError: an arm does not exist, a reward is refused as by `tell`, actions are sets of arms, there are contexts,
        or the session is `paired`, whose pulls of different arms belong together by their index.
    """
    programs, name, pulls = session.programs, session.rule.name or "the rule", session.pulls
    if programs.set_size is not None or isinstance(pulls, Asks):
        what = "acts on sets of arms" if programs.set_size is not None else "has contexts"
        raise ValueError(f"{name} {what}, must be a rule for single arms without contexts")
    if session.paired:
        raise ValueError("the session is paired, and these pulls share no random draws with its own")
    arms, values = check_rewards(arms, rewards, session.on_failure, *programs.limits, "arm")
    require_arms(arms, session.num_arms)
    if not len(arms):
        return session
    event = Event("tell_outside", session.end + np.arange(len(arms)), arms, values)
    index, status = np.zeros(len(arms), np.int32), np.full(len(arms), OUTSIDE, np.int8)
    return feed.enter(session, pulls.more(arms.astype(np.int32), index, status, values)).with_event(event)


@change
def close_arms(session: Session, arms: ArrayLike) -> Session:
    """Return the session in which some arms are closed: no new pull of them is asked for, and none is recommended.

    A rule that draws at random (`thompson`, `epsilon_greedy`) draws again while it draws a closed arm. With contexts
    the rule gets an `Offer` of the open arms in place of the context, and `log` says which arms were open. A rule that
    is made for more arms than there are at first begins with the others closed. Pulls that were asked for before stay
    pending. The certificate still compares closed arms, so that it remains valid whenever an arm is closed or opened,
    also by looking at the rewards.

    Args:
      session: the current session.
      arms: the arms, int[n] or a single one.

    Raises:
      ValueError: an arm does not exist, no arm would be open, or the rule cannot do without it: one that plans batches
        needs the pulls of its plan, a deterministic one without contexts would insist on the same arm, one with
        contexts may take no `Offer`, and actions may be sets of arms.
    """
    programs, name = session.programs, session.rule.name or "the rule"
    if isinstance(session.pulls, Asks):
        contextual.require_closable(session, session.pulls)
    elif programs.kind != "draws" or programs.set_size is not None:
        why = {"batch": "plans batches, of which it needs every pull", "single": "is deterministic, and would insist"}
        reason = why.get(programs.kind, "does not act on single arms")
        raise ValueError(
            f"{name} {reason}; take a rule that draws at random, such as thompson, or begin a new session "
            "without the arm, and report the rewards so far with tell_outside"
        )
    after = _with_arms("close_arms", session, arms, True)
    if after.closed.all():
        raise ValueError(f"all {len(after.closed)} arms would be closed, must leave one open")
    return after


@change
def open_arms(session: Session, arms: ArrayLike) -> Session:
    """Return the session in which arms that `close_arms` closed are open again.

    Args:
      session: the current session.
      arms: the arms, int[n] or a single one; those that are open stay so.

    Raises:
      ValueError: an arm does not exist.
    """
    return _with_arms("open_arms", session, arms, False)


def _method(function: Callable[Concatenate[Session, P], Session]) -> Callable[Concatenate[Any, P], None]:
    """The method that changes the session which an object keeps, with the arguments that follow it."""

    @functools.wraps(function)
    def method(self: Any, *given: P.args, **options: P.kwargs) -> None:
        self._change(function, *given, **options)

    method.__doc__ = f"Change the session, as for `jaxbandit.{function.__name__}`."
    return method


class Changes:
    """The changes as methods of what keeps a session."""

    tell, tell_outside, amend = _method(tell), _method(tell_outside), _method(amend)
    withdraw, expire = _method(withdraw), _method(expire)
    close_arms, open_arms = _method(close_arms), _method(open_arms)


def apply(session: Session, event: Event) -> Session:
    """Return the session after an event, which may say which arms an ask returned; the same one if it changes nothing.

    Raises:
      OtherPulls: the rule asks for other arms than the event says.
      ValueError: the event is refused, as by the function of the same name.
    """
    if event.kind == "ask":
        with under_name("ask"):
            return next_pulls(session, event)[0]
    return CHANGES[event.kind](session, *(getattr(event, name) for name in COLUMNS[event.kind]))


def _rewards(session: Session, ids: ArrayLike, rewards: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """The ids and rewards, with `on_failure` in place of rewards that are not usable."""
    ids, values = check_rewards(ids, rewards, session.on_failure, *session.programs.limits)
    require_asked(ids, session.end)
    return ids, values


def _without(kind: str, session: Session, ids: np.ndarray, status: int) -> Session:
    """The session with another status of some pending pulls; those with contexts are forgotten."""
    require_asked(ids, session.end)
    if not len(ids):
        return session
    after = contextual.forget(session, ids) if session.contextual else feed.mark(session, ids, status)
    return after.with_event(Event(kind, ids))


def _with_arms(kind: str, session: Session, arms: ArrayLike, closed: bool) -> Session:
    """The session in which some arms are closed, or open."""
    arms, marked = check_ids(arms, "arm"), session.closed.copy()
    require_arms(arms, session.num_arms)
    marked[arms] = closed
    return session.but(closed=marked).with_event(Event(kind, arms=arms))


# The lists that an entry of a log may have, and what it may have besides.
FORMS: list[tuple[set[str], set[str]]] = [
    ({kind, *more}, set(OPTIONS if kind == "ask" else ())) for kind, (_, *more) in COLUMNS.items()
]
