"""rollout and run_until_stop: one run as a traced function, equal to the engine's run of the same (seed, run)."""

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxbandit as jb
from jaxbandit.base.contract import Outcome

pytestmark = [pytest.mark.slow, pytest.mark.quickly_compiled]

SEED, RUN, HORIZON = 3, 11, 60
MEANS = np.array([0.2, 0.5, 0.9])  # of gaps that differ
FEATURES = np.array([[1.0, 0.0], [0.0, 1.0], [0.9, 0.3]])


def world_that_turns(means):
    """Bernoulli arms whose order is reversed after 30 rounds."""
    still = jb.environments.bernoulli(means)

    def now(state):
        return jax.tree.map(lambda x: jnp.where(state[0] < 30, x, x[::-1]), state[1])

    return still._replace(
        init=lambda key: (jnp.zeros((), jnp.int32), still.init(key)),
        reward=lambda state, context, action, noise: still.reward(now(state), context, action, noise),
        regret=lambda state, context, action: still.regret(now(state), context, action),
        transition=lambda state, context, action, noise: (state[0] + 1, state[1]),
        simple_regret=None,
        batch=None,
    )


def contextual():
    sets = np.array([[[1.0, 0.0], [0.0, 1.0], [0.8, 0.5]], [[0.5, 0.6], [0.2, -1.0], [0.3, 0.1]]])
    world = jb.environments.linear_contextual(sets, np.array([0.4, 0.6]), np.array([1.0, 0.2]))
    return jb.algorithms.lin_ucb(sets, horizon=HORIZON), world


PAIRS = {
    "plain": lambda: (jb.algorithms.kl_ucb(3), jb.environments.bernoulli(MEANS)),
    "with noise of its own": lambda: (jb.algorithms.thompson(3), jb.environments.bernoulli(MEANS)),
    "with contexts": contextual,
    "in a world that changes": lambda: (jb.algorithms.ucb1(3), world_that_turns(MEANS)),
    "with plans": lambda: (planner(), jb.environments.bernoulli(MEANS)),
}


@pytest.mark.parametrize("name", PAIRS)
def test_a_rollout_is_the_engine_s_run_round_by_round(name):
    algorithm, environment = PAIRS[name]()
    every = range(1, HORIZON + 1)
    played = jb.simulate(algorithm, environment, horizon=HORIZON, num_runs=70, seed=SEED, checkpoints=every)
    out = jax.jit(lambda key: jb.rollout(key, algorithm, environment, HORIZON))(jb.run_key(SEED, RUN))
    # The gap of each round tells its action; float32 sums of 60 gaps are off by less than 1e-5.
    np.testing.assert_allclose(np.cumsum(out.regret), played.arrays["regret"][RUN], atol=1e-5)
    places = out.actions if out.contexts is None else 3 * out.contexts + out.actions
    pulls = played.arrays["pulls"][RUN]
    np.testing.assert_array_equal(np.bincount(places, minlength=len(pulls)), pulls)
    assert int(out.recommendation) == played.arrays["recommendation"][RUN]


STOPPING = {
    "single pulls": lambda: (jb.algorithms.lucb(3, delta=0.1, sigma=0.5), jb.environments.bernoulli(MEANS)),
    "batches": lambda: (jb.algorithms.xy_static(FEATURES, delta=0.1), jb.environments.linear(FEATURES, [1.0, 0.0])),
}


@pytest.mark.parametrize("name", STOPPING)
def test_run_until_stop_is_the_engine_s_run(name):
    algorithm, environment = STOPPING[name]()
    found = jb.identify(algorithm, environment, num_runs=20, seed=SEED)
    with jax.enable_x64(True):
        play = jax.jit(jax.vmap(lambda key: jb.run_until_stop(key, algorithm, environment, 10**6)))
        out = play(jax.vmap(lambda run: jb.run_key(SEED, run))(jnp.arange(20)))
    for mine, theirs in (("samples", "samples"), ("pulls", "pulls"), ("simple_regret", "shortfall")):
        np.testing.assert_allclose(getattr(out, mine), found.arrays[theirs], atol=1e-12)
    np.testing.assert_array_equal(out.recommendation, found.arrays["recommendation"])
    np.testing.assert_array_equal(out.outcome, found.arrays["outcome"])


def test_a_run_that_does_not_stop_is_censored_as_the_engine_s():
    algorithm, environment = STOPPING["single pulls"]()
    found = jb.identify(algorithm, environment, num_runs=3, seed=SEED, max_rounds=17)
    with jax.enable_x64(True):
        out = jb.run_until_stop(jb.run_key(SEED, 2), algorithm, environment, 17)
    assert int(out.outcome) == Outcome.MAX_ROUNDS == found.arrays["outcome"][2]
    np.testing.assert_array_equal(out.pulls, found.arrays["pulls"][2])


