"""Sessions, in which an algorithm decides about real rewards through an ask-and-tell interface.

A session is an immutable value: `ask`, `tell` and `withdraw` return the next one. It is a function of (rule, seed,
run), of the opened batches, and of the reward reported for each id. The algorithm receives a batch when all its rewards
are reported, in the order of ids, so that nothing depends on the order in which rewards arrive.
"""

from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np

from jaxbandit.base import checks
from jaxbandit.base.contract import Algorithm, action_of
from jaxbandit.base.types import Key, PyTree
from jaxbandit.decide.sessions import session_view, told
from jaxbandit.decide.sessions.decisions import Decisions, decisions_of
from jaxbandit.decide.sessions.opened import Opened, Pulls, actions_at, checked_context, opened_of, pulls_at, untold
from jaxbandit.decide.sessions.told import History, Totals
from jaxbandit.engine.rounds import fit, keys

LIMIT = 1024  # default of `ask` for the number of pulls of a batch


@dataclass(frozen=True, eq=False)
class Session:
    """One run with an ask-and-tell interface, as returned by `session`. It is immutable.

    It is a registered pytree, whose static part holds the rule with its compiled functions, the seed and the options.
    """

    decisions: Decisions
    seed: int
    run: int
    paired: bool
    on_failure: float | None
    words: np.ndarray  # uint32[words], key words of the algorithm's random draws
    state: PyTree  # the algorithm's state when the open batch was opened
    stopped: bool
    round: int  # number of the next choice, or of the next batch, counted from 1
    opened: Opened
    totals: Totals
    history: History

    @property
    def rule(self) -> Algorithm:
        """The algorithm of the session."""
        return self.decisions.algorithm

    @property
    def num_arms(self) -> int:
        """Number of arms."""
        return self.decisions.num_arms

    @property
    def recommendation(self) -> np.ndarray | None:
        """The m arms that the rule currently recommends, int32[m]; None if it recommends none, as with contexts."""
        return self.decisions.recommendation(self.state)

    @property
    def survivors(self) -> np.ndarray | None:
        """The arms that have not been eliminated, bool[num_arms]; None if the rule eliminates none."""
        return self.decisions.survivors(self.state)

    @property
    def counts(self) -> np.ndarray:
        """Number of pulls of each arm before the first pull without a reward, in order of ids, int64[num_arms]."""
        return self.totals.counts.copy()

    @property
    def num_told(self) -> int:
        """Number of pulls whose rewards have been reported."""
        return self.opened.first + self.opened.entered + len(self.opened.later)

    @property
    def pending(self) -> np.ndarray:
        """Ids of the pulls that were asked for and neither have a reward nor were withdrawn, int64[...]."""
        return self.opened.first + np.setdiff1d(untold(self.opened), self.opened.withdrawn, assume_unique=True)

    def __repr__(self) -> str:
        return session_view.line(self)

    def _repr_html_(self) -> str:
        return session_view.table(self)


STATIC = ("decisions", "seed", "run", "paired", "on_failure")
ARRAYS = ("words", "state", "stopped", "round", "opened", "totals", "history")
jax.tree_util.register_dataclass(Session, ARRAYS, STATIC)


def session(
    rule: Algorithm, *, seed: int = 0, run: int = 0, paired: bool = False, on_failure: float | None = None
) -> Session:
    """Return the session of a rule before its first pull.

    The rule's random draws are those of run `run` of `simulate` and `identify` with this seed. If the session is told
    the rewards that they draw in float64, it takes the same actions. It always computes in float64.

    Args:
      rule: any Algorithm whose rewards are single numbers, with or without a guarantee.
      seed: seed of the rule's random draws and of `pull_keys`, in [0, 2^32).
      run: index of the run of that seed, >= 0.
      paired: whether `pull_keys` gives all arms the same key at the same index (common random numbers).
      on_failure: the number that replaces a NaN or infinite reward. With None, such a reward raises an error.

    Returns:
      A Session.

    Raises:
      ValueError: an argument is out of range, or the rule cannot be used in a session.
    """
    seed = checks.integer("session", "seed", seed, 0, 2**32 - 1)
    run = checks.integer("session", "run", run, 0, 2**31 - 1)
    decisions = decisions_of(rule)
    if rule.arms is not None and rule.arms.members:
        raise ValueError(
            f"session: {rule.name or 'the rule'} expects the reward of each member of a set, but a session takes one "
            "number per pull; give a rule for single arms, or for sums"
        )
    if on_failure is not None:
        low, high = fit.limits(rule.rewards)
        on_failure = float(checks.number("session", "on_failure", on_failure, low=low, high=high))
    if paired and decisions.set_size is not None:
        raise ValueError("session: paired = True, must be False: pulls of sets of arms cannot share random draws")
    words, looked = decisions.begin(seed, run)
    totals = told.no_totals(decisions.num_arms)
    state, stopped, opened = opened_of(looked, 0, totals.counts)
    static = decisions, seed, run, bool(paired), on_failure
    return Session(*static, words, state, stopped, 1, opened, totals, ())


