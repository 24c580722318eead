"""Data that contradict an assumption: nothing is claimed, and the first line of every text says so."""

import dataclasses
import json
import math

import numpy as np
import pytest

import jaxbandit as jb
from jaxbandit.decide.sessions.certificate import Certificate
from jaxbandit.theory.comparisons import achieved
from jaxbandit.theory.comparisons.arms import ArmBounds
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
    rule = jb.uniform(2) if law == "normal" else jb.bernstein_race(2, delta=0.05)
    state = jb.session(rule, paired=paired)
    for t in range(4):
        state, pulls = jb.ask(state, limit=200)
        means = np.array([0.2, 0.8]) if t == 0 else np.array([0.8, 0.2])
        state = jb.tell(state, pulls.id, np.clip(rng.normal(means[pulls.arm], 0.1), 0, 1))
    return state


@pytest.mark.parametrize("kind", ["normal", "bounded"])
def test_nothing_is_achieved_if_every_arm_is_excluded(kind):
    comparison = swapped(kind)
    assert comparison.excluded().all()
    assert achieved.achieved_epsilon(comparison, [0]) == achieved.achieved_epsilon(comparison, [1]) == math.inf
    line = of_comparison(comparison, [0], noun="variant", when="after 800 visitors", delta=0.05)
    assert line.startswith(f"{BEGINS}, or what has a probability of 0.05 has happened: every variant is excluded")
    assert "after 800 visitors; nothing is claimed; check the order of the rows" in line


def test_an_estimate_that_has_left_its_interval_is_a_contradiction():
    pairs = PairedDifferences(2, math.log(0.05))
    noise = np.tile([-0.5, 0.5], 50)
    pairs.enter([np.concatenate([noise + 2, noise + 1.6]), np.zeros(200)])  # 2 better, and then 1.6
    low, estimates, high = pairs.differences(1)
    assert estimates[0] == pytest.approx(1.8) and 1.8 < low[0] < high[0] < 2
    line = of_comparison(pairs, [0], names=("old", "new"))
    assert "the interval of the difference between new and old lacks the difference of their means" in line
    pairs = PairedDifferences(2, math.log(0.05))
    pairs.enter([noise + 2, np.zeros(100)])
    assert of_comparison(pairs, [0]) == ""


def test_an_empty_interval_of_an_arm_excludes_it_from_nothing_and_is_a_contradiction():
    arms = ArmBounds(np.array([0.5, 0.0, 0.1]), np.array([0.4, 1.0, 0.9]))
    assert arms.excluded().tolist() == [False, False, False]
    assert "between arm 0 and arm 1 is empty" in of_comparison(arms, [1])
    assert of_comparison(ArmBounds(np.array([0.3, 0.0]), np.array([0.4, 1.0])), [1]) == ""


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
    assert contradiction(low=low, high=high, estimates=low) == contradiction(
        low=low[1:2], high=high[1:2], names=["arm 1"]
    )
    assert contradiction(excluded=np.array([True, False])) == ""
    assert "fewer than 2 arms are not excluded" in contradiction(excluded=np.array([True, True, False]), m=2)
    assert contradiction(found="x").startswith(f"{BEGINS}: x; nothing is claimed")


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


def test_a_certificate_withdraws_what_it_is_given():
    clean = jb.certificate(flipped(True, "normal"))
    empty = np.array([0.5, 0.2]), np.array([0.4, 0.9])
    given = {"contradiction": "", "achieved": 0.0, "excluded": np.array([False, True]), "means": np.array([0.45, 0.5])}
    bad = dataclasses.replace(clean, **given, low=empty[0], high=empty[1])
    assert bad.contradiction.startswith(BEGINS) and "an interval is empty (arm 0)" in bad.contradiction
    assert bad.achieved == math.inf and bad.low.tolist() == [-math.inf, 0.2] and bad.high.tolist() == [math.inf, 0.9]
    assert "[0.5, 0.4]" not in str(bad) and dataclasses.replace(bad).contradiction == bad.contradiction
    everyone = given | {"excluded": np.array([True, True]), "survivors": np.array([False, False])}
    bad = dataclasses.replace(clean, **everyone, low=np.array([0.4, 0.4]), high=np.array([0.6, 0.6]))
    assert "every arm is excluded" in bad.known and bad.survivors.all() and bad.low.tolist() == [0.4, 0.4]


def test_quantile_bounds_that_cross_are_a_contradiction():
    bounds = QuantileBounds(0.5, 0.01)
    bounds.add(np.random.default_rng(0).permutation(100))
    assert not bounds.crossed and bounds.low < 49.5 < bounds.high
    bounds.add(np.arange(1000.0, 2000.0))
    assert bounds.crossed and bounds.low == bounds.high
