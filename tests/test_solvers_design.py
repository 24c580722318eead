"""Optimal designs against closed forms, Kiefer and Wolfowitz, Elfving, SciPy, and their certificates; rounding; T*."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import optimize

from jaxbandit.theory.solvers.best_arm import best_arm_design
from jaxbandit.theory.solvers.design import d_design, g_design, pair_differences, transductive_design
from jaxbandit.theory.solvers.rounding import round_design

GAP = 1e-7  # what the docstring promises, relative
ARMS, DIM, DIRECTIONS = 6, 5, 15  # one compiled program for most tests: zero arms, axes and directions change nothing

solve = jax.jit(lambda features, directions, mask: transductive_design(features, directions, mask=mask))


def design(features, directions, mask=None):
    features, directions = np.asarray(features, float), np.asarray(directions, float)
    (num_arms, dim), num_directions = features.shape, len(directions)
    x, y, counts = np.zeros((ARMS, DIM)), np.zeros((DIRECTIONS, DIM)), np.ones(DIRECTIONS, bool)
    x[:num_arms, :dim], y[:num_directions, :dim] = features, directions
    counts[:num_directions] = True if mask is None else mask
    with jax.enable_x64(True):
        found = jax.tree.map(np.asarray, solve(x, y, counts))
    return found._replace(weights=found.weights[:num_arms])


def variances(features, weights, directions):
    """y' A^+ y in NumPy: A is singular where the design leaves out arms, or the features a dimension."""
    pseudo = np.linalg.pinv((features.T * weights) @ features, rcond=1e-13, hermitian=True)
    return np.einsum("pd,de,pe->p", directions, pseudo, directions)


def soare(dim, angle):
    last = np.zeros(dim)
    last[:2] = np.cos(angle), np.sin(angle)
    return np.vstack([np.eye(dim), last])


def oracle(features, means):
    best = np.argmax(means)
    others = np.arange(len(means)) != best
    return (features[best] - features[others]) / (means[best] - means[others])[:, None]


def random_features(rng, num_arms, dim):
    x = rng.normal(size=(num_arms, dim))
    return x / np.linalg.norm(x, axis=1)[:, None]


def least_l1(features, target):
    num_arms = len(features)
    both = np.hstack([features.T, -features.T])
    return optimize.linprog(np.ones(2 * num_arms), A_eq=both, b_eq=target).fun


def assert_optimal(features, directions, found, gap=GAP):
    """The weights are a design, the value is theirs, and it is within `gap` of the bound."""
    assert np.all(found.weights >= 0) and abs(found.weights.sum() - 1) < 1e-12
    # The value comes from a factorisation of another basis: rounding times the condition of A(w).
    assert np.isclose(variances(features, found.weights, directions).max(), found.value, rtol=1e-7)
    assert found.bound <= found.value <= found.bound * (1 + gap)


@pytest.mark.slow
def test_orthonormal_features():
    x = np.eye(5)
    found = design(x, pair_differences(x))
    assert_optimal(x, pair_differences(x), found)
    np.testing.assert_allclose(found.weights, 0.2, rtol=1e-6)  # the error of weights is the root of the gap
    assert np.isclose(found.value, 10, rtol=1e-9)
    # One direction e_1 - 3 e_2: w in proportion to 1 and 3, value (1 + 3)^2.
    y = np.zeros((10, 5))
    y[0, :2] = 1, -3
    found = design(x, y)
    assert np.isclose(found.value, 16, rtol=1e-9)
    np.testing.assert_allclose(found.weights, [0.25, 0.75, 0, 0, 0], atol=1e-6)
    assert np.all(found.weights[2:] == 0)


def test_masked_and_missing_directions():
    rng = np.random.default_rng(1)
    x = random_features(rng, 5, 5)
    y = pair_differences(x)
    for p in range(10):
        # One direction alone: Elfving's theorem, by linear programming.
        found = design(x, y, np.arange(10) == p)
        assert np.isclose(found.value, least_l1(x, y[p]) ** 2, rtol=1e-7)
        assert found.bound <= found.value <= found.bound * (1 + GAP)
    kept = np.array([0, 3, 4])
    zeros = np.where(np.isin(np.arange(10), kept)[:, None], y, 0)
    np.testing.assert_allclose(design(x, zeros).value, design(x, y, np.isin(np.arange(10), kept)).value, rtol=1e-9)
    none = design(x, y, np.zeros(10, bool))
    assert none.value == none.bound == 0
    np.testing.assert_allclose(none.weights, 1 / ARMS)


