"""What `ask` returns: the pulls that a session makes next."""

from typing import Any

import jax
import numpy as np

from jaxbandit.base.calls import checked
from jaxbandit.base.contract import action_of
from jaxbandit.decide.sessions import contextual
from jaxbandit.decide.sessions.asks import Asks
from jaxbandit.decide.sessions.events import Event, plain_column
from jaxbandit.decide.sessions.ledger import OUTSIDE, WAITS, WITHDRAWN, Ledger, Pulls, next_actions, pulls_at
from jaxbandit.decide.sessions.session import Session
from jaxbandit.engine.rounds import keys
from jaxbandit.support import checks
from jaxbandit.support.domains import INT32, integer
from jaxbandit.support.types import Key, PyTree

LIMIT = 1024  # default of `ask` for the number of pulls of a batch
MOST_AHEAD = 2**20  # most pulls that a race is asked for at once
MOST_DRAWS = 10_000  # draws of a rule in a row that may fall on closed arms


class OtherPulls(Exception):
    """The rule does not ask for the pulls of an event."""


@checked
def ask(
    session: Session, *, limit: int | None = None, context: PyTree = None, contexts: PyTree = None
) -> tuple[Session, Pulls]:
    """Return the next session and the pulls to make now: first those without a reward, in order of ids, then new ones.

    A rule that plans batches returns the rest of its plan; the next plan is made when the rewards of this one are
    known. A race (a rule that has `survivors` and neither a budget nor rare work, `replan`) returns exactly `limit`
    pulls: after the rest of its plan come those that the same plan will need if it is repeated. It receives the rewards
    of each arm in the order of the indices, plan by plan, so that its decisions and its guarantee are the same,
    whatever was asked for ahead. Rewards of arms that it eliminates meanwhile count in totals and certificate only.

    A rule that draws at random, such as `thompson`, returns a new draw from its current state at each call, unless
    pulls were withdrawn, so that visitors do not wait for each other, and receives the rewards in the order of ids, as
    far as all earlier ones have come: pulls that will have no reward hold it up until `expire` is called. With a limit
    it returns the pulls that have no reward, or, if there are none, `limit` independent draws. If what it learns from a
    pull depends on the state (`Choice.info`), or a pull was told from outside meanwhile, it draws anew only once all
    rewards have come. A deterministic rule decides on one pull at a time, whatever the limit.

    With a context, each call makes a new ask: the rule decides in its state after all rewards so far, and nobody waits.
    Each reward updates it at once, with the context and the choice of its own ask.

    Args:
      session: the current session.
      limit: largest number of pulls, >= 1. Default: the rest of the plan, at most 1024, and 1 for a rule that draws at
        random.
      context: the context of a rule that takes one, as its `Arms` declare it: floats, cast to float64, the index of an
        action set, or an `Offer` with the arms that are available. An `Offer` is also taken by rules that can do
        without, from the first ask of a session on. A rule that declares no context may take arrays of any form, the
        same in each ask. With a limit, a rule that draws at random draws so often. None for other rules; with
        contexts, None returns the asks that are open.
      contexts: in place of `context`: n contexts, arrays with a leading axis. They are n asks in one state.

    Returns:
      The next session, and the pulls, of which there are none once the rule has stopped.

    Raises:
      ValueError: an argument is out of range, a context is missing or superfluous, a rule that draws at random insists
        on closed arms, or the rule has no room for so many pulls (`Algorithm.length`).
    """
    return next_pulls(session, Event("ask", limit=limit, context=context, contexts=contexts))


def next_pulls(session: Session, event: Event) -> tuple[Session, Pulls]:
    """Return the session after an event "ask", the same one if there is nothing new, and the pulls to make now.

    It raises OtherPulls if the event says which arms are asked for, and the rule asks for others.
    """
    limit, context, contexts = event.limit, event.context, event.contexts
    most = LIMIT if limit is None else checks.take("limit", limit, integer(1, INT32))
    before = contextual.begun(session, context, contexts)
    ledger, draws = before.pulls, before.programs.kind == "draws"
    fresh = draws and (isinstance(ledger, Asks) or not ledger.choices)
    if event.arms is not None and fresh and limit not in (None, len(event.arms)):
        raise OtherPulls  # before as many are drawn as a damaged limit says
    if isinstance(ledger, Asks):
        after, pulls = contextual.ask(before, ledger, limit, context, contexts)
    else:
        if event.contextual:
            given = f"context = {context!r}" if contexts is None else f"contexts = {contexts!r}"
            raise ValueError(f"{given}, must be left out: {session.rule.name or 'the rule'} does not use contexts")
        after, pulls = _in_order(before, ledger, limit, most)
    if (length := session.rule.length) is not None and after.end > length:
        name = session.rule.name or "the rule"
        raise ValueError(
            f"{name} keeps the rewards of {length} pulls, and this would be pull {after.end}; make it with a "
            "longer horizon"
        )
    new = pulls.arm[pulls.id >= before.end]
    if event.arms is not None and plain_column(new) != event.arms:
        raise OtherPulls
    if after is before:
        return session, pulls
    ids, kept = np.arange(before.end, after.end), (context, contexts)
    if event.contextual:
        kept = jax.tree.map(_copy_of, kept)
    return after.with_event(Event("ask", ids, new, None, None if limit is None else int(limit), *kept)), pulls


