"""C of linear bandits: the examples of the OAM paper, closed forms, contexts, masks; refusals."""

import jax
import numpy as np
import pytest

from jaxbandit.theory.bounds.linear_regret import linear_regret_constant, minimax_linear_regret

pytestmark = pytest.mark.slow

EXACT = 1e-6  # the gap that the solver promises is 1e-7


def section_5_1(u):
    return np.array([[1, 0], [0, 1], [1 - u, 5 * u]])


@pytest.mark.quickly_compiled
def test_orthonormal_basis():
    theta = np.array([1.0, 0.9, 0.5, 0.3])
    found = linear_regret_constant(np.eye(4), theta)
    # Arm i is measured by itself alone: T = 2 / gap^2.
    assert np.isclose(found.value, np.sum(2 / (1 - theta[1:])), rtol=EXACT)
    assert found.bound <= found.value <= found.bound * (1 + EXACT) and found.value.dtype == np.float64


@pytest.mark.quickly_compiled
def test_optimal_arms_that_span():
    sets = np.array([[[1.0, 0], [0.2, 0.1]], [[0, 1], [0, 0.5]]])  # one optimal arm a context
    assert linear_regret_constant(sets, np.array([1.0, 0.5])) == (0, 0)


@pytest.mark.parametrize(("u", "constant"), [(0.1, 20), (0.2, 10), (0.01, 50)])
def test_section_5_1(u, constant):
    # In dimension 1 by hand: the least of gap_y / z_y^2 over y, times 2 max z^2 / gap^2.
    gaps, rest = np.array([1, u]), np.array([1, 5 * u])
    assert np.isclose(2 * np.max((rest / gaps) ** 2) * np.min(gaps / rest**2), constant, rtol=1e-12)
    for value in linear_regret_constant(section_5_1(u), np.array([1.0, 0])):
        assert np.isclose(value, constant, rtol=EXACT)


@pytest.mark.quickly_compiled
def test_section_5_2_with_contexts_and_masks():
    sets = np.array([[[1, 0, 0], [0, 1, 0], [0.9, 0.5, 0]], [[0, 1, 0], [0, 0, 1], [0, 0.5, 0.9]]])
    theta = np.array([1.0, 0, 1])
    assert np.isclose(linear_regret_constant(sets, theta).value, 20, rtol=EXACT)
    # Without the cheap informant of either context only the second arm is left, with a gap of 1.
    mask = np.array([[True, True, False]] * 2)
    mask[1] = [True, True, False]
    assert np.isclose(linear_regret_constant(sets, theta, mask=mask).value, 2, rtol=EXACT)
    with jax.enable_x64(True):
        traced = jax.jit(lambda sets, theta: linear_regret_constant(sets, theta))(sets, theta)
    assert np.isclose(traced.value, 20, rtol=EXACT)


def test_minimax():
    np.testing.assert_array_equal(minimax_linear_regret(3, [0, 4, 100]), [0, 6, 30])


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ((np.eye(2), [1.0, np.nan]), r"theta\[1\] = nan, must be in \(-inf, inf\)"),
        ((np.eye(2), [1.0]), "theta has 1 entries, must have one for each of 2 dimensions"),
        (([1.0, 2.0], [1.0]), r"action_sets has shape \(2,\), must have 2 axes"),
        ((np.eye(2), [1.0, 0], [True]), r"mask has shape \(1,\), must have \(2,\)"),
        ((np.eye(2), [1.0, 0], [False, False]), "mask leaves a context without an arm, must leave one or more"),
    ],
)
def test_refuses(arguments, line):
    action_sets, theta, *mask = arguments
    with pytest.raises(ValueError, match=f"^linear_regret_constant: {line}$"):
        linear_regret_constant(action_sets, theta, mask=mask[0] if mask else None)
