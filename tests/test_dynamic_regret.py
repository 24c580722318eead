"""Regret where means change, as results tell it: changes, an oracle's asymptote, minimax rates, figures, JSON."""

import json

import numpy as np
import pytest
from results_by_hand import noisy, result

import jaxbandit as jb
from jaxbandit import bounds
from jaxbandit.lab import cli
from jaxbandit.lab.experiments.truth import warnings_of
from jaxbandit.lab.specs import spec
from jaxbandit.running.plotting import figures, regret_curves, theory
from jaxbandit.running.results.report import table
from jaxbandit.running.truth import clock_of

pytestmark = pytest.mark.quickly_compiled

MEANS = [[0.2, 0.5], [0.9, 0.3], [0.4, 0.4]]
STARTS = [0, 30, 60]
# gap / kl(mean, best mean) of each segment, by hand; the last has no gap.
KL = [0.2 * np.log(0.2 / 0.5) + 0.8 * np.log(0.8 / 0.5), 0.3 * np.log(0.3 / 0.9) + 0.7 * np.log(0.7 / 0.1)]
CONSTANTS = [0.3 / KL[0], 0.6 / KL[1], 0.0]
MOVES = {"moves": True, "schedule": {"starts": STARTS, "means": MEANS, "regret_constants": CONSTANTS}}
ROWS = [[3.0, 10.0, 20.0], [4.0, 12.0, 26.0]]
EXPERIMENT = f"""
name = "jumps"
kind = "simulate"
runs = 3
horizon = 50
checkpoints = [10, 20, 30, 40, 50]
hindsight = true
[[instance]]
name = "jumps"
type = "piecewise_bernoulli"
means = {MEANS}
starts = {STARTS}
[[algorithm]]
type = "ucb1"
"""


def test_an_oracle_pays_the_logarithm_of_each_segment():
    rounds = np.array([1, 10, 30, 31, 60, 100])
    first = [np.log(min(t, 30)) for t in rounds]
    second = [np.log(max(min(t, 60) - 30, 1)) for t in rounds]
    expected = CONSTANTS[0] * np.array(first) + CONSTANTS[1] * np.array(second)
    np.testing.assert_allclose(bounds.restarting_regret(CONSTANTS, STARTS, rounds), expected, rtol=1e-14)
    still = bounds.restarting_regret([2.0], [0], rounds)
    np.testing.assert_allclose(still, bounds.regret_lower_bound(2.0, rounds), rtol=1e-14)


def test_minimax_rates_grow_with_the_segments_begun():
    found = bounds.minimax_switching_regret(8, STARTS, [1, 30, 31, 60, 61, 100])
    begun = np.array([1, 1, 2, 2, 3, 3])
    rounds = np.array([1, 30, 31, 60, 61, 100])
    np.testing.assert_allclose(20 * found, np.minimum(np.sqrt(8 * begun * rounds), rounds), rtol=1e-14)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: bounds.restarting_regret([1.0, 2.0], [0], [5]), "starts has 1 entries, must have 2, one per constant"),
        (lambda: bounds.restarting_regret([1.0, 2.0], [0, 0], [5]), r"starts\[1\] = 0, must be greater than 0"),
        (lambda: bounds.minimax_switching_regret(1, [0], [5]), "num_arms = 1, must be an integer >= 2"),
    ],
)
def test_bounds_refuse_in_one_line(make, message):
    with pytest.raises(ValueError, match=message) as refusal:
        make()
    assert "\n" not in str(refusal.value)


def test_what_is_known_of_a_clock():
    found = clock_of(jb.environments.piecewise_bernoulli(MEANS, STARTS))
    np.testing.assert_allclose(found["schedule"].pop("regret_constants"), CONSTANTS, rtol=1e-12)
    assert found == {"moves": True, "schedule": {"starts": STARTS, "means": MEANS}}
    normal = clock_of(jb.environments.piecewise_gaussian(MEANS, STARTS, sigma=2.0))["schedule"]
    np.testing.assert_allclose(normal["regret_constants"], [2 * 4 / 0.3, 2 * 4 / 0.6, 0.0], rtol=1e-12)
    assert clock_of(jb.environments.restless_bernoulli(2)) == {"moves": True}
    assert clock_of(jb.environments.bernoulli(MEANS[0])) == {}


def test_results_tell_changes_and_the_oracle():
    told = result(ROWS, checkpoints=(10, 40, 60), truth=MOVES)
    assert told.changes() == [30]  # what happens at the horizon is not seen any more
    content = told.content()
    assert content["changes"] == [30] and told.lower_bound() is None
    np.testing.assert_allclose(content["regret"]["oracle"], bounds.restarting_regret(CONSTANTS, STARTS, [10, 40, 60]))
    assert "against the best arm of each round" in table([told])
    still = result(ROWS)
    assert "changes" not in still.content() and "oracle" not in still.content()["regret"]
    assert "against the best arm of each round" not in table([still])