def test_single_directions_are_least_l1_norms():
    # Random directions, none of them a difference of features.
    rng = np.random.default_rng(2)
    x = random_features(rng, 6, 3)
    for y in rng.normal(size=(10, 3)):
        found, expected = design(x, y[None]), least_l1(x, y) ** 2
        assert np.isclose(found.value, expected, rtol=1e-7)
        assert found.bound <= expected * (1 + 1e-9)  # HiGHS's rounding


def soare_oracle(angle):
    """The value for soare(5, angle), theta = 2 e_1, by one-dimensional search.

    Arm 6 gets nothing. With w_1 given and all constraints on arms 3, 4, 5 tight, 1/w_1 + 1/w_i = 4 t, and that on arm
    6 tight, (1 - cos)^2 / w_1 + sin^2 / w_2 = t gap^2, the sum of the weights is 1 at the least t.
    """
    sin, gap = np.sin(angle), 4 * np.sin(angle / 2) ** 2

    def value(first):
        def excess(t):
            denominator = t * gap**2 - (2 * np.sin(angle / 2) ** 2) ** 2 / first
            if denominator <= 0 or 4 * t <= 1 / first:
                return 1.0
            return first + sin**2 / denominator + 3 / (4 * t - 1 / first) - 1

        return optimize.brentq(excess, 1e-3, 1e9, xtol=1e-10, rtol=1e-14)

    grid = np.geomspace(1e-4, 0.5, 60)
    at = grid[np.argmin([value(w) for w in grid])]
    return optimize.minimize_scalar(value, bounds=(at / 1.3, at * 1.3), options={"xatol": 1e-12}).fun


@pytest.mark.parametrize("angle", [0.3, 0.1, 0.01])
def test_oracle_of_soare(angle):
    x = soare(5, angle)
    y = oracle(x, 2 * x[:, 0])
    found = design(x, y)
    assert_optimal(x, y, found)
    assert np.isclose(found.value, soare_oracle(angle), rtol=1e-7)
    if angle == 0.01:
        # Xu et al. (2017), Table 1: pulls of XY-oracle, here its rounding to whole pulls and phases.
        published = np.array([13646, 2728606, 68, 68, 68, 1])
        np.testing.assert_allclose(found.weights * published.sum(), published, rtol=5e-3, atol=1)
        assert found.weights[5] == 0


def test_xy_of_soare_is_that_of_the_basis():
    # e_1 .. e_5 alone give max ||e_i - e_j||^2 = 10, and the sixth arm helps none of these ten directions.
    x = soare(5, 0.01)
    found = design(x, pair_differences(x))
    assert_optimal(x, pair_differences(x), found)
    assert np.isclose(found.value, 10, rtol=1e-7)


def test_small_cases_against_scipy():
    # Five arms in two dimensions: minimise t subject to t >= y' A(w)^-1 y, by sequential quadratic programming.
    rng = np.random.default_rng(4)
    for _ in range(3):
        x = random_features(rng, 5, 5)[:, :2] + 0.1
        y = pair_differences(x)
        bounded = [
            {"type": "ineq", "fun": lambda v, x=x, y=y: v[-1] - variances(x, np.abs(v[:-1]), y)},
            {"type": "eq", "fun": lambda v: v[:-1].sum() - 1},
        ]
        start = np.append(np.full(5, 0.2), variances(x, np.full(5, 0.2), y).max())
        best = optimize.minimize(
            lambda v: v[-1], start, bounds=[(1e-9, 1)] * 5 + [(0, None)], constraints=bounded, tol=1e-12
        )
        found = design(x, y)
        assert_optimal(x, y, found)
        assert np.isclose(found.value, best.fun, rtol=1e-5)  # SLSQP's precision
        assert found.bound <= best.fun * (1 + 1e-6)


def test_features_that_do_not_span():
    rng = np.random.default_rng(5)
    low = random_features(rng, 5, 3)
    x = low @ rng.normal(size=(3, 5))
    y = pair_differences(x)
    found = design(x, y)
    assert_optimal(x, y, found)
    flat = design(low, pair_differences(low))
    assert np.isclose(found.value, flat.value, rtol=1e-7)
    normal = np.linalg.svd(x)[2][-1]
    for outside in (rng.normal(size=5), normal, y[7] + 1e-3 * normal):
        y[7] = outside
        beyond = design(x, y)
        assert beyond.value == beyond.bound == np.inf and np.all(np.isfinite(beyond.weights))
        assert np.isclose(design(x, y, np.arange(10) != 7).value, design(x, y * (np.arange(10) != 7)[:, None]).value)


