"""Metrics and last states of runs that stop: those of a NumPy replay of each run, however the runs were played."""

import functools
import json
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from small_experiment import Stop, content, stop_after, written

import jaxbandit as jb
from jaxbandit.engine.driver.identify import identify_cell
from jaxbandit.lab import cli
from jaxbandit.lab.experiments.experiment import run_experiment
from jaxbandit.lab.specs import spec
from jaxbandit.running.results.report import table

pytestmark = [pytest.mark.slow, pytest.mark.quickly_compiled]

MEANS, RUNS, MOST = [0.8, 0.4, 0.2], 70, 60
RULE = functools.partial(jb.algorithms.top_two, 3, delta=0.2)
WORLD = functools.partial(jb.environments.bernoulli, MEANS)


def odd(r):
    """Not finite in the runs that play arm 2 in round 9."""
    return jnp.where((r.round == 9) & (r.action == 2), jnp.nan, 1.0)


LAST = jb.metrics.Metric(lambda r: jnp.zeros_like(r.action), lambda last, r: r.action, lambda last: last)
METRICS = {"reward": jb.metrics.reward, "switches": jb.metrics.switches, "odd": odd, "last": LAST}


def play(rule=RULE, **more):
    given = {"num_runs": RUNS, "max_rounds": MOST, "metrics": METRICS, "keep": ("runs", "states")} | more
    return jb.identify(rule, WORLD, **given)


@pytest.fixture(scope="module")
def found():
    return play()


@pytest.fixture(scope="module")
def rounds():
    """The actions and rewards of every run, of all rounds in which it could be."""
    with jax.enable_x64(True):
        rollout = jax.jit(jax.vmap(lambda run: jb.rollout(jb.run_key(0, run), RULE(), WORLD(), MOST)))
        played = rollout(jnp.arange(RUNS))
    return np.asarray(played.actions), np.asarray(played.feedback)


def test_metrics_and_last_states_are_those_that_numpy_computes_of_each_run(found, rounds):
    samples, censored = found.arrays["samples"], found.arrays["outcome"] == 1
    assert 5 < censored.sum() < RUNS - 5 and found.censored == censored.sum()
    for run, (arms, rewards, n) in enumerate(zip(*rounds, samples, strict=True)):
        arms, rewards = arms[:n], rewards[:n]
        got = {name: found.arrays[f"metric/{name}"][run] for name in METRICS}
        np.testing.assert_allclose(got["reward"], rewards.sum(), rtol=1e-12, atol=1e-12)  # roundings of float64
        assert (got["switches"], got["last"]) == ((arms[1:] != arms[:-1]).sum(), arms[-1])
        assert got["odd"] == n or (np.isnan(got["odd"]) and n >= 9 and arms[8] == 2)
        state = jax.tree.map(lambda x, run=run: x[run], found.states.arms)
        np.testing.assert_array_equal(state.counts, np.bincount(arms, minlength=3))
        means = [rewards[arms == arm].mean() for arm in range(3)]
        np.testing.assert_allclose(state.means, means, rtol=1e-9, atol=1e-12)
    assert {"metric/reward", "state/arms/counts"} <= found.arrays.keys()


def test_what_is_recorded_changes_nothing(found):
    alone = jb.identify(RULE, WORLD, num_runs=RUNS, max_rounds=MOST)
    for name, array in alone.arrays.items():
        assert array.tobytes() == found.arrays[name].tobytes(), name
    assert set(found.identity) - set(alone.identity) == {"metrics", "states"}
    assert {k for k in alone.identity if alone.identity[k] != found.identity[k]} == {"program"}


@pytest.mark.parametrize("how", [{"width": 64, "chunk": 1}, {"workers": 2}, {"runs_per_task": 40}], ids=str)
def test_the_same_bytes_however_runs_are_played(found, how):
    with ThreadPoolExecutor(1) as pool:
        more = {"executor": pool} if "runs_per_task" in how else {}
        again = play(execution=jb.Execution(**how, **more))
    assert content([again]) == content([found]) and again.to_json()["metrics"] == found.to_json()["metrics"]


def test_an_interrupted_call_resumes_with_its_metrics(found, tmp_path):
    how = jb.Execution(width=64, chunk=1, directory=tmp_path)
    with pytest.raises(Stop):
        play(execution=how._replace(progress=stop_after(2)))
    for changes, reason in [
        ({"metrics": {"reward": jb.metrics.reward}}, r"metrics \['reward', 'switches', .*\], here \['reward'\]"),
        ({"metrics": METRICS | {"odd": lambda r: r.feedback}}, r"the program .* differs"),
        ({"keep": ("runs", lambda state: state.arms.means)}, r"the program .* differs"),
        ({"keep": ("runs",)}, r"states True, here None"),
    ]:
        with pytest.raises(ValueError, match=reason):
            play(**changes, execution=how)
    assert content([play(execution=how)]) == content([found])


