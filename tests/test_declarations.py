"""What an algorithm declares agrees with the algorithm."""

import numpy as np
import pytest

from jaxbandit.base.declaration import QUESTIONS, SETTINGS
from jaxbandit.lab.specs.registry import ALGORITHMS

GIVEN = {"num_arms": 4, "features": np.eye(4), "theta": np.arange(4.0), "k": 2, "epsilon": 0.1, "budget": 100, "a": 1.0}
PARTIAL = "The error rate is at most delta where"  # for some instances only: its promise is not marked as proved


def test_declarations_are_sentences():
    for name, known in ALGORITHMS.items():
        assert known.guarantee.endswith(".") and known.guarantee[0].isupper(), name
        assert known.cost.startswith("O(") and known.memory.startswith("O(") and known.rewards, name
        assert not known.cost.endswith(".") and not known.memory.endswith("."), name
    assert {known.question for known in ALGORITHMS.values()} == set(QUESTIONS)
    assert {known.setting for known in ALGORITHMS.values()} == set(SETTINGS)


@pytest.mark.parametrize("entry", ALGORITHMS.values(), ids=lambda entry: entry.name)
def test_declarations_agree_with_the_algorithm(entry):
    known, parameters = entry, entry.parameters()
    assert (known.question == "regret") == (entry.kind == "simulate")
    assert (known.question == "budget") == (entry.kind == "identify" and "budget" in parameters)
    assert (known.setting == "features") == ("features" in parameters)
    assert (known.setting in ("semi-bandit", "full-bandit")) == (known.finds == "k") == ("k" in parameters)
    if known.question != "regret":
        assert (known.finds == "m") == ("m" in parameters)
        given = {name: GIVEN[name] for name, p in parameters.items() if p.required or name == "a"}
        algorithm = entry.factory()(**given)
        if (promise := algorithm.promise) is not None:
            assert promise.proved == (not known.guarantee.startswith(("None", PARTIAL))), entry.name
        assert (promise is None) == (known.question == "budget")
    if entry.truth:
        assert known.guarantee.startswith("An oracle")
