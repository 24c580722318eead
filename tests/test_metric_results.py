"""Metrics in results: the same bytes however they were played, their intervals, files and figures; last states."""

import functools
import json
import re
from concurrent.futures import ThreadPoolExecutor

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from small_experiment import Stop, content, stop_after

import jaxbandit as jb
from jaxbandit.running import sizes
from jaxbandit.running.results.report import table

pytestmark = [pytest.mark.slow, pytest.mark.quickly_compiled]
matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

MARKS = [10, 100, 300]
RULES = {"ucb1": functools.partial(jb.algorithms.ucb1, 3), "thompson": functools.partial(jb.algorithms.thompson, 3)}
WORLD = functools.partial(jb.environments.bernoulli, [0.4, 0.5, 0.6])
OPTIONS = {"horizon": 300, "num_runs": 150, "checkpoints": MARKS}


def odd(r):
    """Not finite in the runs that play arm 1 in round 50."""
    return jnp.where((r.round == 50) & (r.action == 1), jnp.nan, 1.0)


def one_arm(r):
    return 5.0 * jb.numerics.as_float(r.action == 1)


LAST = jb.metrics.Metric(lambda r: jnp.zeros_like(r.action), lambda last, r: r.action, lambda last: last)
METRICS = {"switches": jb.metrics.switches, "cost": one_arm, "odd": odd, "last": LAST, "risk": jb.metrics.variance}


def play(rule="ucb1", **more):
    given = OPTIONS | {"metrics": METRICS, "keep": ("runs", "states")} | more
    return jb.simulate(RULES[rule], WORLD, **given)


@pytest.fixture(scope="module")
def found():
    return play()


@pytest.fixture(scope="module")
def other():
    return play("thompson", keep=("runs",))


def test_regret_is_the_same_with_and_without_metrics(found):
    alone = jb.simulate(RULES["ucb1"], WORLD, **OPTIONS)
    for name, array in alone.arrays.items():
        assert array.tobytes() == found.arrays[name].tobytes(), name
    assert set(found.identity) - set(alone.identity) == {"metrics", "states"}
    assert {k for k in alone.identity if alone.identity[k] != found.identity[k]} == {"program"}


@pytest.mark.parametrize(
    "how",
    [{"width": 64}, {"chunk": 64}, {"workers": 2, "width": 64}, {"executor": ThreadPoolExecutor, "runs_per_task": 70}],
    ids=["tiles", "chunks", "threads", "tasks"],
)
def test_the_same_bytes_however_runs_are_played(found, how):
    if "executor" in how:
        with ThreadPoolExecutor(1) as pool:
            again = play(execution=jb.Execution(**how | {"executor": pool}))
    else:
        again = play(execution=jb.Execution(**how))
    assert content([again]) == content([found])
    for name in found.metrics:
        for mine, theirs in zip(again.moments(name), found.moments(name), strict=True):
            assert mine.tobytes() == theirs.tobytes()
    assert jax.tree.map(np.array_equal, again.states, found.states) == jax.tree.map(lambda x: True, found.states)


def test_a_metric_without_a_name_in_a_module_is_not_sent_to_workers():
    with (
        ThreadPoolExecutor(1) as pool,
        pytest.raises(ValueError, match=r"metric x must be a function of a module that"),
    ):
        play(metrics={"x": lambda r: 1.0}, execution=jb.Execution(executor=pool))
    with ThreadPoolExecutor(1) as pool, pytest.raises(ValueError, match=r"metric x must be .*, but it is Metric$"):
        play(metrics={"x": jb.metrics.mean_variance(1.0)}, execution=jb.Execution(executor=pool))


def test_means_alone_are_the_means_of_all_runs(found):
    means = play(keep=["states"])
    assert {"regret", "metric/cost"}.isdisjoint(means.arrays) and means.states.means.shape == (150, 3)
    for name in found.metrics:
        assert means.counted_in(name) == found.counted_in(name)
        for mine, theirs in zip(means.moments(name), found.moments(name), strict=True):
            assert mine.tobytes() == theirs.tobytes()


