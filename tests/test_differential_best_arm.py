"""Equal pulls and equal stopping rounds of Track-and-Stop and the top-two rules and of their NumPy references."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from reference import top_two as top_two_reference
from reference import track_and_stop as track_and_stop_reference

from jaxbandit.algorithms import top_two, track_and_stop
from jaxbandit.numerics import normal_of_words
from jaxbandit.solvers.beta import draw_noise

pytestmark = pytest.mark.quickly_compiled

ROUNDS = 500
SIGMA = 0.8
MEANS = np.array([0.2, 0.9, 0.4])
DELTA = 0.1


def rewards_of(family):
    """Rewards by round and arm, of standard deviation SIGMA where they are Gaussian."""
    rng = np.random.default_rng(5)
    shape = (ROUNDS, 3)
    draw = {
        "bernoulli": lambda: rng.random(shape) < MEANS,
        "gaussian": lambda: MEANS + SIGMA * rng.normal(size=shape),
        "poisson": lambda: rng.poisson(MEANS, shape),
        "exponential": lambda: rng.exponential(MEANS, shape),
    }[family]
    return draw().astype(float)


def play(factory, own, rewards):
    """Actions, whether it had stopped before each round, its recommendation then, and the noise of each round."""

    @jax.jit
    def run(rewards, delta, sigma):
        algorithm = factory(3, delta=delta, sigma=sigma, **own)
        replan = algorithm.replan

        def body(state, given):
            row, t = given
            noise = algorithm.noise(jax.random.fold_in(jax.random.key(7), t))
            if replan is not None:
                state = jax.lax.cond(replan.due(state), replan.apply, lambda state: state, state)
            action = algorithm.select(noise, state, None)
            seen = None
            if factory is top_two:
                words = [jnp.zeros(3, jnp.uint32) if noise.words is None else noise.words]
                if noise.redraws is not None:
                    redraws = jax.vmap(lambda r: draw_noise(jax.random.fold_in(noise.redraws, r), 3))(jnp.arange(64))
                    words.extend(redraws)
                seen = noise.coin, normal_of_words(jnp.stack(words))
            return algorithm.update(state, None, action, row[action]), (
                action,
                algorithm.stop(state),
                algorithm.recommend(state),
                seen,
            )

        return jax.lax.scan(body, algorithm.init(jax.random.key(0)), (rewards, jnp.arange(ROUNDS)))[1]

    with jax.enable_x64(True):
        return jax.tree.map(np.asarray, run(jnp.asarray(rewards), jnp.asarray(DELTA), jnp.asarray(SIGMA)))


def agree(found, expected):
    actions, stopped, recommended, _ = found
    pulls, arm = expected
    end = int(np.argmax(stopped)) if stopped.any() else ROUNDS
    assert 10 < end < ROUNDS, end  # else the instance shows little
    np.testing.assert_array_equal(actions[:end], pulls)
    assert len(pulls) == end
    assert recommended[end] == [arm]


TOP_TWO = [
    ("eb", "tci", False, "bernoulli", "kt"),
    pytest.param("eb", "tc", False, "gaussian", "gauss", marks=pytest.mark.slow),
    pytest.param("ts", "ts", False, "bernoulli", "heuristic", marks=pytest.mark.slow),
    pytest.param("ts", "tci", True, "poisson", "heuristic", marks=pytest.mark.slow),
    pytest.param("ts", "tc", False, "exponential", "heuristic", marks=pytest.mark.slow),
    pytest.param("ucb", "ts", True, "gaussian", "heuristic", marks=pytest.mark.slow),
    pytest.param("ucb", "tci", True, "bernoulli", "heuristic", marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("leader", "challenger", "adaptive", "family", "threshold"), TOP_TWO)
def test_top_two(leader, challenger, adaptive, family, threshold):
    own = {"leader": leader, "challenger": challenger, "adaptive": adaptive, "family": family, "beta": 0.6}
    rewards = rewards_of(family)
    found = play(top_two, {**own, "threshold": threshold}, rewards)
    coins, normals = found[-1]
    scale = SIGMA if family == "gaussian" else 1.0
    agree(found, top_two_reference.play(rewards / scale, coins, normals, kind=threshold, delta=DELTA, **own))


TRACKING = [
    ("D", 1.1, "bernoulli", "heuristic"),
    pytest.param("C", 1.02, "gaussian", "gauss", marks=pytest.mark.slow),
    pytest.param("D", 1.0, "poisson", "heuristic", marks=pytest.mark.slow),
    pytest.param("C", 1.0, "exponential", "kk", marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("tracking", "growth", "family", "threshold"), TRACKING)
def test_track_and_stop(tracking, growth, family, threshold):
    own = {"tracking": tracking, "growth": growth, "family": family}
    rewards = rewards_of(family)
    found = play(track_and_stop, {**own, "threshold": threshold}, rewards)
    scale = SIGMA if family == "gaussian" else 1.0
    expected = track_and_stop_reference.play(rewards / scale, found[0], kind=threshold, delta=DELTA, **own)
    agree(found, expected)
