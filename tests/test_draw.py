"""`jb.draw`: the arm at a level of the cumulative distribution, and its probability."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxbandit as jb

ALMOST_ONE = np.float32(1 - 2.0**-24)  # the largest number that jax.random.uniform may return


def draw(u, probabilities):
    choice = jb.draw(jnp.float32(u), jnp.asarray(probabilities, jnp.float32))
    return int(choice.action), float(choice.info.probability)


@pytest.mark.parametrize("probabilities", [[0.1, 0.2, 0.7], [0.5, 0, 0.5], [0, 0, 1], [1], [0, 1, 0]])
def test_each_arm_is_drawn_at_as_many_levels_as_its_probability_says(probabilities):
    levels = (np.arange(1000, dtype=np.float32) + 0.5) / 1000
    drawn = jax.vmap(jb.draw, (0, None))(levels, jnp.asarray(probabilities, jnp.float32))
    assert np.bincount(drawn.action, minlength=len(probabilities)) / 1000 == pytest.approx(probabilities, abs=0.0011)
    assert drawn.info.probability.tolist() == np.float32(probabilities)[drawn.action].tolist()


@pytest.mark.parametrize("u", [0.0, ALMOST_ONE])
def test_an_arm_of_probability_zero_is_not_drawn_at_the_ends(u):
    inside = 1 if u == 0 else 2
    assert draw(u, [0, 0.25, 0.75, 0]) == (inside, 0.25 if inside == 1 else 0.75)


def test_sums_that_rounding_makes_less_than_one_draw_an_arm():
    """10,000 probabilities of 1e-4 do not sum to 1 in float32, and 100 arms of probability 0 follow them."""
    arms = np.zeros(10_100, np.float32)
    arms[:10_000] = 1e-4
    assert np.cumsum(arms)[-1] != 1
    assert draw(ALMOST_ONE, arms) == (9_999, np.float32(1e-4))


@pytest.mark.parametrize("place", range(3))
def test_a_probability_that_is_nan_makes_that_of_the_arm_unknown(place):
    probabilities = np.array([0.5, 0.25, 0.25])
    probabilities[place] = np.nan
    assert all(np.isnan(draw(u, probabilities)[1]) for u in (0, 0.3, 0.6, ALMOST_ONE))


def test_an_arm_of_probability_zero_is_not_drawn_where_rounding_makes_its_sum_larger():
    """A compiled cumulative sum adds in pairs, so that a sum of more terms may differ where only zeros were added."""
    rng = np.random.default_rng(0)
    probabilities = (rng.random(5000) * (rng.random(5000) < 0.5)).astype(np.float32)
    probabilities /= probabilities.sum()
    sums = np.asarray(jax.jit(jnp.cumsum)(probabilities))
    before = np.maximum.accumulate(np.append(np.float32(0), sums[:-1]))
    larger = np.flatnonzero((probabilities == 0) & (sums > before))
    assert len(larger) > 0
    drawn = jax.jit(jax.vmap(jb.draw, (0, None)))(before[larger] / sums.max(), probabilities)
    assert (probabilities[drawn.action] > 0).all() and (drawn.info.probability > 0).all()


def test_numbers_of_python_and_of_numpy_are_taken():
    for probabilities in ([0.2, 0.8], np.array([0.2, 0.8]), [0, 1]):
        choice = jb.draw(0.5, probabilities)
        assert choice.action == 1 and choice.info.probability == np.float32(probabilities[1])
