"""What a decision may spend."""

from dataclasses import dataclass
from typing import Annotated, Any

from jaxbandit.base.arguments import Count
from jaxbandit.base.calls import record
from jaxbandit.base.parameters import Arg
from jaxbandit.support import checks, durations


@record
@dataclass(frozen=True)
class Budget:
    """What a decision may spend. Verbs take an integer as `trainings`, and a text such as "2h" as `seconds`.

    Attributes:
      trainings: number of trainings, failed attempts and scores from a directory included, >= 1. None means no limit.
      seconds: seconds after which no training begins, >= 0, or a text such as "2h"; a training that has not ended by
        then does not count. With 0 only the scores of a directory are used. Nobody waits for a traced training that
        never ends, but it computes on until the process ends; a function that is called directly, without an executor,
        is waited for. `Execution(isolate=True)` and `Execution(seconds_each=...)` end both. None means no limit.

    Raises:
      ValueError: a field is out of range.
    """

    trainings: Count | None = None
    seconds: Annotated[float | str, Arg(durations.SECONDS)] | None = None


def budget_of(budget: Any) -> Budget:
    """Return what the argument `budget` of a verb means: a Budget, a number of trainings, a text, or None."""
    if isinstance(budget, Budget):
        return budget
    number = hasattr(budget, "__index__") and not isinstance(budget, bool)
    if not (number or budget is None or isinstance(budget, str)):
        allowed = 'a jb.Budget, a number of trainings, or a length of time such as "2h"'
        checks.wrong("budget", budget, allowed)
    return Budget(seconds=budget) if isinstance(budget, str) else Budget(budget)
