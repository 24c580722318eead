"""Peeling against a plain peel and brute force, the truths of Algorithm 1, exchanges, certified bounds and ratios."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from reference.peeling import peel

from jaxbandit.theory.solvers import densest
from jaxbandit.theory.solvers.densest import peeling, quadratic
from jaxbandit.theory.solvers.design import g_design
from jaxbandit.theory.solvers.quadratic_bound import alpha, peeling_ratio, theorem_ratio, upper_bound
from jaxbandit.theory.solvers.rounding import round_design

SIZES = [(8, 3), (10, 5), (12, 4)]
BATCH = 60


def indicator(left, size):
    return np.isin(np.arange(size), left)


def optimum(weights, k):
    sets = np.array(list(itertools.combinations(range(len(weights)), k)))
    return weights[sets[:, :, None], sets[:, None, :]].sum((1, 2)).max()


def rows_bound(weights, k):
    """The k largest of: the diagonal's entry, and the k - 1 largest others of the row."""
    rows = [row[i] + np.sort(np.delete(row, i))[::-1][: k - 1].sum() for i, row in enumerate(weights)]
    return np.sort(rows)[::-1][:k].sum()


def matrices(size, k):
    """Whole numbers, that tie; graphs; normals of either sign; and inverse design matrices of random supports."""
    rng = np.random.default_rng(size)
    whole = rng.integers(-3, 4, (BATCH // 4, size, size)).astype(float)
    graphs = np.triu(rng.random((BATCH // 4, size, size)) < 0.4, 1).astype(float)
    normal = rng.normal(size=(BATCH // 4, size, size))
    inverses = []
    while len(inverses) < BATCH // 4:
        sets = np.argsort(rng.random((2 * size, size)), axis=1) < k
        design = sets.T @ sets.astype(float) / len(sets)
        if np.linalg.matrix_rank(design) == size:
            inverses.append(np.linalg.inv(design))
    inverses = (np.array(inverses) + np.swapaxes(inverses, 1, 2)) / 2
    return np.concatenate([*(x + x.swapaxes(1, 2) for x in (whole, graphs, normal)), inverses])


def solve(weights, k):
    def one(w):
        left, polished = peeling(w, k), peeling(w, k, polish=20)
        bounds = upper_bound(w, k, spectral=False), upper_bound(w, k, spectral=True)
        return left, polished, quadratic(w, left), quadratic(w, polished), bounds

    with jax.enable_x64(True):
        return jax.tree.map(np.asarray, jax.jit(jax.vmap(one))(weights))


@pytest.fixture(
    scope="module",
    params=[SIZES[1], *(pytest.param(size, marks=pytest.mark.slow) for size in (SIZES[0], SIZES[2]))],
    ids=str,
)
def solved(request):
    size, k = request.param
    weights = matrices(size, k)
    return weights, k, solve(weights, k), np.array([optimum(w, k) for w in weights])


@pytest.mark.slow
def test_peeling_is_the_plain_peel(solved):
    weights, k, (left, *_), _ = solved
    for w, members in zip(weights, left, strict=True):
        assert np.array_equal(members, indicator(peel(w.tolist(), k), len(w)))


def test_never_above_the_optimum_and_never_below_it_when_certified(solved):
    weights, k, (_, polished, value, better, bounds), best = solved
    slack = 1e-9 * (1 + np.abs(best))  # rounding of sums of at most 144 numbers
    assert np.all(value <= better + slack) and np.all(better <= best + slack)
    assert np.any(value < best - 1e-3) and np.mean(better >= best - slack) > 0.5
    assert np.all(polished.sum(1) == polished[0].sum())
    for bound in bounds:
        assert np.all(bound >= best - slack)
    assert np.all(bounds[1] <= bounds[0] + slack)
    # By sorting; bisection leaves at most 2^-16 of a row's spread for each of its k - 1 entries, k rows.
    largest = np.array([rows_bound(w, k) for w in weights])
    spread = np.array([np.ptp(w[~np.eye(len(w), dtype=bool)]) for w in weights])
    assert np.all(bounds[0] >= largest - slack) and np.all(bounds[0] <= largest + k * (k - 1) * spread / 2**16 + slack)
    if 2 * polished[0].sum() == polished.shape[1]:  # with few members rows are always the better bound
        assert np.any(bounds[1] < bounds[0] - 1e-3)


def test_no_single_exchange_betters_a_polished_set(solved):
    weights, _, (_, polished, _, better, _), _ = solved
    for w, members, value in zip(weights, polished, better, strict=True):
        for i, j in itertools.product(np.flatnonzero(members), np.flatnonzero(~members)):
            x = members.astype(float)
            x[i], x[j] = 0, 1
            assert x @ w @ x <= value + 1e-9


def test_shifts_and_scales_do_not_change_the_answer():
    size, k = SIZES[0]
    # Whole numbers, and shifts and scales that keep them exact: equal to the bit, ties and all.
    weights = matrices(size, k)[: BATCH // 2]
    changed = np.concatenate([weights, weights + 5 * np.eye(size), weights - 2, 0.5 * weights])
    with jax.enable_x64(True):
        left = np.asarray(jax.jit(jax.vmap(lambda w: peeling(w, k)))(changed)).reshape(4, -1, size)
    assert all(np.array_equal(other, left[0]) for other in left)


# Of a CPU, and of everything else.
@pytest.mark.slow
@pytest.mark.parametrize("form", ["_in_chunks", pytest.param("_at_once", marks=pytest.mark.slow)])
def test_problems_that_share_a_matrix_are_problems_of_their_own(form, monkeypatch):
    """Runs over anchors, more than one chunk of either: own diagonals on one matrix a run, or on one for all."""
    monkeypatch.setattr(densest, "_in_chunks", getattr(densest, form))
    rng = np.random.default_rng(1)
    weights = rng.integers(-3, 4, (3, 40, 40)).astype(float)
    weights += weights.swapaxes(1, 2)
    diagonals = rng.integers(-9, 10, (3, 15, 40)).astype(float)

    def one(w, diagonal):
        return peeling(w, 7, diagonal=diagonal)

    anchors = jax.vmap(one, (None, 0))
    with jax.enable_x64(True):
        left = np.asarray(jax.jit(jax.vmap(anchors))(weights, diagonals))
        first = np.asarray(jax.jit(jax.vmap(anchors, (None, 0)))(weights[0], diagonals))
        alone = np.asarray(jax.jit(jax.vmap(lambda w: peeling(w, 7)))(weights))
    for run in range(3):
        assert np.array_equal(alone[run], indicator(peel(weights[run].tolist(), 7), 40))
        for diagonal, own, common in zip(diagonals[run], left[run], first[run], strict=True):
            assert np.array_equal(own, indicator(peel((weights[run] + np.diag(diagonal)).tolist(), 7), 40))
            assert np.array_equal(common, indicator(peel((weights[0] + np.diag(diagonal)).tolist(), 7), 40))


@pytest.mark.slow
def test_theorem_1_and_the_ratio_of_peeling_hold(solved):
    weights, k, _, _ = solved
    size = weights.shape[1]
    rng = np.random.default_rng(2)
    weights = weights[-BATCH // 4 :]  # positive definite
    peeled = np.array([indicator(peel(w.tolist(), k), size) for w in weights])
    with jax.enable_x64(True):
        modes = ("theorem", "certified", "fixed")
        ratios = jax.jit(jax.vmap(lambda w, members: [alpha(w, members, k, mode=mode) for mode in modes]))
        theorem, certified, fixed = map(np.asarray, ratios(weights, peeled))
    best = np.array([optimum(w, k) for w in weights])
    true = np.sqrt([w[np.ix_(x, x)].sum() for w, x in zip(weights, peeled, strict=True)] / best)
    assert (theorem <= certified).all() and (certified <= true + 1e-12).all() and (fixed == 0.9).all()
    for _ in range(20):  # non-negative edges, no diagonal: what the ratio is about
        w = np.triu(rng.random((size, size)) ** 8, 1)
        w += w.T
        members = indicator(peel(w.tolist(), k), size)
        assert w[np.ix_(members, members)].sum() >= peeling_ratio(size, k) * optimum(w, k)


def test_theorem_ratio_by_hand():
    # Eigenvalues 1 and 4; n = 2, k = 2: peeling removes nothing, so that its ratio is 1.
    assert np.isclose(theorem_ratio(jnp.array([[2.5, 1.5], [1.5, 2.5]]), 2), 0.25, rtol=1e-5)
    assert peeling_ratio(5, 5) == 1 and np.isclose(peeling_ratio(5, 4), 3 / 5)


def test_the_spectral_bound_is_exact_for_exchangeable_arms():
    with jax.enable_x64(True):
        bound = float(jax.jit(lambda w: upper_bound(w, 4, spectral=True))(3 * np.eye(9) - 0.2))
    assert np.isclose(bound, 12 - 0.2 * 16, rtol=1e-12)


@pytest.mark.slow
def test_design_and_rounding_serve_supports_of_sets():
    """G-optimal on a support of 12 sets of 3 of 6 arms: the least largest norm is the rank, and pulls add up."""
    sets = np.argsort(np.random.default_rng(3).random((12, 6)), axis=1) < 3
    with jax.enable_x64(True):
        design = jax.jit(g_design)(jnp.asarray(sets, float))
        pulls = np.asarray(jax.jit(round_design)(design.weights, jnp.int32(1000)))
    assert np.isclose(design.value, np.linalg.matrix_rank(sets), rtol=1e-6)
    assert pulls.sum() == 1000 and np.abs(pulls - 1000 * np.asarray(design.weights)).max() < 2


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((np.zeros((3, 4)), 2), "peeling: weights has shape (3, 4), must be square"),
        ((np.zeros((3, 3)), 4), "peeling: k = 4, must be an integer in [1, 3]"),
    ],
)
def test_bad_problems_are_refused(arguments, says):
    with pytest.raises(ValueError, match="peeling") as error:
        peeling(*arguments)
    assert says == str(error.value)
