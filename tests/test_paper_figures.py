"""Figures and tables for print: sizes, fonts, labels, colors, legends, quantile bands, maps, and LaTeX."""

import dataclasses
import re

import numpy as np
import pytest
from results_by_hand import noisy, result, stopping
from scipy import stats

import jaxbandit as jb
from jaxbandit.lab import cli
from jaxbandit.running.plotting import figures, style
from jaxbandit.running.results.base import ResultSet
from jaxbandit.running.results.latex import literal

pytestmark = pytest.mark.quickly_compiled
matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
LONG = "an algorithm of a rather long name"


@pytest.fixture
def paper():
    with matplotlib.rc_context(style.paper(width=3.3)):
        yield


def _two(**more):
    return [noisy(10.0, algorithm="kl", **more), noisy(30.0, algorithm="ucb", seed=1, **more)]


def _swept(kind=noisy):
    values = [(a, b) for a in (0.5, 1.0) for b in (1, 2, 4)]
    some = [kind(10.0 * a + b, algorithm="ts", params={"a": a, "b": b}) for a, b in values]
    return some, values


DRAWN = {
    "curves": lambda: jb.plot(_two(outcome=[2] + [0] * 199)),
    "long": lambda: jb.plot([noisy(99_999.0, algorithm=LONG), noisy(9.0, algorithm=f"{LONG} too")]),
    "ends": lambda: jb.plot(_two(), legend="ends"),
    "one": lambda: jb.plot(noisy(10.0)),
    "final": lambda: jb.plot(_two(), what="final"),
    "pulls": lambda: jb.plot(_two(), what="pulls"),
    "sweep": lambda: jb.plot(_swept()[0], what="sweep"),
    "map": lambda: jb.plot(_swept()[0], what="map"),
    "stopping": lambda: jb.plot([stopping([10, 20, 99_999]), stopping([10, 30, 99_999], algorithm="ucb")]),
    "samples": lambda: jb.plot(stopping([10, 20, 99_999], algorithm=LONG), what="samples"),
}


@pytest.mark.parametrize("what", DRAWN)
def test_nothing_is_cut_off_in_a_column_of_print(what, paper):
    figure = DRAWN[what]().figure
    figure.canvas.draw()
    whole, drawn = figure.bbox, figure.get_tightbbox()
    assert figure.get_size_inches() == pytest.approx((3.3, 0.68 * 3.3), rel=0.5)
    assert figure.get_size_inches()[0] == 3.3
    assert drawn.x0 >= 0 and drawn.y0 >= 0
    assert drawn.x1 <= whole.width / figure.dpi and drawn.y1 <= whole.height / figure.dpi
    inside = figure.axes[0].get_window_extent()
    assert inside.width > 0.3 * whole.width and inside.height > 0.3 * whole.height
    matplotlib.pyplot.close(figure)


def test_a_wide_figure_has_a_title_and_a_narrow_one_has_none(paper):
    assert jb.plot(_two()).get_title(loc="left") == ""
    with matplotlib.rc_context(style.paper(width=6.8, height=3.0, size=9)):
        ax = jb.plot(_two())
        assert tuple(ax.figure.get_size_inches()) == (6.8, 3.0)
        assert "200 runs" in ax.get_title(loc="left")
        assert ax.title.get_fontsize() == pytest.approx(1.2 * 9) and ax.xaxis.label.get_fontsize() == 9


def test_fonts_are_embedded_as_true_type(paper, tmp_path):
    jb.plot(_two()).figure.savefig(tmp_path / "a.pdf")
    written = (tmp_path / "a.pdf").read_bytes()
    assert b"/CIDFontType2" in written and b"/Type3" not in written


@pytest.mark.parametrize("wrong", [{"width": 0}, {"height": -1}, {"size": "large"}])
def test_sizes_that_are_none_are_refused(wrong):
    with pytest.raises(ValueError, match=f"paper: {next(iter(wrong))} = "):
        style.paper(**wrong)


