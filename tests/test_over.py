"""Runs that are over before the horizon, because the environment says so: what follows counts nothing."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxbandit as jb
from jaxbandit.base.contract import Outcome
from jaxbandit.lab.conformance.check_case import CheckFailed
from jaxbandit.support.numerics import as_float

pytestmark = [pytest.mark.slow, pytest.mark.quickly_compiled]

HORIZON, RUNS = 60, 16


class Purse(NamedTuple):
    left: jax.Array  # int32[], coins
    means: jax.Array  # float[num_arms]


def casino(coins=10):
    """Bernoulli arms; a loss costs a coin, and who has none left is out. Rewards are NaN afterwards."""

    def reward(state, context, action, draw):
        return jnp.where(state.left > 0, as_float(draw < state.means[action]), jnp.nan)

    def transition(state, context, action, draw):
        return state._replace(left=state.left - (draw >= state.means[action]).astype(jnp.int32))

    return jb.Environment(
        init=lambda key: Purse(jnp.int32(coins), jnp.array([0.3, 0.6])),
        noise=jax.random.uniform,
        reward=reward,
        transition=transition,
        over=lambda state: state.left == 0,
        regret=lambda state, context, action: jnp.max(state.means) - state.means[action],
        simple_regret=lambda state, arm: jnp.max(state.means) - state.means[arm],
        arms=jb.Arms(2),
        rewards=jb.Rewards(0.0, 1.0),
        name="casino",
    )


CASINO, UCB = casino(), jb.algorithms.ucb1(2)


def by_hand(run):
    """The run played on without the end, in Python: the rounds that count, their arms, and the regret."""
    free = jb.rollout(jb.run_key(0, run), UCB, CASINO._replace(over=None), HORIZON)
    losses = np.cumsum(np.asarray(free.feedback) == 0)
    lasted = int(np.argmax(losses == 10)) + 1 if (losses == 10).any() else HORIZON
    return lasted, np.asarray(free.actions)[:lasted], np.asarray(free.regret)[:lasted]


@pytest.fixture(scope="module")
def hands():
    return [by_hand(run) for run in range(RUNS)]


@pytest.fixture(scope="module")
def result():
    return jb.simulate(UCB, CASINO, horizon=HORIZON, num_runs=RUNS, checkpoints=[5, 15, HORIZON])


def test_a_run_that_is_over_counts_nothing_more(hands, result):
    lasted, arms, gaps = zip(*hands, strict=True)
    assert max(lasted) - min(lasted) > 10
    assert max(lasted) < HORIZON
    np.testing.assert_array_equal(result.arrays["pulls"], [np.bincount(a, minlength=2) for a in arms])
    wanted = [[gap[:t].sum() for t in (5, 15, HORIZON)] for gap in gaps]
    np.testing.assert_allclose(result.arrays["regret"], wanted, atol=1e-5)  # sums of 60 float32 numbers below 1
    assert (result.arrays["outcome"] == Outcome.STOPPED).all()  # a NaN that does not count is no failure


def test_pulls_that_the_engine_counts_end_too(result):
    counted = jb.simulate(UCB._replace(pulls=None, recommend=lambda s: 0), CASINO, horizon=HORIZON, num_runs=RUNS)
    np.testing.assert_array_equal(counted.arrays["pulls"], result.arrays["pulls"])


def test_miscounted_pulls_are_still_noticed():
    wrong = UCB._replace(pulls=lambda state: state.counts + 1)
    with pytest.raises(ValueError, match="does not sum to the number of rounds"):
        jb.simulate(wrong, CASINO, horizon=HORIZON, num_runs=RUNS)


def test_rollout_says_which_rounds_count(hands):
    run = int(np.argmin([lasted for lasted, *_ in hands]))
    lasted, arms, gaps = hands[run]
    played = jb.rollout(jb.run_key(0, run), UCB, CASINO, HORIZON)
    np.testing.assert_array_equal(played.counts, np.arange(HORIZON) < lasted)
    np.testing.assert_array_equal(played.actions[:lasted], arms)
    np.testing.assert_array_equal(played.regret, np.concatenate([gaps, np.zeros(HORIZON - lasted)]))
    np.testing.assert_array_equal(played.feedback[lasted:], 0)
    assert int(played.state.counts.sum()) == lasted
    assert jb.rollout(jb.run_key(0, run), UCB, CASINO._replace(over=None), HORIZON).counts is None


def test_metrics_stop_with_the_run(hands):
    """The rounds and the rewards of the rounds that count."""
    given = {"rounds": lambda r: jnp.ones(()), "reward": jb.metrics.reward}
    result = jb.simulate(UCB, CASINO, horizon=HORIZON, num_runs=RUNS, metrics=given)
    lasted = np.array([lasted for lasted, *_ in hands])
    np.testing.assert_array_equal(result.arrays["metric/rounds"][:, -1], lasted)
    np.testing.assert_array_equal(result.arrays["metric/reward"][:, -1], lasted - 10)  # all but ten rounds earn 1


def stops_after(rounds):
    """UCB1 that stops after a number of rounds."""
    return UCB._replace(stop=lambda state: state.counts.sum() >= rounds, promise=jb.contract.Promise(0.1))


def test_a_run_that_is_over_before_its_rule_stops_is_censored(hands):
    lasted = np.array([lasted for lasted, *_ in hands])
    limit = int(np.median(lasted))
    result = jb.identify(stops_after(limit), CASINO, num_runs=RUNS, precision="float64")
    again = [jb.run_until_stop(jb.run_key(0, run), stops_after(limit), CASINO, HORIZON) for run in range(4)]
    assert {int(x) for x in result.arrays["outcome"]} == {
        int(Outcome.STOPPED),
        int(Outcome.MAX_ROUNDS),
    }
    stopped = result.arrays["outcome"] == Outcome.STOPPED
    assert (result.arrays["samples"][stopped] == limit).all()
    assert (result.arrays["samples"][~stopped] < limit).all()
    np.testing.assert_array_equal(result.arrays["pulls"].sum(1), result.arrays["samples"])
    for run, one in enumerate(again):
        want = min(limit, int(lasted[run]))
        assert int(one.samples) == want
        assert (int(one.outcome) == Outcome.STOPPED) == (lasted[run] >= limit)


def test_the_end_of_an_environment_is_checked():
    jb.check_environment(CASINO)
    assert "over" in jb.check_environment(CASINO).properties
    assert "over" not in jb.check_environment(jb.environments.bernoulli([0.2, 0.6])).properties
    for change, words in (
        ({"over": lambda state: state.left}, "types: over returns int32"),
        ({"over": lambda state: state.left > 0}, "over: it is True before the first round"),
        ({"transition": None}, "over: there is no transition"),
    ):
        with pytest.raises(CheckFailed, match=words):
            jb.check_environment(CASINO._replace(**change))
    with pytest.raises(ValueError, match=r"environment.over returns int32\[\], must return bool\[\]"):
        jb.simulate(UCB, CASINO._replace(over=lambda state: state.left), horizon=5, num_runs=1)
    with pytest.raises(ValueError, match="casino has over without a transition"):
        jb.simulate(UCB, CASINO._replace(transition=None), horizon=5, num_runs=1)


def test_the_number_of_runs_changes_nothing(result):
    few = jb.simulate(UCB, CASINO, horizon=HORIZON, num_runs=3, checkpoints=[5, 15, HORIZON])
    for name in ("regret", "pulls"):
        np.testing.assert_array_equal(few.arrays[name], result.arrays[name][:3])