def test_means_and_paired_differences_are_those_of_scipy(found):
    rows, finite = (found.arrays[f"metric/{name}"] for name in ("switches", "odd"))
    finite = np.isfinite(finite)
    assert 5 < finite.sum() < RUNS - 5
    shown = found.to_json()["metrics"]
    assert list(shown) == list(METRICS) and shown["odd"]["runs"] == finite.sum() and shown["last"]["runs"] == RUNS
    low, high = stats.t.interval(0.95, RUNS - 1, rows.mean(), stats.sem(rows))
    own = shown["switches"]
    assert "mean" not in own  # because runs were censored
    got = [own["restricted_mean"], own["low"], own["high"], own["se"]]
    np.testing.assert_allclose(got, [rows.mean(), low, high, stats.sem(rows)])
    with pytest.raises(ValueError, match="reached max_rounds = 60, so the mean is unknown"):
        found.interval(what="switches")
    line = f"top_two: {RUNS - finite.sum()} of {RUNS} runs left out of odd: not finite"
    assert line in found.notes() and f"switches {rows.mean():.1f} [" in str(found)
    shown = table([found])
    assert "reward, switches, odd, last: when a run ended, censored or not" in shown and line in shown
    other = play(functools.partial(RULE, beta=0.3))
    compared, apart = jb.compare(found, other, what="switches"), rows - other.arrays["metric/switches"]
    low, high = stats.ttest_1samp(apart, 0.0).confidence_interval(0.95)
    np.testing.assert_allclose((compared.difference, compared.low, compared.high), (apart.mean(), low, high))
    assert (compared.quantity, compared.at, compared.paired) == ("restricted switches", MOST, True)
    pairs = finite & np.isfinite(other.arrays["metric/odd"])
    assert jb.compare(found, other, what="odd").left_out == RUNS - pairs.sum()
    with pytest.raises(ValueError, match=r"some were censored, at 60 and 50 rounds, .* same max_rounds"):
        jb.compare(found, play(max_rounds=50), what="switches")


def test_files_and_frames_have_the_metrics(found, tmp_path):
    found.save(tmp_path)
    again = jb.load(tmp_path)[0]
    assert (again.to_json(), str(again), again.metrics) == (found.to_json(), str(found), found.metrics)
    np.testing.assert_array_equal(again.states["arms/counts"], found.states.arms.counts)
    frame = found.to_dataframe()
    np.testing.assert_array_equal(frame["reward"], found.arrays["metric/reward"])
    assert "state/arms/counts" not in frame
    data = found.to_xarray()
    assert data["metric.reward"].dims == ("run",) and data["state.arms.counts"].dims[0] == "run"


def test_a_budget_has_metrics_too():
    rule = functools.partial(jb.algorithms.ucb_e, 3, a=5.0)
    few = jb.identify(rule, WORLD, budget=[20, 40], num_runs=30, metrics={"rounds": lambda r: 1.0})
    for result in few:
        np.testing.assert_array_equal(result.arrays["metric/rounds"], result.arrays["samples"])
        assert result.to_json()["metrics"]["rounds"]["mean"] == result.arrays["samples"].mean()
    assert ", rounds " in str(few[0]) and "rounds" in table(few)


BATCHES = functools.partial(jb.algorithms.successive_elimination, 3, delta=0.2)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"keep": ()}, r'keep = \(\), must have "runs": they are always kept of runs that stop'),
        ({"keep": ("runs", "arms")}, r"keep = .*, must list at most"),
        ({"metrics": {"samples": jb.metrics.reward}}, r"'samples' is the name of something else"),
        ({"metrics": {"x": 3}}, r"'x' is of type int, must be a function of a Round or a Metric"),
        ({"metrics": {"x": lambda r: jnp.zeros(2)}}, r"metrics.x returns float64\[2\], must return one number"),
        ({"rule": BATCHES}, r"metrics, successive_elimination pulls in batches here, .* must have no metrics"),
    ],
)
def test_what_cannot_be_recorded_is_refused_in_one_line(changes, reason):
    with pytest.raises(ValueError, match=reason) as info:
        play(**changes)
    assert "\n" not in str(info.value)


def test_a_failed_run_has_zeros():
    """Rewards that are infinite end a run as NONFINITE, and its metrics are no numbers of a run."""
    rule = jb.algorithms.top_two(3, delta=0.2)

    def make(means):
        environment = jb.environments.bernoulli(means)
        return rule, environment._replace(reward=lambda *given: jnp.inf * environment.reward(*given))

    record = identify_cell(make, np.array(MEANS), num_runs=3, metrics={"rounds": lambda r: 1.0})
    assert (record.outcome > 1).all() and not record.more["metric/rounds"].any()


def test_an_experiment_with_metrics(found, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = written(
        "identify",
        {"type": "bernoulli", "means": MEANS},
        [{"type": "top_two", "delta": 0.2}, {"type": "top_two", "name": "other", "delta": 0.2, "beta": 0.3}],
        runs=RUNS,
        max_rounds=MOST,
        metrics=["reward", "switches"],
        name="stops",
    )
    Path("stops.toml").write_text(text, encoding="utf-8")
    assert cli.main(["run", "stops.toml", "--out", "a", "--runs", "20"]) == 0
    capsys.readouterr()
    assert cli.main(["run", "stops.toml", "--out", "a", "--json"]) == 0  # the first 20 runs are not played again
    cell = json.loads(capsys.readouterr().out)["cells"][0]
    assert cell["metrics"]["reward"] == found.to_json()["metrics"]["reward"]
    assert cli.main(["compare", "a/bernoulli/top_two", "a/bernoulli/other", "--what", "switches"]) == 0
    assert "restricted switches a" in capsys.readouterr().out
    assert cli.main(["report", "a"]) == 0
    assert "switches" in Path("a/report.html").read_text(encoding="utf-8")
    plain = spec.parse({k: x for k, x in tomllib.loads(text).items() if k != "metrics"}, "stops.toml")
    assert "metrics" not in plain.to_dict()
    with pytest.raises(ValueError, match="metrics"):
        run_experiment(plain, tmp_path / "a")
