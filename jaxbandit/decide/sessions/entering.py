"""How rewards enter a session: the totals in the order of ids, and the rule when it can go on with them.

A rule that plans batches receives the next rewards of each arm, in the order of their indices, as soon as they cover
its plan. So its state is a function of the rewards by (arm, index) alone: not of the order in which they arrive, nor of
how many pulls were asked for ahead of the plan.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from jaxbandit.decide.sessions.pulls import EXPIRED, OUTSIDE, arms_of, plan_of
from jaxbandit.decide.sessions.rewards import earlier, joined, longer, values_of, with_rewards
from jaxbandit.decide.sessions.rule_programs import Decision, counts_of
from jaxbandit.decide.sessions.session import Session


def entered(session: Session) -> Session:
    """The session in which the first open pulls that need no further answer have entered the totals and the rule."""
    batch = session.batch
    waiting = batch.waiting
    n = int(waiting[0]) if len(waiting) else len(batch.status)
    if not n:
        return session
    actions, status, values = batch.actions[:n], batch.status[:n], batch.values[:n]
    arms, known = arms_of(batch, actions), status != EXPIRED
    single = arms.dtype != bool
    planned = known & (status != OUTSIDE) & (batch.plan is not None)
    rest = batch._replace(
        first=batch.first + n,
        expired=batch.expired + int(n - known.sum()),
        actions=batch.actions[n:],
        status=batch.status[n:],
        values=batch.values[n:],
        spare=np.concatenate([batch.spare, actions[planned].astype(np.int32)]) if planned.any() else batch.spare,
        spare_values=np.concatenate([batch.spare_values, values[planned]]),
    )
    session = replace(
        session,
        batch=rest,
        totals=with_rewards(session.totals, arms[known], values[known]),
        history=longer(session.history, values),
        arms=longer(session.arms, arms.astype(np.int32)) if single else session.arms,
        outside=longer(session.outside, batch.first + np.flatnonzero(status == OUTSIDE)),
    )
    return absorbed(session) if batch.plan is not None else _updated(session)


def absorbed(session: Session) -> Session:
    """The session after its rule has received every plan that the rewards cover."""
    programs, batch = session.programs, session.batch
    state, stopped, played = session.state, session.stopped, 0
    plan, spare, values = batch.plan, batch.spare, batch.spare_values
    while not stopped:
        counts = counts_of(plan)
        if (np.bincount(spare, minlength=len(counts)) < counts).any():
            break
        used = earlier(spare) < counts[spare]
        sums, squares = np.zeros((2, len(counts)))
        np.add.at(sums, spare[used], values[used])  # one after the other, in the order of ids
        np.add.at(squares, spare[used], values[used] * values[used])
        decision = programs.absorb(state, plan, sums, squares)
        state, stopped, plan, played = decision.state, bool(decision.stopped), plan_of(decision), played + 1
        spare, values = spare[~used], values[~used]
    batch = batch._replace(plan=plan, spare=spare, spare_values=values)
    return replace(session, state=state, stopped=stopped, round=session.round + played, batch=batch)


def _updated(session: Session) -> Session:
    """The session after its rule has received the rewards of the pulls that it chose, once all have entered.

    A rule whose visitors do not wait for each other receives those that have entered.
    """
    batch, programs = session.batch, session.programs
    chosen = len(batch.choices)
    if batch.first < batch.given + chosen and not session.stopped:
        if not programs.each_asks:
            return session
        chosen = batch.first - batch.given
    ids = np.arange(batch.given, batch.first, dtype=np.int64)
    rounds, after = batch.rounds[:chosen], session.round
    if programs.arm_dtype is not None:  # a pull that was told from outside has its id after those that were chosen
        after += len(ids) - chosen
        rounds = np.concatenate([rounds, np.arange(session.round, after)])
        session = replace(session, round=after, rounds=longer(session.rounds, rounds.astype(np.int32)))
    decision = None if session.stopped else folded(session, session.state, ids, batch.choices[:chosen])
    given = batch._replace(given=batch.first, choices=batch.choices[chosen:], rounds=batch.rounds[chosen:])
    session = replace(session, batch=given)
    return session if decision is None else replace(session, state=decision.state, stopped=bool(decision.stopped))


def folded(session: Session, state: Any, ids: np.ndarray, choices: tuple) -> Decision | None:
    """The rule after the rewards of these pulls, one after the other until it stops; None if it received none.

    Args:
      session: the session, whose history has the rewards.
      state: the state of the rule before them.
      ids: int64[n], ids of the pulls.
      choices: what `select` returned for the first of them; of the others the arm is known, and the round.
    """
    programs, decision = session.programs, None
    values, arms = values_of(session.history, ids), values_of(session.arms, ids) if session.arms else ids
    rounds = values_of(session.rounds, ids) if session.rounds else ids
    for i, value in enumerate(values.tolist()):
        if np.isnan(value) or (i >= len(choices) and programs.arm_dtype is None):
            continue
        if i < len(choices):
            choice = choices[i]
        else:
            choice = programs.with_arm(session.words, int(rounds[i]), state, int(arms[i]))
        decision = programs.update(state, None, choice, value)
        state = decision.state
        if bool(decision.stopped):
            break  # the rule does not need the remaining ones
    return decision


def again(session: Session) -> Session:
    """The session with its totals and the state of its rule computed again from all rewards that have entered."""
    programs, batch = session.programs, session.batch
    ids = np.arange(batch.first, dtype=np.int64)
    arms, values = values_of(session.arms, ids).astype(np.int32), values_of(session.history, ids)
    known, (_, decision) = ~np.isnan(values), programs.begin(session.seed, session.run)
    totals = with_rewards(session.no_totals, arms[known], values[known])
    fresh = replace(session, totals=totals, state=decision.state, stopped=bool(decision.stopped))
    if batch.plan is None:
        last = None if fresh.stopped else folded(session, fresh.state, ids[: batch.given], ())
        decision = decision if last is None else last
        return replace(fresh, state=decision.state, stopped=bool(decision.stopped))
    known[joined(session.outside, np.int64)] = False
    plan = batch._replace(plan=plan_of(decision), spare=arms[known], spare_values=values[known])
    return absorbed(replace(fresh, round=1, batch=plan))
