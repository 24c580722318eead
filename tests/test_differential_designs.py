"""Designs, phases and games against their NumPy references: same rewards, same pulls, same stopping round; duplicates.

The solvers have tests of their own: here a rough design stands in for theirs, which compiles in no time, and the
references take its weights. All else they compute their own way. The k-th pull of an arm has the same reward however
pulls are ordered, so that batches can be compared with single pulls.
"""

import functools
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from player import play_streams
from reference import lazy_track_and_stop as reference_lazy
from reference import lin_game as reference_game
from reference import phased_designs as reference_phased
from reference import static_designs as reference_static

from jaxbandit.algorithms.exploration.lazy_track_and_stop import lazy_track_and_stop
from jaxbandit.algorithms.exploration.lin_game import lin_game
from jaxbandit.algorithms.exploration.rage import rage
from jaxbandit.algorithms.exploration.static_designs import xy_static
from jaxbandit.algorithms.exploration.xy_adaptive import xy_adaptive
from jaxbandit.algorithms.exploration.xy_oracle import xy_oracle
from jaxbandit.theory.solvers.best_arm import BestArmDesign
from jaxbandit.theory.solvers.design import Design

pytestmark = pytest.mark.quickly_compiled

ROUNDS = 4000
SOARE = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [np.cos(0.6), np.sin(0.6), 0]])
NORMALISED = np.random.default_rng(8).normal(size=(7, 3))
NORMALISED /= np.linalg.norm(NORMALISED, axis=1)[:, None]
OTHERS = np.random.default_rng(13).normal(size=(9, 3)) / 2  # candidates, of which three phases keep 9, 4 and 2
INSTANCES = {"soare": (SOARE, np.array([2.0, 0, 0])), "normalised": (NORMALISED, np.array([1.0, 0.5, 0]))}
PARTS = [f"jaxbandit.algorithms.exploration.{name}" for name in ("static_designs", "xy_oracle", "xy_adaptive", "rage")]


def rewards_of(instance, sigma, scale=1.0):
    """float[num_arms, ROUNDS], the reward of each arm's k-th pull."""
    features, theta = INSTANCES[instance]
    noise = np.random.default_rng(4).normal(size=(len(features), ROUNDS))
    return scale * (features @ theta)[:, None] + sigma * noise


def rough_design(features, directions, *, mask=None):
    """Weights by how well an arm is aligned with the directions, 0 for the least, and the value of these weights."""
    mask = jnp.ones(directions.shape[0], bool) if mask is None else mask
    scores = jnp.sum(jnp.where(mask[:, None], (directions @ features.T) ** 2, 0.0), 0) + 0.1
    least = (scores == scores.min()) & (features.shape[0] > 4)
    weights = jnp.where(least, 0.0, scores) / jnp.sum(jnp.where(least, 0.0, scores))
    inverse = jnp.linalg.inv(features.T @ (weights[:, None] * features))
    value = jnp.max(jnp.where(mask, jnp.sum((directions @ inverse) * directions, 1), 0.0))
    return Design(weights, value, value)


def rough_weights(means):
    """In the place of the best allocation: it follows the means, and in NumPy as well."""
    return np.exp(means) / np.exp(means).sum() if isinstance(means, np.ndarray) else jax.nn.softmax(means)


@pytest.fixture(autouse=True)
def _rough_designs(monkeypatch):
    def best(features, means, *, sigma):
        return BestArmDesign(rough_weights(means), jnp.ones(()), jnp.ones(()))

    for name in PARTS:
        monkeypatch.setattr(sys.modules[name], "transductive_design", rough_design)
    monkeypatch.setattr(sys.modules["jaxbandit.algorithms.exploration.lazy_track_and_stop"], "best_arm_design", best)


def weights_of(state):
    return state.weights


def singles(make, streams, options, watch=lambda state: None, fewest=40):
    """Actions until it stops, the arm returned, and what is watched at the start and of each new plan."""
    found = play_streams(make, streams, ROUNDS, watch=watch, **options)
    actions, arms = found.end()
    assert len(actions) > fewest  # else the instance shows little
    plans = np.flatnonzero(np.r_[True, found.planned[1 : len(actions) + 1]])
    return actions, int(arms[0]), jax.tree.map(lambda x: x[plans], found.watched)


def batches_agree(make, streams, options, actions, arm):
    """Hold batches to have made the same pulls and stopped at the same number; return how many there were."""
    pulls, best = play_streams(make, streams, ROUNDS, batches=True, **options).end()
    np.testing.assert_array_equal(pulls.sum(0), np.bincount(actions, minlength=len(streams)))
    assert best[0] == arm
    return len(pulls)


