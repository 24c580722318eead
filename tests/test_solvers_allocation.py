"""The allocation problem against clarabel, closed forms, its certificates, and degenerate instances."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import sparse

from jaxbandit.theory.solvers.allocation import allocation

pytestmark = pytest.mark.slow  # long to compile

GAP = 1e-7  # what the docstring promises, relative
ARMS, DIM = 20, 5  # one compiled program for most tests: masked arms and zero axes change nothing
MANY_ARMS = 60  # beyond the size from which another method takes over
FEW = 64  # problems of a call, one program for each number of arms: fewer are repeated

solve = jax.jit(jax.vmap(lambda x, gaps, level, mask: allocation(x, gaps, level, mask=mask)))


def padded(problems, num_arms):
    x, gaps = np.zeros((len(problems), num_arms, DIM)), np.zeros((len(problems), num_arms))
    mask = np.zeros(gaps.shape, bool)
    for i, (features, own) in enumerate(problems):
        x[i, : len(own), : features.shape[1]], gaps[i, : len(own)], mask[i, : len(own)] = features, own, True
    return x, gaps, mask


def solved(problems, level=2.0, num_arms=ARMS):
    """One Allocation a problem; pulls without the padding."""
    if len(problems) > FEW:
        return solved(problems[:FEW], level, num_arms) + solved(problems[FEW:], level, num_arms)
    x, gaps, mask = (np.resize(a, (FEW, *a.shape[1:])) for a in padded(problems, num_arms))
    with jax.enable_x64(True):
        found = jax.tree.map(np.asarray, solve(x, gaps, np.full(FEW, level), mask))
    assert np.all(found.pulls[~mask] == 0)
    return [
        found._replace(pulls=found.pulls[i, : len(own)], cost=found.cost[i], bound=found.bound[i])
        for i, (_, own) in enumerate(problems)
    ]


def one(features, gaps, level=2.0):
    return solved([(np.asarray(features, float), np.asarray(gaps, float))], level)[0]


def instance(rng, num_arms, dim, contexts=1):
    """Random arms on the sphere, the same number a context, and a random theta."""
    x = rng.normal(size=(contexts, num_arms, dim))
    x /= np.linalg.norm(x, axis=-1, keepdims=True)
    means = x @ (lambda theta: theta / np.linalg.norm(theta))(rng.normal(size=dim))
    return x.reshape(-1, dim), (means.max(1, keepdims=True) - means).ravel()


def rest(features, gaps):
    """What is left of the features beside the span of the best arms, in coordinates of its complement."""
    best = features[gaps <= 1e-12]
    _, singular, right = np.linalg.svd(best)
    return features @ right[np.sum(singular > 1e-9 * singular[0]) :].T


def tightness(features, gaps, pulls, level):
    """The largest ratio of z' H^+ z to gap^2 / f over suboptimal arms: 1 where the pulls are as few as they may be."""
    z = rest(features, gaps)
    # Of the roots of H, whose condition is that of the root of H.
    pseudo = z @ np.linalg.pinv(np.sqrt(pulls)[:, None] * z, rcond=1e-7)
    suboptimal = gaps > 1e-12
    return np.max(np.sum(pseudo**2, axis=1)[suboptimal] * level / gaps[suboptimal] ** 2)


def assert_optimal(problem, found, level=2.0, gap=GAP):
    features, gaps = problem
    assert np.all(found.pulls >= 0) and np.all(found.pulls[gaps <= 1e-12] == 0)
    assert np.isclose(found.pulls @ gaps, found.cost, rtol=1e-12)
    assert found.bound <= found.cost <= found.bound * (1 + gap)
    if found.cost > 0:
        # NumPy's pseudo-inverse and our elimination, each rounding times the condition of H.
        assert np.isclose(tightness(features, gaps, found.pulls, level), 1, rtol=1e-7)


def svec(matrices):
    """Upper triangles [..., d (d + 1) / 2] by column, off the diagonal times the root of 2: clarabel's order."""
    columns, rows = np.tril_indices(matrices.shape[-1])
    return matrices[..., rows, columns] * np.where(rows == columns, 1, np.sqrt(2))


