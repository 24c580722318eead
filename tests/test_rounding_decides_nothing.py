"""Below what rounding of float64 may have changed, races and comparisons of normal rewards decide nothing.

Rewards are shifted by 10^9 and 10^12, where neighboring numbers are 1.2e-7 and 1.2e-4 apart, scaled, permuted, and
followed by many others.
"""

import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxbandit as jb
from jaxbandit.algorithms.best_arm import unknown_variance
from jaxbandit.algorithms.best_arm.comparison import ArmStatistics
from jaxbandit.theory.comparisons.arms import normal_arms
from jaxbandit.theory.comparisons.pairs import PairedDifferences
from jaxbandit.theory.solvers import student

pytestmark = [pytest.mark.slow, pytest.mark.quickly_compiled]
RACES = {
    "paired": partial(jb.algorithms.paired_race, 2, delta=0.05),
    "paired, m": partial(jb.algorithms.paired_race, 3, m=2, delta=0.05),
    "student": partial(jb.algorithms.student_race, 2, delta=0.05),
}


def played(name, tables):
    """The rounds that each race takes, len(tables[0]) + 1 if it does not end, and the arms that it recommends.

    Args:
      name: of the race.
      tables: float64[runs, rounds, arms].
    """
    rule = RACES[name]()

    def body(state, row):
        return rule.batch.absorb(state, rule.batch.plan(state), jnp.where(state.survivors, row, 0.0)), rule.stop(state)

    @jax.jit
    @jax.vmap
    def run(table):
        state, stopped = jax.lax.scan(body, rule.init(jax.random.key(0)), table)
        return jnp.append(~stopped, ~rule.stop(state)).sum(), rule.recommend(state)

    with jax.enable_x64(True):
        return tuple(map(np.asarray, run(jnp.asarray(tables))))


@pytest.mark.statistical
@pytest.mark.parametrize(("size", "gap"), [(1e9, 1e-7), (1e12, 1e-3), (1e12, 1e-5)])
@pytest.mark.parametrize("name", RACES)
def test_gaps_near_rounding_are_not_decided(name, size, gap):
    """Of 40 races at most 8 end within 6,000 rounds: at most 2 are expected, and 9 have a probability of 3e-4."""
    arms = 3 if "m" in name else 2
    noise = np.random.default_rng(1).normal(size=(40, 6000, arms))
    rounds, _ = played(name, size + np.arange(arms) * gap + noise)
    assert (rounds <= 6000).sum() <= 8


@pytest.mark.parametrize("name", RACES)
def test_a_shift_and_a_scale_do_not_change_what_is_decided(name):
    """Rewards in 64ths are exact beside 2^40, and what rounding may have changed is there 0.008 of 1 of the noise."""
    arms = 3 if "m" in name else 2
    rng = np.random.default_rng(2)
    table = np.round(64 * (rng.normal(size=(20, 400, arms)) + np.arange(arms))) / 64
    changed = np.stack([table, table * 2.0**-300, table * 2.0**300, table + 2.0**20, table + 2.0**40])
    rounds, recommended = (x.reshape(5, 20, -1) for x in played(name, changed.reshape(100, 400, arms)))
    assert (rounds < 400).all() and len(np.unique(rounds[0])) > 5
    for which in (1, 2, 3):
        np.testing.assert_array_equal(rounds[which], rounds[0])
    assert (recommended == recommended[0]).all()
    assert (rounds[4] >= rounds[0]).all() and rounds[4].sum() <= 1.1 * rounds[0].sum()


@pytest.mark.parametrize("name", RACES)
def test_a_long_race_does_not_reach_the_floor_by_its_length(name):
    """Rewards of 10^12 -+ 1 with a lead of 0.002: what 200,000 rounds cannot tell, and their means are exact."""
    arms = 3 if "m" in name else 2
    signs = np.array([[1.0, 1, -1, -1], [1, -1, 1, -1], [1, -1, -1, 1]])[:arms].T
    table = 1e12 + np.tile(signs, (50_000, 1)) + np.round(0.002 * 2**13) / 2**13 * np.arange(arms)
    rounds, _ = played(name, table[None])
    assert rounds == 200_001


@pytest.mark.parametrize("name", RACES)
def test_equal_rewards_are_certain_and_rounded_ones_only_beyond_rounding(name):
    arms = 3 if "m" in name else 2
    lags = np.arange(arms)
    steps = np.spacing(1e12) * np.random.default_rng(3).integers(0, 2, (300, arms))
    exact, near, apart = (np.tile(1e12 + gap * lags, (300, 1)) for gap in (2**-10, 2**-10, 1.0))
    rounds, recommended = played(name, np.stack([exact, near + steps, apart + steps]))
    assert rounds[0] < 12 and rounds[1] == 301 and rounds[2] < 40
    for which in (0, 2):
        assert recommended[which].tolist() == lags[::-1][: recommended.shape[1]].tolist()


