"""Races for unknown variances and bounded rewards: equal to their references, their bounds, their edges."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import player
import pytest
from reference import unknown_variance as reference
from scipy import optimize, special

from jaxbandit.algorithms.best_arm import racing
from jaxbandit.algorithms.best_arm.bernstein_race import bernstein_race
from jaxbandit.algorithms.best_arm.betting_race import betting_race
from jaxbandit.algorithms.best_arm.kim_nelson import kim_nelson
from jaxbandit.algorithms.best_arm.paired_race import paired_race
from jaxbandit.algorithms.best_arm.student_race import student_race
from jaxbandit.environments.recorded.fiesta import fiesta
from jaxbandit.running.identify import identify
from jaxbandit.theory.solvers import student

pytestmark = [pytest.mark.slow, pytest.mark.quickly_compiled]

PULLS = 3000
RANGE = {"low": -0.5, "high": 2.5}
KN = {"epsilon": 0.15, "variant": "kn", "independent": False, "first_rounds": 6}
CASES = {
    "paired": (paired_race, reference.paired, {"delta": 0.1, "epsilon": 0.0}),
    "paired, as of many arms": (paired_race, reference.paired, {"delta": 0.1, "epsilon": 0.0}),
    "paired, epsilon": (paired_race, reference.paired, {"delta": 0.1, "epsilon": 0.15}),
    "student": (student_race, reference.student, {"delta": 0.1}),
    "kn": (kim_nelson, reference.kim_nelson, {"delta": 0.1, **KN}),
    "kn++, independent": (
        kim_nelson,
        reference.kim_nelson,
        {"delta": 0.1, **KN, "variant": "kn++", "independent": True},
    ),
    "bernstein": (bernstein_race, reference.bernstein, {"delta": 0.1, **RANGE}),
    "plug_in": (partial(bernstein_race, bound="plug_in"), reference.plug_in, {"delta": 0.1, **RANGE}),
    "betting": (betting_race, reference.betting, {"delta": 0.1, **RANGE}),
    "betting, epsilon": (betting_race, reference.betting, {"delta": 0.1, "epsilon": 0.15, **RANGE}),
}


def play(factory, num_arms, options, rewards):
    """Actions, whether it had stopped before each pull, and its recommendation then, for several tables of rewards."""
    traced = {k: v for k, v in options.items() if isinstance(v, float)}
    static = {k: v for k, v in options.items() if k not in traced}
    found = player.play(partial(factory, num_arms, **static), rewards, **traced)
    return found.actions, found.stopped, found.recommended[:, :, 0]


@pytest.mark.parametrize("case", CASES)
def test_same_pulls_and_same_stop_as_the_reference(case, monkeypatch):
    """Four arms in four tables: with unequal variances, noise in common, a noise of zero for one arm, or skewed."""
    factory, rule, options = CASES[case]
    if "many arms" in case:
        monkeypatch.setattr(racing, "MANY_ARMS", 3)
    rng = np.random.default_rng(3)
    mean = 0.9 + np.array([0.0, 0.6, -0.5, 0.2]) * (1 if case == "bernstein" else 0.4)
    noise = rng.uniform(-1, 1, (PULLS, 4))
    tables = [
        mean + noise * [0.3, 0.5, 0.8, 0.1],
        mean + 0.2 * noise + np.repeat(rng.uniform(-0.5, 0.5, (PULLS // 4, 1)), 4, 0),
        mean + noise * [0.3, 0.4, 0.0, 0.3],
        np.minimum(mean * rng.exponential(size=(PULLS, 4)) ** 0.3, 2.5),
    ]
    actions, stopped, recommended = play(factory, 4, options, np.array(tables))
    ends = []
    for r, table in enumerate(tables):
        expected, best = reference.race(table, rule, PULLS, **options)
        end = int(np.argmax(stopped[r])) if stopped[r].any() else PULLS
        assert len(expected) == end
        np.testing.assert_array_equal(actions[r, :end], expected)
        assert best is None or recommended[r, end] == best
        ends.append(end)
    assert min(ends) > 12, ends  # else the instance shows little
    assert sum(end < PULLS for end in ends) >= 2, ends


def test_wealth_of_the_bets_is_that_of_the_reference():
    """Twenty rounds as batches: the stakes move the wealth long before they move a decision."""
    x, memory = np.random.default_rng(6).uniform([0.0, 0.1, 0.4], [1.0, 1.1, 1.4], (20, 3)), {}
    with jax.enable_x64(True):
        rule = betting_race(3, delta=1e-6, **RANGE)
        absorb = jax.jit(lambda state, sums: rule.batch.absorb(state, rule.batch.plan(state), sums))
        state = rule.init(jax.random.key(0))
        for n, row in enumerate(x, 1):
            state = absorb(state, jnp.asarray(row))
            reference.betting(dict(enumerate(x[:n].T)), range(3), 3, memory, delta=1e-6, **RANGE)
        ours = np.asarray(state.statistic.log_wealth)
    for (one, other, _), wealth in memory.items():
        np.testing.assert_allclose(ours[one, other], wealth, rtol=1e-9, atol=1e-12)
    assert len(memory) == 6 and max(memory.values()) > 0.05


def test_an_arm_is_eliminated_only_if_both_wealths_are_large():
    """After ten rounds the first is exp(1.615) > 5, but the second has bet on early losses and is exp(1.606) < 5."""
    rng = np.random.default_rng(74)
    apart = np.concatenate([-np.ones(rng.integers(1, 5)), rng.uniform(0, 1, 60)])
    table = np.repeat(np.stack([np.maximum(-apart, 0), np.maximum(apart, 0)], 1), 2, 0)
    options = {"delta": 0.2, "epsilon": 0.1, "low": 0.0, "high": 1.0}
    with jax.enable_x64(True):
        _, stopped, recommended = play(betting_race, 2, options, table[None])
    assert len(reference.race(table, reference.betting, 99, **options | {"epsilon": 0.0})[0]) == 20
    assert len(reference.race(table, reference.betting, 99, **options)[0]) == 22
    assert np.argmax(stopped[0]) == 22 and recommended[0, 22] == 1


@pytest.mark.parametrize(("n", "expected"), [(5, np.inf), (10, 8.06318), (20, 6.62357), (100, 6.71173)])
def test_threshold_of_the_box_as_specified(n, expected):
    """delta / K = 0.01, c2 = 2; to the digits given."""
    with jax.enable_x64(True):
        np.testing.assert_allclose(student.tbox(jnp.float64(n), jnp.log(0.01), jnp.float64(2)), expected, atol=5e-6)


def test_radius_solves_its_martingale():
    """M_n = 1 / alpha on two sides, 2 M_n - s = 1 / alpha on one, to the root search's digits."""
    with jax.enable_x64(True):
        for alpha in (0.3, 0.01, 1e-5):
            c2 = student.default_c2(jnp.log(alpha))
            assert np.isclose(20 / c2 + 1, -special.lambertw(-np.exp(-1 + 2 * np.log(alpha)), -1).real, rtol=1e-12)
            n = np.array([2.0, 7.0, 30.0, 1e4])
            ours = student.squared_radius(n, student.one_sided(n, jnp.log(alpha), c2), c2)
            np.testing.assert_allclose(ours, [reference.squared_radius(k, alpha) for k in n], rtol=1e-9)


