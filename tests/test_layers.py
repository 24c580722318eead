"""The rooms' one-way doors: who may import whom inside the package, read off its import statements."""

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "jaxbandit"

# The diagram's arrows. A room may import these, what they reach, and itself.
ARROWS = {
    "types": (),
    "base": ("types",),
    "numerics": ("base",),
    "solvers": ("numerics",),
    "estimators": ("solvers",),
    "algorithms": ("estimators",),
    "environments": ("numerics",),
    "bounds": ("solvers",),
    "engine": ("numerics", "jaxprs"),
    "jaxprs": (),
    "text": (),
    "stats": (),
    "plotting": ("stats", "text", "bounds"),
    "results": ("plotting", "engine"),
    "specs": ("engine", "algorithms", "environments"),
    "distribution": ("engine",),
    "running": ("specs", "results", "distribution"),
    "conformance": ("numerics", "jaxprs"),
    "sessions": ("specs", "results"),
    "auditing": ("running",),
    "reproduction": ("running",),
    "tuning": ("sessions", "distribution"),
    "integrations": ("tuning",),
    "report": ("tuning", "auditing"),
    "cli": ("auditing", "reproduction", "report"),
    "__main__": ("cli",),
}
# Open to every room above types. They close no circle, since of the package they may import these alone.
SHARED = {"checks": ("types",), "refusals": ("checks",), "extras": (), "lazy": (), "markup": (), "describing": ()}
CONCRETE = ("algorithms", "environments")
REGISTRY = ("jaxbandit.lab.specs.algorithms", "jaxbandit.lab.specs.environments")
ROOT_NAMES = {"__version__"}  # all that the package's inside may take from its public face


def reachable(room: str) -> set[str]:
    arrows = ARROWS | SHARED
    rooms, frontier = {room}, [*arrows[room], *(SHARED if room not in ("types", *SHARED) else ())]
    while frontier:
        rooms.add(near := frontier.pop())
        frontier.extend(arrows[near])
    return rooms


def imported(module: str, is_package: bool, source: str) -> Iterator[tuple[str, str | None]]:
    """Yield (module, name or None) for each import statement and literal import_module, at any depth."""
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
            target = node.args[0]
            literal = isinstance(target, ast.Constant) and isinstance(target.value, str)
            if called in ("import_module", "__import__") and literal:
                yield target.value, None


def violations(sources: Mapping[str, str]) -> list[str]:
    """Return a line for each import that the doors forbid, from {dotted module: source}."""
    packages = {name.rpartition(".")[0] for name in sources}
    found = []
    for module, source in sources.items():
        parts = module.split(".")
        if len(parts) == 1:
            continue  # the public face may show any room
        room = parts[1]
        if room not in ARROWS | SHARED:
            found.append(f"{module}: no such room in the diagram")
            continue
        for base, name in imported(module, module in packages, source):
            target = base.split(".")
            if target[0] != "jaxbandit":
                continue
            if len(target) == 1:
                if name in ROOT_NAMES:
                    continue
                target = ["jaxbandit", name or "the public face"]
            to = target[1]
            if to not in reachable(room):
                found.append(f"{module} imports {'.'.join(target)}: {room} may not import {to}")
            elif to in CONCRETE and room != to and module not in REGISTRY:
                found.append(f"{module} imports {'.'.join(target)}: only {' and '.join(REGISTRY)} list concrete parts")
    return found


def circle(sources: Mapping[str, str]) -> list[str]:
    """Return modules each of which imports the next, the last the first; [] where files close no circle.

    An import inside a function or for types only counts like any other. The public face, which shows all, is left out.
    """
    packages = {name.rpartition(".")[0] for name in sources}
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