def test_bounds_of_differences_and_of_arms_know_what_rounding_may_have_changed():
    rng = np.random.default_rng(4)
    noise = rng.normal(size=(2, 3000))
    for size in (1e9, 1e12):
        tie = size + noise + np.array([[0.0], [1e-3 if size > 1e10 else 1e-6]])
        pairs = PairedDifferences(2, math.log(0.05))
        pairs.enter(list(tie))
        assert not pairs.excluded().any()
        there = PairedDifferences(2, math.log(0.05))
        there.enter(list(noise))
        np.testing.assert_allclose(pairs.bounds, there.bounds, atol=100 * np.spacing(size))
    steps = np.spacing(1e12) * rng.integers(0, 2, (2, 100))
    for gap, decided in ((1e-3, False), (1.0, True)):
        pairs = PairedDifferences(2, math.log(0.05))
        pairs.enter(list(1e12 + steps + np.array([[0.0], [gap]])))
        assert pairs.excluded().tolist() == [decided, False]
        low, high = normal_arms(np.full(2, 100), 1e12 + np.array([0, gap]), steps.var(axis=1), math.log(0.025))
        assert (high[0] < low[1]) == decided
    equal = normal_arms(np.full(2, 100), np.array([1e12, 2e12]), np.zeros(2), math.log(0.025))
    assert np.isinf(equal).all()


def test_the_order_of_rows_changes_a_bound_at_their_end_by_rounding_only():
    rng = np.random.default_rng(5)
    rows = 1e12 + rng.normal(size=(2, 500))
    ends = []
    for order in (np.arange(500), rng.permutation(500)):
        pairs = PairedDifferences(2, math.log(0.05), min_size=500)
        pairs.enter(list(rows[:, order]))
        ends.append(pairs.bounds[0, 1])
    assert ends[0] == pytest.approx(ends[1], abs=40 * np.spacing(1e12))


def test_equal_rewards_whose_squares_vanish_are_not_taken_for_equal():
    tiny = 1e-170 * np.array([1.0, 2.0, 3.0])
    squares = np.square(tiny - tiny.mean()).sum(keepdims=True)
    assert squares == 0 and np.isinf(student.resolution(squares, np.full(1, 2e-170)))
    assert student.resolution(np.zeros(1), np.zeros(1)) == 0 == student.resolution(np.zeros(1), np.ones(1))
    for number, expected in ((0.0, 0.0), (2.5, 16 * 2.0**-52 * 1e12)):
        with jax.enable_x64(True):
            found = np.asarray(student.resolution(jnp.asarray([number]), jnp.asarray([1e12])))
        assert found == student.resolution(np.array([number]), np.array([1e12])) == expected


@pytest.mark.parametrize("n", [1, 1000])
def test_rewards_that_are_equal_up_to_rounding_do_not_vary(n):
    """Each of n rewards may be off by 16 rounding errors of its own, and their mean by one for each reward."""
    eps, size = 2.0**-23, 3.0
    for errors, expected in ((n + 15.5, False), (n + 16.5, True)):
        squares = jnp.asarray(n * (errors * eps * size) ** 2, jnp.float32)
        assert bool(student.varies(squares, jnp.float32(n), jnp.float32(size))) is expected
    assert not student.varies(jnp.float32(0), jnp.float32(n), jnp.float32(0))


@pytest.mark.parametrize(
    ("first", "mean", "errors", "of"), [(0.0, 3.0, 500, 3.0), (1e6, 1e-3, 8, 1e6), (0.0, 3.0, 2000, 3.0)]
)
def test_the_variance_of_an_arm_is_above_what_rounding_left_in_its_rewards_and_in_their_sums(first, mean, errors, of):
    """500 rounding errors of a sum of 1,000 rewards; 8 of each reward beside 10^6; and more than either."""
    n, at = 1000, jnp.asarray([mean], jnp.float32)
    squares = n * jnp.square(jnp.asarray([errors * 2.0**-23 * of], jnp.float32))
    arms = ArmStatistics(jnp.asarray([n], jnp.int32), at, at[None] * n, squares, None, jnp.float32(first))
    assert (unknown_variance._variances(arms) > 0).item() is (errors == 2000)
