"""Every rule on two arms: equal means, means of 0 and 1, constant first rewards, a delta near 1, the least budgets.

Refusals of smaller budgets are in test_differential_fixed_budget, of Kim and Nelson's delta in test_unknown_variance.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxbandit as jb
from jaxbandit.base.contract import Outcome

pytestmark = pytest.mark.quickly_compiled

RUNS, CAP = 8, 300
STUDENT = {"family": "student", "threshold": "interval"}
# These judge differences by their own spread and never decide where there is none: they go on.
SPREAD = {
    "top_two, student": functools.partial(jb.algorithms.top_two, **STUDENT),
    "track_and_stop, student": functools.partial(jb.algorithms.track_and_stop, **STUDENT),
}
CONFIDENCE = SPREAD | {
    "paired_race": jb.algorithms.paired_race,
    "student_race": jb.algorithms.student_race,
    "track_and_stop": jb.algorithms.track_and_stop,
    "top_two": jb.algorithms.top_two,
    "kl_lucb": jb.algorithms.kl_lucb,
    "kl_racing": jb.algorithms.kl_racing,
    "chernoff_racing": jb.algorithms.chernoff_racing,
    "successive_elimination": functools.partial(jb.algorithms.successive_elimination, sigma=0.5),
    "lil_ucb": functools.partial(jb.algorithms.lil_ucb, variant="heuristic", sigma=0.5),
    "lucb": functools.partial(jb.algorithms.lucb, sigma=0.5),
    "ugape": functools.partial(jb.algorithms.ugape, sigma=0.5),
    "kim_nelson": functools.partial(jb.algorithms.kim_nelson, epsilon=0.3),
    "bernstein_race": jb.algorithms.bernstein_race,
    "betting_race": jb.algorithms.betting_race,
    "quantile_race": jb.algorithms.quantile_race,
}
TIES = ("paired_race", "student_race", "kim_nelson", "quantile_race")  # which decide where nothing varies
BUDGET = {
    "uniform_allocation": (jb.algorithms.uniform_allocation, 2),
    "sequential_halving": (jb.algorithms.sequential_halving, 2),
    "successive_rejects": (jb.algorithms.successive_rejects, 3),
    "ucb_e": (functools.partial(jb.algorithms.ucb_e, a=2.0), 2),
    "ugape_b": (functools.partial(jb.algorithms.ugape_b, a=2.0), 2),
    "budgeted_race": (functools.partial(jb.algorithms.budgeted_race, epsilon=0.3), 2),
}


def play(rule, means, told):
    """Outcomes, recommendations and pulls [cases, RUNS] of a case for each row of `means` and number of `told`."""

    def run(key, means, told):
        found = jb.run_until_stop(key, rule(told), jb.environments.bernoulli(means)._replace(batch=None), CAP)
        return found.outcome, found.recommendation[0], found.samples

    with jax.enable_x64(True):
        keys = jax.vmap(lambda run: jb.run_key(0, run))(jnp.arange(RUNS))
        runs = jax.vmap(run, in_axes=(0, None, None))
        return jax.device_get(jax.jit(jax.vmap(runs, in_axes=(None, 0, 0)))(keys, jnp.array(means), jnp.array(told)))


@pytest.mark.slow
@pytest.mark.parametrize("name", CONFIDENCE)
def test_rules_with_a_confidence(name):
    """The rewards of an arm of mean 0.95 are mostly equal at first, and then they are not."""
    alike, sure, rare = [[0.0, 0.0], [1.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]], [[0.1, 0.95], [0.05, 0.95]]
    deltas = [0.01, 0.01, 0.01, 0.01, 0.01, 0.4 if name == "kim_nelson" else 0.999]  # which refuses 0.5 and more
    outcomes, named, _ = play(lambda delta: CONFIDENCE[name](2, delta=delta), [*alike, *sure, *rare], deltas)
    stopped = (outcomes == Outcome.STOPPED).all(1).tolist()
    # Of equal arms they recommend the lowest-numbered; else the runs are censored, and not taken for an answer.
    assert stopped == [name in TIES] * 2 + [name not in SPREAD] * 2 + [True] * 2
    assert np.isin(outcomes, [Outcome.STOPPED, Outcome.MAX_ROUNDS]).all()
    if name in TIES:
        assert (named[:2] == 0).all()
    if name not in SPREAD:
        assert (named[2:4] == [[1], [0]]).all()
    assert (named[4] == 1).all()  # with a delta of 0.999 either arm is as promised


@pytest.mark.slow
@pytest.mark.parametrize("name", BUDGET)
def test_rules_with_a_budget(name):
    """The least budget of two arms, and one more: of equal arms any is right."""
    rule, least = BUDGET[name]
    means = [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]]
    budgets = np.repeat([least, least + 1.0], 4)
    outcomes, named, pulls = play(lambda budget: rule(2, budget=budget), means * 2, budgets)
    assert (outcomes == Outcome.STOPPED).all() and (pulls <= budgets[:, None]).all()
    assert (named.reshape(2, 4, RUNS)[:, 2:] == [[1], [0]]).all() and np.isin(named, [0, 1]).all()
