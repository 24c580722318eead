"""Reading one [[instance]] or [[algorithm]]: its type and its arguments, which are checked by calling the factory."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jaxbandit.base import refusals
from jaxbandit.base.refusals import nearest, refuse, show, wrong
from jaxbandit.lab.specs import arguments, references, source, wrappers
from jaxbandit.lab.specs.entry import Entry
from jaxbandit.lab.specs.experiment import MOST_ROUNDS, AlgorithmSpec, Cell, Experiment, InstanceSpec
from jaxbandit.lab.specs.registry import ALGORITHMS, ENVIRONMENTS, FILLED, KNOWABLE, PROBLEM_DATA


def instance(where: str, table: Mapping[str, Any], base: Path, imports: bool) -> InstanceSpec:
    """Return one [[instance]].

    Args:
      where: location of the table, for error messages.
      table: the table as read from TOML.
      base: directory that relative paths start from.
      imports: whether `type` may name a factory outside the package; importing its module runs its code.

    Raises:
      BadInput: the type is unknown, an argument is missing or wrong, or the factory raises an error.
    """
    import jax

    from jaxbandit.base.contract import Environment

    name, entry = _typed(where, table, ENVIRONMENTS, imports)
    refusals.known(f"{where}.", table, ("name", "type", *entry.arguments))
    given = _arguments(where, table, entry, base)
    _complete(where, entry, given)
    environment = _returned(where, entry, build(where, entry, given), Environment)
    known, hidden = {k: v for k, v in given.items() if k in entry.public}, {}
    if environment.arms is not None:
        sizes = {"num_arms": environment.arms.num_arms, "k": environment.arms.set_size}
        known |= {name: size for name, size in sizes.items() if size is not None}
    if environment.schedule is not None:
        hidden["starts"] = environment.schedule.starts
    with jax.enable_x64(True):
        known |= _declared(where, entry, "known", environment.known)
        hidden |= _declared(where, entry, "truth.parameters", environment.truth.parameters)
    return InstanceSpec(name, entry.name, given, known, hidden)


def algorithm(
    where: str, table: Mapping[str, Any], base: Path, kind: str, imports: bool, budgeted: bool = False
) -> AlgorithmSpec:
    """Return one [[algorithm]] of an experiment.

    Args:
      where: location of the table, for error messages.
      table: the table as read from TOML.
      base: directory that relative paths start from.
      kind: kind of the experiment, "simulate" or "identify".
      imports: whether `type` may name a factory outside the package; importing its module runs its code.
      budgeted: whether the experiment gives its algorithms a budget.

    Raises:
      BadInput: the type is unknown or not for this experiment, or an argument is unknown or wrong.
    """
    name, entry = _typed(where, table, {k: v for k, v in ALGORITHMS.items() if v.kind == kind}, imports, kind)
    own = entry.arguments
    takes = "budget" in entry.parameters()
    if budgeted and not takes:
        refuse(f"{where}.type", f" = {show(entry.name)}, takes no budget; leave out the experiment's budget")
    if takes and (budgeted or (kind == "identify" and not references.is_reference(entry.name))):
        if "budget" in table:
            refuse(
                f"{where}.budget",
                f" = {show(table['budget'])}, cannot be set here: the experiment gives the budget; leave it out",
            )
        if not budgeted:
            refuse(
                f"{where}.type", f" = {show(entry.name)}, needs the experiment's budget; give budget = 1000, or a list"
            )
    if not references.is_reference(entry.name):
        for key in PROBLEM_DATA:
            if key in table:
                refuse(
                    f"{where}.{key}",
                    f" = {show(table[key])}, cannot be set, because the instance determines it; leave it out",
                )
        own = tuple(a for a in own if a not in PROBLEM_DATA)
    refusals.known(f"{where}.", table, ("name", "type", *own))
    return AlgorithmSpec(name, entry.name, _arguments(where, table, entry, base, filled=FILLED))


def judge(where: str, cell: Cell, experiment: Experiment) -> None:
    """Check that the algorithm of a cell can be built and fits its instance and the experiment.

    Raises:
      BadInput: an argument is missing, the factory raises an error, or the algorithm does not fit the instance, the
        kind, the precision, the budget or the number of rounds.
    """
    from jaxbandit.base.contract import Algorithm
    from jaxbandit.engine.rounds import fit
    from jaxbandit.engine.rounds.step import plays_batches

    entry = cell.algorithm.entry
    _complete(where, entry, cell.arguments, cell.instance)
    _one_row_an_arm(where, cell)
    algorithm = _returned(where, entry, build(where, entry, cell.arguments), Algorithm)
    environment = cell.instance.build()
    if references.is_reference(entry.name):
        references.trace(where, entry, cell.arguments)
    try:
        fit.check_pair(algorithm, environment, experiment.any_rewards)
        if experiment.kind == "simulate":
            fit.check_length("", "horizon", experiment.horizon, environment.length)
        elif not experiment.budget:
            fit.check_length("", "max_rounds", experiment.max_rounds, environment.length)
    except ValueError as error:
        refuse(where, f": {error}")
    if experiment.kind == "simulate":
        return
    if algorithm.stop is Algorithm._field_defaults["stop"]:
        refuse(f"{where}.type", f' = "{entry.name}", has no stopping rule (stop); it is for kind = "simulate"')
    if experiment.precision == "float32" and algorithm.verify is None:
        refuse(where, f': {entry.name} cannot verify runs of precision = "float32", must be "float64"')
    if algorithm.budget is None if experiment.budget else algorithm.budget is not None:
        told = (
            "declares none (Algorithm.budget)"
            if experiment.budget
            else "has its own; give the experiment a budget as well"
        )
        refuse(f"{where}: budget", f": {entry.name} {told}")
    limit, most = "budget" if experiment.budget else "max_rounds", experiment.most_rounds(cell)
    if most > MOST_ROUNDS and not plays_batches(algorithm, environment):
        refuse(where, f": {limit} = {most}, must be in [1, {MOST_ROUNDS}] for single pulls")


def alone(at: str, given: Any, base: Path, imports: bool) -> AlgorithmSpec:
    """Return the one [[algorithm]] of a session or search, whose file gives all its arguments except num_arms.

    Raises:
      BadInput: there is not exactly one [[algorithm]], its type is unknown, or an argument is unknown, wrong or swept.
    """
    if not isinstance(given, list) or len(given) != 1 or not isinstance(given[0], dict):
        wrong(f"{at}algorithm", given, "one [[algorithm]] table")
    where, table = f"{at}algorithm[0]", given[0]
    name, entry = _typed(where, table, ALGORITHMS, imports)
    own = tuple(a for a in entry.arguments if a != "num_arms")
    refusals.known(f"{where}.", table, ("name", "type", *own))
    for key in own:
        if isinstance(table.get(key), dict) and "sweep" in table[key]:
            refuse(
                f"{where}.{key}",
                f" = {show(table[key])}, cannot be swept, because only one algorithm is used; give one value",
            )
    return AlgorithmSpec(name, entry.name, _arguments(where, table, entry, base))


def build_alone(where: str, algorithm: AlgorithmSpec, num_arms: int) -> Any:
    """Return the Algorithm of a session or search with num_arms arms.

    Raises:
      BadInput: an argument is missing, the factory raises an error, or it is made for another number of arms.
    """
    from jaxbandit.base.contract import Algorithm

    entry = algorithm.entry
    takes = {"num_arms": num_arms} if "num_arms" in entry.parameters() else {}
    given = dict(algorithm.arguments) | takes
    _complete(where, entry, given)
    built = _returned(where, entry, build(where, entry, given), Algorithm)
    if built.arms is not None and built.arms.num_arms != num_arms:
        refuse(where, f": {entry.name} is made for {built.arms.num_arms} arms, and there are {num_arms}: must be equal")
    return built


def build(where: str, entry: Entry, given: Mapping[str, Any]) -> Any:
    """Call a factory with concrete arguments; an error about one of them is raised as BadInput with its location."""
    if references.is_reference(entry.name):
        return references.build(where, entry, given)
    return arguments.call(where, given, lambda: entry.build(given))


def _returned(where: str, entry: Entry, built: Any, wanted: type) -> Any:
    if not isinstance(built, wanted):
        place = {"Environment": "; name it under [[instance]]", "Algorithm": "; name it under [[algorithm]]"}
        got = type(built).__name__
        remedy = place.get(got, "")
        refuse(f"{where}.type", f" = {show(entry.name)}, returns the type {got}, must return {wanted.__name__}{remedy}")
    return built


def _declared(where: str, entry: Entry, name: str, declared: Any) -> dict[str, Any]:
    """Return what the function `name` of an instance's Environment declares, as constants."""
    found = references.call(where, name, declared) if references.is_reference(entry.name) else declared()
    if not isinstance(found, dict):
        wrong(f"{where}: {name}", found, "a dict with names of an algorithm's arguments as keys")
    return {key: arguments.constant(value) for key, value in found.items()}


