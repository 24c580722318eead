"""Which part of the package may import which, and that files close no circle: read off the import statements.

A stub `__init__.pyi` is read like a file, because its names are imported from there on first use. Imports by a string
count too: a literal is followed, and where the string is computed the file must be listed here with its reason.
"""

import ast
import functools
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from jaxbandit.lab.specs.registry import ALGORITHMS, ENVIRONMENTS
from jaxbandit.lab.specs.wrappers import WRAPPERS

ROOT = Path(__file__).parent.parent

# A part may import these, what they reach, and itself. The longest name decides: lab.specs before lab.
ARROWS = {
    "support": (),
    "base": ("support",),
    "theory.solvers": ("base",),
    "theory.estimators": ("theory.solvers",),
    "theory.intervals": ("base",),
    "theory.bounds": ("theory.solvers",),
    "theory": ("theory.estimators", "theory.intervals", "theory.bounds"),
    "algorithms": ("theory",),
    "environments": ("theory",),
    "engine.layout": ("base",),
    "engine.rounds": ("engine.layout",),
    "engine.storage": ("engine.rounds",),
    "engine.kernels": ("engine.rounds",),
    "engine.driver": ("engine.storage", "engine.kernels"),
    "engine": ("engine.driver",),
    "running.plotting": ("theory", "engine.storage"),
    "running.results": ("running.plotting", "engine"),
    "running.distribution": ("running.results",),
    "running": ("running.distribution", "algorithms", "environments"),
    "decide.core": ("theory", "engine.storage"),
    "decide.variants": ("decide.core",),
    "decide.logs": ("decide.core", "running"),
    "decide.sessions": ("decide.logs",),
    "decide.tuning": ("decide.sessions",),
    "decide.duels": ("decide.sessions",),
    "decide.gate": ("decide.tuning",),
    "decide.integrations": ("decide.tuning",),
    "decide": ("decide.duels", "decide.gate", "decide.integrations", "decide.variants"),
    "sklearn": ("decide.integrations",),
    "optuna": ("decide.integrations",),
    "lab.conformance": ("engine",),
    "lab.specs": ("decide",),
    "lab.experiments": ("lab.specs",),
    "lab.auditing": ("lab.experiments",),
    "lab.papers": ("lab.experiments",),
    "lab.report": ("lab.auditing", "lab.papers"),
    "lab.cli": ("lab.report", "lab.conformance"),
    "lab": ("lab.cli",),
    "__main__": ("lab",),
}
# Other parts take an algorithm or an environment from these packages by its public name, never from its file.
CONCRETE = ("algorithms", "environments")
# Files that import a module whose name is computed, and what it may be.
BY_STRING = {
    "jaxbandit": "a public name, whose module the stub says",
    "jaxbandit.lab.specs.references": "a factory outside the package, which a user names in TOML",
    "jaxbandit.lab.specs.entry": "a registered factory, whose module the stub of its package names, or a user's",
    "jaxbandit.running.factories": "the factory of a functools.partial, on an executor's worker",
}


def room_of(module: str) -> str:
    """The part to which a module belongs: the longest name in ARROWS."""
    parts = module.split(".")[1:]
    for length in (2, 1):
        if (room := ".".join(parts[:length])) in ARROWS:
            return room
    return ""


def reachable(room: str) -> set[str]:
    rooms, frontier = {room}, list(ARROWS[room])
    while frontier:
        rooms.add(near := frontier.pop())
        frontier.extend(ARROWS[near])
    return rooms


@functools.cache
def imported(module: str, is_package: bool, source: str) -> tuple[tuple[str, str | None], ...]:
    """Return `imports` of a file, which is read once for all tests."""
    return tuple(imports(module, is_package, source))


def imports(module: str, is_package: bool, source: str) -> Iterator[tuple[str, str | None]]:
    """Yield (module, name or None) for each import statement and import by a literal, at any depth.

    A module whose name is computed is yielded as ("", None).
    """
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = module.split(".")
                parts = parts[: len(parts) - node.level + is_package]
                base = ".".join([*parts, base] if base else parts)
            yield from ((base, alias.name) for alias in node.names)
        elif isinstance(node, ast.Call) and node.args:
            called = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if called in ("import_module", "__import__"):
                target = node.args[0]
                literal = isinstance(target, ast.Constant) and isinstance(target.value, str)
                yield (target.value if literal else "", None)


