"""Rounds in which not all arms may be pulled: rules that take an `Offer`, and what the engine makes of it."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxbandit as jb
from jaxbandit.algorithms.regret.index_policy import IndexState, index_policy
from jaxbandit.base import offers
from jaxbandit.support.numerics import argmax, as_float

pytestmark = pytest.mark.slow

NUM_ARMS = 5
MEANS = np.array([0.9, 0.8, 0.7, 0.6, 0.5])
PRIMES = np.sqrt([2, 3, 5, 7, 11])


class Days(NamedTuple):
    """The number of the round, from 1."""

    round: jax.Array


def sleeping(available, *, rewards=None) -> jb.Environment:
    """Bernoulli arms of which some are available: `available(round, uniforms)` is bool[5]."""

    def observe(state, noise):
        return jb.Offer(available(state.round, noise[NUM_ARMS:]))

    def reward(state, context, action, noise):
        drawn = noise[:NUM_ARMS] if rewards is None else rewards(state.round)
        return (drawn < jnp.asarray(MEANS, float))[action].astype(float)

    def regret(state, context, action):
        means = jnp.asarray(MEANS, float)
        return jnp.max(jnp.where(context.available, means, 0.0)) - means[action]

    return jb.Environment(
        init=lambda key: Days(jnp.int32(1)),
        noise=lambda key: jax.random.uniform(key, (2 * NUM_ARMS,)),
        observe=observe,
        reward=reward,
        regret=regret,
        transition=lambda state, context, action, noise: Days(state.round + 1),
        arms=jb.Arms(NUM_ARMS, available=True),
        rewards=jb.Rewards(0.0, 1.0, family="bernoulli"),
        name="sleeping",
    )


def every_seventh(round, uniforms):
    arms = jnp.arange(NUM_ARMS, dtype=jnp.int32)
    return ((round * (arms + 2)) % 7 >= 3) | (arms == round % NUM_ARMS)


def half_awake(round, uniforms):
    return (uniforms < 0.5) | (jnp.arange(NUM_ARMS, dtype=jnp.int32) == round % NUM_ARMS)


def half_radius(num_arms: int) -> jb.Algorithm:
    """Mean + sqrt(log n / (2 N)) with n rounds before this one."""

    def index(state: IndexState):
        return state.means + jnp.sqrt(jnp.log(as_float(state.round - 1)) / 2) * state.inverse_sqrt_counts

    return index_policy("half_radius", num_arms, index)


def test_sleeping_ucb_plays_the_published_trace():
    """Rewards and masks without chance: pulls, check sum and regret of an independent program."""
    rounds = 1000
    numbers = np.arange(1, rounds + 1)[:, None] * PRIMES
    fractions = numbers - np.floor(numbers)
    with jax.enable_x64(True):
        world = sleeping(every_seventh, rewards=lambda round: jnp.asarray(fractions)[round - 1])
        played = jb.rollout(jax.random.key(0), half_radius(NUM_ARMS), world, rounds)
    actions, regret = np.asarray(played.actions), np.asarray(played.regret)
    assert np.bincount(actions).tolist() == [579, 289, 62, 39, 31]
    assert int(np.sum(actions * (np.arange(rounds) % 997 + 1))) == 274256
    assert regret.sum() == pytest.approx(13.9, abs=1e-9)


DETERMINISTIC = {
    "ucb1": jb.algorithms.ucb1,
    "ucb_v": jb.algorithms.ucb_v,
    "kl_ucb": jb.algorithms.kl_ucb,
    "imed": jb.algorithms.imed,
    "bayes_ucb": jb.algorithms.bayes_ucb,
    "ucboost": jb.algorithms.ucboost,
    "kl_ucb_empirical": lambda num_arms: jb.algorithms.kl_ucb_empirical(num_arms, num_atoms=3),
}
DRAWING = {
    "thompson": jb.algorithms.thompson,
    "uniform": jb.algorithms.uniform,
    "epsilon_greedy": jb.algorithms.epsilon_greedy,
    "moss": jb.algorithms.moss,
}


@pytest.mark.quickly_compiled
@pytest.mark.parametrize("name", DETERMINISTIC)
def test_a_rule_plays_as_if_the_other_arms_did_not_exist(name):
    """Arms 1, 2 and 4 are available: the actions are those of the rule with these three arms on the same rewards."""
    make, awake, rounds = DETERMINISTIC[name], np.array([1, 2, 4]), 150
    table = (np.random.default_rng(3).random((rounds, NUM_ARMS)) < MEANS).astype(float)
    with jax.enable_x64(True):
        mask, rewards = jnp.zeros(NUM_ARMS, bool).at[awake].set(True), jnp.asarray(table)

        def played(algorithm, context, rows):
            noise = algorithm.noise(jax.random.key(0))

            def one(state, row):
                choice = algorithm.select(noise, state, context)
                action = choice.action if isinstance(choice, jb.contract.Choice) else choice
                return algorithm.update(state, context, choice, row[action]), action

            return np.asarray(jax.lax.scan(one, algorithm.init(jax.random.key(0)), rows)[1])

        masked = played(make(NUM_ARMS), jb.Offer(mask), rewards)
        alone = played(make(3), None, rewards[:, awake])
    np.testing.assert_array_equal(masked, awake[alone])
    assert set(masked) == set(awake)


@pytest.mark.quickly_compiled
@pytest.mark.parametrize("name", [*DETERMINISTIC, *DRAWING])
def test_no_arm_is_pulled_that_is_not_available(name):
    """The engine would end such a run as NONFINITE."""
    found = jb.simulate((DETERMINISTIC | DRAWING)[name](NUM_ARMS), sleeping(half_awake), horizon=200, num_runs=64)
    assert not found.arrays["unavailable"].any() and found.counted == 64
    assert (found.arrays["pulls"].sum(1) == 200).all() and (found.arrays["pulls"] > 0).all()


@pytest.mark.parametrize("mask", [[1, 1, 1, 1, 1], [0, 1, 0, 1, 1], [1, 0, 0, 0, 0], [0, 0, 0, 0, 1]])
def test_a_uniform_number_becomes_each_available_arm_equally_often(mask):
    available = np.array(mask, bool)
    u = (np.arange(6000) + 0.5) / 6000
    draw = jax.vmap(lambda x: offers.uniform_arm(jnp.asarray(available), x, NUM_ARMS))
    counts = np.bincount(np.asarray(draw(jnp.asarray(u, jnp.float32))), minlength=NUM_ARMS)
    np.testing.assert_array_equal(counts, available * 6000 // available.sum())


def test_an_index_of_minus_infinity_is_above_those_of_arms_that_are_not_available():
    available = jnp.array([False, True, True])
    assert argmax(offers.among_available(available, jnp.array([1.0, -jnp.inf, -jnp.inf]))) == 1


def test_a_run_without_any_available_arm_ends_and_says_when():
    """In round 7 no arm is available; the other runs of the call do not exist, because all see the same mask."""
    world = sleeping(lambda round, uniforms: jnp.broadcast_to(round != 7, (NUM_ARMS,)))
    with pytest.raises(ValueError, match=r"no arm available in round 7 of run 0"):
        jb.simulate(jb.algorithms.ucb1(NUM_ARMS), world, horizon=20, num_runs=3, max_failed=0.0)
    short = jb.simulate(jb.algorithms.ucb1(NUM_ARMS), world, horizon=6, num_runs=3)
    assert short.counted == 3


def stubborn() -> jb.Algorithm:
    """Pull arm 0 unless arm 4 is available, so that it uses the mask and pulls arms that are not available."""

    def select(noise, state, context):
        return jnp.where(context.available[4], 4, 0).astype(jnp.int32)

    return jb.Algorithm(init=lambda key: (), select=select, update=lambda *given: (), name="stubborn")


@pytest.mark.filterwarnings("ignore::jaxbandit.RunsLeftOut")
def test_a_run_that_pulls_an_unavailable_arm_is_left_out():
    world = sleeping(lambda round, uniforms: jnp.arange(NUM_ARMS, dtype=jnp.int32) == round % NUM_ARMS)
    found = jb.simulate(stubborn(), world, horizon=20, num_runs=3, max_failed=1.0)
    assert found.outcomes()["nonfinite"] == 3 and found.arrays["unavailable"].tolist() == [1, 1, 1]
    assert "not the one pulled" in found.left_out


def test_a_rule_that_ignores_the_mask_is_refused_unless_it_is_allowed():
    world = sleeping(lambda round, uniforms: jnp.ones(NUM_ARMS, bool))
    with pytest.raises(ValueError) as caught:
        jb.simulate(jb.algorithms.dmed(NUM_ARMS), world, horizon=20, num_runs=3)
    assert str(caught.value) == (
        "simulate: dmed ignores which arms are available in sleeping: choose a rule that takes an Offer, such as ucb1; "
        'allow = ["context"] plays it all the same'
    )
    found = jb.simulate(jb.algorithms.dmed(NUM_ARMS), world, horizon=20, num_runs=3, allow=("context",))
    assert found.any_context and found.to_json()["any_context"] and "ignored the context" in found.notes()[0]


@pytest.mark.statistical
@pytest.mark.parametrize(
    "rule, mean, error", [(half_radius, 20.2, 0.3), (jb.algorithms.thompson, 22.2, 0.4)], ids=["ucb", "thompson"]
)
def test_regret_against_the_best_available_arm(rule, mean, error):
    """500 runs of an independent program, 10^4 rounds, against our 250: four standard errors, a false alarm of 6e-5."""
    found = jb.simulate(rule(NUM_ARMS), sleeping(half_awake), horizon=10_000, num_runs=250)
    own = found.interval().se[-1]
    assert abs(found.arrays["mean"][-1] - mean) <= 4 * np.hypot(error, own)