def test_runs_in_two_worlds_of_one_name_do_not_pair():
    other = {**MOVES, "schedule": {**MOVES["schedule"], "starts": [0, 31, 60]}}
    a, b = (result(ROWS, checkpoints=(10, 40, 60), truth=truth) for truth in (MOVES, other))
    assert jb.compare(a, a).paired and not jb.compare(a, b).paired


def test_a_rule_that_stops_is_warned_of_where_no_arm_is_the_best():
    data = {"kind": "identify", "runs": 2, "algorithm": [{"type": "lucb", "delta": 0.1}]}
    world = {"name": "waves", "type": "sinusoidal_bernoulli", "num_arms": 2}
    [line] = warnings_of(spec.parse(data | {"instance": [world]}, "x.toml"))
    assert (
        line == "waves/lucb: the means change from round to round, so no arm is the best one and nothing is guaranteed"
    )


def _changes(ax):
    return [float(line.get_xdata()[0]) for line in ax.get_lines() if line.get_gid() == theory.CHANGE]


def _labels(ax):
    return [str(line.get_label()) for line in ax.get_lines()]


def test_a_figure_marks_changes_and_draws_what_an_oracle_pays(axes):
    some = [noisy(mean, algorithm=name, truth=MOVES) for mean, name in ((10.0, "a"), (20.0, "b"))]
    regret_curves.plot(some, axes, minimax=True)
    assert _changes(axes) == [30, 60] and axes.get_xscale() == "linear"
    assert axes.get_title(loc="left") == "it: mean dynamic regret of 200 runs, 95 % bands"
    lines = dict(zip(_labels(axes), axes.get_lines(), strict=True))
    rounds = some[0].arrays["checkpoints"]
    expected = bounds.restarting_regret(CONSTANTS, STARTS, rounds)
    np.testing.assert_allclose(lines[theory.ORACLE].get_ydata(), expected)
    rate = bounds.minimax_switching_regret(3, STARTS, rounds)
    np.testing.assert_allclose(lines[theory.MINIMAX].get_ydata(), rate)


def test_two_results_on_the_same_axes_mark_changes_once(axes):
    one, other = (noisy(mean, algorithm=name, truth=MOVES) for mean, name in ((20.0, "a"), (21.0, "b")))
    other.plot(one.plot(axes))
    assert _changes(axes) == [30, 60]
    assert sum(label.startswith(theory.ORACLE) for label in _labels(axes)) == 1


def test_lines_that_would_run_into_each_other_are_left_out(axes):
    crowded = {"moves": True, "schedule": {"starts": [0, 50, 51, 52, 80], "means": [[0.5, 0.5]] * 5}}
    regret_curves.plot([noisy(10.0, truth=crowded)], axes)
    assert _changes(axes) == [50, 51, 52, 80]  # each a hundredth of the axis from the next
    axes.clear()
    many = {"moves": True, "schedule": {"starts": list(range(100)), "means": [[0.5, 0.5]] * 100}}
    regret_curves.plot([noisy(10.0, truth=many, checkpoints=(1, 10, 1000))], axes)
    assert np.diff(_changes(axes)).min() == np.diff(_changes(axes)).max() == 8  # thousandths of the axis


@pytest.mark.slow
def test_hindsight_has_a_figure_and_a_bound_of_its_own(tmp_path, axes):
    below = {"hindsight_mean": np.array([1.0, -3.0, -9.0]), "hindsight_variance": np.ones(3)}
    rows = np.array([[1.0, -3.0, -9.0]] * 2)
    told = result(ROWS, checkpoints=(20, 40, 60), truth=MOVES, hindsight=rows, **below)
    paths = figures.write_figures([told], tmp_path)
    assert [path.name for path in paths] == ["regret-it.png", "hindsight-it.png"]
    regret_curves.plot([told], axes, what="hindsight", minimax=True)
    assert axes.get_xscale() == "linear" and axes.get_ylim()[0] < -9  # even steps, and no floor at 0
    assert theory.MINIMAX not in _labels(axes)  # far above what was lost


@pytest.mark.slow
def test_an_experiment_tells_the_same_as_simulate(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "jumps.toml").write_text(EXPERIMENT, encoding="utf-8")
    assert cli.main(["run", "jumps.toml", "--json"]) == 0
    [cell] = json.loads(capsys.readouterr().out)["cells"]
    world, marks = jb.environments.piecewise_bernoulli(MEANS, STARTS), [10, 20, 30, 40, 50]
    alone = jb.simulate(jb.algorithms.ucb1(2), world, horizon=50, num_runs=3, checkpoints=marks, hindsight=True)
    for key in ("regret", "hindsight", "changes", "pulls"):
        assert cell[key] == alone.to_json()[key]
    assert cell["changes"] == [30] and (tmp_path / "jumps-result" / "hindsight-jumps.png").exists()
    assert jb.load("jumps-result")[0].truth == alone.truth
