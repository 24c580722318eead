"""Ask and tell: which pulls a session makes next, and what it does with their rewards.

Each function returns the next session. Nothing depends on the order in which rewards arrive: `entering.py`.
"""

from dataclasses import replace

import numpy as np

from jaxbandit.decide.sessions import contextual
from jaxbandit.decide.sessions.choosing import with_choices
from jaxbandit.decide.sessions.entering import entered
from jaxbandit.decide.sessions.pulls import EXPIRED, OUTSIDE, TOLD, WAITS, WITHDRAWN, Pulls, next_actions, pulls_at
from jaxbandit.decide.sessions.rewards import check_ids, check_rewards, each_once, require_asked, same, values_of
from jaxbandit.decide.sessions.session import Session
from jaxbandit.engine.rounds import fit, keys
from jaxbandit.support import checks
from jaxbandit.support.types import ArrayLike, Key, PyTree

LIMIT = 1024  # default of `ask` for the number of pulls of a batch
MOST_AHEAD = 2**20  # most pulls that a race is asked for at once


def ask(
    session: Session, *, limit: int | None = None, context: PyTree = None, contexts: PyTree = None
) -> tuple[Session, Pulls]:
    """Return the next session and the pulls to make now: first those without a reward, in order of ids, then new ones.

    A rule that draws at random returns a new one at each call, unless a limit is given or pulls were withdrawn.

    A rule that plans batches returns the rest of its plan; the next plan is made when the rewards of this one are
    known. A race returns exactly `limit` pulls, which fill a plate or all workers: after the rest of its plan come
    those that the same plan will need if it is repeated, spread over the survivors. The race receives the rewards of
    each arm in the order of the indices, plan by plan, as if it had asked for no more than its plan. So its decisions
    and its guarantee are the same, whatever was asked for ahead; only pulls of arms that it eliminates meanwhile are
    spent in vain. Their rewards are in the totals and in the certificate, and are not given to the rule. A race is a
    rule that has `survivors` and neither a budget nor rare work (`replan`). Sequential halving, for example, is none,
    because its next plan is another one that depends on the results of this one, and its budget counts every pull.

    A rule that draws at random, such as `thompson`, returns a new draw from its current state at each call, so that
    visitors do not wait for each other, and receives the rewards in the order of ids, as far as all earlier ones have
    come: pulls that will have no reward hold it up until `expire` is called. With a limit it returns the pulls that
    have no reward, or, if there are none, `limit` independent draws. If what it learns from a pull depends on the state
    (`Choice.info`), or a pull was told from outside meanwhile, it draws anew only once all rewards have come. A
    deterministic rule decides on one pull at a time, whatever the limit.

    With a context, each call makes a new ask: the rule decides in its state after all rewards so far, whichever asks
    are open, and nobody waits. Each reward updates it at once, with the context and the choice of its own ask.

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
    programs, batch = session.programs, session.batch
    most = checks.integer("ask", "limit", LIMIT if limit is None else limit, 1, 2**31 - 1)
    session = contextual.begun(session, context, contexts)
    if session.asks is not None:
        return _within_length(*contextual.ask(session, session.asks, limit, context, contexts))
    if context is not None or contexts is not None:
        given = f"context = {context!r}" if contexts is None else f"contexts = {contexts!r}"
        raise ValueError(f"ask: {given}, must be left out: {session.rule.name or 'the rule'} does not use contexts")
    if session.stopped:
        return session, _pulls(session, np.zeros(0, np.int64))
    # Pulls that were told from outside have ids after those of all choices.
    alone = limit is None and programs.each_asks and OUTSIDE not in batch.status
    back = alone and WITHDRAWN in batch.status
    if programs.kind != "batch" and ((alone and not back) or not batch.choices):
        session = with_choices(session, most if limit is not None and programs.kind == "draws" else 1)
        batch = session.batch
    waiting = batch.waiting[:most]
    if alone:
        waiting = np.flatnonzero(batch.status == WITHDRAWN)[:1] if back else batch.waiting[-1:]
    if programs.kind == "batch" and len(waiting) < most:
        ahead = limit is not None and programs.repeats
        if ahead and most > MOST_AHEAD:
            name = session.rule.name or "the rule"
            raise ValueError(
                f"ask: limit = {most}, must be at most {MOST_AHEAD}, because {name} returns as many pulls as it is "
                "asked for; leave it out for the pulls that it needs next"
            )
        actions = next_actions(batch, most - len(waiting), ahead)
        waiting = np.concatenate([waiting, len(batch.status) + np.arange(len(actions))])
        batch = batch.more(actions, WAITS)
        if programs.set_size is None:
            batch = batch._replace(asked=batch.asked + np.bincount(actions, minlength=session.num_arms))
    status = batch.status.copy()
    status[waiting] = WAITS
    session = replace(session, batch=batch._replace(status=status))
    return _within_length(session, _pulls(session, waiting))


def _within_length(session: Session, pulls: Pulls) -> tuple[Session, Pulls]:
    """Return both; raise if there are more pulls than the rule has room for."""
    if (length := session.rule.length) is not None and session.end > length:
        name = session.rule.name or "the rule"
        raise ValueError(
            f"ask: {name} keeps the rewards of {length} pulls, and this would be pull {session.end}; make it with a "
            "longer horizon"
        )
    return session, pulls


def tell(session: Session, ids: ArrayLike, rewards: ArrayLike) -> Session:
    """Return the next session, which has received the rewards of some of the pulls, in any order.

    With contexts, the rule receives them at once and in the order in which they are given here.

    Args:
      session: the current session.
      ids: ids of the pulls, int[n] or a single one. An id whose reward is already known is ignored if the reward is
        the same.
      rewards: their rewards, float[n] or a single one.

    Returns:
      The next session.

    Raises:
      ValueError: an id was not asked for, a reward is not finite, of modulus above 1e150 or outside the range for
        which the rule is designed, or it differs from an earlier reward with the same id. The message names the id.
    """
    return receive(session, *accept(session, ids, rewards))


def accept(session: Session, ids: ArrayLike, rewards: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Return ids and rewards as `receive` takes them, with `on_failure` in place of rewards that are not usable.

    Raises:
      ValueError: as for `tell`, except that a reward may differ from an earlier one with the same id.
    """
    ids, values = check_rewards("tell", ids, rewards, session.on_failure, *fit.limits(session.rule.rewards))
    require_asked("tell", ids, session.end)
    return ids, values


