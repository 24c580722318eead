"""Every registered algorithm keeps the contract, with every traced hyperparameter traced (see check_algorithm)."""

import functools

import pytest

from jaxbandit.experiments.check import check_algorithm
from jaxbandit.experiments.registry import ALGORITHMS

# A row a traced hyperparameter: values to try, the first as the base. A new name without a row fails its algorithm.
VALUES = {
    "c": [0.0, 3.0],
    "eps": [0.01, 0.3],
    "epsilon": [0.1, 0.0, 1.0],
    "prior_alpha": [1.0, 0.5],
    "prior_beta": [1.0, 2.5],
    "zeta": [1.2, 0.5],
}
# Settings of static arguments beside the defaults.
STATIC = [
    *[("ucb", {"distance": d}) for d in ("sq", "bq", "h", "lb", "t")],
    ("ucboost", {"distances": ("sq",)}),
    ("ucboost", {"distances": ("bq", "h", "lb", "t")}),
    ("moss", {"horizon": 30}),
]


def check(name, num_arms, **static):
    entry = ALGORITHMS[name]
    traced = {p.name: VALUES[p.name] for p in entry.parameters().values() if p.traced}
    check_algorithm(functools.partial(entry.factory(), **static), num_arms, traced=traced)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_conforms(name):
    check(name, 3)


@pytest.mark.slow
@pytest.mark.parametrize("name", ALGORITHMS)
def test_conforms_with_few_arms_and_with_many(name):
    # Above batching.SELECT_LIMIT the engine writes the pulled arm by a scatter.
    check(name, (1, 2))
    check_algorithm(ALGORITHMS[name].factory(), 80, rounds=200)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "static"), STATIC)
def test_conforms_with_other_static_arguments(name, static):
    check(name, 3, **static)