def packages_of(sources: Mapping[str, str]) -> set[str]:
    return {name.rpartition(".")[0] for name in sources}


def violations(sources: Mapping[str, str]) -> list[str]:
    """Return a line for each import that the arrows forbid, from {dotted module: source}."""
    packages = packages_of(sources)
    found = []
    for module, source in sources.items():
        if module == "jaxbandit":
            continue  # it shows the public names of all
        if not (room := room_of(module)):
            found.append(f"{module}: no such part in the diagram")
            continue
        lists = module in ("jaxbandit.lab", "jaxbandit.decide", "jaxbandit.running", "jaxbandit.engine")
        for base, name in imported(module, module in packages, source):
            if not base and module not in BY_STRING:
                found.append(f"{module} imports a module whose name is computed")
            if base.split(".")[0] != "jaxbandit":
                continue
            target = f"{base}.{name}" if name and f"{base}.{name}" in sources else base
            if base == "jaxbandit" and name in CONCRETE:
                target = base = f"jaxbandit.{name}"
            if target == "jaxbandit":
                found.append(f"{module} imports the public face: name the module that defines {name or 'it'}")
                continue
            to = room_of(target) or target
            if to not in reachable(room) and not (lists and to.startswith(f"{room}.")):
                found.append(f"{module} imports {target}: {room} may not import {to}")
            elif to in CONCRETE and room != to and base != f"jaxbandit.{to}":
                found.append(f"{module} imports {target}: import the public name from jaxbandit.{to}")
    return found


def circle(sources: Mapping[str, str]) -> list[str]:
    """Return modules each of which imports the next, the last the first; [] where files close no circle.

    An import inside a function or for types only counts like any other. A package's own list of its public names is
    left out: it imports nothing until a name is used, and no file inside the package uses it.
    """
    packages = packages_of(sources)
    near = {}
    for module, source in sources.items():
        targets = {
            f"{base}.{name}" if f"{base}.{name}" in sources else base
            for base, name in imported(module, module in packages, source)
        }
        near[module] = sorted(targets & sources.keys() - {"jaxbandit"}) if module != "jaxbandit" else []
    done, path = set(), []

    def search(module: str) -> list[str]:
        if module in path:
            return path[path.index(module) :]
        if module in done:
            return []
        path.append(module)
        for target in near[module]:
            if found := search(target):
                return found
        done.add(path.pop())
        return []

    return next(filter(None, map(search, near)), [])


def sources_of(package: str) -> dict[str, str]:
    """The source of each module by its dotted name; a package's stub is appended to its `__init__.py`."""
    sources = {}
    for path in sorted((ROOT / package).rglob("*.py*")):
        if path.suffix not in (".py", ".pyi"):
            continue
        parts = path.relative_to(ROOT).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        sources[name] = sources.get(name, "") + "\n" + path.read_text(encoding="utf-8")
    return sources


@pytest.mark.slow
def test_the_package_keeps_its_arrows():
    sources = sources_of("jaxbandit")
    assert "jaxbandit.environments.stationary.bernoulli" in sources and "jaxbandit.engine" in sources
    assert violations(sources) == []
    sources["jaxbandit.engine.rounds.keys"] += "\nfrom jaxbandit.environments.stationary.bernoulli import bernoulli\n"
    assert len(violations(sources)) == 1


@pytest.mark.slow
@pytest.mark.parametrize("package", ["jaxbandit", "benchmarks"])
def test_files_close_no_circle(package):
    sources = sources_of(package)
    assert len(sources) > 20 and circle(sources) == []


@pytest.mark.slow
def test_the_package_imports_no_benchmark():
    for module, source in sources_of("jaxbandit").items():
        assert not [base for base, _ in imported(module, False, source) if base.split(".")[0] == "benchmarks"], module


@pytest.mark.slow
def test_a_circle_through_a_real_file_is_found():
    sources = sources_of("jaxbandit")
    below, above = "jaxbandit.running.results.names", "jaxbandit.running.results.loading"
    assert circle(sources | {below: f"{sources[below]}\n\ndef f():\n    from {above} import load\n"})