def receive(session: Session, ids: np.ndarray, values: np.ndarray) -> Session:
    """Return the next session after rewards that `accept` returned: the same one if none of them is new."""
    if session.asks is not None:
        return contextual.receive(session, session.asks, ids, values)
    ids, values = each_once("tell", ids, values)
    before, expired = known(session, ids)
    if expired.any():
        raise ValueError(f"tell: id = {ids[expired][0]} has expired; report its reward with tell_outside")
    old = ~np.isnan(before)
    same("tell", ids[old], values[old], before[old], "was reported before; an id has one reward, which amend corrects")
    if old.all():
        return session
    batch, here = session.batch, ids[~old] - session.batch.first
    status, rewards = batch.status.copy(), batch.values.copy()
    status[here], rewards[here] = TOLD, values[~old]
    return entered(replace(session, batch=batch._replace(status=status, values=rewards)))


def known(session: Session, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rewards of ids that were asked for, NaN if there is none, and which of the ids have expired."""
    batch = session.batch
    values, expired = np.full(len(ids), np.nan), np.zeros(len(ids), bool)
    past = ids < batch.first
    values[past] = values_of(session.history, ids[past])
    expired[past] = np.isnan(values[past])
    values[~past] = batch.values[ids[~past] - batch.first]
    expired[~past] = batch.status[ids[~past] - batch.first] == EXPIRED
    return values, expired


def withdraw(session: Session, ids: ArrayLike) -> Session:
    """Return the session without some pending pulls, which `ask` returns again with the same ids and keys.

    With contexts they are forgotten, because whoever asked in that context is gone.

    Args:
      session: the current session.
      ids: ids of pulls that were asked for and have no reward yet, int[n] or a single one.

    Returns:
      The next session.

    Raises:
      ValueError: an id was not asked for, already has a reward or has expired. The message names it.
    """
    return _marked(session, check_ids("withdraw", ids), "withdraw", WITHDRAWN)


def expire(session: Session, ids: ArrayLike | None = None, *, before: int | None = None) -> Session:
    """Return the session in which some pending pulls wait for no reward any more, because it will never come.

    The rule goes on as if it had not chosen them, so that a visitor who does not answer holds up nobody. If whether a
    reward comes depends on the reward, what is left is biased, and so are means and intervals; then tell a number in
    its place. In a `paired` session later rewards of the same arm do not enter the achieved epsilon. With contexts,
    where nobody waits, the asks are forgotten.

    A rule that plans batches needs the rewards of its plan: `withdraw` lets `ask` return such a pull again. Only those
    of arms that it has eliminated, and all once it has stopped, may expire.

    Args:
      session: the current session.
      ids: ids of pulls that were asked for and have no reward yet, int[n] or a single one.
      before: in place of `ids`: all such pulls with a smaller id than this one.

    Returns:
      The next session. A late reward of an expired pull can be told with `tell_outside`.

    Raises:
      ValueError: an id was not asked for, already has a reward, has expired before or is needed by the rule. The
        message names it.
    """
    return _marked(session, ids_to_expire(session, ids, before), "expire", EXPIRED)


def ids_to_expire(session: Session, ids: ArrayLike | None, before: int | None) -> np.ndarray:
    """Return the ids that these arguments of `expire` mean."""
    if (ids is None) == (before is None):
        given = "neither is given" if ids is None else "both are given"
        raise ValueError(f"expire: ids or before, {given}, must be one of them")
    batch = session.batch
    if before is None:
        found = check_ids("expire", ids)
        require_asked("expire", found, session.end)
    else:
        end = checks.integer("expire", "before", before, 0, 2**62)
        found = batch.first + batch.waiting if session.asks is None else session.pending
        found = found[found < end]
    if session.asks is not None:
        return found
    if session.programs.kind == "batch" and not session.stopped:
        alive = session.survivors
        here = found[found >= batch.first]
        needed = np.ones(len(here), bool)
        if alive is not None and session.programs.set_size is None:
            needed = alive[batch.actions[here - batch.first]]
        if needed.any():
            name = session.rule.name or "the rule"
            raise ValueError(
                f"expire: id = {here[needed][0]}: {name} needs the rewards of its whole plan; give it to withdraw, "
                "so that ask returns it again, or tell a number in its place"
            )
    return found


def _marked(session: Session, ids: np.ndarray, where: str, status: int) -> Session:
    """The session with another status of some pending pulls."""
    batch = session.batch
    require_asked(where, ids, session.end)
    if session.asks is not None:
        return contextual.forgotten(session, session.asks, where, ids)
    values, expired = known(session, ids)
    if (wrong := ~np.isnan(values) | expired).any():
        at = int(np.argmax(wrong))
        reason = "has expired" if expired[at] else "already has a reward"
        raise ValueError(f"{where}: id = {ids[at]} {reason}, must be one that is pending")
    marked = batch.status.copy()
    marked[ids - batch.first] = status
    return entered(replace(session, batch=batch._replace(status=marked)))


def pull_keys(session: Session, pulls: Pulls) -> Key:
    """Return one PRNG key per pull, for the training run or simulation that computes its reward.

    Every call returns the same keys. The key is fold_in(fold_in(root, index), arm), or fold_in(root, index) if the
    session is `paired`. In the latter case all arms share random draws (common random numbers), which reduces the
    variance of their differences. `root` is jax.random.key(seed) for run 0, and a key of the run otherwise. If an
    action is a set of arms, the key is fold_in(root, index), where index is the id.

    Args:
      session: the session that returned the pulls.
      pulls: n pulls.

    Returns:
      Typed keys [n] of the generator threefry2x32.
    """
    shared = session.paired or session.programs.set_size is not None
    arms = np.zeros(len(pulls.id), np.int32) if shared else pulls.arm
    return keys.pull_keys(session.seed, session.run, pulls.index, arms, shared)


def _pulls(session: Session, positions: np.ndarray) -> Pulls:
    return pulls_at(session.batch, positions, session.num_arms, session.programs.set_size)
