"""Means and variances over runs are exact: the nearest float to the rational number, in any order and on any scale."""

from fractions import Fraction

import jax
import numpy as np
import pytest

from jaxbandit.engine.rounds.moments import BLOCK, UNIT, Moments, limbs


def moments_of(values, keep=None, sizes=(10**9,)):
    """Moments of float[points, runs], added in parts of these sizes, the last repeated."""
    keep = np.ones(values.shape[1], bool) if keep is None else keep
    moments, first, number = Moments(len(values)), 0, 0
    while first < values.shape[1]:
        last = first + sizes[min(number, len(sizes) - 1)]
        moments.add(values[:, first:last], keep[first:last])
        first, number = last, number + 1
    return moments


def reference(values):
    """Mean and sample variance in rational numbers, each rounded once."""
    exact = [Fraction(float(x)) for x in values]
    mean = sum(exact, Fraction(0)) / len(exact)
    variance = sum(((x - mean) ** 2 for x in exact), Fraction(0)) / max(len(exact) - 1, 1)
    return float(mean), float(variance)


def drawn(seed, runs, dtype=np.float64):
    """A row each of ordinary values, of values over 60 orders of magnitude, of near ties and of signs that cancel."""
    rng = np.random.default_rng(seed)
    wide = rng.normal(size=runs) * 10.0 ** rng.integers(-30, 30, runs)
    signs = np.where(np.arange(runs) % 2 == 0, 1e16, -1e16) + rng.normal(size=runs)
    return np.stack([rng.normal(3, 1, runs), wide, 1 + rng.integers(0, 9, runs) * 2.0**-52, signs]).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_moments_are_the_nearest_floats_to_the_rational_numbers(dtype):
    values = drawn(0, 501, dtype)
    moments = moments_of(values)
    expected = np.array([reference(row) for row in values])
    np.testing.assert_array_equal(moments.mean(), expected[:, 0])
    np.testing.assert_array_equal(moments.variance(), expected[:, 1])


def test_sums_of_a_whole_block_of_the_largest_mantissas_are_exact():
    """The limbs' sums fit 53 bits even where the limbs are as large as odd ones get."""
    limbs = np.array([[2**18 - 1, 2**17 - 1, 2**17 - 2], [2**18 - 3, 1 - 2**17, 2 - 2**17]])
    largest = np.sum(limbs * 2.0 ** np.array([-18, -36, -54]), axis=1, keepdims=True)
    values = np.repeat(largest, 2 * BLOCK + 1, axis=1)
    values[:, 0] = 1.0
    moments = moments_of(values)
    n, above = len(values[0]), [Fraction(float(row[1])) for row in values]
    mean = [(1 + (n - 1) * x) / n for x in above]
    squares = [(1 - m) ** 2 + (n - 1) * (x - m) ** 2 for x, m in zip(above, mean, strict=True)]
    assert moments.mean().tolist() == [float(m) for m in mean]
    assert moments.variance().tolist() == [float(s / (n - 1)) for s in squares]


@pytest.mark.slow
def test_moments_do_not_depend_on_the_order_or_on_the_parts():
    values = drawn(1, 1000)
    whole = moments_of(values)
    orders = np.random.default_rng(2).permutation(1000), np.arange(1000)[::-1]
    for order, sizes in zip(orders, ((7,), (1, 500, 3)), strict=True):
        parts = moments_of(values[:, order], sizes=sizes)
        assert parts.mean().tobytes() == whole.mean().tobytes()
        assert parts.variance().tobytes() == whole.variance().tobytes()


@pytest.mark.parametrize("power", [-900, -40, 40, 900])
def test_a_power_of_two_times_all_values_is_one_times_the_moments(power):
    values = drawn(3, 300)[:1]
    near, far = moments_of(values), moments_of(np.ldexp(values, power))
    assert far.mean() == np.ldexp(near.mean(), power)
    # The variance of the largest is beyond float64, that of the smallest below it.
    with np.errstate(over="ignore", under="ignore"):
        assert far.variance() == np.ldexp(near.variance(), 2 * power)


