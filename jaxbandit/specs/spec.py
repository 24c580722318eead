"""An experiment as data: TOML to a frozen, resolved `Experiment` and back, all judged before anything runs.

Every refusal is a BadInput of one line: file, key, value got, what is allowed. Lists are numbered from 0.
"""

import hashlib
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jaxbandit import extras, refusals
from jaxbandit.refusals import nearest, refuse, wrong
from jaxbandit.specs import arguments, source
from jaxbandit.specs.registry import ALGORITHMS, ENVIRONMENTS, KNOWABLE, PROBLEM_DATA, Entry

OWN = {"simulate": ("horizon", "checkpoints"), "identify": ("max_rounds",)}  # kind -> its own keys
KINDS = tuple(OWN)
KEYS = ("name", "kind", "runs", "seed", *OWN["simulate"], *OWN["identify"], "precision", "instance", "algorithm")
PUBLISHED = "paper"  # a table that says what a paper found: not part of the experiment
PRECISIONS = ("float32", "float64")
MOST_ROUNDS = 2**31 - 129  # int32 counts, and a block of rounds to spare
MAX_ROUNDS = 10_000_000


@dataclass(frozen=True)
class InstanceSpec:
    """One [[instance]], its arguments complete."""

    name: str
    type: str
    arguments: Mapping[str, Any]
    known: Mapping[str, Any] = field(compare=False)  # what follows from the arguments, truth included

    @property
    def entry(self) -> Entry:
        """The registered environment."""
        return ENVIRONMENTS[self.type]

    @property
    def num_arms(self) -> int:
        """Number of arms."""
        return self.known["num_arms"]

    def public(self) -> dict[str, Any]:
        """Return what an algorithm may know of this instance."""
        return {k: v for k, v in self.known.items() if k in KNOWABLE}


@dataclass(frozen=True)
class AlgorithmSpec:
    """One [[algorithm]], its arguments complete but for those that the instance and the horizon fill."""

    name: str
    type: str
    arguments: Mapping[str, Any]

    @property
    def entry(self) -> Entry:
        """The registered algorithm."""
        return ALGORITHMS[self.type]


@dataclass(frozen=True)
class Cell:
    """One instance under one algorithm, sweeps resolved."""

    index: int
    instance: InstanceSpec
    algorithm: AlgorithmSpec
    params: dict[str, Any]  # the algorithm's own hyperparameters
    arguments: dict[str, Any]  # these and what is filled: all that the factory is called with


@dataclass(frozen=True)
class Experiment:
    """A resolved experiment: every default is written out, so that equal experiments are equal."""

    name: str
    kind: str
    runs: int
    seed: int
    precision: str
    instances: tuple[InstanceSpec, ...]
    algorithms: tuple[AlgorithmSpec, ...]
    horizon: int = 0  # simulate
    checkpoints: tuple[int, ...] = ()
    max_rounds: int = 0  # identify

    def cells(self) -> Iterator[Cell]:
        """Yield the cells, instance by instance, an algorithm's sweep in its order."""
        index = 0
        for instance in self.instances:
            for algorithm in self.algorithms:
                for given in arguments.product(algorithm.arguments):
                    yield Cell(index, instance, algorithm, given, given | self._filled(instance, algorithm))
                    index += 1

    def _filled(self, instance: InstanceSpec, algorithm: AlgorithmSpec) -> dict[str, Any]:
        oracle = {name: instance.known[name] for name in algorithm.entry.truth if name in instance.known}
        known = instance.public() | oracle | ({"horizon": self.horizon} if self.horizon else {})
        wanted = {k: p for k, p in algorithm.entry.parameters().items() if k not in algorithm.arguments}
        default = {k: p.default for k, p in wanted.items() if k in KNOWABLE and not p.required}
        return default | {k: v for k, v in known.items() if k in wanted}

    def to_dict(self) -> dict[str, Any]:
        """Return the experiment as plain data, in the order of its TOML."""

        def table(item: InstanceSpec | AlgorithmSpec) -> dict[str, Any]:
            return {"name": item.name, "type": item.type} | {k: arguments.plain(v) for k, v in item.arguments.items()}

        return {
            **{key: arguments.plain(getattr(self, key)) for key in (*KEYS[:4], *OWN[self.kind], "precision")},
            "instance": [table(item) for item in self.instances],
            "algorithm": [table(item) for item in self.algorithms],
        }

    def to_toml(self) -> str:
        """Return the experiment as TOML, readable by `load`."""
        with extras.lab():
            import tomli_w

        return tomli_w.dumps(self.to_dict())

    @property
    def digest(self) -> str:
        """Hash of all that the results depend on, the same in every process."""
        return hashlib.sha256(json.dumps(self.to_dict(), sort_keys=True).encode()).hexdigest()


