"""What a notebook shows of an object: escaped HTML without JavaScript, and one line as text."""

from xml.etree import ElementTree

import jax
import numpy as np
import pytest
from results_by_hand import result, stopping

import jaxbandit as jb
from jaxbandit.base.contract import Outcome
from jaxbandit.decide.tuning.configs import read
from jaxbandit.decide.tuning.result import tune_result
from jaxbandit.running.results.base import ResultSet
from jaxbandit.support.document import Document, Facts, Notes, Table, as_html, fold

HOSTILE = "<script>alert('&')</script>"


def test_every_cell_title_and_note_of_a_table_is_escaped():
    table, facts = Table([HOSTILE], [[HOSTILE]], caption=HOSTILE), Facts({HOSTILE: HOSTILE})
    shown = as_html(Document(HOSTILE, [table, Notes([HOSTILE]), fold(HOSTILE, facts)]))
    assert "<script" not in shown
    assert shown.count("&lt;script&gt;alert(&#x27;&amp;&#x27;)&lt;/script&gt;") == 8
    assert 'style="color' not in shown and "background" not in shown  # the page's own colors, light or dark


def result_by_hand(**changes):
    rows = np.random.default_rng(0).normal(20, 3, (60, 3))
    return result(rows, **changes)


def checked(html):
    """Return what a notebook shows of an object, after the checks that hold for every class."""
    assert "<script" not in html and "<b>" not in html and "javascript" not in html
    elements = ElementTree.fromstring(html)  # every tag is closed
    assert elements.find(".//table") is not None
    return " ".join(" ".join(elements.itertext()).split())


def test_a_result_shows_its_interval_the_runs_left_out_and_where_it_comes_from():
    shown = checked(result_by_hand(algorithm=HOSTILE, instance="<b>", seed=7, params={"c": "<b>"})._repr_html_())
    r = result_by_hand()
    assert HOSTILE in shown and "c = <b>" in shown and "seed 7" in shown and f"jax {r.versions['jax']}" in shown
    low, high = (f"{end[-1]:,.2f}" for end in r.interval()[-2:])
    assert f"[{low}, {high}]" in shown and "completed" in shown
    codes = np.zeros(60, np.int8)
    codes[:4] = Outcome.NONFINITE
    shown = checked(result_by_hand(outcome=codes)._repr_html_())
    assert "runs completed not finite in the means" in shown and "60 56 4 56" in shown
    assert "4 of 60 runs left out" in shown


def test_a_stopping_result_shows_its_censored_runs_beside_the_mean():
    codes = np.array([Outcome.STOPPED] * 7 + [Outcome.MAX_ROUNDS] * 3, np.int8)
    r = stopping(np.arange(1, 11) * 10, outcome=codes, max_rounds=100)
    shown = checked(r._repr_html_())
    assert "censored at max_rounds" in shown and "10 7 3 10" in shown and "3 of them censored at 100" in repr(r)
    assert f"> {r.samples().mean():.0f}" in shown
    both = checked(ResultSet(HOSTILE, (r, r))._repr_html_())
    assert both.count("10 7 3 10") == 2 and HOSTILE in both
    assert f"run-steps {2 * r.run_steps:,}" in both  # the work of both


def test_a_search_is_one_line_and_a_table_with_intervals():
    history = {"id": np.arange(4), "config": [0, 0, 1, 1], "seed": [0, 1, 0, 1], "score": [0.1, 0.3, 0.6, 0.8]}
    configs = read({"act": np.array([HOSTILE, "relu"]), "x": np.array([1.0, 2.0])})
    history |= {"batch": np.zeros(4)}
    found = tune_result(configs, 1, history, survivors=[False, True], certificate="a rule", notes=("<b> &",))
    shown = checked(found._repr_html_())
    low, high = found.table["low"][1], found.table["high"][1]
    assert HOSTILE in shown and "<b> &" in shown and f"2 0.7 {low:.5g} {high:.5g} chosen act = relu" in shown
    assert repr(found) == (
        f"configuration 1: act = relu, x = 2; mean score 0.7 [{low:.5g}, {high:.5g}] after "
        "4 trainings of 2 configurations"
    )


def test_algorithms_and_environments_show_what_they_declare():
    shown = checked(jb.algorithms.lucb(3, delta=0.05, sigma=0.5)._replace(name=HOSTILE)._repr_html_())
    assert f"<Algorithm {HOSTILE}>" in shown and "one of 3 arms" in shown and "stops by its own rule" in shown
    assert "the best arm up to epsilon = 0 with error rate at most delta = 0.05" in shown
    assert "made by lucb(num_arms=3, m=1, " in shown and "delta=0.05, " in shown
    linear = checked(jb.algorithms.lin_ucb(np.eye(2), horizon=9)._repr_html_())
    assert "made by lin_ucb(features=float64[2, 2], " in linear
    longest = checked(jb.algorithms.delayed(jb.algorithms.ucb1(2).named("u" * 90), mean=2.0, cap=5)._repr_html_())
    assert f"algorithm=<Algorithm {'u' * 46}..., " in longest
    for regret in (jb.algorithms.ucb1(2), jb.algorithms.ucb1(2)._replace(stop=jb.contract.never())):
        assert "stops never guarantee none" in checked(regret._repr_html_())
    shown = checked(jb.environments.bernoulli([0.2, 0.7])._replace(name=HOSTILE)._repr_html_())
    assert f"<Environment {HOSTILE}>" in shown and "in [0, 1]" in shown and "bernoulli family" in shown
    shown = []

    def traced(delta):
        rule = jb.algorithms.lucb(3, delta=delta, sigma=delta)
        shown.append((repr(rule), rule._repr_html_()))
        return delta

    jax.eval_shape(traced, 0.05)
    assert shown[0][0] == "<Algorithm lucb>" and "error rate at most delta" in checked(shown[0][1])


@pytest.mark.slow
@pytest.mark.quickly_compiled
def test_a_session_shows_its_arms_and_a_traced_one_its_name():
    session, pulls = jb.ask(jb.session(jb.algorithms.ucb1(2)._replace(name=HOSTILE)))
    session = jb.tell(session, pulls.id, [0.25])
    shown = checked(session._repr_html_())
    assert f"<Session of {HOSTILE}: 1 pulls told" in shown and "0 1 0.25 yes 1 0" in shown and "seed 0" in shown
    shown = checked(jb.certificate(session)._repr_html_())
    assert "95% interval" in shown and "guarantee: none" in shown
    seen = []
    jax.eval_shape(lambda s: seen.append((repr(s), s._repr_html_())), session)
    assert "being traced" in seen[0][0] and "<script" not in seen[0][1]
