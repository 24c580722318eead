"""Options of a search by their names in a file, as the records that `tune` and `search` take."""

import jaxbandit as jb

GOAL = "delta epsilon quantile score_range resolution maximize min_trainings on_failure max_failure_rate".split()
EXECUTION = {name: name for name in "directory executor progress batch isolate retries traced same_train".split()}
EXECUTION["timeout_each"] = "seconds_each"
BUDGET = {"max_trainings": "trainings", "timeout": "seconds"}


def records(**options):
    """Return the options with those of a goal, a budget and an execution in records."""
    kinds = {"goal": (jb.Goal, dict(zip(GOAL, GOAL, strict=True)))}
    kinds |= {"budget": (jb.Budget, BUDGET), "execution": (jb.Execution, EXECUTION)}
    for argument, (kind, names) in kinds.items():
        given = {names[name]: options.pop(name) for name in [*options] if name in names}
        if given:
            options[argument] = kind(**given)
    return options
