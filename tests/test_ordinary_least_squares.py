"""Small dense algebra, written out for few dimensions and looped for many: both against NumPy."""

import jax
import numpy as np
import pytest

from jaxbandit.support import numerics
from jaxbandit.theory.estimators import ordinary_least_squares as least_squares

pytestmark = pytest.mark.quickly_compiled


@pytest.fixture(autouse=True)
def _x64():
    with jax.enable_x64(True):
        yield


@pytest.mark.parametrize("dim", [3, numerics.UNROLLED, numerics.UNROLLED + 1, 25])
def test_inverse_pivots_and_product(dim):
    rng = np.random.default_rng(dim)
    x = rng.normal(size=(dim + 3, dim))
    weights = rng.integers(1, 10**6, dim + 3) * 1.0

    @jax.jit  # operation by operation, each would be compiled
    def algebra(x, weights):
        matrix = least_squares.design_matrix(x, weights)
        return (matrix, least_squares.inverse(matrix), least_squares.pivots(matrix), least_squares.product(x, matrix))

    matrix, inverse, pivots, product = map(np.asarray, algebra(x, weights))
    size = np.linalg.cond(matrix) * dim * np.finfo(float).eps  # what rounding allows
    np.testing.assert_allclose(inverse @ matrix, np.eye(dim), atol=8 * size)
    assert (inverse == inverse.T).all()
    # Without exchanges the pivots are the squared diagonal of Cholesky's factor.
    factor = np.linalg.cholesky(matrix)
    np.testing.assert_allclose(pivots, np.diag(factor) ** 2, rtol=8 * size)
    np.testing.assert_allclose(product, x @ matrix, rtol=1e-11)


def test_an_indefinite_matrix_has_a_negative_pivot():
    matrix = np.eye(12)
    matrix[10, 11] = matrix[11, 10] = 2.0
    assert (np.asarray(jax.jit(least_squares.pivots)(matrix)) > 0).tolist() == [True] * 11 + [False]
