"""Declarations as they are read from the source, and the public names: they agree, and cost nothing to import."""

import importlib
import inspect
import pickle
import pkgutil
import subprocess
import sys
from dataclasses import fields

import parts
import pytest
from tiers import offenders

import jaxbandit
from jaxbandit.base.declaration import Declaration, declaration_of, declare
from jaxbandit.lab.specs.declared import Declared, read
from jaxbandit.lab.specs.registry import ALGORITHMS, ENVIRONMENTS

ENTRIES = [*ALGORITHMS.values(), *ENVIRONMENTS.values()]

PUBLIC = (
    "ABResult Algorithm Arms BadInput Budget Certificate DuelCertificate Environment Evaluation Execution GateResult "
    "Goal Log MissingExtra Offer PolicyDifference PolicyValue Progress Pulls Result Rewards RunsLeftOut SearchResult "
    "Session Trainee TuneResult ab "
    "algorithms amend ask audit auditing bounds certificate check_algorithm check_environment cite close_arms compare "
    "contract declare draw drawn duel_certificate duel_pairs duel_race environments evaluate expire export fit "
    "hyperband identify intervals load load_session metrics no_worse numerics open_arms plot policy_of pull_keys "
    "read_log repair_session replay reproduce rollout run run_key run_until_stop save save_session search session "
    "session_directory shares simulate solvers space step style successive_halving sweep tell tell_outside to_latex "
    "tune types withdraw"
)
TERMS = "Delta Dim Epsilon Family Features Horizon NumArms Sigma"  # some of `jb.contract.arguments`


def test_what_is_read_from_the_source_is_what_the_factory_declares():
    def check(entry):
        factory = entry.factory()
        live = declaration_of(factory)
        assert live == Declaration(**{field.name: getattr(entry, field.name) for field in fields(Declaration)})
        assert entry.arguments == tuple(entry.parameters()) and entry.doc == inspect.getdoc(inspect.unwrap(factory))
        assert factory.__name__ == entry.name and pickle.loads(pickle.dumps(factory)) is factory
        assert entry.summary and len(entry.summary) < 120

    assert not offenders(check, ENTRIES)


@pytest.mark.parametrize("package", ["algorithms", "environments"])
def test_every_declared_factory_is_read_and_is_in_the_stub_of_its_package(package):
    listed, missing = Declared(package).modules, []
    for found in pkgutil.walk_packages(getattr(jaxbandit, package).__path__, f"jaxbandit.{package}."):
        if found.ispkg:
            continue
        module = importlib.import_module(found.name)
        own = {f.__name__ for f in vars(module).values() if inspect.isfunction(f) and f.__module__ == found.name}
        assert read(found.name).keys() == {name for name in own if declaration_of(getattr(module, name))}, found.name
        place = found.name.removeprefix(f"jaxbandit.{package}")
        missing += [f"from {place} import {name} as {name}" for name in read(found.name) if name not in listed]
    assert not missing, f"jaxbandit/{package}/__init__.pyi lacks the lines {missing}"


def test_what_an_algorithm_may_know_is_never_the_truth(tmp_path):
    for name, environment in parts.environments(tmp_path):
        assert not {"means", "theta", "alpha", "beta", "rewards"} & environment.known().keys(), name


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
    for entries, package in ((ALGORITHMS, jaxbandit.algorithms), (ENVIRONMENTS, jaxbandit.environments)):
        for entry in entries.values():
            assert getattr(package, entry.name) is entry.factory()
            assert entry.name in dir(package)


