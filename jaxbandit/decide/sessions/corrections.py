"""What a session learns in another way than by the answer to an ask: corrections, pulls of others, closed arms."""

from dataclasses import replace

import numpy as np

from jaxbandit.decide.sessions import contextual
from jaxbandit.decide.sessions.ask_tell import known
from jaxbandit.decide.sessions.entering import again, entered
from jaxbandit.decide.sessions.pulls import OUTSIDE
from jaxbandit.decide.sessions.rewards import check_ids, check_rewards, each_once, replaced, require_asked
from jaxbandit.decide.sessions.session import Session
from jaxbandit.engine.rounds import fit
from jaxbandit.support.types import ArrayLike


def amend(session: Session, ids: ArrayLike, rewards: ArrayLike) -> Session:
    """Return the session with other rewards of pulls whose rewards were reported before.

    Totals, intervals, the achieved epsilon and the state of the rule are computed again from the corrected rewards, as
    if they had been reported at first. The pulls that were made stay: those of the rule's own choice are given to it
    in their order. A rule that plans batches may now need other pulls than were made. Those that it needs and that are
    there are used, those that are missing are asked for next, and the others count in totals and certificate only. A
    rule that had stopped may go on, and one that had not may stop. With contexts, the rule receives all rewards again
    in the order of telling, each with the choice that was made, whose probability is that in the state of that time.

    Args:
      session: the current session.
      ids: ids of pulls with a reward, int[n] or a single one.
      rewards: their corrected rewards, float[n] or a single one.

    Returns:
      The next session, the same one if no reward differs.

    Raises:
      ValueError: an id has no reward, a reward is refused as by `tell`, or the rule has received the reward and cannot
        be given it again: it was saved by an early version, or the rule acts on sets of arms, or, without contexts, on
        more than the arm of a pull, as Exp3 does on its probability.
    """
    return corrected(session, *accept_amended(session, ids, rewards))