def by_clarabel(features, gaps, level):
    """The least cost, in units of cost: in pulls clarabel's error is a thousand times larger.

    v' M^-1 v <= 1 where [[M, v], [v', 1]] is positive semidefinite, M = sum of costs times outer products. It is handed
    over as it is: a modelling language takes ten times as long as the solver.
    """
    clarabel = pytest.importorskip("clarabel")
    z = rest(features, gaps)
    kept = (gaps > 1e-12) & (np.linalg.norm(z, axis=1) > 1e-9)
    if not kept.any():
        return 0.0  # the best arms span
    z, gaps = z[kept], gaps[kept]
    num_arms, dim = z.shape
    outer, constant = np.zeros((2, num_arms, dim + 1, dim + 1))
    outer[:, :dim, :dim] = np.einsum("ad,ae->ade", z, z) / gaps[:, None, None]
    constant[:, :dim, dim] = constant[:, dim, :dim] = z / gaps[:, None] * np.sqrt(level)
    constant[:, dim, dim] = 1
    # A costs + s = b: s is the costs, and then a matrix for each constraint.
    a = np.vstack([-np.eye(num_arms), np.tile(-svec(outer).T, (num_arms, 1))])
    b = np.concatenate([np.zeros(num_arms), svec(constant).ravel()])
    cones = [clarabel.NonnegativeConeT(num_arms)] + [clarabel.PSDTriangleConeT(dim + 1)] * num_arms
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    quadratic = sparse.csc_matrix((num_arms, num_arms))
    found = clarabel.DefaultSolver(quadratic, np.ones(num_arms), sparse.csc_matrix(a), b, cones, settings).solve()
    return found.obj_val if found.status == clarabel.SolverStatus.Solved else np.nan


def test_orthonormal_arms():
    gaps = np.array([0, 0.1, 0.5, 1, 2])
    found = one(np.eye(5), gaps, level=3.0)
    np.testing.assert_allclose(found.pulls[1:], 3 / gaps[1:] ** 2, rtol=GAP)
    assert found.pulls[0] == 0 and np.isclose(found.cost, np.sum(3 / gaps[1:]), rtol=GAP)


def test_dimension_one_and_its_ties():
    # Section 5.1, u = 0.01: x_2, the cheap informant. Multiples of one vector of equal gap / z^2: the lowest index.
    found = one([[1, 0], [0, 1], [0.99, 0.05]], [0, 1, 0.01])
    assert np.isclose(found.cost, 50, rtol=1e-12) and found.bound == found.cost and found.pulls[1] > 0
    x = np.array([[1, 0], [0.3, 0.5], [0.1, 1], [0, -2], [0.3, 0.5]])
    gaps = np.array([0, 0.1, 0.4, 1.6, 0.1])
    found = one(x, gaps)
    np.testing.assert_allclose(found.pulls, [0, 2 * 25 / 0.25, 0, 0, 0], rtol=1e-9)
    assert np.isclose(tightness(x, gaps, found.pulls, 2.0), 1, rtol=1e-9)


ANGLES = np.arange(12) * 0.53  # of rotations, which leave a problem as it is and round its features anew


def rotated(features, angle):
    return np.array(features) @ np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])


def test_ties_go_to_the_lowest_arm_up_to_rounding_and_no_further():
    # gap / z^2 is 0.7 for all three, up to rounding that without a slack would decide in half of the rotations.
    x, gaps = [[1, 0], [0.3, 0.3], [0.1, 0.7], [0, -1.1]], 0.7 * np.array([0, 0.09, 0.49, 1.21])
    for angle in ANGLES:
        assert np.flatnonzero(one(rotated(x, angle), gaps).pulls) == [1]
        # A price lower by 1e-8 is no tie: a hundred roundings at least, and ten times the slack.
        cheaper = one(rotated(x, angle), gaps * [1, 1, 1 - 1e-8, 1])
        assert np.flatnonzero(cheaper.pulls) == [2] and np.isclose(cheaper.cost, cheaper.bound, rtol=1e-9)


def test_what_counts_as_inside_the_span_of_the_best_arms():
    for angle in ANGLES:
        inside = rotated([[1, 0], [0.7, 0], [-1e3, 0]], angle)
        assert np.all(one(inside, [0, 0.5, 0.25]).pulls == 0)
        # 1e-8 beside it is not rounding: told apart by pulls of its own, 2 / gap^2.
        near = one(rotated([[1, 0], [1, 1e-8]], angle), [0, 0.5])
        np.testing.assert_allclose(near.pulls, [0, 8], rtol=1e-9)


