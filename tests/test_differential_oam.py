"""Equal arms and kinds of round, for 1,000 rounds, between OAM and OSSB in float64 and their NumPy references.

The references solve the allocation themselves where one dimension is left beyond the best arms, and through the
library's solver, which has tests of its own, where there are more.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from reference import oam as reference_oam
from reference import ossb as reference_ossb

from jaxbandit.algorithms.regret.oam import KINDS, oam
from jaxbandit.algorithms.regret.ossb import ossb
from jaxbandit.solvers.allocation import allocation

ROUNDS, HORIZON = 1000, 10_000
RNG = np.random.default_rng(5)
SPHERE = RNG.normal(size=(1, 20, 3))
SPHERE /= np.linalg.norm(SPHERE, axis=2, keepdims=True)
PLANE = [[1, 0], [0, 1], [0.9, 0.5]]
SPACE = [[[1, 0, 0], [0, 1, 0], [0.9, 0.5, 0]], [[0, 1, 0], [0, 0, 1], [0, 0.5, 0.9]]]
INSTANCES = {  # action sets, probabilities, theta
    "5.1": (np.array([PLANE]), [1.0], [1, 0]),
    "5.1 far": (np.array([PLANE]), [1.0], [4, 0]),  # gaps of which 1,000 rounds tell much
    "5.2": (np.array(SPACE), [0.3, 0.7], [1, 0, 1]),
    "5.2 far": (np.array(SPACE), [0.3, 0.7], [4, 0, 4]),
    "5.3": (np.array([PLANE, [[0, 1], [-1, 0], [-1, 0]]]), [0.8, 0.2], [1, 0]),
    "random": (SPHERE, [1.0], [0.6, 0.0, 0.8]),
}
READINGS = {"zero": {}, "paper": {"schedule": "paper"}, "any": {"schedule": "paper", "exploit_if": "any"}}


def rewards_of(name, seed=0):
    features, probabilities, theta = INSTANCES[name]
    rng = np.random.default_rng(seed)
    contexts = rng.choice(len(features), ROUNDS, p=probabilities)
    return contexts, (features @ np.array(theta, float))[None] + rng.standard_normal((ROUNDS, 1, 1))


def ours(algorithm, contexts, rewards):
    """Arms, and kinds read off the counters, of one run."""

    def body(state, row):
        context, reward = row
        once = jnp.array(True), state
        state = jax.lax.while_loop(
            lambda x: x[0] & algorithm.needs_refresh(x[1]), lambda x: (~x[0], algorithm.refresh(x[1])), once
        )[1]
        arm = algorithm.select(None, state, context)
        after = algorithm.update(state, context, arm, reward[context, arm])
        return after, (arm, jnp.argmax(after.kinds - state.kinds))

    with jax.enable_x64(True):
        rows = jnp.asarray(contexts, jnp.int32), jnp.asarray(rewards)
        _, (arms, kinds) = jax.jit(lambda rows: jax.lax.scan(body, algorithm.init(None), rows))(rows)
    return list(zip(np.asarray(arms).tolist(), np.asarray(kinds).tolist(), strict=True))


@jax.jit
def _solve(features, gaps, level):
    return allocation(features, gaps, level).pulls


def larger(features, gaps, level):
    with jax.enable_x64(True):
        flat = np.array([gaps[m, a] for m in range(len(features)) for a in range(features.shape[1])])
        found = np.asarray(_solve(features.reshape(-1, features.shape[2]), flat, np.float64(level)))
    return dict(zip(gaps, found.tolist(), strict=True))


def compare(name, algorithm, play, sets=None, **arguments):
    """Play both; return the kinds seen."""
    features = INSTANCES[name][0]
    contexts, rewards = rewards_of(name)
    sets = sets or [list(range(features.shape[1]))] * len(features)
    mine, theirs = ours(algorithm, contexts, rewards), play(features, sets, contexts, rewards, larger, **arguments)
    assert mine == theirs, next((t, a, b) for t, (a, b) in enumerate(zip(mine, theirs, strict=True), 1) if a != b)
    return {kind for _, kind in mine}


def cases(seconds):
    """Every instance with every of `seconds`; all but the first pair are slow."""
    pairs = [(i, s) for i in INSTANCES for s in seconds if s in ("zero", "least_squares") or "far" not in i]
    return pairs[:1] + [pytest.param(*pair, marks=pytest.mark.slow) for pair in pairs[1:]]


@pytest.mark.parametrize(("name", "reading"), cases(READINGS))
def test_oam(name, reading):
    options = {"horizon": HORIZON} | READINGS[reading]
    seen = compare(name, oam(INSTANCES[name][0], **options), reference_oam.play, **options)
    if "far" in name:
        assert seen >= {KINDS.index(kind) for kind in ("start", "exploit", "unwasted", "wasted")}


@pytest.mark.slow
@pytest.mark.parametrize("force", [True, False])
def test_oam_with_other_arguments(force):
    """A set of two arms beside one of three, and what is forced: the arms of each set's spanner."""
    features, mask = INSTANCES["5.2 far"][0], np.array([[True, True, True], [False, True, True]])
    options = {"horizon": 500, "epsilon": 0.15, "c": 0.3, "zeta": 0.4, "force": force}
    # (.9, .5) is .9 (1, 0) + .5 (0, 1): the two are the spanner of the first set.
    spanners = {"sets": [[0, 1, 2], [1, 2]], "forceable": [[0, 1], [1, 2]]}
    algorithm = oam(features, mask=mask, spanner=True, **options)
    seen = compare("5.2 far", algorithm, reference_oam.play, **options, **spanners)
    assert (KINDS.index("forced") in seen) == force and KINDS.index("wasted") in seen


@pytest.mark.parametrize(("name", "estimator"), cases(("least_squares", "arm_means")))
def test_ossb(name, estimator):
    options = {"epsilon": 0.05, "gamma": 0.1, "estimator": estimator}
    seen = compare(name, ossb(INSTANCES[name][0], **options), reference_ossb.play, **options)
    assert len(seen) > 1