def test_labels_and_colors_by_name_and_in_order(axes):
    results = _two()
    jb.plot(results, axes, labels={"kl": "kl-UCB"}, colors={"kl-UCB": "black"}, legend="upper left", title="mine")
    first, second = axes.get_lines()[:2]
    assert (first.get_label(), first.get_color(), second.get_label(), second.get_color()) == (
        "kl-UCB", "black", "ucb", style.COLORS[1],
    )  # fmt: skip
    assert [text.get_text() for text in axes.get_legend().get_texts()][:2] == ["kl-UCB", "ucb"]
    assert axes.get_title(loc="left") == "mine"
    axes.clear()
    jb.plot(results, axes, labels=["A", "B"], colors=["red", "blue"], legend=False)
    assert [(line.get_label(), line.get_color()) for line in axes.get_lines()[:2]] == [("A", "red"), ("B", "blue")]
    assert axes.get_legend() is None and not axes.texts
    assert [r.algorithm for r in results] == ["kl", "ucb"]  # the results keep their names
    assert style.look(0) == (style.COLORS[0], "-")  # and the next figure has the usual colors


def test_a_label_may_name_one_value_of_a_parameter(axes):
    both = [noisy(10.0, params={"c": 1}), noisy(30.0, params={"c": 2})]
    jb.plot(both, axes, labels={"kl (c = 2)": "wide", "kl": "narrow"}, legend=False)
    assert [line.get_label() for line in axes.get_lines()[:2]] == ["narrow", "wide"]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"labels": {"moss": "MOSS"}}, 'plot: labels = "moss", must be one of kl, ucb'),
        ({"labels": ["one"]}, r"plot: labels = \['one'\], must be 2 names"),
        ({"colors": {"moss": "red"}}, 'plot: colors = "moss", must be one of kl, ucb'),
        ({"legend": "ends", "what": "pulls"}, "plot: legend = 'ends', only for curves of regret"),
        ({"what": "map"}, "must vary two numbers of one algorithm"),
        ({"bands": "quantile"}, 'plot: bands = "quantile"'),
    ],
)
def test_what_has_no_meaning_is_refused(wrong, words):
    with pytest.raises(ValueError, match=words):
        jb.plot(_two(), **wrong)


def test_a_label_that_is_no_formula_has_a_width_too(paper):
    figure = jb.plot(_two(), labels=["costs $5", r"$\\epsilon$"]).figure
    style.plain_text(figure).canvas.draw()
    assert len(figure.axes[0].get_legend().get_texts()) == 3


def test_notes_can_be_left_out(axes):
    results = _two(outcome=[2] + [0] * 199)
    jb.plot(results, axes, legend=False)
    assert any("left out" in text.get_text() for text in axes.texts)
    axes.clear()
    jb.plot(results, axes, legend=False, notes=False)
    assert not axes.texts


def test_quantile_bands_hold_most_runs(axes):
    rows = np.arange(1, 102, dtype=np.float32)[:, None] * [1.0, 10.0, 100.0]
    jb.plot([result(rows, outcome=[0] * 100 + [2])], axes, bands="quantiles")
    band = axes.collections[0].get_paths()[0].vertices[:, 1]
    assert band.max() == pytest.approx(100 * 95.05) and band.min() == pytest.approx(5.95)  # of 1, ..., 100
    with pytest.raises(ValueError, match="holds no single runs"):
        jb.plot([result(rows, regret=None)], bands="quantiles")


def test_a_sweep_of_regret_is_a_curve(axes):
    some, _ = _swept()
    jb.plot(some, axes, what="sweep")
    lines = {line.get_label(): line for line in axes.get_lines() if len(line.get_xdata())}
    np.testing.assert_array_equal(lines["ts (a = 1.0)"].get_xdata(), [1, 2, 4])
    np.testing.assert_allclose(lines["ts (a = 1.0)"].get_ydata(), [r.final().value for r in some[3:]])
    assert axes.get_ylabel() == "regret after 100 rounds"


