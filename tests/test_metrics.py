"""Metrics of a run: their values against closed forms and NumPy, what they see, and what is no metric."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxbandit as jb

pytestmark = pytest.mark.quickly_compiled

MEANS = [0.2, 0.5, 0.6]
HORIZON = 150


def in_turn(num_arms, every=1):
    """Plays each arm `every` times in a row; the state is the round."""
    return jb.Algorithm(
        init=lambda key: jnp.int32(0),
        select=lambda noise, state, context: (state // every) % num_arms,
        update=lambda state, context, action, feedback: state + 1,
        name="in_turn",
    )


def paying(reward, **more):
    """An environment without noise whose state is the round, and whose feedback is a function of it and the action."""
    return jb.Environment(
        init=lambda key: jnp.int32(0),
        reward=lambda state, context, action, noise: reward(state, action),
        transition=lambda state, context, action, noise: state + 1,
        name="paying",
        **more,
    )


@pytest.mark.slow
def test_the_vector_world_has_the_switches_and_rewards_of_an_independent_program():
    """The vector world of the specification of contexts, without chance: 1,000 rounds, five arms, four dimensions."""
    t, root = np.arange(1001)[:, None], np.sqrt([2, 3, 5, 7, 11, 13, 17, 19, 23])
    share = np.modf(t * root)[0]
    arms, dims = np.arange(5), np.arange(4)
    contexts, errors = 2 * share[:, :4] - 1, share[:, 4:] - 0.5
    theta = np.sin(1 + 3 * arms[:, None] + 7 * dims) / 2
    means = contexts @ theta.T
    world = paying(lambda t, arm: jnp.array(means + errors, float)[t, arm])._replace(
        init=lambda key: jnp.int32(1),
        observe=lambda t, noise: jnp.array(contexts, float)[t],
        regret=lambda t, context, arm: jnp.array(means.max(1, keepdims=True) - means, float)[t, arm],
    )
    chosen = {"switches": jb.metrics.switches, "reward": jb.metrics.reward}
    options = {"horizon": 1000, "num_runs": 1, "checkpoints": [10, 100, 1000], "precision": "float64"}
    found = jb.simulate(jb.algorithms.lin_ucb_disjoint(5, 4, intercept=False), world, **options, metrics=chosen)
    assert found.arrays["metric/switches"].tolist() == [[7, 88, 864]]
    np.testing.assert_allclose(found.arrays["metric/reward"], [[1.198399, 33.322425, 393.984632]], atol=5e-7)
    np.testing.assert_allclose(found.arrays["regret"][0, -1], 21.497856, atol=5e-7)  # metrics change nothing


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_metrics_are_those_that_numpy_computes_of_a_rollout(precision):
    """Rewards near 1,000, of which the sum of squares has no digit of the variance left in float32."""
    rule, world, marks = (
        jb.algorithms.ucb1(3),
        jb.environments.gaussian(np.array(MEANS) + 1000, sigma=1.0),
        [1, 2, 40, HORIZON],
    )
    chosen = {
        "reward": jb.metrics.reward,
        "variance": jb.metrics.variance,
        "risk": jb.metrics.mean_variance(0.5),
        "switches": jb.metrics.switches,
        "best": jb.metrics.best_arm,
        "second": lambda r: r.action == 1,
        "regret so far": lambda r: r.regret,
        "rounds": jb.metrics.Metric(lambda start=0: jnp.int32(start), lambda n, r: n + 1, lambda n: n),
    }
    options = {"horizon": HORIZON, "num_runs": 3, "checkpoints": marks, "precision": precision, "allow": ["rewards"]}
    found = jb.simulate(rule._replace(rewards=None), world, **options, metrics=chosen)
    with jax.enable_x64(precision == "float64"):
        play = jax.jit(lambda run: jb.rollout(jb.run_key(0, run), rule._replace(rewards=None), world, HORIZON))
        played = [play(run) for run in range(3)]
    close = 1e-12 if precision == "float64" else 2e-6  # a few roundings of numbers near 1,000, relative to them
    for run, each in enumerate(played):
        arms, rewards = np.asarray(each.actions), np.asarray(each.feedback).astype(np.float64)
        got = {name: found.arrays[f"metric/{name}"][run] for name in chosen}
        switched = np.append(False, arms[1:] != arms[:-1])
        for i, t in enumerate(marks):
            assert (got["switches"][i], got["rounds"][i]) == (switched[:t].sum(), t)
            assert (got["best"][i], got["second"][i]) == ((arms[:t] == 2).sum(), (arms[:t] == 1).sum())
            np.testing.assert_allclose(got["reward"][i], rewards[:t].sum(), rtol=close)
            np.testing.assert_allclose(got["variance"][i], rewards[:t].var(), atol=1000 * close)
            np.testing.assert_allclose(got["risk"][i], rewards[:t].var() - 0.5 * rewards[:t].mean(), rtol=2 * close)
        np.testing.assert_allclose(got["regret so far"], found.arrays["regret"][run], rtol=1e-4)  # pulls times gaps
    assert found.arrays["metric/reward"].dtype == precision


def test_sums_are_compensated():
    """A plain float32 sum of 0.1 over 30,000 rounds is wrong by 1e-4."""
    options = {"horizon": 30_000, "num_runs": 1, "checkpoints": [30_000]}
    found = jb.simulate(in_turn(2), paying(lambda t, arm: jnp.zeros(())), **options, metrics={"x": lambda r: 0.1})
    np.testing.assert_allclose(found.arrays["metric/x"], 3000.0, rtol=2e-7)


@pytest.mark.parametrize("every", [1, 4, HORIZON])
def test_switches_of_a_rule_that_plays_in_turn(every):
    options = {"horizon": HORIZON, "num_runs": 1, "checkpoints": range(1, HORIZON + 1)}
    world = paying(lambda t, arm: jnp.zeros(()))
    found = jb.simulate(in_turn(3, every), world, **options, metrics={"switches": jb.metrics.switches})
    np.testing.assert_array_equal(found.arrays["metric/switches"][0], (np.arange(HORIZON)) // every)


JOINT = np.array([[0, 0, 1], [0, 0, 1], [2, 2, 2], [0, 1, 2], [1, 1, 0], [0, 1, 1]], np.int32)


def joint(actions):
    """Plays the rows of a table, one after the other."""
    return in_turn(1)._replace(select=lambda noise, state, context: jnp.array(actions)[state % len(actions)])


def shared(t, arms):
    """A reward for each of several players, and their costs."""
    return jnp.zeros(3), jnp.stack([jnp.float32(2), jnp.float32(arms.sum())])


def test_metrics_take_the_place_of_regret_where_the_feedback_is_not_a_number():
    world, options = paying(shared), {"horizon": 12, "num_runs": 2, "checkpoints": [1, 3, 6, 12]}
    with pytest.raises(ValueError, match=r"there is nothing to record; give metrics$"):
        jb.simulate(joint(JOINT), world, **options)
    chosen = {"collisions": jb.metrics.collisions, "switches": jb.metrics.switches, "sum": jb.metrics.cost(1)}
    found = jb.simulate(joint(JOINT), world, **options, metrics=chosen)
    assert found.measure == "collisions" and found.curves == ("collisions", "switches", "sum")
    # By hand: two players collide in rows 0, 1, 4 and 5, three in row 2, none in row 3.
    np.testing.assert_array_equal(found.arrays["metric/collisions"], [[2, 7, 11, 22]] * 2)
    np.testing.assert_array_equal(found.arrays["metric/switches"][0], [0, 1, 4, 9])
    np.testing.assert_array_equal(found.arrays["metric/sum"][0], [1, 8, 15, 30])
    assert {"regret", "feedback", "mean", "variance"}.isdisjoint(found.arrays)
    assert set(found.to_json()) & {"regret", "feedback", "metrics"} == {"metrics"}
    assert str(found).startswith("in_turn on paying: collisions 22, switches 9, sum 30 after 12 rounds")
    np.testing.assert_array_equal(found.interval().value, [2, 7, 11, 22])
    assert found.to_dataframe()["sum"].tolist() == [1, 8, 15, 30]


def test_switches_of_sets_of_arms():
    sets = np.array([[1, 1, 0], [1, 1, 0], [1, 0, 1]], bool)
    found = jb.simulate(
        joint(sets),
        paying(lambda t, arms: jnp.zeros(())),
        horizon=9,
        num_runs=1,
        checkpoints=[3, 9],
        metrics={"switches": jb.metrics.switches},
    )
    assert found.arrays["metric/switches"].tolist() == [[1, 5]]


@pytest.mark.slow
def test_what_a_round_holds():
    """Each field has a metric that counts the rounds in which it is what it must be."""
    choosing = in_turn(3)._replace(
        select=lambda noise, state, context: jb.contract.Choice(state % 3, {"context": context}),
        update=lambda state, context, chosen, feedback: state + 1,
    )
    world = paying(lambda t, arm: 10.0 * jb.numerics.as_float(arm))._replace(
        init=lambda key: jnp.int32(100),
        observe=lambda t, noise: 2 * t,
        regret=lambda t, context, arm: jb.numerics.as_float(2 - arm),
    )
    right = {
        "state": lambda r: r.state == r.round - 1,  # before its update
        "world": lambda r: r.world == 99 + r.round,  # before its transition
        "context": lambda r: r.context == 2 * r.world,
        "action": lambda r: r.action == r.state % 3,
        "choice": lambda r: (r.choice.action == r.action) & (r.choice.info["context"] == r.context),
        "reward": lambda r: r.feedback == 10.0 * jb.numerics.as_float(r.action),
        "gap of the arm": lambda r: r.regret == 2.0 - jb.numerics.as_float(r.action),
    }
    found = jb.simulate(choosing, world, horizon=20, num_runs=1, checkpoints=[20], metrics=right, allow=("context",))
    assert {name: found.moments(name)[0][-1] for name in right} == dict.fromkeys(right, 20)


def test_a_round_after_the_end_of_a_run_counts_in_no_metric():
    world = paying(lambda t, arm: jnp.where(t < 7, 1.0, jnp.nan), over=lambda t: t >= 7)
    chosen = {"reward": jb.metrics.reward, "switches": jb.metrics.switches, "rounds": lambda r: 1.0}
    found = jb.simulate(in_turn(2), world, horizon=20, num_runs=1, checkpoints=[5, 20], metrics=chosen)
    assert {name: found.arrays[f"metric/{name}"].tolist() for name in chosen} == {
        "reward": [[5, 7]],
        "switches": [[4, 6]],
        "rounds": [[5, 7]],
    }


def metric(step, init=lambda: jnp.zeros(()), value=lambda carry: carry):
    return jb.metrics.Metric(init, step, value)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (lambda r: jnp.zeros(3), r"^metrics\.x returns float32\[3\], must return one number, float\[\]$"),
        (lambda r: None, r"^metrics\.x returns None, must return one number, float\[\]$"),
        (lambda r: (1.0, 2.0), r"^metrics\.x returns a tuple, must return one number, float\[\]$"),
        (lambda r: jnp.complex64(1), r"^metrics\.x returns complex64\[\], must return one number, float\[\]$"),
        (lambda r: r.reward, r"^metrics\.x fails on \(float32\[2\], Round\): AttributeError: 'Round' object has no "),
        (jb.metrics.cost, r"^metrics\.x returns a function, must return one number, float\[\]$"),
        (jb.metrics.cost(0), r"^metrics\.x fails on .*: the feedback must be a tuple \(reward, costs\)$"),
        (
            jb.metrics.collisions,
            r"^metrics\.x fails on .*: the action must be int32\[M\], an arm for each of M players$",
        ),
        (jb.metrics.best_arm, r"^metrics\.x fails on .*: the environment must define regret$"),
        (metric(lambda c, r: jnp.int32(1)), r"^metrics\.x: step changes carry from float32\[\] to int32\[\]: shapes"),
        (metric(lambda c, r: (c, c)), r"^metrics\.x: step returns a carry of structure"),
        (metric(lambda c, r: c, value=lambda c: jnp.zeros(2)), r"^metrics\.x returns float32\[2\], must return one"),
        (metric(lambda c, r: c, init=lambda r: r.reward), r"^metrics\.x fails on \(Round\): AttributeError"),
    ],
)
def test_what_is_no_metric_is_refused_in_one_line(given, reason):
    world = paying(lambda t, arm: jnp.zeros(()))
    with pytest.raises(ValueError, match=reason) as refused:
        jb.simulate(in_turn(2), world, horizon=10, num_runs=1, metrics={"x": given})
    assert "\n" not in str(refused.value)


def test_a_cost_that_is_not_there():
    with pytest.raises(ValueError, match=r"index = 2, must be in \[0, 1\], because there are 2 costs$"):
        jb.simulate(joint(JOINT), paying(shared), horizon=5, num_runs=1, metrics={"x": jb.metrics.cost(2)})
    with pytest.raises(ValueError, match=r"index = -1, must be in \[0, 1\]"):
        jb.simulate(joint(JOINT), paying(shared), horizon=5, num_runs=1, metrics={"x": jb.metrics.cost(-1)})


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (
            {"regret": jb.metrics.reward},
            r"^simulate: metrics: 'regret' is the name of something else in results; choose",
        ),
        ({"mean": jb.metrics.reward}, r"^simulate: metrics: .mean. is the name of something else in results"),
        ({"x": 3}, r"^simulate: metrics: 'x' is of type int, must be a function of a Round or a Metric$"),
        ({"": jb.metrics.reward}, r"^simulate: metrics: name = '', must be a non-empty string of one line"),
        (["reward"], r"^simulate: metrics is a list, must be a dictionary of functions or Metrics by name$"),
    ],
)
def test_names_and_kinds_of_metrics(given, reason):
    with pytest.raises(ValueError, match=reason):
        jb.simulate(in_turn(2), paying(lambda t, arm: jnp.zeros(())), horizon=10, num_runs=1, metrics=given)
