"""Verdicts on synthetic data in all outcomes and with swapped data, the paper's TOML, times, a small reproduction."""

import functools
import sys

import jax.numpy as jnp
import numpy as np
import pytest
from results_by_hand import noisy, result
from scipy import stats

from jaxbandit.engine.driver.execution import Execution
from jaxbandit.environments.stationary.beta import beta
from jaxbandit.lab.papers import figure_experiments, paper, published, verdict
from jaxbandit.lab.papers.tables import computed, times
from jaxbandit.lab.specs import source
from jaxbandit.running.results.base import ResultSet
from jaxbandit.support.refusals import BadInput

pytestmark = pytest.mark.quickly_compiled

CLAIM = {"id": "x", "text": "", "source": "", "instance": "it", "algorithm": "a"}


def _set(*pairs, instance="it"):
    return ResultSet("demo", tuple(noisy(m, seed=i, algorithm=n, instance=instance) for i, (n, m) in enumerate(pairs)))


def _verdict(results, **claim):
    (judged,) = verdict.judge([CLAIM | claim], results)
    return judged["verdict"]


# Common chance of sd 5 cancels run by run; what is left has sd sqrt 2 over 200 runs: half-widths near 0.25.
@pytest.mark.parametrize(
    ("claim", "a", "b", "expected"),
    [
        ({"relation": "below", "against": "b"}, 10, 12, "agrees"),
        ({"relation": "below", "against": "b"}, 12, 10, "disagrees"),
        ({"relation": "below", "against": "b"}, 10, 10.01, "undecided"),
        ({"relation": "above", "against": "b"}, 12, 10, "agrees"),
        ({"relation": "above", "against": "b"}, 10, 12, "disagrees"),
        ({"relation": "above", "against": "b"}, 10.01, 10, "undecided"),
        ({"relation": "below", "against": "b", "factor": 0.8}, 90, 100, "disagrees"),
        ({"relation": "below", "against": "b", "factor": 0.8}, 70, 100, "agrees"),
        ({"relation": "below", "against": "b", "within": 0.1}, 95, 100, "agrees"),
        ({"relation": "below", "against": "b", "within": 0.1}, 80, 100, "disagrees"),
        ({"relation": "above", "against": "b", "within": 0.1}, 105, 100, "agrees"),
        ({"relation": "above", "against": "b", "within": 0.1}, 120, 100, "disagrees"),
        ({"relation": "equal", "against": "b", "margin": 0.05}, 101, 100, "agrees"),
        ({"relation": "equal", "against": "b", "margin": 0.05}, 110, 100, "disagrees"),
        ({"relation": "equal", "against": "b", "margin": 0.05}, 90, 100, "disagrees"),
        ({"relation": "equal", "against": "b", "margin": 0.05}, 105, 100, "undecided"),
        ({"relation": "equal", "against": "b", "margin": 0.001}, 100, 100, "undecided"),  # too wide to tell
        ({"relation": "decreasing", "algorithm": ["b", "a"]}, 10, 12, "agrees"),
        ({"relation": "decreasing", "algorithm": ["b", "a"]}, 12, 10, "disagrees"),
    ],
)
def test_two_algorithms(claim, a, b, expected):
    assert _verdict(_set(("a", a), ("b", b)), **claim) == expected


@pytest.mark.parametrize(("a", "expected"), [(15, "agrees"), (5, "disagrees"), (25, "disagrees"), (10.02, "undecided")])
def test_between(a, expected):
    results = _set(("a", a), ("low", 10), ("high", 20))
    assert _verdict(results, relation="between", against=["low", "high"]) == expected
    swapped = _verdict(results, relation="between", against=["high", "low"])
    assert swapped == "disagrees"


def test_several_against_all_must_hold():
    results = _set(("a", 10), ("b", 12), ("c", 9))
    assert _verdict(results, relation="below", against=["b", "c"]) == "disagrees"
    assert _verdict(results, relation="below", against=["b"]) == "agrees"


def test_gap_in_another_instance():
    one, two = _set(("a", 30), ("b", 10)), _set(("a", 45), ("b", 10), instance="other")
    both = ResultSet("demo", one.results + two.results)
    claim = {"instance": "other", "gap": ["a", "b"], "against_instance": "it"}
    assert _verdict(both, relation="above", **claim) == "agrees"
    assert _verdict(both, relation="below", **claim) == "disagrees"
    assert _verdict(both, relation="equal", margin=0.25, **claim) == "disagrees"
    assert _verdict(both, relation="equal", margin=0.9, **claim) == "agrees"