def _copy_of(x: Any) -> Any:
    """A number, or an array that its owner cannot change any more."""
    return x if type(x) in (bool, int, float) else np.array(x)


def _in_order(session: Session, ledger: Ledger, limit: int | None, most: int) -> tuple[Session, Pulls]:
    """The session, the same one if nothing is new, and its pulls if there are no contexts."""
    programs, before = session.programs, ledger
    form = session.num_arms, programs.set_size, bool(session.closed.any())
    if session.stopped:
        return session, pulls_at(ledger, np.zeros(0, np.int64), *form)
    # Pulls that were told from outside have ids after those of all choices.
    alone = limit is None and programs.each_asks and not ledger.has(OUTSIDE)
    back = alone and ledger.has(WITHDRAWN)
    if programs.kind != "batch" and ((alone and not back) or not ledger.choices):
        number = most if limit is not None and programs.kind == "draws" else 1
        session, ledger = _with_choices(session, ledger, number)
    waiting = ledger.waiting[:most]
    if alone:
        waiting = np.flatnonzero(ledger.status == WITHDRAWN)[:1] if back else ledger.waiting[-1:]
    if programs.kind == "batch" and len(waiting) < most:
        ahead = limit is not None and programs.repeats
        if ahead and most > MOST_AHEAD:
            name = session.rule.name or "the rule"
            raise ValueError(
                f"limit = {most}, must be at most {MOST_AHEAD}, because {name} returns as many pulls as it is "
                "asked for; leave it out for the pulls that it needs next"
            )
        if len(actions := next_actions(ledger, most - len(waiting), ahead)):
            waiting = np.concatenate([waiting, len(ledger.status) + np.arange(len(actions))])
            ledger = ledger.asked_for(actions, programs.set_size is None)
    if ledger.has(WITHDRAWN) and len(again := waiting[ledger.status[waiting] == WITHDRAWN]):
        ledger = ledger.marked(again, WAITS)
    session = session if ledger is before else session.but(pulls=ledger)
    return session, pulls_at(ledger, waiting, *form)


def _with_choices(session: Session, ledger: Ledger, number: int) -> tuple[Session, Ledger]:
    """The session and its ledger after choosing `number` pulls from the rule's current state."""
    programs, round, choices, actions, rounds, misses = session.programs, session.round, [], [], [], 0
    while len(choices) < number:
        choice = programs.select(session.words, round, session.state, None)
        round, action = round + 1, np.asarray(action_of(choice))
        if programs.set_size is None and session.closed[action]:
            misses += 1
            if misses == MOST_DRAWS:
                name = session.rule.name or "the rule"
                raise ValueError(f"{name} drew closed arms {misses:,} times in a row; open them, or an arm more")
            continue
        misses = 0
        choices.append(choice)
        actions.append(action)
        rounds.append(round - 1)
    made = {"choices": (*ledger.choices, *choices), "choice_rounds": (*ledger.choice_rounds, *rounds)}
    return session.but(round=round), ledger.asked_for(np.array(actions), programs.set_size is None, **made)


def pull_keys(session: Session, pulls: Pulls) -> Key:
    """Return one PRNG key per pull, for the training run or simulation that computes its reward.

    Every call returns the same keys: fold_in(fold_in(root, index), arm), or fold_in(root, index) if the session is
    `paired`, so that all arms share random draws (common random numbers). `root` is jax.random.key(seed) for run 0, and
    a key of the run otherwise. If an action is a set of arms, the key is fold_in(root, index), where index is the id.

    Args:
      session: the session that returned the pulls.
      pulls: n pulls.

    Returns:
      Typed keys [n] of the generator threefry2x32.
    """
    shared = session.paired or session.programs.set_size is not None
    arms = np.zeros(len(pulls.id), np.int32) if shared else pulls.arm
    return keys.pull_keys(session.seed, session.run, pulls.index, arms, shared)
