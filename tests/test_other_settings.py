"""Duels, knapsacks and cascades: the laws and gaps of the environments, experiments from files, what does not fit."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from reference.dueling import SCORES, preferences

import jaxbandit as jb
from jaxbandit.engine.driver.execution import Execution
from jaxbandit.lab.experiments.experiment import run_experiment
from jaxbandit.lab.specs import spec
from jaxbandit.running.results import report

pytestmark = pytest.mark.slow

quickly = pytest.mark.quickly_compiled
DRIFT = preferences(SCORES)
REWARDS, COSTS = [0.7, 0.5, 0.3], [[0.9, 0.2], [0.4, 0.5], [0.1, 0.1]]
WEIGHTS = np.array([0.1, 0.3, 0.25, 0.05, 0.2, 0.15])


def drawn(world, actions, rounds=40_000):
    """Mean feedback on each of some actions over many rounds, which share the noise."""
    keys = jax.random.split(jax.random.key(0, impl="threefry4x32"), rounds)
    state, noise = world.init(keys[0]), jax.vmap(world.noise)(keys)
    one = jax.vmap(lambda action, noise: world.reward(state, None, action, noise), (None, 0))
    return jax.jit(lambda: [one(jnp.asarray(action, jnp.int32), noise) for action in actions])()


@quickly
def test_the_laws_of_duels_and_their_gaps():
    """Frequencies within 5 standard errors of probabilities: a false alarm once in 10^5."""
    world, pairs = jb.environments.dueling(DRIFT), [(0, 1), (1, 0), (2, 2), (4, 2)]
    for (c, d), won in zip(pairs, drawn(world, pairs), strict=True):
        assert set(np.unique(won)) == {0.0, 1.0}
        assert abs(np.mean(won) - DRIFT[c, d]) < 5 * 0.5 / math.sqrt(len(won))
    state, gaps = world.init(jax.random.key(0)), DRIFT[2] - 0.5
    for c, d in pairs:
        pair = jnp.array([c, d], jnp.int32)
        np.testing.assert_allclose(world.regret(state, None, pair), (gaps[c] + gaps[d]) / 2, rtol=1e-6)
        seen = jb.metrics.Round(state, None, pair, pair, None, None, state, jnp.int32(1))
        np.testing.assert_allclose(jb.environments.weak_regret(seen), min(gaps[c], gaps[d]), rtol=1e-6)
    np.testing.assert_allclose([world.simple_regret(state, arm) for arm in range(5)], gaps, rtol=1e-6)


@quickly
def test_the_laws_of_a_knapsack_and_its_end():
    """Frequencies within 5 standard errors; the run ends when a unit more could not be paid."""
    world = jb.environments.knapsack(REWARDS, COSTS, 2.5)
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
    world, lists = jb.environments.cascade(WEIGHTS, 3), [(0, 1, 2), (2, 1, 0), (5, 3, 4)]
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
    "not square": (
        lambda: jb.environments.dueling(np.full((2, 3), 0.5)),
        "preferences has shape (2, 3), must be square",
    ),
    "no complement": (
        lambda: jb.environments.dueling([[0.5, 0.7], [0.4, 0.5]]),
        "preferences[0, 1] = 0.7 and preferences[1, 0] = 0.4",
    ),
    "no winner": (
        lambda: jb.environments.dueling(np.array([[5, 6, 4], [4, 5, 6], [6, 4, 5]]) / 10),
        "no arm wins against every other",
    ),
    "rows": (lambda: jb.environments.knapsack([0.5, 0.6], [0.1], 5), "costs has 1 rows, must have 2, one for each arm"),
    "budget": (lambda: jb.environments.knapsack([0.5], [0.1], 0.5), "knapsack: budget = 0.5, must be"),
    "rows of the bound": (lambda: jb.bounds.knapsack_bound([0.5], [0.1, 0.2], 5, 9), "costs has 2 rows, must have 1"),
    "a long list": (lambda: jb.environments.cascade([0.5, 0.6], 3), "cascade: k = 3, must be"),
    "a long list of a rule": (lambda: jb.algorithms.cascade_ucb(2, k=3), "cascade_ucb: k = 3, must be"),
    "alpha": (lambda: jb.algorithms.rucb(3, alpha=0.0), "rucb: alpha = 0"),
    "one arm": (lambda: jb.algorithms.double_thompson(1), "double_thompson: num_arms = 1"),
    "late duels": (
        lambda: jb.algorithms.delayed(jb.algorithms.rucb(3), delay=2),
        "algorithm = rucb declares an action of its own",
    ),
    "a rule for arms": (
        lambda: jb.simulate(jb.algorithms.ucb1(5), jb.environments.dueling(DRIFT), horizon=5, num_runs=1),
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


def played(instance, algorithm, **more):
    """The one result of an experiment from a file."""
    content = {"kind": "simulate", "runs": 8, "horizon": 200, "instance": [instance], "algorithm": [algorithm], **more}
    return run_experiment(spec.parse(content, "settings.toml"), None, execution=Execution(progress=False))[0]


@quickly
@pytest.mark.quickly_compiled
def test_experiments_from_files_fill_in_what_the_instance_knows():
    knapsack = {"type": "knapsack", "rewards": [0.7, 0.5], "costs": [0.9, 0.4], "budget": 50}
    result = played(knapsack, {"type": "primal_dual_bwk"}, metrics=["reward", "cost(0)"])
    earned, spent = (result.arrays[name][:, -1] for name in ("metric/reward", "metric/cost(0)"))
    assert (spent == 50).all()
    assert ((earned > 25) & (earned < 100)).all()
    assert (result.arrays["pulls"].sum(1) < 200).all()
    assert "means change" not in report.table([result])
    cascade = {"type": "cascade", "weights": [0.1, 0.2, 0.3], "k": 2}
    assert played(cascade, {"type": "cascade_ucb"}).arrays["pulls"].sum(1).tolist() == [400] * 8
    duels = {"type": "dueling", "preferences": DRIFT.tolist()}
    result = played(duels, {"type": "double_thompson"}, metrics=["jaxbandit.environments:weak_regret"])
    weak = result.arrays["metric/weak_regret"][:, -1]
    assert ((weak > 0) & (weak < result.arrays["regret"][:, -1])).all()
