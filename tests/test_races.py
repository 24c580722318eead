"""Races, KL-LUCB and lil'UCB at the edges of their domain: what they refuse and promise."""

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from results_by_hand import stopping

import jaxbandit as jb
from jaxbandit.algorithms.best_arm.levels import arm_level
from jaxbandit.algorithms.best_arm.racing import race
from jaxbandit.algorithms.best_arm.thresholds import pair_threshold
from jaxbandit.engine.driver.identify import identify_cell
from jaxbandit.running.results.report import table
from jaxbandit.theory.solvers.families import family

pytestmark = [pytest.mark.slow, pytest.mark.quickly_compiled]
RULES = {
    "kl_lucb": jb.algorithms.kl_lucb,
    "kl_racing": jb.algorithms.kl_racing,
    "chernoff_racing": jb.algorithms.chernoff_racing,
    "successive_elimination": functools.partial(jb.algorithms.successive_elimination, sigma=0.5),
    "lil_ucb": functools.partial(jb.algorithms.lil_ucb, variant="heuristic", sigma=0.5),
}


def test_a_threshold_of_another_family_is_refused():
    with pytest.raises(ValueError, match=r"^kl_lucb: threshold = 'kt', must be one of .* with family = 'gaussian'$"):
        jb.algorithms.kl_lucb(2, family="gaussian", threshold="kt")
    with pytest.raises(ValueError, match=r"^kl_lucb: m = 2, must be an integer in \[1, 1\]$"):
        jb.algorithms.kl_lucb(2, m=2)


@pytest.mark.parametrize("rewards", ["bernoulli", "gaussian", "poisson", "exponential"])
def test_the_default_threshold_is_the_smallest_proved_one_of_the_family(rewards):
    law, pulls, allowed = family(rewards, 1.0), [1, 3, 100, 10**6], {"bernoulli": "kt", "gaussian": "gauss"}
    names = {"kk", allowed.get(rewards, "kk")}

    def levels(name):
        one, pair = arm_level(name, 5, 0.05, law, lambda *_: None), pair_threshold(name, 5, 0.05, law)
        assert one.proved and pair.proved
        n = [jnp.int32(n) for n in pulls]
        return np.array([[one.level(n, 5 * n) for n in n], [pair.level(n, n, 5 * n) for n in n]])

    np.testing.assert_array_equal(levels(None), np.minimum.reduce([levels(name) for name in names]))
    for name in ("kl_lucb", "kl_racing", "chernoff_racing", "top_two", "track_and_stop"):
        assert getattr(jb.algorithms, name)(5, family=rewards).promise.proved
    assert all(
        make(5, family="student").promise.proved for make in (jb.algorithms.top_two, jb.algorithms.track_and_stop)
    )


def test_a_promise_says_whether_it_is_proved():
    for make in (jb.algorithms.kl_lucb, jb.algorithms.kl_racing):
        for threshold in ("theory", "kk", "kt"):
            assert make(3, threshold=threshold).promise.proved
        assert make(3, family="gaussian", threshold="gauss").promise.proved
        assert not make(3, threshold="heuristic").promise.proved
    assert jb.algorithms.kl_lucb(3, m=2, epsilon=0.1, delta=0.2).promise == (0.2, 0.1, 2, True, None)
    assert (
        jb.algorithms.chernoff_racing(3).promise.proved
        and not jb.algorithms.chernoff_racing(3, threshold="heuristic").promise.proved
    )
    assert jb.algorithms.successive_elimination(3).promise.proved
    assert not any(jb.algorithms.lil_ucb(3, variant=variant).promise.proved for variant in ("theory", "heuristic"))


def test_batches_are_counted_and_reported_beside_the_samples():
    """A round is a batch, and comparing on a grid takes fewer; two arms, so that a batch is two pulls a round."""

    def make(grid):
        return jb.algorithms.chernoff_racing(2, family="gaussian", threshold="gauss", sigma=0.5, grid=grid), world

    world = jb.environments.gaussian([0.0, 0.4], sigma=0.5)
    every, seldom = (identify_cell(make, np.float64(grid), num_runs=30) for grid in (1.0, 1.5))
    np.testing.assert_array_equal(every.batches, every.samples // 2 - 1)  # the first batch is two rounds
    rounds = [2]
    while len(rounds) < seldom.batches.max():
        rounds.append(math.ceil(1.5 * rounds[-1]))
    np.testing.assert_array_equal(seldom.samples, 2 * np.array(rounds)[seldom.batches - 1])
    result = stopping([5, 7], batches=np.array([2, 3], np.int32))
    assert result.content()["batches"] == {"mean": 2.5, "min": 2, "max": 3, "se": 0.5}
    assert list(result.to_dataframe()["batches"]) == [2, 3]
    titles, _, row = table([result]).splitlines()[:3]
    assert row[: titles.index("batches") + len("batches")].endswith("  2.5")
    assert "batches" not in stopping([5, 7]).content() and "batches" not in table([stopping([5, 7])])


def test_a_rule_that_would_drop_every_survivor_leaves_the_one_with_the_largest_mean():
    """The lowest of equal ones; and a batch that is asked for within a round is what the round lacks."""
    none = jnp.zeros(4, bool)
    algorithm = race(4, lambda statistic, look: none, promise=jb.contract.Promise(0.1), rewards=jb.Rewards())
    state = algorithm.update(algorithm.init(jax.random.key(0)), None, jnp.int32(0), jnp.float32(1.0))
    pulls = algorithm.batch.plan(state)
    assert pulls.tolist() == [0, 1, 1, 1] and not algorithm.stop(state)
    state = algorithm.batch.absorb(state, pulls, jnp.array([0.0, 3.0, 3.0, 2.0]))
    assert state.survivors.tolist() == [False, True, False, False] and algorithm.stop(state)
    assert (algorithm.recommend(state).tolist(), algorithm.pulls(state).tolist()) == ([1], [1, 1, 1, 1])


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("algorithm", "mean", "error"),
    [
        (functools.partial(jb.algorithms.kl_lucb, threshold="heuristic"), 8355, 242),
        (functools.partial(jb.algorithms.kl_racing, threshold="heuristic"), 9444, 130),
        (jb.algorithms.chernoff_racing, 13577, 194),
    ],
)
def test_samples_are_those_of_another_implementation(algorithm, mean, error):
    """Garivier and Kaufmann's first instance: within 4 standard errors of both, a false alarm in 16,000.

    A fifth more or less is noticed.
    """
    world = jb.environments.bernoulli([0.5, 0.45, 0.43, 0.4])._replace(batch=None)
    samples = jb.identify(algorithm(4, delta=0.1), world, num_runs=40, seed=1).samples()
    assert abs(samples.mean() - mean) < 4 * math.hypot(samples.std() / 40**0.5, error)