def ask(session: Session, *, limit: int | None = None, context: PyTree = None) -> tuple[Session, Pulls]:
    """Return the next session and the pulls to make now: first those without a reward, in order of ids, then new ones.

    A rule that plans batches returns the rest of its batch; the next batch begins when all rewards of this one are
    reported. A rule that draws at random, such as `thompson`, returns `limit` independent draws from its current
    state and receives their rewards together. A deterministic rule decides on one pull at a time, whatever the limit.

    Args:
      session: the current session.
      limit: largest number of pulls, >= 1. Default: 1024 for a batch, and 1 for a rule that draws at random.
      context: the context of a contextual rule, int32[] in [0, num_contexts) or whatever the rule takes. None for
        other rules, and while rewards of earlier pulls are missing.

    Returns:
      The next session, and the pulls, of which there are none once the rule has stopped.

    Raises:
      ValueError: an argument is out of range, or a context is missing or superfluous.
    """
    decisions = session.decisions
    most = checks.integer("ask", "limit", LIMIT if limit is None else limit, 1, 2**31 - 1)
    waits = session.opened.size > 0 and decisions.kind != "batch"
    context = checked_context(decisions, session.opened, session.stopped, context)
    if session.stopped:
        return session, _pulls(session, np.zeros(0, np.int64))
    if decisions.kind != "batch" and not waits:
        session = _with_choices(session, most if limit is not None and decisions.kind == "draws" else 1, context)
    opened = session.opened
    waiting = untold(opened)[:most]
    more = np.arange(opened.issued, min(opened.size, opened.issued + most - len(waiting)), dtype=np.int64)
    positions = np.concatenate([waiting, more])
    kept = np.setdiff1d(opened.withdrawn, positions, assume_unique=True)
    session = replace(session, opened=opened._replace(issued=opened.issued + len(more), withdrawn=kept))
    return session, _pulls(session, positions)


def tell(session: Session, ids: Any, rewards: Any) -> Session:
    """Return the next session, which has received the rewards of some of the pulls, in any order.

    Args:
      session: the current session.
      ids: ids of the pulls, int[n] or a single one. An id whose reward is already known is ignored if the reward is
        the same.
      rewards: their rewards, float[n] or a single one.

    Returns:
      The next session.

    Raises:
      ValueError: an id was not asked for, a reward is not finite or is outside the range for which the rule is
        designed, or it differs from an earlier reward with the same id. The message names the id.
    """
    opened = session.opened
    ids, values = told.checked(ids, rewards, session.on_failure, *fit.limits(session.rule.rewards))
    told.require_asked("tell", ids, opened.first + opened.issued)
    ids, values = told.new(ids, values, session.history, opened.first, opened.later, opened.values)
    if not len(ids):
        return session
    later = np.concatenate([opened.later, ids - opened.first])
    order = np.argsort(later)
    later, values = later[order], np.concatenate([opened.values, values])[order]
    gaps = np.flatnonzero(later != opened.entered + np.arange(len(later)))
    ready = int(gaps[0]) if len(gaps) else len(later)
    withdrawn = np.setdiff1d(opened.withdrawn, later, assume_unique=True)
    opened = opened._replace(later=later[ready:], values=values[ready:], withdrawn=withdrawn)
    session = replace(session, opened=opened)
    return _entered(session, values[:ready]) if ready else session


