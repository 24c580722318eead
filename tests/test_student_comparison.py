"""Track-and-Stop and the top-two rules with unknown variances: the pulls and stopping rounds of their references."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import player
import pytest
from reference import student_comparison as reference
from scipy import special, stats

from jaxbandit.algorithms.best_arm.top_two import REDRAWS, top_two
from jaxbandit.algorithms.best_arm.track_and_stop import track_and_stop
from jaxbandit.engine.driver.identify import identify_cell
from jaxbandit.environments.stationary.gaussian import gaussian
from jaxbandit.support.numerics import normal_of_words
from jaxbandit.theory.solvers import student
from jaxbandit.theory.solvers.beta import draw_noise

pytestmark = [pytest.mark.slow, pytest.mark.quickly_compiled]

ROUNDS = 400
DELTA = 0.1
REWARDS = np.array([0.3, 1.2, 0.5]) + np.random.default_rng(4).normal(size=(ROUNDS, 3)) * [0.6, 0.9, 1.2]
CLOSE = REWARDS.copy()
CLOSE[[2, 5, 8], 2] = 0.5, 0.501, 0.502  # the first three of this arm happen to lie close together


def play(factory, rewards=REWARDS, **own):
    return player.play(functools.partial(factory, 3, family="student", **own), rewards, delta=DELTA)


@jax.jit
@jax.vmap
def normals(noise):
    """Those of the leader's draw and of the challenger's."""
    words = jax.vmap(lambda r: draw_noise(jax.random.fold_in(noise.redraws, r), 3))(jnp.arange(REDRAWS))
    return normal_of_words(jnp.concatenate([noise.words[None], words]))


def agree(found, expected, stops=True):
    pulls, arm = expected
    end = found.end()
    np.testing.assert_array_equal(found.actions[:end], pulls)
    assert len(pulls) == end > 32  # else only the first pulls
    assert arm == (found.recommended[end, 0] if stops else None)


@pytest.mark.parametrize(
    ("kind", "challenger", "adaptive"),
    [("interval", "tci", False), ("tbox", "tc", True), ("heuristic", "tci", False), ("evbox", "tci", True)],
)
def test_top_two(kind, challenger, adaptive):
    own = {"challenger": challenger, "adaptive": adaptive, "beta": 0.6}
    rewards = CLOSE if kind == "evbox" else REWARDS  # evbox takes more than these to stop
    found = play(top_two, rewards, threshold=kind, **own)
    choose = reference.top_two(found.noise.coin, kind=kind, **own)
    agree(found, reference.play(rewards, choose, kind=kind, delta=DELTA), kind != "evbox")
    assert np.bincount(found.actions).min() > 10  # its statistic lets the arm be pulled again


def test_top_two_thompson_sampling():
    """Leader and challenger from the posterior."""
    found = play(top_two, threshold="interval", leader="ts", challenger="ts")
    with jax.enable_x64(True):
        drawn = np.asarray(normals(found.noise))
    own = {"challenger": "ts", "adaptive": False, "beta": 0.5, "kind": "interval"}
    choose = reference.top_two(found.noise.coin, normals=drawn, **own)
    agree(found, reference.play(REWARDS, choose, kind="interval", delta=DELTA))


def test_posterior_draws_have_students_law():
    """As a function of the normal, by SciPy: total variation, as of the Beta draws that they are made of."""
    w = np.linspace(-6.2, 6.2, 301)
    words = np.round(special.ndtr(w) * 2.0**32).clip(0, 2**32 - 1).astype(np.uint32)
    with jax.enable_x64(True):
        draw, normal = jax.jit(student.posterior_draw), np.asarray(jax.jit(normal_of_words)(words))
        for n in (2.0, 3.0, 4.0, 8.0, 31.0, 1e5):
            found = np.asarray(draw(words, jnp.full(301, n), jnp.full(301, 0.7), jnp.full(301, 0.3)))
            t = (found - 0.7) / np.sqrt(0.3 / (n - 1))
            order = np.argsort(normal)
            apart = stats.t.cdf(t, n - 1) - special.ndtr(normal)
            assert (np.diff(found[order]) >= 0).all() and found.min() < 0.7 < found.max()
            assert np.abs(np.diff(apart[order])).sum() / 2 < (6e-5 if n == 2 else 1e-6), n
        for n, v in ((1.0, 0.0), (5.0, 0.0)):
            assert (np.asarray(draw(words, jnp.full(301, n), jnp.full(301, 0.7), jnp.full(301, v))) == 0.7).all()


def test_track_and_stop():
    found = play(track_and_stop, threshold="interval", growth=1.0)
    agree(found, reference.play(REWARDS, reference.track_and_stop(3), kind="interval", delta=DELTA))


def test_evbox_by_lambert_w():
    n = np.array([2.0, 3.0, 30.0, 1e5])
    with jax.enable_x64(True):
        ours = jax.jit(lambda n: student.evbox(n, 4, 0.05))(np.append(n, 1.0))
    np.testing.assert_allclose(ours[:-1], [reference.evbox(k, 4, 0.05) for k in n], rtol=1e-9)
    assert np.isinf(ours[-1])


def test_refusals():
    with pytest.raises(ValueError, match=r"^top_two: threshold = 'kt', must be one of heuristic, interval, tbox"):
        top_two(3, family="student", threshold="kt")
    with pytest.raises(ValueError, match=r"^track_and_stop: family = 'studnet', .*; did you mean 'student'\?$"):
        track_and_stop(3, family="studnet")
    with pytest.raises(ValueError, match="cannot verify its runs: must be 'float64'"), jax.enable_x64(False):
        identify_cell(
            lambda delta: (top_two(2, family="student", threshold="tbox", delta=delta), gaussian([0.0, 1.0])),
            0.1,
            num_runs=2,
            precision="float32",
        )
