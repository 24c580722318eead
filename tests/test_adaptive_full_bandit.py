"""The adaptive full-bandit rule: its bounds against enumeration, its looks against NumPy, its promise in play."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from reference import adaptive_full_bandit as reference

import jaxbandit as jb
from jaxbandit.theory.solvers import lead
from jaxbandit.theory.solvers.decision_classes import top_k

pytestmark = [pytest.mark.slow, pytest.mark.quickly_compiled]

N, K = 8, 3
SETS = np.array([[i in c for i in range(N)] for c in itertools.combinations(range(N), K)])


@pytest.fixture(scope="module")
def leads():
    """Bound, two climbs and the enumerated maximum of 60 problems, the first 30 of the form a I + b 1 1'."""
    rng = np.random.default_rng(0)
    roots = rng.normal(size=(60, N, 2 * N))
    matrices = roots @ roots.transpose(0, 2, 1) / N
    matrices[:30] = rng.uniform(0.5, 2, (30, 1, 1)) * np.eye(N) + rng.uniform(0, 1, (30, 1, 1))
    estimates, radii = rng.normal(size=(60, N)), rng.uniform(0.1, 2.0, 60)
    best = np.array([reference.top(x, K) > 0 for x in estimates])
    family = top_k(N, K)

    def solve(*problem):
        begin = lead.starts(family, *problem, 16)
        ends = [lead.climb(family, *problem, begin, steps).lead for steps in (0, 8)]
        return lead.lead_bound(family, *problem), *ends, lead.largest_eigenvalue_bound(problem[1])

    with jax.enable_x64(True):
        bound, start, end, widest = map(np.asarray, jax.jit(jax.vmap(solve))(estimates, matrices, radii, best))
    exact = np.array(
        [
            max(reference.lead(e, m, r, b.astype(float), x.astype(float)) for x in SETS if (x != b).any())
            for e, m, r, b in zip(estimates, matrices, radii, best, strict=True)
        ]
    )
    return bound, start, end, exact, widest, np.linalg.eigvalsh(matrices)[:, -1]


def test_no_set_leads_by_more_than_the_bound(leads):
    bound, _, end, exact, *_ = leads
    assert (bound >= exact - 1e-12).all() and (end <= exact + 1e-12).all()
    # For a I + b 1 1' all that is lost is in the choice of s and the eigenvalue's bound, at most 8^(1/64) = 1.033.
    size = np.abs(exact[:30]) + 1
    assert ((bound - exact)[:30] <= 0.1 * size).all()


def test_climbing_finds_the_farthest_set_nearly_always(leads):
    _, start, end, exact, *_ = leads
    assert (end >= start - 1e-3).all()  # scores are in units of 2^-14 of the largest, which is below 10
    assert (end >= exact - 1e-9).mean() >= 0.9


def test_the_eigenvalue_bound(leads):
    *_, widest, largest = leads
    assert (widest >= largest * (1 - 1e-12)).all() and (widest <= N ** (1 / 64) * largest * (1 + 1e-12)).all()


@pytest.mark.parametrize("bound", ["certified", "climbed"])
def test_the_same_looks_pulls_and_stop(bound):
    """Batch after batch the same super-arms, as often, and the same stop; sums of each pull's own reward."""
    means = np.array([0.9, -0.3, 0.8, 0.1, 0.7, 0.2])
    told = {"choices": 5, "explore": 0.4, "grid": 1.25, "delta": 0.1, "epsilon": 0.1, "sigma": 0.8}
    rng = np.random.default_rng(1)
    with jax.enable_x64(True):
        algorithm = jb.algorithms.adaptive_full_bandit(6, k=3, num_sets=9, bound=bound, **told)
        plan, absorb, look = map(jax.jit, (*algorithm.batch[:2], algorithm.replan.apply))
        state = algorithm.init(jax.random.key(0))
        rows = np.asarray(plan(state).sets).astype(float)
        counts = np.repeat([1, 0], [9, 5])
        np.testing.assert_array_equal(plan(state).counts, counts)
        design, response, t, done, looks = np.zeros((6, 6)), np.zeros(6), 0, False, 0
        while not done:
            sums = counts * (rows @ means) + 0.3 * np.sqrt(counts) * rng.normal(size=len(rows))
            state = absorb(state, plan(state), jnp.asarray(sums))
            assert algorithm.replan.due(state)  # every batch ends with an evaluation of the rule
            state = look(state)
            assert not algorithm.replan.due(state)
            design, response, t = design + (rows.T * counts) @ rows, response + sums @ rows, t + counts.sum()
            known = told | {"certified": bound == "certified"}
            done, best, chosen, counts = reference.look(t, design, response, 3, 9, **known)
            rows = np.concatenate([rows[:9], chosen])
            assert bool(algorithm.stop(state)) == done
            np.testing.assert_array_equal(algorithm.recommend(state), np.flatnonzero(best))
            if not done:
                np.testing.assert_array_equal(plan(state).sets, rows > 0)
                np.testing.assert_array_equal(plan(state).counts, counts)
            looks += 1
    assert looks > 5 and int(state.rounds) == t
    assert set(np.flatnonzero(best)) == {0, 2, 4}
