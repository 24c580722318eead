"""The mean of the worst share of scores: estimate, bounds at all times, and searches that compare it."""

import math

import numpy as np
import pytest
from scipy import stats

import jaxbandit as jb
from jaxbandit.theory.shortfall_bounds import ShortfallBounds, worst_mean

pytestmark = pytest.mark.quickly_compiled
QUIET = jb.Execution(progress=False)
STAKES = [0.98 * 2.0**-k for k in range(8)]
WEIGHTS = [9 / (8 * (k + 1) * (k + 2)) for k in range(8)]


def best_threshold(scores, worst):
    """Rockafellar and Uryasev (2000), of a sample, whose maximum is at one of the scores."""
    return max(t - np.maximum(t - scores, 0).mean() / worst for t in scores)


def test_the_worst_mean_counts_a_score_in_part():
    assert worst_mean([8, 1, 3, 2, 7, 4, 6, 5], 0.25) == 1.5
    assert worst_mean([8, 1, 3, 2, 7, 4, 6, 5], 0.3) == pytest.approx((1 + 2 + 0.4 * 3) / 2.4)
    assert worst_mean([5.0, 2.0, 9.0], 0.1) == 2.0
    for seed in range(20):
        scores = np.random.default_rng(seed).random(1 + seed)
        assert worst_mean(scores, 0.37) == pytest.approx(best_threshold(scores, 0.37))


def wealth_of_lower(scores, worst, c):
    """The largest wealth of bets against c being as large as the mean of the worst share, over all times."""
    products, most = [1.0] * 8, 0.0
    for i, x in enumerate(scores):
        before = sorted(scores[:i])
        t = before[math.ceil(worst * i) - 1] if i else 0.0
        if t > 0:
            m = max(worst * (t - c), 0.0)
            products = [p * (1 + a * (m - max(t - x, 0)) / (t - m)) for p, a in zip(products, STAKES, strict=True)]
        most = max(most, sum(w * p for w, p in zip(WEIGHTS, products, strict=True)))
    return most


def wealth_of_upper(scores, worst, c):
    """The least wealth, over thresholds, of bets against c being as small as the mean of the worst share."""
    up, found = [math.ceil(round(x * 120, 9)) / 120 for x in scores], []
    for t in (k / 120 for k in range(1, 121) if k / 120 >= c):
        products = [math.prod(1 + a * (max(t - x, 0) / (worst * (t - c)) - 1) for x in up) for a in STAKES]
        found.append(sum(w * p for w, p in zip(WEIGHTS, products, strict=True)))
    return min(found)


@pytest.mark.parametrize("worst", [0.25, 0.6])
def test_bounds_are_where_the_wealth_is_one_over_alpha(worst):
    """Both rise or fall through 1/alpha at the bound, within the 1e-5 of the bisection."""
    rng = np.random.default_rng(4)
    for scores in (rng.beta(9, 3, 60), rng.integers(0, 6, 60) / 5, rng.beta(3, 6, 30)):
        bounds = ShortfallBounds(worst, 0.1)
        bounds.add(scores)
        low, high = bounds.ends
        assert low < worst_mean(scores, worst) < high < 1
        scores = scores.tolist()
        assert low == 0 or wealth_of_lower(scores, worst, low - 2e-5) >= 10
        assert wealth_of_lower(scores, worst, low + 2e-5) < 10
        prefixes = [scores[:n] for n in (*range(10, len(scores), 10), len(scores))]
        over, under = (max(wealth_of_upper(x, worst, high + by) for x in prefixes) for by in (2e-5, -2e-5))
        assert over >= 10 > under


def test_bounds_in_parts_in_units_of_the_range_and_at_the_edges():
    scores = np.random.default_rng(1).beta(4, 2, 90)
    bounds, scaled = ShortfallBounds(0.25, 0.05), ShortfallBounds(0.25, 0.05, -3.0, 7.0)
    lows, highs = [], []
    for part in np.split(scores, 9):
        bounds.add(part)
        scaled.add(10 * part - 3)
        lows.append(bounds.ends[0])
        highs.append(bounds.ends[1])
    assert lows == sorted(lows) and highs == sorted(highs, reverse=True)  # at multiples of 10
    assert scaled.ends == pytest.approx([10 * end - 3 for end in bounds.ends], abs=2e-4)
    once = ShortfallBounds(0.25, 0.05)
    once.add(scores)
    assert once.ends == (lows[-1], highs[-1])  # however they are added
    often = ShortfallBounds(0.25, 0.05)
    for score in scores:
        often.add([score])
    assert often.ends == once.ends
    assert ShortfallBounds(0.25, 0.05).ends == (0.0, 1.0)
    for value in (0.0, 1.0):
        same = ShortfallBounds(0.25, 0.05)
        same.add([value] * 200)
        assert same.ends[0] <= value <= same.ends[1] and same.ends[1] - same.ends[0] < 0.12
    same.add([0.0] * 2000)  # after 200 ones
    assert same.ends == (math.inf, -math.inf)


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("law", ["grades", "rare"])
def test_either_bound_is_wrong_at_some_time_with_probability_alpha_at_most(law):
    """With alpha = .2 in 200 samples, 58 errors or more have a probability below 2e-3 at an error rate of .2."""
    draw, truth = {
        "grades": (lambda rng: rng.choice([0.0, 0.4, 0.5, 1.0], 80, p=[0.1, 0.1, 0.3, 0.5]), (0.04 + 0.025) / 0.25),
        "rare": (lambda rng: 0.9 - 0.9 * (rng.random(80) < 0.02), 0.9 - 0.9 * 0.02 / 0.25),
    }[law]
    below = above = 0
    for seed in range(200):
        bounds = ShortfallBounds(0.25, 0.2)
        for part in np.split(draw(np.random.default_rng(seed)), 4):
            bounds.add(part)
        below += bounds.ends[0] > truth
        above += bounds.ends[1] < truth
    assert stats.binom.sf(57, 200, 0.2) < 2e-3 and max(below, above) < 58


