"""Reading one [[instance]] or [[algorithm]]: its type and its arguments, which are checked by calling the factory."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from jaxbandit.lab.specs import arguments, priors, references, source, wrappers
from jaxbandit.lab.specs.entry import Entry
from jaxbandit.lab.specs.experiment import MOST_ROUNDS, AlgorithmSpec, Cell, Experiment, InstanceSpec
from jaxbandit.lab.specs.registry import ALGORITHMS, ENVIRONMENTS, FILLED, KNOWABLE, PROBLEM_DATA
from jaxbandit.support.domains import NAME, check
from jaxbandit.support.refusals import known, nearest, refuse, show, wrong


def instance(where: str, table: Mapping[str, Any], base: Path, imports: bool) -> tuple[InstanceSpec, Any]:
    """Return one [[instance]] and its Environment.

    `where` is the location of the table in messages, `base` the directory that relative paths start from, and `imports`
    whether `type` may name a factory outside the package, whose module is then executed.
    """
    import jax

    from jaxbandit.base.contract import Environment

    entry = _entry(where, table, ENVIRONMENTS, imports)
    given = _arguments(where, table, entry, base, priors_allowed=True)
    _complete(where, entry, given)
    environment = build(where, entry, given, Environment)
    known: dict[str, Any] = {}
    hidden: dict[str, Any] = {}
    if environment.arms is not None:
        shape = environment.arms.context
        sizes = {"num_arms": environment.arms.num_arms, "k": environment.arms.set_size, "shape": shape}
        sizes["dim"] = shape[-1] if shape else None
        known |= {name: size for name, size in sizes.items() if size is not None}
    if environment.schedule is not None:
        hidden["starts"] = environment.schedule.starts
    with jax.enable_x64(True):
        known |= _facts_of(where, entry, "known", environment.known)
        hidden |= _facts_of(where, entry, "truth.parameters", environment.truth.parameters)
    return InstanceSpec(_name(where, table), entry, given, known, hidden), environment


def algorithm(
    where: str, table: Mapping[str, Any], base: Path, kind: str, imports: bool, budgeted: bool = False
) -> AlgorithmSpec:
    """Return one [[algorithm]] of an experiment of this kind; `budgeted` if the experiment gives it a budget."""
    entry = _entry(where, table, ALGORITHMS, imports, kind)
    outside, takes_budget = references.is_reference(entry.name), "budget" in entry.parameters()
    if budgeted and not takes_budget:
        refuse(f"{where}.type", f" = {show(entry.name)}, takes no budget; leave out the experiment's budget")
    if takes_budget and (budgeted or (kind == "identify" and not outside)):
        _absent(where, table, ("budget",), "cannot be set here: the experiment gives the budget")
        if not budgeted:
            needs = "needs the experiment's budget; give budget = 1000, or a list"
            refuse(f"{where}.type", f" = {show(entry.name)}, {needs}")
    by_instance = () if outside else PROBLEM_DATA
    _absent(where, table, by_instance, "cannot be set, because the instance determines it")
    given = _arguments(where, table, entry, base, filled=FILLED, excluded=by_instance, sweeps=True)
    return AlgorithmSpec(_name(where, table), entry, given)


def judge(where: str, cell: Cell, environment: Any, experiment: Experiment) -> None:
    """Check that the algorithm of a cell can be built and fits the instance's environment and the experiment."""
    from jaxbandit.base.contract import Algorithm
    from jaxbandit.engine.rounds import fit
    from jaxbandit.engine.rounds.step import plays_batches
    from jaxbandit.running.resolution import beyond_float32

    entry = cell.algorithm.entry
    _complete(where, entry, cell.arguments, cell.instance)
    _one_row_an_arm(where, cell)
    algorithm = build(where, entry, cell.arguments, Algorithm)
    if references.is_reference(entry.name):
        references.trace(where, entry, cell.arguments)
    try:
        fit.marks_of(algorithm, environment, experiment.allow)
        if experiment.kind == "identify":
            fit.check_recommendations(algorithm, environment)
        limits = fit.lengths(algorithm, environment)
        if experiment.kind == "simulate":
            fit.check_length("horizon", experiment.horizon, limits)
        elif not experiment.budget:
            fit.check_length("max_rounds", experiment.max_rounds, limits)
    except ValueError as error:
        refuse(where, f": {error}")
    if experiment.precision == "float32" and (reason := beyond_float32(environment)):
        refuse(where, f': precision = "float32", must be "float64" for this instance: {reason}')
    if experiment.kind == "simulate":
        return
    if algorithm.stop is None:
        refuse(f"{where}.type", f' = "{entry.name}", has no stopping rule (stop); it is for kind = "simulate"')
    if experiment.precision == "float32" and algorithm.verify is None:
        refuse(where, f': {entry.name} cannot verify runs of precision = "float32", must be "float64"')
    if experiment.budget and algorithm.budget is None:
        refuse(f"{where}: budget", f": {entry.name} declares none (Algorithm.budget)")
    if not experiment.budget and algorithm.budget is not None:
        refuse(f"{where}: budget", f": {entry.name} has its own; give the experiment a budget as well")
    limit, most = "budget" if experiment.budget else "max_rounds", experiment.most_rounds(cell)
    if most > MOST_ROUNDS and not plays_batches(algorithm, environment):
        refuse(where, f": {limit} = {most}, must be in [1, {MOST_ROUNDS}] for single pulls")


