"""Pulls that a rule chooses one by one, from its current state."""

from dataclasses import replace

import numpy as np

from jaxbandit.base.contract import action_of
from jaxbandit.decide.sessions.pulls import WAITS
from jaxbandit.decide.sessions.session import Session

MOST_DRAWS = 10_000  # draws of a rule in a row that may fall on closed arms


def with_choices(session: Session, number: int) -> Session:
    """The session after choosing `number` pulls from the rule's current state."""
    programs, batch = session.programs, session.batch
    round, choices, actions, rounds, misses = session.round, [], [], [], 0
    while len(choices) < number:
        choice = programs.select(session.words, round, session.state, None)
        round, action = round + 1, np.asarray(action_of(choice))
        if session.closed.any() and session.closed[action]:
            misses += 1
            if misses == MOST_DRAWS:
                name = session.rule.name or "the rule"
                raise ValueError(f"ask: {name} drew closed arms {misses:,} times in a row; open them, or an arm more")
            continue
        misses = 0
        choices.append(choice)
        actions.append(action)
        rounds.append(round - 1)
    rounds = np.concatenate([batch.rounds, np.array(rounds, np.int64)])
    batch = batch._replace(choices=(*batch.choices, *choices), rounds=rounds)
    new = np.stack(actions)
    batch = batch.more(new, WAITS)
    if programs.set_size is None:
        batch = batch._replace(asked=batch.asked + np.bincount(new, minlength=session.num_arms))
    return replace(session, round=round, batch=batch)