def test_a_map_has_each_mean_at_its_place(axes):
    some, values = _swept()
    jb.plot(some[::-1], axes, what="map")
    image = axes.images[0].get_array()
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("a", "b")
    assert axes.get_title(loc="left").startswith("it, ts: mean regret after 100 rounds")
    for r, (a, b) in zip(some, values, strict=True):
        assert image[[1, 2, 4].index(b), [0.5, 1.0].index(a)] == r.final().value
    with pytest.raises(ValueError, match="one result for each of the 6 pairs of a and b"):
        jb.plot(some[:-1], what="map")


@pytest.mark.slow
def test_sweeps_and_maps_are_among_the_files():
    """One number is a curve, two are a map as well; what is no whole grid is none, nor what no run counts in."""
    one = [noisy(10.0 * a, algorithm="ts", params={"a": a}) for a in (0.5, 1.0, 2.0)]
    two, _ = _swept()
    whole, _ = _swept(lambda mean, **more: stopping([mean, 2 * mean], **more))
    failed = [noisy(10.0, algorithm="ts", params={"a": 4, "b": 2}, outcome=[2] * 200)]
    wanted = {
        "plain": (_two(), []),
        "one": (one, ["sweep-it-a"]),
        "two": (two, ["sweep-it-b", "map-it-ts"]),
        "two algorithms": ([*one, *_two()], ["sweep-it-a"]),
        "not whole": (two[:-1], ["sweep-it-b"]),
        "failed": (two + failed, ["sweep-it-b", "map-it-ts"]),
        "a switch": (
            [noisy(9.0, algorithm="ts", params={"a": a, "b": b}) for a in (1, 2) for b in (False, True)],
            ["sweep-it-a"],
        ),
        "a third": (
            [dataclasses.replace(r, params={**r.params, "c": c}) for c in "xy" for r in two],
            ["sweep-it-b"],
        ),
        "other parameters": ([*two[:5], noisy(9.0, algorithm="ts", params={"a": 1.0})], []),
        "stops": (whole, ["sweep-it-b", "map-it-ts"]),
    }
    for what, (some, names) in wanted.items():
        found = [name for name, _ in figures.drawn(some) if name.startswith(("sweep", "map"))]
        assert found == names, what


def test_a_map_says_that_means_of_censored_runs_are_lower_bounds(axes):
    some, _ = _swept(lambda mean, **more: stopping([mean, 2000], outcome=[0, 1], **more))
    jb.plot(some, axes, what="map")
    assert any("6 of 6 means are lower bounds" in text.get_text() for text in axes.texts)


def test_files_are_of_the_format_and_the_width_of_the_command_line(tmp_path, capsys):
    jb.save(_two(), tmp_path / "results")
    assert cli.main(["plot", str(tmp_path / "results"), "--format", "svg", "--width", "3.3"]) == 0
    [name] = capsys.readouterr().out.split()
    text = (tmp_path / "results" / "regret-it.svg").read_text()
    assert name.endswith("regret-it.svg") and 'width="237.6pt"' in text  # 3.3 inches of 72 points
    assert matplotlib.rcParams["figure.figsize"] == matplotlib.rcParamsDefault["figure.figsize"]
    [path] = figures.write_figures(_two(), tmp_path / "again", suffix="svg")
    again = path.read_bytes()
    assert figures.write_figures(_two(), tmp_path / "again", suffix="svg")[0].read_bytes() == again


def _bold(table):
    return re.findall(r"^(\S+) & .*mathbf", table, re.MULTILINE)


