"""Oracles of decision classes against enumeration: the best set, the second best, ICB's challenger, and counts."""

import functools
import math

import jax
import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from tiers import a_few

from jaxbandit.theory.solvers.decision_classes import challenger, partition_matroid, spanning_trees, top_k
from jaxbandit.theory.solvers.decision_paths import assignment, dag_paths
from jaxbandit.theory.solvers.hungarian import cheapest_assignment

pytestmark = pytest.mark.quickly_compiled

LADDER = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2), (1, 3), (3, 4), (4, 0), (4, 0)]
DAG = [(4, 5), (0, 1), (1, 3), (0, 2), (2, 3), (1, 2), (3, 4), (2, 4), (0, 4), (2, 4), (5, 0), (4, 2), (0, 1)]
DAG[11] = (3, 5)  # leads past the target

CLASSES = {
    "top_k": (top_k(7, 3), math.comb(7, 3)),
    "partition": (partition_matroid([0, 1, 0, 2, 1, 0, 2, 3, 3], [2, 1, 2, 0]), 3 * 2),
    "spanning_trees": (spanning_trees(5, LADDER), None),
    "dag_paths": (dag_paths(6, [e for e in DAG if e != (5, 0)], 0, 4), None),
    "assignment": (assignment(3, 4), 24),
    "assignment of one": (assignment(1, 3), 3),
}
DRAWS = 200
MADE = [
    lambda: top_k(6, 3),
    lambda: top_k(6, 2),
    lambda: partition_matroid([0, 0, 1, 1], [1, 1]),
    lambda: partition_matroid([0, 1, 0, 1], [1, 1]),
    lambda: partition_matroid([0, 0, 0, 1, 1, 1], [1, 2]),
    lambda: spanning_trees(3, [(0, 1), (1, 2), (2, 0)]),
    lambda: spanning_trees(3, [(0, 1), (1, 2), (2, 1)]),
    lambda: dag_paths(3, [(0, 1), (1, 2), (0, 2)], 0, 2),
    lambda: dag_paths(3, [(0, 1), (1, 2), (1, 2)], 0, 2),
    lambda: dag_paths(3, [(0, 1), (0, 1), (1, 2)], 0, 1),
    lambda: dag_paths(3, [(0, 1), (0, 1), (1, 2)], 0, 2),
    lambda: assignment(2, 3),
    lambda: assignment(1, 6),
]


def test_classes_are_equal_if_they_are_made_alike():
    for i, one in enumerate(MADE):
        assert [one() == other() for other in MADE] == [i == j for j in range(len(MADE))]
        assert hash(one()) == hash(one())
    assert top_k(6, 2) == partition_matroid([0] * 6, [2]) and top_k(6, 2) != "top_k"
    mine = top_k(6, 2)._replace(made_of=())
    assert mine == mine and mine != top_k(6, 2)._replace(made_of=())  # of somebody's own functions


