"""Ask and tell: the functions that return the next session, each of which makes an event of its arguments."""

import numpy as np

from jaxbandit.decide.sessions.changes import apply, ids_before
from jaxbandit.decide.sessions.events import Event
from jaxbandit.decide.sessions.ledger import Pulls
from jaxbandit.decide.sessions.next_pulls import next_pulls
from jaxbandit.decide.sessions.session import Session
from jaxbandit.engine.rounds import keys
from jaxbandit.support import checks
from jaxbandit.support.domains import integer
from jaxbandit.support.types import ArrayLike, Key, PyTree


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
    return apply(session, Event("tell", ids, rewards=rewards))


def withdraw(session: Session, ids: ArrayLike) -> Session:
    """Return the session without some pending pulls, which `ask` returns again with the same ids and keys.

    With contexts they are forgotten, because whoever asked in that context is gone.

    Args:
      session: the current session.
      ids: ids of pulls that were asked for and have no reward yet, int[n] or a single one.

    Raises:
      ValueError: an id was not asked for, already has a reward or has expired. The message names it.
    """
    return apply(session, Event("withdraw", ids))


def expire(session: Session, ids: ArrayLike | None = None, *, before: int | None = None) -> Session:
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
        raise ValueError(f"expire: ids or before, {given}, must be one of them")
    if before is not None:
        ids = ids_before(session, checks.take("expire: before", before, integer(0, 2**62)))
    return apply(session, Event("expire", ids))


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
    return apply(session, Event("amend", ids, rewards=rewards))


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
    return apply(session, Event("outside", arms=arms, rewards=rewards))


def close_arms(session: Session, arms: ArrayLike) -> Session:
    """Return the session in which some arms are closed: no new pull of them is asked for, and none is recommended.

    A rule that draws at random (`thompson`, `epsilon_greedy`) draws again while it draws a closed arm. Pulls that were
    asked for before stay pending. The certificate still compares closed arms, so that it remains valid whenever an arm
    is closed or opened, also by looking at the rewards.

    Args:
      session: the current session.
      arms: the arms, int[n] or a single one.

    Raises:
      ValueError: an arm does not exist, no arm would be open, or the rule cannot do without it: one that plans batches
        needs the pulls of its plan, a deterministic one would insist on the same arm, and actions may be sets of arms.
    """
    return apply(session, Event("close", arms=arms))


def open_arms(session: Session, arms: ArrayLike) -> Session:
    """Return the session in which arms that `close_arms` closed are open again.

    Args:
      session: the current session.
      arms: the arms, int[n] or a single one; those that are open stay so.

    Raises:
      ValueError: an arm does not exist.
    """
    return apply(session, Event("open", arms=arms))


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
