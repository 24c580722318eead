"""Decision classes that are not matroids: s-t paths of a directed acyclic graph, and assignments.

Kuroki, Xu, Miyauchi, Honda and Sugiyama (2020), Appendix A.
"""

import itertools
import math
from collections.abc import Callable
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxbandit.base.arguments import Count
from jaxbandit.base.calls import checked
from jaxbandit.base.parameters import Arg
from jaxbandit.support.domains import integer
from jaxbandit.support.numerics import argmax, get_at, set_at
from jaxbandit.support.types import Array
from jaxbandit.theory.solvers.decision_classes import DecisionClass, Edges, NumVertices, as_sets
from jaxbandit.theory.solvers.hungarian import cheapest_assignment

Vertex = Annotated[int, Arg(lambda given: integer(0, given["num_vertices"] - 1))]
Columns = Annotated[int, Arg(lambda given: integer(max(given["rows"], 2)))]


@checked
def dag_paths(num_vertices: NumVertices, edges: Edges, source: Vertex, target: Vertex) -> DecisionClass:
    """Return the class of all paths from source to target of a directed acyclic graph whose edges are the arms.

    The indicators of the paths span fewer than n dimensions, so use a basis of their span (solvers/span.py).

    Args:
      edges: int[n, 2], concrete; tail and head of each edge, with vertices counted from 0. Parallel edges are allowed,
        cycles are not.
    """
    ends = np.asarray(edges, np.int32)
    order = _topological(num_vertices, ends)
    if order is None:
        raise ValueError("edges have a directed cycle, must have none")
    counts = [0] * num_vertices  # paths from source, exact
    counts[source] = 1
    lengths: list[set[int]] = [set() for _ in counts]  # of the paths from source
    lengths[source].add(0)
    for edge in order:
        tail, head = ends[edge]
        counts[head] += counts[tail]
        lengths[head] |= {length + 1 for length in lengths[tail]}
    if source == target or counts[target] < 2:
        paths = 0 if source == target else counts[target]
        raise ValueError(f"{paths} paths lead from {source} to {target}, must be at least 2")
    rank = next(iter(lengths[target])) if len(lengths[target]) == 1 else None
    tails, heads = ends[order].T
    num_arms = len(ends)

    def best(scores: Array) -> Array:
        start = jnp.full(num_vertices, -jnp.inf, scores.dtype).at[source].set(0.0)

        def extend(i: Array, carry: tuple[Array, Array]) -> tuple[Array, Array]:
            value, last = carry
            edge, tail, head = jnp.asarray(order)[i], jnp.asarray(tails)[i], jnp.asarray(heads)[i]
            longer = get_at(value, tail) + get_at(scores, edge)
            better = longer > get_at(value, head)
            value = set_at(value, head, jnp.where(better, longer, get_at(value, head)))
            return value, set_at(last, head, jnp.where(better, edge, get_at(last, head)))

        _, last = lax.fori_loop(0, num_arms, extend, (start, jnp.full(num_vertices, -1, jnp.int32)))

        def back(_: int, carry: tuple[Array, Array]) -> tuple[Array, Array]:
            vertex, members = carry
            edge = get_at(last, vertex)
            going = (vertex != source) & (edge >= 0)
            edge = jnp.where(going, edge, 0)
            members = members | (going & (jnp.arange(num_arms, dtype=jnp.int32) == edge))
            return jnp.where(going, jnp.asarray(ends[:, 0])[edge], vertex), members

        return lax.fori_loop(0, num_vertices, back, (jnp.int32(target), jnp.zeros(num_arms, bool)))[1]

    def enumerate() -> np.ndarray:
        paths, stack = [], [(source, ())]
        while stack:
            vertex, path = stack.pop()
            if vertex == target:
                paths.append(path)
            else:
                stack += [(int(ends[e, 1]), (*path, int(e))) for e in np.flatnonzero(ends[:, 0] == vertex)]
        return as_sets(paths, num_arms)

    length = min(num_vertices - 1, num_arms)
    second, log_size = _by_exclusion(best, length), math.log(counts[target])
    made_of = "dag_paths", num_vertices, source, target, *ends.ravel().tolist()
    return DecisionClass(made_of[0], num_arms, rank, log_size, best, second, enumerate, made_of)


@checked
def assignment(rows: Count, columns: Columns) -> DecisionClass:
    """The class of all assignments of a distinct column to each row; arm i * columns + j assigns column j to row i."""

    def best(scores: Array) -> Array:
        # A forbidden pair has score -inf. A finite cost that exceeds the gain of any exchange keeps the potentials of
        # the Hungarian method finite.
        costs = -scores.reshape(rows, columns)
        allowed = costs < jnp.inf
        spread = jnp.max(jnp.where(allowed, jnp.abs(costs), 0.0))
        costs = jnp.where(allowed, costs, 4 * (rows + 1) * (spread + 1))
        return (cheapest_assignment(costs)[None] == jnp.arange(rows, dtype=jnp.int32)[:, None]).reshape(-1)

    def enumerate() -> np.ndarray:
        first = np.arange(rows) * columns
        return as_sets([first + p for p in itertools.permutations(range(columns), rows)], rows * columns)

    log_size = math.lgamma(columns + 1) - math.lgamma(columns - rows + 1)
    second, made_of = _by_exclusion(best, rows), ("assignment", rows, columns)
    return DecisionClass("assignment", rows * columns, rows, log_size, best, second, enumerate, made_of)


def _by_exclusion(best: Callable[[Array], Array], length: int) -> Callable[[Array, Array], Array]:
    """A second-best function from an oracle that accepts -inf for a forbidden arm; sets have at most `length` arms."""

    def second_best(scores: Array, members: Array) -> Array:
        (arms,) = jnp.nonzero(members, size=length)
        arms = jnp.where(jnp.arange(length) < jnp.sum(members), arms, arms[0]).astype(jnp.int32)

        def without(arm: Array) -> tuple[Array, Array]:
            others = best(set_at(scores, arm, jnp.asarray(-jnp.inf, scores.dtype)))
            lacks_it = ~get_at(others, arm) & jnp.any(others)
            return others, jnp.where(lacks_it, jnp.sum(jnp.where(others, scores, 0.0)), -jnp.inf)

        others, values = jax.vmap(without)(arms)
        return others[argmax(values)]

    return second_best


def _topological(num_vertices: int, ends: np.ndarray) -> np.ndarray | None:
    """Return the edges ordered with tails before heads, or None if there is a cycle."""
    rank, waiting = np.zeros(num_vertices, int), np.bincount(ends[:, 1], minlength=num_vertices)
    ready, seen = list(np.flatnonzero(waiting == 0)), 0
    while ready:
        vertex = ready.pop()
        rank[vertex] = seen
        seen += 1
        for head in ends[ends[:, 0] == vertex, 1]:
            waiting[head] -= 1
            if waiting[head] == 0:
                ready.append(head)
    return np.argsort(rank[ends[:, 0]], kind="stable").astype(np.int32) if seen == num_vertices else None