def package_sources() -> dict[str, str]:
    sources = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        sources[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path.read_text(encoding="utf-8")
    return sources


def test_the_package_keeps_its_doors():
    sources = package_sources()
    assert "jaxbandit.environments.stationary.bernoulli" in sources and "jaxbandit.engine" in sources
    assert violations(sources) == []
    sources["jaxbandit.engine.rounds.keys"] += "\nfrom jaxbandit.environments.stationary.bernoulli import bernoulli\n"
    assert len(violations(sources)) == 1


def test_files_close_no_circle():
    sources = package_sources()
    assert circle(sources) == []
    lazy = "\n\ndef f():\n    from jaxbandit.running.results.loading import load\n"
    assert circle(
        sources | {"jaxbandit.running.results.json_files": sources["jaxbandit.running.results.json_files"] + lazy}
    )


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
    "types -> base": ("jaxbandit.types", "from jaxbandit.base.contract import Algorithm"),
    "types -> checks": ("jaxbandit.types", "from jaxbandit import checks"),
    "checks -> numerics": ("jaxbandit.base.checks", "from jaxbandit.base.numerics import as_float"),
    "base -> numerics": ("jaxbandit.base.contract", "from jaxbandit.base.numerics import as_float"),
    "numerics -> solvers": ("jaxbandit.base.numerics", "import jaxbandit.theory.solvers.kl"),
    "solvers -> estimators": ("jaxbandit.theory.solvers.kl", "from jaxbandit.theory.estimators import counts"),
    "estimators -> algorithms": ("jaxbandit.theory.estimators.counts", "from jaxbandit import algorithms"),
    "algorithm -> environment": ("jaxbandit.algorithms.regret.x", "from jaxbandit.environments import table"),
    "algorithm -> engine": ("jaxbandit.algorithms.regret.x", "import jaxbandit.engine.driver.horizon as h"),
    "algorithm -> bounds": ("jaxbandit.algorithms.regret.x", "from jaxbandit.bounds import regret"),
    "environment -> algorithm": ("jaxbandit.environments.x", "from jaxbandit.algorithms.regret import ucb"),
    "environment -> solvers": ("jaxbandit.environments.x", "from jaxbandit.theory.solvers import kl"),
    "environment -> bounds": ("jaxbandit.environments.x", "from jaxbandit.theory.bounds.regret import k_inf"),
    "bounds -> environments": (
        "jaxbandit.theory.bounds.regret",
        "from jaxbandit.environments.stationary.beta import beta",
    ),
    "engine -> algorithm": ("jaxbandit.engine.x", "from jaxbandit.algorithms.regret.ucb import ucb"),
    "engine -> environment": (
        "jaxbandit.engine.x",
        "from jaxbandit.environments.stationary.bernoulli import bernoulli",
    ),
    "engine -> results": ("jaxbandit.engine.x", "from jaxbandit.running.results import base"),
    "engine -> solvers": ("jaxbandit.engine.x", "from jaxbandit.theory.solvers import kl"),
    "stats -> results": ("jaxbandit.theory.x", "from jaxbandit.running.results import report"),
    "plotting -> results": (
        "jaxbandit.running.plotting.x",
        "from jaxbandit.running.results.regret import RegretResult",
    ),
    "results -> running": ("jaxbandit.running.results.x", "from jaxbandit.running.truth import means_of"),
    "results -> specs": ("jaxbandit.running.results.x", "from jaxbandit.lab.specs import spec"),
    "specs -> results": ("jaxbandit.lab.specs.x", "from jaxbandit.running.results.loading import load"),
    "running -> reproduction": ("jaxbandit.running.x", "from jaxbandit.lab.papers import paper"),
    "auditing -> reproduction": ("jaxbandit.lab.auditing.x", "from jaxbandit.lab.papers import paper"),
    "conformance -> engine": ("jaxbandit.lab.conformance.x", "from jaxbandit.engine import single"),
    "running -> cli": ("jaxbandit.running.x", "from jaxbandit import cli"),
    "results -> report": ("jaxbandit.running.results.x", "from jaxbandit.lab.report import write"),
    "refusals -> base": ("jaxbandit.base.refusals", "from jaxbandit.base.contract import Algorithm"),
    "running lists an algorithm": ("jaxbandit.running.x", "from jaxbandit.algorithms.regret import ucb"),
    "the registry's neighbour": ("jaxbandit.lab.specs.spec", "import jaxbandit.environments.stationary.bernoulli"),
    "cli lists an algorithm": ("jaxbandit.lab.cli", "from jaxbandit.algorithms.regret.ucb import ucb"),
    "inside a function": ("jaxbandit.engine.x", "def f():\n    from jaxbandit.environments import beta"),
    "for types only": ("jaxbandit.engine.x", "if TYPE_CHECKING:\n    from jaxbandit.lab.specs import spec"),
    "relative": ("jaxbandit.engine.x", "from ..environments import beta"),
    "relative, from a package": ("jaxbandit.engine", "from ..environments import beta"),
    "by string": ("jaxbandit.engine.x", "importlib.import_module('jaxbandit.environments.stationary.beta')"),
    "public face": ("jaxbandit.engine.x", "from jaxbandit import simulate"),
    "public face, bare": ("jaxbandit.engine.x", "import jaxbandit"),
    "unknown room": ("jaxbandit.utilities", "import math"),
}


@pytest.mark.parametrize("case", FORBIDDEN)
def test_a_forbidden_import_is_caught(case):
    module, line = FORBIDDEN[case]
    sources = {
        "jaxbandit.engine.rounds.keys": "",
        module: line,
    }  # the first shows that jaxbandit.engine is a package
    assert [v.partition(" ")[0].rstrip(":") for v in violations(sources)] == [module]


ALLOWED = {
    "registry lists parts": ("jaxbandit.lab.specs.algorithms", "from jaxbandit.algorithms.regret import ucb"),
    "specs -> registry": ("jaxbandit.lab.specs.x", "from .registry import ALGORITHMS"),
    "running -> bounds": ("jaxbandit.running.x", "from jaxbandit.bounds import regret"),
    "what the engine reaches": ("jaxbandit.running.x", "from jaxbandit.base.contract import Outcome"),
    "algorithm -> algorithm": ("jaxbandit.algorithms.regret.x", "from . import index_policy"),
    "environment -> environment": (
        "jaxbandit.environments.x",
        "from jaxbandit.environments import bernoulli",
    ),
    "checks": ("jaxbandit.engine.x", "from jaxbandit import checks"),
    "refusals": ("jaxbandit.theory.x", "from jaxbandit.base.refusals import BadInput"),
    "version": ("jaxbandit.running.results.x", "from jaxbandit import __version__"),
    "cli -> specs": ("jaxbandit.lab.cli.x", "from jaxbandit.lab.specs import spec"),
    "others' packages": ("jaxbandit.types", "import jax.numpy as jnp"),
    "public face shows all": ("jaxbandit", "from jaxbandit.algorithms.regret.ucb import ucb"),
}


@pytest.mark.parametrize("case", ALLOWED)
def test_a_lawful_import_passes(case):
    module, line = ALLOWED[case]
    assert violations({module: line}) == []


def test_the_arrows_close_no_circle():
    for room in ARROWS:
        for other in reachable(room) - {room, *SHARED}:
            assert room not in reachable(other)
