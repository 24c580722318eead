"""The TOML of a session: one algorithm, and the arms that it decides about, as names or as configurations.

Every error is a BadInput with a message of one line: file, key, value, what is allowed. Lists are numbered from 0.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jaxbandit.lab.specs import keys, references, source, tables
from jaxbandit.lab.specs.arguments import text_rows
from jaxbandit.lab.specs.entry import Entry
from jaxbandit.lab.specs.experiment import SEED, AlgorithmSpec
from jaxbandit.lab.specs.keys import ANY, SCALAR, Key, key, keys_of
from jaxbandit.support import decimals
from jaxbandit.support.domains import BOOLEAN, NAME, Domain, check, choice, integer, number, several
from jaxbandit.support.refusals import refuse, wrong
from jaxbandit.support.text import printable

KIND = "session"
MOST_ARMS = 10**6

_NAMES = several(NAME, "a number or a list of names", distinct=True)
_COUNT = integer(1, MOST_ARMS)


_ARMS = Domain(
    _NAMES.allowed,
    lambda value: _NAMES.take(value) if isinstance(value, list) else tuple(map(str, range(_COUNT.take(value)))),
)


@dataclass(frozen=True, kw_only=True)
class SessionSpec:
    """A resolved session."""

    name: str = key(NAME)
    seed: int = key(SEED, 0)
    paired: bool = key(BOOLEAN, False)
    on_failure: float | None = key(number(), None)
    names: tuple[str, ...]  # names of the arms
    configs: tuple[dict[str, Any], ...] | None  # one per arm, or None if arms have only names
    algorithm: AlgorithmSpec

    def build(self) -> Any:
        """Return the Algorithm for the arms of the session."""
        return tables.build_single(f"{self.name}: algorithm[0]", self.algorithm, len(self.names))

    @property
    def outside(self) -> bool:
        """Whether the algorithm is code outside the package."""
        return references.is_reference(self.algorithm.type)

    @property
    def labels(self) -> list[str]:
        """The label of each arm: its name, or its number and configuration."""
        if self.configs is None:
            return [printable(name) for name in self.names]
        rows = (", ".join(f"{k}={v}" for k, v in config.items()) for config in self.configs)
        return [f"{i}: {printable(row)}" for i, row in enumerate(rows)]

    def to_dict(self) -> dict[str, Any]:
        """Return the session as plain data, which `parse` can read."""
        arms = {"arms": list(self.names)} if self.configs is None else {"configs": list(self.configs)}
        failure = {} if self.on_failure is None else {"on_failure": self.on_failure}
        about = {"name": self.name, "kind": KIND, "seed": self.seed, "paired": self.paired}
        return {**about, **failure, **arms, "algorithm": [self.algorithm.to_dict()]}


KEYS = {"kind": Key(choice((KIND,)))} | keys_of(SessionSpec) | {"arms": Key(_ARMS, None), "configs": Key(ANY, None)}
KEYS |= {"algorithm": Key(keys.tables("algorithm", one=True))}


def load(path: Path, *, imports: bool | None = True) -> SessionSpec:
    """Return the session of a TOML file; `imports` is as for `parse`."""
    return parse(source.read(path), str(path), path.parent, imports=imports)


def load_stored(directory: Path, *, imports: bool | None = True) -> SessionSpec:
    """Return the spec with which the session of a directory was begun; raise a ValueError if that was in Python."""
    from jaxbandit.decide.sessions.stored import ABOUT, read_about  # imports JAX

    if not (directory / ABOUT).exists():
        refuse(str(directory), ": holds no session; begin one with jaxbandit ask DIR SPEC.toml")
    data = read_about(directory)["meta"].get("spec")
    if not isinstance(data, dict):
        refuse(str(directory), ": its session was begun in Python, where its rule is defined; continue it there")
    return parse(data, str(directory / ABOUT), directory, imports=imports)


def parse(data: Mapping[str, Any], origin: str, base: Path = Path(), *, imports: bool | None = True) -> SessionSpec:
    """Return the session described by plain data.

    Args:
      data: the content of a TOML file.
      origin: name of the file, for error messages; its stem is the default name of the session.
      base: directory that relative paths start from.
      imports: whether a `type` may name a factory outside the package; importing its module runs its code. With None it
        may, but the module is not imported, so that the session is described but cannot be built.
    """
    at = f"{origin}: "
    settings = keys.read(at, {"name": Path(origin).stem, **data}, KEYS)
    if (settings["arms"] is None) == (settings["configs"] is None):
        got = "missing" if settings["arms"] is None else "given together with configs"
        refuse(f"{at}arms", f': {got}, give either arms = 3 or a list of names, or configs = "configs.csv"')
    if settings["configs"] is not None:
        settings["configs"] = configurations(f"{at}configs", settings["configs"], base)
        settings["arms"] = tuple(map(str, range(len(settings["configs"]))))
    where, [algorithm] = f"{at}algorithm[0]", settings["algorithm"]
    if imports is None and references.is_reference(algorithm.get("type")):
        settings["algorithm"] = _not_imported(where, algorithm)
    else:
        settings["algorithm"] = tables.single_algorithm(where, algorithm, base, imports is True)
        tables.build_single(where, settings["algorithm"], len(settings["arms"]))
    del settings["kind"]
    return SessionSpec(names=settings.pop("arms"), **settings)


def _not_imported(where: str, table: Mapping[str, Any]) -> AlgorithmSpec:
    """Return an algorithm outside the package with its arguments as they are written, without importing anything."""
    name = check(f"{where}.name", table.get("name", source.default_name(table)), NAME)
    module, _, attribute = table["type"].partition(":")
    entry = Entry(name=table["type"], module=module, attribute=attribute, arguments=())
    return AlgorithmSpec(name, entry, {key: value for key, value in table.items() if key not in ("name", "type")})


def configurations(where: str, value: Any, base: Path) -> tuple[dict[str, Any], ...]:
    """Return different configurations with the same keys, given as a CSV file with a header or as a list of tables."""
    rows = _rows(where, base / value) if isinstance(value, str) else value
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) and row for row in rows):
        wrong(where, value, "the name of a CSV file with a header, or a list of tables")
    first: dict[Any, int] = {}
    for i, row in enumerate(rows):
        if row.keys() != rows[0].keys():
            wrong(f"{where}[{i}]", list(row), f"the keys {', '.join(rows[0])} like {where.rpartition(' ')[2]}[0]")
        for name, cell in row.items():
            check(f"{where}[{i}].{name}", cell, number() if type(cell) is float else SCALAR)
        same = first.setdefault(tuple((name, type(row[name]) is bool, row[name]) for name in rows[0]), i)
        if same < i:
            one, other = (f"row {n + 2}" if isinstance(value, str) else f"[{n}]" for n in (same, i))
            refuse(where, f": {other} is the same configuration as {one}; leave one of them out")
    return tuple(rows)


def _rows(where: str, path: Path) -> list[dict[str, Any]]:
    at = f'{where} = "{path}"'
    rows = text_rows(at, path, "a CSV file with a header and one configuration per row")
    if len(rows) < 2:
        refuse(
            at, ": contains no configuration; the first row must be the header, and each further row a configuration"
        )
    (_, header), *body = rows
    if not all(header) or len(set(header)) < len(header):
        refuse(at, f": its header is {', '.join(header)}, must be names that are all different")
    return [
        {name: _cell(f"{at}: line {line}: {name}", cell) for name, cell in zip(header, row, strict=True)}
        for line, row in body
    ]


def _cell(where: str, cell: str) -> Any:
    """Return a cell as an integer or a float if it is one, and otherwise as text."""
    if decimals.is_ambiguous(cell):
        wrong(where, cell, "a decimal number that a float64 can hold, or a text that is none")
    whole = decimals.integer(cell)
    number = decimals.number(cell) if whole is None else whole
    return cell if number is None else number