def test_bold_are_the_best_and_what_cannot_be_told_from_it():
    near = noisy(10.1, algorithm="near", seed=1)
    far = noisy(13.0, algorithm="far", seed=2)
    best = noisy(10.0, algorithm="best")
    table = jb.to_latex([far, near, best])
    assert _bold(table) == ["near", "best"]
    # The difference of near and best, by SciPy, at a level for two comparisons.
    apart = (near.arrays["regret"] - best.arrays["regret"])[:, -1].astype(np.float64)
    assert stats.ttest_1samp(apart, 0.0).pvalue > 0.025
    final = best.arrays["regret"][:, -1].astype(np.float64)
    half = stats.t.ppf(0.975, 199) * final.std(ddof=1) / np.sqrt(200)
    assert rf"best & $\mathbf{{{final.mean():.2f} \pm {half:.2f}}}$ \\" in table
    assert len(table.splitlines()) == 10 and table.splitlines()[1] == r"\begin{tabular}{lr}"


def test_the_level_of_ties_holds_for_all_comparisons_together():
    best = noisy(10.0, algorithm="best")
    for p, tied in ((0.03, True), (0.02, False)):
        t = stats.t.ppf(1 - p / 2, 199)
        apart = np.random.default_rng(5).normal(0, 1, 200)
        apart = (apart - apart.mean()) / apart.std(ddof=1) + t / np.sqrt(200)  # its two-sided p-value is p
        rows = best.arrays["regret"].astype(np.float64) + apart[:, None]
        other = result(rows, algorithm="other")
        far = noisy(99.0, algorithm="far")
        assert ("other" in _bold(jb.to_latex([best, other, far]))) == tied, p  # two comparisons: 0.025 each


def test_the_largest_feedback_and_the_fewest_samples_are_best():
    chance = np.random.default_rng(0)
    low = result(chance.normal(1.0, 0.1, (50, 3)), algorithm="low", measure="feedback")
    high = result(chance.normal(5.0, 0.1, (50, 3)), algorithm="high", measure="feedback")
    assert _bold(jb.to_latex([low, high])) == ["high"]
    assert _bold(jb.to_latex([low, high], largest=False)) == ["low"]
    few, many = stopping(range(10, 60), algorithm="few"), stopping(range(100, 200, 2), algorithm="many")
    assert _bold(jb.to_latex([many, few])) == ["few"]
    with pytest.raises(ValueError, match="must be different results of one kind"):
        jb.to_latex([few, few])


def test_latex_shows_names_literally():
    assert literal("a_b & 50% {x}~\\") == r"a\_b \& 50\% \{x\}\textasciitilde{}\textbackslash{}"
    two = [noisy(10.0, instance="i_1"), noisy(10.0, algorithm="b", instance="i2")]
    lines = jb.to_latex(two).splitlines()
    assert lines[3] == r"Algorithm & i\_1 & i2 \\" and lines[5].endswith(r"& -- \\") and "& -- &" in lines[6]


def test_simulate_takes_a_list_and_returns_a_set():
    rules = [jb.algorithms.uniform(2), jb.algorithms.uniform(2).named("again")]
    world = jb.environments.bernoulli([0.2, 0.6])
    both = jb.simulate(rules, world, horizon=20, num_runs=3)
    assert isinstance(both, ResultSet) and [r.algorithm for r in both] == ["uniform", "again"]
    one = jb.simulate(rules[0], world, horizon=20, num_runs=3)
    np.testing.assert_array_equal(both["bernoulli", "again"].arrays["regret"], one.arrays["regret"])
    with pytest.raises(ValueError, match=r"simulate: algorithm has the names .*, must be one or more different names"):
        jb.simulate([rules[0], rules[0]], world, horizon=20, num_runs=3)


def test_a_list_resumes_each_algorithm_in_its_own_folder(tmp_path):
    rules = [jb.algorithms.uniform(2), jb.algorithms.fixed_arm(2, arm=0)]
    world = jb.environments.bernoulli([0.2, 0.6])
    options = {"horizon": 20, "num_runs": 3, "execution": jb.Execution(directory=tmp_path)}
    first, again = (jb.simulate(rules, world, **options) for _ in range(2))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["000", "001"]
    for one, other in zip(first, again, strict=True):
        np.testing.assert_array_equal(one.arrays["regret"], other.arrays["regret"])