embedded, read = source.embedded, source.read


def load(spec: str | Path, overrides: Sequence[str] = ()) -> Experiment:
    """Return the experiment of a TOML file, or of an embedded one by name, with `--set` texts applied."""
    path = source.locate(spec)
    data = source.read(path)
    for text in overrides:
        source.override(data, text)
    return parse(data, str(path), path.parent)


def parse(data: Mapping[str, Any], origin: str, base: Path = Path()) -> Experiment:
    """Return the experiment of plain data; `origin` names it in refusals, `base` starts relative paths."""
    at = f"{origin}: "
    refusals.known(at, {key: None for key in data if key != PUBLISHED}, KEYS)
    kind = refusals.choice(f"{at}kind", _required(at, data, "kind", KINDS), KINDS)
    for other in KINDS:
        for key in OWN[other]:
            if key in data and other != kind:
                refuse(f"{at}{key}", f' = {refusals.show(data[key])}: only for kind = "{other}"; leave it out')
    runs = refusals.integer(f"{at}runs", _required(at, data, "runs"), 1, 2**31 - 1)
    own: dict[str, Any]
    if kind == "simulate":
        horizon = refusals.integer(f"{at}horizon", _required(at, data, "horizon"), 1, MOST_ROUNDS)
        own = {"horizon": horizon, "checkpoints": _checkpoints(f"{at}checkpoints", data.get("checkpoints"), horizon)}
    else:
        own = {"max_rounds": refusals.integer(f"{at}max_rounds", data.get("max_rounds", MAX_ROUNDS), 1, MOST_ROUNDS)}
    instances = tuple(_instance(where, table, base) for where, table in _tables(at, data, "instance"))
    algorithms = tuple(_algorithm(where, table, base, kind) for where, table in _tables(at, data, "algorithm"))
    for key, items in (("instance", instances), ("algorithm", algorithms)):
        names = [item.name for item in items]
        for i, name in enumerate(names):
            if name in names[:i]:
                refuse(
                    f"{at}{key}[{i}].name",
                    f" = {refusals.show(name)}, must differ from {key}[{names.index(name)}].name",
                )
    experiment = Experiment(
        name=refusals.text(f"{at}name", data.get("name", Path(origin).stem)),
        kind=kind,
        runs=runs,
        seed=refusals.integer(f"{at}seed", data.get("seed", 0), 0, 2**32 - 1),
        precision=_precision(origin, data.get("precision", "float64" if kind == "identify" else None), own),
        instances=instances,
        algorithms=algorithms,
        **own,
    )
    for cell in experiment.cells():  # the factories judge the rest: ranges, and what depends on the instance
        at_algorithm = f"{at}algorithm[{algorithms.index(cell.algorithm)}]"
        _complete(at_algorithm, cell.algorithm.entry, cell.arguments, cell.instance)
        _one_row_an_arm(at_algorithm, cell)
        build(at_algorithm, cell.algorithm.entry, cell.arguments)
    return experiment


def _precision(origin: str, value: Any, own: Mapping[str, Any]) -> str:
    from jaxbandit import checks  # it imports JAX

    if value is not None:
        refusals.choice(f"{origin}: precision", value, PRECISIONS)
    name = next(key for key in ("horizon", "max_rounds") if key in own)
    try:
        return checks.precision(origin, value, name, own[name])
    except ValueError as error:
        raise refusals.BadInput(str(error)) from None


def build(where: str, entry: Entry, given: Mapping[str, Any]) -> Any:
    """Call a registered factory with concrete arguments; its refusal is told with the key's full place."""
    return arguments.call(where, given, lambda: entry.factory()(**given))


def _required(at: str, data: Mapping[str, Any], key: str, allowed: tuple[str, ...] = ()) -> Any:
    if key not in data:
        refuse(f"{at}{key}", f": missing, must be {'one of ' * bool(allowed)}{', '.join(allowed) or 'given'}")
    return data[key]


def _tables(at: str, data: Mapping[str, Any], key: str) -> list[tuple[str, dict[str, Any]]]:
    value = _required(at, data, key)
    if not isinstance(value, list) or not value or not all(isinstance(item, dict) for item in value):
        wrong(f"{at}{key}", value, f"one or more [[{key}]] tables")
    return [(f"{at}{key}[{i}]", table) for i, table in enumerate(value)]


