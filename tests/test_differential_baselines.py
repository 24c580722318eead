"""Equal actions, round by round, between each baseline in float64 and its NumPy reference on the same rewards.

Bernoulli arms with as many pulls and successes tie, and rounding decides: where two indices agree to 1e-9 the reference
takes our action. DMED compares with a logarithm instead (kl(0, 1/2) = log 2 ties for good), so that its Bernoulli
rewards are moved by up to a thousandth. Constant rewards tie exactly and are compared as they are.
"""

import importlib
import inspect

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from player import made, play
from tiers import a_few

import jaxbandit as jb
from jaxbandit.algorithms import epsilon_greedy
from jaxbandit.theory.estimators import counts

pytestmark = pytest.mark.quickly_compiled

ROUNDS, NUM_ARMS, SEEDS = 600, 5, 4
LAWS = ["bernoulli", "tied bernoulli", "beta", "zeros", "ones"]
SETTINGS = {
    "uniform": [{}],
    "epsilon_greedy": [{}, {"epsilon": 0.0}, {"epsilon": 1.0}],
    "ucb_v": [{}, {"zeta": 0.5, "c": 0.1}, {"zeta": 2.0, "c": 0.0}],
    "moss": [{}, {"horizon": 600}, {"horizon": 40}],
    "imed": [{}],
    "dmed": [{}],
}
CASES = [(name, setting) for name, settings in SETTINGS.items() for setting in settings]


def rewards_of(law, num_arms=NUM_ARMS):
    rng = np.random.default_rng(7)
    shape = (SEEDS, ROUNDS, num_arms)
    if law == "beta":
        return rng.beta(np.linspace(1, 3, num_arms), 2, shape)
    means = {"zeros": 0.0, "ones": 1.0, "tied bernoulli": 0.5, "bernoulli": np.linspace(0.9, 0.3, num_arms)}[law]
    return (rng.random(shape) < means).astype(float)


def ours(name, setting, rewards):
    static = {k: v for k, v in setting.items() if isinstance(v, int)}
    traced = {k: v for k, v in setting.items() if isinstance(v, float)}
    return play(made(getattr(jb.algorithms, name), rewards.shape[2], **static), rewards, **traced)


def check(name, setting, law, num_arms=NUM_ARMS):
    rewards = rewards_of(law, num_arms)
    if name == "dmed" and "bernoulli" in law:
        rewards = 0.999 * rewards + 0.001 * np.random.default_rng(1).random(rewards.shape)
    reference = importlib.import_module(f"reference.{name}").play
    actions, _, _, noise, *_ = ours(name, setting, rewards)
    tolerant = "bernoulli" in law and "ties" in inspect.signature(reference).parameters
    for seed in range(rewards.shape[0]):
        ties = {"ties": actions[seed]} if tolerant else {}
        chance = () if noise is None else (noise[seed],)
        expected = reference(rewards[seed], *chance, **setting, **ties)
        different = np.flatnonzero(actions[seed] != expected)
        assert not different.size, f"round {different[0]}: {actions[seed][different[0]]}, not {expected[different[0]]}"


@pytest.mark.parametrize("law", a_few(LAWS, 2))
@pytest.mark.parametrize(("name", "setting"), CASES)
def test_equal_actions(name, setting, law):
    check(name, setting, law)


@pytest.mark.slow
@pytest.mark.parametrize("num_arms", [1, 2])
@pytest.mark.parametrize("name", SETTINGS)
def test_equal_actions_few_arms(name, num_arms):
    for law in LAWS:
        check(name, {}, law, num_arms)


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 1.0])
def test_epsilon_greedy_explores_by_its_words(epsilon):
    explored = importlib.import_module("reference.epsilon_greedy").explored
    keys = jax.random.split(jax.random.key(5), 2_000)
    with jax.enable_x64(True):
        found = np.asarray(jax.vmap(epsilon_greedy(NUM_ARMS, epsilon=epsilon).noise)(keys))
    words = np.asarray(jax.vmap(lambda key: jax.random.bits(key, (), "uint32"))(keys))
    np.testing.assert_allclose(found, explored(words, epsilon), rtol=0, atol=2e-8)  # below 1 - 2^-24
    assert np.mean(found >= 0) == pytest.approx(epsilon, abs=0.03)


def test_an_arm_without_a_reward_is_not_recommended():
    arms, _ = counts.update(counts.init(3), jnp.int32(1), jnp.float32(-0.5))
    assert counts.best_mean(arms) == 1
