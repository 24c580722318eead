"""What the contract lets an algorithm and an environment say: worlds that change, pulls, sets, unknown truths."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxbandit as jb
from jaxbandit.support.numerics import as_float

HORIZON = 40


class Turns(NamedTuple):
    """A policy of four functions pulls the arms in turn."""

    round: jax.Array  # int32[]
    pulls: jax.Array  # int32[num_arms]


def in_turn(num_arms, **more):
    return jb.Algorithm(
        init=lambda key: Turns(jnp.zeros((), jnp.int32), jnp.zeros(num_arms, jnp.int32)),
        select=lambda noise, state, context: state.round % num_arms,
        update=lambda state, context, action, feedback: Turns(state.round + 1, state.pulls.at[action].add(1)),
        **({"pulls": lambda state: state.pulls} | more),
    )


def pays(values):
    """Arms that pay values[t, arm] in round t; the gaps are those of the round."""
    table = np.asarray(values)

    def at(state, action):
        return as_float(table)[state, action]

    return jb.Environment(
        init=lambda key: jnp.zeros((), jnp.int32),
        reward=lambda state, context, action, noise: at(state, action),
        regret=lambda state, context, action: jnp.max(as_float(table)[state]) - at(state, action),
        transition=lambda state, context, action, noise: state + 1,
        arms=jb.Arms(table.shape[1]),
    )


VALUES = np.round(np.random.default_rng(0).random((HORIZON, 3)) * 64) / 64  # float32 sums of these are exact
PULLED = VALUES[np.arange(HORIZON), np.arange(HORIZON) % 3]


@pytest.mark.slow
@pytest.mark.quickly_compiled
@pytest.mark.parametrize("counted", ["by the algorithm", "by the recorder"])
def test_regret_in_a_world_that_changes_is_judged_at_the_state_that_the_action_met(counted):
    algorithm = in_turn(3) if counted == "by the algorithm" else in_turn(3, pulls=None)
    every = range(1, HORIZON + 1)
    found = jb.simulate(algorithm, pays(VALUES), horizon=HORIZON, num_runs=2, checkpoints=every, hindsight=True)
    dynamic = np.cumsum(VALUES.max(1) - PULLED)
    np.testing.assert_array_equal(found.arrays["regret"][1], dynamic)
    best_fixed = np.cumsum(VALUES, 0).max(1)
    np.testing.assert_array_equal(found.arrays["hindsight"][1], best_fixed - np.cumsum(PULLED))
    np.testing.assert_array_equal(found.arrays["pulls"], [np.bincount(np.arange(HORIZON) % 3)] * 2)


@pytest.mark.slow
@pytest.mark.quickly_compiled
def test_a_rule_that_stops_meets_the_world_at_its_own_round():
    """Lanes are at different rounds: each run's world is its own, and lasts no longer than the run."""

    def stop(state):
        return jnp.sum(state.total) >= 6.0

    class Sum(NamedTuple):
        turns: Turns
        total: jax.Array

    inner = in_turn(3)
    algorithm = jb.Algorithm(
        init=lambda key: Sum(inner.init(key), jnp.zeros(())),
        select=lambda noise, state, context: inner.select(noise, state.turns, context),
        update=lambda state, context, action, reward: Sum(
            inner.update(state.turns, context, action, reward), state.total + reward
        ),
        pulls=lambda state: state.turns.pulls,
        stop=stop,
    )
    found = jb.identify(algorithm, pays(VALUES), num_runs=300, execution=jb.Execution(width=64, workers=1))
    expected = int(np.argmax(np.cumsum(PULLED) >= 6.0)) + 1
    assert (found.arrays["samples"] == expected).all()


@pytest.mark.slow
@pytest.mark.quickly_compiled
def test_without_a_known_regret_the_feedback_is_recorded_and_called_so():
    found = jb.simulate(in_turn(3), pays(VALUES)._replace(regret=None), horizon=HORIZON, num_runs=2)
    assert found.measure == "feedback" and "regret" not in found.to_json()
    np.testing.assert_allclose(found.arrays["mean"][-1], PULLED.mean(), rtol=1e-6)


def window(state):
    """Pulls of the last three rounds alone."""
    last = (state.round - 1 - jnp.arange(3)) % 3
    return jnp.sum(last[:, None] == jnp.arange(3)[None], 0, dtype=jnp.int32)


@pytest.mark.slow
@pytest.mark.quickly_compiled
def test_pulls_of_a_window_are_refused_in_one_line():
    still = jb.environments.bernoulli([0.1, 0.5, 0.9])
    with pytest.raises(ValueError, match=r"algorithm.pulls does not sum to the number of rounds played") as error:
        jb.simulate(in_turn(3, pulls=window), still, horizon=10, num_runs=2)
    assert "\n" not in str(error.value)
    # As a hint of its own state they harm nothing: the recorder counts.
    found = jb.simulate(in_turn(3, pulls=None), still, horizon=10, num_runs=2)
    np.testing.assert_array_equal(found.arrays["pulls"], [[4, 3, 3]] * 2)


def pairs_of(pulls):
    """Pulls arms {0, 1} and {1, 2} in turn, of three."""
    sets = np.array([[True, True, False], [False, True, True]])
    inner = in_turn(2)
    return inner._replace(
        select=lambda noise, state, context: jnp.asarray(sets)[inner.select(noise, state, context)],
        init=lambda key: Turns(jnp.zeros((), jnp.int32), jnp.zeros(3, jnp.int32)),
        update=lambda state, context, action, feedback: Turns(state.round + 1, state.pulls + action.astype(jnp.int32)),
        pulls=pulls,
        arms=jb.Arms(3, set_size=2),
    )


