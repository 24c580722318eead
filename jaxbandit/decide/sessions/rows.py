"""The rows of a session as logged data."""

import numpy as np

from jaxbandit.base.contract import Choice, Offer, action_of
from jaxbandit.decide.logs.log import Log
from jaxbandit.decide.logs.read_log import read_log
from jaxbandit.decide.sessions.asks import Asks, Told, stack
from jaxbandit.decide.sessions.context_programs import shares
from jaxbandit.decide.sessions.rule_programs import RulePrograms

MOST_DRAWS = 10**6


def rows_of(
    programs: RulePrograms,
    run: tuple[int, int],
    asks: Asks,
    rewards: tuple[float, float],
    least_propensity: float | None,
    draws: int | None,
) -> Log:
    """Return the asks that have a reward, in order of ids; the arguments are those of `Session.log`."""
    told = sorted(asks.told, key=lambda row: row.id)
    name = programs.algorithm.name or "the rule"
    if len(told) < 2:
        raise ValueError(f"{len(told)} asks have a reward, must be at least 2")
    if programs.set_size is not None:
        raise ValueError(f"{name} acts on sets of arms, must act on single arms")
    told = _with_offers(told, programs.num_arms)
    rows = stack(told)
    given = rows.context.features if isinstance(rows.context, Offer) else rows.context
    if given is not None and not isinstance(given, np.ndarray):
        raise ValueError(f"the contexts of {name} are made of several arrays, must be one array each")
    info = rows.choice.info if isinstance(rows.choice, Choice) else None
    propensity = getattr(info, "probability", None)
    if propensity is None and draws is not None:
        if not programs.draws:
            raise ValueError(f"propensity_draws = {draws}, must be left out: {name} is deterministic")
        propensity = _estimated(programs, run, list(asks.told), told, draws)
    return read_log(
        action=np.asarray(action_of(rows.choice)),
        reward=rows.reward,
        context=given,
        propensity=propensity,
        available=rows.context.available if isinstance(rows.context, Offer) else None,
        num_arms=programs.num_arms,
        rewards=rewards,
        least_propensity=least_propensity,
        adaptive=True,
        estimated=propensity is not None and getattr(info, "probability", None) is None,
    )


def _with_offers(told: list[Told], num_arms: int) -> list[Told]:
    """The rows with an `Offer` in each, if there is one in some because arms were closed."""
    if not any(isinstance(row.context, Offer) for row in told):
        return told
    every = np.ones(num_arms, bool)
    given = (row.context if isinstance(row.context, Offer) else Offer(every, row.context) for row in told)
    return [row._replace(context=Offer(*context)) for row, context in zip(told, given, strict=True)]


def _estimated(
    programs: RulePrograms, run: tuple[int, int], told: list[Told], rows: list[Told], draws: int
) -> np.ndarray:
    """The share of the actions of the rows among so many fresh draws and the action; the rule is played again.

    `told` has them in the order of telling, and `rows` in that of ids.
    """
    decision, entered, ids = programs.begin(*run)[1], 0, np.array([row.id for row in rows])
    # Rewards that had been told before each ask.
    known = np.searchsorted([row.asks for row in told], ids, side="right")
    found = np.empty(len(rows))
    for number in np.unique(known).tolist():
        while entered < number and not decision.stopped:
            row = told[entered]
            decision = programs.update(decision.state, row.context, row.choice, row.reward)
            entered += 1
        here = np.flatnonzero(known == number)
        given = stack([(rows[i].context, rows[i].choice) for i in here.tolist()])
        found[here] = shares(programs, run, ids[here], decision.state, given, draws)
    return (found + 1) / (draws + 1)
