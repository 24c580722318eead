"""Verdicts on synthetic data in all outcomes and with swapped data, the paper's TOML, and one small reproduction."""

import dataclasses
import json

import numpy as np
import pytest
from results_by_hand import noisy, result
from scipy import stats

from jaxbandit.reproduction import paper, verdict
from jaxbandit.results.base import ResultSet
from jaxbandit.running import experiment as running
from jaxbandit.specs import source, spec

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


@pytest.mark.parametrize(
    ("seconds", "expected"), [(1.0, "agrees"), (4.0, "disagrees"), (1.9, "undecided"), (2.1, "undecided")]
)
def test_time_claims_allow_for_noise(seconds, expected):
    cells = (noisy(1.0, algorithm="a", run_seconds=seconds), noisy(1.0, algorithm="b", run_seconds=4.0))
    claim = {"quantity": "time", "relation": "below", "against": "b", "factor": 0.5}
    assert _verdict(ResultSet("demo", cells), **claim) == expected


def test_nanoseconds():
    # 0.006 s over 1000 run-steps of 3 arms
    assert verdict.nanoseconds(noisy(1.0)) == pytest.approx(2000)


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
def test_published_number(value, expected):
    entry = {"value": value, "at": 100, "runs": 1000, "source": "s"}
    found = verdict.judge_published(entry, noisy(10.0, runs=5000, shared=1))
    assert found is not None
    assert found["verdict"] == expected
    # sd of a run is sqrt(26): published half-width 1.96 sqrt(26 / 1000) = 0.316
    assert found["published"]["high"] - value == pytest.approx(0.316, rel=0.05)


def test_published_number_beside_few_runs_or_another_round():
    entry = {"value": 10.0, "at": 100, "runs": 1000, "source": "s"}
    few = verdict.judge_published(entry, noisy(10.0, runs=20))
    assert few is not None
    assert few["verdict"] == "undecided"
    assert verdict.judge_published(entry | {"at": 99}, noisy(10.0)) is None


def test_the_paper_is_complete():
    data = source.read(source.embedded()["ucboost"])
    about = data.pop("paper")
    algorithms = {item["name"] for item in data["algorithm"]}
    instances = {item["name"] for item in data["instance"]}
    assert len(algorithms) == 12
    assert (data["runs"], data["horizon"]) == (10000, 10000)
    assert {i for figure in about["figures"].values() for i in figure} == instances
    ids = [claim["id"] for claim in about["claim"]]
    assert len(set(ids)) == len(ids)
    for claim in about["claim"]:
        assert "verdict" not in claim
        assert claim["source"].startswith("Section 6.")
        guarantee = claim.get("quantity") == "guarantee"
        for check in verdict.checks_of(claim):
            for q in (check.left, check.right):
                assert q.instance in instances
                assert guarantee or {q.algorithm, q.minus} - {""} <= algorithms
        if {"margin", "factor", "within"} & claim.keys() and claim.get("quantity") != "time":
            assert claim["reason"]
    for entry in about["published"]:
        assert (entry["instance"] in instances) and (entry["algorithm"] in algorithms)
        assert "independent" in entry["source"]
    for entry in about["cost"]:
        assert entry["microseconds"].keys() <= algorithms
    assert about["cost"][0]["microseconds"]["kl_ucb"] == 933


def test_verdicts_follow_the_data_not_the_paper():
    """The same claims on data made to fit them, then on the same data with every order reversed."""
    about = source.read(source.embedded()["ucboost"])["paper"]
    claims = [c for c in about["claim"] if c["instance"] == "bernoulli-1" and "quantity" not in c]
    final = {"ucb1": 101, "ucb_bq": 96, "ucb_h": 130, "ucboost": 77, "ucboost_bq_h": 90, "kl_ucb": 59}
    final |= {"ucboost_eps_0.08": 72, "ucboost_eps_0.05": 67, "ucboost_eps_0.01": 60}
    fit = _set(*final.items(), instance="bernoulli-1")
    assert {c["id"]: c["verdict"] for c in verdict.judge(claims, fit)} == {c["id"]: "agrees" for c in claims}
    reversed_ = _set(*((n, 200 - m) for n, m in final.items()), instance="bernoulli-1")
    judged = {c["id"]: c["verdict"] for c in verdict.judge(claims, reversed_)}
    assert judged.pop("1.9") == "agrees"  # equality has no order
    assert set(judged.values()) == {"disagrees"}


