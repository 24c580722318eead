"""The rows of a session as logged data."""

import numpy as np

from jaxbandit.base.contract import Choice, Offer, action_of
from jaxbandit.decide.logs.log import Log
from jaxbandit.decide.logs.read_log import read_log
from jaxbandit.decide.sessions.asks import Asks, Told, some, whole
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
    told = whole(asks.told)
    name = programs.algorithm.name or "the rule"
    if told is None or len(told.id) < 2:
        raise ValueError(f"{asks.num_told} asks have a reward, must be at least 2")
    if programs.set_size is not None:
        raise ValueError(f"{name} acts on sets of arms, must act on single arms")
    order = np.argsort(told.id)
    rows = some(told, order)
    given = rows.context.features if isinstance(rows.context, Offer) else rows.context
    if given is not None and not isinstance(given, np.ndarray):
        raise ValueError(f"the contexts of {name} are made of several arrays, must be one array each")
    info = rows.choice.info if isinstance(rows.choice, Choice) else None
    propensity = getattr(info, "probability", None)
    if propensity is None and draws is not None:
        if not programs.draws:
            raise ValueError(f"propensity_draws = {draws}, must be left out: {name} is deterministic")
        propensity = _estimated(programs, run, told, order, draws)
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


def _estimated(programs: RulePrograms, run: tuple[int, int], told: Told, order: np.ndarray, draws: int) -> np.ndarray:
    """The share of the actions of the asks among so many fresh draws and the action; the rule is played again."""
    decision, entered = programs.begin(*run)[1], 0
    known = np.searchsorted(told.asks, told.id[order], side="right")  # rewards that had been told before each ask
    found = np.empty(len(order))
    for number in np.unique(known).tolist():
        while entered < number and not bool(decision.stopped):
            context, choice = some((told.context, told.choice), entered)
            decision = programs.update(decision.state, context, choice, float(told.reward[entered]))
            entered += 1
        here = order[known == number]
        rows = some((told.context, told.choice), here)
        found[known == number] = shares(programs, run, told.id[here], decision.state, rows, draws)
    return (found + 1) / (draws + 1)
