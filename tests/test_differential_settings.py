"""Rules for duels, knapsacks and cascades: as their NumPy references round by round, traces without chance, figures."""

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from reference import cascade as cascade_reference
from reference import dueling as dueling_reference
from reference import knapsack as knapsack_reference
from reference.dueling import SCORES, preferences
from reference.thompson import words_in
from scipy.stats import beta

import jaxbandit as jb
from jaxbandit.base.contract import action_of
from jaxbandit.support.numerics import numbered_key
from jaxbandit.theory.solvers.beta import draw_pairs

quickly = pytest.mark.quickly_compiled
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


RUCB = functools.partial(jb.algorithms.rucb, 5)
THOMPSON = functools.partial(jb.algorithms.double_thompson, 5)


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


@pytest.mark.slow
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


@quickly
def test_the_words_of_double_thompson_are_not_drawn_from_a_chain_of_keys():
    """After a split, XLA's CPU compiler computed the chain for each word again: 5 ms a round of 70 arms, not 40 us."""
    key = jax.random.key(0, impl="threefry4x32")
    _, _, words = jb.algorithms.double_thompson(70).noise(key)
    np.testing.assert_array_equal(words, draw_pairs(numbered_key(key, 3), 70))


def rolled(rule, world, horizon):
    return jax.device_get(jax.jit(lambda: jb.rollout(jb.run_key(0, 0), rule, world, horizon))())


REWARDS, COSTS = [0.7, 0.5, 0.3], [[0.9, 0.2], [0.4, 0.5], [0.1, 0.1]]


@pytest.mark.slow
@pytest.mark.parametrize("c", [1.0, 5.0])
@quickly
def test_primal_dual_bwk_plays_as_its_reference(c):
    """Two resources; both stop when another unit could not be paid."""
    horizon, budget = 1500, 300
    with jax.enable_x64(True):
        world = jb.environments.knapsack(REWARDS, COSTS, budget)
        rule = jb.algorithms.primal_dual_bwk(3, budget=budget, horizon=horizon, num_resources=2, c=c)
        assert rule.rewards == jb.Rewards(0.0, 1.0)
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
    rule, world = jb.algorithms.cascade_ucb(6, k=3), jb.environments.cascade(WEIGHTS, 3)
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


@quickly
def test_the_chances_of_double_thompson_are_those_of_its_posterior():
    """After 3,000 duels of three arms; a float32 sum of so many steps has an error of about 1e-5."""

    @jax.jit
    def last(coins):
        rule = jb.algorithms.double_thompson(3)
        pairs = jnp.array([[0, 1], [2, 0], [1, 2], [1, 1]], jnp.int32)

        def body(state, step):
            t, won = step
            return rule.update(state, None, pairs[t % 4], won), None

        return jax.lax.scan(body, rule.init(None), (jnp.arange(len(coins)), coins))[0]

    coins = np.random.default_rng(0).random(4000) < np.resize([0.5, 0.52, 0.7, 0.5], 4000)
    for x64, error in ((False, 1e-4), (True, 1e-11)):
        with jax.enable_x64(x64):
            state = jax.device_get(last(jb.numerics.as_float(coins)))
        above = np.triu_indices(3, 1)
        expected = beta.sf(0.5, state.wins[above] + 1, state.wins.T[above] + 1)
        assert state.wins.sum() == 3000
        assert 0.01 < expected[0] < 0.99
        np.testing.assert_allclose(state.chances[above], expected, atol=error)


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize(
    ("name", "runs", "mean", "error"), [("rucb", 100, 293.8, 2.9), ("double_thompson", 60, 86.2, 1.6)]
)
def test_duels_have_the_regret_of_an_independent_program(name, runs, mean, error):
    """Ten arms, 20,000 rounds; within 4 standard errors of both programs: a false alarm once in 10^4."""
    rule, world = getattr(jb.algorithms, name)(10), jb.environments.dueling(preferences(range(10)))
    compare(jb.simulate(rule, world, horizon=20_000, num_runs=runs, checkpoints=[20_000]).arrays["regret"], mean, error)


@pytest.mark.slow
@pytest.mark.statistical
def test_cascade_ucb_has_the_regret_of_an_independent_program_and_of_its_paper():
    """16 items, lists of 2, 10^5 rounds; the paper's Table 1 says 1290.1 +- 11.3."""
    world = jb.environments.cascade([0.2] * 2 + [0.05] * 14, 2)
    result = jb.simulate(jb.algorithms.cascade_ucb(16, k=2), world, horizon=100_000, num_runs=60, checkpoints=[100_000])
    compare(result.arrays["regret"], 1285.5, 6.4)
    compare(result.arrays["regret"], 1290.1, 11.3)


def blind():
    """UCB1 on the rewards alone."""
    rule = jb.algorithms.ucb1(3)
    return rule._replace(update=lambda state, context, arm, paid: rule.update(state, context, arm, paid[0]))


BWK = functools.partial(jb.algorithms.primal_dual_bwk, 3, budget=6_000, horizon=20_000)
SPENDERS = {
    "c = 1": (BWK, 8429, 13),
    "c of the proof": (functools.partial(BWK, c=math.log(2 * 3 * 20_000)), 7805, 7),
    "blind to costs": (blind, 4691, 3),
}


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("name", SPENDERS)
def test_knapsacks_have_the_reward_of_an_independent_program(name):
    """A budget of 6,000, 20,000 rounds, 100 runs; at most 8666.7 on average, by the linear program."""
    make, mean, error = SPENDERS[name]
    world = jb.environments.knapsack([0.7, 0.5, 0.3], [0.9, 0.4, 0.1], 6_000)
    measured = {"reward": jb.metrics.reward, "spent": jb.metrics.cost(0)}
    result = jb.simulate(make(), world, horizon=20_000, num_runs=100, checkpoints=[20_000], metrics=measured)
    compare(result.arrays["metric/reward"], mean, error)
    assert (result.arrays["metric/spent"][:, -1] <= 6_000).all()


def compare(values, mean, error):
    """The last values of all runs agree with a published mean, within 4 standard errors of their difference."""
    last = np.asarray(values)[:, -1]
    own = last.std(ddof=1) / math.sqrt(len(last))
    assert abs(last.mean() - mean) < 4 * math.hypot(own, error), (last.mean(), own)