@pytest.mark.slow
@pytest.mark.quickly_compiled
@pytest.mark.parametrize("counts", ["of the algorithm", "of the recorder"])
def test_a_set_of_arms_with_pulls_of_each_has_the_regret_of_its_sets(counts):
    """Pulls times gaps would be no regret of sets: it is accumulated."""
    pulls = (lambda state: state.pulls) if counts == "of the algorithm" else None
    world = jb.environments.full_bandit([0.5, 0.25, 0.0], 2)
    found = jb.simulate(pairs_of(pulls), world, horizon=10, num_runs=2)
    np.testing.assert_array_equal(found.arrays["regret"][:, -1], [2.5, 2.5])  # 5 times 0.75 - 0.25
    np.testing.assert_array_equal(found.arrays["pulls"], [[5, 10, 5]] * 2)


GOOD = jb.environments.bernoulli([0.1, 0.5, 0.9])


@pytest.mark.parametrize(
    ("algorithm", "environment", "words"),
    [
        (jb.algorithms.kl_ucb(5), GOOD, "kl_ucb is made for num_arms 5, bernoulli has num_arms 3: must be equal"),
        (in_turn(5), GOOD, "the algorithm is made for num_arms 5, bernoulli has num_arms 3"),
        (
            jb.algorithms.ucb1(3),
            jb.environments.full_bandit([0.1, 0.5, 0.9], 2, noise="bernoulli"),
            "pulls single arms, but full_bandit has sets",
        ),
        (
            jb.algorithms.kl_ucb(3),
            jb.environments.gaussian([0.0, 5.0, 10.0], sigma=3.0),
            r"rewards in \[0, 1\], but gaussian has",
        ),
        (jb.algorithms.lucb(3, sigma=0.1), jb.environments.gaussian([0.0, 1.0, 2.0]), "sigma must be at least 1"),
        (
            in_turn(3, pulls=lambda state: as_float(state.pulls)),
            GOOD,
            r"algorithm.pulls returns float32\[3\], must return int32",
        ),
        (in_turn(3), GOOD._replace(regret=lambda *met: jnp.zeros(2)), r"environment.regret returns float32\[2\]"),
        (jb.algorithms.ucb1, GOOD, r"algorithm is a function ucb1, must be an Algorithm; call it: ucb1\(...\)"),
        (GOOD, jb.algorithms.ucb1(3), "are swapped"),
        ({}, GOOD, "algorithm is a dict, must be an Algorithm$"),
        ("ucb1", GOOD, r"algorithm is a str, must be an Algorithm, such as jb.algorithms.ucb1\(9\)$"),
        *[
            (in_turn(3)._replace(**{name: lambda *given: None}), GOOD, f"^algorithm.{name} returns None.*; is a return")
            for name in ("select", "update", "pulls")
        ],
        *[
            (in_turn(3), GOOD._replace(**{name: lambda *met: None}), f"^environment.{name} returns None; is a return")
            for name in ("reward", "regret")
        ],
        (
            jb.algorithms.index_policy("one", 3, lambda state: jnp.ones(1)),
            GOOD,
            r"index has shape \(1,\), must be \(3,\), an index for each arm$",
        ),
        (
            jb.algorithms.ucb1(3),
            [0.2, 0.5],
            r"list, must be an Environment, such as jb\S+bernoulli\(means\)$",
        ),
        (
            jb.algorithms.ucb1(3),
            GOOD._replace(observe=lambda state: None),
            r"observe fails on .* 1 positional argument",
        ),
        (jb.algorithms.ucb1(3), GOOD._replace(noise=None), "environment.noise fails on"),
        (
            jb.algorithms.ucb1(3),
            GOOD._replace(reward=lambda s, c, a, n: 1.0 if n < 0.5 else 0.0),
            "environment.reward fails on .*: TracerBoolConversionError",
        ),
        (
            in_turn(3)._replace(update=lambda state, *rest: state._replace(round=as_float(state.round))),
            GOOD,
            r"algorithm.update changes state.round from int32\[\] to float32\[\]",
        ),
        (in_turn(3), pays(VALUES)._replace(transition=lambda *met: 1.0), "environment.transition changes state"),
    ],
)
def test_two_that_do_not_fit_are_refused_in_one_line(algorithm, environment, words):
    with pytest.raises(ValueError, match=words) as error:
        jb.simulate(algorithm, environment, horizon=10, num_runs=2)
    assert "\n" not in str(error.value)


def test_a_rule_that_recommends_nothing_cannot_identify():
    nothing = in_turn(3, pulls=None)
    with pytest.raises(ValueError, match="nothing is recommended"):
        jb.identify(nothing, GOOD, num_runs=2, max_rounds=10)


@pytest.mark.slow
@pytest.mark.quickly_compiled
def test_rewards_that_it_is_not_made_for_are_played_on_demand_and_marked():
    found = jb.simulate(
        jb.algorithms.kl_ucb(2), jb.environments.gaussian([0.0, 0.5]), horizon=10, num_runs=2, allow=("rewards",)
    )
    assert found.to_json()["any_rewards"] is True