def test_an_interrupted_simulation_resumes_with_its_metrics(found, tmp_path):
    how = jb.Execution(width=64, chunk=64, directory=tmp_path)
    with pytest.raises(Stop):
        play(execution=how._replace(progress=stop_after(4)))
    assert (tmp_path / "live.npz").exists()
    for changes, reason in [
        ({"metrics": {"switches": jb.metrics.switches}}, r"metrics \['switches', 'cost', .*\], here \['switches'\]"),
        (
            {"metrics": METRICS | {"cost": lambda r: r.feedback}},
            r"the program \(algorithm, environment or .*\) differs",
        ),
        (
            {"metrics": METRICS | {"last": LAST._replace(init=lambda r: jnp.int32(1))}},
            r"the program \(algorithm, .*\) diff",
        ),
        ({"keep": ("runs", lambda state: state.means)}, r"the program \(algorithm, environment or .*\) differs"),
        ({"keep": ("runs",)}, r"states True, here None"),
        ({"metrics": None}, r"metrics \[.*\], here None"),
    ]:
        with pytest.raises(ValueError, match=reason):
            play(**changes, execution=how)
    again = play(execution=how)
    assert content([again]) == content([found]) and again.run_steps < found.run_steps


def test_a_run_whose_metric_is_not_finite_is_left_out_of_that_metric_only(found, other):
    rows, finite = found.arrays["metric/odd"], np.isfinite(found.arrays["metric/odd"]).all(1)
    lacking = int((~finite).sum())
    assert 10 < lacking < 140 and np.isfinite(rows[:, 0]).all()
    assert found.counted_in("odd") == finite.sum() and found.counted_in("cost") == found.counted == 150
    np.testing.assert_array_equal(found.counts("odd"), finite)
    assert found.counts().all() and found.counts("cost").all()
    np.testing.assert_array_equal(found.moments("odd")[0], MARKS)  # at the first checkpoint too, only of these runs
    line = f"ucb1: {lacking} of 150 runs left out of odd: not finite"
    assert line in found.notes() and found.notes("cost") == [] and found.notes("odd") == [line]
    cell = found.to_json()
    assert cell["metrics"]["odd"]["runs"] == finite.sum() and cell["metrics"]["cost"]["runs"] == 150
    assert line in cell["notes"] and "outcomes" not in cell
    json.dumps(cell, allow_nan=False)
    assert line in table([found, other])
    shown = [text.get_text() for text in found.plot(what="odd").texts]
    assert line in "\n".join(shown)
    pairs = finite & np.isfinite(other.arrays["metric/odd"]).all(1)
    compared = jb.compare(found, other, what="odd", at=100)
    assert (compared.runs, compared.left_out, compared.paired) == (pairs.sum(), 150 - pairs.sum(), True)
    assert jb.compare(found, other).left_out == 0


def test_a_metric_that_is_finite_in_no_run():
    never = play(metrics={"odd": lambda r: jnp.inf}, keep=("runs",))
    assert never.counted_in("odd") == 0 and never.counted == 150
    assert "no odd, because no run is valid" in str(never) and "(no valid run)" in table([never])
    assert never.to_json()["metrics"]["odd"] == {"at": [], "mean": [], "runs": 0}
    with pytest.raises(ValueError, match="0 valid pairs of runs"):
        jb.compare(never, never, what="odd")


def test_intervals_and_paired_differences_are_those_of_scipy(found, other):
    rows = found.arrays["metric/cost"].astype(np.float64)
    interval = found.interval(what="cost")
    low, high = stats.t.interval(0.95, 149, rows[:, 2].mean(), stats.sem(rows[:, 2]))
    np.testing.assert_allclose((interval.value[2], interval.low[2], interval.high[2]), (rows[:, 2].mean(), low, high))
    apart = rows[:, 1] - other.arrays["metric/cost"][:, 1]
    compared = jb.compare(found, other, what="cost", at=100)
    low, high = stats.ttest_1samp(apart, 0.0).confidence_interval(0.95)
    np.testing.assert_allclose((compared.difference, compared.low, compared.high), (apart.mean(), low, high))
    assert (compared.quantity, compared.at, compared.paired) == ("cost", 100, True)
    assert jb.compare(found, other, what="regret") == jb.compare(found, other)
    assert (found.at(), found.at(100), found.at(fraction=0.3)) == (2, 1, 1)


@pytest.mark.parametrize("use", ["interval", "compare", "plot"])
def test_a_misspelt_name_is_refused_with_the_nearest_one(found, other, use):
    with pytest.raises(ValueError, match=r"what = \"cots\", must be one of .*did you mean 'cost'"):
        {
            "interval": lambda: found.interval(what="cots"),
            "compare": lambda: jb.compare(found, other, what="cots"),
            "plot": lambda: found.plot(what="cots"),
        }[use]()