def single_algorithm(where: str, table: Mapping[str, Any], base: Path, imports: bool) -> AlgorithmSpec:
    """Return the one [[algorithm]] of a session or search, whose file gives all its arguments except num_arms."""
    entry = _entry(where, table, ALGORITHMS, imports)
    return AlgorithmSpec(_name(where, table), entry, _arguments(where, table, entry, base, excluded=("num_arms",)))


def build_single(where: str, algorithm: AlgorithmSpec, num_arms: int) -> Any:
    """Return the Algorithm of a session or search with num_arms arms."""
    from jaxbandit.base.contract import Algorithm

    entry = algorithm.entry
    given = dict(algorithm.arguments) | ({"num_arms": num_arms} if "num_arms" in entry.parameters() else {})
    _complete(where, entry, given)
    built = build(where, entry, given, Algorithm)
    if built.arms is not None and built.arms.num_arms != num_arms:
        refuse(where, f": {entry.name} is made for {built.arms.num_arms} arms, and there are {num_arms}: must be equal")
    return built


def build(where: str, entry: Entry, given: Mapping[str, Any], wanted: type) -> Any:
    """Return what a factory makes of concrete arguments, an Algorithm or Environment as `wanted`."""
    if references.is_reference(entry.name):
        built = references.build(where, entry, given)
    else:
        built = arguments.call(where, given, lambda: entry.build(given))
    if not isinstance(built, wanted):
        got = type(built).__name__
        tables = {"Environment": "[[instance]]", "Algorithm": "[[algorithm]]"}
        remedy = f"; name it under {tables[got]}" if got in tables else ""
        refuse(f"{where}.type", f" = {show(entry.name)}, returns the type {got}, must return {wanted.__name__}{remedy}")
    return built


def _facts_of(where: str, entry: Entry, name: str, declared: Any) -> dict[str, Any]:
    """Return what the function `name` of an instance's Environment declares, as constants."""
    facts = references.call(where, name, declared) if references.is_reference(entry.name) else declared()
    if not isinstance(facts, dict):
        wrong(f"{where}: {name}", facts, "a dict with names of an algorithm's arguments as keys")
    return {key: arguments.constant(value) for key, value in facts.items()}


def _name(where: str, table: Mapping[str, Any]) -> str:
    return check(f"{where}.name", table.get("name", source.default_name(table)), NAME)


def _absent(where: str, table: Mapping[str, Any], names: Iterable[str], why: str) -> None:
    for name in names:
        if name in table:
            refuse(f"{where}.{name}", f" = {show(table[name])}, {why}; leave it out")


def _entry(where: str, table: Mapping[str, Any], entries: Mapping[str, Entry], imports: bool, kind: str = "") -> Entry:
    """Return the entry of the type of a table: registered, for experiments of `kind`, or outside, or a wrapper."""
    at = f"{where}.type"
    eligible = {name: entry for name, entry in entries.items() if not kind or entry.kind == kind}
    listed = f"a name that jaxbandit list --kind {kind or 'environment'} prints"
    if "type" not in table:
        refuse(at, f": missing, must be {listed}")
    type_ = table["type"]
    around = None if entries is ENVIRONMENTS else wrappers.parts(type_)
    if around and around[0] not in wrappers.WRAPPERS:
        near = nearest(around[0], wrappers.WRAPPERS)
        wrong(at, type_, f"one of {', '.join(f'{w}(ALGORITHM)' for w in wrappers.WRAPPERS)} to wrap an algorithm{near}")
    if around and kind != "simulate":
        refuse(at, f' = {show(type_)}, is for kind = "simulate", because it wraps algorithms that play to a horizon')
    if around:
        return wrappers.wrapped(at, around[0], _entry(where, {"type": around[1]}, entries, imports, kind))
    if references.is_reference(type_):
        references.require_trust(at, type_, imports)
        return references.resolve(at, type_)
    if isinstance(type_, str) and type_ in eligible:
        return eligible[type_]
    if isinstance(type_, str) and type_ in entries:
        refuse(at, f' = {show(type_)}, is for kind = "{entries[type_].kind}", not for kind = "{kind}"')
    return wrong(at, type_, f'{listed}, or "package.module:factory"{nearest(type_, eligible)}')


def _arguments(
    where: str,
    table: Mapping[str, Any],
    entry: Entry,
    base: Path,
    *,
    filled: tuple[str, ...] = (),
    excluded: tuple[str, ...] = (),
    sweeps: bool = False,
    priors_allowed: bool = False,
) -> dict[str, Any]:
    """Return the arguments that a table gives, and simple defaults except those of `filled`."""
    parameters = {name: p for name, p in entry.parameters().items() if name not in excluded}
    known(f"{where}.", table, ("name", "type", *parameters))
    result = {}
    for name, parameter in parameters.items():
        at, value = f"{where}.{name}", table.get(name, parameter.default)
        if name not in table:
            simple = isinstance(value, bool | int | float | str | tuple)
            if name in filled or parameter.required or not simple:
                continue
            value = list(value) if isinstance(value, tuple) else value
        if isinstance(value, dict) and "prior" in value:
            if not priors_allowed:
                refuse(at, f" = {show(value)}, cannot be drawn: only an [[instance]] can; give one value")
            result[name] = priors.prior(at, value, parameter)
        elif not (isinstance(value, dict) and "sweep" in value):
            result[name] = arguments.convert(at, value, parameter, base)
        elif sweeps:
            result[name] = arguments.sweep(at, value, parameter)
        else:
            refuse(at, f" = {show(value)}, cannot be swept: only an [[algorithm]] of an experiment can; give one value")
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
