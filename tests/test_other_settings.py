"""Duels, knapsacks and cascades: round by round as their NumPy references, without chance, and the worlds' laws."""

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from reference import cascade as cascade_reference
from reference import dueling as dueling_reference
from reference import knapsack as knapsack_reference
from reference.thompson import words_in

import jaxbandit as jb
from jaxbandit.base.contract import action_of

quickly = pytest.mark.quickly_compiled


def logistic(x):
    return 1 / (1 + np.exp(-x))


def preferences(scores, slope=0.3):
    """The probability that an arm wins, from scores of which a smaller one is better."""
    s = np.asarray(scores, float)
    return logistic(slope * (s[None] - s[:, None]))


SCORES = [3, 1, 0, 4, 2]
DRIFT = preferences(SCORES)


@functools.partial(jax.jit, static_argnums=0)
def duels(make, p, chances, noises):
    """The pairs that a rule plays where the first arm wins if chances[t] is below its preference."""
    algorithm = make()

    def body(state, step):
        noise, chance = step
        selected = algorithm.select(noise, state, None)
        pair = action_of(selected)
        won = jb.numerics.as_float(chance < p[pair[0], pair[1]])
        return algorithm.update(state, None, selected, won), pair

    state, pairs = jax.lax.scan(body, algorithm.init(jax.random.key(0)), (noises, chances))
    return pairs, state.wins, algorithm.recommend(state)


def fractions(rounds):
    return np.array([math.fmod(t * math.sqrt(2), 1) for t in range(1, rounds + 1)])


RUCB = functools.partial(jb.rucb, 5)
THOMPSON = functools.partial(jb.double_thompson, 5)


@quickly
def test_rucb_without_chance_plays_the_published_trace():
    """With draws of 0 the champion is played, else the first candidate; sums of the reference of 2,000 rounds."""
    with jax.enable_x64(True):
        pairs, _, best = jax.device_get(duels(RUCB, DRIFT, fractions(2000), jnp.zeros((2000, 2))))
    numbers = np.arange(2000) % 997 + 1
    assert np.bincount(pairs[:, 0], minlength=5).tolist() == [229, 999, 772, 0, 0]
    assert np.bincount(pairs[:, 1], minlength=5).tolist() == [27, 64, 1553, 99, 257]
    assert (pairs * numbers[:, None]).sum(0).tolist() == [1415589, 2140442]
    gaps = DRIFT[2] - 0.5
    assert round(gaps[pairs].sum() / 2, 6) == 98.576546
    assert best == 2


@quickly
@pytest.mark.parametrize(("seed", "slope"), [(0, 0.3), (1, 2.0)])
def test_rucb_plays_as_its_reference(seed, slope):
    rng, p = np.random.default_rng(seed), preferences(SCORES, slope)
    chances, uniforms = rng.random(800), rng.random((800, 2))
    with jax.enable_x64(True):
        pairs, wins, _ = jax.device_get(duels(RUCB, p, chances, jnp.asarray(uniforms)))
    expected, counts = dueling_reference.play_rucb(lambda t, c, d: chances[t - 1] < p[c, d], uniforms, 5)
    np.testing.assert_array_equal(pairs, expected)
    np.testing.assert_array_equal(wins, counts)
    assert (pairs[:, 0] == pairs[:, 1]).any() == (slope > 1)  # a champion that duels with itself, where it is clear


@quickly
def test_double_thompson_plays_as_its_reference():
    rounds = 250
    chances = np.random.default_rng(3).random(rounds)
    with jax.enable_x64(True):
        keys = jax.random.split(jax.random.key(0, impl="threefry4x32"), rounds)
        noises = jax.vmap(THOMPSON().noise)(keys)
        pairs, wins, best = jax.device_get(duels(THOMPSON, DRIFT, chances, noises))
    coins, ties, words = np.asarray(noises[0]), np.asarray(noises[1]), words_in(noises[2])
    expected, counts = dueling_reference.play_thompson(
        lambda t, c, d: chances[t - 1] < DRIFT[c, d], coins, ties, words, 5, taken=pairs[:, 1]
    )
    np.testing.assert_array_equal(pairs, expected)
    np.testing.assert_array_equal(wins, counts)
    assert best == np.argmax((counts > counts.T).sum(1))


def rolled(rule, world, horizon):
    return jax.device_get(jax.jit(lambda: jb.rollout(jb.run_key(0, 0), rule, world, horizon))())


REWARDS, COSTS = [0.7, 0.5, 0.3], [[0.9, 0.2], [0.4, 0.5], [0.1, 0.1]]


@pytest.mark.parametrize("c", [1.0, 5.0])
@quickly
def test_primal_dual_bwk_plays_as_its_reference(c):
    """Two resources; both stop when another unit could not be paid."""
    horizon, budget = 1500, 300
    with jax.enable_x64(True):
        world = jb.knapsack(REWARDS, COSTS, budget)
        rule = jb.primal_dual_bwk(3, budget=budget, horizon=horizon, num_resources=2, c=c)
        played = rolled(rule, world, horizon)
        every = [rolled(always(arm), world._replace(over=None), horizon) for arm in range(3)]
    rewards = np.stack([one.feedback[0] for one in every], 1)
    costs = np.stack([one.feedback[1] for one in every], 1)
    expected = knapsack_reference.play(rewards, costs, budget, horizon, c)
    lasted = int(played.counts.sum())
    assert 400 < lasted < horizon
    np.testing.assert_array_equal(played.actions[:lasted], expected)
    assert len(np.unique(expected)) == 3
    assert played.feedback[1].sum(0).max() == budget


def always(arm):
    """One arm in every round, whatever is paid."""
    return jb.Algorithm(
        init=lambda key: jnp.zeros((), jnp.int32),
        select=lambda noise, state, context: jnp.int32(arm),
        update=lambda state, context, action, feedback: state,
    )


WEIGHTS = np.array([0.1, 0.3, 0.25, 0.05, 0.2, 0.15])


@quickly
def test_cascade_ucb_plays_as_its_reference():
    attracts = np.random.default_rng(0).random((1200, 6)) < WEIGHTS
    rule, world = jb.cascade_ucb(6, k=3), jb.cascade(WEIGHTS, 3)
    coins = jnp.where(attracts, 0.0, 1.0)  # 0 is below and 1 above every weight

    def body(state, noise):
        items = rule.select(None, state, None)
        click = world.reward(world.init(jax.random.key(0)), None, items, noise)
        return rule.update(state, None, items, click), (items, click)

    with jax.enable_x64(True):
        run = jax.jit(lambda: jax.lax.scan(body, rule.init(None), jnp.asarray(coins, float)))
        _, (lists, clicks) = jax.device_get(run())
    expected, positions = cascade_reference.play(attracts, 3)
    np.testing.assert_array_equal(lists, expected)
    np.testing.assert_array_equal(clicks, positions)
    assert set(clicks) == {0, 1, 2, 3}
