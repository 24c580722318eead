"""Runs that go wrong, worlds whose truth is drawn or not known, promises: what simulate and identify make of them."""

import json
import warnings
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from results_by_hand import result

from jaxbandit.algorithms.exploration.presets import lucb
from jaxbandit.algorithms.regret.kl_ucb import kl_ucb
from jaxbandit.algorithms.regret.ucb import ucb1
from jaxbandit.base.contract import Environment, Outcome, Promise
from jaxbandit.engine.layout import compiled
from jaxbandit.environments.stationary.bernoulli import bernoulli
from jaxbandit.environments.stationary.gaussian import gaussian
from jaxbandit.lab import cli
from jaxbandit.lab.papers import measures, report, verdict
from jaxbandit.running.identify import identify
from jaxbandit.running.plotting.figures import plot
from jaxbandit.running.results.base import ResultSet
from jaxbandit.running.results.report import table
from jaxbandit.running.simulate import simulate
from jaxbandit.running.sweep import sweep
from jaxbandit.support.refusals import RunsLeftOut
from jaxbandit.support.types import Array
from jaxbandit.theory import intervals
from jaxbandit.theory.bounds.regret import bernoulli_regret_constant

pytestmark = [pytest.mark.slow, pytest.mark.quickly_compiled]
matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

MEANS = [0.1, 0.5, 0.9]
SMALL = {"horizon": 60, "num_runs": 500, "seed": 5, "checkpoints": [1, 20, 60]}


class Faulty(NamedTuple):
    """A state, and whether its run is one of the faulty ones."""

    inner: Any
    broken: Any
    means: Any


def faulty(environment, share, fault):
    """The environment, with a feedback of `fault` from the first round on in a share of the runs."""

    def init(key):
        inner = environment.init(key)
        return Faulty(inner, jax.random.uniform(jax.random.fold_in(key, 1)) < share, inner.means)

    def of_inner(function):
        return lambda state, *rest: function(state.inner, *rest)

    def reward(state, context, action, noise):
        return jnp.where(state.broken, fault, environment.reward(state.inner, context, action, noise))

    return environment._replace(
        init=init,
        reward=reward,
        regret=of_inner(environment.regret),
        simple_regret=of_inner(environment.simple_regret),
        batch=None,
        name="faulty",
    )


@pytest.fixture(scope="module")
def world():
    return bernoulli(MEANS)


@pytest.fixture(scope="module")
def rule():
    return ucb1(3)


@pytest.fixture(scope="module")
def clean(rule, world):
    return simulate(rule, world, **SMALL)


