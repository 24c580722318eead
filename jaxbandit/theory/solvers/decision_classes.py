"""Decision classes: families of sets of arms with an exact oracle for linear scores of any sign.

Kuroki, Xu, Miyauchi, Honda and Sugiyama (2020), Appendices A and B. Here are the bases of matroids, for which the
greedy algorithm is exact and the second best set is one exchange away.
"""

import functools
import itertools
import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Annotated, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxbandit.base.arguments import SeveralArms, SomeArms
from jaxbandit.base.calls import checked
from jaxbandit.base.parameters import Arg
from jaxbandit.support.checks import arrays, take
from jaxbandit.support.domains import integer
from jaxbandit.support.numerics import argmax, dot, set_at
from jaxbandit.support.types import Array

_ONE_BY_ONE = 64  # up to this number of members, they are selected one by one


Groups = Annotated[Sequence[int] | np.ndarray, Arg(lambda given: arrays(low=0, high=len(given["capacities"]) - 1))]
NumVertices = Annotated[int, Arg(integer(2), "number of vertices")]
Edges = Annotated[
    Sequence[tuple[int, int]] | np.ndarray, Arg(lambda given: arrays(ndim=2, low=0, high=given["num_vertices"] - 1))
]


class DecisionClass(NamedTuple):
    """A family of at least two sets of arms, none of which contains another; equal if made alike."""

    name: str
    num_arms: int
    rank: int | None  # number of arms in every set; None if the sets differ in size
    log_size: float  # log K, where K is the number of sets
    best: Callable[[Array], Array]  # scores float[n] -> bool[n], a set with the largest total score
    second_best: Callable[[Array, Array], Array]  # scores, a best set -> bool[n], the best of the other sets
    enumerate: Callable[[], np.ndarray]  # bool[K, n], all sets in lexicographic order of members; for small K only
    made_of: tuple[Hashable, ...] = ()  # its kind and arguments, by which two are equal; () if it equals itself only

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, DecisionClass) and self.made_of == other.made_of != ())

    def __hash__(self) -> int:
        return hash(self.made_of)


class Challenger(NamedTuple):
    """The set that is hardest to distinguish from the empirically best one."""

    members: Array  # bool[n], never the best set itself
    value: Array  # float[], its estimate plus the widths of the arms in which it differs from the best set


def challenger(decision_class: DecisionClass, estimate: Array, widths: Array, best: Array) -> Challenger:
    """Return the set M != best with the largest estimate(M) + sum of widths over the arms in exactly one of M and best.

    This is problem P1 of ICB (Algorithm 4), solved exactly. Arrays have n entries; best is a set of the class.
    """
    scores = jnp.where(best, estimate - widths, estimate + widths)
    first = decision_class.best(scores)
    # If the result is `best`, then it is best for these scores, and second_best may start from it.
    members = jnp.where(jnp.all(first == best), decision_class.second_best(scores, best), first)
    value = jnp.sum(jnp.where(members, estimate, 0.0)) + jnp.sum(jnp.where(members != best, widths, 0.0))
    return Challenger(members, value)


@checked
def top_k(num_arms: SeveralArms, k: SomeArms) -> DecisionClass:
    """Return the class of all sets of k arms; ties go to the lowest-numbered arms."""
    return partition_matroid([0] * num_arms, [k])._replace(name="top_k")


@checked
def partition_matroid(groups: Groups, capacities: Sequence[int] | np.ndarray) -> DecisionClass:
    """The class of all sets with exactly capacities[g] arms of each group g; ties go to the lowest-numbered arms.

    Args:
      groups: int[n], concrete; the group of each arm, counted from 0.
      capacities: int[G], concrete; between 0 and the size of the group, and strictly between for at least one group.
    """
    own = np.asarray(groups, np.int32)
    sizes = np.bincount(own, minlength=len(capacities)).tolist()
    limits = [take(f"capacities[{g}]", c, integer(0, sizes[g])) for g, c in enumerate(capacities)]
    free = [g for g, limit in enumerate(limits) if 0 < limit < sizes[g]]
    if not free:
        raise ValueError(f"capacities = {limits} allow one set only, must leave a choice in one group")
    full = np.array(limits)[own] == np.array(sizes)[own]

    def best(scores: Array) -> Array:
        members = jnp.asarray(full)
        for g in free:
            members = members | _largest(jnp.where(np.equal(own, g), scores, -jnp.inf), limits[g])
        return members

    def second_best(scores: Array, best: Array) -> Array:
        return functools.reduce(_better, [_swap(scores, best, np.equal(own, g)) for g in free])[1]

    def sets() -> np.ndarray:
        each = [itertools.combinations(np.flatnonzero(np.equal(own, g)).tolist(), c) for g, c in enumerate(limits)]
        return as_sets((sum(chosen, ()) for chosen in itertools.product(*each)), own.size)

    log_size = sum(map(log_binomial, sizes, limits))
    made_of = "partition_matroid", tuple(own.tolist()), tuple(limits)
    return DecisionClass(made_of[0], own.size, sum(limits), log_size, best, second_best, sets, made_of)


