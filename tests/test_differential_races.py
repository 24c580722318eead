"""Equal pulls, drops and stopping rounds of races, KL-LUCB and lil'UCB and their NumPy references on the same rewards.

The n-th reward of an arm is the same whenever it is pulled, so that pulls one by one and in batches meet the same ones.
Rewards are whole multiples of 2^-10: their sums are exact in any order, and equal means tie exactly in races.
"""

import functools

import numpy as np
import pytest
from player import play_streams
from reference import kl_lucb as lucb_reference
from reference import lil_ucb as lil_reference
from reference import racing as reference

import jaxbandit as jb

pytestmark = pytest.mark.quickly_compiled
PULLS = 1500  # at most, of one arm


def streams_of(family, means, sigma=0.5, seed=0):
    """Rewards [arms, PULLS]."""
    rng = np.random.default_rng(seed)
    mu, size = np.array(means)[:, None], (len(means), PULLS)
    if family in ("bernoulli", "sure"):
        return (rng.random(size) < mu).astype(float)
    draws = {
        "gaussian": lambda: mu + sigma * rng.normal(size=size),
        "poisson": lambda: rng.poisson(mu, size).astype(float),
        "exponential": lambda: mu * rng.exponential(size=size),
        "unit": lambda: rng.beta(4 * mu, 4 - 4 * mu, size),
    }
    return np.round(draws[family]() * 1024) / 1024


def play(make, traced, streams, rounds):
    """One by one: actions until it stops, and the recommendation then."""
    actions, recommended = play_streams(make, streams, rounds, **traced).end()
    return actions.tolist(), recommended.tolist()


EASY = {
    "sure": [0.0, 1.0, 0.0, 0.0],  # ties, and means at the ends of the range
    "bernoulli": [0.3, 0.75, 0.6, 0.3],
    "gaussian": [0.0, 0.3, 0.9, 0.3],
    "poisson": [1.0, 1.0, 2.2, 1.6],
    "exponential": [1.0, 2.2, 0.8, 1.4],
}


def case(name, family, *words, grid=1.0, slow=True):
    return pytest.param(name, family, words, grid, marks=pytest.mark.slow if slow else ())


RACES = [
    case("chernoff_racing", "bernoulli", "kt", "all", slow=False),
    case("chernoff_racing", "bernoulli", "heuristic", "worst"),
    case("chernoff_racing", "sure", "heuristic", "worst", slow=False),
    case("chernoff_racing", "gaussian", "gauss", "all", grid=1.3, slow=False),
    case("chernoff_racing", "poisson", "kk", "worst"),
    case("chernoff_racing", "exponential", "heuristic", "all", grid=1.1),
    case("kl_racing", "bernoulli", "kt", "worst", slow=False),
    case("kl_racing", "bernoulli", "theory", "all", grid=1.2),
    case("kl_racing", "gaussian", "gauss", "worst"),
    case("kl_racing", "poisson", "kk", "all"),
    case("kl_racing", "exponential", "heuristic", "worst"),
    case("successive_elimination", "gaussian", slow=False),
]


@pytest.mark.parametrize(("name", "family", "words", "grid"), RACES)
def test_a_race_drops_what_its_reference_drops(name, family, words, grid):
    streams = streams_of(family, EASY[family])
    traced = {"delta": 0.1, "sigma": 0.5, "grid": grid}
    own = "bernoulli" if family == "sure" else family
    options = {"family": own, **dict(zip(("threshold", "drop"), words, strict=True))} if words else {}
    expected, survivor, looks = getattr(reference, name)(streams, *options.values(), **traced)
    assert survivor is not None and 4 <= looks < len(expected) < 4 * PULLS, (survivor, looks, len(expected))
    make = functools.partial(getattr(jb.algorithms, name), 4, **options)
    actions, recommended = play(make, traced, streams, 4 * PULLS)
    assert (actions, recommended) == (expected, [survivor])
    pulls, recommended = play_streams(make, streams, PULLS, batches=True, **traced).end()
    together = [arm for batch in pulls for _ in range(batch.max()) for arm in np.flatnonzero(batch)]
    assert (len(pulls), together, recommended.tolist()) == (looks, expected, [survivor])


LUCB = [
    ("bernoulli", "heuristic", 1, 0.0),
    ("unit", "kt", 2, 0.05),
    ("unit", "theory", 1, 0.02),
    ("gaussian", "gauss", 1, 0.0),
    ("poisson", "kk", 1, 0.1),
    ("exponential", "heuristic", 1, 0.0),
]


@pytest.mark.parametrize(
    ("family", "threshold", "m", "epsilon"), [pytest.param(*row, marks=pytest.mark.slow) for row in LUCB[1:]] + LUCB[:1]
)
def test_kl_lucb_pulls_both_arms_of_its_reference(family, threshold, m, epsilon):
    own = "bernoulli" if family == "unit" else family
    streams = streams_of(family, EASY[own], seed=1)
    traced = {"delta": 0.1, "epsilon": epsilon, "sigma": 0.5}
    make = functools.partial(jb.algorithms.kl_lucb, 4, family=own, threshold=threshold, m=m)
    actions, recommended = play(make, traced, streams, 4 * PULLS)
    expected, best = lucb_reference.kl_lucb(streams, own, threshold, m, ours=[*actions, -1, -1], **traced)
    assert len(expected) > 50 and actions == expected
    assert sorted(recommended) == sorted(best or ())


@pytest.mark.parametrize("variant", ["heuristic", pytest.param("theory", marks=pytest.mark.slow)])
def test_lil_ucb_pulls_the_arm_of_its_reference(variant):
    streams = streams_of("gaussian", [0.0, 0.4, 0.7], sigma=0.3)
    traced = {"delta": 0.1, "sigma": 0.3}
    actions, recommended = play(
        functools.partial(jb.algorithms.lil_ucb, 3, variant=variant), traced, streams, 2 * PULLS
    )
    expected, arm = lil_reference.lil_ucb(streams, variant, ours=[*actions, -1], **traced)
    assert len(expected) > 30 and (actions, recommended) == (expected, [arm])