def test_equal_arms_share():
    x = np.vstack([np.eye(3), np.eye(3)[:2]])
    found = design(x, pair_differences(x))
    np.testing.assert_allclose(found.weights, [1 / 6, 1 / 6, 1 / 3, 1 / 6, 1 / 6], rtol=1e-5)


def test_no_design_beats_the_bound():
    rng = np.random.default_rng(6)
    x = random_features(rng, 5, 5)
    y = pair_differences(x)
    found = design(x, y)
    for scale in (1e-3, 1e-2, 0.1, 1):
        others = np.maximum(found.weights + scale * rng.normal(size=(200, 5)), 1e-9)
        for w in others / others.sum(1, keepdims=True):
            assert variances(x, w, y).max() >= found.bound * (1 - 1e-12)


def rounded(weights, total):
    """Pukelsheim and Rieder (1992) word for word."""
    support = [a for a in range(len(weights)) if weights[a] > 0]
    pulls = {a: int(np.ceil((total - len(support) / 2) * weights[a])) for a in support}
    while sum(pulls.values()) != total:
        if sum(pulls.values()) < total:
            pulls[min(support, key=lambda a: (pulls[a] / weights[a], a))] += 1
        else:
            pulls[min(support, key=lambda a: (-(pulls[a] - 1) / weights[a], a))] -= 1
    return [pulls.get(a, 0) for a in range(len(weights))]


def test_rounding():
    rng = np.random.default_rng(9)
    cases = []
    for num_positive, total, _ in itertools.product((1, 2, 5, 8), (8, 9, 23, 1000, 2_742_457), range(10)):
        weights = np.zeros(8)
        weights[rng.permutation(8)[:num_positive]] = rng.dirichlet(np.full(num_positive, 0.5))
        cases.append((weights, total))
    weights, totals = np.array([c[0] for c in cases]), np.array([c[1] for c in cases], np.int32)
    with jax.enable_x64(True):
        pulls = np.asarray(jax.jit(jax.vmap(round_design))(weights, totals))
    assert pulls.dtype == np.int32
    np.testing.assert_array_equal(pulls, [rounded(*case) for case in cases])
    np.testing.assert_array_equal(pulls.sum(1), totals)
    assert np.all((pulls > 0) == (weights > 0))
    # Efficiency: no arm falls short of its share by more than the factor 1 - p / total.
    positive = (weights > 0).sum(1)
    share = np.where(weights > 0, pulls / np.where(weights > 0, weights * totals[:, None], 1), np.inf)
    assert np.all(share.min(1) >= 1 - positive / totals - 1e-12)


def test_rounding_sums_in_float32_and_below_the_support():
    weights = jnp.array([0.5, 0.25, 0.125, 0.125, 0, 0, 0, 0], jnp.float32)
    for total in (0, 1, 3, 16_777_259, 2_000_000_011):
        pulls = np.asarray(jax.jit(round_design)(weights, jnp.int32(total)))
        assert pulls.sum() == total and np.all(pulls >= 0) and np.all(pulls[4:] == 0)


def multiplicative(x, rounds=3000):
    """D-optimal weights by Silvey, Titterington and Torsney's updates."""
    w = np.full(len(x), 1 / len(x))
    for _ in range(rounds):
        w = w * np.einsum("ad,ad->a", x @ np.linalg.inv((x.T * w) @ x), x) / x.shape[1]
    return w


@pytest.mark.slow
def test_g_and_d_designs_of_kiefer_and_wolfowitz():
    rng = np.random.default_rng(3)
    x = random_features(rng, 8, 4) * rng.uniform(0.5, 2, size=(8, 1))
    with jax.enable_x64(True):
        all_three = jax.jit(lambda x: (g_design(x), d_design(x), d_design(x, steps=3)))
        g, d, rough = jax.tree.map(np.asarray, all_three(x))
    assert_optimal(x, x, g)
    assert np.isclose(g.value, 4, rtol=1e-7) and np.isclose(g.bound, 4, rtol=1e-7)
    spent = variances(x, g.weights, x)
    assert np.all(np.abs(spent[g.weights > 0] - 4) < 1e-4)  # equal on the support
    log_det = np.linalg.slogdet((x.T * d.weights) @ x)[1]
    assert np.isclose(-d.value, log_det, rtol=1e-9)
    assert d.bound <= d.value <= d.bound + 4 * GAP
    other = np.linalg.slogdet((x.T * multiplicative(x)) @ x)[1]
    assert log_det >= other - 1e-9 and -d.bound >= other - 1e-9
    assert -rough.value < other - 1e-6 and -rough.bound >= other - 1e-9


