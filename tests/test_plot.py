"""Figures: what is drawn, that no figure stays open, and that names at the curves' ends never overlap."""

import subprocess
import sys

import numpy as np
import pytest
from results_by_hand import noisy, result, stopping

import jaxbandit as jb
from jaxbandit.running.plotting import figures, regret_curves, theory
from jaxbandit.running.plotting.figures import plot
from jaxbandit.running.results.base import ResultSet

pytestmark = pytest.mark.quickly_compiled

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


def _line(ax, label):
    return next(line for line in ax.get_lines() if line.get_label() == label)


def test_curves_bands_and_bound(axes):
    results = [noisy(10.0, algorithm="kl"), noisy(30.0, algorithm="ucb")]
    assert regret_curves.plot(results, axes) is axes
    for r in results:
        np.testing.assert_array_equal(_line(axes, r.algorithm).get_ydata(), r.arrays["mean"])
    np.testing.assert_allclose(_line(axes, "asymptotic slope").get_ydata(), 2 * np.log([1, 10, 100]))
    assert len(axes.collections) == 2
    band = axes.collections[0].get_paths()[0].get_extents()
    assert band.y1 == pytest.approx(results[0].interval().high[-1])
    assert axes.get_xscale() == "log"
    names = [text.get_text() for text in axes.texts]
    assert [name.split()[0] for name in names] == ["ucb", "kl", "asymptotic"]  # from the largest regret down


def test_an_asymptotic_bound_above_a_curve_is_explained(axes):
    above = noisy(10.0, truth={"regret_constant": 2.5})  # 2.5 log 100 = 11.5, above the mean of about 10
    below = noisy(10.0, truth={"regret_constant": 1.0})
    for draw in (lambda r: regret_curves.plot([r], axes), lambda r: regret_curves.plot_one(r, axes)):
        draw(above)
        assert theory.EARLY in [text.get_text() for text in axes.texts]
        axes.clear()
        draw(below)
        assert theory.EARLY not in [text.get_text() for text in axes.texts]
        axes.clear()


def test_a_second_result_on_the_same_axes_is_in_the_legend(axes):
    first, second = noisy(10.0, algorithm="kl"), noisy(30.0, algorithm="ucb", outcome=[2] + [0] * 199)
    second.plot(first.plot(axes))
    named = [text.get_text() for text in axes.get_legend().get_texts()]
    assert named == ["kl", "ucb", "asymptotic slope 2 log t"]
    assert axes.get_ylim()[1] > 30  # and the axes hold both
    notes = [text for text in axes.texts if "left out" in text.get_text()]
    assert [text.get_text() for text in notes] == ["ucb: 1 of 200 runs left out: not finite"]
    first.plot(axes)
    assert axes.get_legend().get_texts()[2].get_text() == "kl (2)"


def test_what_has_no_name_in_the_picture_is_not_drawn(axes):
    far = [noisy(40.0, truth={"regret_constant": 500.0})]
    regret_curves.plot(far, axes)
    assert len([line for line in axes.get_lines() if "slope" in str(line.get_label())]) == 0
    axes.clear()
    far[0].plot(axes)
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["kl"]


@pytest.mark.parametrize("what", ["legend", "ends", "samples", "stopping"])
def test_nothing_is_cut_off_at_the_edges_of_a_figure(what):
    name = "an algorithm of a rather long name"
    if what in ("legend", "ends"):
        results = [noisy(99_999.0, algorithm=name, checkpoints=(1, 100, 10_000), outcome=[2] + [0] * 199)]
        ax = results[0].plot() if what == "legend" else plot(results)
    else:
        ax = plot(stopping([10, 20, 99_999], algorithm=name), what=what)
    figure = ax.figure
    figure.canvas.draw()
    drawn = figure.get_tightbbox().extents * figure.dpi
    assert drawn[0] >= -1 and drawn[1] >= -1
    assert drawn[2] <= figure.bbox.width + 1 and drawn[3] <= figure.bbox.height + 1


def test_a_title_names_the_instance_if_it_has_a_name(axes):
    noisy(10.0, instance="environment").plot(axes)
    assert axes.get_title(loc="left") == "Mean regret of 200 runs, 95 % bands"