def test_exact_statistic_is_the_least_value_on_a_grid_and_near_it():
    """Refined by scipy's bounded search round the best of 2,001 points; two minima in some of the cases."""
    rng = np.random.default_rng(0)
    n_a, n_b = rng.integers(2, 200, (2, 100)).astype(float)
    var_a, var_b = 10 ** rng.uniform(-4, 2, (2, 100))
    gap = 10 ** rng.uniform(-3, 1, 100)
    with jax.enable_x64(True):
        ours = jax.jit(student.exact_statistic)(gap + 0.5, var_a, n_a, 0.5, var_b, n_b)
        zeros = student.exact_statistic(jnp.array([0.5, 0.7]), jnp.array([1.0, 0.0]), 9.0, 0.5, 1.0, 9.0)
        np.testing.assert_array_equal(zeros, 0)
        plug_in = student.plug_in_statistic(jnp.asarray([0.7, 0.4]), jnp.full(2, 2.0), 9.0, 0.5, jnp.ones(2), 6.0)
        np.testing.assert_allclose(plug_in, [0.04 / (2 * (2 / 9 + 1 / 6)), 0])
    for i in range(100):

        def cost(y, i=i):
            return n_a[i] / 2 * np.log1p((gap[i] - y) ** 2 / var_a[i]) + n_b[i] / 2 * np.log1p(y**2 / var_b[i])

        points = np.linspace(0, gap[i], 2001)
        best = points[np.argmin(cost(points))]
        bounds = max(best - points[1], 0), min(best + points[1], gap[i])
        found = optimize.minimize_scalar(cost, bounds=bounds, method="bounded", options={"xatol": 1e-14 * gap[i]})
        np.testing.assert_allclose(ours[i], found.fun, rtol=1e-9)  # the means' difference is rounded at 0.5