@pytest.mark.slow
@pytest.mark.parametrize(
    ("num_arms", "dim", "runs", "directions"), [(10, 5, 40, pair_differences), (30, 15, 8, lambda x: x)]
)
def test_gap_on_random_features(num_arms, dim, runs, directions):
    rng = np.random.default_rng(7)
    x = np.stack([random_features(rng, num_arms, dim) for _ in range(runs)])
    x[: runs // 4, 1] = x[: runs // 4, 0]  # equal arms
    many = jax.jit(lambda x: jax.lax.map(lambda x: transductive_design(x, directions(x)), x))
    with jax.enable_x64(True):
        found = jax.tree.map(np.asarray, many(x))
    for features, weights, value, bound in zip(x, *found, strict=True):
        assert bound <= value <= bound * (1 + GAP)
        assert np.isclose(variances(features, weights, directions(features)).max(), value, rtol=1e-7)


@pytest.mark.slow
def test_bounds_hold_before_convergence():
    rng = np.random.default_rng(10)
    early = jax.jit(lambda x, y: transductive_design(x, y, steps=8))
    gaps = []
    for _ in range(30):
        x = random_features(rng, ARMS, DIM)
        y = pair_differences(x)
        best = design(x, y).value
        with jax.enable_x64(True):
            found = jax.tree.map(np.asarray, early(x, y))
        assert found.bound <= best * (1 + GAP) and best <= found.value * (1 + GAP)
        gaps.append(1 - found.bound / best)
    assert min(gaps) < 1e-4 < max(gaps)  # neither loose throughout nor all at the end already


@pytest.mark.slow
@pytest.mark.quickly_compiled
def test_batch_equals_single_and_float32():
    rng = np.random.default_rng(8)
    x = np.stack([soare(5, 0.3)] + [random_features(rng, ARMS, DIM) for _ in range(3)])
    y = np.stack([pair_differences(a) for a in x])
    counts = np.ones(y.shape[:2], bool)
    batched = jax.jit(jax.vmap(lambda features, directions, mask: transductive_design(features, directions, mask=mask)))
    with jax.enable_x64(True):
        whole = jax.tree.map(np.asarray, batched(x, y, counts))
    # Batched products round differently, and steps amplify that up to the gap.
    np.testing.assert_allclose(whole.value, [design(*case).value for case in zip(x, y, strict=True)], rtol=GAP)
    short = batched(jnp.asarray(x), jnp.asarray(y), counts)
    assert short.weights.dtype == jnp.float32
    np.testing.assert_allclose(short.value, whole.value, rtol=1e-3)
    assert np.all(np.asarray(short.bound) >= 0.998 * whole.value)
    assert np.all(np.asarray(short.bound) <= whole.value * (1 + 1e-4))


@pytest.mark.slow
def test_characteristic_time():
    # Five orthonormal arms, equal gaps: w_1 = sqrt(4) w_i, so T* = 2 sigma^2 (1 + sqrt(4))^2 / gap^2.
    x = np.eye(5)
    with jax.enable_x64(True):
        solve_time = jax.jit(lambda x, means, sigma: best_arm_design(x, means, sigma=sigma))
        five = jax.tree.map(np.asarray, solve_time(x, np.array([0.1, 0.1, 0.4, 0.1, 0.1]), 3.0))
        tied = jax.tree.map(np.asarray, solve_time(x, np.array([0.4, 0.1, 0.4, 0.1, 0.1]), 3.0))
    assert np.isclose(five.time, 2 * 9 * 9 / 0.09, rtol=1e-9) and np.isclose(five.bound, five.time, rtol=1e-7)
    np.testing.assert_allclose(five.weights, [1 / 6, 1 / 6, 1 / 3, 1 / 6, 1 / 6], rtol=1e-5)
    assert tied.time == tied.bound == np.inf and np.all(np.isfinite(tied.weights))
