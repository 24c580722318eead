"""Semi-bandits: round by round as their NumPy references, the environment's law, and what does not fit."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from player import play
from reference import semi_bandit as reference

import jaxbandit as jb
from jaxbandit.algorithms import clucb, combinatorial_thompson, cucb, escb, saqm
from jaxbandit.algorithms.combinatorial import teams as helpers
from jaxbandit.engine.driver.identify import identify_cell
from jaxbandit.engine.driver.simulate import simulate_cell
from jaxbandit.environments.combinatorial.full_bandit import full_bandit
from jaxbandit.environments.combinatorial.semi_bandit import semi_bandit

quickly = pytest.mark.quickly_compiled
NUM_ARMS, K, ROUNDS = 6, 2, 250
MEANS = np.array([0.3, 0.8, 0.5, 0.75, 0.1, 0.45])


CUCB = {index: functools.partial(cucb, NUM_ARMS, k=K, index=index, c=0.7) for index in ("ucb", "kl")}
ESCB = functools.partial(escb, NUM_ARMS, k=K, c=0.5)
THOMPSON = functools.partial(combinatorial_thompson, NUM_ARMS, k=K)
CLUCB = functools.partial(clucb, NUM_ARMS, k=K, delta=0.1, epsilon=0.2)


def rewards_of(seed, rounds=ROUNDS, fractions=False):
    uniform = np.random.default_rng(seed).random((rounds, NUM_ARMS))
    return uniform * MEANS if fractions else (uniform < MEANS).astype(float)


@quickly
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("index", ["ucb", "kl"])
def test_cucb_plays_as_its_reference(index, seed):
    rewards = rewards_of(seed, fractions=seed == 1)
    teams = play(CUCB[index], rewards).actions
    expected = reference.play_cucb(rewards, K, index, 0.7, ties=teams)
    np.testing.assert_array_equal(teams, expected)
    assert teams.sum(0).min() >= 3 and (teams.sum(1) == K).all()


@quickly
def test_escb_plays_as_its_reference():
    rewards = rewards_of(2)
    teams = play(ESCB, rewards).actions
    np.testing.assert_array_equal(teams, reference.play_escb(rewards, K, 0.5, ties=teams))
    assert teams.sum(0).min() >= 3


@quickly
@pytest.mark.slow
@pytest.mark.parametrize("fractions", [False, True])
def test_combinatorial_thompson_plays_as_its_reference(fractions):
    rewards = rewards_of(3, fractions=fractions)
    teams, _, _, (words, coins), *_ = play(THOMPSON, rewards)
    np.testing.assert_array_equal(teams, reference.play_thompson(rewards, K, words, coins, ties=teams))
    assert teams.sum(0).min() >= 1


@pytest.mark.slow
@quickly
@pytest.mark.parametrize("seed", [0, 1])
def test_clucb_plays_and_stops_as_its_reference(seed):
    rewards = rewards_of(seed, 1500)
    found = play(CLUCB, rewards)
    expected, best = reference.play_clucb(rewards, K, 0.1, 0.2, ties=found.actions)
    assert 100 < len(expected) < 1500
    assert found.end() == len(expected)
    np.testing.assert_array_equal(found.actions[: len(expected)], expected)
    np.testing.assert_array_equal(found.recommended[len(expected)], best)


@quickly
def test_the_largest_are_those_of_a_sort():
    rng = np.random.default_rng(0)
    for k, n in ((1, 4), (3, 4), (10, 30)):
        values = np.round(rng.normal(size=n), 1)
        order = np.lexsort((np.arange(n), -values))[:k]
        np.testing.assert_array_equal(np.flatnonzero(helpers.largest(jnp.asarray(values), k)), sorted(order))
        np.testing.assert_array_equal(helpers.ranked(jnp.asarray(values), k), order)


@quickly
def test_a_team_shows_what_its_members_pay():
    """The same noise as the full bandit's, whose reward is their sum; means within 5 standard errors: 3e-6 of alarm."""
    each, total = semi_bandit(MEANS, K), full_bandit(MEANS, K, noise="bernoulli")
    team = jnp.asarray(np.isin(np.arange(NUM_ARMS), (1, 2)))

    def one(key):
        state, noise = each.init(key), each.noise(key)
        alone, summed = each.reward(state, None, team, noise), total.reward(total.init(key), None, team, noise)
        return alone, summed, each.regret(state, None, team)

    alone, summed, regret = jax.device_get(jax.jit(jax.vmap(one))(jax.random.split(jax.random.key(0), 20_000)))
    assert set(np.unique(alone)) == {0.0, 1.0} and not alone[:, ~np.asarray(team)].any()
    np.testing.assert_array_equal(alone.sum(1), summed)
    np.testing.assert_allclose(alone.mean(0)[[1, 2]], MEANS[[1, 2]], atol=5 * 0.5 / np.sqrt(20_000))
    np.testing.assert_allclose(regret, 0.25, rtol=1e-5)


@quickly
@pytest.mark.slow
@pytest.mark.statistical
def test_regret_is_that_of_the_teams_and_clucb_keeps_delta():
    """Regret read off the teams pulled; 64 runs of delta = .1, wrong in 17 or more with probability below 1e-4."""
    world = semi_bandit(MEANS, K)
    rule = cucb(NUM_ARMS, k=K, index="kl")
    record = simulate_cell(lambda a: (rule, world), {}, horizon=300, num_runs=64, checkpoints=[300])
    best = np.sort(MEANS)[-K:].sum()
    np.testing.assert_allclose(record.regret[:, -1], 300 * best - record.pulls @ MEANS, rtol=1e-4)
    assert (record.pulls.sum(1) == 300 * K).all()
    stopping = identify_cell(lambda a: (CLUCB(), world), {}, num_runs=64, max_rounds=5000, precision="float64")
    shortfall = best - MEANS[stopping.recommendation].sum(1)
    assert np.mean(shortfall > 0.2) < 17 / 64


@quickly
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: cucb(4, k=4), "cucb: k = 4, must be an integer in"),
        (lambda: escb(36, k=10), "escb: num_arms = 36 has 254186856 teams of 10, must have at most 5000"),
        (
            lambda: jb.simulate(cucb(6, k=2), full_bandit(MEANS, 2, noise="bernoulli"), horizon=3, num_runs=1),
            "cucb expects the reward of each member .semi-bandit., full_bandit returns one reward per set",
        ),
        (lambda: jb.session(cucb(6, k=2)), "session: cucb expects the reward of each member of a set"),
        (
            lambda: jb.identify(saqm(6, k=2), semi_bandit(MEANS, 2), num_runs=1),
            "saqm expects one reward per set .full bandit., semi_bandit returns the reward of each member",
        ),
    ],
)
def test_bad_input_is_refused_in_one_line(call, message):
    with pytest.raises(ValueError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)
