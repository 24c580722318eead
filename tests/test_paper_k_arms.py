"""Papers on K arms: their TOMLs are experiments as published; claims on budgets are judged on the cells they name."""

import dataclasses

import numpy as np
import pytest
from results_by_hand import stopping
from scipy import stats

from jaxbandit.lab.experiments.truth import truth_of
from jaxbandit.lab.papers import verdict
from jaxbandit.lab.specs import source, spec
from jaxbandit.running.results.base import ResultSet
from jaxbandit.running.results.budget import BudgetResult
from jaxbandit.support.refusals import BadInput
from jaxbandit.theory import intervals
from jaxbandit.theory.bounds import h1

PAPERS = ("track_and_stop", "fixed_budget", "fiesta", "fiesta_table2")
# Quoted from memory of Audibert, Bubeck and Munos 2010, Section 6: means, and the budget.
INSTANCES = [
    ([0.5] + 19 * [0.4], 2000),
    ([0.5] + 5 * [0.42] + 14 * [0.38], 2000),
    ([0.5] + [0.5 - 0.37**i for i in (2, 3, 4)], 2000),
    ([0.5, 0.42, 0.4, 0.4, 0.35, 0.35], 600),
    ([0.5] + [0.5 - 0.025 * i for i in range(2, 16)], 4000),
    ([0.5, 0.48] + 18 * [0.37], 6000),
    ([0.5] + 5 * [0.45] + 14 * [0.43] + 10 * [0.38], 6000),
]
CLAIM = {"id": "x", "text": "", "source": "", "instance": "it", "algorithm": "a", "relation": "below"}


def read(name):
    data = source.read(source.embedded_files()[name])
    return data, data.pop("paper")


def test_the_seven_instances_are_as_quoted():
    data, about = read("fixed_budget")
    for i, (means, budget) in enumerate(INSTANCES, 1):
        instance, figure = data["instance"][i - 1], about["figures"][f"instance{i}"]
        np.testing.assert_allclose(instance["means"], means, rtol=1e-12)
        assert instance["permute"] and figure["budget"][-1] == budget
        told = next(a["h1"] for a in data["algorithm"] if a["name"] == f"UCB-E, H1 of {i}")
        assert told == pytest.approx(h1(means), rel=1e-5)


def cell(errors, algorithm, budget, runs=400):
    short = np.where(np.arange(runs) < errors, 0.1, 0.0)
    fields = stopping(np.full(runs, budget), None, short, algorithm, "it", {"budget": budget}, budget)
    return BudgetResult(**{f.name: getattr(fields, f.name) for f in dataclasses.fields(fields)})


@pytest.mark.parametrize(
    ("claim", "expected"),
    [
        ({"against": "b"}, "agrees"),  # of the largest budget, 40 errors against 120
        ({"against": "b", "at": 100}, "disagrees"),
        ({"value": 0.2}, "agrees"),
        ({"value": 0.2, "at": 100}, "disagrees"),
        ({"quantity": "simple_regret", "against": "b"}, "agrees"),
        ({"quantity": "simple_regret", "value": 0.02, "at": 100}, "disagrees"),
    ],
)
def test_claims_on_budgets(claim, expected):
    results = ResultSet("x", (cell(200, "a", 100), cell(40, "a", 200), cell(100, "b", 100), cell(120, "b", 200)))
    (judged,) = verdict.judge([CLAIM | claim], results)
    assert judged["verdict"] == expected
    if claim == {"against": "b"}:  # run by run: the first 40 err under both, 80 under b alone
        check, rate = judged["checks"][0], stats.binomtest(80, 400).proportion_ci(0.95, "exact")
        student = intervals.student_of(-(np.arange(400) < 80).astype(float), 0.95)
        assert check["low"] == pytest.approx(-rate.high, rel=1e-3)  # no pair can differ by more than -1
        assert student.high < check["high"] < student.high + 0.01  # some could, unseen, differ by +1
    if claim == {"value": 0.2}:
        exact = stats.binomtest(40, 400).proportion_ci(0.95, "exact")
        assert judged["checks"][0]["high"] + 0.2 == pytest.approx(exact.high)


def test_a_budget_that_was_not_played_is_refused():
    results = ResultSet("x", (cell(200, "a", 100), cell(40, "a", 200)))
    with pytest.raises(BadInput, match="it/a at 150: names 0 results, must name one"):
        verdict.judge([CLAIM | {"value": 0.2, "at": 150}], results)


def test_hardness_does_not_depend_on_the_order_of_the_arms():
    table = {"type": "bernoulli", "means": [0.3, 0.5, 0.4], "permute": True}
    data = {
        "kind": "identify",
        "runs": 1,
        "budget": 9,
        "instance": [table],
        "algorithm": [{"type": "uniform_allocation"}],
    }
    truth = truth_of(spec.parse(data, "x.toml").instances[0], "identify")
    assert "means" not in truth
    result = dataclasses.replace(cell(3, "a", 100), truth=truth)
    assert result.hardness() == pytest.approx((1 / 0.01 + 1 / 0.01 + 1 / 0.04, max(1 / 0.01, 2 / 0.01, 3 / 0.04)))
