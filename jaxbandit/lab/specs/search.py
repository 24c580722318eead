"""The TOML of a search: configurations as a grid or a table, and how they are compared.

Every error is a BadInput with a message of one line: file, key, value, what is allowed.
"""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jaxbandit.base.domains import BOOLEAN, NAME, check, choice, integer, number, several
from jaxbandit.base.refusals import refuse
from jaxbandit.lab.specs import keys, session, source, tables
from jaxbandit.lab.specs.experiment import SEED, AlgorithmSpec
from jaxbandit.lab.specs.keys import ANY, SCALAR, Key, key, keys_of

KIND = "tune"
_CONFIGS = ANY._replace(allowed='a table of lists, [configs] with lr = [0.1, 0.01], or "configs.csv"')


@dataclass(frozen=True, kw_only=True)
class SearchSpec:
    """A resolved search."""

    name: str = key(NAME)
    delta: float | None = key(number(), None)
    epsilon: float | None = key(number(), None)
    seed: int = key(SEED, 0)
    paired: bool = key(BOOLEAN, True)
    batch: int | None = key(integer(1, 2**20), None)
    on_failure: float | None = key(number(), None)
    maximize: bool = key(BOOLEAN, True)
    configs: dict[str, list[Any]] | tuple[dict[str, Any], ...]  # values to combine, or configurations
    static: tuple[str, ...]  # hyperparameters that `train` receives as Python values
    algorithm: AlgorithmSpec | None

    def build(self, num_arms: int) -> Any:
        """Return the Algorithm for num_arms configurations, or None for the default one."""
        if self.algorithm is None:
            return None
        return tables.build_single(f"{self.name}: algorithm[0]", self.algorithm, num_arms)


KEYS = {"kind": Key(choice((KIND,)))} | keys_of(SearchSpec)
KEYS |= {"configs": Key(_CONFIGS), "static": Key(ANY, []), "algorithm": Key(keys.tables("algorithm", one=True), None)}


def load(path: Path, *, imports: bool = True) -> SearchSpec:
    """Return the search of a TOML file.

    Args:
      path: path of the file.
      imports: whether a `type` may name a factory outside the package; importing its module runs its code.

    Raises:
      BadInput: the file cannot be read or something in it is wrong; the message is one line.
    """
    at = f"{path}: "
    settings = keys.read(at, {"name": path.stem} | source.read(path), KEYS)
    if settings["algorithm"] is not None:
        for name in ("delta", "epsilon"):
            if settings[name] is not None:
                reason = "cannot be given together with [[algorithm]]; give it only there"
                refuse(f"{at}{name}", f" = {settings[name]} {reason}")
        [table] = settings["algorithm"]
        settings["algorithm"] = tables.single_algorithm(f"{at}algorithm[0]", table, path.parent, imports)
    configs = settings["configs"] = _configs(f"{at}configs", settings["configs"], path.parent)
    names = configs if isinstance(configs, dict) else configs[0]
    static = several(choice(names), "a list of names of hyperparameters", empty=True)
    settings["static"] = check(f"{at}static", settings["static"], static)
    del settings["kind"]
    return SearchSpec(**settings)


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
