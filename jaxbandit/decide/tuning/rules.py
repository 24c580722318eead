"""The checks that a rule must pass which chooses among configurations."""

from jaxbandit.base.contract import Algorithm
from jaxbandit.decide.sessions.session import Session
from jaxbandit.support.refusals import refuse
from jaxbandit.support.types import Scalar

DELTA = 0.05


def check_agreement(where: str, rule: Algorithm, delta: Scalar | None, epsilon: float | None) -> None:
    """Check that a delta or an epsilon given next to a rule equals the rule's own."""
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
    """Check that the rule of a session has one arm for each configuration and recommends one of them."""
    if session.num_arms != count:
        refuse(where, f": rule has {session.num_arms} arms, must have one for each of {count} configurations")
    named = 0 if session.recommendation is None else len(session.recommendation)
    if named != 1:
        refuse(where, f": rule recommends {named} arms, must recommend one")