def withdraw(session: Session, ids: Any) -> Session:
    """Return the session without some pending pulls, which `ask` returns again with the same ids and keys.

    Args:
      session: the current session.
      ids: ids of pulls that were asked for and have no reward yet, int[n] or a single one.

    Returns:
      The next session.

    Raises:
      ValueError: an id was not asked for or already has a reward. The message names it.
    """
    opened = session.opened
    ids = told.checked_ids("withdraw", ids)
    told.require_asked("withdraw", ids, opened.first + opened.issued)
    here = ids - opened.first
    known = (here < opened.entered) | np.isin(here, opened.later)
    if known.any():
        raise ValueError(f"withdraw: id = {ids[known][0]} already has a reward, must be one that is pending")
    return replace(session, opened=opened._replace(withdrawn=np.union1d(opened.withdrawn, here)))


def pull_keys(session: Session, pulls: Pulls) -> Key:
    """Return a PRNG key for each pull, with which to train or to simulate. The keys are the same for every call.

    The key is fold_in(fold_in(root, index), arm), or fold_in(root, index) if the session is `paired`. In the latter
    case all arms share random draws (common random numbers), which reduces the variance of their differences. `root`
    is jax.random.key(seed) for run 0, and a key of the run otherwise. If an action is a set of arms, the key is
    fold_in(root, index), where index is the id.

    Args:
      session: the session that returned the pulls.
      pulls: n pulls.

    Returns:
      Typed keys [n] of the generator threefry2x32.
    """
    shared = session.paired or session.decisions.set_size is not None
    arms = np.zeros(len(pulls.id), np.int32) if shared else pulls.arm
    return keys.pull_keys(session.seed, session.run, pulls.index, arms, shared)


def _with_choices(session: Session, number: int, context: PyTree) -> Session:
    """The session after choosing `number` pulls from the rule's current state."""
    decisions, opened = session.decisions, session.opened
    numbers = range(session.round, session.round + number)
    choices = tuple(decisions.select(session.words, t, session.state, context) for t in numbers)
    actions = np.stack([np.asarray(action_of(choice)) for choice in choices])
    opened = opened._replace(size=number, choices=choices, actions=actions, context=context)
    return replace(session, opened=opened)


def _pulls(session: Session, positions: np.ndarray) -> Pulls:
    return pulls_at(session.opened, positions, session.num_arms, session.decisions.set_size)


def chosen_again(session: Session) -> Session:
    """The session with the choices of its open batch recomputed; they are the only part that cannot be stored."""
    opened = session.opened
    if not opened.size or opened.plan is not None:
        return session
    return _with_choices(session, opened.size, opened.context)


def _entered(session: Session, values: np.ndarray) -> Session:
    """The session with further rewards in its totals, and in the rule's state if they complete the open batch."""
    opened = session.opened
    positions = np.arange(opened.entered, opened.entered + len(values), dtype=np.int64)
    actions, arms = actions_at(opened, positions)
    sums, squares = opened.sums, opened.squares
    if opened.plan is not None:
        sums, squares = sums.copy(), squares.copy()
        np.add.at(sums, actions, values)  # one after the other, in the order of ids
        np.add.at(squares, actions, values * values)
    totals = told.with_rewards(session.totals, arms, values)
    history = told.longer(session.history, values)
    opened = opened._replace(entered=opened.entered + len(values), sums=sums, squares=squares)
    session = replace(session, opened=opened, totals=totals, history=history)
    return session if opened.entered < opened.size else _decided(session)


def _decided(session: Session) -> Session:
    """The session after the rule has received all rewards of the open batch."""
    decisions, opened, state, looked = session.decisions, session.opened, session.state, None
    if opened.plan is not None:
        looked, played = decisions.absorb(state, opened.plan, opened.sums, opened.squares), 1
    else:
        end = opened.first + opened.size
        values = told.values_of(session.history, np.arange(opened.first, end, dtype=np.int64))
        played = opened.size
        for choice, value in zip(opened.choices, values, strict=True):
            looked = decisions.update(state, opened.context, choice, value)
            state = looked.state
            if opened.size > 1 and bool(looked.stopped):
                break  # the rule did not need the remaining draws
    assert looked is not None
    state, stopped, following = opened_of(looked, opened.first + opened.size, session.totals.counts)
    return replace(session, state=state, stopped=stopped, round=session.round + played, opened=following)
