"""The TOML of a search: configurations as a grid, a table, or a space of which some are proposed; how to compare them.

Every error is a BadInput with a message of one line: file, key, value, what is allowed.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from jaxbandit.base.parameters import parameters_of
from jaxbandit.decide.core.budget import Budget
from jaxbandit.decide.core.goal import Goal
from jaxbandit.decide.tuning.search import search
from jaxbandit.decide.tuning.tune import tune
from jaxbandit.engine.driver.execution import Execution
from jaxbandit.lab.specs import keys, session, source, tables
from jaxbandit.lab.specs.experiment import AlgorithmSpec
from jaxbandit.lab.specs.keys import ANY, SCALAR, Key
from jaxbandit.support.domains import INT32, NAME, Domain, check, choice, integer, number, several, values
from jaxbandit.support.refusals import BadArgument, refuse, wrong

KIND = "tune"
_CONFIGS = ANY._replace(allowed='a table of lists, [configs] with lr = [0.1, 0.01], or "configs.csv"')
LAWS = "loguniform", "uniform", "uniform_int", "choice"
_LAW = values(
    "one of " + ", ".join(f"{{ {law} = {'[low, high]' if law != 'choice' else '[...]'} }}" for law in LAWS),
    lambda value: isinstance(value, dict) and len(value) == 1 and next(iter(value)) in LAWS,
)
ONLY_CONFIGS, ONLY_SPACE = ("growth", "blind", "pool"), ("finalists", "proposals", "extra", "at_once")
# Keys by the arguments that they are, of which some have other names.
GOAL = {name: name for name in parameters_of(Goal)}
BUDGET = {"trainings": "max_trainings", "seconds": "timeout"}
EXECUTION = {name: name for name in ("batch", "retries", "traced", "same_train")} | {"seconds_each": "timeout_each"}
OF_TUNE, OF_SEARCH = ({name: name for name in names} for names in (("seed", "paired", *ONLY_CONFIGS), ONLY_SPACE))


@dataclass(frozen=True, kw_only=True)
class SearchSpec:
    """A resolved search; what has no value is left to `tune` or `search`."""

    name: str
    options: dict[str, Any]  # the arguments of `tune`, or of `search` if there is a space, that the file gives
    propose: str | None
    configs: dict[str, list[Any]] | tuple[dict[str, Any], ...] | None  # values to combine, or configurations
    space: dict[str, tuple[str, list[Any]]] | None  # the distribution of each hyperparameter, and its arguments
    static: tuple[str, ...]  # hyperparameters that `train` receives as Python values
    algorithm: AlgorithmSpec | None

    def build(self, num_arms: int) -> Any:
        """Return the Algorithm for num_arms configurations, or None for the default one."""
        if self.algorithm is None:
            return None
        return tables.build_single(f"{self.name}: algorithm[0]", self.algorithm, num_arms)


def _keys_of(function: Callable[..., Any], names: Mapping[str, str]) -> dict[str, Key]:
    """Return keys that are arguments of a function, which says what they may be; None stands for its default."""
    found = {}
    for name, key in names.items():
        parameter = parameters_of(function)[name]
        domain = parameter.arg.domain or parameter.domain()
        assert domain is not None, name
        found[key] = Key(domain, None)
    return found


KEYS = {
    "kind": Key(choice((KIND,))),
    "name": Key(NAME),
    **_keys_of(Goal, GOAL),
    **_keys_of(Budget, BUDGET),
    **_keys_of(Execution, EXECUTION),
    **_keys_of(tune, OF_TUNE),
    **_keys_of(search, OF_SEARCH),
    "propose": Key(choice(("tpe", "random")), None),
    "configs": Key(_CONFIGS, None),
    "space": Key(ANY, None),
    "static": Key(ANY, []),
    "algorithm": Key(keys.tables("algorithm", one=True), None),
}


def load(path: Path, *, imports: bool = True) -> SearchSpec:
    """Return the search of a TOML file; `imports` is as for `spec.load`."""
    at = f"{path}: "
    settings = keys.read(at, {"name": path.stem} | source.read(path), KEYS)
    if settings["algorithm"] is not None:
        for name in ("delta", "epsilon"):
            if settings[name] is not None:
                reason = "cannot be given together with [[algorithm]]; give it only there"
                refuse(f"{at}{name}", f" = {settings[name]} {reason}")
        [table] = settings["algorithm"]
        settings["algorithm"] = tables.single_algorithm(f"{at}algorithm[0]", table, path.parent, imports)
    names = _candidates(at, settings, path.parent)
    static = several(choice(names), "a list of names of hyperparameters", empty=True)
    settings["static"] = check(f"{at}static", settings["static"], static)

    def arguments(names: Mapping[str, str]) -> dict[str, Any]:
        return {name: settings[key] for name, key in names.items() if settings[key] is not None}

    try:  # fields that exclude each other have the names of their keys
        records = {"goal": Goal(**arguments(GOAL))}
    except BadArgument as error:
        refuse(at, error.what)
    records |= {"budget": Budget(**arguments(BUDGET)), "execution": Execution(**arguments(EXECUTION))}
    own = {field.name: settings[field.name] for field in fields(SearchSpec) if field.name != "options"}
    return SearchSpec(options={**records, **arguments(OF_TUNE), **arguments(OF_SEARCH)}, **own)


def _candidates(at: str, settings: dict[str, Any], base: Path) -> Any:
    """Read the configurations or the space of a file, in place, and return the names of the hyperparameters."""
    if (settings["configs"] is None) == (settings["space"] is None):
        got = "missing" if settings["configs"] is None else "given together with space"
        refuse(f"{at}configs", f": {got}, give either configs, such as [configs] with lr = [0.1, 0.01], or [space]")
    spaced = settings["space"] is not None
    for name in ONLY_CONFIGS if spaced else ("propose", *ONLY_SPACE):
        if settings[name] is not None:
            refuse(f"{at}{name}", f": only for {'[configs]' if spaced else '[space]'}; leave it out")
    if not spaced:
        configs = settings["configs"] = _configs(f"{at}configs", settings["configs"], base)
        return configs if isinstance(configs, dict) else configs[0]
    if settings["algorithm"] is not None:
        refuse(f"{at}algorithm", ": only for [configs]; leave it out")
    if settings["max_trainings"] is None:
        refuse(f"{at}max_trainings", ": missing, must be an integer >= 2 with [space]")
    space = settings["space"] = _space(f"{at}space", settings["space"])
    return space


def _space(where: str, value: Any) -> dict[str, tuple[str, list[Any]]]:
    """Return the distribution of each hyperparameter, as the name of a function of the package and its arguments."""
    if not isinstance(value, dict) or not value:
        wrong(where, value, "a table, [space] with lr = { loguniform = [1e-4, 1.0] }")
    space = {}
    for name, law in value.items():
        [(kind, arguments)] = check(f"{where}.{name}", law, _LAW).items()
        at, pair = f"{where}.{name}.{kind}", kind != "choice"
        entry: Domain = (integer(-INT32 - 1, INT32) if kind == "uniform_int" else number()) if pair else SCALAR
        allowed = "a list of two numbers, [low, high]" if pair else "a list of values"
        taken = list(check(at, arguments, several(entry, allowed, distinct=not pair, increasing=pair)))
        if pair and len(taken) != 2:
            wrong(at, arguments, allowed)
        space[name] = kind, taken
    return space


def _configs(where: str, value: Any, base: Path) -> dict[str, list[Any]] | tuple[dict[str, Any], ...]:
    """Return values of hyperparameters by name, or configurations from a CSV file or a list of tables."""
    if not isinstance(value, dict):
        return session.configurations(where, value, base)
    lists = several(SCALAR, "a list of values", distinct=True)
    columns = {name: list(check(f"{where}.{name}", values, lists)) for name, values in value.items()}
    number = math.prod(map(len, columns.values()))
    if number > session.MOST_ARMS:
        refuse(where, f": {number:,} combinations, must be at most {session.MOST_ARMS:,}; give fewer values")
    return columns
