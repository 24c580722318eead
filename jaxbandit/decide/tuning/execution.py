"""How trainings are played: the fields of `Execution` that mean something for them, checked."""

from typing import Any

from jaxbandit.engine.driver.execution import Execution
from jaxbandit.running.distribution.executors import crew_of
from jaxbandit.support import checks, durations
from jaxbandit.support.refusals import refuse, wrong

SEARCH = "directory executor progress batch isolate seconds_each retries traced same_train".split()
RUNGS = "directory", "batch"  # of successive halving and Hyperband
TABLE = ("progress",)  # of a table of scores, in which nothing is trained


def of_trainings(where: str, execution: Any, names: Any = SEARCH) -> Execution:
    """Return a checked Execution, with `seconds_each` in seconds; raise BadInput for a field besides these names."""
    if not isinstance(execution, Execution):
        wrong(f"{where}: execution", execution, "a jb.Execution, such as jb.Execution(directory=...)")
    checks.only(where, execution, names, "a table of scores" if names is TABLE else where)
    for name in ("isolate", "same_train", *(["traced"] if execution.traced is not None else [])):
        checks.boolean(where, name, getattr(execution, name))
    if execution.batch is not None:
        execution = execution._replace(batch=checks.integer(where, "batch", execution.batch, 1))
    if execution.seconds_each is not None:
        if (limit := durations.seconds(where, "seconds_each", execution.seconds_each)) == 0:
            refuse(where, ": seconds_each = 0, must be a number of seconds > 0")
        execution = execution._replace(seconds_each=limit)
    if execution.executor is not None:
        crew_of(execution.executor)
    return execution._replace(retries=checks.integer(where, "retries", execution.retries, 0))
