"""What the scores of a search tell, by hand: levels, bounds of single configurations, remarks."""

import math

import numpy as np
import pytest

from jaxbandit.decide.tuning.criterion import Criterion, Stage
from jaxbandit.decide.tuning.evidence import Evidence
from jaxbandit.theory.comparisons import pairs
from jaxbandit.theory.comparisons.arms import normal_arms
from jaxbandit.theory.comparisons.betting import MOST_ARMS
from jaxbandit.theory.comparisons.pairs import PairedDifferences
from jaxbandit.theory.proportions import rate_bounds, upper_rate

NAN = math.nan


def entered(criterion, scores, stages=None):
    """Evidence with these rows of scores, one row for each configuration."""
    evidence = Evidence(criterion, stages or [Stage(len(scores), 0, False)])
    for arm, row in enumerate(scores):
        evidence.enter(np.full(len(row), arm), np.arange(len(row)), np.asarray(row, float))
    return evidence


@pytest.mark.parametrize("count", [2, 3, 7])
def test_a_pair_has_an_equal_share_of_delta(count):
    scores = np.random.default_rng(count).normal(size=(count, 30)) - np.arange(count)[:, None]
    bounds = PairedDifferences(count, math.log(0.04 / (count - 1)))
    bounds.enter(list(scores))
    np.testing.assert_array_equal(entered(Criterion(0.04, None), scores).comparison().upper(0), bounds.upper(0))


def test_means_over_successes_and_failure_rates_share_delta():
    scores = np.random.default_rng(0).normal(size=(3, 40))
    scores[1, ::4] = NAN
    evidence = entered(Criterion(0.06, None, max_failure_rate=0.5), scores)
    n, means, variances = np.array([40, 30, 40]), np.nanmean(scores, axis=1), np.nanvar(scores, axis=1)
    for mine, expected in zip(evidence.bounds(), normal_arms(n, means, variances, math.log(0.01)), strict=True):
        np.testing.assert_allclose(mine, expected)
    np.testing.assert_allclose(evidence.failure_rates(), upper_rate([0, 10, 0], [40, 40, 40], 0.01))
    assert evidence.failures.tolist() == [0, 10, 0] and evidence.trainings.tolist() == [40, 40, 40]


def test_a_configuration_that_fails_too_often_is_dropped_and_one_beaten_by_it_is_not():
    rng, scores = np.random.default_rng(1), np.zeros((3, 300))
    scores[:] = np.array([[0.9], [0.8], [0.5]]) + 0.01 * rng.normal(size=(3, 300))
    scores[0, rng.random(300) < 0.5] = NAN  # the best, but it fails in half of its trainings
    evidence = entered(Criterion(0.05, None, max_failure_rate=0.2), scores)
    assert evidence.excluded().tolist() == [False, True, True]
    assert evidence.dropped().tolist() == [True, False, True]
    assert evidence.recommended(np.ones(3, bool)) == 1 and evidence.achieved(1) == pytest.approx(0.1, abs=0.02)


def test_a_configuration_without_a_score_has_no_mean():
    n, means, variances = entered(Criterion(0.05, None), [[5.0, 7.0], [NAN]]).moments()
    assert n.tolist() == [2, 0] and (means[0], variances[0]) == (6.0, 1.0) and np.isnan([means[1], variances[1]]).all()


@pytest.mark.parametrize("maximize", [True, False])
def test_many_configurations_in_a_range_have_bounds_of_their_own(maximize):
    count = MOST_ARMS + 1
    rewards = np.full((count, 5), 1.0 if maximize else -1.0)
    evidence = entered(Criterion(0.05, None, score_range=(0.0, 4.0), maximize=maximize), rewards)
    low, high = rate_bounds(5 * 0.25, 5, 0.05 / count)
    ends = (4 * low, 4 * high) if maximize else (-4 * high, -4 * low)
    for mine, expected in zip(evidence.bounds(), ends, strict=True):
        np.testing.assert_allclose(mine, np.full(count, expected), rtol=1e-6)


