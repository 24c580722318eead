"""Error and simple regret of the recommendation at checkpoints: those of a NumPy replay, and intervals that hold."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import jaxbandit as jb
from jaxbandit.theory.bounded_mean import bounded_mean

pytestmark = [pytest.mark.slow, pytest.mark.quickly_compiled]
matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

MEANS, RUNS, MARKS = np.array([0.3, 0.7, 0.5]), 60, [1, 5, 20, 60]
RULE, WORLD = jb.algorithms.ucb1(3), jb.environments.bernoulli(MEANS)
METRICS = {"wrong": jb.metrics.error, "missing": jb.metrics.simple_regret}
OPTIONS = {"horizon": MARKS[-1], "num_runs": RUNS, "checkpoints": MARKS, "precision": "float64"}


@pytest.fixture(scope="module")
def found():
    return jb.simulate(RULE, WORLD, **OPTIONS, metrics=METRICS)


def test_they_are_those_that_numpy_computes_of_a_rollout(found):
    """UCB1 recommends the arm that was pulled most, the first of them: of all rounds up to and with the checkpoint."""
    with jax.enable_x64(True):
        rollout = jax.jit(jax.vmap(lambda run: jb.rollout(jb.run_key(0, run), RULE, WORLD, MARKS[-1])))
        actions = np.asarray(rollout(jnp.arange(RUNS)).actions)
    for k, t in enumerate(MARKS):
        counts = np.stack([(actions[:, :t] == arm).sum(1) for arm in range(3)], 1)
        missing = 0.7 - MEANS[counts.argmax(1)]
        np.testing.assert_allclose(found.arrays["metric/missing"][:, k], missing, atol=1e-15)  # one rounding
        np.testing.assert_array_equal(found.arrays["metric/wrong"][:, k], missing > 0)
    assert 0 < found.moments("wrong")[0][-1] < found.moments("wrong")[0][0] == 1


def test_intervals_are_those_of_bounded_variables(found):
    errors, interval = found.arrays["metric/wrong"], found.interval(what="wrong")
    for k in range(len(MARKS)):
        theirs = stats.binomtest(int(errors[:, k].sum()), RUNS).proportion_ci(0.95, method="exact")
        # The saddlepoint approximation is at most half a percent too far outside.
        np.testing.assert_allclose([interval.low[k], interval.high[k]], theirs, atol=0.005)
    gap = bounded_mean(found.arrays["metric/missing"][:, 2], 0.0, 0.7 - 0.3)
    own = found.interval(what="missing")
    np.testing.assert_allclose([own.low[2], own.high[2]], gap[-2:], rtol=1e-12)
    assert 0 < own.low[2] < own.value[2] < own.high[2] < 0.4
    assert found.identity["limits"] == {"wrong": [0.0, 1.0], "missing": [0.0, "gap"]}
    assert not [note for note in found.notes() if "skewed" in note]
    texts = [text.get_text() for text in jb.plot([found], what="wrong").texts]
    assert f"ucb1  {errors[:, -1].mean():.2f} [{interval.low[-1]:.2f}, {interval.high[-1]:.2f}]" in texts


def test_without_single_runs_an_interval_is_never_certain():
    means = jb.simulate(RULE, WORLD, **OPTIONS, metrics=METRICS, keep=())
    interval = means.interval(what="wrong")
    assert interval.low[0] < interval.high[0] == 1 and interval.low.min() >= 0
    certain = jb.simulate(RULE, jb.environments.bernoulli([0.5, 0.5, 0.5]), **OPTIONS, metrics=METRICS)
    assert not certain.arrays["metric/wrong"].any()
    assert certain.interval(what="wrong").high[-1] == pytest.approx(1 - 0.025 ** (1 / RUNS))  # of none among the runs


def test_where_the_means_are_drawn_nothing_bounds_the_simple_regret():
    world = jb.drawn(jb.environments.bernoulli, means=lambda key: jax.random.uniform(key, 3))
    drawn = jb.simulate(RULE, world, **OPTIONS, metrics=METRICS)
    column = drawn.arrays["metric/missing"][:, -1]
    low, high = stats.t.interval(0.95, RUNS - 1, column.mean(), stats.sem(column))
    interval = drawn.interval(what="missing")
    np.testing.assert_allclose([interval.low[-1], interval.high[-1]], [max(low, 0), high])
    assert any("missing is skewed" in note for note in drawn.notes())


def test_of_runs_that_stop_they_are_the_shortfall():
    rule = functools.partial(jb.algorithms.top_two, 3, delta=0.3)
    stopped = jb.identify(rule, WORLD, num_runs=40, metrics=METRICS)
    shortfall = stopped.arrays["shortfall"]
    np.testing.assert_array_equal(stopped.arrays["metric/missing"], shortfall)
    np.testing.assert_array_equal(stopped.arrays["metric/wrong"], shortfall > 0)
    error = stopped.error()
    content = stopped.to_json()["metrics"]["wrong"]
    np.testing.assert_allclose([content["low"], content["high"]], [error.low, error.high], atol=0.005)


def test_an_own_metric_sees_the_run_after_the_round():
    rounds = jb.metrics.Metric(lambda: (), lambda carry, r: carry, lambda carry, now: now.state.arms.counts.sum())
    own = jb.simulate(RULE, WORLD, **OPTIONS, metrics={"rounds": rounds})
    np.testing.assert_array_equal(own.arrays["metric/rounds"][0], MARKS)
    assert "limits" not in own.identity and own.limits("rounds") == (-np.inf, np.inf)


def test_what_is_not_known_is_left_out_and_said():
    """An environment that cannot judge one arm: NaN is neither right nor wrong."""

    def judge(world, arm):
        return jnp.where(arm.reshape(-1)[0] == 2, jnp.nan, 0.0)

    doubtful = jb.simulate(RULE, WORLD._replace(simple_regret=judge), **OPTIONS, metrics=METRICS)
    known = np.isfinite(doubtful.arrays["metric/wrong"]).all(1)
    assert 0 < known.sum() < RUNS and doubtful.counted_in("wrong") == known.sum()
    assert not doubtful.arrays["metric/wrong"][known].any()
    assert doubtful.interval(what="wrong").high[-1] == pytest.approx(1 - 0.025 ** (1 / known.sum()))


@pytest.mark.parametrize("rule", [RULE, jb.algorithms.exp3(3)._replace(recommend=None, pulls=None)])
def test_what_nobody_judges_is_refused_in_one_line(rule):
    world = WORLD._replace(simple_regret=None) if rule is RULE else WORLD
    reason = r"metrics\.wrong fails .*: the algorithm must recommend an arm, and the environment define simple_regret$"
    with pytest.raises(ValueError, match=reason) as info:
        jb.simulate(rule, world, **OPTIONS, metrics={"wrong": jb.metrics.error})
    assert "\n" not in str(info.value)
