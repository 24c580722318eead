"""Figures of runs that stop: what is drawn where, censoring, sweeps found, files written, nothing left open."""

import numpy as np
import pytest
from results_by_hand import noisy, result, stopping
from scipy import stats

from jaxbandit.base.contract import Outcome
from jaxbandit.running.plotting import figures, stopping_times, sweeps
from jaxbandit.running.results.base import ResultSet
from jaxbandit.running.results.budget import BudgetResult

pytestmark = pytest.mark.quickly_compiled

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

EXACT = {"delta": 0.05, "epsilon": 0.0}
SPREAD = [10 * i for i in range(1, 101)]


def lines(ax, label):
    return [line for line in ax.get_lines() if line.get_label().startswith(label)]


def test_law_of_stopping_times_with_its_band(axes):
    r = stopping([40, 10, 30, 20], algorithm="kl")
    assert r.plot(axes) is axes
    [line] = lines(axes, "kl")
    np.testing.assert_array_equal(line.get_xdata(), [10, 10, 20, 30, 40, 40])
    np.testing.assert_array_equal(line.get_ydata(), [0, 0.25, 0.5, 0.75, 1, 1])
    assert line.get_drawstyle() == "steps-post"
    band = axes.collections[0].get_paths()[0].get_extents()
    theirs = stats.binomtest(1, 4).proportion_ci(0.95, method="exact")
    assert min(y for _, y in axes.collections[0].get_paths()[0].vertices if y > 0) == pytest.approx(theirs.low)
    assert band.y1 == 1.0
    assert axes.get_xlim()[0] == 0  # not spread enough for a logarithmic axis


def test_a_censored_law_ends_with_a_mark_below_one(axes):
    r = stopping([10, 20, 500, 500], outcome=[0, 0, Outcome.MAX_ROUNDS, Outcome.MAX_ROUNDS], max_rounds=500)
    stopping_times.plot_stopping([r], axes)
    [line] = lines(axes, "kl  > 257.5, 2 of 4 censored")
    assert (line.get_xdata()[-1], line.get_ydata()[-1]) == (500, 0.5)
    marks = [m for m in axes.get_lines() if m.get_marker() == "|"]
    assert [(m.get_xdata()[0], m.get_ydata()[0]) for m in marks] == [(500, 0.5)]
    assert axes.get_xscale() == "log"


def test_one_lower_bound_is_a_line_and_several_are_not(axes):
    truth = {"means": [1.0, 0.5], "characteristic_time": 8.0}
    one = stopping(SPREAD, params=EXACT, truth=truth)
    stopping_times.plot_stopping([one], axes)
    [line] = lines(axes, "lower bound on the mean")
    assert line.get_xdata()[0] == pytest.approx(8 * np.log(1 / 0.12))
    axes.clear()
    stopping_times.plot_stopping([one, stopping(SPREAD, params=EXACT | {"delta": 0.01}, truth=truth)], axes)
    assert not lines(axes, "lower bound")


def test_boxes_hold_the_quartiles_and_rates_their_intervals(axes):
    r = stopping(SPREAD, shortfall=[0.5, 0.5] + [0] * 98)
    stopping_times.plot_samples([r], axes)
    [box] = axes.patches
    assert (box.get_x(), box.get_x() + box.get_width()) == (250, 750)
    assert any(list(line.get_xdata()) == [50, 950] for line in axes.get_lines())
    assert any(list(line.get_xdata()) == [500, 500] for line in axes.get_lines())
    axes.clear()
    stopping_times.plot_error([r], axes)
    low, high = stats.binomtest(2, 100).proportion_ci(0.95, method="exact")
    drawn = [list(map(float, line.get_xdata())) for line in axes.get_lines()]
    assert drawn[0] == pytest.approx([low, high]) and drawn[1] == [0.02] and drawn[2] == [0.05, 0.05]
    assert axes.get_xlim()[1] > high


def test_arms_stand_from_the_best_mean_to_the_worst(axes):
    r = stopping(SPREAD, truth={"means": [0.1, 0.9]})
    stopping_times.plot_pulls([r], axes)
    assert [text.get_text() for text in axes.get_xticklabels()] == ["1\n0.9", "0\n0.1"]
    [line] = lines(axes, "kl")
    np.testing.assert_allclose(line.get_ydata(), r.arrays["pulls"].mean(axis=0)[::-1])
    assert axes.get_xlabel() == "arm and its mean"
    for truth, label in (
        ({"sorted_means": [0.9, 0.1]}, "position of the arm (each run has its own order)"),
        ({}, "arm"),
    ):
        stopping_times.plot_pulls([stopping(SPREAD, truth=truth)], axes)
        assert axes.get_xlabel() == label


