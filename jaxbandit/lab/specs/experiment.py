"""An experiment as frozen data, with every default written out, so that equal experiments compare as equal."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from jaxbandit.base import extras
from jaxbandit.lab.specs import arguments, registry
from jaxbandit.lab.specs.entry import Entry
from jaxbandit.lab.specs.registry import FILLED, KNOWABLE
from jaxbandit.running.failures import MOST

# For each kind, the keys that only this kind has.
OWN = {
    "simulate": ("horizon", "checkpoints", "per_run", "hindsight", "replan_late"),
    "identify": ("max_rounds", "budget"),
}
EITHER = OWN["identify"]  # an experiment has one of these
KINDS = tuple(OWN)
LABELS = ("name", "kind", "runs", "seed")
COMMON = ("precision", "any_rewards", "max_failed")
MOST_ROUNDS = 2**31 - 129  # counts are int32, and a block of rounds must fit on top


@dataclass(frozen=True)
class InstanceSpec:
    """One [[instance]] with all its arguments."""

    name: str
    type: str
    arguments: Mapping[str, Any]
    known: Mapping[str, Any] = field(compare=False)  # what follows from the arguments, true parameters included

    @property
    def entry(self) -> Entry:
        """The environment's entry."""
        return registry.environment(self.type)

    def build(self) -> Any:
        """Return the Environment."""
        return self.entry.build(self.arguments)

    def public(self) -> dict[str, Any]:
        """Return what an algorithm may know about this instance."""
        return {k: v for k, v in self.known.items() if k in KNOWABLE}


@dataclass(frozen=True)
class AlgorithmSpec:
    """One [[algorithm]] with all its arguments except those that are filled from the instance and the horizon."""

    name: str
    type: str
    arguments: Mapping[str, Any]

    @property
    def entry(self) -> Entry:
        """The algorithm's entry."""
        return registry.algorithm(self.type)


@dataclass(frozen=True)
class Cell:
    """One algorithm on one instance, with one value of every hyperparameter that is swept."""

    index: int
    instance: InstanceSpec
    algorithm: AlgorithmSpec
    params: dict[str, Any]  # the algorithm's own hyperparameters
    arguments: dict[str, Any]  # all arguments of the factory: params and what is filled in

    def build(self) -> Any:
        """Return the Algorithm."""
        return self.algorithm.entry.build(self.arguments)


@dataclass(frozen=True)
class Experiment:
    """A resolved experiment, with every default written out, so that equal experiments compare as equal."""

    name: str
    kind: str
    runs: int
    seed: int
    precision: str
    instances: tuple[InstanceSpec, ...]
    algorithms: tuple[AlgorithmSpec, ...]
    horizon: int = 0  # kind "simulate", with the four fields below
    checkpoints: tuple[int, ...] = ()
    per_run: bool = True
    hindsight: bool = False
    replan_late: int = 0
    max_rounds: int = 0  # kind "identify"
    budget: tuple[int, ...] = ()  # in place of max_rounds, for algorithms that take a budget; one cell per value
    any_rewards: bool = False
    max_failed: float = MOST

    def cells(self) -> Iterator[Cell]:
        """Yield the cells: instances are the outermost loop, then algorithms, then swept values, then budgets."""
        index = 0
        for instance in self.instances:
            for algorithm in self.algorithms:
                for given in arguments.product(algorithm.arguments):
                    for own in [given | {"budget": budget} for budget in self.budget] or [given]:
                        yield Cell(index, instance, algorithm, own, own | self._filled(instance, algorithm))
                        index += 1

    def most_rounds(self, cell: Cell) -> int:
        """Return the number of pulls after which a run of this cell ends even if its rule has not stopped it."""
        return cell.params["budget"] if self.budget else self.max_rounds

    def _filled(self, instance: InstanceSpec, algorithm: AlgorithmSpec) -> dict[str, Any]:
        oracle = {name: instance.known[name] for name in algorithm.entry.truth if name in instance.known}
        known = instance.public() | oracle | ({"horizon": self.horizon} if self.horizon else {})
        wanted = {k: p for k, p in algorithm.entry.parameters().items() if k not in algorithm.arguments}
        default = {k: p.default for k, p in wanted.items() if k in FILLED and not p.required}
        return default | {k: v for k, v in known.items() if k in wanted}

    def to_dict(self) -> dict[str, Any]:
        """Return the experiment as plain data, with the keys in the order of the TOML, which `parse` can read."""

        def table(item: InstanceSpec | AlgorithmSpec) -> dict[str, Any]:
            return {"name": item.name, "type": item.type} | {k: arguments.plain(v) for k, v in item.arguments.items()}

        return {
            **{key: arguments.plain(getattr(self, key)) for key in (*LABELS, *self._own(), *COMMON)},
            "instance": [table(item) for item in self.instances],
            "algorithm": [table(item) for item in self.algorithms],
        }

    def _own(self) -> tuple[str, ...]:
        return tuple(key for key in OWN[self.kind] if key not in EITHER or getattr(self, key))

    def to_toml(self) -> str:
        """Return the experiment as TOML, which `load` can read."""
        with extras.lab():
            import tomli_w

        return tomli_w.dumps(self.to_dict())
