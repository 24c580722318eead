"""The rule that chooses among configurations where the caller names none, and what any rule must be."""

import functools

from jaxbandit import checks
from jaxbandit.base import Algorithm
from jaxbandit.engine.session import Session
from jaxbandit.refusals import refuse
from jaxbandit.specs.registry import ALGORITHMS

MOST_PAIRS = 5000  # configurations; for more the paired race has no memory


def default_rule(where: str, num_arms: int, delta: float, epsilon: float) -> Algorithm:
    """Return the paired race, or the Student race, which has no epsilon, for more arms than it has memory for."""
    checks.number(where, "delta", delta, low=0.0, high=1.0, open_low=True, open_high=True)
    checks.number(where, "epsilon", epsilon, low=0.0)
    return _made(num_arms, float(delta), float(epsilon))


@functools.lru_cache(maxsize=8)  # the same object finds its compiled programs again
def _made(num_arms: int, delta: float, epsilon: float) -> Algorithm:
    if num_arms > MOST_PAIRS:
        return ALGORITHMS["student_race"].factory()(num_arms, delta=delta)
    return ALGORITHMS["paired_race"].factory()(num_arms, delta=delta, epsilon=epsilon)


def one_of(where: str, session: Session, num_configs: int) -> None:
    """Refuse a rule that does not recommend one of so many configurations."""
    if session.num_arms != num_configs:
        refuse(where, f": rule has {session.num_arms} arms, must have one for each of {num_configs} configurations")
    named = 0 if session.recommendation is None else len(session.recommendation)
    if named != 1:
        refuse(where, f": rule recommends {named} arms, must recommend one")