def test_what_is_drawn_can_be_chosen(axes):
    results = ResultSet("demo", (stopping(SPREAD, instance="x"), stopping(SPREAD, instance="y")))
    results.plot(axes, instance="y", what="error")
    assert axes.get_title(loc="left").startswith("y: error rates")
    with pytest.raises(ValueError, match=r"what = \"regret\", must be one of stopping, samples"):
        results.plot(axes, what="regret")
    with pytest.raises(ValueError, match="must be one; draw each in its own figure"):
        stopping_times.plot_stopping(results, axes)
    with pytest.raises(ValueError, match="no run stopped or was censored"):
        stopping([0], outcome=[Outcome.NONFINITE]).plot(axes)


def swept(values, key="delta", **more):
    return [stopping([int(100 / v), int(120 / v)], params=EXACT | {key: v}, **more) for v in values]


def test_sweeps_of_parameters_and_of_instances_are_found():
    [sweep] = sweeps.sweeps([*swept([0.2, 0.05]), stopping(SPREAD, algorithm="fixed", params={"delta": 0.05})])
    assert (sweep.parameter, sweep.of_instances, list(sweep.curves)) == ("delta", False, ["kl", "fixed"])
    assert [value for value, _ in sweep.curves["kl"]] == [0.05, 0.2]
    instances = [
        stopping(SPREAD, instance=f"{a}", params=EXACT, truth={"arguments": {"dim": 5, "angle": a}}) for a in (0.2, 0.1)
    ]
    [sweep] = sweeps.sweeps(instances)
    assert (sweep.parameter, sweep.of_instances) == ("angle", True)
    assert [value for value, _ in sweep.curves["kl"]] == [0.1, 0.2]
    other = stopping(SPREAD, instance="other", params=EXACT, truth={"arguments": {"sigma": 1.0}})
    assert sweeps.sweeps([*instances, other]) == []
    two = [{"angle": 0.1, "sigma": 1.0}, {"angle": 0.2, "sigma": 1.0}, {"angle": 0.3, "sigma": 2.0}]
    both = [
        stopping(SPREAD, instance=f"{i}", params=EXACT, truth={"arguments": numbers}) for i, numbers in enumerate(two)
    ]
    assert sweeps.sweeps(both) == []
    assert sweeps.sweeps([stopping(SPREAD)]) == []


def test_the_sweep_of_results_is_one_of_their_figures(axes):
    results = ResultSet("demo", (*swept([0.2, 0.05], instance="x"),))
    assert results.plot(axes, what="sweep") is axes and axes.get_xlabel() == "delta"
    table = [{"arguments": {"angle": a}} for a in (0.1, 0.2)]
    across = [stopping(SPREAD, instance=f"{i}", params=EXACT, truth=truth) for i, truth in enumerate(table)]
    assert ResultSet("demo", (*across,)).plot(what="sweep").get_xlabel() == "angle"
    with pytest.raises(ValueError, match=r"what = 'sweep', but the results hold 0 sweeps, must hold one"):
        stopping(SPREAD).plot(axes, what="sweep")


def test_a_sweep_shows_means_and_marks_censored_ones(axes):
    late = [0, Outcome.MAX_ROUNDS]
    results = [*swept([0.2, 0.05]), stopping([10, 1000], outcome=late, params=EXACT | {"delta": 0.01})]
    [sweep] = sweeps.sweeps(results)
    sweeps.plot_sweep(sweep, axes)
    [line] = lines(axes, "kl")
    np.testing.assert_allclose(line.get_ydata(), [505, 2200, 550])
    marks = [m for m in axes.get_lines() if m.get_marker() == "^" and len(m.get_xdata())]
    assert [list(m.get_xdata()) for m in marks] == [[0.01]]
    assert axes.get_xscale() == "log"


def test_a_rule_that_is_not_swept_is_a_line_across_its_sweep(axes):
    still = stopping([20, 60], algorithm="still", params={"c": 1.0})
    lost = stopping([0], outcome=[Outcome.NONFINITE], algorithm="lost", params={})
    [sweep] = sweeps.sweeps([*swept([0.2, 0.05]), still, lost])
    assert list(sweep.curves) == ["kl"] and list(sweep.constant) == ["still"]
    sweeps.plot_sweep(sweep, axes)
    [line] = lines(axes, "still, not swept")
    assert np.ravel(line.get_ydata()).tolist() == [40.0, 40.0]