def agree(actions, arm, expected, best):
    np.testing.assert_array_equal(actions, expected)
    assert arm == best


@pytest.mark.slow
def test_static_designs():
    streams, make = rewards_of("normalised", 0.5), functools.partial(xy_static, NORMALISED)
    for grid in (1.0, 1.07):
        options = {"delta": 0.1, "sigma": 0.5, "grid": grid}
        actions, arm, (weights, *_) = singles(make, streams, options, weights_of)
        agree(actions, arm, *reference_static.play(streams, NORMALISED, weights, actions, **options))
        number = batches_agree(make, streams, options, actions, arm)
        assert grid > 1 or number == len(actions) - np.count_nonzero(weights) + 1


def test_oracle():
    features, theta = INSTANCES["soare"]
    streams, options = rewards_of("soare", 0.5), {"delta": 0.1, "sigma": 0.5, "grid": 1.07}
    make = functools.partial(xy_oracle, features, theta)
    actions, arm, (weights, *_) = singles(make, streams, options, weights_of)
    agree(actions, arm, *reference_static.play(streams, features, weights, actions, theta=theta, **options))
    batches_agree(make, streams, options, actions, arm)


def phases_agree(make, play, features, streams, options):
    """Hold a phased design to its reference, whose phases take our weights one after the other."""
    actions, arm, (weights, active) = singles(make, streams, options, lambda state: (state.weights, state.active))
    weights = iter(weights)
    expected, best, history = play(streams, features, lambda active: next(weights), actions, **options)
    agree(actions, arm, expected, best)
    assert [list(np.flatnonzero(arms)) for arms in active[:-1]] == history
    assert len(set(map(tuple, history))) > 1  # phases of fewer arms
    assert batches_agree(make, streams, options, actions, arm) == len(history)


@pytest.mark.slow
@pytest.mark.parametrize("retest", [True, False])
def test_xy_adaptive(retest):
    play = functools.partial(reference_phased.play_xy_adaptive, retest=retest)
    options = {"delta": 0.1, "sigma": 0.2, "alpha": 0.4}
    make = functools.partial(xy_adaptive, NORMALISED, retest=retest)
    phases_agree(make, play, NORMALISED, rewards_of("normalised", 0.2, 0.5), options)


@pytest.mark.parametrize("candidates", [None, OTHERS], ids=["arms", "candidates"])
def test_rage(candidates):
    options = {"delta": 0.1, "sigma": 0.1, "rounding": 0.2}
    make = functools.partial(rage, NORMALISED, candidates=candidates)
    play = functools.partial(reference_phased.play_rage, candidates=candidates)
    phases_agree(make, play, NORMALISED, rewards_of("normalised", 0.1, 0.3), options)


@pytest.mark.parametrize(
    ("instance", "threshold"), [("soare", "theory"), pytest.param("normalised", "heuristic", marks=pytest.mark.slow)]
)
def test_lin_game(instance, threshold):
    features, streams = INSTANCES[instance][0], rewards_of(instance, 1.5)
    options = {"delta": 0.1, "sigma": 1.5, "regularization": 0.3, "theta_norm": 2.0}
    actions, arm, _ = singles(functools.partial(lin_game, features, threshold=threshold), streams, options)
    agree(actions, arm, *reference_game.play(streams, features, actions, threshold=threshold, **options))


@pytest.mark.parametrize(
    ("instance", "threshold"), [("soare", "det"), pytest.param("normalised", "heuristic", marks=pytest.mark.slow)]
)
def test_lazy_track_and_stop(instance, threshold):
    features, streams = INSTANCES[instance][0], rewards_of(instance, 0.7)
    options = {"delta": 0.1, "sigma": 0.7, "slack": 0.2}
    make = functools.partial(lazy_track_and_stop, features, threshold=threshold)
    actions, arm, (basis, *_) = singles(make, streams, options, lambda state: state.basis)
    assert np.linalg.matrix_rank(features[basis]) == len(basis) == features.shape[1]
    *expected, forced = reference_lazy.play(
        streams, features, basis, rough_weights, actions, threshold=threshold, **options
    )
    agree(actions, arm, *expected)
    assert forced > features.shape[1]  # more than the first pulls


@pytest.mark.slow
@pytest.mark.parametrize("factory", [xy_static, xy_adaptive, rage, lin_game, lazy_track_and_stop])
def test_duplicates_of_the_best_arm_do_not_keep_a_run_from_stopping(factory):
    features = np.array([[0, 1], [1.0, 0], [1, 0], [0, 1]])
    streams = np.repeat(features @ [[2.0], [0.0]], ROUNDS, 1)
    assert singles(functools.partial(factory, features), streams, {"sigma": 0.1}, fewest=1)[1] == 1