@pytest.mark.slow
def test_files_that_import_by_a_computed_name_are_those_listed():
    sources = sources_of("jaxbandit")
    packages = packages_of(sources)
    computed = {m for m, s in sources.items() if any(not base for base, _ in imported(m, m in packages, s))}
    assert computed == BY_STRING.keys()


def test_factories_that_experiments_name_by_module_are_within_reach():
    """A `type = "package.module:factory"` of an embedded experiment is an import that only its TOML states."""
    named = set()
    for path in sorted((ROOT / "jaxbandit").rglob("*.toml")):
        frontier: list = [tomllib.loads(path.read_text(encoding="utf-8"))]
        while frontier:
            value = frontier.pop()
            frontier += value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
            if isinstance(value, str) and value.startswith("jaxbandit."):
                named.add(value.partition(":")[0])
    assert named and all(room_of(module) in reachable("lab.papers") for module in named)


def test_registered_factories_are_algorithms_and_environments():
    """Their modules are imported by the names that the stubs give."""
    modules = {entry.module for entry in (*ALGORITHMS.values(), *ENVIRONMENTS.values(), *WRAPPERS.values())}
    assert len(modules) > 90 and {room_of(module) for module in modules} == {*CONCRETE}


CIRCLES = {
    "plain": ("import jaxbandit.theory.b", "from jaxbandit.theory import a"),
    "a name of the module": ("from jaxbandit.theory.b import x", "from jaxbandit.theory.a import y"),
    "inside a function": ("from jaxbandit.theory import b", "def f():\n    from jaxbandit.theory import a"),
    "for types only": ("from jaxbandit.theory import b", "if TYPE_CHECKING:\n    from jaxbandit.theory.a import A"),
    "relative": ("from . import b", "from .a import A"),
    "by string": ("from . import b", "importlib.import_module('jaxbandit.theory.a')"),
}


@pytest.mark.parametrize("case", CIRCLES)
def test_a_circle_of_files_is_found(case):
    a, b = CIRCLES[case]
    sources = {"jaxbandit.theory": "", "jaxbandit.theory.a": a, "jaxbandit.theory.b": b}
    assert circle(sources) == ["jaxbandit.theory.a", "jaxbandit.theory.b"]
    assert circle(sources | {"jaxbandit.theory.b": ""}) == []