def test_bad_targets():
    with pytest.raises(ValueError, match=r"paper = 'ucbost'.*did you mean 'ucboost'"):
        paper.reproduce("ucbost")
    with pytest.raises(ValueError, match=r"figure = 'd', must be one of a, b, c"):
        paper.reproduce("ucboost/d")


class _Stop(Exception):
    pass


@pytest.mark.parametrize(
    ("options", "runs", "horizon"),
    [
        ({}, 10000, 10000),
        ({"quick": True}, 400, 10000),
        ({"quick": True, "runs": 70}, 70, 10000),
        ({"horizon": 20000}, 10000, 20000),
    ],
)
def test_what_is_run(monkeypatch, options, runs, horizon):
    def run_experiment(experiment, out, **more):
        raise _Stop(experiment)

    monkeypatch.setattr("jaxbandit.running.experiment.run_experiment", run_experiment)
    with pytest.raises(_Stop) as stop:
        paper.reproduce("ucboost/b", **options)
    (experiment,) = stop.value.args
    assert (experiment.runs, experiment.horizon, len(experiment.algorithms)) == (runs, horizon, 12)
    assert [i.name for i in experiment.instances] == ["bernoulli-2"]
    assert 10000 in experiment.checkpoints  # where the published numbers are


def test_listed():
    assert paper.papers()["ucboost"].endswith("(2018)")


def _reproduced(tmp_path, target):
    found = paper.reproduce(target, out=tmp_path / "out", runs=50, horizon=200, progress=False)
    content = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert content == found.summary
    assert content["schema"] == 1
    assert all(c["verdict"] in ("agrees", "disagrees", "undecided") for c in content["claims"])
    assert all(path.exists() for path in found.figures)
    assert "claims: " in found.table()
    return found


@pytest.mark.slow
def test_reproduce_end_to_end(tmp_path, monkeypatch):
    """All cells, each played by UCB1, since compiling takes the time: the figure below is played by its own twelve."""
    program, ucb1 = running._program, spec.AlgorithmSpec("ucb1", "ucb1", {})

    def of_ucb1(cell):
        arguments = {"num_arms": cell.arguments["num_arms"], "c": 0.0}
        return program(dataclasses.replace(cell, algorithm=ucb1, params={}, arguments=arguments))

    monkeypatch.setattr(running, "_program", of_ucb1)
    found = _reproduced(tmp_path, "ucboost")
    assert len(found.summary["cells"]) == 36
    assert len(found.figures) == 3
    assert len(found.summary["table2"]) == 36
    claims = source.read(source.embedded()["ucboost"])["paper"]["claim"]
    assert [c["id"] for c in found.summary["claims"]] == [c["id"] for c in claims]
    bytes_before = {p.name: p.read_bytes() for p in (tmp_path / "out").glob("cell-*")}
    again = _reproduced(tmp_path, "ucboost")  # nothing is run again
    assert again.summary == found.summary
    assert bytes_before == {p.name: p.read_bytes() for p in (tmp_path / "out").glob("cell-*")}


@pytest.mark.slow
def test_reproduce_one_figure(tmp_path):
    found = _reproduced(tmp_path, "ucboost/c")
    assert {cell["instance"] for cell in found.summary["cells"]} == {"beta"}
    assert {c["id"] for c in found.summary["claims"]} == {f"3.{i}" for i in range(1, 7)}