def test_what_is_saved_is_read_again(found, tmp_path):
    found.save(tmp_path / "one")
    again = jb.load(tmp_path / "one")[0]
    assert (again.metrics, again.curves, str(again)) == (found.metrics, found.curves, str(found))
    assert again.to_json() == found.to_json()
    with np.load(tmp_path / "one" / "cell-000.npz") as file:  # without this package
        np.testing.assert_array_equal(file["metric/cost"], found.arrays["metric/cost"])
    np.testing.assert_array_equal(again.states["arms/means"], found.states.means)
    again.save(tmp_path / "two")
    assert (tmp_path / "two/cell-000.npz").read_bytes() == (tmp_path / "one/cell-000.npz").read_bytes()


def test_frames_have_the_metrics(found):
    frame = found.to_dataframe()
    assert list(frame["round"]) == MARKS and list(frame["cost"]) == list(found.moments("cost")[0])
    np.testing.assert_allclose(frame["cost_high"], found.interval(what="cost").high)
    data = found.to_xarray()
    assert data["metric.cost"].dims == ("run", "checkpoint") and data["metric_mean.cost"].dims == ("checkpoint",)
    assert data["state.arms.means"].dims[0] == "run"
    assert not any("/" in str(name) for name in (*data.variables, *data.dims))  # netCDF has groups with slashes


def test_last_states_are_those_of_a_rollout(found):
    whole = jax.jit(lambda run: jb.rollout(jb.run_key(0, run), RULES["ucb1"](), WORLD(), 300).state)
    for run in (0, 149):
        kept = jax.tree.map(lambda leaf, run=run: leaf[run], found.states)
        jax.tree.map(functools.partial(np.testing.assert_allclose, rtol=1e-6), kept, whole(run))
    part = play(keep=(lambda state: state.means[2] - state.means[0],), metrics=None)
    np.testing.assert_allclose(part.states, found.states.means[:, 2] - found.states.means[:, 0], rtol=1e-6)
    for keep in ("runs", True, ("yes",), ("states", len), (None,)):
        with pytest.raises(ValueError, match=r'^simulate: keep = .*, must list at most "runs", and "states" or a func'):
            play(keep=keep)


def test_a_sweep_has_metrics():
    given = {"horizon": 60, "num_runs": 3, "checkpoints": [60], "metrics": {"switches": jb.metrics.switches}}
    rules = jb.sweep(
        lambda epsilon: jb.algorithms.epsilon_greedy(3, epsilon=epsilon), WORLD(), {"epsilon": [0.0, 1.0]}, **given
    )
    greedy, uniform = (result.moments("switches")[0][0] for result in rules)
    assert greedy < 20 < uniform < 60


def test_more_than_half_of_the_memory_is_refused_with_its_size(monkeypatch):
    """A run takes 1 byte, 4 x 3 for each curve, 4 x 3 of pulls, and 64 of the last state of ucb1."""
    for more, needed in [({"keep": ("runs",)}, 1 + 6 * 12 + 12), ({"metrics": None}, 1 + 12 + 12 + 64)]:
        asked = []

        def shortage(*given, asked=asked, **how):
            asked.append((given[0], how))
            raise Stop

        with monkeypatch.context() as patch, pytest.raises(Stop):
            patch.setattr(sizes, "shortage", shortage)
            play(**more)
        assert asked == [(150 * needed, {"half": True})]
        with (
            monkeypatch.context() as patch,
            pytest.raises(ValueError, match=r"KiB in all, and this machine has .* at most"),
        ):
            patch.setattr(sizes, "memory", lambda needed=needed: 2 * 150 * needed - 2)
            play(**more)
    monkeypatch.setattr(sizes, "memory", lambda: 100)
    assert sizes.shortage(100, None, "ask for less") == ""  # without them all of it may be used
    assert sizes.shortage(50, None, "ask for less", half=True) == ""


def test_figures_name_the_metric(found, other, tmp_path):
    axes = jb.plot([found, other], what="cost")
    assert axes.get_ylabel() == "cost" and axes.get_title(loc="left") == "bernoulli: mean cost of 150 runs, 95 % bands"
    curves = {line.get_label(): line for line in axes.get_lines() if line.get_gid() == "curve"}
    np.testing.assert_array_equal(curves["ucb1"].get_ydata(), found.moments("cost")[0])
    half = found.interval(what="risk").high[-1] - found.moments("risk")[0][-1]
    shown = [text.get_text() for text in jb.plot([found, other], what="risk").texts]
    value, error = re.search(r"ucb1  ([\d.]+) ± ([\d.]+)", "\n".join(shown)).groups()
    assert len(value) == len(error) >= 5 and float(error) == pytest.approx(half, rel=0.1)
    from jaxbandit.running.plotting.figures import write_figures

    names = [path.name for path in write_figures([found, other], tmp_path)]
    assert names == [f"{name}-bernoulli.png" for name in ("regret", *METRICS)]