def test_the_caller_s_gradient_goes_through_a_rollout():
    """The rewards of Gaussian arms have gradient 1 in the mean of the arm pulled, where pulls do not follow them."""

    def total(means):
        return jnp.sum(
            jb.rollout(jb.run_key(0, 0), jb.algorithms.uniform(3), jb.environments.gaussian(means), 50).feedback
        )

    actions = jb.rollout(jb.run_key(0, 0), jb.algorithms.uniform(3), jb.environments.gaussian(MEANS), 50).actions
    np.testing.assert_allclose(jax.grad(total)(jnp.asarray(MEANS, float)), np.bincount(actions, minlength=3), rtol=1e-5)


def test_hyperparameters_may_be_traced_by_the_caller():
    def regret(c):
        return jnp.sum(
            jb.rollout(jb.run_key(0, 0), jb.algorithms.ucb1(3, c=c), jb.environments.bernoulli(MEANS), 50).regret
        )

    one, other = jax.jit(jax.vmap(regret))(jnp.array([0.0, 30.0]))
    assert one < other  # so much exploration costs more


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            (jnp.zeros(2, jnp.uint32), jb.algorithms.ucb1(3), jb.environments.bernoulli(MEANS), 5),
            "must be one typed key",
        ),
        (
            (jax.random.key(0, impl="rbg"), jb.algorithms.ucb1(3), jb.environments.bernoulli(MEANS), 5),
            "key = 'rbg', must be one of threefry",
        ),
        ((jb.run_key(0, 0), jb.algorithms.ucb1, jb.environments.bernoulli(MEANS), 5), r"call it: ucb1\(...\)"),
        ((jb.run_key(0, 0), jb.environments.bernoulli(MEANS), jb.algorithms.ucb1(3), 5), "are swapped"),
        (
            (jb.run_key(0, 0), jb.algorithms.ucb1(4), jb.environments.bernoulli(MEANS), 5),
            "num_arms 4, bernoulli has num_arms 3",
        ),
        (
            (jb.run_key(0, 0), jb.algorithms.ucb1(3), jb.environments.gaussian(MEANS), 5),
            r"rewards in \[0, 1\], but gaussian has",
        ),
        ((jb.run_key(0, 0), jb.algorithms.ucb1(3), jb.environments.bernoulli(MEANS), 0), "horizon = 0"),
    ],
)
def test_what_cannot_be_rolled_out_is_refused_in_one_line(arguments, words):
    with pytest.raises(ValueError, match=words) as error:
        jb.rollout(*arguments)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(("value", "outcome"), [(np.inf, Outcome.NONFINITE), (1.5, Outcome.OUT_OF_RANGE)])
def test_a_faulty_reward_ends_a_run_as_in_the_engine(value, outcome):
    environment = jb.environments.bernoulli(MEANS)._replace(
        reward=lambda *met: jnp.asarray(value, jnp.result_type(float)), batch=None
    )
    algorithm = jb.algorithms.lucb(3, delta=0.1, sigma=0.5)
    with jax.enable_x64(True):
        found = jb.run_until_stop(jb.run_key(0, 0), algorithm, environment, 20)
    assert int(found.outcome) == outcome


@pytest.mark.parametrize("play", [jb.rollout, jb.run_until_stop])
def test_rewards_that_do_not_fit_are_refused_with_a_way_that_exists(play):
    algorithm, environment = jb.algorithms.uniform(2), jb.environments.gaussian([0.0, 1.0])
    algorithm = algorithm._replace(rewards=jb.Rewards(0.0, 1.0), stop=lambda state: jnp.zeros((), bool))
    with pytest.raises(ValueError, match=r"allow = \[\"rewards\"\] plays it without") as caught:
        play(jb.run_key(0, 0), algorithm, environment, 4)
    assert "\n" not in str(caught.value)
    play(jb.run_key(0, 0), algorithm, environment, 4, allow=("rewards",))


def test_the_gradient_through_a_choice_is_zero_and_that_of_the_gaps_is_not():
    """As the page on composing says."""

    def regret(c, means):
        return jb.rollout(
            jb.run_key(0, 0), jb.algorithms.kl_ucb(2, c=c), jb.environments.bernoulli(means), 30
        ).regret.sum()

    of_c, of_means = jax.jit(jax.grad(regret, (0, 1)))(1.0, jnp.array([0.2, 0.6]))
    assert of_c == 0.0 and of_means[0] == -of_means[1] < 0.0


class Planned(NamedTuple):
    round: jax.Array  # int32[]
    plan: jax.Array  # int32[], the arm of the next rounds
    counts: jax.Array  # int32[3]


def planner():
    """Pulls arm 0 until its first plan, which is due every third round and moves on to the next arm."""
    zero = jnp.zeros((), jnp.int32)

    def update(state, context, action, feedback):
        return Planned(state.round + 1, state.plan, state.counts.at[action].add(1))

    def apply(state):
        return state._replace(round=jnp.zeros((), jnp.int32), plan=(state.plan + 1) % 3)

    return jb.Algorithm(
        init=lambda key: Planned(zero, zero, jnp.zeros(3, jnp.int32)),
        select=lambda noise, state, context: jb.contract.Choice(state.plan, state.counts),
        update=lambda state, context, choice, feedback: update(state, context, choice.action, feedback),
        pulls=lambda state: state.counts,
        replan=jb.contract.Replan(lambda state: state.round == 3, apply),
        name="planner",
    )


