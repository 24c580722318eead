"""Rules that pull in batches count beyond 32 bits where float64 is in scope."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxbandit as jb
from jaxbandit.base.batches import SetPulls

pytestmark = [pytest.mark.slow, pytest.mark.quickly_compiled]

FEATURES = np.vstack([np.eye(2), [np.cos(0.5), np.sin(0.5)]])
THETA = np.array([2.0, 0.0])
MEANS = np.array([0.9, 0.1, 0.7, 0.2])

# By name: the algorithm, told of so much noise that it needs more than 2^32 pulls, and the mean of each arm.
RULES = {
    "xy_static": (lambda: jb.algorithms.xy_static(FEATURES, sigma=3e4, grid=1.3), FEATURES @ THETA),
    "g_static": (lambda: jb.algorithms.g_static(FEATURES, sigma=3e4, grid=1.3), FEATURES @ THETA),
    "xy_oracle": (lambda: jb.algorithms.xy_oracle(FEATURES, THETA, sigma=3e4, grid=1.3), FEATURES @ THETA),
    "xy_adaptive": (lambda: jb.algorithms.xy_adaptive(FEATURES, sigma=3e4), FEATURES @ THETA),
    "rage": (lambda: jb.algorithms.rage(FEATURES, sigma=1e4), FEATURES @ THETA),
    "icb": (lambda: jb.algorithms.icb(4, k=2, sigma=1e4, grid=1.3), MEANS),
    "icb, unlisted": (lambda: jb.algorithms.icb(30, k=5, support="all", sigma=1e4, grid=1.3), np.arange(30) / 30),
    "saqm": (lambda: jb.algorithms.saqm(4, k=2, sigma=1e4, grid=1.3), MEANS),
    "adaptive_full_bandit": (lambda: jb.algorithms.adaptive_full_bandit(4, k=2, sigma=1e4, choices=2), MEANS),
}


@pytest.mark.parametrize("name", RULES)
def test_counts_beyond_32_bits(name):
    """Played on the means alone: no pull is lost, and the answer is right."""
    make, means = RULES[name]

    @jax.jit
    def replanned(state):
        replan = make().replan
        if replan is None:
            return state
        due = replan.due(state)
        return jax.tree.map(lambda new, old: jnp.where(due, new, old), replan.apply(state), state)

    @jax.jit
    def step(state):
        algorithm = make()
        pulls = algorithm.batch.plan(state)
        counts = pulls.counts if isinstance(pulls, SetPulls) else pulls
        if not isinstance(pulls, SetPulls):
            sums = counts.astype(float) * means
        elif pulls.sets is None:  # of r chi over all sets of 5 out of 30
            both, alone = 5 * 4 / (30 * 29), 5 / 30
            sums = counts[0].astype(float) * (both * means.sum() + (alone - both) * means)
        else:
            sums = counts.astype(float) * jnp.sum(jnp.where(pulls.sets, means[None], 0.0), 1)
        return algorithm.batch.absorb(state, pulls, sums), counts

    total = 0
    with jax.enable_x64(True):
        algorithm = make()
        state, stop = jax.jit(algorithm.init)(jax.random.key(0)), jax.jit(algorithm.stop)
        while not stop(state):
            state, counts = step(state)
            state = replanned(state)
            assert (np.asarray(counts) >= 0).all() and (np.asarray(counts) > 0).any() and total < 10**15
            total += sum(map(int, np.asarray(counts)))
        counted = state.rounds if algorithm.pulls is None else np.asarray(jax.jit(algorithm.pulls)(state)).sum()
        best = np.asarray(jax.jit(algorithm.recommend)(state))
    assert int(counted) == total > 2**32
    np.testing.assert_array_equal(np.sort(best), np.sort(np.argsort(-means)[: best.size]))
