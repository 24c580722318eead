"""Worlds whose means change: schedules and laws against closed forms, regret against sums of exact counts."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from refusals import refusals
from scipy import stats
from test_contract import in_turn

import jaxbandit as jb

pytestmark = pytest.mark.quickly_compiled

MEANS = np.array([[0.3, 0.5, 0.9], [0.3, 0.2, 0.9], [0.3, 0.2, 0.1], [0.7, 0.2, 0.1], [0.7, 0.5, 0.1]])
STARTS = [0, 4, 5, 11, 30]
HORIZON = 20  # the last segment lies beyond it
LEVEL = 1e-4  # of each statistical test below, over all that it looks at: how often it would fail on right code
WORLDS = {
    "piecewise": lambda: jb.environments.piecewise_bernoulli(MEANS, STARTS),
    "sinusoidal": lambda: jb.environments.sinusoidal_bernoulli(3, center=0.4, amplitude=0.25, period=7.5),
    "restless": lambda: jb.environments.restless_bernoulli(3, sigma=0.3, low=0.1, high=0.7),
}


def gaps_met(environment, rounds, x64=True):
    """Gaps of all arms in each round, float[rounds, num_arms]."""

    @functools.partial(jax.jit, static_argnums=0)
    def play(rounds):
        def step(world, key):
            noise, arms = environment.noise(key), jnp.arange(3, dtype=jnp.int32)
            gaps = jax.vmap(lambda arm: environment.regret(world, None, arm))(arms)
            return environment.transition(world, None, arms[0], noise), gaps

        world = environment.init(jax.random.key(1))
        return jax.lax.scan(step, world, jax.random.split(jax.random.key(2), rounds))[1]

    with jax.enable_x64(x64):
        return np.asarray(play(rounds))


def schedule(rounds):
    """The means of each round of "piecewise" and of "sinusoidal", from their definitions."""
    r, a = np.arange(rounds)[:, None], np.arange(3)
    jumps = MEANS[np.searchsorted(STARTS, r[:, 0], side="right") - 1]
    return {"piecewise": jumps, "sinusoidal": 0.4 + 0.25 * np.sin(2 * np.pi * (r / 7.5 + a / 3))}


@pytest.mark.parametrize("name", ["piecewise", "sinusoidal"])
def test_means_follow_the_schedule(name):
    expected = schedule(HORIZON)[name]
    found = gaps_met(WORLDS[name](), HORIZON)
    np.testing.assert_allclose(found, expected.max(1, keepdims=True) - expected, atol=1e-15)


def test_a_sinusoid_is_right_in_float32_after_many_periods():
    world = jb.environments.sinusoidal_bernoulli(3, period=2500.0)
    r = 2**24 - 3
    mu = 0.5 + 0.3 * np.sin(2 * np.pi * (r / 2500 + np.arange(3) / 3))
    late = world.init(jax.random.key(0))._replace(round=jnp.int32(r))
    found = [float(world.regret(late, None, jnp.int32(arm))) for arm in range(3)]
    np.testing.assert_allclose(found, mu.max() - mu, atol=1e-6)  # a few roundings of an angle below 4 pi


def test_rewards_are_those_of_the_segment_they_are_drawn_in():
    coins = jb.environments.piecewise_bernoulli([[0.0, 1.0], [1.0, 0.0]], [0, 3])
    normal = jb.environments.piecewise_gaussian([[0.0, 10.0], [10.0, 0.0]], [0, 3], sigma=0.1)
    key = jax.random.key(0)
    for name, world in (("coins", coins), ("normal", normal)):
        met, paid = world.init(key), []
        noise = world.noise(key)
        for _ in range(5):
            paid.append(float(world.reward(met, None, jnp.int32(0), noise)))
            met = world.transition(met, None, jnp.int32(0), noise)
        assert np.rint(np.array(paid) / (1 if name == "coins" else 10)).tolist() == [0, 0, 0, 1, 1]


@pytest.mark.statistical
def test_walks_are_reflected_and_keep_the_law_of_their_walls():
    """Uniform between the walls is the law that reflected steps leave as it is, whatever their size."""
    world = WORLDS["restless"]()

    @jax.jit
    def walked(keys):
        def one(key):
            def step(world, key):
                return environment.transition(world, None, jnp.int32(0), environment.noise(key)), None

            environment = WORLDS["restless"]()
            return jax.lax.scan(step, environment.init(key), jax.random.split(key, 8))[0].means

        return jax.vmap(one)(keys)

    means = np.asarray(walked(jax.random.split(jax.random.key(3), 4000)))
    assert means.min() >= np.float32(0.1) and means.max() <= np.float32(0.7)
    for arm in range(3):
        assert stats.kstest(means[:, arm], stats.uniform(0.1, 0.6).cdf).pvalue > LEVEL / 6
        assert abs(stats.pearsonr(means[:, arm], means[:, (arm + 1) % 3]).statistic) < 5 / np.sqrt(4000)
    assert world.batch is None


@pytest.mark.statistical
def test_a_step_of_a_walk_is_normal_of_its_sigma_and_folded_at_the_walls():
    world = jb.environments.restless_bernoulli(2, sigma=0.02, means=[0.5, 0.005])
    met = world.init(jax.random.key(0))
    step = jax.jit(jax.vmap(lambda key: world.transition(met, None, jnp.int32(0), world.noise(key)).means))
    moved = np.asarray(step(jax.random.split(jax.random.key(4), 20_000)), np.float64)
    assert stats.kstest(moved[:, 0], stats.norm(0.5, 0.02).cdf).pvalue > LEVEL / 2

    def folded(x):
        return stats.norm.cdf(x, 0.005, 0.02) - stats.norm.cdf(-x, 0.005, 0.02)

    assert stats.kstest(moved[:, 1], folded).pvalue > LEVEL / 2


@pytest.mark.statistical
def test_what_a_walk_does_next_says_nothing_of_the_reward():
    noise = jax.jit(jax.vmap(jb.environments.restless_bernoulli(1).noise))(jax.random.split(jax.random.key(5), 20_000))
    found = stats.spearmanr(noise.uniform, noise.steps[:, 0])
    assert found.pvalue > LEVEL


@pytest.mark.slow
def test_without_changes_a_world_gives_the_runs_of_its_still_sister():
    """Actions and rewards to the byte; regret is summed in place of read off the pulls, so up to rounding."""
    options = {"horizon": 300, "num_runs": 70, "execution": jb.Execution(workers=1)}
    for rule in (jb.algorithms.kl_ucb(3), jb.algorithms.thompson(3)):
        still = jb.simulate(rule, jb.environments.bernoulli(MEANS[0]), **options)
        for rows in (1, 5):  # changes from the horizon on never happen
            moving = jb.simulate(
                rule, jb.environments.piecewise_bernoulli(MEANS[:rows], [0, 300, 301, 302, 303][:rows]), **options
            )
            for name in ("pulls", "recommendation", "outcome"):
                np.testing.assert_array_equal(moving.arrays[name], still.arrays[name])
            np.testing.assert_allclose(moving.arrays["regret"], still.arrays["regret"], rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["float32", pytest.param("float64", marks=pytest.mark.slow)])
def test_regret_is_exact_after_ten_million_rounds(precision):
    """Against whole counts of each segment's pulls, in float64: both regrets to the last digits of a float."""
    horizon = 10**7
    starts = [horizon * i // 5 for i in range(5)]
    marks = [3, horizon // 3, horizon]
    world = jb.environments.piecewise_bernoulli(MEANS, starts)
    options = {"checkpoints": marks, "hindsight": True, "precision": precision, "execution": jb.Execution(workers=1)}
    found = jb.simulate(in_turn(3), world, horizon=horizon, num_runs=1, **options)
    segment = np.searchsorted(starts, np.arange(horizon), side="right") - 1
    one = np.float32 if precision == "float32" else np.float64
    for i, n in enumerate(marks):
        counts = np.bincount(segment[:n] * 3 + np.arange(n) % 3, minlength=15).reshape(5, 3)
        dynamic = np.sum(counts * (MEANS.max(1, keepdims=True) - MEANS))
        fixed = (counts.sum(1)[:, None] * MEANS).sum(0).max() - np.sum(counts * MEANS)
        # Roundings of the sums and of the numbers that are summed; a plain sum is wrong by a hundredth.
        np.testing.assert_allclose(found.arrays["regret"][0, i], dynamic, rtol=4 * np.finfo(one).eps)
        np.testing.assert_allclose(found.arrays["hindsight"][0, i], fixed, rtol=4 * np.finfo(one).eps)


@pytest.mark.slow
def test_the_best_fixed_arm_of_a_restless_world_is_that_of_the_run():
    world, horizon = WORLDS["restless"](), 12
    options = {
        "horizon": horizon,
        "num_runs": 5,
        "execution": jb.Execution(workers=1),
        "checkpoints": range(1, horizon + 1),
    }
    found = jb.simulate(in_turn(3), world, hindsight=True, **options)
    always = np.stack(
        [
            jb.simulate(in_turn(3)._replace(select=lambda n, s, c, a=a: jnp.int32(a)), world, **options).arrays[
                "regret"
            ]
            for a in range(3)
        ]
    )
    assert len(set(always[:, :, -1].argmin(0).tolist())) > 1  # not the same arm in all runs
    expected = found.arrays["regret"] - always.min(0)
    np.testing.assert_allclose(found.arrays["hindsight"], expected, atol=1e-5)
    assert (found.arrays["hindsight"] < 0).any()  # a rule that moves on may beat every fixed arm


REFUSALS = {
    "starts fall": (
        lambda: jb.environments.piecewise_bernoulli(MEANS, [0, 4, 4, 11, 30]),
        "piecewise_bernoulli: starts[2] = 4, must be greater than 4, the one before",
    ),
    "starts late": (
        lambda: jb.environments.piecewise_bernoulli(MEANS[:1], [1]),
        "piecewise_bernoulli: starts[0] = 1, must be 0, because the first segment begins with the run",
    ),
    "a half round": (
        lambda: jb.environments.piecewise_bernoulli(MEANS[:2], [0, 2.5]),  # type: ignore
        "piecewise_bernoulli: starts[1] = 2.5, must be an integer",
    ),
    "starts few": (
        lambda: jb.environments.piecewise_bernoulli(MEANS, [0, 4]),
        "piecewise_bernoulli: starts has 2 entries, must have 5, one per row of means",
    ),
    "starts number": (
        lambda: jb.environments.piecewise_bernoulli(MEANS, 3),
        "piecewise_bernoulli: starts = 3, must be a list",
    ),  # type: ignore
    "means vector": (
        lambda: jb.environments.piecewise_bernoulli(MEANS[0], [0]),
        "piecewise_bernoulli: means has shape (3,), must have 2 axes",
    ),
    "means without arms": (
        lambda: jb.environments.piecewise_bernoulli(np.zeros((1, 0)), [0]),
        "piecewise_bernoulli: means has shape (1, 0), must have a column for each arm",
    ),
    "ragged": (
        lambda: jb.environments.piecewise_bernoulli([[0.1, 0.2], [0.3]], [0, 1]),
        "piecewise_bernoulli: means = [[0.1, 0.2], [0.3]], must be numbers in 2 axes",
    ),
    "mean above 1": (
        lambda: jb.environments.piecewise_bernoulli(MEANS * 2, STARTS),
        "piecewise_bernoulli: means[0, 2] = 1.8, must be in [0, 1]",
    ),
    "mean NaN": (
        lambda: jb.environments.piecewise_gaussian([[0.0, np.nan]], [0]),
        "piecewise_gaussian: means[0, 1] = nan, must be in",
    ),
    "amplitude": (
        lambda: jb.environments.sinusoidal_bernoulli(3, center=0.8, amplitude=0.3),
        "sinusoidal_bernoulli: amplitude = 0.3, must be a number in [0, 0.2]",
    ),
    "walls": (
        lambda: jb.environments.restless_bernoulli(3, low=0.5, high=0.5),
        "restless_bernoulli: high = 0.5, must be a number in (0.5, 1]",
    ),
    "beyond the walls": (
        lambda: jb.environments.restless_bernoulli(2, low=0.4, means=[0.5, 0.3]),
        "restless_bernoulli: means[1] = 0.3, must be in [0.4, 1]",
    ),
    "too few means": (
        lambda: jb.environments.restless_bernoulli(3, means=[0.5, 0.3]),
        "restless_bernoulli: means has 2 entries, must have 3, one per arm",
    ),
    "a rule of batches": (
        lambda: jb.identify(jb.algorithms.betting_race(3, delta=0.1), WORLDS["piecewise"](), num_runs=2),
        "plans batches of pulls, but piecewise_bernoulli changes from round to round",
    ),
    "batches of a world that moves": (
        lambda: jb.simulate(
            in_turn(3),
            WORLDS["piecewise"]()._replace(batch=jb.environments.bernoulli(MEANS[0]).batch),
            horizon=3,
            num_runs=1,
        ),
        "piecewise_bernoulli has both a transition and batch",
    ),
}


test_refusals = refusals(REFUSALS)