def test_the_ends_of_the_floats():
    subnormal, largest = 2.0**-1074, float(np.finfo(np.float64).max)
    moments = moments_of(np.array([[subnormal, 3 * subnormal], [largest, largest], [largest, -largest], [0.0, -0.0]]))
    assert moments.mean().tolist() == [2 * subnormal, largest, 0.0, 0.0]
    assert moments.variance().tolist() == [0.0, 0.0, np.inf, 0.0]


def test_values_further_apart_than_a_float_can_scale():
    values = np.array([[1e300, -3e-300, 2.0**-1074, 7e-10], [5e-320, 1e300, 0.0, 1e308]])
    moments = moments_of(values)
    sums = [[sum((Fraction(float(x)) ** power for x in row), Fraction(0)) for row in values] for power in (1, 2)]
    assert [n * Fraction(1, 2**UNIT) for n in moments.total] == sums[0]
    assert [n * Fraction(1, 4**UNIT) for n in moments.square] == sums[1]


def test_runs_that_do_not_count_are_left_out_as_a_whole():
    values = np.array([[1.0, 5.0, 2.0, 6.0], [np.nan, 5.0, np.inf, 7.0]])
    moments = moments_of(values, np.array([False, True, False, True]))
    assert moments.count == 2
    assert moments.mean().tolist() == [5.5, 6.0] and moments.variance().tolist() == [0.5, 2.0]


def test_a_mean_of_no_run_and_a_value_that_is_not_finite_are_nan():
    none = moments_of(np.array([[1.0], [np.nan]]), np.array([False]))
    assert none.count == 0 and np.isnan(none.mean()).all() and np.isnan(none.variance()).all()
    some = moments_of(np.array([[1.5], [np.nan]]))
    assert some.mean()[0] == 1.5 and np.isnan(some.mean()[1]) and np.isnan(some.variance()).all()


def on_device(values, keep=None):
    """What a device sums of float[points, runs]."""
    keep = np.ones(values.shape[1], bool) if keep is None else keep
    with jax.enable_x64(True):
        return jax.device_get(jax.jit(limbs)(values, keep))


def near(seed, runs):
    """Values of float32 of several scales, that are at most 2^47 apart."""
    rng = np.random.default_rng(seed)
    wide = rng.normal(size=runs) * 10.0 ** rng.integers(-5, 5, runs)
    regret = np.cumsum(rng.uniform(0, 1, runs).astype(np.float32)) * np.float32(1e3)
    rows = [
        rng.normal(3, 1, runs),
        wide,
        np.zeros(runs),
        rng.choice([-1e30, 1e30, 1e25], runs),
        regret,
        -regret * 1e-40,
    ]
    return np.stack(rows).astype(np.float32)


@pytest.mark.parametrize("scale", [1.0, 2.0**-60, -(2.0**20)])
def test_a_device_has_the_sums_of_the_host(scale):
    values = near(0, 4099) * np.float32(scale)
    keep = np.random.default_rng(1).random(4099) < 0.7
    found, ours = on_device(values, keep), Moments(len(values))
    assert not found.left
    ours.add_limbs(found)
    ours.add_limbs(on_device(values[:, ::-1], ~keep[::-1]))
    assert ours.plain() == moments_of(values).plain()


def test_a_device_says_where_it_leaves_bits():
    assert on_device(np.array([[1.0, 2.0**-72]], np.float32)).left
    assert not on_device(np.array([[1.0, 2.0**-71]], np.float32)).left
    assert on_device(np.array([[1.0, 2.0**-72], [1.0, 1.0]], np.float32)).left


def test_a_device_leaves_out_what_is_not_finite():
    values = np.array([[1.0, np.inf, 2.0], [np.nan, 1.0, 2.0], [0.5, 1.5, 2.0]], np.float32)
    for keep in ([True, True, True], [True, False, True], [False, False, False]):
        ours, theirs = Moments(3), moments_of(values, np.array(keep))
        ours.add_limbs(on_device(values, np.array(keep)))
        assert ours.finite.tolist() == theirs.finite.tolist() and ours.count == theirs.count
        np.testing.assert_array_equal(ours.mean(), theirs.mean())
