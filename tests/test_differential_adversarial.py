"""Equal actions, round by round, between the adversarial algorithms in float64 and their NumPy references."""

import functools
import math

import numpy as np
import pytest
from player import play
from reference import adversarial as reference

import jaxbandit as jb

NUM_ARMS, ROUNDS = 4, 300
pytestmark = pytest.mark.quickly_compiled


def losses_of(seed):
    """Fractions, of which a worse arm becomes the best half-way."""
    losses = np.random.default_rng(seed).random((ROUNDS, NUM_ARMS)) * [0.9, 0.6, 1.0, 1.0]
    losses[ROUNDS // 2 :, 2] *= 0.2
    return losses


def anytime(constant):
    return lambda t: constant / math.sqrt(t)


LOG = math.log(NUM_ARMS)
FIXED = math.sqrt(2 * LOG / (ROUNDS * NUM_ARMS))
LEADERS = {
    "exp3": (jb.algorithms.exp3, {}, reference.exponential, anytime(math.sqrt(LOG / NUM_ARMS)), {}),
    "exp3, fixed": (
        functools.partial(jb.algorithms.exp3, rate="fixed", horizon=ROUNDS),
        {},
        reference.exponential,
        lambda t: FIXED,
        {},
    ),
    "exp3, own rate": (
        functools.partial(jb.algorithms.exp3, rate="fixed"),
        {"eta": 0.3},
        reference.exponential,
        lambda t: 0.3,
        {},
    ),
    "exp3_ix": (
        jb.algorithms.exp3_ix,
        {},
        reference.exponential,
        anytime(math.sqrt(LOG / NUM_ARMS)),
        {"implicit": True},
    ),
    "exp3_ix, fixed": (
        functools.partial(jb.algorithms.exp3_ix, rate="fixed", horizon=ROUNDS),
        {},
        reference.exponential,
        lambda t: FIXED,
        {"implicit": True},
    ),
    "tsallis_inf": (jb.algorithms.tsallis_inf, {}, reference.tsallis, anytime(2.0), {}),
    "tsallis_inf, reduced variance": (
        functools.partial(jb.algorithms.tsallis_inf, estimate="reduced_variance"),
        {},
        reference.tsallis,
        anytime(4.0),
        {"reduced": True},
    ),
    "tsallis_inf, own rate": (jb.algorithms.tsallis_inf, {"eta": 0.7}, reference.tsallis, anytime(0.7), {}),
}


def played(rule, seed, hyper):
    """Ours, checked for what a run leaves."""
    losses = losses_of(seed)
    make = functools.partial(rule, NUM_ARMS)
    found = play(make, 1 - losses, seed, **hyper)
    pulls, recommended = make(**hyper).pulls(found.last), found.recommended[-1]
    np.testing.assert_array_equal(pulls, np.bincount(found.actions, minlength=NUM_ARMS))
    assert pulls.min() >= 5  # the stream says something about every arm
    assert 0 <= recommended < NUM_ARMS
    return losses, found.actions, found.noise


@pytest.mark.parametrize("name", LEADERS)
def test_plays_as_its_reference(name):
    rule, hyper, distribution, eta_at, more = LEADERS[name]
    for seed in range(2):
        losses, actions, uniforms = played(rule, seed, hyper)
        expected = reference.follow_the_leader(losses, uniforms, actions, distribution, eta_at, **more)
        np.testing.assert_array_equal(actions, expected)


GAMMA = math.sqrt(NUM_ARMS * (3 * math.log(NUM_ARMS * ROUNDS) + math.e) / ((math.e - 1) * ROUNDS))


@pytest.mark.parametrize(
    ("static", "hyper", "alpha", "gamma"),
    [({"num_changes": 2}, {}, 1 / ROUNDS, GAMMA), ({}, {"alpha": 0.05, "gamma": 0.2}, 0.05, 0.2)],
)
def test_exp3_s_plays_as_its_reference(static, hyper, alpha, gamma):
    losses, actions, uniforms = played(functools.partial(jb.algorithms.exp3_s, horizon=ROUNDS, **static), 3, hyper)
    np.testing.assert_array_equal(actions, reference.exp3_s(losses, uniforms, actions, alpha, gamma))
