"""Sessions without contexts: what is due to the rule is given to it in the order that it takes.

A rule that plans batches receives the next rewards of each arm, in the order of their indices, as soon as they cover
its plan, so that its state is a function of the rewards by (arm, index) alone. A rule that chooses single pulls
receives them in the order of ids, once all that were chosen from one state have entered; one whose visitors do not
wait for each other, as far as they have entered.
"""

from typing import Any

import numpy as np

from jaxbandit.decide.sessions.ledger import EXPIRED, TOLD, Ledger, arms_of, plan_of
from jaxbandit.decide.sessions.rewards import (
    array_of,
    between,
    each_once,
    earlier,
    longer,
    no_totals,
    replaced,
    same,
    some,
    with_rewards,
)
from jaxbandit.decide.sessions.rule_programs import Decision, counts_of
from jaxbandit.decide.sessions.session import Session


def receive(session: Session, ids: np.ndarray, values: np.ndarray) -> Session:
    """The session after rewards of ids that were asked for; the same one if none of them is new."""
    ids, values = each_once(ids, values)
    ledger: Any = session.pulls
    here = ids - ledger.first
    if some(here < 0) or some(ledger.status[here] >= TOLD):  # not all wait for their rewards
        before, expired = ledger.known(ids)
        if expired.any():
            raise ValueError(f"id = {ids[expired][0]} has expired; report its reward with tell_outside")
        old = ~np.isnan(before)
        same(ids[old], values[old], before[old], "was reported before; an id has one reward, which amend corrects")
        if old.all():
            return session
        here, values = here[~old], values[~old]
    return enter(session, ledger.marked(here, TOLD, values)) if len(here) else session


def correct(session: Session, ids: np.ndarray, values: np.ndarray) -> Session:
    """The session after other rewards of ids that have one, as if these had been told; the same if none differs."""
    ledger: Any = session.pulls
    before, expired = ledger.known(ids)
    if (none := np.isnan(before)).any():
        at = int(np.argmax(none))
        remedy = "it has expired; report its reward with tell_outside" if expired[at] else "report it with tell"
        raise ValueError(f"id = {ids[at]} has no reward yet, {remedy}")
    programs, past = session.programs, ids < ledger.first
    if past.any() and (programs.set_size is not None or (programs.kind != "batch" and programs.arm_dtype is None)):
        name = session.rule.name or "the rule"
        raise ValueError(
            f"id = {ids[past][0]}: {name} has received its reward, and takes more than the arm of a pull, so "
            "that its state cannot be computed again; begin a new session"
        )
    if (before == values).all():
        return session
    here = ids[~past] - ledger.first
    ledger = ledger.marked(here, ledger.status[here], values[~past])
    if (before[past] == values[past]).all():
        return session.but(pulls=ledger)
    return _recompute(session, ledger._replace(history=replaced(ledger.history, ids[past], values[past])))


def mark(session: Session, ids: np.ndarray, status: int) -> Session:
    """The session with another status of some pending pulls."""
    ledger: Any = session.pulls
    values, expired = ledger.known(ids)
    if (wrong := ~np.isnan(values) | expired).any():
        at = int(np.argmax(wrong))
        reason = "has expired" if expired[at] else "already has a reward"
        raise ValueError(f"id = {ids[at]} {reason}, must be one that is pending")
    return enter(session, ledger.marked(ids - ledger.first, status))


def require_needless(session: Session, ids: np.ndarray) -> None:
    """Raise a ValueError if the rule needs the reward of one of these pulls, because it is in its plan."""
    ledger: Any = session.pulls
    if session.programs.kind != "batch" or session.stopped:
        return
    alive, here = session.survivors, ids[ids >= ledger.first]
    needed = np.ones(len(here), bool)
    if alive is not None and session.programs.set_size is None:
        needed = alive[ledger.actions[here - ledger.first]]
    if needed.any():
        name = session.rule.name or "the rule"
        raise ValueError(
            f"id = {here[needed][0]}: {name} needs the rewards of its whole plan; give it to withdraw, "
            "so that ask returns it again, or tell a number in its place"
        )


def enter(session: Session, ledger: Ledger) -> Session:
    """The session with this ledger, whose first pulls that need no further answer enter the totals and the rule."""
    waiting = ledger.waiting
    n = int(waiting[0]) if len(waiting) else len(ledger.status)
    if not n:
        return session.but(pulls=ledger)
    arms, values = arms_of(ledger, ledger.actions[:n]), ledger.values[:n]
    if ledger.has(EXPIRED):
        known = ledger.status[:n] != EXPIRED
        arms, values = arms[known], values[known]
    session = session.but(totals=with_rewards(session.totals, arms, values))
    return (_feed_choices if ledger.plan is None else _feed_plans)(session, ledger.after_entry(n))