def test_the_least_gap_that_is_one():
    found = one(np.eye(3), [0, 1.1e-12, 0.5])
    np.testing.assert_allclose(found.pulls, [0, 2 / 1.1e-12**2, 8], rtol=1e-3)


def test_best_arms_that_span_and_arms_satisfied_for_free():
    found = one(np.vstack([np.eye(3), [[0.3, 0.2, 0.1]]]), [0, 0, 0, 0.5])
    assert np.all(found.pulls == 0) and found.cost == found.bound == 0
    # The second arm lies in the span of the best: only the third and fourth have to be pulled.
    x, gaps = np.vstack([np.eye(3)[0], 0.7 * np.eye(3)[0], np.eye(3)[1:]]), np.array([0, 1e-6, 0.5, 0.25])
    found = one(x, gaps)
    np.testing.assert_allclose(found.pulls, [0, 0, 2 / 0.25, 2 / 0.0625], rtol=GAP)
    # A gap below 1e-12 is the same as 0.
    np.testing.assert_array_equal(one(x, np.where(gaps > 0, gaps, 9e-13)).pulls, found.pulls)


def test_copies_of_an_arm():
    rng = np.random.default_rng(1)
    x, gaps = instance(rng, 6, 4)
    plain = one(x, gaps)
    twice = one(np.vstack([x, x]), np.concatenate([gaps, gaps]))
    assert np.isclose(twice.cost, plain.cost, rtol=GAP)
    # Equal copies share, and two times the pulls of one copy are the pulls without copies; weights err by the root.
    np.testing.assert_allclose(twice.pulls[:6], twice.pulls[6:], rtol=1e-3)
    np.testing.assert_allclose(twice.pulls[:6] * 2, plain.pulls, rtol=1e-3, atol=1e-3 * plain.pulls.max())
    # A dearer copy demands less and tells no more: it is not pulled at all.
    dearer = one(np.vstack([x, x]), np.concatenate([gaps, np.where(gaps > 0, 1.5 * gaps, 0)]))
    assert np.all(dearer.pulls[6:] == 0) and np.isclose(dearer.cost, plain.cost, rtol=GAP)


def degenerate():
    rng = np.random.default_rng(2)
    x, gaps = instance(rng, 8, 4)
    lengths = np.geomspace(1e-3, 1e3, 8)
    tiny = np.where(np.arange(8) % 3 == 1, 1e-6, gaps)
    tiny[np.argmin(gaps)] = 0
    yield "gaps of 1e-6", (x, tiny)
    yield "lengths from 1e-3 to 1e3", (x * lengths[:, None], gaps)
    yield "nearly parallel", (x[:1] + 1e-4 * (x - x[:1]), gaps)
    yield "one arm a context", (np.vstack([x[:1], x]), np.concatenate([[0], np.maximum(gaps, 0.1)]))
    yield "no best arm", (x, gaps + 0.1)
    yield "the best arm is zero", (np.vstack([np.zeros((1, 4)), x]), np.concatenate([[0], gaps + 0.1]))
    yield "ties everywhere", (np.vstack([np.eye(5), -np.eye(5), np.ones((1, 5))]), np.r_[0, np.ones(10)])
    yield "a plane in space", (np.vstack([[[1, 0, 0]], np.c_[x[:, :1], x[:, 1:2], x[:, 1:2]]]), np.r_[0, gaps + 0.1])


@pytest.mark.parametrize("num_arms", [ARMS, MANY_ARMS])
def test_degenerate_instances(num_arms):
    names, problems = zip(*degenerate(), strict=True)
    for name, problem, found in zip(names, problems, solved(problems, num_arms=num_arms), strict=True):
        features, gaps = problem
        assert found.bound <= found.cost <= found.bound * (1 + 10 * GAP), name
        assert np.isclose(found.pulls @ gaps, found.cost, rtol=1e-12), name
        if np.any(gaps == 0) and np.any(features[gaps == 0]):
            assert np.isclose(tightness(features, gaps, found.pulls, 2.0), 1, rtol=1e-9), name