def test_claims_on_absent_instances_are_left_out_of_the_family_too():
    claims = [
        CLAIM | {"relation": "below", "against": "b"},
        CLAIM | {"relation": "below", "against": "b", "instance": "absent"},
    ]
    (judged,) = verdict.judge(claims, _set(("a", 1), ("b", 2)), confidence=0.9)
    assert judged["checks"][0]["confidence"] == pytest.approx(0.9)
    twice = verdict.judge([claims[0], claims[0]], _set(("a", 1), ("b", 2)), confidence=0.9)
    assert twice[0]["checks"][0]["confidence"] == pytest.approx(0.95)


def test_interval_of_a_check_is_the_paired_one():
    results = _set(("a", 10), ("b", 12))
    (judged,) = verdict.judge([CLAIM | {"relation": "below", "against": "b", "factor": 0.5}], results)
    a, b = (r.arrays["regret"][:, 2].astype(float) for r in results)
    interval = stats.ttest_1samp(a - 0.5 * b, 0).confidence_interval(0.95)
    check = judged["checks"][0]
    np.testing.assert_allclose((check["low"], check["high"]), (interval.low, interval.high), rtol=1e-9)


def test_one_run_decides_nothing():
    results = ResultSet("demo", tuple(result([[1.0, 2.0, m]], algorithm=n) for n, m in (("a", 1.0), ("b", 9.0))))
    assert _verdict(results, relation="below", against="b") == "undecided"


@pytest.mark.slow
@pytest.mark.statistical
def test_false_verdicts_are_as_rare_as_stated():
    """Equal means, 300 families of 4 claims at 90 %: families with any false verdict are at most
    binomial(300, 0.1). False alarm: 1e-4 by the exact one-sided test."""
    rng = np.random.default_rng(5)
    claims = [
        CLAIM | {"algorithm": name, "relation": relation, "against": "ref"}
        for name in ("a", "b")
        for relation in ("below", "above")
    ]
    false = 0
    for _ in range(300):
        rows = rng.normal(10, 1, (3, 20))
        cells = tuple(
            result(np.stack([x] * 3, axis=1), algorithm=n) for n, x in zip(("a", "b", "ref"), rows, strict=True)
        )
        judged = verdict.judge(claims, ResultSet("demo", cells), confidence=0.9)
        false += any(c["verdict"] != "undecided" for c in judged)
    assert stats.binomtest(false, 300, 0.1, alternative="greater").pvalue > 1e-4


def test_guarantee_is_the_constant_of_the_distance():
    results = ResultSet("demo", (noisy(1.0, algorithm="a"),))  # means 0.1, 0.5, 0.9
    claim = {"quantity": "guarantee", "algorithm": "sq", "relation": "below", "against": "kl"}
    (judged,) = verdict.judge([CLAIM | claim], results)
    kl = [p * np.log(p / 0.9) + (1 - p) * np.log((1 - p) / 0.1) for p in (0.1, 0.5)]
    expected = (0.8 / 1.28 + 0.4 / 0.32) / (0.8 / kl[0] + 0.4 / kl[1])
    assert judged["checks"][0]["ratio"] == pytest.approx(expected, rel=1e-9)
    assert judged["verdict"] == "disagrees"


def test_bad_claims_are_refused():
    with pytest.raises(ValueError, match=r"claim x: relation = 'near', must be one of below"):
        _verdict(_set(("a", 1)), relation="near", against="a")
    with pytest.raises(ValueError, match=r"claim x: margin = None, must be a number in \(0, 1\)"):
        _verdict(_set(("a", 1)), relation="equal", against="a")


@pytest.mark.parametrize(("value", "expected"), [(10.0, "agrees"), (13.0, "disagrees"), (8.0, "disagrees")])
def test_published_regret(value, expected):
    """The prediction interval of the rule that all papers have: the spread of a run is that of 5,000 of ours."""
    entry = {"instance": "it", "algorithm": "kl", "quantity": "regret", "horizon": 100, "value": value, "runs": 1000}
    cell = noisy(10.0, runs=5000, shared=1)
    (number,) = published.numbers([entry | {"source": "s"}], ResultSet("demo", (cell,)))
    found = published.judge(number, cell, 0.95)
    assert found["verdict"] == expected
    final = cell.arrays["regret"][:, 2].astype(float)
    half = stats.t.ppf(0.975, 4999) * final.std(ddof=1) * np.sqrt(1 / 5000 + 1 / 1000)
    assert (found["high"] - found["low"]) / 2 == pytest.approx(half, rel=1e-9)


def test_published_regret_beside_few_runs_or_another_horizon():
    entry = {"instance": "it", "algorithm": "kl", "quantity": "regret", "horizon": 100, "value": 10.0, "runs": 1000}
    cell = noisy(10.0, runs=20)
    assert published.judge(entry | {"source": "s"}, cell, 0.95)["verdict"] == "undecided"
    assert published.numbers([entry | {"horizon": 99}], ResultSet("demo", (cell,))) == []