def test_the_namespaces_list_their_names_before_anything_is_imported():
    code = (
        "import sys, jaxbandit as jb; print(len(dir(jb.algorithms)) > 70, 'bernoulli' in dir(jb.environments), "
        "'jax' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "True", "False"]


@pytest.mark.parametrize("package", [jaxbandit, jaxbandit.algorithms, jaxbandit.environments])
def test_every_public_name_can_be_had_and_no_other(package):
    for name in package.__all__:
        assert getattr(package, name) is not None
    with pytest.raises(AttributeError, match="no_such_name"):
        package.no_such_name  # noqa: B018


@pytest.mark.slow
def test_a_name_is_what_its_module_holds_whatever_is_imported_first():
    code = (
        "import jaxbandit.environments.stationary.bernoulli, jaxbandit as jb; "
        "print(jb.environments.bernoulli is jb.environments.bernoulli, callable(jb.environments.bernoulli))"
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


@pytest.mark.slow
def test_decisions_import_no_module_of_statistics_that_takes_a_second():
    """A service is down while it starts, and a command waits."""
    code = (
        "import sys, jaxbandit as jb; jb.session_directory, jb.tune, jb.search, jb.ab, jb.evaluate, jb.no_worse; "
        "print({'scipy.special', 'scipy.stats', 'scipy.optimize', 'matplotlib'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@pytest.mark.slow
def test_only_the_module_of_a_name_is_imported():
    code = (
        "import sys; from jaxbandit.lab.specs import registry; registry.ALGORITHMS['ucb1'].factory(); "
        "print({'jaxbandit.algorithms.regret.ucb', 'jaxbandit.algorithms.best_arm.kl_racing'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "{'jaxbandit.algorithms.regret.ucb'}"


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"question": "regrets"}, r"mine: declares question = 'regrets', must be one of 'regret', 'confidence'"),
        ({"setting": "arm"}, r"mine: declares setting = 'arm', must be one of 'arms', 'changing'"),
        ({"question": "regret", "tries": {"d": (1.0,)}}, r"mine: declares tries of 'd', must be one of num_arms, c"),
    ],
)
def test_a_wrong_declaration_is_refused_where_it_stands(wrong, message):
    def mine(num_arms, *, c):
        return None

    with pytest.raises(ValueError, match=message):
        declare(**wrong)(mine)
    with pytest.raises(TypeError, match="quetsion"):
        declare(quetsion="regret")


def test_the_public_names_are_a_decision():
    """One more name is one more thing to know: change this list on purpose, and say in the changelog why."""
    assert " ".join(name for name in dir(jaxbandit) if not name.startswith("_")) == PUBLIC
    assert " ".join(name for name in dir(jaxbandit.contract.arguments) if name in TERMS.split()) == TERMS
    assert {"Arg", "arrays", "integer", "number"} <= set(dir(jaxbandit.contract))


def test_a_name_that_stands_in_a_module_is_said_to_be_there():
    with pytest.raises(AttributeError, match=r"no attribute 'ucb1'; did you mean jaxbandit\.algorithms\.ucb1\?$"):
        getattr(jaxbandit, "ucb1")  # noqa: B009


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("UCB1", r"'UCB1'; did you mean jaxbandit\.algorithms\.ucb1\?$"),
        ("Simulat", r"'Simulat'; did you mean jaxbandit\.simulate\?$"),
        ("Forest", "no attribute 'Forest'$"),
    ],
)
def test_a_name_in_other_letters_is_found_and_one_that_is_far_from_all_is_not(name, said):
    with pytest.raises(AttributeError, match=said):
        getattr(jaxbandit, name)


@pytest.mark.parametrize(
    ("package", "name", "said"),
    [
        (
            "algorithms",
            "linucb",
            r"^module 'jaxbandit\.algorithms' has no attribute 'linucb'; did you mean 'lin_ucb'\?$",
        ),
        ("algorithms", "UCB1", r"did you mean 'ucb1'\?$"),
        ("bounds", "bernouli_kl", r"did you mean 'bernoulli_kl'\?$"),
        ("environments", "Zebra", r"^module 'jaxbandit\.environments' has no attribute 'Zebra'$"),
    ],
)
def test_a_name_that_a_package_lacks_is_compared_with_those_that_it_has(package, name, said):
    with pytest.raises(AttributeError, match=said):
        getattr(getattr(jaxbandit, package), name)


def test_a_rule_that_takes_the_family_of_the_rewards_is_said_to():
    """One that does not take it, one made by hand and an unknown family have no such remedy."""
    gaussian = jaxbandit.environments.gaussian([0.0, 1.0])
    remedy = r'they may be lower; thompson\(\.\.\., family="gaussian"\) is made for these; allow = \["rewards"\] plays'
    thompson = jaxbandit.algorithms.thompson(2)
    with pytest.raises(ValueError, match=remedy):
        jaxbandit.simulate(thompson, gaussian, horizon=10, num_runs=1)
    narrow = jaxbandit.algorithms.thompson(2, family="gaussian", sigma=0.5)
    with pytest.raises(ValueError, match=r'sigma must be at least 1; allow = \["rewards"\] plays'):
        jaxbandit.simulate(narrow, gaussian, horizon=10, num_runs=1)
    own = gaussian._replace(rewards=jaxbandit.Rewards(family="mine"))
    changed = thompson._replace(update=lambda *given: thompson.update(*given))
    for rule, world in ((jaxbandit.algorithms.ucb1(2), gaussian), (changed, gaussian), (thompson, own)):
        with pytest.raises(ValueError, match=r'they may be lower; allow = \["rewards"\] plays'):
            jaxbandit.simulate(rule, world, horizon=10, num_runs=1)