def _typed(
    where: str, table: Mapping[str, Any], entries: Mapping[str, Entry], imports: bool, kind: str = ""
) -> tuple[str, Entry]:
    if "type" not in table:
        refuse(f"{where}.type", f": missing, must be one of {', '.join(entries)}")
    type_ = table["type"]
    if ENVIRONMENTS is not entries and (around := wrappers.parts(type_)):
        return refusals.text(f"{where}.name", table.get("name", type_)), _wrapped(where, type_, *around, imports, kind)
    if references.is_reference(type_):
        if not imports:
            refuse(
                f"{where}.type", f" = {show(type_)}, names code outside the package, which --no-import does not allow"
            )
        entry = references.resolve(f"{where}.type", type_)
        return refusals.text(f"{where}.name", table.get("name", source.default_name(table))), entry
    if not isinstance(type_, str) or type_ not in entries:
        other = ALGORITHMS.get(type_) if isinstance(type_, str) else None
        if other and kind:
            refuse(f"{where}.type", f' = {show(type_)}, is for kind = "{other.kind}", not for kind = "{kind}"')
        more = 'or "package.module:factory"'
        wrong(f"{where}.type", type_, f"one of {', '.join(entries)}, {more}{nearest(type_, entries)}")
    return refusals.text(f"{where}.name", table.get("name", type_)), entries[type_]


