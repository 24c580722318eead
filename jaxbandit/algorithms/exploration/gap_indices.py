"""From gap indices to decisions: candidates J, ambiguous arm b in J, challenger c outside J, and the stopping rule.

Reda, Kaufmann and Delahaye-Duriez (2021), Algorithm 1 and Table 1. B_ij is an upper bound on mu_i - mu_j. Sorting would
be slow when thousands of runs step together.
"""

from typing import Literal, NamedTuple

import jax.numpy as jnp
from jax import lax

from jaxbandit.support.numerics import argmax
from jaxbandit.support.types import Array

Candidates = Literal["means", "ugape"]
Leader = Literal["lucb", "ugape"]
Stop = Literal["lucb", "ugape"]


class Decision(NamedTuple):
    """The decision that the indices of one round imply."""

    inside: Array  # bool[num_arms], the candidates J
    leader: Array  # int32[], b, the most ambiguous candidate
    challenger: Array  # int32[], c, the arm outside J with the largest B_cb
    bound: Array  # float[], the quantity that the stopping rule compares with epsilon


def first(values: Array, priority: Array | None) -> Array:
    """Return the index of the largest entry, int32[]; ties go to the lowest index, or to the highest priority."""
    if priority is None:
        return argmax(values)
    return argmax(jnp.where(values == jnp.max(values), priority, -1))


def ranks(values: Array, priority: Array | None) -> Array:
    """Return how many entries precede each one in descending order, int32[num_arms], with ties as in `first`."""
    order = -jnp.arange(values.shape[0], dtype=jnp.int32) if priority is None else priority
    before = (values[None] > values[:, None]) | ((values[None] == values[:, None]) & (order[None] > order[:, None]))
    return jnp.sum(before, 1, dtype=jnp.int32)


def best_first(values: Array, m: int, priority: Array | None) -> Array:
    """Return the m entries with the largest values, int32[m], the largest first, with ties as in `first`."""
    entries, places = jnp.arange(values.shape[0], dtype=jnp.int32), jnp.arange(m, dtype=jnp.int32)
    at_place = ranks(values, priority)[None] == places[:, None]  # one True a row
    return jnp.sum(jnp.where(at_place, entries[None], 0), 1, dtype=jnp.int32)


def largest_others(matrix: Array, m: int) -> Array:
    """Return the m-th largest entry of each row j of a square matrix without its diagonal, float[num_arms]."""
    num_arms = matrix.shape[0]
    sign, place = (1, m) if 2 * m <= num_arms else (-1, num_arms - m)  # counted from the nearer end
    entries = jnp.where(jnp.eye(num_arms, dtype=bool), -jnp.inf, sign * matrix)
    value = jnp.max(entries, 1)
    for _ in range(place - 1):
        count = jnp.sum(entries >= value[:, None], 1, dtype=jnp.int32)
        following = jnp.max(jnp.where(entries < value[:, None], entries, -jnp.inf), 1)
        value = jnp.where(count >= place, value, following)
    return sign * value


def decide_best(means: Array, column: Array, leader: Array, priority: Array | None) -> Decision:
    """Return the decision for m = 1 where J holds the arm with the largest mean; one column of indices suffices.

    Args:
      column: B_ib for all i, float[num_arms].
      leader: b = argmax of means, int32[].
    """
    inside = jnp.arange(means.shape[0], dtype=jnp.int32) == leader
    outside = jnp.where(inside, -jnp.inf, column)
    return Decision(inside, leader, first(outside, priority), jnp.max(outside))


def decide(
    means: Array, bounds: Array, m: int, candidates: Candidates, leader: Leader, stop: Stop, priority: Array | None
) -> Decision:
    """Return the decision from all indices.

    Args:
      bounds: float[num_arms, num_arms] with B_ij at [j, i].
    """
    others = largest_others(bounds, m) if "ugape" in (candidates, leader, stop) else means
    inside = ranks(means if candidates == "means" else -others, priority) < m
    reached = jnp.max(jnp.where(inside[None], -jnp.inf, bounds), 1)
    b = first(jnp.where(inside, reached if leader == "lucb" else others, -jnp.inf), priority)
    outside = jnp.where(inside, -jnp.inf, lax.dynamic_index_in_dim(bounds, b, 0, keepdims=False))
    bound = jnp.max(outside if stop == "lucb" else jnp.where(inside, others, -jnp.inf))
    return Decision(inside, b, first(outside, priority), bound)
