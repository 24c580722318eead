"""How far a set may be ahead: the maximum over M of theta(M) - theta(B) + r times the norm of chi_M - chi_B in W.

This is problem (5) of Kuroki, Xu, Miyauchi, Honda and Sugiyama (2020), for sets of one size; maximizing the norm is
NP-hard, so it is bounded from both sides by the linear oracle of a decision class (docs/mathematics.md).

`family` is a class of sets of one size, static; `estimate` is float[n], `matrix` float[n, n], symmetric positive
definite, `radius` float[] >= 0, and `best` bool[n], a best set of the family for the estimate; all traced.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxbandit.support.numerics import argmax, matrix_vector, product
from jaxbandit.support.types import Array
from jaxbandit.theory.solvers.decision_classes import DecisionClass, challenger

DOUBLINGS = 5  # number of squarings of the matrix whose norm bounds the largest eigenvalue
FINENESS = 2**14  # resolution of the scores used to search for sets; bounds are not rounded like this
SCALES = 32  # number of values of s for the bound; the grid costs at most 0.2 % of the norm for a twentyfold range


class Rival(NamedTuple):
    """A set other than the best, and how far it may be ahead."""

    members: Array  # bool[n]
    lead: Array  # float[], may be negative


def lead_bound(family: DecisionClass, estimate: Array, matrix: Array, radius: Array, best: Array) -> Array:
    """Return a number float[] that the lead of no set exceeds, up to rounding."""
    centered = _center(matrix)
    own = jnp.diagonal(centered)
    root = jnp.sqrt(own)
    widths = largest_eigenvalue_bound(centered / (root[:, None] * root[None])) * own
    scales = _scales(family, widths, best, SCALES)

    def bound(scale: Array) -> Array:
        value = challenger(family, estimate, radius / (2 * scale) * widths, best).value
        return value + radius * scale / 2

    return jnp.min(jax.vmap(bound)(scales)) - jnp.sum(jnp.where(best, estimate, 0.0))


def starts(family: DecisionClass, estimate: Array, matrix: Array, radius: Array, best: Array, count: int) -> Array:
    """Return `count` >= 2 sets to climb from, bool[count, n], none of them `best`: one for each s."""
    own = jnp.diagonal(_center(matrix))

    def start(scale: Array) -> Array:
        scores = coarse(jnp.concatenate([estimate, radius / (2 * scale) * own]))
        return challenger(family, scores[: family.num_arms], scores[family.num_arms :], best).members

    return jax.vmap(start)(_scales(family, own, best, count))


def climb(
    family: DecisionClass, estimate: Array, matrix: Array, radius: Array, best: Array, starts: Array, steps: int
) -> Rival:
    """Return the set with the largest lead that `steps` tangent steps reach from `starts`, bool[m, n]."""

    def apart(members: Array) -> tuple[Array, Array, Array]:
        """Return y, W y and the norm of y in W."""
        y = members.astype(estimate.dtype) - best.astype(estimate.dtype)
        image = matrix_vector(matrix, y)
        return y, image, jnp.sqrt(jnp.sum(y * image))

    def rise(members: Array) -> Rival:
        def step(_: int, members: Array) -> Array:
            image, norm = apart(members)[1:]
            higher = family.best(coarse(estimate + radius / norm * image))
            return jnp.where(jnp.all(higher == best), members, higher)

        members = lax.fori_loop(0, steps, step, members)
        y, _, norm = apart(members)
        return Rival(members, jnp.sum(y * estimate) + radius * norm)

    rivals = jax.vmap(rise)(starts)
    first = argmax(coarse(rivals.lead))
    return Rival(lax.dynamic_index_in_dim(rivals.members, first, 0, keepdims=False), jnp.max(rivals.lead))


def largest_eigenvalue_bound(matrix: Array) -> Array:
    """Return a number float[] that no eigenvalue of a symmetric positive semidefinite matrix exceeds, up to rounding.

    It is (tr M^64)^(1/64), at most n^(1/64) times the largest eigenvalue (1.08 at n = 111).
    """
    scale = jnp.sqrt(jnp.sum(matrix * matrix))
    power, logarithm = matrix / scale, jnp.log(scale)
    for doubling in range(1, DOUBLINGS + 1):
        power = product(power, power)
        norm = jnp.sqrt(jnp.sum(power * power))
        power, logarithm = power / norm, logarithm + jnp.log(norm) / 2**doubling
    return jnp.exp(logarithm)


def coarse(scores: Array) -> Array:
    """Return the scores rounded to units of 1 / FINENESS of the largest absolute score, so that near ties become ties.

    Designs with few pulls are symmetric, and rounding errors, which may differ by one unit in the last place between
    positions in a batch, must not decide which set is chosen.
    """
    largest = jnp.max(jnp.abs(scores))
    return jnp.round(scores * (FINENESS / jnp.where(largest > 0, largest, 1.0)))


def _center(matrix: Array) -> Array:
    """Return P W P, where P is the projector orthogonal to 1."""
    sums = jnp.mean(matrix, 1)
    return matrix - sums[:, None] - sums[None] + jnp.mean(sums)


def _scales(family: DecisionClass, widths: Array, best: Array, count: int) -> Array:
    """Return values from the norm of the smallest exchange to that of a disjoint set, float[count]."""
    assert family.rank is not None  # sets of one size
    least = jnp.sqrt(jnp.min(jnp.where(best, widths, jnp.inf)) + jnp.min(jnp.where(best, jnp.inf, widths)))
    most = jnp.sqrt(2 * min(family.rank, family.num_arms - family.rank) * jnp.max(widths))
    powers = np.arange(count) / (count - 1)
    return least * (most / least) ** powers
