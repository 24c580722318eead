"""Decision classes: families of sets of arms with an exact oracle for linear scores of any sign.

Kuroki, Xu, Miyauchi, Honda, Sugiyama (2019), Appendices A and B: what ICB needs of a class is the best set, and the
best one other than a given best set. Here the bases of matroids, where greedy is exact and the second best is one
exchange away: size-k sets, partition matroids, spanning trees. Paths and assignments are in decision_paths.py.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxbandit import checks
from jaxbandit.numerics import argmax
from jaxbandit.types import Array


class DecisionClass(NamedTuple):
    """A family of at least two sets of arms, none of them part of another."""

    name: str
    num_arms: int
    log_size: float  # log K, K the number of sets
    best: Callable[[Array], Array]  # scores float[n] -> bool[n], a set of largest total score
    second_best: Callable[[Array, Array], Array]  # scores, a best set -> bool[n], a best one of the other sets
    enumerate: Callable[[], np.ndarray]  # bool[K, n], every set, in lexicographic order of members; small K only


class Challenger(NamedTuple):
    """The set that is hardest to tell from the empirical best one."""

    members: Array  # bool[n], never the best set itself
    value: Array  # float[], its estimate plus the widths of the arms in which it differs


def challenger(decision_class: DecisionClass, estimate: Array, widths: Array, best: Array) -> Challenger:
    """Return the set M != best with the largest estimate(M) + sum of widths over the arms in M or best, not in both.

    Problem P1 of ICB (Algorithm 4): linear with scores estimate - widths on best, estimate + widths off it, up to the
    constant widths(best), so that the class's oracle solves it exactly.

    Args:
      decision_class: static.
      estimate: float[n], traced.
      widths: float[n] >= 0, traced.
      best: bool[n], traced, a set of the class.
    """
    scores = jnp.where(best, estimate - widths, estimate + widths)
    first = decision_class.best(scores)
    # If best comes out, it is best for these scores, and second_best may start from it.
    members = jnp.where(jnp.all(first == best), decision_class.second_best(scores, best), first)
    value = jnp.sum(jnp.where(members, estimate, 0.0)) + jnp.sum(jnp.where(members != best, widths, 0.0))
    return Challenger(members, value)


def top_k(num_arms: int, k: int) -> DecisionClass:
    """All sets of k of the arms; ties go to the lowest arms.

    Args:
      num_arms: static, >= 2.
      k: static, in [1, num_arms - 1].

    Raises:
      ValueError: an argument out of range.
    """
    checks.integer("top_k", "num_arms", num_arms, 2)
    checks.integer("top_k", "k", k, 1, num_arms - 1)
    return partition_matroid([0] * num_arms, [k])._replace(name="top_k")


def partition_matroid(groups: Sequence[int] | np.ndarray, capacities: Sequence[int] | np.ndarray) -> DecisionClass:
    """All sets with exactly capacities[g] arms of each group g; ties go to the lowest arms.

    Args:
      groups: int[n], concrete, the group of each arm, from 0.
      capacities: int[G], concrete, between 0 and the group's size, in one group at least strictly between.

    Raises:
      ValueError: an argument out of range.
    """
    where = "partition_matroid"
    own: np.ndarray = checks.array(where, "groups", groups, low=0.0, high=len(capacities) - 1).astype(np.int32)
    sizes = np.bincount(own, minlength=len(capacities)).tolist()
    limits = [checks.integer(where, f"capacities[{g}]", c, 0, sizes[g]) for g, c in enumerate(capacities)]
    free = [g for g, limit in enumerate(limits) if 0 < limit < sizes[g]]
    if not free:
        raise ValueError(f"{where}: capacities = {limits} leave one set only, must leave a choice in one group")
    full = np.array(limits)[own] == np.array(sizes)[own]
    same = np.equal.outer(own, own)

    def best(scores: Array) -> Array:
        members = jnp.asarray(full)
        for g in free:
            members = members | _largest(jnp.where(np.equal(own, g), scores, -jnp.inf), limits[g])
        return members

    def second_best(scores: Array, best: Array) -> Array:
        return _best_exchange(scores, best, jnp.asarray(same))

    def choices() -> Iterable[tuple[int, ...]]:
        each = [itertools.combinations(np.flatnonzero(np.equal(own, g)).tolist(), c) for g, c in enumerate(limits)]
        return (sum(chosen, ()) for chosen in itertools.product(*each))

    log_size = sum(map(_log_binomial, sizes, limits))
    return DecisionClass(where, own.size, log_size, best, second_best, lambda: _as_sets(choices(), own.size))


def _largest(scores: Array, count: int) -> Array:
    """bool[n], the `count` largest scores, of equal ones the first."""
    least = lax.top_k(scores, count)[0][-1]
    above, level = scores > least, scores == least
    room = count - jnp.sum(above, dtype=jnp.int32)
    return above | (level & (jnp.cumsum(level, dtype=jnp.int32) <= room))


def _best_exchange(scores: Array, members: Array, allowed: Array) -> Array:
    """The members after the one exchange that loses least; allowed[i, j]: j may take the place of i."""
    allowed = allowed & members[:, None] & ~members[None]
    change = jnp.where(allowed, jnp.expand_dims(scores, 0) - jnp.expand_dims(scores, 1), -jnp.inf)
    place = argmax(change.reshape(-1))
    arms = jnp.arange(scores.shape[0], dtype=jnp.int32)
    size = scores.shape[0]
    return members ^ ((arms == place // size) | (arms == place % size))


def _as_sets(choices: Iterable[tuple[int, ...]], num_arms: int) -> np.ndarray:
    rows = sorted(tuple(sorted(int(i) for i in chosen)) for chosen in choices)
    sets = np.zeros((len(rows), num_arms), bool)
    for row, chosen in zip(sets, rows, strict=True):
        row[list(chosen)] = True
    return sets


def _log_binomial(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