def _checkpoints(where: str, value: Any, horizon: int) -> tuple[int, ...]:
    if value is None:
        from jaxbandit.engine.horizon import default_checkpoints

        return tuple(default_checkpoints(horizon).tolist())
    if not isinstance(value, list) or not value:
        wrong(where, value, f"a list of increasing rounds in [1, {horizon}]")
    marks = [refusals.integer(f"{where}[{i}]", v, 1, horizon) for i, v in enumerate(value)]
    for i, (before, after) in enumerate(itertools.pairwise(marks)):
        if after <= before:
            wrong(f"{where}[{i + 1}]", after, f"greater than {before}, the one before")
    return tuple(marks) if marks[-1] == horizon else (*marks, horizon)  # as the engine does


def _typed(where: str, table: Mapping[str, Any], entries: Mapping[str, Entry]) -> tuple[str, Entry]:
    if "type" not in table:
        refuse(f"{where}.type", f": missing, must be one of {', '.join(entries)}")
    type_ = table["type"]
    if not isinstance(type_, str) or type_ not in entries:
        other = ALGORITHMS.get(type_) if isinstance(type_, str) else None
        what = f"one of {', '.join(entries)}{nearest(type_, entries)}"
        wrong(f"{where}.type", type_, f'{what}; it is for kind = "{other.kind}"' if other else what)
    return refusals.text(f"{where}.name", table.get("name", type_)), entries[type_]


def _arguments(where: str, table: Mapping[str, Any], entry: Entry, base: Path, sweeps: bool) -> dict:
    parameters = entry.parameters()
    result = {}
    for name, parameter in parameters.items():
        at = f"{where}.{name}"
        value = table.get(name, parameter.default)
        if name not in table:
            if sweeps and name in KNOWABLE:  # an algorithm's: the instance may know it
                continue
            if parameter.required or value is None or not isinstance(value, bool | int | float | str | tuple):
                continue
            value = list(value) if isinstance(value, tuple) else value
        if isinstance(value, dict) and "sweep" in value and sweeps:
            result[name] = arguments.sweep(at, value, parameter)
        else:
            result[name] = arguments.convert(at, value, parameter, base)
    return result


def _complete(where: str, entry: Entry, given: Mapping[str, Any], instance: InstanceSpec | None = None) -> None:
    for name, parameter in entry.parameters().items():
        if parameter.required and name not in given:
            wanted = f"{entry.name} needs {', '.join(entry.arguments)}"
            if instance and name in (*KNOWABLE, *entry.truth):
                wanted += f", and instance {instance.name} ({instance.type}) does not give it"
            refuse(f"{where}.{name}", f": missing, {wanted}")


def _one_row_an_arm(where: str, cell: Cell) -> None:
    import numpy as np

    features = cell.params.get("features")
    if features is None:
        return
    rows, own = np.shape(features)[:-1], np.shape(cell.instance.known.get("features", ()))[:-1]
    wanted = own or (cell.instance.num_arms,)
    if rows != wanted and (1, *rows) != wanted:  # the one set of an instance may stand without its axis
        each = "one a context and an arm" if len(wanted) > 1 else "one an arm"
        got, must = (" x ".join(map(str, shape)) or "0" for shape in (rows, wanted))
        refuse(f"{where}.features", f" has {got} rows, must have {must}, {each} of instance {cell.instance.name}")


def _instance(where: str, table: Mapping[str, Any], base: Path) -> InstanceSpec:
    import jax

    name, entry = _typed(where, table, ENVIRONMENTS)
    refusals.known(f"{where}.", table, ("name", "type", *entry.arguments))
    given = _arguments(where, table, entry, base, sweeps=False)
    _complete(where, entry, given)
    environment = build(where, entry, given)
    num_arms = jax.eval_shape(environment.init, jax.random.key(0)).means.shape[-1]
    known = {k: v for k, v in given.items() if k in entry.public} | {"num_arms": num_arms}
    if describe := entry.description():
        with jax.enable_x64(True):
            known |= {k: arguments.constant(v) for k, v in describe(**given).items()}
    return InstanceSpec(name, entry.name, given, known)


def _algorithm(where: str, table: Mapping[str, Any], base: Path, kind: str) -> AlgorithmSpec:
    name, entry = _typed(where, table, {k: v for k, v in ALGORITHMS.items() if v.kind == kind})
    for key in PROBLEM_DATA:
        if key in table:
            got = refusals.show(table[key])
            refuse(f"{where}.{key}", f" = {got}, cannot be set: the instance gives it; leave it out")
    own = tuple(a for a in entry.arguments if a not in PROBLEM_DATA)
    refusals.known(f"{where}.", table, ("name", "type", *own))
    return AlgorithmSpec(name, entry.name, _arguments(where, table, entry, base, sweeps=True))
