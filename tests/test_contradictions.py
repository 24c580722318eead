"""Data that contradict an assumption: nothing is claimed, and the first line of every text says so."""

import dataclasses
import json
import math

import numpy as np
import pytest

import jaxbandit as jb
from jaxbandit.decide.core.certificate import Certificate
from jaxbandit.theory.comparisons import achieved
from jaxbandit.theory.comparisons.arms import ArmBounds, normal_arms
from jaxbandit.theory.comparisons.betting import BoundedDifferences
from jaxbandit.theory.comparisons.contradiction import contradiction, contradictory, of_comparison
from jaxbandit.theory.comparisons.pairs import PairedDifferences
from jaxbandit.theory.quantile_bounds import QuantileBounds

pytestmark = pytest.mark.quickly_compiled
BEGINS = "the data contradict an assumption"


def swapped(kind):
    """A comparison of two arms of which each is better by far for a while: 100 rows, and then 800."""
    low, high = np.tile([0.1, 0.3], 50), np.tile([0.8, 0.9], 50)
    samples = [np.concatenate([low, *[high] * 8]), np.concatenate([high, *[low] * 8])]
    comparison = PairedDifferences(2, math.log(0.05)) if kind == "normal" else BoundedDifferences(2, math.log(0.05), 1)
    comparison.enter(samples)
    return comparison


def flipped(paired, law):
    """A session of two arms that have changed places halfway."""
    rng = np.random.default_rng(4)
    rule = jb.algorithms.uniform(2) if law == "normal" else jb.algorithms.bernstein_race(2, delta=0.05)
    state = jb.session(rule, paired=paired)
    for t in range(4):
        state, pulls = jb.ask(state, limit=200)
        means = np.array([0.2, 0.8]) if t == 0 else np.array([0.8, 0.2])
        state = jb.tell(state, pulls.id, np.clip(rng.normal(means[pulls.arm], 0.1), 0, 1))
    return state


@pytest.mark.parametrize("kind", ["normal", "bounded"])
def test_nothing_is_achieved_if_every_arm_is_excluded(kind):
    comparison = swapped(kind)
    assert comparison.ever().any(axis=1).all() and comparison.excluded().tolist() == [False, True]
    line = of_comparison(comparison, [0], noun="variant", when="after 800 visitors", delta=0.05)
    assert line.startswith(f"{BEGINS}, or what has a probability of 0.05 has happened: every variant is excluded")
    assert "after 800 visitors; nothing is claimed; check the order of the rows" in line


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["normal", "bounded"])
def test_an_estimate_that_has_left_its_interval_has_the_bounds_of_the_present_and_is_no_contradiction(kind):
    def compared(scores):
        level = math.log(0.05)
        made = PairedDifferences(2, level) if kind == "normal" else BoundedDifferences(2, level, 5.0)
        made.enter([np.asarray(scores), np.zeros(len(scores))])
        return made

    noise, late = np.tile([-0.5, 0.5], 50), 1.6 if kind == "normal" else 1.0
    scores = np.concatenate([noise + 2, noise + late])  # 2 better, and then less
    alone = compared(scores[:100]).differences(1)[0][0]
    both = compared(scores)
    low, estimates, high = both.differences(1)
    assert estimates[0] == pytest.approx(1 + late / 2) and low[0] < estimates[0] < high[0]
    assert kind == "bounded" or low[0] < estimates[0] < alone
    assert kind == "bounded" or of_comparison(both, [0]) == ""
    further = compared(np.concatenate([scores, np.tile(noise, 20)]))  # and then equal
    line = of_comparison(further, [0], names=("old", "new"), delta=0.05)
    assert "a probability of 0.1 has happened: bounds of the difference between new and old exclude each other" in line
    equal = compared(np.concatenate([noise[:50] + 2, np.tile(noise, 20) - 0.2]))  # better at first, and then worse
    assert equal.ever()[1, 0] and not equal.claims()[1, 0] and not equal.excluded()[1]


def _scores(law, rng, size):
    match law:
        case "normal":
            return rng.normal(size=size)
        case "accuracy of 30":
            return rng.binomial(30, 0.93, size) / 30
        case "rate":
            return (rng.random(size) < 0.5) * 1.0
    return rng.beta(4, 2, size)


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("law", ["normal", "accuracy of 30", "rate", "bounded"])
def test_honest_scores_are_accused_with_probability_delta_at_most(law):
    """At delta = .05, more than 8 of 40 have a probability of 2e-4 if the bound 2 delta = .1 were .05 in truth."""
    rng, accused = np.random.default_rng(7), 0
    for i in range(40):
        arms, rows = [(2, 100), (4, 60), (8, 40)][i % 3 if law in ("normal", "accuracy of 30") else 0]
        scores, level = _scores(law, rng, (arms, rows)), achieved.log_level(0.05, arms)
        normal = law in ("normal", "accuracy of 30")
        made = PairedDifferences(arms, level) if normal else BoundedDifferences(arms, level, 1.0)
        made.enter(list(scores))
        accused += bool(of_comparison(made, [int(np.argmax(scores.mean(axis=1)))], delta=0.05))
    assert accused <= 8


