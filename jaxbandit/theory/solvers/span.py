"""Coordinates of the span of features in which their Gram matrix is the identity: X = rows diag(singular) right.

Nothing in them depends on the conditioning of the features, which need not span R^d.
"""

from typing import NamedTuple

import jax.numpy as jnp

from jaxbandit.support.numerics import dot
from jaxbandit.support.types import Array


class Span(NamedTuple):
    """The singular value decomposition of features float[K, d], with r = min(K, d), truncated at the rank."""

    rows: Array  # float[K, r], rows' rows is the identity on the kept coordinates and 0 elsewhere
    singular: Array  # float[r], 1 where not kept
    right: Array  # float[r, d]
    nonzero: Array  # bool[r]


def span(features: Array) -> Span:
    """Return the coordinates of the span of features, float[K, d]."""
    left, singular, right = jnp.linalg.svd(features, full_matrices=False)
    nonzero = singular > singular[0] * (max(features.shape) * jnp.finfo(features.dtype).eps)
    return Span(jnp.where(nonzero[None], left, 0.0), jnp.where(nonzero, singular, 1.0), right, nonzero)


def coordinates(basis: Span, vectors: Array) -> tuple[Array, Array]:
    """Return float[P, r], the coordinates of vectors float[P, d], and bool[P], whether each vector is in the span."""
    along = jnp.where(basis.nonzero[None], dot(vectors, basis.right.T), 0.0)
    rest = jnp.sum((vectors - dot(along, basis.right)) ** 2, -1)
    tolerance = jnp.finfo(vectors.dtype).eps ** 0.8
    return along / basis.singular[None], rest <= tolerance * jnp.sum(vectors**2, -1)