@checked
def spanning_trees(num_vertices: NumVertices, edges: Edges) -> DecisionClass:
    """Return the class of all spanning trees of a graph whose edges are the arms; ties go to the lowest-numbered edges.

    Args:
      edges: int[n, 2], concrete; the ends of each edge, with vertices counted from 0. Parallel edges are allowed, loops
        are not; at least two spanning trees.
    """
    ends = np.asarray(edges, np.int32)
    loops = np.flatnonzero(ends[:, 0] == ends[:, 1])
    if loops.size:
        raise ValueError(f"edges[{loops[0]}] joins {ends[loops[0], 0]} to itself, must join two vertices")
    incidence = np.zeros((num_vertices, len(ends)))
    incidence[ends[:, 0], np.arange(len(ends))] = 1
    incidence[ends[:, 1], np.arange(len(ends))] = -1
    reduced = incidence[1:]  # its square submatrices have determinant 0, 1 or -1, and its bases are the trees
    sign, log_size = np.linalg.slogdet(np.matmul(reduced, reduced.T))  # Kirchhoff: the number of spanning trees
    if sign <= 0 or log_size < 0.5:
        trees = "no spanning tree" if sign <= 0 else "one spanning tree only"
        raise ValueError(f"the graph has {trees}, must be connected, with a cycle")

    def best(scores: Array) -> Array:
        """Kruskal's algorithm: edges are added in descending order, and each vertex stores its component."""
        order = jnp.argsort(-scores, stable=True).astype(jnp.int32)

        def join(i: Array, carry: tuple[Array, Array]) -> tuple[Array, Array]:
            component, members = carry
            edge = order[i]
            left, right = component[jnp.asarray(ends)[edge]]
            members = set_at(members, edge, left != right)
            return jnp.where(component == right, left, component), members

        start = jnp.arange(num_vertices, dtype=jnp.int32), jnp.zeros(len(ends), bool)
        return lax.fori_loop(0, len(ends), join, start)[1]

    def second_best(scores: Array, best: Array) -> Array:
        # Each edge is a combination of the tree's edges with coefficients -1, 0 or 1, nonzero along the cycle that it
        # would close.
        matrix = jnp.asarray(reduced, scores.dtype)
        tree = jnp.where(best[None], matrix, 0.0)
        combinations = dot(tree.T, jnp.linalg.solve(dot(tree, tree.T), matrix))
        return _best_exchange(scores, best, jnp.abs(combinations) > 0.5)

    def enumerate() -> np.ndarray:
        chosen = np.array(list(itertools.combinations(range(len(ends)), num_vertices - 1)))
        squares = reduced[:, chosen].transpose(1, 0, 2)
        return as_sets(chosen[np.abs(np.linalg.det(squares)) > 0.5], len(ends))

    made_of = "spanning_trees", num_vertices, *ends.ravel().tolist()
    return DecisionClass(
        made_of[0], len(ends), num_vertices - 1, float(log_size), best, second_best, enumerate, made_of
    )


def _largest(scores: Array, count: int) -> Array:
    """Return bool[n], the `count` largest scores, which are finite; among equal ones the first."""
    arms = jnp.arange(scores.shape[0], dtype=jnp.int32)
    if count <= _ONE_BY_ONE:
        left = lax.fori_loop(0, count, lambda _, left: jnp.where(arms == _place(left), -jnp.inf, left), scores)
        return (left == -jnp.inf) & (scores > -jnp.inf)
    least = lax.top_k(scores, count)[0][-1]
    above, level = scores > least, scores == least
    room = count - jnp.sum(above, dtype=jnp.int32)
    return above | (level & (jnp.cumsum(level, dtype=jnp.int32) <= room))


def _place(scores: Array) -> Array:
    """Return the lowest index of the largest score by two plain reductions, because argmax is slow inside a loop."""
    arms = jnp.arange(scores.shape[0], dtype=jnp.int32)
    return jnp.min(jnp.where(scores == jnp.max(scores), arms, scores.shape[0] - 1))


def _swap(scores: Array, members: Array, group: np.ndarray) -> tuple[Array, Array]:
    """Return the gain of the best exchange within a group, and the members after it."""
    arms = jnp.arange(scores.shape[0], dtype=jnp.int32)
    out = jnp.where(members & group, -scores, -jnp.inf)
    new = jnp.where(~members & group, scores, -jnp.inf)
    return jnp.max(new) + jnp.max(out), members ^ ((arms == _place(out)) | (arms == _place(new)))


def _better(one: tuple[Array, Array], other: tuple[Array, Array]) -> tuple[Array, Array]:
    """Return the exchange with the larger gain; the first one if tied."""
    return jnp.maximum(one[0], other[0]), jnp.where(other[0] > one[0], other[1], one[1])


def _best_exchange(scores: Array, members: Array, allowed: Array) -> Array:
    """Return the members after the exchange that loses least; allowed[i, j] means that j may replace i."""
    allowed = allowed & members[:, None] & ~members[None]
    change = jnp.where(allowed, jnp.expand_dims(scores, 0) - jnp.expand_dims(scores, 1), -jnp.inf)
    place = argmax(change.reshape(-1))
    arms = jnp.arange(scores.shape[0], dtype=jnp.int32)
    size = scores.shape[0]
    return members ^ ((arms == place // size) | (arms == place % size))


def as_sets(choices: Iterable[Sequence[int] | np.ndarray], num_arms: int) -> np.ndarray:
    """Return bool[K, num_arms], the sets with the given arms, in lexicographic order."""
    rows = sorted(tuple(sorted(int(i) for i in chosen)) for chosen in choices)
    sets = np.zeros((len(rows), num_arms), bool)
    for row, chosen in zip(sets, rows, strict=True):
        row[list(chosen)] = True
    return sets


def log_binomial(n: int, k: int) -> float:
    """Return the log of the number of sets of k out of n."""
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