def test_plot_takes_one_result_several_or_a_set(axes):
    one, other = noisy(10.0, algorithm="a"), noisy(20.0, algorithm="b", instance="y")
    for results in (one, [one], [one, other], ResultSet("demo", (one, other))):
        axes.clear()
        assert _line(plot(results, axes), "a") is not None
    assert _line(plot([one, other], axes, instance="y"), "b") is not None
    for wrong, said in (({"instance": "z"}, 'instance = "z", must be one of it, y'), ({"what": "error"}, "what")):
        with pytest.raises(ValueError, match=said):
            plot([one, other], axes, **wrong)
    with pytest.raises(ValueError, match="2 kinds"):
        plot([one, stopping([3, 4])], axes)


def test_short_horizon_is_linear_and_one_run_has_no_band(axes):
    r = result([[1.0, 2.0, 3.0]], checkpoints=(10, 20, 40), truth={})
    assert r.plot(axes) is axes
    assert axes.get_xscale() == "linear"
    assert not axes.collections


def test_results_of_two_instances_are_refused(axes):
    with pytest.raises(ValueError, match=r"instances = \['it', 'other'\]"):
        regret_curves.plot([noisy(1.0), noisy(1.0, instance="other")], axes)


def test_names_of_a_sweep_tell_its_values():
    results = [noisy(1.0, algorithm="kl", params={"c": c, "d": 1.0}) for c in (0.0, 3.0)]
    assert regret_curves.labels(results) == ["kl (c = 0.0)", "kl (c = 3.0)"]


@pytest.mark.slow
def test_files_one_an_instance_and_nothing_left_open(tmp_path):
    import matplotlib.pyplot as plt

    before = plt.get_fignums()
    results = [noisy(10.0 + i, algorithm=f"a{i}", instance=name) for name in ("one", "two/../2") for i in range(12)]
    paths = figures.write_figures(results, tmp_path)
    assert [path.name for path in paths] == ["regret-one.png", "regret-two-..-2.png"]
    assert all(path.parent == tmp_path and path.read_bytes()[:4] == b"\x89PNG" for path in paths)
    assert plt.get_fignums() == before


def test_twelve_curves_have_twelve_looks(axes):
    regret_curves.plot([noisy(10.0 + i, algorithm=f"a{i}") for i in range(12)], axes)
    looks = {(line.get_color(), str(line._unscaled_dash_pattern)) for i in range(12) for line in [_line(axes, f"a{i}")]}
    assert len(looks) == 12


def test_set_plots_the_first_instance_unless_named(axes):
    results = ResultSet("demo", (noisy(10.0, instance="x"), noisy(20.0, instance="y")))
    results.plot(axes, instance="y")
    assert axes.get_title(loc="left").startswith("y:")


def test_spread_keeps_order_distance_and_bounds():
    rng = np.random.default_rng(0)
    for _ in range(200):
        count = int(rng.integers(1, 14))
        values = np.sort(rng.uniform(0, 1, count))[::-1]
        places = np.array(regret_curves.spread(values.tolist(), 0.05, 0.0, 1.0))
        assert np.all(-np.diff(places) >= 0.05 - 1e-12)
        assert places.min() >= 0.025 - 1e-12
        assert places.max() <= 0.975 + 1e-12


def test_spread_moves_nothing_that_has_room():
    assert regret_curves.spread([0.9, 0.5, 0.1], 0.05, 0.0, 1.0) == pytest.approx([0.9, 0.5, 0.1])
    assert regret_curves.spread([0.5, 0.5], 0.1, 0.0, 1.0) == pytest.approx([0.55, 0.45])


@pytest.mark.slow
def test_matplotlib_is_imported_only_when_drawing():
    imports = "import sys, jaxbandit.running.plotting.regret_curves, jaxbandit.lab.papers.paper"
    code = f"{imports}; assert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.slow