def test_its_sizes_and_its_table_of_times():
    data = source.read(source.embedded_files()["ucboost"])
    about = data.pop("paper")
    algorithms = {item["name"] for item in data["algorithm"]}
    figures = figure_experiments.figures_of(about)
    assert len(algorithms) == 12 and (data["runs"], data["horizon"], *figures) == (10000, 10000, "a", "b", "c")
    assert all({*figure.algorithms} == algorithms for figure in figures.values())
    assert all("independent" in entry["ours"] for entry in about["published"])
    table = about["complexity"]["table2"]
    rows = {row["instance"]: row["microseconds"] for row in table["rows"]}
    for microseconds in rows.values():
        assert table["reference"] in microseconds and microseconds.keys() <= algorithms
    assert rows["bernoulli-1"]["kl_ucb"] == 933
    for claim in about["share"]:
        assert all(claim["variant"] in rows[instance] for instance in claim["instance"])


def test_verdicts_follow_the_data_not_the_paper():
    """The same claims on data made to fit them, then on the same data with every order reversed."""
    about = source.read(source.embedded_files()["ucboost"])["paper"]
    claims = [c for c in about["claim"] if c["instance"] == "bernoulli-1" and "quantity" not in c]
    final = {"ucb1": 101, "ucb_bq": 96, "ucb_h": 130, "ucboost": 77, "ucboost_bq_h": 90, "kl_ucb": 59}
    final |= {"ucboost_eps_0.08": 72, "ucboost_eps_0.05": 67, "ucboost_eps_0.01": 60}
    fit = _set(*final.items(), instance="bernoulli-1")
    assert {c["id"]: c["verdict"] for c in verdict.judge(claims, fit)} == {c["id"]: "agrees" for c in claims}
    reversed_ = _set(*((n, 200 - m) for n, m in final.items()), instance="bernoulli-1")
    judged = {c["id"]: c["verdict"] for c in verdict.judge(claims, reversed_)}
    assert judged.pop("1.9") == "agrees"  # equality has no order
    assert set(judged.values()) == {"disagrees"}


TIMES = {
    "rows": [{"instance": "it", "microseconds": {"slow": 100.0, "fast": 1.0}}],
    "reference": "slow",
    "horizon": 200,
    "repetitions": 4,
    "confidence": 0.9,
}


@pytest.mark.slow
def test_times_are_ratios_with_an_interval():
    """Thompson's draws beside one multiplication, the same 64 runs: several times as long, whatever else runs."""
    data = {
        "name": "demo",
        "seed": 0,
        "instance": [{"name": "it", "type": "bernoulli", "means": [0.1, 0.9]}],
        "algorithm": [{"name": "fast", "type": "uniform"}, {"name": "slow", "type": "thompson"}],
    }
    slow, fast = times.times(TIMES, data, 64)
    assert (slow["variant"], fast["variant"], fast["published_ratio"]) == ("slow", "fast", 0.01)
    assert "ratio" not in slow and fast["low"] < fast["ratio"] < fast["high"] and fast["confidence"] == 0.9
    assert fast["ratio"] == pytest.approx(fast["nanoseconds"] / slow["nanoseconds"], rel=1e-9)
    assert times.times_text([slow, fast]).count("\n") == 3
    claim = {"id": "t", "table": "t", "quantity": "time", "variant": "fast", "instance": ["it"]}
    tables = [{"name": "t", "rows": [slow, fast]}]
    low, high, between = fast["low"] / 2, 2 * fast["high"], fast["ratio"]
    judged = [computed.judge([claim | {"value": v}], tables)[0]["verdict"] for v in (low, high, between)]
    assert judged == ["disagrees", "agrees", "undecided"]
    assert computed.judge([claim | {"value": 1, "instance": ["other"]}], tables) == []


def test_listed():
    assert paper.papers()["ucboost"].endswith("(2018)")


@pytest.mark.slow
def test_failed_runs_are_an_error_of_one_line(tmp_path, monkeypatch):
    """The first algorithm is enough: each cell is judged as soon as it is played."""

    @functools.wraps(beta)
    def broken(**arguments):
        world = beta(**arguments)
        return world._replace(reward=lambda *given: world.reward(*given) + jnp.nan)

    monkeypatch.setattr(sys.modules["jaxbandit.environments.stationary.beta"], "beta", broken)
    with pytest.raises(BadInput) as error:
        paper.reproduce("ucboost", "c", out=tmp_path, runs=40, horizon=60, execution=Execution(progress=False))
    assert str(error.value) == "beta/ucb1: 40 of 40 runs left out: not finite; max_failed = 0 allows none"