FORBIDDEN = {
    "support -> contract": ("jaxbandit.support.checks", "from jaxbandit.base.contract import Algorithm"),
    "base -> theory": ("jaxbandit.base.metrics", "import jaxbandit.theory.solvers.kl"),
    "solvers -> estimators": ("jaxbandit.theory.solvers.kl", "from jaxbandit.theory.estimators import counts"),
    "estimators -> algorithms": ("jaxbandit.theory.estimators.x", "from jaxbandit.algorithms import ucb1"),
    "bounds -> environments": ("jaxbandit.theory.bounds.x", "from jaxbandit.environments.stationary.beta import beta"),
    "algorithm -> environment": ("jaxbandit.algorithms.regret.x", "from jaxbandit.environments import table"),
    "algorithm -> engine": ("jaxbandit.algorithms.regret.x", "import jaxbandit.engine.driver.fixed_horizon as h"),
    "environment -> algorithm": ("jaxbandit.environments.x", "from jaxbandit.algorithms.regret import ucb"),
    "engine -> algorithm": ("jaxbandit.engine.x", "from jaxbandit.algorithms.regret.ucb import ucb"),
    "engine -> environment": ("jaxbandit.engine.rounds.x", "from jaxbandit.environments import beta"),
    "engine -> results": ("jaxbandit.engine.x", "from jaxbandit.running.results import base"),
    "engine -> theory": ("jaxbandit.engine.x", "from jaxbandit.theory.solvers import kl"),
    "layout -> rounds": ("jaxbandit.engine.layout.x", "from jaxbandit.engine.rounds import keys"),
    "rounds -> driver": ("jaxbandit.engine.rounds.x", "from jaxbandit.engine.driver import fixed_horizon"),
    "storage -> driver": ("jaxbandit.engine.storage.x", "from jaxbandit.engine.driver import fixed_horizon"),
    "plotting -> results": (
        "jaxbandit.running.plotting.x",
        "from jaxbandit.running.results.regret import RegretResult",
    ),
    "results -> running": ("jaxbandit.running.results.x", "from jaxbandit.running.truth import means_of"),
    "results -> algorithm": ("jaxbandit.running.results.x", "from jaxbandit.algorithms import ucb1"),
    "running names an algorithm's file": ("jaxbandit.running.x", "from jaxbandit.algorithms.regret.ucb import ucb"),
    "running -> decide": ("jaxbandit.running.x", "from jaxbandit.decide.sessions import session"),
    "running -> lab": ("jaxbandit.running.x", "from jaxbandit.lab.specs import spec"),
    "sessions -> tuning": ("jaxbandit.decide.sessions.x", "from jaxbandit.decide.tuning import tune"),
    "decide -> lab": ("jaxbandit.decide.tuning.x", "from jaxbandit.lab.specs import spec"),
    "specs -> experiments": ("jaxbandit.lab.specs.x", "from jaxbandit.lab.experiments import experiment"),
    "specs names an environment's file": (
        "jaxbandit.lab.specs.x",
        "import jaxbandit.environments.stationary.bernoulli",
    ),
    "auditing -> papers": ("jaxbandit.lab.auditing.x", "from jaxbandit.lab.papers import paper"),
    "conformance -> specs": ("jaxbandit.lab.conformance.x", "from jaxbandit.lab.specs import spec"),
    "cli names an algorithm's file": ("jaxbandit.lab.cli.x", "from jaxbandit.algorithms.regret.ucb import ucb"),
    "inside a function": ("jaxbandit.engine.x", "def f():\n    from jaxbandit.environments import beta"),
    "for types only": ("jaxbandit.engine.x", "if TYPE_CHECKING:\n    from jaxbandit.lab.specs import spec"),
    "relative": ("jaxbandit.engine.x", "from ..environments import beta"),
    "relative, from a package": ("jaxbandit.engine.rounds", "from ...environments import beta"),
    "by string": ("jaxbandit.engine.x", "importlib.import_module('jaxbandit.environments.beta')"),
    "by a computed string": ("jaxbandit.engine.x", "importlib.import_module(f'jaxbandit.{name}')"),
    "public face": ("jaxbandit.engine.x", "from jaxbandit import simulate"),
    "public face, bare": ("jaxbandit.engine.x", "import jaxbandit"),
    "unknown part": ("jaxbandit.utilities", "import math"),
}


@pytest.mark.parametrize("case", FORBIDDEN)
def test_a_forbidden_import_is_caught(case):
    module, line = FORBIDDEN[case]
    sources = {"jaxbandit.engine.rounds.keys": "", module: line}  # the first shows that jaxbandit.engine is a package
    assert [v.partition(" ")[0].rstrip(":") for v in violations(sources)] == [module]


ALLOWED = {
    "algorithm -> estimators": ("jaxbandit.algorithms.regret.x", "from jaxbandit.theory.estimators import counts"),
    "algorithm -> algorithm": ("jaxbandit.algorithms.regret.x", "from . import index_policy"),
    "environment -> bounds": ("jaxbandit.environments.x", "from jaxbandit.theory.bounds.regret import k_inf"),
    "checks": ("jaxbandit.engine.x", "from jaxbandit.support import checks"),
    "running -> bounds": ("jaxbandit.running.x", "from jaxbandit.theory.bounds import regret"),
    "sessions -> engine": ("jaxbandit.decide.sessions.x", "from jaxbandit.engine.rounds import keys"),
    "papers -> experiments": ("jaxbandit.lab.papers.x", "from jaxbandit.lab.experiments import experiment"),
    "running -> algorithms": ("jaxbandit.running.x", "from jaxbandit.algorithms import ucb1"),
    "specs -> registered names": ("jaxbandit.lab.specs.x", "from jaxbandit import algorithms"),
    "cli -> specs": ("jaxbandit.lab.cli.x", "from jaxbandit.lab.specs import spec"),
    "others' packages": ("jaxbandit.support.types", "import jax.numpy as jnp"),
    "public face shows all": ("jaxbandit", "from jaxbandit.algorithms.regret.ucb import ucb"),
}


@pytest.mark.parametrize("case", ALLOWED)
def test_a_lawful_import_passes(case):
    module, line = ALLOWED[case]
    assert violations({module: line}) == []


def test_the_arrows_close_no_circle():
    for room in ARROWS:
        for other in reachable(room) - {room}:
            assert room not in reachable(other)
