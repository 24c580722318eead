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
    "engine": ("base",),
    "experiments": ("engine", "algorithms", "environments", "bounds"),
    "papers": (),
    "cli": ("experiments",),
    "__main__": ("cli",),
}
# Beside numerics: open to every room above types. It closes no circle, since it may import types alone.
SHARED = "checks"
CONCRETE = ("algorithms", "environments")
REGISTRY = "jaxbandit.experiments.registry"
ROOT_NAMES = {"__version__"}  # all that the package's inside may take from its public face


def reachable(room: str) -> set[str]:
    if room == SHARED:
        return {SHARED, "types"}
    rooms, frontier = {room}, list(ARROWS[room])
    while frontier:
        rooms.add(near := frontier.pop())
        frontier.extend(ARROWS[near])
    return rooms | (set() if room in ("types", "papers") else {SHARED})


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
        if room not in ARROWS and room != SHARED:
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
            elif to in CONCRETE and room != to and module != REGISTRY:
                found.append(f"{module} imports {'.'.join(target)}: only {REGISTRY} lists concrete parts")
    return found


def package_sources() -> dict[str, str]:
    sources = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        sources[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path.read_text(encoding="utf-8")
    return sources


def test_the_package_keeps_its_doors():
    sources = package_sources()
    assert "jaxbandit.environments.bernoulli" in sources and "jaxbandit.engine" in sources
    assert violations(sources) == []
    sources["jaxbandit.engine.keys"] += "\nfrom jaxbandit.environments.bernoulli import bernoulli\n"
    assert len(violations(sources)) == 1


FORBIDDEN = {
    "types -> base": ("jaxbandit.types", "from jaxbandit.base import Algorithm"),
    "types -> checks": ("jaxbandit.types", "from jaxbandit import checks"),
    "checks -> numerics": ("jaxbandit.checks", "from jaxbandit.numerics import as_float"),
    "base -> numerics": ("jaxbandit.base", "from jaxbandit.numerics import as_float"),
    "numerics -> solvers": ("jaxbandit.numerics", "import jaxbandit.solvers.kl"),
    "solvers -> estimators": ("jaxbandit.solvers.kl", "from jaxbandit.estimators import counts"),
    "estimators -> algorithms": ("jaxbandit.estimators.counts", "from jaxbandit import algorithms"),
    "algorithm -> environment": ("jaxbandit.algorithms.regret.x", "from jaxbandit.environments import table"),
    "algorithm -> engine": ("jaxbandit.algorithms.regret.x", "import jaxbandit.engine.horizon as h"),
    "algorithm -> bounds": ("jaxbandit.algorithms.regret.x", "from jaxbandit.bounds import regret"),
    "environment -> algorithm": ("jaxbandit.environments.x", "from jaxbandit.algorithms.regret import ucb"),
    "environment -> solvers": ("jaxbandit.environments.x", "from jaxbandit.solvers import kl"),
    "environment -> bounds": ("jaxbandit.environments.x", "from jaxbandit.bounds.regret import k_inf"),
    "bounds -> environments": ("jaxbandit.bounds.regret", "from jaxbandit.environments.beta import beta"),
    "engine -> algorithm": ("jaxbandit.engine.x", "from jaxbandit.algorithms.regret.ucb import ucb"),
    "engine -> environment": ("jaxbandit.engine.x", "from jaxbandit.environments.bernoulli import bernoulli"),
    "engine -> experiments": ("jaxbandit.engine.x", "from jaxbandit.experiments import result"),
    "engine -> numerics": ("jaxbandit.engine.x", "from jaxbandit.numerics import as_float"),
    "experiments -> cli": ("jaxbandit.experiments.x", "from jaxbandit import cli"),
    "experiment lists an algorithm": (
        "jaxbandit.experiments.x",
        "from jaxbandit.algorithms.regret import ucb",
    ),
    "experiment lists an environment": ("jaxbandit.experiments.x", "import jaxbandit.environments.bernoulli"),
    "cli lists an algorithm": ("jaxbandit.cli", "from jaxbandit.algorithms.regret.ucb import ucb"),
    "inside a function": ("jaxbandit.engine.x", "def f():\n    from jaxbandit.environments import beta"),
    "for types only": ("jaxbandit.engine.x", "if TYPE_CHECKING:\n    from jaxbandit.experiments import spec"),
    "relative": ("jaxbandit.engine.x", "from ..environments import beta"),
    "relative, from a package": ("jaxbandit.engine", "from ..environments import beta"),
    "by string": ("jaxbandit.engine.x", "importlib.import_module('jaxbandit.environments.beta')"),
    "public face": ("jaxbandit.engine.x", "from jaxbandit import simulate"),
    "public face, bare": ("jaxbandit.engine.x", "import jaxbandit"),
    "unknown room": ("jaxbandit.utilities", "import math"),
}


@pytest.mark.parametrize("case", FORBIDDEN)
def test_a_forbidden_import_is_caught(case):
    module, line = FORBIDDEN[case]
    sources = {
        "jaxbandit.engine.keys": "",
        module: line,
    }  # the first shows that jaxbandit.engine is a package
    assert [v.partition(" ")[0].rstrip(":") for v in violations(sources)] == [module]


ALLOWED = {
    "registry lists parts": ("jaxbandit.experiments.registry", "from jaxbandit.algorithms.regret import ucb"),
    "experiments -> registry": ("jaxbandit.experiments.x", "from .registry import ALGORITHMS"),
    "experiments -> bounds": ("jaxbandit.experiments.x", "from jaxbandit.bounds import regret"),
    "what the engine reaches": ("jaxbandit.experiments.x", "from jaxbandit.base import Outcome"),
    "algorithm -> algorithm": ("jaxbandit.algorithms.regret.x", "from . import index_policy"),
    "environment -> environment": (
        "jaxbandit.environments.x",
        "from jaxbandit.environments import bernoulli",
    ),
    "checks": ("jaxbandit.engine.x", "from jaxbandit import checks"),
    "version": ("jaxbandit.experiments.x", "from jaxbandit import __version__"),
    "cli -> experiments": ("jaxbandit.cli", "from jaxbandit.experiments import spec"),
    "others' packages": ("jaxbandit.types", "import jax.numpy as jnp"),
    "public face shows all": ("jaxbandit", "from jaxbandit.algorithms.regret.ucb import ucb"),
}


@pytest.mark.parametrize("case", ALLOWED)
def test_a_lawful_import_passes(case):
    module, line = ALLOWED[case]
    assert violations({module: line}) == []


def test_the_arrows_close_no_circle():
    for room in ARROWS:
        for other in reachable(room) - {room, SHARED}:
            assert room not in reachable(other)
