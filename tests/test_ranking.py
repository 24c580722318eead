"""Many algorithms on one instance: tables and figures show the final means, the smallest first."""

import tomllib
from importlib import resources

import numpy as np
import pytest
from results_by_hand import noisy, result

from jaxbandit.lab.specs.registry import ALGORITHMS
from jaxbandit.running.plotting import ranking, regret_curves
from jaxbandit.running.plotting.figures import plot
from jaxbandit.running.results import report
from jaxbandit.support.text import MANY

pytestmark = pytest.mark.quickly_compiled

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


def many(number=MANY, instance="it", seed=3):
    """Results whose means are in no order."""
    means = 10.0 + 20.0 * np.random.default_rng(seed).permutation(number)
    return [
        noisy(float(mean), algorithm=f"rule-{i}", instance=instance, seed=i, shared=i) for i, mean in enumerate(means)
    ]


def ends(results):
    return [float(r.moments()[0][-1]) for r in results]


def test_the_table_of_many_algorithms_is_sorted_within_each_instance():
    results = [*many(), *many(instance="other", seed=4)]
    body = report.rows(results).rows
    assert [row[0] for row in body] == ["it"] * MANY + ["other"] * MANY
    for place in ("it", "other"):
        own = [r for r in results if r.instance == place]
        expected = [own[i].algorithm for i in np.argsort(ends(own))]
        assert [row[1] for row in body if row[0] == place] == expected


def test_fewer_algorithms_and_swept_values_keep_the_order_of_the_file():
    few = many(MANY - 1)
    assert [row[1] for row in report.rows(few).rows] == [r.algorithm for r in few]
    swept = [noisy(50.0 - c, algorithm="kl", params={"c": c}, seed=c) for c in range(2 * MANY)]
    assert [row[1] for row in report.rows(swept).rows] == [f"kl?c={c}" for c in range(2 * MANY)]


def test_an_algorithm_without_a_valid_run_comes_last():
    results = [result([[1, 2, 3]] * 2, algorithm="none", outcome=[2, 2]), *many()]
    assert ranking.order(results)[-1] == 0
    assert report.rows(results).rows[-1][1] == "none"


def test_the_figure_has_a_row_for_each_with_mean_and_interval(axes):
    results = many()
    assert plot(results, axes) is axes
    ranks = np.argsort(ends(results))
    assert [tick.get_text() for tick in axes.get_yticklabels()] == [results[i].algorithm for i in ranks]
    assert axes.get_ylim()[0] > axes.get_ylim()[1]  # the first row is at the top
    dots = [line for line in axes.get_lines() if line.get_marker() == "o"]
    assert [float(line.get_xdata()[0]) for line in dots] == sorted(ends(results))
    bars = [line for line in axes.get_lines() if line.get_marker() != "o" and len(set(line.get_ydata())) == 1]
    for bar, i in zip(bars, ranks, strict=True):
        interval = results[i].interval()
        np.testing.assert_allclose(bar.get_xdata(), [interval.low[-1], interval.high[-1]])
    bound = [line for line in axes.get_lines() if len(set(line.get_ydata())) == 2]
    np.testing.assert_allclose([line.get_xdata()[0] for line in bound], 2 * np.log(100))
    written = [text.get_text() for text in axes.texts if "±" in text.get_text()]
    halves = [float(results[i].interval().high[-1]) - ends(results)[i] for i in ranks]
    assert written == [f"{ends(results)[i]:,.1f} ± {half:,.1f}" for i, half in zip(ranks, halves, strict=True)]
    assert axes.get_xscale() == "log" and axes.get_xlabel() == "regret after 100 rounds"
    assert any("asymptotic slope 2 log t" in text.get_text() for text in axes.texts)


def test_bands_of_one_standard_error(axes):
    results = many()
    regret_curves.plot(results, axes, bands="standard error")
    bar = next(line for line in axes.get_lines() if line.get_marker() != "o")
    first = results[int(np.argmin(ends(results)))]
    np.testing.assert_allclose(np.ptp(bar.get_xdata()), 2 * first.interval().se[-1])
    assert "one standard error" in axes.get_title(loc="left")


def test_the_files_of_many_algorithms_are_as_high_as_they_have_rows():
    (name, figure), *others = regret_curves.drawn(many(20))
    assert name == "regret-it" and not others
    assert figure.get_size_inches()[1] == pytest.approx(ranking.size(many(20))[1])


def test_the_experiment_of_baselines_has_every_rule_for_arms_that_do_not_change():
    text = resources.files("jaxbandit.lab.papers.experiments").joinpath("baselines.toml").read_text("utf-8")
    played = {table["type"] for table in tomllib.loads(text)["algorithm"]}
    rules = {name for name, entry in ALGORITHMS.items() if entry.kind == "simulate" and entry.setting == "arms"}
    assert rules - played == {"fixed_arm", "robust_ucb"} and played <= rules  # as its first lines say
