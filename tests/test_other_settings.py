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
from scipy.stats import beta

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


@quickly
def test_the_chances_of_double_thompson_are_those_of_its_posterior():
    """After 3,000 duels of three arms; a float32 sum of so many steps has an error of about 1e-5."""

    @jax.jit
    def last(coins):
        rule = jb.double_thompson(3)
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


def drawn(world, actions, rounds=40_000):
    """Mean feedback on each of some actions over many rounds, which share the noise."""
    keys = jax.random.split(jax.random.key(0, impl="threefry4x32"), rounds)
    state, noise = world.init(keys[0]), jax.vmap(world.noise)(keys)
    one = jax.vmap(lambda action, noise: world.reward(state, None, action, noise), (None, 0))
    return jax.jit(lambda: [one(jnp.asarray(action, jnp.int32), noise) for action in actions])()


@quickly
def test_the_laws_of_duels_and_their_gaps():
    """Frequencies within 5 standard errors of probabilities: a false alarm once in 10^5."""
    world, pairs = jb.dueling(DRIFT), [(0, 1), (1, 0), (2, 2), (4, 2)]
    for (c, d), won in zip(pairs, drawn(world, pairs), strict=True):
        assert set(np.unique(won)) == {0.0, 1.0}
        assert abs(np.mean(won) - DRIFT[c, d]) < 5 * 0.5 / math.sqrt(len(won))
    state, gaps = world.init(jax.random.key(0)), DRIFT[2] - 0.5
    for c, d in pairs:
        pair = jnp.array([c, d], jnp.int32)
        np.testing.assert_allclose(world.regret(state, None, pair), (gaps[c] + gaps[d]) / 2, rtol=1e-6)
        seen = jb.metrics.Round(state, None, pair, pair, None, None, state, jnp.int32(1))
        np.testing.assert_allclose(jb.weak_regret(seen), min(gaps[c], gaps[d]), rtol=1e-6)
    np.testing.assert_allclose([world.simple_regret(state, arm) for arm in range(5)], gaps, rtol=1e-6)


@quickly
def test_the_laws_of_a_knapsack_and_its_end():
    """Frequencies within 5 standard errors; the run ends when a unit more could not be paid."""
    world = jb.knapsack(REWARDS, COSTS, 2.5)
    for arm, (paid, costs) in enumerate(drawn(world, range(3))):
        np.testing.assert_allclose(np.mean(paid), REWARDS[arm], atol=5 * 0.5 / math.sqrt(len(paid)))
        np.testing.assert_allclose(np.mean(costs, 0), COSTS[arm], atol=5 * 0.5 / math.sqrt(len(paid)))
        both = np.mean(costs[:, 0] * costs[:, 1]) - COSTS[arm][0] * COSTS[arm][1]
        assert abs(both) < 5 * 0.5 / math.sqrt(len(paid))  # the costs of a pull are independent
    state = world.init(jax.random.key(0))
    for spent, over in (([0, 0], False), ([1, 1], False), ([2, 0], True), ([1, 2], True)):
        assert bool(world.over(state._replace(spent=jnp.array(spent, jnp.int32)))) == over
    after = world.transition(state, None, jnp.int32(0), jnp.array([0.0, 0.89, 0.21]))
    assert after.spent.tolist() == [1, 0]
    assert world.known() == {"budget": 2.5, "num_resources": 2}


def test_the_bound_of_a_knapsack_is_a_linear_program():
    """One resource: the best mixture of two arms, by the corners of the plane of budget and time."""
    rewards, costs, budget, horizon = [0.7, 0.5, 0.3], [0.9, 0.4, 0.1], 6000, 20000
    # Arms 1 and 2 fill both limits: x1 + x2 = 20000 and 0.4 x1 + 0.1 x2 = 6000.
    x1 = (budget - 0.1 * horizon) / 0.3
    assert jb.bounds.knapsack_bound(rewards, costs, budget, horizon) == pytest.approx(0.5 * x1 + 0.3 * (horizon - x1))
    assert jb.bounds.knapsack_bound(rewards, costs, 10**6, horizon) == pytest.approx(0.7 * horizon)
    assert jb.bounds.knapsack_bound([0.5], [[0.2, 0.5]], 10, 100) == pytest.approx(10)


@quickly
def test_the_laws_of_a_cascade_and_its_gaps():
    """Frequencies of the first click within 5 standard errors: w_1, then (1 - w_1) w_2, and so on."""
    world, lists = jb.cascade(WEIGHTS, 3), [(0, 1, 2), (2, 1, 0), (5, 3, 4)]
    state, best = world.init(jax.random.key(0)), 1 - np.prod(1 - WEIGHTS[[1, 2, 4]])
    for items, clicks in zip(lists, drawn(world, lists), strict=True):
        w = WEIGHTS[list(items)]
        passed = np.concatenate([[1.0], np.cumprod(1 - w)])
        expected = passed * np.append(w, 1.0)
        found = np.bincount(np.asarray(clicks), minlength=4) / len(clicks)
        np.testing.assert_allclose(found, expected, atol=5 * 0.5 / math.sqrt(len(clicks)))
        gap = best - (1 - np.prod(1 - w))
        np.testing.assert_allclose(world.regret(state, None, jnp.array(items, jnp.int32)), gap, atol=1e-6)
    np.testing.assert_allclose(world.regret(state, None, jnp.array([4, 2, 1], jnp.int32)), 0, atol=1e-6)
    assert world.known() == {"k": 3}


WRONG = {
    "not square": (lambda: jb.dueling(np.full((2, 3), 0.5)), "preferences has shape (2, 3), must be square"),
    "no complement": (
        lambda: jb.dueling([[0.5, 0.7], [0.4, 0.5]]),
        "preferences[0, 1] = 0.7 and preferences[1, 0] = 0.4",
    ),
    "no winner": (
        lambda: jb.dueling(np.array([[5, 6, 4], [4, 5, 6], [6, 4, 5]]) / 10),
        "no arm wins against every other",
    ),
    "rows": (lambda: jb.knapsack([0.5, 0.6], [0.1], 5), "costs has 1 rows, must have 2, one for each arm"),
    "budget": (lambda: jb.knapsack([0.5], [0.1], 0.5), "knapsack: budget = 0.5, must be"),
    "rows of the bound": (lambda: jb.bounds.knapsack_bound([0.5], [0.1, 0.2], 5, 9), "costs has 2 rows, must have 1"),
    "a long list": (lambda: jb.cascade([0.5, 0.6], 3), "cascade: k = 3, must be"),
    "a long list of a rule": (lambda: jb.cascade_ucb(2, k=3), "cascade_ucb: k = 3, must be"),
    "alpha": (lambda: jb.rucb(3, alpha=0.0), "rucb: alpha = 0"),
    "one arm": (lambda: jb.double_thompson(1), "double_thompson: num_arms = 1"),
    "late duels": (lambda: jb.delayed(jb.rucb(3), delay=2), "algorithm = rucb declares an action of its own"),
    "a rule for arms": (
        lambda: jb.simulate(jb.ucb1(5), jb.dueling(DRIFT), horizon=5, num_runs=1),
        "ucb1 chooses an arm, int32[], dueling takes int32[2]: must be equal",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_said_in_one_line(name):
    make, words = WRONG[name]
    with pytest.raises(ValueError) as error:
        make()
    assert words in str(error.value)
    assert len(str(error.value).splitlines()) == 1