@pytest.mark.parametrize(("fault", "outcome"), [(np.nan, 2), (2.0, 4)])
def test_runs_that_go_wrong_are_in_no_mean_and_all_is_said(clean, rule, world, fault, outcome):
    with pytest.warns(RunsLeftOut) as said:
        r = simulate(rule, faulty(world, 0.2, fault), **SMALL, max_failed=1.0)
    bad = r.arrays["outcome"] == outcome
    count = int(bad.sum())
    assert 60 < count < 140 and r.counted == 500 - count
    words = f"{count} of 500 runs left out: {'not finite' if outcome == 2 else 'rewards out of range'}"
    assert [str(w.message) for w in said] == [f"faulty/ucb1: {words}"]
    good = clean.arrays["regret"][~bad].astype(np.float64)
    np.testing.assert_allclose(r.arrays["mean"], good.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(r.arrays["variance"], good.var(axis=0, ddof=1), rtol=1e-9)
    cell = json.loads(json.dumps(r.to_json(), allow_nan=False))
    assert cell["regret"]["runs"] == 500 - count and sum(cell["outcomes"].values()) == 500
    assert f"ucb1: {words}" in table([r]) and f"{500 - count} of 500" in table([r]) and words in repr(r)
    assert any(words in text.get_text() for text in plot([r]).texts)


def test_more_failed_runs_than_allowed_is_an_error_of_one_line(rule, world):
    with pytest.raises(ValueError, match=r"ucb1: .* of 500 runs left out: not finite; max_failed = 0.1") as error:
        simulate(rule, faulty(world, 0.2, np.nan), **SMALL)  # the default: means over few runs say little
    assert "\n" not in str(error.value)
    with pytest.raises(ValueError, match=r"max_failed = 1.5, must be a number in \[0, 1\]"):
        simulate(rule, world, **SMALL, max_failed=1.5)


def test_runs_that_stop_leave_out_what_went_wrong():
    broken, rule = faulty(gaussian([1.0, 0.0], sigma=0.5), 0.2, np.nan), lucb(2, sigma=0.5)
    with pytest.warns(RunsLeftOut, match="of 70 runs left out: not finite"):
        r = identify(rule, broken, num_runs=70, max_rounds=5000, max_failed=0.5)
    bad = r.outcomes()["nonfinite"]
    assert bad and len(r.samples()) == r.to_json()["samples"]["runs"] == 70 - bad
    with pytest.raises(ValueError, match=r"max_failed = 0\.1 allows a fraction of 0\.1"):
        identify(rule, broken, num_runs=70, max_rounds=5000)
    with pytest.raises(ValueError, match="max_failed = 0 allows none"):
        identify(rule, broken, num_runs=70, max_rounds=5000, max_failed=0)


def test_means_that_init_draws_are_recorded_as_none(rule, world):
    def init(key):
        return world.init(key)._replace(means=jax.random.uniform(key, (3,)))

    r = simulate(rule, world._replace(init=init), **SMALL)
    assert "means" not in r.truth and "regret_constant" not in r.truth
    moving = world._replace(transition=lambda state, context, action, noise: state, batch=None)
    assert "means" not in simulate(rule, moving, **SMALL).truth


def test_the_lower_bound_is_known_in_python(clean):
    assert clean.truth == {"means": MEANS, "regret_constant": bernoulli_regret_constant(MEANS)}
    assert (clean.algorithm, clean.instance) == ("ucb1", "bernoulli")


def test_unknown_truth_holds_mean_feedback(clean, rule, world):
    r = simulate(rule, world._replace(regret=None), **SMALL)
    pulls = clean.arrays["pulls"]
    np.testing.assert_array_equal(r.arrays["pulls"], pulls)  # the same play
    assert r.measure == "feedback" and "regret" not in r.to_json() and "regret" not in r.arrays
    # A mean of 500 means of 60 rewards of variance at most 1/4: six standard errors, false alarm below 1e-8.
    expected = (pulls @ np.array(MEANS)).mean() / 60
    assert abs(r.arrays["mean"][-1] - expected) < 6 * np.sqrt(0.25 / 60 / 500)
    assert "mean feedback" in table([r]) and "regret  " not in table([r])


def test_hindsight_of_one_best_arm_is_the_regret(rule, world):
    r = simulate(rule, world, **SMALL, hindsight=True)
    np.testing.assert_allclose(r.arrays["hindsight"], r.arrays["regret"], rtol=1e-5, atol=1e-5)
    assert r.to_json()["hindsight"]["mean"] == pytest.approx(r.to_json()["regret"]["mean"], rel=1e-5)


def test_rewards_that_the_algorithm_is_not_made_for(rule):
    wide = gaussian([0.0, 5.0, 10.0], sigma=3.0)
    with pytest.raises(ValueError, match="allow = "):
        simulate(kl_ucb(3), wide, **SMALL)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RunsLeftOut)
        r = simulate(rule, wide, **SMALL, allow=("rewards",))
    assert r.any_rewards and r.to_json()["any_rewards"] and "is not designed for" in table([r])
    assert not simulate(rule, bernoulli(MEANS), **SMALL, allow=("rewards",)).any_rewards  # nothing amiss: no mark


def test_the_promise_is_said_once():
    world, told = gaussian([1.0, 0.0], sigma=0.5), lucb(2, delta=0.3, sigma=0.5)
    r = identify(told, world, num_runs=70)
    assert (r.guarantee["delta"], r.guarantee["m"], r.to_json()["error"]["delta"]) == (0.3, 1, 0.3)
    assert identify(told, world, num_runs=70, delta=0.3).guarantee == r.guarantee
    with pytest.raises(ValueError, match=r"delta = 0.01, but lucb guarantees delta = 0.3") as error:
        identify(told, world, num_runs=70, delta=0.01)
    assert "\n" not in str(error.value)
    with pytest.raises(ValueError, match=r"epsilon = 0.1, but lucb guarantees epsilon = 0"):
        identify(told, world, num_runs=70, epsilon=0.1)
    silent = told._replace(promise=None)
    cell = identify(silent, world, num_runs=70, epsilon=0.25)
    assert cell.guarantee == {"epsilon": 0.25} and "delta" not in cell.to_json()["error"] and cell.promised == ""
    with pytest.raises(ValueError, match="lucb guarantees no error rate"):
        identify(silent, world, num_runs=70, delta=0.05)
    guess = identify(told._replace(promise=Promise(0.3, proved=False)), world, num_runs=70)
    assert "0.3 (heuristic)" in table([guess]) and guess.to_json()["error"]["proved"] is False