def test_results_do_not_import_figures_when_they_are_made():
    code = """
import sys
import jaxbandit as jb

pair = jb.algorithms.lucb(2, delta=0.1, sigma=0.5), jb.environments.bernoulli([0.1, 0.9])
str(jb.simulate(*pair, horizon=5, num_runs=2)), str(jb.identify(*pair, num_runs=2))
jb.tune, jb.hyperband
assert not [name for name in sys.modules if name.startswith("matplotlib") or "plotting" in name]
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_bands_of_one_standard_error(axes):
    one = noisy(10.0)
    regret_curves.plot([one], axes, bands="standard error")
    band, interval = axes.collections[0].get_paths()[0].get_extents(), one.interval()
    assert band.y1 == pytest.approx(interval.value[-1] + interval.se[-1])
    assert "one standard error" in axes.get_title(loc="left")
    with pytest.raises(ValueError, match='plot: bands = "error", must be one of 95 %, standard error'):
        regret_curves.plot([one], axes, bands="error")  # type: ignore


def test_no_band_is_drawn_where_all_runs_are_equal_and_that_is_said_if_it_is_long(axes):
    regret_curves.plot([result([[5.0, 50.0, 90.0], [5.0, 50.0, 110.0]])], axes)
    (band,) = axes.collections
    assert band.get_paths() == [] or band.get_paths()[0].get_extents().x0 > 10  # where they differ
    assert any("no band where all runs are equal" in text.get_text() for text in axes.texts)
    axes.clear()
    regret_curves.plot([result([[5.0, 40.0, 90.0], [5.0, 60.0, 110.0]])], axes)
    assert not any("no band" in text.get_text() for text in axes.texts)


def test_minimax_line_on_request(axes):
    regret_curves.plot([noisy(30.0, truth={"dim": 3})], axes, minimax=True)
    np.testing.assert_allclose(_line(axes, "minimax").get_ydata(), 3 * np.sqrt([1, 10, 100]))
    assert any("minimax order  30.0" in text.get_text() for text in axes.texts)
    axes.clear()
    regret_curves.plot([noisy(30.0, truth={"dim": 3})], axes)
    assert "minimax" not in [line.get_label() for line in axes.get_lines()]
    with pytest.raises(ValueError, match="plot: minimax: instance it has no features"):
        regret_curves.plot([noisy(30.0)], axes, minimax=True)


def test_curves_far_apart_on_a_logarithmic_axis(axes):
    results = [noisy(m, algorithm=n, spread=0.1) for n, m in (("a", 40.0), ("b", 4000.0))]
    regret_curves.plot(results, axes, log=True)
    assert axes.get_yscale() == "log"
    low, high = axes.get_ylim()
    assert 0 < low < 20 and high > 4000
    high_up = [noisy(m, algorithm=n, truth={"regret_constant": 5000.0}) for n, m in (("a", 40.0), ("b", 4000.0))]
    names = sorted(axes.texts, key=lambda text: -text.get_position()[1])
    assert [text.get_text().split()[0] for text in names] == ["b", "a", "asymptotic"]
    # Beside the end of its curve: half a line's height is all that it has to move.
    end = axes.transAxes.inverted().transform(axes.transData.transform((100, 4000)))[1]
    assert abs(names[0].get_position()[1] - end) < regret_curves.LINE_HEIGHT
    axes.clear()
    regret_curves.plot(high_up, axes, log=True)  # a bound that leaves the picture has its name at the top
    above = next(text for text in axes.texts if "asymptotic slope 5,000 log t" in text.get_text())
    assert axes.get_ylim()[1] < 5000 * np.log(100) and 0.9 < above.get_position()[1] <= 1


def test_a_falling_quantity_does_not_turn_a_logarithmic_axis_upside_down(axes):
    """The axis went from 0.8 times the first value to 1.6 times the last one, which is below it."""
    falling = [result([[50.0, 5.0, 0.04], [52.0, 6.0, 0.05]], algorithm=name, truth={}) for name in ("a", "b")]
    regret_curves.plot(falling, axes, log=True)
    low, high = axes.get_ylim()
    assert 0.02 < low < 0.045 and 6.0 < high < 12  # of what is shown, from round 10 on
    axes.clear()
    with pytest.raises(ValueError, match=r"^plot: log = True, but no regret is above 0; leave it out$"):
        regret_curves.plot([result([[-1.0, -2.0, -3.0]] * 2, truth={})], axes, log=True)


@pytest.mark.parametrize("wrong", [jb.environments.bernoulli([0.5]), jb.algorithms.ucb1(2), 3, [3], None], ids=repr)
def test_what_holds_no_results_is_refused_in_one_line(wrong):
    with pytest.raises(ValueError, match=r"^plot: results is or holds a value of type \w+, must be one Result"):
        plot(wrong)
