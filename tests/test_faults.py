"""Feedback that is not finite, or not what the environment says it gives: such runs are counted, no other changes."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import parts
import pytest

import jaxbandit as jb
from jaxbandit.base.contract import Outcome
from jaxbandit.engine.driver.identify import identify_cell
from jaxbandit.engine.driver.simulate import simulate_cell
from jaxbandit.engine.rounds import keys
from jaxbandit.lab.specs.registry import ALGORITHMS

pytestmark = pytest.mark.slow

RUNS, HORIZON = 80, 60
FAULTS = jnp.array([jnp.nan, jnp.inf, -jnp.inf])
HIT = 0.2  # chance of a faulty round in a faulty run: of 60 rounds one is but for a chance of 2e-6
# The feedback of a cascade is int32.
FAULTY = [name for name in parts.ONE_OF_EACH_FORM if ALGORITHMS[name].setting != "cascade"]


def faulty(environment, share):
    """The environment in whose runs, each with chance `share`, some rounds give NaN, or inf, or -inf."""

    def init(key):
        draw = jax.random.uniform(jax.random.fold_in(key, 1))
        return environment.init(key), draw < share, FAULTS[(draw * 1e4).astype(jnp.int32) % 3]

    def noise(key, inner):
        return inner(key), jax.random.uniform(jax.random.fold_in(key, 2)) < HIT

    def spoilt(world, hit, feedback):
        return jax.tree.map(lambda x: jnp.where(world[1] & hit, world[2].astype(x.dtype), x), feedback)

    def reward(world, context, action, noise):
        return spoilt(world, noise[1], environment.reward(world[0], context, action, noise[0]))

    def sums(world, pulls, noise):
        return spoilt(world, noise[1], environment.batch.sums(world[0], pulls, noise[0]))

    regret, judge, move, over = (getattr(environment, x) for x in ("regret", "simple_regret", "transition", "over"))
    return environment._replace(
        init=init,
        noise=functools.partial(noise, inner=environment.noise),
        observe=lambda world, noise: environment.observe(world[0], noise[0]),
        reward=reward,
        regret=lambda world, context, action: regret(world[0], context, action),
        transition=move
        and (lambda world, context, action, noise: (move(world[0], context, action, noise[0]), *world[1:])),
        over=over and (lambda world: over(world[0])),
        simple_regret=judge and (lambda world, recommendation: judge(world[0], recommendation)),
        batch=environment.batch
        and jb.contract.BatchRewards(noise=functools.partial(noise, inner=environment.batch.noise), sums=sums),
    )


def flagged(environment):
    """Which runs are faulty, bool[RUNS]."""
    words = keys.run_keys(keys.root_key(0), jnp.arange(RUNS))
    first = jax.vmap(lambda w: environment.init(keys.round_key(w, jnp.uint32(0), "threefry4x32"))[1], -1)
    return np.asarray(first(words[0]))


@pytest.mark.quickly_compiled
@pytest.mark.parametrize("name", FAULTY)
def test_a_run_whose_feedback_is_not_finite_is_counted_and_no_other_changes(name):
    algorithm, environment = parts.pair(name)

    def make(share):
        return algorithm, faulty(environment, share)

    stops = ALGORITHMS[name].kind == "identify"
    number = np.float64 if stops else np.float32
    if not stops:
        play = functools.partial(simulate_cell, make, horizon=HORIZON, num_runs=RUNS)
        compared = ("regret", "pulls", "recommendation")
    else:
        play = functools.partial(identify_cell, make, num_runs=RUNS, max_rounds=3000)
        compared = ("samples", "pulls", "recommendation", "shortfall", "outcome")
    clean, found = play(number(0.0)), play(number(0.1))
    with jax.enable_x64(stops):
        suspects = flagged(faulty(environment, number(0.1)))
    broken = found.outcome == Outcome.NONFINITE
    assert 2 <= suspects.sum() <= 20 and broken.any() and not (broken & ~suspects).any()
    assert not (clean.outcome == Outcome.NONFINITE).any()
    if not stops:
        np.testing.assert_array_equal(broken, suspects)
        assert found.counted == RUNS - suspects.sum()
        np.testing.assert_array_equal(found.mean[-1], np.float64(found.regret[~broken, -1]).mean())
    for which in compared:
        values = getattr(found, which)
        if values is not None:
            assert values[~broken].tobytes() == getattr(clean, which)[~broken].tobytes(), which


def constant(value, rewards):
    """Two arms that pay a traced value, whatever is promised."""
    return jb.Environment(
        init=lambda key: jnp.asarray(value, jnp.result_type(float)),
        reward=lambda state, context, action, noise: state,
        regret=lambda state, context, action: jnp.zeros(()),
        arms=jb.Arms(2),
        rewards=rewards,
    )


@pytest.mark.quickly_compiled
@pytest.mark.parametrize(
    ("low", "high", "value", "outcome"),
    [
        (0.0, 1.0, 1.0, Outcome.STOPPED),
        (0.0, 1.0, 1.5, Outcome.OUT_OF_RANGE),
        (0.0, 1.0, -0.5, Outcome.OUT_OF_RANGE),
        (0.0, 1.0, np.nan, Outcome.NONFINITE),
        (0.0, 1.0, np.inf, Outcome.NONFINITE),
        (0.0, np.inf, 5.0, Outcome.STOPPED),
        (0.0, np.inf, -1.0, Outcome.OUT_OF_RANGE),
        (0.0, np.inf, np.inf, Outcome.NONFINITE),
    ],
)
def test_a_reward_outside_its_promised_range_is_an_outcome_of_its_own(low, high, value, outcome):
    rewards = jb.Rewards(low, high)
    record = simulate_cell(
        lambda value: (jb.algorithms.uniform(2), constant(value, rewards)), jnp.float32(value), horizon=5, num_runs=3
    )
    assert (record.outcome == outcome).all()
    assert record.counted == (3 if outcome == Outcome.STOPPED else 0)
    assert np.isnan(record.mean).all() == (outcome != Outcome.STOPPED)