def test_a_swept_promise_is_read_off_the_algorithm():
    world = gaussian([1.0, 0.0], sigma=0.5)
    swept = sweep(lambda d: lucb(2, delta=d, sigma=0.5), world, {"d": [0.05, 0.2]}, num_runs=70)
    assert [r.guarantee["delta"] for r in swept] == [0.05, 0.2]


def test_objects_that_hold_arrays_are_compiled_once():
    world = gaussian(jnp.array([1.0, 0.0]), sigma=jnp.array(0.5))
    told = lucb(2, delta=jnp.array(0.3), sigma=jnp.array(0.5))
    compiled.forget()
    first = identify(told, world, num_runs=70)
    again = identify(told, world, num_runs=70, seed=1)
    assert again.seconds["compile"] < 0.2 * first.seconds["compile"]
    assert first.guarantee["delta"] == 0.3  # and not the nearest float32


def test_an_environment_without_a_name_has_none_in_its_title(rule):
    base = bernoulli(MEANS)
    bare = Environment(init=base.init, reward=base.reward, noise=base.noise, regret=base.regret)
    r = simulate(rule, bare, **SMALL)
    assert r.instance == "environment" and r.plot().get_title(loc="left").startswith("Mean regret of 500 runs")


def test_verdicts_are_of_the_pairs_in_which_both_runs_count():
    rows = np.random.default_rng(0).normal(5, 1, (30, 3))
    faults = np.arange(30) % 10 == 3
    holes = np.where(faults[:, None], np.nan, rows)
    some = result(holes, algorithm="a", outcome=np.where(faults, Outcome.NONFINITE, 0))
    results = ResultSet("demo", (some, result(rows + np.arange(30)[:, None], algorithm="b")))
    claim = {"id": "1", "text": "", "source": "", "instance": "it", "algorithm": "a", "relation": "below"}
    [judged] = verdict.judge([claim | {"against": "b"}], results)
    [check] = judged["checks"]
    exact = intervals.student_of(-np.arange(30)[~faults])
    np.testing.assert_allclose([check[k] for k in ("difference", "low", "high")], [exact[0], *exact[2:]], rtol=1e-5)
    ratio = measures.sample("regret", measures.Quantity("it", "a", over="b"), results).values
    both = results["it/a"].arrays["regret"][~faults, 2], results["it/b"].arrays["regret"][~faults, 2]
    assert np.nanmean(ratio) == pytest.approx(both[0].mean() / both[1].mean(), rel=1e-6)
    nothing = ResultSet("demo", (result(np.full((5, 3), np.nan), algorithm="a", outcome=[2] * 5), results[1]))
    [judged] = verdict.judge([claim | {"against": "b"}], nothing)
    assert judged["verdict"] == "undecided"
    about = {"paper": {"title": "", "year": 0, "url": "", "confidence": 0.95}, "published": [], "claims": []}
    figure = {"title": "", "instances": ["it"], "algorithms": ["a"], "draw": "each"}
    text = report.report(nothing.to_json() | about | {"figures": [figure], "untested": []})
    assert "it/a: 5 of 5 runs left out: not finite" in text and "no run is counted" in text
    json.dumps(nothing.to_json(), allow_nan=False)


BROKEN = """
kind = "simulate"
runs = 100
horizon = 60

[[instance]]
name = "it"
type = "test_runs_left_out:broken_world"
means = [0.1, 0.5, 0.9]

[[algorithm]]
type = "ucb1"
"""


def broken_world(means: Array) -> Environment:
    """A world in which a fifth of the runs see NaN."""
    return faulty(bernoulli(means), 0.2, np.nan)


def test_the_command_line_says_it_in_a_line(tmp_path, capsys):
    path = tmp_path / "x.toml"
    path.write_text(BROKEN)
    assert cli.main(["run", str(path), "--out", str(tmp_path / "out"), "--max-failed", "0.5"]) == 0
    said = capsys.readouterr()
    [line] = [line for line in said.err.splitlines() if "left out" in line]
    assert line.startswith("jaxbandit: warning: it/ucb1: ") and "runs left out: not finite" in said.out
    assert cli.main(["run", str(path), "--out", str(tmp_path / "out"), "--max-failed", "0"]) == 2
    assert "max_failed = 0 allows none" in capsys.readouterr().err
