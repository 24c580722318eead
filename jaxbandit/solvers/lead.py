"""How far a set may be ahead of another: max over M of theta(M) - theta(B) + r ||chi_M - chi_B||_W, sets of one size.

The problem (5) of Kuroki, Xu, Miyauchi, Honda, Sugiyama (2019), whose norm is NP-hard to maximise. Here from both
sides, by the linear oracle of a decision class alone.

From above. y = chi_M - chi_B is orthogonal to 1, so that y' W y = y' W~ y with W~ the centred matrix. With D its
diagonal and mu the largest eigenvalue of D^-1/2 W~ D^-1/2, y' W~ y <= mu y' D y, the sum of q_i = mu D_ii over the arms
in which M and B differ. Then r ||y|| <= r (q(y) / s + s) / 2 for every s > 0, linear in y: one call of the oracle
bounds all sets, and the least of several s is a bound too. It is nearly tight for W = a I + b 1 1'.

From below. What is maximised is convex in y, so that the best set for its tangent at M is as far ahead as M or farther,
but for the fineness of scores.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxbandit.numerics import argmax, matrix_vector, product
from jaxbandit.solvers.decision_classes import DecisionClass, challenger
from jaxbandit.types import Array

DOUBLINGS = 5  # of the power whose norm bounds the largest eigenvalue
FINENESS = 2**14  # of scores by which sets are searched for; no bound is rounded so
SCALES = 32  # of s, for the bound; the least of them costs 0.2 % of r ||y|| at most where the range is twentyfold


class Rival(NamedTuple):
    """A set other than the best, and by how much it may be ahead."""

    members: Array  # bool[n]
    lead: Array  # float[], may be negative


def lead_bound(family: DecisionClass, estimate: Array, matrix: Array, radius: Array, best: Array) -> Array:
    """Return a number float[] that no set's lead exceeds, up to rounding.

    Args:
      family: sets of one size, static.
      estimate: float[n], traced.
      matrix: float[n, n], traced, symmetric positive definite.
      radius: float[] >= 0, traced.
      best: bool[n], traced, a best set of the family for the estimate.
    """
    centred = _centred(matrix)
    own = jnp.diagonal(centred)
    root = jnp.sqrt(own)
    widths = largest_eigenvalue_bound(centred / (root[:, None] * root[None])) * own
    scales = _scales(family, widths, best, SCALES)

    def bound(scale: Array) -> Array:
        value = challenger(family, estimate, radius / (2 * scale) * widths, best).value
        return value + radius * scale / 2

    return jnp.min(jax.vmap(bound)(scales)) - jnp.sum(jnp.where(best, estimate, 0.0))


def starts(family: DecisionClass, estimate: Array, matrix: Array, radius: Array, best: Array, count: int) -> Array:
    """Return `count` sets to climb from, bool[count, n], none of them `best`: the bound's, each for its own s.

    Args:
      count: static, >= 2.
      family, estimate, matrix, radius, best: as of lead_bound.
    """
    own = jnp.diagonal(_centred(matrix))

    def start(scale: Array) -> Array:
        scores = coarse(jnp.concatenate([estimate, radius / (2 * scale) * own]))
        return challenger(family, scores[: family.num_arms], scores[family.num_arms :], best).members

    return jax.vmap(start)(_scales(family, own, best, count))


def climb(
    family: DecisionClass, estimate: Array, matrix: Array, radius: Array, best: Array, starts: Array, steps: int
) -> Rival:
    """Return the set with the largest lead of those that `steps` tangent steps, static, >= 0, reach from `starts`.

    Args:
      starts: bool[m, n], traced, sets of the family other than best.
      family, estimate, matrix, radius, best: as of lead_bound.
    """

    def apart(members: Array) -> tuple[Array, Array, Array]:
        """y, W y and ||y||."""
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

    found = jax.vmap(rise)(starts)
    first = argmax(coarse(found.lead))
    return Rival(lax.dynamic_index_in_dim(found.members, first, 0, keepdims=False), jnp.max(found.lead))


def largest_eigenvalue_bound(matrix: Array) -> Array:
    """Return a number float[] that no eigenvalue of a symmetric positive semidefinite matrix exceeds, up to rounding.

    (tr M^64)^(1/64), at most n^(1/64) times the largest: 1.08 at n = 111. No call of LAPACK (CONTRIBUTING.md: traps).
    """
    scale = jnp.sqrt(jnp.sum(matrix * matrix))
    power, logarithm = matrix / scale, jnp.log(scale)
    for doubling in range(1, DOUBLINGS + 1):
        power = product(power, power)
        norm = jnp.sqrt(jnp.sum(power * power))
        power, logarithm = power / norm, logarithm + jnp.log(norm) / 2**doubling
    return jnp.exp(logarithm)


def coarse(scores: Array) -> Array:
    """Scores in whole units of 1 / FINENESS of the largest, in size: what ties but for rounding ties.

    Designs of few pulls are symmetrical, and rounding, which may differ by an ulp between places of a batch, must
    choose no set. Sums of such scores are exact.
    """
    largest = jnp.max(jnp.abs(scores))
    return jnp.round(scores * (FINENESS / jnp.where(largest > 0, largest, 1.0)))


def _centred(matrix: Array) -> Array:
    """P W P with P the projector orthogonal to 1."""
    sums = jnp.mean(matrix, 1)
    return matrix - sums[:, None] - sums[None] + jnp.mean(sums)


def _scales(family: DecisionClass, widths: Array, best: Array, count: int) -> Array:
    """From the norm of the nearest exchange to that of a set with nothing in common, float[count]."""
    assert family.rank is not None  # sets of one size
    least = jnp.sqrt(jnp.min(jnp.where(best, widths, jnp.inf)) + jnp.min(jnp.where(best, jnp.inf, widths)))
    most = jnp.sqrt(2 * min(family.rank, family.num_arms - family.rank) * jnp.max(widths))
    powers = np.arange(count) / (count - 1)
    return least * (most / least) ** powers
