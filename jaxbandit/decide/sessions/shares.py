"""With which probability each arm would be the next pull of a session, from fresh draws of its rule."""

from typing import Annotated

import numpy as np

from jaxbandit.base.calls import checked
from jaxbandit.base.parameters import Arg
from jaxbandit.decide.sessions import contextual
from jaxbandit.decide.sessions.asks import Asks, without_closed
from jaxbandit.decide.sessions.context_programs import fresh_draws
from jaxbandit.decide.sessions.given_contexts import checked_context
from jaxbandit.decide.sessions.rows import MOST_DRAWS
from jaxbandit.decide.sessions.session import Session
from jaxbandit.support.domains import integer
from jaxbandit.support.types import PyTree


@checked
def shares(
    session: Session, *, context: PyTree = None, draws: Annotated[int, Arg(integer(1, MOST_DRAWS))] = 10_000
) -> np.ndarray:
    """Return the share of each arm among fresh draws of the rule in its present state; the session does not change.

    A share estimates the probability p of the arm, with a standard error of sqrt(p (1 - p) / draws). Closed arms have
    share 0, and the others are those of the draws that are left. The draws are none of the session's own, and the same
    in each call.

    Args:
      session: the current session, of a rule that decides on single pulls of single arms.
      context: as for `ask`.
      draws: number of draws; a rule that does not draw has share 1 of the arm that it would choose.

    Returns:
      Shares, float64[num_arms], of sum 1.

    Raises:
      ValueError: the rule plans batches or acts on sets of arms, the context is refused as by `ask`, or every draw was
        a closed arm.
    """
    programs, name = session.programs, session.rule.name or "the rule"
    if programs.kind == "batch" or programs.set_size is not None:
        what = "acts on sets of arms" if programs.set_size is not None else "plans batches"
        raise ValueError(f"{name} {what}, must decide on single pulls of single arms")
    session = contextual.begun(session, context, None)
    if isinstance(session.pulls, Asks) != (context is not None):
        reason = f"must be given: {name} needs a context" if context is None else f"must be left out: {name} takes none"
        raise ValueError(f"context = {context!r}, {reason}")
    if isinstance(session.pulls, Asks):
        context = without_closed(checked_context(session.rule, session.pulls, context), session.closed)
    number = draws if programs.draws else 1
    drawn = fresh_draws(programs, (session.seed, session.run), session.round, session.state, context, number)
    counts = np.bincount(drawn, minlength=session.num_arms)
    counts[session.closed] = 0
    if not counts.any():
        raise ValueError(f"{name} drew closed arms only in {number:,} draws; open them, or draw more often")
    return counts / counts.sum()
