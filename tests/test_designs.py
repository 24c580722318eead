"""Designs, phases and games: published sample counts, pulls that follow a design, refusals."""

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import brentq

from jaxbandit.algorithms import g_static, lazy_track_and_stop, lin_game, rage, xy_adaptive, xy_oracle, xy_static
from jaxbandit.algorithms.exploration import tracking
from jaxbandit.theory.solvers.rounding import round_design

pytestmark = [pytest.mark.slow, pytest.mark.quickly_compiled]


def soare(dim, angle):
    return np.vstack([np.eye(dim), [math.cos(angle), math.sin(angle), *[0] * (dim - 2)]]), 2 * np.eye(dim)[0]


def play_batches(make, means, sigma, seed):
    """State, recommendation and number of batches of one run with Gaussian rewards."""

    @jax.jit
    def run(means, sigma, key):
        algorithm = make()

        def body(carry):
            state, number = carry
            pulls = algorithm.batch.plan(state)
            noise = jax.random.normal(jax.random.fold_in(key, number), pulls.shape)
            n = pulls.astype(noise.dtype)
            return algorithm.batch.absorb(state, pulls, n * means + sigma * jnp.sqrt(n) * noise), number + 1

        start = (algorithm.init(key), jnp.zeros((), jnp.int32))
        state, number = jax.lax.while_loop(lambda c: ~algorithm.stop(c[0]), body, start)
        return state, algorithm.recommend(state)[0], number

    with jax.enable_x64(True):
        return run(jnp.asarray(means, float), jnp.asarray(sigma, float), jax.random.key(seed))


def samples_of_table_1(rho, num_arms=6, delta=0.05):
    """n = 8 rho log(6 n^2 K / (delta pi^2)), where 2 sqrt(rho / n) sqrt(2 log(...)) is 1."""
    return brentq(lambda n: n - 8 * rho * math.log(6 * n**2 * num_arms / (delta * math.pi**2)), 1e3, 1e9)


def test_oracle_of_table_1():
    features, theta = soare(5, 0.01)
    state, arm, _ = play_batches(lambda: xy_oracle(features, theta), features @ theta, 1.0, 0)
    pulls = np.asarray(state.counts)
    assert abs(pulls.sum() / samples_of_table_1(10100) - 1) < 0.003  # a step of the grid, and the other directions
    assert abs(pulls.sum() / 2.742e6 - 1) < 0.01  # LinGapE's Table 1
    assert abs(pulls[1] / pulls.sum() - 0.995) < 0.0005 and arm == 0


@pytest.mark.statistical
def test_xy_static_of_table_1():
    features, theta = soare(5, 0.01)
    state, arm, batches = play_batches(lambda: xy_static(features), features @ theta, 1.0, 0)
    pulls = np.asarray(state.counts)
    # x_1 - x_6 is 0.01 e_2 up to 5e-5, and a fifth of the pulls are of e_2: rho = 0.01^2 * 5 / gap^2. The estimated gap
    # is off by sqrt(1 / (8 log(...))) of itself, 6 %, and the samples by twice that: 5 deviations, alarm below 1e-6.
    expected = samples_of_table_1(1e-4 * 5 / (2 * (1 - math.cos(0.01))) ** 2)
    assert 0.5 < pulls.sum() / expected < 1.9 and arm == 0
    assert batches < 11_000  # a thousand single pulls, then steps of a thousandth


@pytest.mark.parametrize("num_arms", [3, 20])
def test_following_a_design_is_pulling_the_next_arm_again_and_again(num_arms):
    rng = np.random.default_rng(0)
    weights = rng.dirichlet(np.full(num_arms, 0.5), 8)
    weights[:4, 0] = 0
    weights[0, 1:] = 1.0  # exact ties
    weights /= weights.sum(1, keepdims=True)
    used = weights > 0
    totals = np.concatenate([np.arange(num_arms, 3 * num_arms), [100, 101, 350]])

    with jax.enable_x64(True):
        follow = jax.jit(jax.vmap(tracking.followed))
        following = jax.jit(jax.vmap(lambda w, n: tracking.next_arm(w, n)))
        rounded = jax.jit(jax.vmap(round_design))
        ours = one = jnp.zeros((8, num_arms), jnp.int32)
        for total in totals:
            ours = follow(weights, ours, jnp.full(8, total, jnp.int32))
            while one[0].sum() < total:
                one = one.at[np.arange(8), following(weights, one)].add(1)
            np.testing.assert_array_equal(ours, one)
            # The efficient rounding may choose others among equals: its least n_a / w_a is the same.
            other = rounded(weights, jnp.full(8, total, jnp.int32))
            least = [np.where(used, np.asarray(n) / np.where(used, weights, 1), np.inf).min(1) for n in (ours, other)]
            np.testing.assert_allclose(*least, rtol=1e-14)  # the same quotients
        np.testing.assert_array_equal(follow(weights, ours * 0, ours.sum(1, dtype=jnp.int32)), ours)
        large = jnp.full(8, 2_000_000_000, jnp.int32)
        far = np.asarray(follow(weights, ours, large), np.int64)
        assert (far.sum(1) == 2_000_000_000).all()
        assert (far >= (2e9 - num_arms) * weights - 1e-3).all()  # roundings of 2e9 in float64


FACTORIES = [xy_static, g_static, xy_adaptive, rage, lin_game, lazy_track_and_stop]
BASIS = np.eye(3)
BAD = [
    *[(f, {"features": np.ones((1, 1))}, "at least 2") for f in FACTORIES],
    *[(f, {"features": np.array([[1.0, math.nan], [0, 1]])}, r"features\[0, 1\]") for f in FACTORIES],
    *[(f, {"features": np.eye(3)[:2]}, "span 2 of 3") for f in FACTORIES if f is not lin_game],
    (functools.partial(xy_oracle, theta=np.ones(2)), {}, "theta has 2 entries"),
    (functools.partial(xy_oracle, theta=np.array([1.0, 1.0, 0])), {}, "arms 0 and 1 tie"),
]


@pytest.mark.parametrize(("factory", "bad", "says"), BAD)
def test_refusals(factory, bad, says):
    with pytest.raises(ValueError, match=says) as caught:
        factory(**{"features": BASIS, **bad})
    assert "\n" not in str(caught.value)
