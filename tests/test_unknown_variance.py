"""Races for unknown variances and bounded rewards: equal to their references, their bounds, their edges."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from reference import unknown_variance as reference
from scipy import optimize, special

from jaxbandit.algorithms.best_arm.bernstein_race import bernstein_race
from jaxbandit.algorithms.best_arm.betting_race import betting_race
from jaxbandit.algorithms.best_arm.kim_nelson import kim_nelson
from jaxbandit.algorithms.best_arm.paired_race import paired_race
from jaxbandit.algorithms.best_arm.student_race import student_race
from jaxbandit.solvers import student

pytestmark = pytest.mark.quickly_compiled

PULLS = 3000
RANGE = {"low": -0.5, "high": 2.5}
KN = {"epsilon": 0.15, "variant": "kn", "arms": "dependent", "first_rounds": 6}
CASES = {
    "paired": (paired_race, reference.paired, {"delta": 0.1, "epsilon": 0.0}),
    "paired, epsilon": (paired_race, reference.paired, {"delta": 0.1, "epsilon": 0.15}),
    "student": (student_race, reference.student, {"delta": 0.1}),
    "kn": (kim_nelson, reference.kim_nelson, {"delta": 0.1, **KN}),
    "kn++, independent": (
        kim_nelson,
        reference.kim_nelson,
        {"delta": 0.1, **KN, "variant": "kn++", "arms": "independent"},
    ),
    "bernstein": (bernstein_race, reference.bernstein, {"delta": 0.1, **RANGE}),
    "plug_in": (partial(bernstein_race, bound="plug_in"), reference.plug_in, {"delta": 0.1, **RANGE}),
    "betting": (betting_race, reference.betting, {"delta": 0.1, **RANGE}),
}


def play(factory, num_arms, options, rewards):
    """Actions, whether it had stopped before each pull, and its recommendation then, for several tables of rewards."""
    traced = {k: jnp.asarray(v) for k, v in options.items() if isinstance(v, float)}
    static = {k: v for k, v in options.items() if k not in traced}

    @jax.jit
    @jax.vmap
    def run(rewards):
        algorithm = factory(num_arms, **static, **traced)

        def body(state, row):
            action = algorithm.select(None, state, None)
            after = algorithm.update(state, None, action, row[action])
            return after, (action, algorithm.stop(state), algorithm.recommend(state)[0])

        return jax.lax.scan(body, algorithm.init(jax.random.key(0)), rewards)[1]

    return jax.tree.map(np.asarray, run(jnp.asarray(rewards)))


@pytest.mark.parametrize("case", CASES)
def test_same_pulls_and_same_stop_as_the_reference(case):
    """Four arms in four tables: with unequal variances, noise in common, a noise of zero for one arm, or skewed."""
    factory, rule, options = CASES[case]
    rng = np.random.default_rng(3)
    mean = 0.9 + np.array([0.0, 0.6, -0.5, 0.2]) * (1 if case == "bernstein" else 0.4)
    noise = rng.uniform(-1, 1, (PULLS, 4))
    tables = [
        mean + noise * [0.3, 0.5, 0.8, 0.1],
        mean + 0.2 * noise + np.repeat(rng.uniform(-0.5, 0.5, (PULLS // 4, 1)), 4, 0),
        mean + noise * [0.3, 0.4, 0.0, 0.3],
        np.minimum(mean * rng.exponential(size=(PULLS, 4)) ** 0.3, 2.5),
    ]
    with jax.enable_x64(True):
        actions, stopped, recommended = play(factory, 4, options, np.array(tables))
    ends = []
    for r, table in enumerate(tables):
        expected, best = reference.race(table, rule, PULLS, **options)
        end = int(np.argmax(stopped[r])) if stopped[r].any() else PULLS
        assert len(expected) == end
        np.testing.assert_array_equal(actions[r, :end], expected)
        assert best is None or recommended[r, end] == best
        ends.append(end)
    assert min(ends) > 12, ends  # else the instance shows little
    assert sum(end < PULLS for end in ends) >= 2, ends
