"""Equal actions, round by round, between the Bayesian algorithms in float64 and their SciPy references."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from player import play
from reference import bayes_ucb as reference_bayes_ucb
from reference import thompson as reference_thompson

from jaxbandit.algorithms.regret.bayes_ucb import bayes_ucb
from jaxbandit.algorithms.regret.thompson import thompson
from jaxbandit.base.contract import action_of
from jaxbandit.engine.driver.simulate import simulate_cell
from jaxbandit.environments.stationary.bernoulli import bernoulli

NUM_ARMS, ROUNDS = 3, 300
THOMPSON, BAYES_UCB = functools.partial(thompson, NUM_ARMS), functools.partial(bayes_ucb, NUM_ARMS)


def bernoulli_rewards(seed):
    return (np.random.default_rng(seed).random((ROUNDS, NUM_ARMS)) < [0.1, 0.5, 0.6]).astype(float)


def rewards_of(seed, law):
    if law == "fractions":
        return np.random.default_rng(seed).random((ROUNDS, NUM_ARMS)) * [0.4, 0.7, 1.0]
    return bernoulli_rewards(seed)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seed", "prior", "law"),
    [
        (0, (1.0, 1.0), "bernoulli"),
        (1, (1.0, 1.0), "bernoulli"),
        (2, (0.5, 2.0), "bernoulli"),
        (3, (1.0, 1.0), "fractions"),
    ],
)
def test_thompson_plays_as_its_reference(seed, prior, law):
    rewards, hyper = rewards_of(seed, law), {"prior_alpha": prior[0], "prior_beta": prior[1]}
    actions, _, _, noise, *_ = play(THOMPSON, rewards, seed, **hyper)
    assert np.bincount(actions, minlength=NUM_ARMS).min() >= 1  # the stream says something about every arm
    words = reference_thompson.words_in(noise)
    coins = words[:, NUM_ARMS] >> 8
    drawn = words[:, :NUM_ARMS], coins / 2**24
    np.testing.assert_array_equal(actions, reference_thompson.play(rewards, *drawn, ties=actions, **hyper))


@pytest.mark.slow
@pytest.mark.quickly_compiled
@pytest.mark.parametrize("num_arms", [3, 80])
def test_a_fraction_is_a_success_with_that_probability_whatever_the_arms_draw(num_arms):
    """20,000 coins: their mean, and their correlation with each arm's word, within 5 standard errors.

    At most 81 numbers are looked at, each of them beyond with probability 6e-7: false alarm below 1e-4 in all.
    """
    number, reward = 20_000, 0.3
    algorithm = thompson(num_arms)
    state = jax.jit(algorithm.init)(jax.random.key(0))

    def one(key):
        noise = algorithm.noise(key)
        selected = algorithm.select(noise, state, None)
        after = algorithm.update(state, None, selected, jnp.float32(reward))
        return noise, action_of(selected), after.successes, after.counts

    pairs, actions, successes, counts = jax.device_get(
        jax.jit(jax.vmap(one))(jax.random.split(jax.random.key(1), number))
    )
    np.testing.assert_array_equal(counts, np.eye(num_arms, dtype=np.int32)[actions])
    assert (successes <= counts).all()
    won = successes.sum(axis=1)
    assert abs(won.mean() - reward) < 5 * np.sqrt(reward * (1 - reward) / number)
    levels = np.ascontiguousarray(reference_thompson.words_in(pairs)[:, :num_arms]).view(np.int32) / 2.0**31
    apart = levels - levels.mean(axis=0)
    correlation = (won - won.mean()) @ apart / number / won.std() / levels.std(axis=0)
    assert (abs(correlation) < 5 / np.sqrt(number)).all()


@pytest.mark.parametrize(("seed", "law"), [(0, "bernoulli"), (1, "bernoulli"), (2, "fractions")])
def test_bayes_ucb_plays_as_its_reference(seed, law):
    rewards = rewards_of(seed, law)
    actions = play(BAYES_UCB, rewards).actions
    np.testing.assert_array_equal(actions, reference_bayes_ucb.play(rewards, ties=actions))


@pytest.mark.slow
@pytest.mark.statistical
def test_thompson_regret_is_below_kl_ucb():
    """Nine Bernoulli arms 0.1 to 0.9, 10,000 rounds: below kl-UCB's 59.3 +- 0.4 (an independent program), above 30.

    The standard error of 1024 runs is below 1.5, so either side is more than 5 of them away: false alarm 1e-6.
    """
    means = np.arange(1, 10) / 10
    record = simulate_cell(lambda m: (thompson(9), bernoulli(m)), means, horizon=10_000, num_runs=1024, seed=5)
    error = np.sqrt(record.variance[-1] / 1024)
    assert error < 1.5
    assert 30 < record.mean[-1] < 59.3 - 5 * error
    assert record.outcome.max() <= 1