def test_very_many_configurations_are_not_compared_in_pairs():
    criterion = Criterion(0.05, None)
    assert not criterion.separately([Stage(pairs.MOST_ARMS, 0, False)])
    levels = criterion.arm_levels([Stage(pairs.MOST_ARMS + 1, 0, False)])
    assert criterion.separately([Stage(pairs.MOST_ARMS + 1, 0, False)]) and levels.sum() == pytest.approx(0.05)


def test_levels_of_single_configurations_add_up_with_those_that_a_later_stage_needs():
    stages = [Stage(4, 0, False), Stage(6, 9, False)]
    criterion = Criterion(0.08, None, quantile=0.5)
    np.testing.assert_allclose(criterion.arm_levels(stages), [0.02] * 4 + [0.01] * 2)
    assert criterion.error(stages) == pytest.approx(0.08 + 0.02 + 0.02)  # the best so far needs a lower bound, too


def test_remarks_are_about_normal_scores_only():
    scores = np.random.default_rng(0).normal(size=(2, 50)) * 0.01 + 0.5
    scores[1, 7] = 0.0
    assert len(entered(Criterion(0.05, None), scores).outliers(0)) == 1
    assert not entered(Criterion(0.05, None, score_range=(0.0, 1.0)), scores).outliers(0)
    assert not entered(Criterion(0.05, None, quantile=0.5), scores).outliers(0)
    found = entered(Criterion(0.05, None), scores, [Stage(1, 0, False), Stage(2, 8, False)]).outliers(0)
    assert not found  # it happened before the two were compared


@pytest.mark.slow
@pytest.mark.statistical
def test_a_configuration_that_fails_too_often_is_not_recommended_beside_others_that_never_fail():
    """In 30 trainings each nothing is known of 12 configurations; the best mean fails in 30 %, and 20 % are allowed.

    It is recommended if it fails at most twice of 30 times, at which its failures are at most 20 % with a probability
    of 0.9 a posteriori: .0021 of the repetitions, so that 5 of 300 have a probability below 1e-3.
    """
    wrong = 0
    for seed in range(300):
        chance = np.random.default_rng(seed)
        scores = 0.8 + 0.01 * chance.standard_normal((12, 30))
        scores[5] = np.where(chance.random(30) < 0.3, np.nan, scores[5] + 0.1)
        evidence = entered(Criterion(0.05, None, max_failure_rate=0.2), scores)
        assert not evidence.allowed().any()
        wrong += evidence.recommended(np.ones(12, bool)) == 5
    assert wrong < 5


def test_without_enough_trainings_those_that_failed_least_are_recommended():
    scores = np.array([[0.9, 0.9, np.nan, 0.9], [0.7, 0.7, 0.7, 0.7], [0.8, 0.8, 0.8, 0.8]])
    evidence = entered(Criterion(0.05, None, max_failure_rate=0.05), scores)
    assert evidence.recommended(np.ones(3, bool)) == 2
    assert evidence.recommended(np.array([True, True, False])) == 1
    assert evidence.recommended(np.array([True, False, False])) == 0
    evidence = entered(Criterion(0.05, None, max_failure_rate=0.5), scores)
    assert evidence.recommended(np.ones(3, bool)) == 2  # 1 of 4 is above a half with a probability of 0.19


def test_a_configuration_that_rarely_fails_may_be_recommended():
    scores = np.full((12, 30), 0.8) + 0.01 * np.random.default_rng(0).standard_normal((12, 30))
    scores[3] += 0.1
    scores[3, 7] = np.nan  # with 1 failure of 30, at most 20 % fail with a probability of 0.99 a posteriori
    evidence = entered(Criterion(0.05, None, max_failure_rate=0.2), scores)
    assert not evidence.allowed().any() and evidence.recommended(np.ones(12, bool)) == 3