@functools.cache
def solved(name):
    """Scores of either sign, half of them whole numbers so that many tie, and what the class makes of them."""
    decision_class, _ = CLASSES[name]
    rng = np.random.default_rng(0)
    n = decision_class.num_arms
    scores = np.concatenate([rng.normal(size=(DRAWS // 2, n)), rng.integers(-2, 3, (DRAWS // 2, n)).astype(float)])
    widths = np.concatenate([rng.random((DRAWS // 2, n)), rng.integers(0, 2, (DRAWS // 2, n)).astype(float)])
    widths *= np.repeat([0.1, 1.0], DRAWS // 4).repeat(2)[:, None]  # with narrow widths P1's best is often the best

    def solve(scores, widths):
        best = decision_class.best(scores)
        return best, decision_class.second_best(scores, best), challenger(decision_class, scores, widths, best)

    with jax.enable_x64(True):
        return scores, widths, jax.tree.map(np.asarray, jax.jit(jax.vmap(solve))(scores, widths))


@pytest.mark.parametrize("shape", [(1, 2), (6, 6), (7, 10)])
def test_the_hungarian_method_against_scipy(shape):
    rng = np.random.default_rng(1)
    costs = np.concatenate([rng.normal(size=(100, *shape)), rng.integers(0, 3, (100, *shape)).astype(float)])
    with jax.enable_x64(True):
        owners = np.asarray(jax.jit(jax.vmap(cheapest_assignment))(costs))
    for each, rows in zip(costs, owners, strict=True):
        assert sorted(rows) == [-1] * (shape[1] - shape[0]) + list(range(shape[0]))
        assigned = rows >= 0
        assert each[rows[assigned], assigned].sum() == pytest.approx(each[linear_sum_assignment(each)].sum(), abs=1e-12)


@pytest.mark.parametrize("name", CLASSES)
def test_every_set_is_listed_once(name):
    decision_class, count = CLASSES[name]
    sets = decision_class.enumerate()
    assert len(np.unique(sets, axis=0)) == len(sets) and sets.shape[1] == decision_class.num_arms
    assert len(sets) == round(math.exp(decision_class.log_size))
    assert count is None or len(sets) == count


@pytest.mark.slow
@pytest.mark.parametrize("name", a_few(CLASSES, 2))
def test_best_and_second_best_against_enumeration(name):
    sets = CLASSES[name][0].enumerate()
    scores, _, (best, second, _) = solved(name)
    members = {row.tobytes() for row in sets}
    for s, first, other in zip(scores, best, second, strict=True):
        values = np.sort(sets @ s)
        assert first.tobytes() in members and other.tobytes() in members
        assert not np.array_equal(first, other)
        assert np.isclose(s @ first, values[-1], atol=1e-12)  # sums of a few numbers near 1
        assert np.isclose(s @ other, values[-2], atol=1e-12)


@pytest.mark.parametrize("name", CLASSES)
def test_challenger_against_enumeration(name):
    sets = CLASSES[name][0].enumerate()
    scores, widths, (best, _, found) = solved(name)
    returned = 0
    for s, w, first, members, value in zip(scores, widths, best, found.members, found.value, strict=True):
        values = sets @ s + (sets != first) @ w
        values[(sets == first).all(1)] = -np.inf
        assert np.isclose(value, values.max(), atol=1e-12)
        assert not np.array_equal(members, first)
        assert np.isclose(s @ members + w @ (members != first), value, atol=1e-12)
        doubted = sets @ np.where(first, s - w, s + w)
        returned += doubted.max() <= doubted[(sets == first).all(1)].item()
    assert 0 < returned < DRAWS  # both branches were taken


def test_ties_go_to_the_lowest_arms():
    best = top_k(5, 2).best(np.array([0.0, 1.0, 1.0, 1.0, 0.0], np.float32))
    assert np.flatnonzero(best).tolist() == [1, 2]


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: top_k(4, 4), "top_k: k = 4, must be an integer in [1, 3]"),
        (lambda: partition_matroid([0, 0, 1], [2, 1]), "allow one set only"),
        (lambda: partition_matroid([0, 0, 1], [1, 2]), "capacities[1] = 2, must be an integer in [0, 1]"),
        (lambda: partition_matroid([0, 2, 1], [1, 1]), "groups[1] = 2.0, must be in [0, 1]"),
        (lambda: spanning_trees(3, [(0, 1), (0, 1)]), "no spanning tree"),
        (lambda: spanning_trees(3, [(0, 1), (1, 2)]), "one spanning tree only"),
        (lambda: spanning_trees(3, [(0, 1), (2, 2)]), "edges[1] joins 2 to itself"),
        (lambda: dag_paths(3, [(0, 1), (1, 2), (2, 0)], 0, 2), "directed cycle"),
        (lambda: dag_paths(3, [(0, 1), (1, 2)], 0, 2), "1 paths lead from 0 to 2"),
        (lambda: assignment(3, 2), "assignment: columns = 2, must be an integer >= 3"),
    ],
)
def test_bad_classes_are_refused_in_one_line(make, says):
    with pytest.raises(ValueError) as error:
        make()
    assert says in str(error.value) and "\n" not in str(error.value)
