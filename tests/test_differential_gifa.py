"""Equal pulls and equal stopping rounds of the gap-index algorithms and their NumPy reference on the same rewards.

Choices that tie up to rounding (the greedy rule between two arms of equal use) go as ours did, if ours is as good to
1e-9: far above the rounding of some hundred updates in float64, far below what a wrong formula would do.
"""

import functools

import numpy as np
import pytest
from player import play
from reference import gifa as reference

from jaxbandit.algorithms import gifa, lingape, lingifa, lucb, m_lingape, ugape
from jaxbandit.theory.solvers.l1 import l1_table

pytestmark = pytest.mark.quickly_compiled


def soare():
    angle = 0.3
    return np.vstack([np.eye(5), [np.cos(angle), np.sin(angle), 0, 0, 0]])


def classic():
    """K = 4, m = 2, angle pi / 6."""
    return np.array([[1, 0, 0], [1, 1, 0], [np.cos(np.pi / 6), 0, np.sin(np.pi / 6)], [0, 0, 1.0]])


def normalised():
    features = np.random.default_rng(11).normal(size=(10, 3))
    return features / np.linalg.norm(features, axis=1)[:, None]


# features, theta / |theta| = e_1, noise such that a run stops after some hundred rounds, arms to find
INSTANCES = {"soare": (soare(), 0.4, 1), "classic": (classic(), 0.25, 2), "normalised": (normalised(), 0.42, 3)}
LINGAPE = {
    "candidates": "means",
    "index": "paired",
    "leader": "lucb",
    "rule": "greedy",
    "stop": "lucb",
    "threshold": "heuristic",
    "initial_pulls": True,
}
LINGIFA = {**LINGAPE, "candidates": "ugape", "leader": "ugape", "stop": "ugape", "initial_pulls": False}
LUCB = {**LINGAPE, "index": "classical", "rule": "largest_variance", "threshold": "lucb1"}
UGAPE = {**LUCB, "candidates": "ugape", "stop": "ugape"}


def case(instance, factory, base, *, slow=True, **own):
    """What the factory is given, and what that means in the reference's words."""
    marks = pytest.mark.slow if slow else ()
    words = "-".join(v for v in own.values() if isinstance(v, str))
    return pytest.param(
        instance, factory, own, {**base, **own}, marks=marks, id=f"{factory.__name__}-{instance}-{words}"
    )


CASES = [
    case("soare", lingape, {**LINGAPE, "threshold": "det"}, slow=False),
    case("soare", lingape, {**LINGAPE, "threshold": "det"}, rule="optimized"),
    case("soare", lingape, LINGAPE, rule="largest_variance", threshold="heuristic"),
    case("classic", m_lingape, {**LINGAPE, "threshold": "theory"}, slow=False),
    case("classic", m_lingape, LINGAPE, rule="optimized", threshold="lucb1", slow=False),
    case("classic", m_lingape, LINGAPE, rule="largest_variance", threshold="det"),
    case("normalised", m_lingape, LINGAPE, threshold="det"),
    case("normalised", m_lingape, LINGAPE, rule="optimized", threshold="det"),
    case("soare", lingifa, LINGIFA, rule="greedy", threshold="theory"),
    case("classic", lingifa, {**LINGIFA, "rule": "largest_variance", "threshold": "theory"}, slow=False),
    case("classic", lingifa, LINGIFA, rule="greedy", stop="lucb", threshold="det"),
    case("classic", lingifa, LINGIFA, rule="largest_variance", index="individual", threshold="heuristic"),
    case("normalised", lingifa, LINGIFA, rule="greedy", index="individual", threshold="heuristic"),
    case("normalised", lingifa, LINGIFA, rule="largest_variance", stop="lucb", threshold="det"),
    case("normalised", lingifa, LINGIFA, rule="largest_variance", index="individual", stop="lucb", threshold="lucb1"),
    case("classic", lucb, LUCB, slow=False),
    case("classic", lucb, LUCB, rule="both", threshold="heuristic"),
    case("normalised", ugape, UGAPE),
    case("normalised", gifa, {**LINGAPE, "threshold": "theory"}, candidates="ugape", stop="ugape", rule="optimized"),
    case("normalised", gifa, LINGAPE, leader="ugape", stop="ugape", rule="both", threshold="det"),
    case("classic", gifa, LINGAPE, index="individual", initial_pulls=False, threshold="heuristic"),
    case("normalised", gifa, LUCB, index="classical", rule="largest_variance", threshold="lucb1", leader="ugape"),
]
ROUNDS = 2000


@pytest.mark.parametrize(("instance", "factory", "own", "options"), CASES)
def test_same_pulls_and_same_stopping_round(instance, factory, own, options):
    features, sigma, m = INSTANCES[instance]
    weights = l1_table(features) if options["rule"] == "optimized" else None
    traced = {"delta": 0.1, "epsilon": 0.02, "sigma": sigma}
    prior = {"regularization": 0.3, "theta_norm": 1.2}
    if factory in (lucb, ugape):
        problem = features.shape[0]
    else:
        problem, traced = features, {**traced, **prior}
    statics = {**own, **({} if factory is lingape else {"m": m})}
    rewards = features[:, 0] + sigma * np.random.default_rng(5).normal(size=(ROUNDS, features.shape[0]))
    found = play(functools.partial(factory, problem, **statics), rewards, **traced)
    actions, end = found.actions, found.end()
    expected, best = reference.play(
        rewards[: end + 1], features, weights, ties=actions, m=m, **{**traced, **prior}, **options
    )
    assert 50 < end < ROUNDS, end  # else the instance shows little
    assert len(expected) == end
    np.testing.assert_array_equal(actions[:end], expected)
    assert tuple(sorted(found.recommended[end])) == best