def _wrapped(where: str, type_: str, name: str, inside: str, imports: bool, kind: str) -> Entry:
    at = f"{where}.type"
    if name not in wrappers.WRAPPERS:
        near = nearest(name, wrappers.WRAPPERS)
        wrong(at, type_, f"one of {', '.join(f'{w}(ALGORITHM)' for w in wrappers.WRAPPERS)} to wrap an algorithm{near}")
    if kind != "simulate":
        refuse(at, f' = {show(type_)}, is for kind = "simulate", because it wraps algorithms that play to a horizon')
    found = {k: v for k, v in ALGORITHMS.items() if v.kind == kind}
    return wrappers.wrapped(at, name, _typed(where, {"type": inside}, found, imports, kind)[1])


def _arguments(
    where: str, table: Mapping[str, Any], entry: Entry, base: Path, filled: tuple[str, ...] | None = None
) -> dict[str, Any]:
    result = {}
    for name, parameter in entry.parameters().items():
        at = f"{where}.{name}"
        value = table.get(name, parameter.default)
        if name not in table:
            if filled and name in filled:  # the instance may give it
                continue
            if parameter.required or value is None or not isinstance(value, bool | int | float | str | tuple):
                continue
            value = list(value) if isinstance(value, tuple) else value
        if isinstance(value, dict) and "sweep" in value and filled is not None:
            result[name] = arguments.sweep(at, value, parameter)
        else:
            result[name] = arguments.convert(at, value, parameter, base)
    return result


def _complete(where: str, entry: Entry, given: Mapping[str, Any], instance: InstanceSpec | None = None) -> None:
    for name, parameter in entry.parameters().items():
        if parameter.required and name not in given:
            reason = ""
            if instance and name in (*KNOWABLE, *entry.truth):
                reason = f", and instance {instance.name} ({instance.type}) does not give it"
                if name == "num_arms":
                    reason += "; its Environment declares it by arms = Arms(num_arms)"
            refuse(f"{where}.{name}", f": missing, {entry.name} needs it{reason}")


def _one_row_an_arm(where: str, cell: Cell) -> None:
    import numpy as np

    features, known = cell.params.get("features"), cell.instance.known
    if features is None or not {"features", "num_arms"} & known.keys():
        return
    rows, own = np.shape(features)[:-1], np.shape(known.get("features", ()))[:-1]
    wanted = own or (known["num_arms"],)
    if rows != wanted and (1, *rows) != wanted:  # a single action set may be given without its axis
        each = "one per context and arm" if len(wanted) > 1 else "one per arm"
        got, must = (" x ".join(map(str, shape)) or "0" for shape in (rows, wanted))
        refuse(f"{where}.features", f" has {got} rows, must have {must}, {each} of instance {cell.instance.name}")
