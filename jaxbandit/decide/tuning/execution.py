"""How trainings are played: the fields of `Execution` that mean something for them, checked."""

from typing import Any

from jaxbandit.engine.driver.execution import Execution
from jaxbandit.running.distribution.executors import crew_of
from jaxbandit.support import checks
from jaxbandit.support.refusals import wrong

SEARCH = "directory executor progress batch isolate seconds_each retries traced same_train".split()
RUNGS = "directory", "batch"  # of successive halving and Hyperband
TABLE = ("progress",)  # of a table of scores, in which nothing is trained


def of_trainings(where: str, execution: Any, names: Any = SEARCH) -> Execution:
    """Return the Execution of a search; raise BadInput for a field besides these names."""
    if not isinstance(execution, Execution):
        wrong(f"{where}: execution", execution, "a jb.Execution, such as jb.Execution(directory=...)")
    checks.only(where, execution, names, "a table of scores" if names is TABLE else where)
    if execution.executor is not None:
        crew_of(execution.executor)
    return execution