def crossings(alpha, level_of, side, runs=4000, rounds=400):
    """Share of Gaussian samples whose mean ever leaves the radius, above or on either side."""
    x = np.random.default_rng(8).normal(size=(runs, rounds))
    n = np.arange(1, rounds + 1.0)
    means = np.cumsum(x, 1) / n
    variances = np.cumsum(x * x, 1) / n - means**2
    c2 = student.default_c2(jnp.log(alpha))
    radius = student.squared_radius(jnp.asarray(n), level_of(jnp.asarray(n), jnp.log(alpha), c2), c2)
    out = means[:, 1:] ** 2 > variances[:, 1:] * np.asarray(radius)[1:]
    return (out & (means[:, 1:] > 0) if side == "one" else out).any(1).mean()


@pytest.mark.statistical
@pytest.mark.parametrize("side", ["one", "two"])
def test_gaussian_means_stay_within_the_radius(side):
    """At most alpha = 0.1, and at least half of it, or the bound is looser than meant: 6 standard errors, < 1e-8."""
    levels = {"one": student.one_sided, "two": lambda n, log_alpha, c2: log_alpha}
    with jax.enable_x64(True):
        rate = crossings(0.1, levels[side], side)
    assert 0.05 < rate < 0.1 + 0.03, rate


@pytest.mark.parametrize(
    ("make", "refused"),
    [
        (partial(paired_race, 5001), "must be at most 5000, because all pairs of arms are kept; student_race keeps"),
        (partial(kim_nelson, 2, epsilon=0.1, delta=0.5), "kim_nelson: delta = 0.5, must be a number in (0, 0.5)"),
        (
            partial(kim_nelson, 3, epsilon=0.1, delta=0.8, independent=True),
            "kim_nelson: delta = 0.8, must be a number in (0, 0.75)",
        ),
        (partial(kim_nelson, 5001, epsilon=0.1, variant="kn++"), "all pairs of arms are kept; student_race keeps"),
        (partial(bernstein_race, 3, low=1.0), "bernstein_race: high = 1.0, must be a number in (1, inf)"),
    ],
)
def test_refusals(make, refused):
    kim_nelson(5001, epsilon=0.1, variant="kn++", independent=True)  # which keeps no pairs
    with pytest.raises(ValueError) as error:
        make()
    assert refused in str(error.value)
    assert "\n" not in str(error.value)


def test_constant_differences_are_certain():
    """Rewards whose differences are constant up to rounding: the larger mean wins, or the lowest index of a tie.

    The t bounds are finite from the sixth reward of an arm on, at the level 0.1 / 2 and at 0.1 / 3.
    """
    common = np.random.default_rng(2).uniform(size=(100, 1)) * np.ones(3) + [0.1, 0.4, 0.3]
    tables = np.array([np.repeat(common, 3, 0)[:300], np.tile([0.1, 0.4, 0.4], (300, 1))])
    with jax.enable_x64(True):
        for factory, options, some in (
            (paired_race, {"delta": 0.1, "epsilon": 0.0}, tables),
            (student_race, {"delta": 0.1}, tables[1:]),
        ):
            first = next(n for n in range(1, 99) if reference.squared_radius(n, 0.1 / 2) < np.inf)
            _, stopped, recommended = play(factory, 3, options, some)
            assert (np.argmax(stopped, 1) == 3 * first).all()
            assert (recommended[:, 3 * first] == 1).all()
        _, stopped, recommended = play(kim_nelson, 3, {"delta": 0.1, "epsilon": 0.01, "first_rounds": 5}, tables)
    assert (np.argmax(stopped, 1) == 15).all()
    np.testing.assert_array_equal(recommended[:, 15], [1, 1])  # the lowest of the two that tie


FIGURES = {  # mean pulls with their standard error, of 1,000 runs and more on independent scores of 12 models
    "kn": (partial(kim_nelson, epsilon=0.014), (316.9, 1.8)),
    "student": (partial(student_race, delta=0.025), (1151, 9)),
    "paired": (partial(paired_race, delta=0.025, epsilon=0.01), (362, 8)),
}


@pytest.mark.statistical
@pytest.mark.parametrize("name", FIGURES)
def test_pulls_on_recorded_scores(name):
    """Figures computed elsewhere, of two-sided intervals, which are ours at half the delta; 4 standard errors: 6e-5."""
    make, (mean, error) = FIGURES[name]
    found = identify(make(12), fiesta(), num_runs=60)
    samples = found.samples()
    assert abs(samples.mean() - mean) < 4 * np.hypot(error, samples.std() / 60**0.5), samples.mean()
    assert (found.arrays["shortfall"] > 0).mean() < 0.09  # 0.01 for the first: 5 of 60
