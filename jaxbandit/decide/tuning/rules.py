"""The default rule that chooses among configurations, and the checks that any rule must pass."""

import functools
from collections.abc import Callable
from typing import Any

from jaxbandit import algorithms
from jaxbandit.base import checks
from jaxbandit.base.contract import Algorithm
from jaxbandit.base.refusals import refuse
from jaxbandit.base.types import Scalar
from jaxbandit.decide.sessions.session import Session

DELTA = 0.05
PAIRED = 5000  # most configurations for `paired_race`, which keeps the variances of all pairs in memory


def default_rule(where: str, count: int, delta: Scalar | None, epsilon: float | None) -> Algorithm:
    """Return the default rule, which is `paired_race`, or `student_race` for more than 5,000 configurations.

    Args:
      where: name of the caller, for error messages.
      count: number of configurations, >= 2.
      delta: error probability, in (0, 1). None means 0.05.
      epsilon: tolerated simple regret of `paired_race`, >= 0. `student_race` takes none.

    Raises:
      ValueError: delta or epsilon is out of range, or epsilon is missing, or given to `student_race`, which has none.
    """
    delta = float(
        checks.number(
            where, "delta", DELTA if delta is None else delta, low=0.0, high=1.0, open_low=True, open_high=True
        )
    )
    if count > PAIRED:
        if epsilon:
            remedy = "for which the default rule is student_race, which takes no epsilon; leave it out, or give a rule"
            refuse(where, f": epsilon = {epsilon}, but there are {count} configurations, {remedy}")
        return _same(algorithms.student_race, num_arms=count, delta=delta)
    if epsilon is None:
        refuse(
            where,
            ": epsilon is missing, must be the tolerated simple regret, such as 0.005; with 0, ties are never decided",
        )
    checks.number(where, "epsilon", epsilon, low=0.0)
    return _same(algorithms.paired_race, num_arms=count, delta=delta, epsilon=float(epsilon))


@functools.lru_cache(maxsize=16)
def _same(factory: Callable[..., Algorithm], **arguments: Any) -> Algorithm:
    """The same rule for the same arguments, so that its compiled functions are reused."""
    return factory(**arguments)


def check_agreement(where: str, rule: Algorithm, delta: Scalar | None, epsilon: float | None) -> None:
    """Check that a delta or an epsilon given next to a rule equals the rule's own.

    Raises:
      BadInput: it differs, or the rule has no guarantee.
    """
    for name, value in (("delta", delta), ("epsilon", epsilon)):
        if value is None:
            continue
        own = None if rule.promise is None else float(getattr(rule.promise, name))
        if own != value:
            says = "has no guarantee" if own is None else f"has {name} = {own:g}"
            refuse(
                where, f": {name} = {value} is given with rule = {rule.name}, which {says}; give it to the rule only"
            )


def one_of(where: str, session: Session, count: int) -> None:
    """Check that the rule of a session has one arm for each configuration and recommends one of them.

    Raises:
      BadInput: it has another number of arms, or recommends several.
    """
    if session.num_arms != count:
        refuse(where, f": rule has {session.num_arms} arms, must have one for each of {count} configurations")
    named = 0 if session.recommendation is None else len(session.recommendation)
    if named != 1:
        refuse(where, f": rule recommends {named} arms, must recommend one")


def chosen(session: Session) -> int:
    """Return the index of the configuration that the rule recommends."""
    assert session.recommendation is not None
    return int(session.recommendation[0])