def test_the_marks_of_samples_are_explained_and_a_mark_at_zero_pulls_is_whole(axes):
    stopping_times.plot_samples([stopping(SPREAD)], axes)
    assert any("Diamond: mean; gray" in text.get_text() for text in axes.texts)
    axes.clear()
    stopping_times.plot_pulls([stopping(SPREAD)], axes)
    assert axes.get_ylim()[0] < 0


@pytest.mark.slow
def test_files_and_nothing_left_open(tmp_path):
    import matplotlib.pyplot as plt

    before = plt.get_fignums()
    lost = stopping([0], outcome=[Outcome.NONFINITE], algorithm="lost", params=EXACT)
    results = [*swept([0.2, 0.05]), *swept([0.2, 0.05], instance="a/b", algorithm="other"), lost]
    names = [path.name for path in figures.write_figures(results, tmp_path)]
    assert names == [
        *("sweep-it-delta.png", "sweep-a-b-delta.png", "samples-it.png", "stopping-it.png", "pulls-it.png"),
        *("samples-a-b.png", "stopping-a-b.png", "pulls-a-b.png"),
    ]
    assert all((tmp_path / name).read_bytes()[:4] == b"\x89PNG" for name in names)
    instances = [stopping(SPREAD, instance=f"{a}", truth={"arguments": {"angle": a}}) for a in (0.2, 0.1)]
    assert [path.name for path in figures.write_figures(instances, tmp_path)] == ["sweep-angle.png"]
    assert plt.get_fignums() == before


def inked(ax, line):
    """Whether drawing this line alone changes a pixel of its axes."""
    figure = ax.figure
    for artist in ax.get_children():
        artist.set_visible(artist is line)
    figure.canvas.draw()
    drawn = np.asarray(figure.canvas.buffer_rgba()).copy()
    line.set_visible(False)
    figure.canvas.draw()
    return bool((drawn != np.asarray(figure.canvas.buffer_rgba())).any())


def test_what_the_legend_names_is_visible_at_a_single_point(axes):
    truth = {"means": [0.9, 0.5], "characteristic_time": 8.0}
    cells = {"a": [(5, stopping(SPREAD, truth=truth, params=EXACT))]}
    sweeps.plot_sweep(sweeps.Sweep("f", "", "d", cells, of_instances=True), axes)
    [bound] = lines(axes, "lower bound")
    assert inked(axes, bound)


def test_curves_of_a_single_checkpoint_or_budget_are_visible(axes):
    once = noisy(10.0)
    last = result(once.arrays["regret"][:, -1:], "kl", checkpoints=[100], truth={"regret_constant": 2.0})
    figures.plot(ResultSet("x", (last,)), axes)
    [curve], [slope] = lines(axes, "kl"), lines(axes, "asymptotic slope")
    assert inked(axes, slope) and inked(axes, curve)
    axes.clear()
    fields = vars(
        stopping([100] * 50, shortfall=0.4 * (np.arange(50) < 5), max_rounds=100, truth={"means": [0.9, 0.5]})
    )
    few = BudgetResult(**fields)
    figures.plot(ResultSet("x", (few,)), axes)
    assert not lines(axes, "exp(-T")  # it is far below the interval, and is then not named either
    axes.clear()
    near = BudgetResult(**fields | {"truth": {"means": [0.9, 0.72]}})
    figures.plot(ResultSet("x", (near,)), axes)
    [reference] = lines(axes, "exp(-T")
    assert inked(axes, reference)


def test_the_median_has_its_interval_and_equal_runs_have_no_bar(axes):
    stopping_times.plot_samples([stopping(SPREAD)], axes)
    spans = [sorted(line.get_xdata()) for line in axes.get_lines() if list(line.get_ydata()) == [-0.3, -0.3]]
    assert [list(map(int, span)) for span in spans] == [[400, 610]]  # the 40th and the 61st of 100 runs
    axes.clear()
    stopping_times.plot_pulls([stopping([30] * 20)], axes)  # all runs pull each arm equally often
    assert not [c for c in axes.collections if len(c.get_segments())]
    assert "all runs equal" in stopping_times._mean_text(stopping([30] * 20))
