"""A rule of each form: the same bytes in any tile, and feedback that is not finite ends its run and changes no other.

The fault is traced, so that the program of one tile plays without and with it. Compiled with the code that users run.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import parts
import pytest

import jaxbandit as jb
from jaxbandit.base.contract import Outcome
from jaxbandit.engine.driver.execution import Execution
from jaxbandit.engine.driver.identify import identify_cell
from jaxbandit.engine.driver.simulate import simulate_cell
from jaxbandit.engine.rounds import keys
from jaxbandit.lab.specs.registry import ALGORITHMS

pytestmark = pytest.mark.slow

HORIZON = 200
FAULTS = jnp.array([jnp.nan, jnp.inf, -jnp.inf])
HIT = 0.1  # chance of a faulty round in a faulty run: of 200 rounds one is but for a chance of 1e-9
RULES = {kind: [n for n in parts.ONE_OF_EACH_FORM if ALGORITHMS[n].kind == kind] for kind in ("simulate", "identify")}


def faulty(environment, share):
    """The environment in whose runs, each with chance `share`, some rounds give NaN, or inf, or -inf."""

    def init(key):
        draw = jax.random.uniform(jax.random.fold_in(key, 1))
        return environment.init(key), draw < share, FAULTS[(draw * 1e4).astype(jnp.int32) % 3]

    def noise(key, inner):
        return inner(key), jax.random.uniform(jax.random.fold_in(key, 2)) < HIT

    def spoilt(world, hit, feedback):
        return jax.tree.map(lambda x: jnp.where(world[1] & hit, world[2].astype(x.dtype), x), feedback)

    def reward(world, context, action, noise):
        return spoilt(world, noise[1], environment.reward(world[0], context, action, noise[0]))

    def sums(world, pulls, noise):
        return spoilt(world, noise[1], environment.batch.sums(world[0], pulls, noise[0]))

    regret, judge, move, over = (getattr(environment, x) for x in ("regret", "simple_regret", "transition", "over"))
    return environment._replace(
        init=init,
        noise=functools.partial(noise, inner=environment.noise),
        observe=lambda world, noise: environment.observe(world[0], noise[0]),
        reward=reward,
        regret=lambda world, context, action: regret(world[0], context, action),
        transition=move
        and (lambda world, context, action, noise: (move(world[0], context, action, noise[0]), *world[1:])),
        over=over and (lambda world: over(world[0])),
        simple_regret=judge and (lambda world, recommendation: judge(world[0], recommendation)),
        batch=environment.batch
        and jb.contract.BatchRewards(noise=functools.partial(noise, inner=environment.batch.noise), sums=sums),
    )


def flagged(environment, runs):
    """Which runs are faulty, bool[runs]."""
    words = keys.run_keys(keys.root_key(0), jnp.arange(runs))
    first = jax.vmap(lambda w: environment.init(keys.round_key(w, jnp.uint32(0), "threefry4x32"))[1], -1)
    return np.asarray(first(words[0]))


def maker(name, **more):
    """The pair of a rule and its environment, faulty in a traced share of the runs."""
    algorithm, environment = parts.pair(name, **more)
    return lambda share: (algorithm, faulty(environment, share))


def check_faults(make, clean, found, share, compared):
    """Runs with a fault are counted as such, and the others have the bytes that they have without any."""
    suspects = flagged(make(share)[1], len(found.outcome))
    broken = found.outcome == Outcome.NONFINITE
    assert 2 <= suspects.sum() <= len(suspects) // 4 and broken.any() and not (broken & ~suspects).any()
    assert not (clean.outcome == Outcome.NONFINITE).any()
    same(clean, found, compared, ~broken)
    return broken, suspects


def same(one, other, names, runs=slice(None)):
    for name in names:
        values = getattr(one, name)
        if values is not None:
            assert values[runs].tobytes() == getattr(other, name)[runs].tobytes(), name


@pytest.mark.parametrize("name", RULES["simulate"])
def test_a_rule_for_regret(name):
    make = maker(name, **parts.horizon_of(name, HORIZON))
    share = np.float32(0.0 if ALGORITHMS[name].setting == "cascade" else 0.1)  # whose feedback is int32

    def play(share, width):
        return simulate_cell(make, share, horizon=HORIZON, num_runs=256, execution=Execution(width=width))

    # The least width, which loops unrolled four times divide, and one that they do not.
    found, other = play(share, 64), play(share, 112)
    same(found, other, ("regret", "pulls", "recommendation", "outcome"))
    if share:
        clean = play(np.float32(0.0), 64)
        broken, suspects = check_faults(make, clean, found, share, ("regret", "pulls", "recommendation"))
        np.testing.assert_array_equal(broken, suspects)
        assert found.counted == 256 - suspects.sum()
        np.testing.assert_array_equal(found.mean[-1], np.float64(found.regret[~broken, -1]).mean())


@pytest.mark.quickly_compiled
@pytest.mark.parametrize("name", RULES["identify"])
def test_a_rule_that_stops(name):
    make = maker(name)
    clean, found = (identify_cell(make, np.float64(s), num_runs=64, max_rounds=400) for s in (0.0, 0.1))
    with jax.enable_x64(True):
        check_faults(make, clean, found, 0.1, ("samples", "pulls", "recommendation", "shortfall", "outcome"))


def constant(value, rewards):
    """Two arms that pay a traced value, whatever is promised."""
    return jb.Environment(
        init=lambda key: jnp.asarray(value, jnp.result_type(float)),
        reward=lambda state, context, action, noise: state,
        regret=lambda state, context, action: jnp.zeros(()),
        arms=jb.Arms(2),
        rewards=rewards,
    )


PROMISES = {
    1.0: {1.0: "STOPPED", 1.5: "OUT_OF_RANGE", -0.5: "OUT_OF_RANGE", np.nan: "NONFINITE", np.inf: "NONFINITE"},
    np.inf: {5.0: "STOPPED", -1.0: "OUT_OF_RANGE", np.inf: "NONFINITE"},
}


# One whose state would show what is not finite, and one that keeps nothing.
RULES_OF_TWO = {
    "uniform": jb.algorithms.uniform(2),
    "stateless": jb.Algorithm(
        init=lambda key: (), select=lambda *given: jnp.int32(0), update=lambda *given: (), arms=jb.Arms(2)
    ),
}


@pytest.mark.quickly_compiled
@pytest.mark.parametrize("name", RULES_OF_TWO)
@pytest.mark.parametrize("high", PROMISES)
def test_a_reward_outside_its_promised_range_is_an_outcome_of_its_own(high, name):
    def make(value):
        return RULES_OF_TWO[name], constant(value, jb.Rewards(0.0, high))

    for value, outcome in PROMISES[high].items():
        record = simulate_cell(make, jnp.float32(value), horizon=5, num_runs=3)
        assert (record.outcome == Outcome[outcome]).all(), value
        assert record.counted == (3 if outcome == "STOPPED" else 0)
        assert np.isnan(record.mean).all() == (outcome != "STOPPED")
