"""The TOML of a search: configurations as a grid or a table, and how they are compared.

Every error is a BadInput with a message of one line: file, key, value, what is allowed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jaxbandit.base import refusals
from jaxbandit.base.refusals import refuse, wrong
from jaxbandit.lab.specs import session, source, tables
from jaxbandit.lab.specs.experiment import AlgorithmSpec

KIND = "tune"
KEYS = tuple("name kind delta epsilon seed paired batch on_failure maximize configs static algorithm".split())


@dataclass(frozen=True)
class SearchSpec:
    """A resolved search."""

    name: str
    delta: float | None
    epsilon: float | None
    seed: int
    paired: bool
    batch: int | None
    on_failure: float | None
    maximize: bool
    configs: dict[str, list[Any]] | tuple[dict[str, Any], ...]  # values to combine, or configurations
    static: tuple[str, ...]  # hyperparameters that `train` receives as Python values
    algorithm: AlgorithmSpec | None

    def build(self, num_arms: int) -> Any:
        """Return the Algorithm for num_arms configurations, or None for the default one."""
        if self.algorithm is None:
            return None
        return tables.build_alone(f"{self.name}: algorithm[0]", self.algorithm, num_arms)


def load(path: Path, *, imports: bool = True) -> SearchSpec:
    """Return the search of a TOML file.

    Args:
      path: path of the file.
      imports: whether a `type` may name a factory outside the package; importing its module runs its code.

    Raises:
      BadInput: the file cannot be read or something in it is wrong; the message is one line.
    """
    data, at = source.read(path), f"{path}: "
    refusals.known(at, data, KEYS)
    refusals.choice(f"{at}kind", data.get("kind", "missing"), (KIND,))
    given = data.get("algorithm")
    numbers = {
        name: None if data.get(name) is None else refusals.number(f"{at}{name}", data[name]) for name in _NUMBERS
    }
    if given is not None and (taken := [name for name in ("delta", "epsilon") if name in data]):
        refuse(
            f"{at}{taken[0]}", f" = {data[taken[0]]} cannot be given together with [[algorithm]]; give it only there"
        )
    configs = _configs(f"{at}configs", data.get("configs"), path.parent)
    names = configs if isinstance(configs, dict) else configs[0]
    static = data.get("static", [])
    if not isinstance(static, list):
        wrong(f"{at}static", static, "a list of names of hyperparameters")
    for i, name in enumerate(static):
        refusals.choice(f"{at}static[{i}]", name, tuple(names))
    batch = data.get("batch")
    return SearchSpec(
        name=refusals.text(f"{at}name", data.get("name", path.stem)),
        delta=numbers["delta"],
        epsilon=numbers["epsilon"],
        seed=refusals.integer(f"{at}seed", data.get("seed", 0), 0, 2**32 - 1),
        paired=refusals.boolean(f"{at}paired", data.get("paired", True)),
        batch=None if batch is None else refusals.integer(f"{at}batch", batch, 1, 2**20),
        on_failure=numbers["on_failure"],
        maximize=refusals.boolean(f"{at}maximize", data.get("maximize", True)),
        configs=configs,
        static=tuple(static),
        algorithm=None if given is None else tables.alone(at, given, path.parent, imports),
    )


_NUMBERS = ("delta", "epsilon", "on_failure")


def _configs(where: str, value: Any, base: Path) -> dict[str, list[Any]] | tuple[dict[str, Any], ...]:
    """Return values of hyperparameters by name, or configurations from a CSV file or a list of tables."""
    if not isinstance(value, Mapping):
        if value is None:
            refuse(where, ': missing, must be a table of lists, [configs] with lr = [0.1, 0.01], or "configs.csv"')
        return session.configurations(where, value, base)
    for name, values in value.items():
        if not isinstance(values, list) or not values:
            wrong(f"{where}.{name}", values, "a list of values")
        for i, cell in enumerate(values):
            if type(cell) not in (bool, int, float, str):
                wrong(f"{where}.{name}[{i}]", cell, "a number, a string, true or false")
    return {name: list(values) for name, values in value.items()}
