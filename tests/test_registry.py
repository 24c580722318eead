"""The registry and the public names: plain data that agrees with what it names, and costs nothing to import."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import jaxbandit
from jaxbandit.lab.specs.registry import ALGORITHMS, ENVIRONMENTS

ENTRIES = [*ALGORITHMS.values(), *ENVIRONMENTS.values()]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_arguments_are_those_of_the_factory(entry):
    parameters = entry.parameters()
    assert tuple(parameters) == entry.arguments
    assert set(entry.public) | set(entry.concrete) <= set(parameters)
    assert entry.factory().__name__ == entry.name


def test_what_an_algorithm_may_know_is_never_the_truth():
    for entry in ENVIRONMENTS.values():
        assert not {"means", "theta", "alpha", "beta", "rewards"} & set(entry.public)


def test_static_and_traced_are_read_off_the_signature():
    ucb = ALGORITHMS["ucb"].parameters()
    assert (ucb["num_arms"].kind, ucb["distance"].kind, ucb["c"].kind) == ("integer", "choice", "scalar")
    assert "kl" in ucb["distance"].choices and not ucb["distance"].traced and ucb["c"].traced
    distances = ALGORITHMS["ucboost"].parameters()["distances"]
    assert distances.kind == "choices" and "bq" in distances.choices
    horizon = ALGORITHMS["moss"].parameters()["horizon"]
    assert horizon.kind == "integer" and horizon.optional and not horizon.traced
    gaussian = ENVIRONMENTS["gaussian"].parameters()
    assert (gaussian["means"].kind, gaussian["sigma"].kind) == ("array", "number")
    assert gaussian["means"].required and not gaussian["sigma"].required


def test_every_registered_factory_is_public():
    assert {entry.name for entry in ENTRIES} <= set(jaxbandit.__all__)
    for entries, package in ((ALGORITHMS, jaxbandit.algorithms), (ENVIRONMENTS, jaxbandit.environments)):
        for entry in entries.values():
            assert getattr(jaxbandit, entry.name) is getattr(package, entry.name) is entry.factory()
            assert entry.name in dir(package)


def test_the_namespaces_list_their_names_before_anything_is_imported():
    code = (
        "import sys, jaxbandit as jb; print(len(dir(jb.algorithms)) > 70, 'bernoulli' in dir(jb.environments), "
        "'jax' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "True", "False"]


@pytest.mark.parametrize("package", [jaxbandit, jaxbandit.algorithms, jaxbandit.environments, jaxbandit.bounds])
def test_public_names_are_one_list(package):
    tree = ast.parse(Path(package.__file__).read_text(encoding="utf-8"))
    for_checkers = {
        alias.name: (node.module or "").removeprefix(package.__name__).removeprefix(".")
        for block in tree.body
        if isinstance(block, ast.If)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert for_checkers == package._HOME
    assert sorted(package.__all__) == sorted([*for_checkers, *(["__version__"] if package is jaxbandit else [])])
    for name in package.__all__:
        assert getattr(package, name) is not None
    with pytest.raises(AttributeError, match="no_such_name"):
        package.no_such_name  # noqa: B018


def test_a_name_is_what_its_module_holds_whatever_is_imported_first():
    code = (
        "import jaxbandit.environments.stationary.bernoulli, jaxbandit as jb; "
        "print(jb.environments.bernoulli is jb.bernoulli, callable(jb.bernoulli))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True True"


def test_importing_the_package_and_its_registry_imports_no_jax():
    code = (
        "import sys, jaxbandit, jaxbandit.lab.specs.registry, jaxbandit.lab.specs.spec; "
        "print({'jax', 'numpy', 'matplotlib'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