def _recompute(session: Session, ledger: Ledger) -> Session:
    """The session with its totals and the state of its rule computed again from all rewards that have entered."""
    arms, values = ledger.rows()
    known, (_, decision) = ~np.isnan(values), session.programs.begin(session.seed, session.run)
    totals = with_rewards(no_totals(session.num_arms), arms[known], values[known])
    fresh = session.but(totals=totals, state=decision.state, stopped=decision.stopped, pulls=ledger)
    if ledger.plan is None:
        return _after(fresh, None if fresh.stopped else _updates(fresh, ledger, 0, ledger.given, ()))
    known[array_of(ledger.outside, np.int64)] = False
    plan = ledger._replace(plan=plan_of(decision), spare=arms[known], spare_values=values[known])
    return _feed_plans(fresh.but(round=1), plan)


def _feed_plans(session: Session, ledger: Ledger) -> Session:
    """The session after its rule has received every plan that the rewards cover."""
    state, stopped, played = session.state, session.stopped, 0
    plan, spare, values = ledger.plan, ledger.spare, ledger.spare_values
    while not stopped:
        counts = counts_of(plan)
        if (np.bincount(spare, minlength=len(counts)) < counts).any():
            break
        used = earlier(spare) < counts[spare]
        sums, squares = np.zeros((2, len(counts)))
        np.add.at(sums, spare[used], values[used])  # one after the other, in the order of ids
        np.add.at(squares, spare[used], values[used] * values[used])
        decision = session.programs.absorb(state, plan, sums, squares)
        state, stopped, plan, played = decision.state, decision.stopped, plan_of(decision), played + 1
        spare, values = spare[~used], values[~used]
    ledger = ledger._replace(plan=plan, spare=spare, spare_values=values)
    return session.but(state=state, stopped=stopped, round=session.round + played, pulls=ledger)


def _feed_choices(session: Session, ledger: Ledger) -> Session:
    """The session after its rule has received the rewards of the pulls that it chose, if they are due."""
    programs, chosen = session.programs, len(ledger.choices)
    if ledger.first < ledger.given + chosen and not session.stopped:
        if not programs.each_asks:
            return session.but(pulls=ledger)
        chosen = ledger.first - ledger.given
    start, stop, round, rounds = ledger.given, ledger.first, session.round, ledger.rounds
    if programs.arm_dtype is not None:  # a pull that was told from outside has its id after those that were chosen
        round += stop - start - chosen
        these = [*ledger.choice_rounds[:chosen], *range(session.round, round)]
        rounds = longer(rounds, np.array(these, np.int32))
    choices, choice_rounds = ledger.choices[chosen:], ledger.choice_rounds[chosen:]
    given = ledger._replace(given=stop, rounds=rounds, choices=choices, choice_rounds=choice_rounds)
    decision = None if session.stopped else _updates(session, given, start, stop, ledger.choices[:chosen])
    return _after(session, decision, round=round, pulls=given)


def _updates(session: Session, ledger: Ledger, start: int, stop: int, choices: tuple) -> Decision | None:
    """The rule after the rewards of the ids from `start` to `stop` - 1, one by one until it stops; None without any."""
    programs, state, decision = session.programs, session.state, None
    values, rest = between(ledger.history, start, stop).tolist(), start + len(choices)
    rounds = arms = []
    if programs.arm_dtype is None:
        values = values[: len(choices)]  # without pulls that were told from outside, which it cannot take
    elif rest < stop:
        rounds, arms = (between(of, rest, stop).astype(int).tolist() for of in (ledger.rounds, ledger.arms))
    for i, value in enumerate(values):
        if value != value:  # NaN, of a pull that expired
            continue
        if i < len(choices):
            choice: Any = choices[i]
        else:
            at = i - len(choices)
            choice = programs.with_arm(session.words, rounds[at], state, arms[at])
        decision = programs.update(state, None, choice, value)
        state = decision.state
        if decision.stopped:
            break  # the rule does not need the remaining ones
    return decision


def _after(session: Session, decision: Decision | None, **changes: Any) -> Session:
    """The session after what its rule has decided, with other values of some fields."""
    if decision is None:
        return session.but(**changes)
    return session.but(state=decision.state, stopped=decision.stopped, **changes)