def test_steps_by_hand_are_those_of_a_rollout_with_its_plans():
    """Without `replan`, which is easily forgotten, the rule pulls arm 0 for ever."""
    algorithm, key = planner(), jb.run_key(0, 0)
    expected = [0, 0, 0, 1, 1, 1, 2, 2, 2, 0]
    assert jb.rollout(key, algorithm, jb.environments.bernoulli(MEANS), 10).actions.tolist() == expected

    def one(state, t):
        played = jb.step(algorithm, state, lambda action: 10.0 * action.astype(float), jax.random.fold_in(key, t))
        return played.state, (played.action, played.feedback)

    state, (actions, feedback) = jax.lax.scan(one, algorithm.init(key), jnp.arange(10))
    assert actions.tolist() == expected and feedback.tolist() == [10.0 * a for a in expected]
    assert state.counts.tolist() == [4, 3, 3]
    with pytest.raises(ValueError, match=r"^respond fails on \(int32\[\]\): TypeError: "):
        jb.step(algorithm, state, lambda action: action + "", key)


SHARDED = """
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import Mesh, PartitionSpec
import jaxbandit as jb
from test_rollout import planner

mesh, shard = Mesh(np.array(jax.devices()), ("d",)), PartitionSpec("d")
rule, arms = planner(), jb.environments.bernoulli([0.2, 0.5, 0.9])
stops = rule._replace(stop=lambda state: jnp.sum(state.counts) == 7)
for play in (
    lambda run: jb.rollout(jb.run_key(0, run), rule, arms, 20).feedback,
    lambda run: jb.run_until_stop(jb.run_key(0, run), stops, arms, 300).samples,
):
    apart = jax.jit(jax.shard_map(jax.vmap(play), mesh=mesh, in_specs=shard, out_specs=shard))(jnp.arange(4))
    np.testing.assert_array_equal(apart, jax.jit(jax.vmap(play))(jnp.arange(4)))
print(len(jax.devices()))
"""


def test_runs_are_divided_among_devices_by_shard_map():
    """A loop's first state was equal on all devices, and that after a round was not: JAX refused the loop."""
    told = os.environ | {"XLA_FLAGS": "--xla_force_host_platform_device_count=2", "JAX_PLATFORMS": "cpu"}
    told |= {"PYTHONPATH": str(Path(__file__).parent)}
    done = subprocess.run([sys.executable, "-c", SHARDED], env=told, capture_output=True, text=True, check=False)
    assert done.stdout == "2\n", done.stderr


@pytest.mark.parametrize("name", PAIRS)
def test_a_rollout_in_two_parts_has_the_numbers_of_one(name):
    algorithm, environment = PAIRS[name]()
    key = jb.run_key(SEED, RUN)
    whole = jax.jit(lambda: jb.rollout(key, algorithm, environment, HORIZON))()
    first = jax.jit(lambda: jb.rollout(key, algorithm, environment, 23))()
    rest = jax.jit(lambda start: jb.rollout(key, algorithm, environment, HORIZON - 23, start=start))(first)
    assert (int(first.round), int(rest.round)) == (23, HORIZON)
    for part in ("actions", "feedback", "regret", "contexts", "info"):
        jax.tree.map(
            lambda a, b, c: np.testing.assert_array_equal(np.concatenate([a, b]), c),
            getattr(first, part), getattr(rest, part), getattr(whole, part),
        )  # fmt: skip
    for part in ("state", "world", "recommendation"):
        jax.tree.map(np.testing.assert_array_equal, getattr(rest, part), getattr(whole, part))


def test_what_a_rule_says_of_its_choices_is_in_the_rollout_and_in_the_step():
    rule, world = jb.algorithms.maillard(3), jb.environments.bernoulli(MEANS)
    played = jax.jit(lambda: jb.rollout(jb.run_key(0, 0), rule, world, 200))()
    chances = np.asarray(played.info.probability)
    assert chances.shape == (200,) and (chances[:3] == 1).all() and ((chances > 0) & (chances <= 1)).all()
    assert (chances[3:] < 1).any()
    one = jb.step(rule, rule.init(jax.random.key(0)), lambda arm: jnp.float32(1), jax.random.key(1))
    assert float(one.info.probability) == 1.0
    plain = jb.algorithms.ucb1(3)
    assert jb.step(plain, plain.init(jax.random.key(0)), lambda arm: jnp.float32(1), jax.random.key(1)).info is None


def test_a_rollout_goes_on_in_a_world_that_the_caller_changes():
    rule, world = jb.algorithms.ucb1(3), jb.environments.bernoulli(MEANS)
    first = jb.rollout(jb.run_key(0, 0), rule, world, 30)
    turned = jax.tree.map(lambda means: 0 * means, first.world)  # nothing is won any more
    rest = jb.rollout(jb.run_key(0, 0), rule, world, 30, start=first._replace(world=turned))
    assert not np.asarray(rest.feedback).any() and np.asarray(first.feedback).any()