def test_bounds_on_random_instances():
    rng = np.random.default_rng(3)
    sizes = [(int(rng.integers(2, 21)), int(rng.choice([2, 3, 5])), 1) for _ in range(108)] + [(6, 5, 3)] * 20
    problems = [instance(rng, *size) for size in sizes]
    for problem, found in zip(problems, solved(problems, level=30.0), strict=True):
        assert_optimal(problem, found, level=30.0)


def test_against_clarabel():
    rng = np.random.default_rng(4)
    unsure = 0
    for num_arms, contexts, count in ((ARMS, (1,), 64), (MANY_ARMS, (2, 3), 16)):
        problems = [
            instance(rng, int(rng.integers(3, 21)), int(rng.choice([2, 3, 5])), int(rng.choice(contexts)))
            for _ in range(count)
        ]
        for problem, found in zip(problems, solved(problems, num_arms=num_arms), strict=True):
            assert_optimal(problem, found)
            expected = by_clarabel(*problem, 2.0)
            unsure += np.isnan(expected)
            assert np.isnan(expected) or np.isclose(found.cost, expected, rtol=1e-6)
    assert unsure <= 4  # of 80, where clarabel itself says that it is inaccurate; our certificate holds there too


@pytest.mark.quickly_compiled
def test_one_alone_equals_its_place_in_a_batch_and_float32():
    rng = np.random.default_rng(5)
    problems = [instance(rng, 6, 2 + i % 4) for i in range(FEW)]
    batch = solved(problems)
    x, gaps, mask = padded(problems, ARMS)
    alone = jax.jit(lambda x, gaps, mask: allocation(x, gaps, 2.0, mask=mask))
    nested = jax.jit(jax.vmap(jax.vmap(lambda x, gaps: allocation(x, gaps, 2.0), (None, 0)), (0, 0)))
    with jax.enable_x64(True):
        for i in range(8):
            # Loops over one lane round otherwise than those over many, and steps amplify that up to the gap.
            single = jax.tree.map(np.asarray, alone(x[i, :6], gaps[i, :6], mask[i, :6]))
            np.testing.assert_allclose(single.cost, batch[i].cost, rtol=GAP)
            np.testing.assert_allclose(single.pulls, batch[i].pulls, rtol=1e-3, atol=1e-3 * single.pulls.max())
        both = nested(x[:4, :6], np.stack([gaps[:4, :6], 2 * gaps[:4, :6]], 1))
    assert both.cost.shape == (4, 2) and both.pulls.shape == (4, 2, 6)
    np.testing.assert_allclose(both.cost, [[b.cost, b.cost / 2] for b in batch[:4]], rtol=GAP)
    few = ((x[:, :6], "f4"), (gaps[:, :6], "f4"), (np.full(FEW, 2), "f4"), (mask[:, :6], bool))
    short = solve(*(jnp.asarray(a, dtype) for a, dtype in few))
    assert short.pulls.dtype == jnp.float32
    exact = np.array([found.cost for found in batch])
    # Rounding of 6e-8 is amplified by the inverse of the gap that the last steps work at.
    np.testing.assert_allclose(short.cost, exact, rtol=1e-3)
    assert np.all(np.asarray(short.bound) <= exact * (1 + 1e-4))


@pytest.mark.quickly_compiled
def test_bounds_hold_before_convergence():
    rng = np.random.default_rng(6)
    problems = [instance(rng, ARMS, DIM) for _ in range(30)]
    best = np.array([found.cost for found in solved(problems)])
    x, gaps, _ = padded(problems, ARMS)
    with jax.enable_x64(True):
        early = jax.jit(jax.vmap(lambda x, gaps: allocation(x, gaps, 2.0, steps=8)))(x, gaps)
    bounds, costs = np.asarray(early.bound), np.asarray(early.cost)
    assert np.all(bounds <= best * (1 + GAP)) and np.all(best <= costs * (1 + GAP))
    assert np.min(1 - bounds / best) < 1e-2 < np.max(1 - bounds / best)  # neither loose throughout nor at the end
    for problem, pulls in zip(problems, np.asarray(early.pulls), strict=True):
        assert np.isclose(tightness(*problem, pulls, 2.0), 1, rtol=1e-7)  # what is not optimal yet is feasible