def accept_amended(session: Session, ids: ArrayLike, rewards: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Return ids and corrected rewards as `corrected` takes them; raise a ValueError as `amend` does."""
    ids, values = check_rewards("amend", ids, rewards, session.on_failure, *fit.limits(session.rule.rewards))
    require_asked("amend", ids, session.end)
    ids, values = each_once("amend", ids, values)
    if session.asks is not None:
        contextual.require_rewards(session.asks, ids)
        return ids, values
    before, expired = known(session, ids)
    if (none := np.isnan(before)).any():
        at = int(np.argmax(none))
        remedy = "it has expired; report its reward with tell_outside" if expired[at] else "report it with tell"
        raise ValueError(f"amend: id = {ids[at]} has no reward yet, {remedy}")
    programs, past = session.programs, ids < session.batch.first
    if past.any() and (programs.set_size is not None or (programs.kind != "batch" and programs.arm_dtype is None)):
        name = session.rule.name or "the rule"
        raise ValueError(
            f"amend: id = {ids[past][0]}: {name} has received its reward, and takes more than the arm of a pull, so "
            "that its state cannot be computed again; begin a new session"
        )
    if past.any() and any((arms < 0).any() for arms in session.arms):
        raise ValueError(f"amend: id = {ids[past][0]}: the session was saved by an early version without its arms")
    return ids, values


def corrected(session: Session, ids: np.ndarray, values: np.ndarray) -> Session:
    """Return the session after corrected rewards that `accept_amended` returned; the same one if none differs."""
    if session.asks is not None:
        return contextual.corrected(session, session.asks, ids, values)
    before, batch = known(session, ids)[0], session.batch
    if (before == values).all():
        return session
    past = ids < batch.first
    rewards = batch.values.copy()
    rewards[ids[~past] - batch.first] = values[~past]
    session = replace(session, batch=batch._replace(values=rewards))
    if (before[past] == values[past]).all():
        return session
    return again(replace(session, history=replaced(session.history, ids[past], values[past])))


def tell_outside(session: Session, arms: ArrayLike, rewards: ArrayLike) -> Session:
    """Return the session after rewards of pulls that no `ask` returned, such as those of a log from before.

    They get the next ids, and enter totals, intervals and achieved epsilon after all pulls that were asked for before.
    A rule that decides on single pulls by their arm and reward (index policies, `thompson`, `top_two`) learns from
    them. One that plans batches does not: its guarantee is about the pulls of its plan. The certificate then has more
    pulls than the rule.

    The rewards must be what the arms would have given the session, chosen without looking at them.

    Args:
      session: the current session.
      arms: the arms that were pulled, int[n] or a single one.
      rewards: their rewards, float[n] or a single one.

    Returns:
      The next session.

    Raises:
      ValueError: an arm does not exist, a reward is refused as by `tell`, actions are sets of arms, there are contexts,
        or the session is `paired`, whose pulls of different arms belong together by their index.
    """
    return received_outside(session, *accept_outside(session, arms, rewards))


def accept_outside(session: Session, arms: ArrayLike, rewards: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Return arms and rewards as `received_outside` takes them; raise a ValueError as `tell_outside` does."""
    programs, name = session.programs, session.rule.name or "the rule"
    if programs.set_size is not None or session.asks is not None:
        what = "acts on sets of arms" if programs.set_size is not None else "has contexts"
        raise ValueError(f"tell_outside: {name} {what}, must be a rule for single arms without contexts")
    if session.paired:
        raise ValueError("tell_outside: the session is paired, and these pulls share no random draws with its own")
    limits = fit.limits(session.rule.rewards)
    arms, values = check_rewards("tell_outside", arms, rewards, session.on_failure, *limits, "arm")
    checked_arms("tell_outside", session, arms)
    return arms, values


def received_outside(session: Session, arms: np.ndarray, values: np.ndarray) -> Session:
    """Return the session after rewards that `accept_outside` returned."""
    if not len(arms):
        return session
    return entered(replace(session, batch=session.batch.more(arms.astype(np.int32), OUTSIDE, values)))


def close_arms(session: Session, arms: ArrayLike) -> Session:
    """Return the session in which some arms are closed: no new pull of them is asked for, and none is recommended.

    A rule that draws at random (`thompson`, `epsilon_greedy`) draws again while it draws a closed arm. Pulls that were
    asked for before stay pending. The certificate keeps closed arms among those that it compares, so that it remains
    valid whenever an arm is closed or opened, also by looking at the rewards.

    Args:
      session: the current session.
      arms: the arms, int[n] or a single one.

    Returns:
      The next session.

    Raises:
      ValueError: an arm does not exist, no arm would be open, or the rule cannot do without it: one that plans batches
        needs the pulls of its plan, a deterministic one would insist on the same arm, and actions may be sets of arms.
    """
    programs, name = session.programs, session.rule.name or "the rule"
    if programs.kind != "draws" or programs.set_size is not None or session.asks is not None:
        if session.asks is not None:
            raise ValueError(
                f"close_arms: {name} has contexts; give an Offer with the arms that are available as context"
            )
        why = {"batch": "plans batches, of which it needs every pull", "single": "is deterministic, and would insist"}
        reason = why.get(programs.kind, "does not act on single arms")
        raise ValueError(
            f"close_arms: {name} {reason}; take a rule that draws at random, such as thompson, or begin a new session "
            "without the arm, and report the rewards so far with tell_outside"
        )
    closed = _marked("close_arms", session, arms, True)
    if closed.all():
        raise ValueError(f"close_arms: all {len(closed)} arms would be closed, must leave one open")
    return replace(session, closed=closed)


def open_arms(session: Session, arms: ArrayLike) -> Session:
    """Return the session in which arms that `close_arms` closed are open again.

    Args:
      session: the current session.
      arms: the arms, int[n] or a single one; those that are open stay so.

    Raises:
      ValueError: an arm does not exist.
    """
    return replace(session, closed=_marked("open_arms", session, arms, False))


def _marked(where: str, session: Session, arms: ArrayLike, closed: bool) -> np.ndarray:
    marked = session.closed.copy()
    marked[checked_arms(where, session, check_ids(where, arms, "arm"))] = closed
    return marked


def checked_arms(where: str, session: Session, arms: np.ndarray) -> np.ndarray:
    """The arms; an error is raised if one does not exist."""
    wrong = (arms < 0) | (arms >= session.num_arms)
    if wrong.any():
        raise ValueError(f"{where}: arm = {arms[wrong][0]}, must be in [0, {session.num_arms - 1}]")
    return arms
