"""Equal actions, round by round, between the logistic rules in float64 and their NumPy references.

Both meet the same contexts, masks and noise, and the reward of an arm in a round is an entry of a table: two thirds are
0 or 1, the others are between. UCB-GLM also plays a world without chance whose pulls an independent program counted.
"""

import numpy as np
import pytest
from player import play
from reference import logistic as reference
from scipy.special import expit

from jaxbandit.algorithms.contextual.logistic_greedy import logistic_epsilon, logistic_greedy, logistic_softmax
from jaxbandit.algorithms.contextual.logistic_ts import logistic_ts
from jaxbandit.algorithms.contextual.logistic_ucb import logistic_ucb
from jaxbandit.algorithms.contextual.ucb_glm import ucb_glm
from jaxbandit.base.contract import Offer

pytestmark = pytest.mark.quickly_compiled

ROUNDS, ARMS, DIM = 400, 4, 3


def world(shared, masked, seed=0):
    """Contexts, rewards and masks of all rounds."""
    rng = np.random.default_rng(seed)
    contexts = rng.standard_normal((ROUNDS, ARMS, DIM) if shared else (ROUNDS, DIM))
    theta = np.cos(1 + 2 * np.arange(DIM)) if shared else np.sin(1 + np.arange(ARMS * DIM)).reshape(ARMS, DIM)
    scores = 2 * np.sum(contexts * theta if shared else contexts[:, None] * theta, -1) - 1
    rewards = (rng.random((ROUNDS, ARMS)) < expit(scores)).astype(float)
    rewards = np.where(np.arange(ROUNDS)[:, None] % 3 == 2, rng.random((ROUNDS, ARMS)), rewards)
    masks = rng.random((ROUNDS, ARMS)) < 0.6 if masked else np.ones((ROUNDS, ARMS), bool)
    masks[np.arange(ROUNDS), np.arange(ROUNDS) % ARMS] = True
    return contexts, rewards, masks


def ours(algorithm, contexts, rewards, masks, masked):
    """Actions, their probabilities (1 if a rule gives none) and the noise of all rounds."""

    given = Offer(masks, contexts) if masked else contexts
    found = play(lambda: algorithm, rewards, contexts=given)
    probabilities = np.ones(len(rewards)) if found.info is None else found.info.probability
    return found.actions, probabilities, found.noise, algorithm.pulls(found.last)


# Factory, its arguments, and the same in the words of the reference.
RULES = {
    "online": (logistic_ts, {}, (reference.Online, reference.thompson(1.0))),
    "online, others": (
        logistic_ts,
        {"regularization": 0.3, "scale": 0.4, "intercept": False},
        (reference.Online, reference.thompson(0.4)),
    ),
    "diagonal": (logistic_ts, {"variant": "diagonal"}, (reference.Diagonal, reference.thompson(1.0))),
    "diagonal, others": (
        logistic_ts,
        {"variant": "diagonal", "regularization": 0.3, "scale": 0.4, "intercept": False},
        (reference.Diagonal, reference.thompson(0.4)),
    ),
    "ucb": (logistic_ucb, {}, (reference.Online, reference.ucb(1.0))),
    "ucb, others": (
        logistic_ucb,
        {"alpha": 0.3, "regularization": 0.3, "intercept": False},
        (reference.Online, reference.ucb(0.3)),
    ),
    "glm": (ucb_glm, {"horizon": ROUNDS}, (reference.Glm, reference.ucb(0.5))),
    "glm, others": (
        ucb_glm,
        {"horizon": ROUNDS, "alpha": 0.2, "regularization": 0.3, "intercept": False, "every": 7, "random_rounds": 25},
        (reference.Glm, reference.ucb(0.2)),
    ),
    "greedy": (logistic_greedy, {}, (reference.Online, reference.ucb(0.0), reference.epsilon_greedy(0.0))),
    "greedy, others": (
        logistic_greedy,
        {"regularization": 0.3, "intercept": False},
        (reference.Online, reference.ucb(0.0), reference.epsilon_greedy(0.0)),
    ),
    "epsilon": (logistic_epsilon, {}, (reference.Online, reference.ucb(0.0), reference.epsilon_greedy(0.05))),
    "epsilon, others": (
        logistic_epsilon,
        {"epsilon": 0.4, "regularization": 0.3, "intercept": False},
        (reference.Online, reference.ucb(0.0), reference.epsilon_greedy(0.4)),
    ),
    "softmax": (logistic_softmax, {}, (reference.Online, reference.ucb(0.0), reference.softmax(0.1))),
    "softmax, others": (
        logistic_softmax,
        {"temperature": 0.7, "regularization": 0.3, "intercept": False},
        (reference.Online, reference.ucb(0.0), reference.softmax(0.7)),
    ),
}
# What the defaults cannot show is shown with a mask; the quick tier has each rule once.
CASES = [
    pytest.param(name, shared, "others" in name, marks=[] if shared == (place % 4 in (0, 3)) else pytest.mark.slow)
    for place, name in enumerate(RULES)
    for shared in (True, False)
]


@pytest.mark.parametrize(("name", "shared", "masked"), CASES)
def test_plays_as_its_reference(name, shared, masked):
    (factory, hyper, (kind, *how)), (contexts, rewards, masks) = RULES[name], world(shared, masked)
    algorithm = factory(ARMS, contexts.shape[1:], **hyper)
    actions, probabilities, noise, pulls = ours(algorithm, contexts, rewards, masks, masked)
    noise = [None] * ROUNDS if noise is None else noise
    words = {"regularization": "prior", "intercept": "intercept", "every": "every", "random_rounds": "random"}
    more = {"every": 20} | {words[key]: value for key, value in hyper.items() if key in words}
    expected, likely = reference.play(kind, contexts, rewards, masks, noise, *how, **more)
    np.testing.assert_array_equal(actions, expected)
    if factory is not logistic_greedy:  # which does not say them
        np.testing.assert_allclose(probabilities, likely, rtol=1e-6)
    np.testing.assert_array_equal(pulls, np.bincount(expected, minlength=ARMS))
    assert masks[np.arange(ROUNDS), actions].all() and len(np.unique(actions)) == ARMS


def primes(count):
    """The first prime numbers."""
    found = []
    number = 2
    while len(found) < count:
        if all(number % p for p in found):
            found.append(number)
        number += 1
    return np.array(found)


def test_ucb_glm_in_a_world_without_chance():
    """Contexts, and the numbers that decide rewards, are fractional parts of t sqrt(q), with q a prime for each.

    The pulls, the checksum and the regret are those of an independent program. In no round are the two best scores
    closer than 1e-3, so that rounding decides nothing.
    """
    rounds, arms, dim = 500, 5, 4
    t, roots = np.arange(1, rounds + 1)[:, None], np.sqrt(primes(25))
    parts = (t * roots[None]) % 1
    contexts, u = parts[:, :20].reshape(rounds, arms, dim) - 0.5, parts[:, 20:]
    means = expit(3 * contexts @ np.cos(1 + 2 * np.arange(dim)))
    algorithm = ucb_glm(arms, (arms, dim), horizon=rounds, every=1, intercept=False)
    masks = np.ones((rounds, arms), bool)
    actions, _, _, pulls = ours(algorithm, contexts, (u < means).astype(float), masks, False)
    np.testing.assert_array_equal(pulls, [101, 95, 101, 105, 98])
    assert np.sum(actions * ((t[:, 0] - 1) % 997 + 1)) == 252423
    regret = np.sum(means.max(1) - means[np.arange(rounds), actions])
    assert regret == pytest.approx(8.872696, abs=5e-7)  # the digits that are given
