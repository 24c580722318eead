"""How trainings are played: the fields of `Execution` that mean something for them, checked."""

from typing import Any

from jaxbandit.engine.driver.execution import Execution
from jaxbandit.running.distribution.executors import crew_of
from jaxbandit.support import checks

SEARCH = "workers directory executor progress batch isolate seconds_each retries traced same_train".split()
RUNGS = "directory", "batch"  # of successive halving and Hyperband
TABLE = ("progress",)  # of a table of scores, in which nothing is trained


def check(execution: Any, names: Any = SEARCH) -> None:
    """Raise a ValueError unless this is an Execution of trainings, without fields besides these names."""
    if not isinstance(execution, Execution):
        checks.wrong("execution", execution, "a jb.Execution, such as jb.Execution(directory=...)")
    checks.only(execution, names, "a table of scores" if names is TABLE else "this function")
    if execution.executor is not None:
        crew_of(execution.executor)