SAFE, BOLD, BAD = 0, 1, 2


def scored(seed: int, config) -> float:
    """Safe grades of about .6; bold ones of .9, of which one in five is 0; and bad ones."""
    rng = np.random.default_rng([seed, config["p"]])
    if config["p"] == SAFE:
        return 0.5 + 0.2 * rng.random()
    return 0.3 * rng.random() if config["p"] == BAD else 0.9 * (rng.random() > 0.2)


CONFIGS = [{"p": i} for i in (SAFE, BOLD, BAD)]


def test_a_search_for_the_best_worst_quarter():
    goal = jb.Goal(0.1, 0.05, worst=0.25, score_range=(0, 1))
    found = jb.tune(scored, CONFIGS, goal=goal, execution=QUIET)
    assert found.index == SAFE and found.why == "epsilon" and found.certificate.achieved <= 0.05
    assert jb.tune(scored, CONFIGS, goal=jb.Goal(0.1, 0.05, score_range=(0, 1)), execution=QUIET).index == BOLD
    for row in range(3):
        own = found.history["score"][found.history["config"] == row]
        assert found.table["worst"][row] == pytest.approx(best_threshold(own, 0.25))
        assert found.table["low"][row] <= found.table["worst"][row] <= found.table["high"][row]
    own = ShortfallBounds(0.25, 0.1 / 3 / 2)  # three configurations, and two bounds of each that are shown
    own.add(found.history["score"][found.history["config"] == SAFE])
    assert found.table["low"][SAFE] == pytest.approx(own.ends[0], abs=1e-9)
    assert "mean of the worst 25 % score" in str(found) and found.certificate.statistic == "mean of the worst 25 %"
    assert "all scores are in [0, 1]" in found.certificate.assumptions and found.to_json()["chosen"]["worst"] > 0.5


def test_if_small_scores_are_good_the_worst_are_the_largest():
    """Losses 5 - 4 x of scores x, in [1, 5]: the same search, mirrored."""
    goal = jb.Goal(0.1, 0.1, worst=0.25, score_range=(0, 1))
    gains = jb.tune(scored, CONFIGS, goal=goal, execution=QUIET)
    goal = jb.Goal(0.1, 0.4, worst=0.25, score_range=(1, 5), maximize=False)
    losses = jb.tune(lambda seed, config: 5 - 4 * scored(seed, config), CONFIGS, goal=goal, execution=QUIET)
    assert losses.index == gains.index == SAFE
    np.testing.assert_array_equal(losses.table["pulls"], gains.table["pulls"])
    for one, other in (("worst", "worst"), ("low", "high"), ("high", "low")):
        np.testing.assert_allclose(losses.table[one], 5 - 4 * gains.table[other], atol=2e-4)


def test_what_excludes_the_worst_share_is_refused():
    known = {"worst": 0.25, "score_range": (0, 1)}
    with pytest.raises(ValueError, match="worst is given with pool, which compares means over all items"):
        jb.tune(scored, CONFIGS, goal=jb.Goal(**known), pool=40, execution=QUIET)
    with pytest.raises(ValueError, match="worst and rule are both given"):
        rule = jb.algorithms.betting_race(3, delta=0.1)
        jb.tune(scored, CONFIGS, rule, goal=jb.Goal(**known), execution=QUIET)
    with pytest.raises(ValueError, match=r"returns .*, must be in \[0, 0\.5\], given by score_range"):
        jb.tune(scored, CONFIGS, goal=jb.Goal(0.1, 0.1, worst=0.25, score_range=(0, 0.5)), execution=QUIET)
    with pytest.raises(ValueError, match="means nothing for a log of visitors"):
        jb.ab({"variant": ["A", "B"], "outcome": [0, 1]}, control="A", goal=jb.Goal(**known))
