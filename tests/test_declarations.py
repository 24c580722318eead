"""What an algorithm declares agrees with the algorithm."""

import numpy as np
import pytest
from tiers import offenders

from jaxbandit.algorithms import lin_ts, ucb1
from jaxbandit.base.declaration import QUESTIONS, SETTINGS
from jaxbandit.base.parameters import parameters_of
from jaxbandit.lab.specs.registry import ALGORITHMS, WRAPPERS

GIVEN = {"num_arms": 4, "features": np.eye(4), "theta": np.arange(4.0), "k": 2, "epsilon": 0.1, "budget": 100, "a": 1.0}
PARTIAL = "The error rate is at most delta where"  # for some instances only: its promise is not marked as proved


def test_declarations_are_sentences():
    for name, known in ALGORITHMS.items():
        assert known.guarantee.endswith(".") and known.guarantee[0].isupper(), name
        assert known.cost.startswith("O(") and known.memory.startswith("O(") and known.rewards, name
        assert not known.cost.endswith(".") and not known.memory.endswith("."), name
    assert {known.question for known in ALGORITHMS.values()} == set(QUESTIONS)
    assert {known.setting for known in ALGORITHMS.values()} == set(SETTINGS)


def test_declarations_agree_with_the_algorithm():
    def check(entry):
        known, parameters = entry, entry.parameters()
        assert (known.question == "regret") == (entry.kind == "simulate")
        assert (known.question == "budget") == (entry.kind == "identify" and "budget" in parameters)
        assert (known.setting == "features") == ("features" in parameters)
        assert (
            (known.setting in ("semi-bandit", "full-bandit", "cascade")) == (known.finds == "k") == ("k" in parameters)
        )
        if known.question != "regret":
            assert (known.finds == "m") == ("m" in parameters)
            given = {name: GIVEN[name] for name, p in parameters.items() if p.required or name == "a"}
            algorithm = entry.factory()(**given)
            if (promise := algorithm.promise) is not None:
                assert promise.proved == (not known.guarantee.startswith(("None", PARTIAL))), entry.name
            assert (promise is None) == (known.question == "budget")
        if entry.truth:
            assert known.guarantee.startswith("An oracle")

    assert not offenders(check, ALGORITHMS.values())


def data_of(parameters):
    """What an instance says of itself, without which no algorithm makes sense; its horizon and budget are left out."""
    known = {"num_arms": 3, "features": np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.6]]), "k": 2, "starts": [0]}
    known |= {"theta": np.array([1.0, 0.0]), "algorithm": ucb1(3)}
    return {name: known[name] for name, p in parameters.items() if p.required and name in known}


def test_a_factory_of_which_data_alone_is_given_works_or_says_what_to_give():
    """The command line fills in a horizon; in Python, what is missing is named, with what it must be."""

    def check(name):
        factory = (ALGORITHMS if name in ALGORITHMS else WRAPPERS)[name].factory()
        parameters = parameters_of(factory)
        given = data_of(parameters)
        missing = [name for name, p in parameters.items() if p.required and name not in given]
        if not missing:
            try:
                factory(**given)
            except ValueError as error:  # a choice of two: the message names the argument that decides
                found = str(error)
                assert (
                    found.startswith(f"{name}: ") and "given" in found
                ) or "give horizon, the number of rounds" in found
            return
        with pytest.raises(TypeError) as caught:
            factory(**given)
        said = str(caught.value)
        assert said.startswith(f"{name}: {missing[0]} is missing, must be the ") and "\n" not in said
        assert said.count(" is missing, must be ") == len(missing) and all(
            f"{each} is missing" in said for each in missing
        )
        with pytest.raises(TypeError, match=f"^{name}: .*{next(iter(parameters))} is missing"):
            factory()

    assert not offenders(check, [*ALGORITHMS, *WRAPPERS])


def test_lin_ts_needs_a_horizon_only_for_the_default_of_delta():
    """As the docstring has said all along, the posterior does not depend on it."""
    features = np.eye(2)
    assert lin_ts(features).name == "lin_ts"
    assert lin_ts(features, variant="theory", delta=0.1).name == "lin_ts"
    with pytest.raises(
        ValueError, match=r"^lin_ts: delta = None without a horizon, .*give horizon, the number of rounds$"
    ):
        lin_ts(features, variant="theory")
    with pytest.raises(ValueError, match="horizon = 1, must be"):
        lin_ts(features, horizon=1)