def test_scores_too_small_for_squares_decide_nothing_without_a_warning():
    scores = 1e-200 * np.random.default_rng(8).normal(size=(2, 60))
    pairs = PairedDifferences(2, math.log(0.05))
    pairs.enter(list(scores))
    assert np.isinf(pairs.upper(0)[1]) and not pairs.excluded().any()
    low, high = normal_arms(np.array([60, 60]), scores.mean(axis=1), np.array([5e-324, 0.0]), math.log(0.05))
    assert not np.isnan([low, high]).any() and (low < -1e-190).all() and (high > 1e-190).all()


def test_an_empty_interval_of_an_arm_excludes_it_from_nothing_and_is_a_contradiction():
    arms = ArmBounds(np.array([0.5, 0.0, 0.1]), np.array([0.4, 1.0, 0.9]))
    assert arms.excluded().tolist() == [False, False, False]
    assert "between arm 1 and arm 0 exclude each other" in of_comparison(arms, [1])
    assert of_comparison(ArmBounds(np.array([0.3, 0.0]), np.array([0.4, 1.0])), [1]) == ""
    # bounds that have crossed at some time: the statement needs all bounds of all arms, which is twice delta
    crossed = ArmBounds(np.array([0.5, np.inf, 0.1]), np.array([0.9, -np.inf, 0.4]))
    assert crossed.excluded().tolist() == [False, False, True]
    said = of_comparison(crossed, [0], delta=0.05)
    assert "or what has a probability of 0.1 has happened" in said and "between arm 1 and arm 0 exclude" in said


def test_intervals_that_must_not_be_shown():
    low, high = np.array([0.1, 0.5, -np.inf, 0.2]), np.array([0.3, 0.4, np.inf, 0.3])
    estimates = np.array([0.2, 0.45, np.nan, 0.35])
    assert contradictory(low, high).tolist() == [False, True, False, False]
    assert contradictory(low, high, estimates).tolist() == [False, True, False, True]
    # rounding of the estimate, in units of its last place, is none
    one = np.array([1e9])
    assert not contradictory(one, one + 1, np.nextafter(one, 0)).any()
    assert contradictory(one, one + 1, one - 1e-3).any()
    assert contradictory(np.array([1e12]), np.array([1e12 - 0.001])).all()  # an empty interval is one at any size
    assert contradiction(low=low, high=high) == contradiction(low=low[1:2], high=high[1:2], names=["arm 1"])
    assert contradiction(excluded=np.array([True, False])) == ""
    assert "fewer than 2 arms are not excluded" in contradiction(excluded=np.array([True, True, False]), m=2)
    assert contradiction(found="x").startswith(f"{BEGINS}: x; nothing is claimed")


@pytest.mark.slow
@pytest.mark.parametrize("law", ["normal", "bounded"])
def test_a_certificate_begins_with_the_contradiction(law):
    certificate = jb.certificate(flipped(True, law))
    first = str(certificate).splitlines()[0]
    assert first.startswith(BEGINS) and first == certificate.contradiction == certificate.known
    assert certificate.achieved == math.inf and not certificate.excluded.any()
    assert certificate.promise.startswith("none")
    assert certificate._repr_html_().index(BEGINS) < certificate._repr_html_().index("recommended")
    content = json.loads(json.dumps(certificate.to_json()))
    assert list(content)[:2] == ["schema", "contradiction"] and "achieved_epsilon" not in content
    again = Certificate.from_json(content)
    assert again.to_json() == content and again.achieved == math.inf and str(again) == str(certificate)


@pytest.mark.slow
def test_a_certificate_withdraws_what_it_is_given():
    clean = jb.certificate(flipped(True, "normal"))
    empty = np.array([0.5, 0.2]), np.array([0.4, 0.9])
    given = {"contradiction": "", "achieved": 0.0, "excluded": np.array([False, True]), "means": np.array([0.45, 0.5])}
    bad = dataclasses.replace(clean, **given, low=empty[0], high=empty[1])
    assert bad.contradiction.startswith(BEGINS) and "an interval is empty (arm 0)" in bad.contradiction
    assert bad.achieved == math.inf and bad.low.tolist() == [-math.inf, 0.2] and bad.high.tolist() == [math.inf, 0.9]
    assert "[0.5, 0.4]" not in str(bad) and dataclasses.replace(bad).contradiction == bad.contradiction
    outside = dataclasses.replace(clean, **given, low=np.array([0.1, 0.6]), high=np.array([0.5, 0.9]))
    assert outside.contradiction == "" and outside.low.tolist() == [0.1, -math.inf]
    assert outside.high.tolist() == [0.5, math.inf]
    everyone = given | {"excluded": np.array([True, True]), "survivors": np.array([False, False])}
    bad = dataclasses.replace(clean, **everyone, low=np.array([0.4, 0.4]), high=np.array([0.6, 0.6]))
    assert "every arm is excluded" in bad.known and bad.survivors.all() and bad.low.tolist() == [0.4, 0.4]


def test_quantile_bounds_that_cross_are_a_contradiction():
    bounds = QuantileBounds(0.5, 0.01)
    bounds.add(np.random.default_rng(0).permutation(100))
    assert not bounds.crossed and bounds.low < 49.5 < bounds.high and bounds.ends == (bounds.low, bounds.high)
    bounds.add(np.arange(1000.0, 2000.0))
    assert bounds.crossed and bounds.low == bounds.high and bounds.ends == (np.inf, -np.inf)
