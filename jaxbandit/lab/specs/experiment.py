"""An experiment as frozen data, with every default written out, so that equal experiments compare as equal.

The fields of `Experiment` declare the keys of its TOML: what each may be, and its default. To add a key, add a field.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from jaxbandit.lab.specs import arguments
from jaxbandit.lab.specs.entry import Entry
from jaxbandit.lab.specs.keys import Key, key, keys_of, tables
from jaxbandit.lab.specs.registry import FILLED
from jaxbandit.support import extras
from jaxbandit.support.domains import (
    BOOLEAN,
    INT32,
    MAX_ROUNDS,
    MOST_PULLS,
    MOST_ROUNDS,
    NAME,
    UINT32,
    Domain,
    choice,
    default_precision,
    integer,
    number,
    one_or_several,
    precision,
    several,
    values,
)
from jaxbandit.support.refusals import MAX_FAILED

SEED = integer(0, UINT32)

_METRICS = several(NAME, "a list of names of metrics", empty=True)
_ALLOW = several(choice(("rewards", "context")), 'a list of some of "rewards", "context"', empty=True)
_BUDGET = one_or_several(integer(1, MOST_PULLS), "a number of pulls, or a list of them", distinct=True)


def _checkpoints(settings: Mapping[str, Any]) -> Domain:
    horizon = settings["horizon"]
    marks = several(integer(1, horizon), f"a list of increasing rounds in [1, {horizon}]", increasing=True)
    # The last one is the horizon, as in the engine.
    return marks._replace(take=lambda value: tuple(dict.fromkeys((*marks.take(value), horizon))))


def _default_checkpoints(settings: Mapping[str, Any]) -> tuple[int, ...]:
    from jaxbandit.engine.driver.simulate import default_checkpoints  # it imports JAX

    return tuple(default_checkpoints(settings["horizon"]).tolist())


def _max_rounds(settings: Mapping[str, Any]) -> Domain:
    if settings["budget"]:
        return values("left out, because budget ends all runs", lambda value: False)
    return integer(1, MOST_PULLS)


def _default_max_rounds(settings: Mapping[str, Any]) -> int:
    return 0 if settings["budget"] else MAX_ROUNDS


def _limit(settings: Mapping[str, Any]) -> tuple[str, int]:
    """Return the key that limits the number of rounds, and the largest number of rounds of a run."""
    name = next(name for name in ("horizon", "budget", "max_rounds") if settings.get(name))
    return name, max(settings["budget"]) if name == "budget" else settings[name]


def _default_precision(settings: Mapping[str, Any]) -> str:
    return "float64" if settings["kind"] == "identify" else default_precision(settings["horizon"])


@dataclass(frozen=True)
class Table:
    """One [[instance]] or [[algorithm]]."""

    name: str
    entry: Entry
    arguments: Mapping[str, Any]

    @property
    def type(self) -> str:
        """The `type` in TOML."""
        return self.entry.name

    def to_dict(self) -> dict[str, Any]:
        """Return the table as plain data."""
        return {"name": self.name, "type": self.type} | {k: arguments.plain(v) for k, v in self.arguments.items()}


@dataclass(frozen=True)
class InstanceSpec(Table):
    """One [[instance]] with all its arguments."""

    known: Mapping[str, Any] = field(compare=False)  # what an algorithm may know, which follows from the arguments
    hidden: Mapping[str, Any] = field(compare=False)  # true parameters, for declared oracles

    def build(self) -> Any:
        """Return the Environment."""
        return self.entry.build(self.arguments)


@dataclass(frozen=True)
class AlgorithmSpec(Table):
    """One [[algorithm]] with all its arguments except those that are filled from the instance and the horizon."""


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


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """A resolved experiment, with every default written out, so that equal experiments compare as equal."""

    name: str = key(NAME)
    kind: str = key(choice(("simulate", "identify")))
    runs: int = key(integer(1, INT32))
    seed: int = key(SEED, 0)
    horizon: int = key(integer(1, MOST_ROUNDS), kind="simulate", otherwise=0)
    checkpoints: tuple[int, ...] = key(_checkpoints, _default_checkpoints, kind="simulate", otherwise=())
    per_run: bool = key(BOOLEAN, True, kind="simulate", otherwise=True)
    hindsight: bool = key(BOOLEAN, False, kind="simulate", otherwise=False)
    metrics: tuple[str, ...] = key(_METRICS, ())
    replan_late: int = key(integer(0, INT32 - 1), 0, kind="simulate", otherwise=0)
    # Pulls of a run, in place of max_rounds, for algorithms that take a budget; one cell per value.
    budget: tuple[int, ...] = key(_BUDGET, (), kind="identify", otherwise=())
    max_rounds: int = key(_max_rounds, _default_max_rounds, kind="identify", otherwise=0)
    precision: str = key(lambda settings: precision(*_limit(settings)), _default_precision)
    allow: tuple[Literal["rewards", "context"], ...] = key(_ALLOW, ())
    max_failed: float = key(number(0, 1), MAX_FAILED)
    instances: tuple[InstanceSpec, ...]
    algorithms: tuple[AlgorithmSpec, ...]

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
        oracle = {name: instance.hidden[name] for name in algorithm.entry.truth if name in instance.hidden}
        known = dict(instance.known) | oracle | ({"horizon": self.horizon} if self.horizon else {})
        wanted = {k: p for k, p in algorithm.entry.parameters().items() if k not in algorithm.arguments}
        default = {k: p.default for k, p in wanted.items() if k in FILLED and not p.required}
        return default | {k: v for k, v in known.items() if k in wanted}

    def to_dict(self) -> dict[str, Any]:
        """Return the experiment as plain data, with the keys in the order of the TOML, which `parse` can read."""
        left_out = ["max_rounds" if self.budget else "budget", *([] if self.metrics else ["metrics"])]
        keys = [name for name, key in keys_of(Experiment).items() if key.kind in ("", self.kind)]
        return {
            **{key: arguments.plain(getattr(self, key)) for key in keys if key not in left_out},
            "instance": [item.to_dict() for item in self.instances],
            "algorithm": [item.to_dict() for item in self.algorithms],
        }

    def to_toml(self) -> str:
        """Return the experiment as TOML, which `load` can read."""
        with extras.lab():
            import tomli_w

        return tomli_w.dumps(self.to_dict())


KEYS = keys_of(Experiment) | {name: Key(tables(name)) for name in ("instance", "algorithm")}
