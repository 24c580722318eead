"""What `evaluate` states: the textbook's estimates, each within its interval or a contradiction, and exact tests."""

import itertools
import json
import math

import numpy as np
import pytest
from scipy import stats

import jaxbandit as jb
from benchmarks import offpolicy_worlds as worlds
from jaxbandit.decide.logs import propensity_test
from jaxbandit.decide.logs.diagnostics import ALARM, diagnose
from jaxbandit.decide.logs.policy_value import stated
from jaxbandit.support.text import with_interval
from jaxbandit.theory.intervals import Interval


def drawn(seed, n=200, low=-1.0, high=0.0, **options):
    rng = np.random.default_rng(seed)
    chances = rng.dirichlet(np.ones(3), n) * 0.85 + 0.05
    action = worlds.drawn_arms(rng, chances)
    reward = low + (high - low) * rng.beta(0.5, 1 + action)
    return jb.read_log(action=action, reward=reward, probabilities=chances, rewards=(low, high), **options), chances


@pytest.mark.parametrize("low, high", [(-1.0, 0.0), (3.0, 23.0), (-2.0, 5.0), (0.0, 1.0)])
def test_ips_and_clipped_are_the_means_of_the_textbook(low, high):
    log, chances = drawn(4, low=low, high=high)
    found = jb.evaluate(log, "uniform", clip=2).only
    weight = 1 / 3 / log.propensity
    rows = weight * log.reward
    half = stats.norm.ppf(0.975) * rows.std(ddof=1) / 200**0.5
    normal = found.estimate("IPS", "normal")
    np.testing.assert_allclose((normal.value, normal.low, normal.high), rows.mean() + half * np.array([0, -1, 1]))
    least, most = min(low, 0) * weight.max(), max(high, 0) * weight.max()
    bet = found.estimate("IPS", "betting")
    wide = 1 / 3 / chances.min()
    unit = jb.theory.betting_interval.betting_interval(
        (rows - wide * min(low, 0)) / (wide * max(high, 0) - wide * min(low, 0))
    )
    if low <= rows.mean() <= high:
        scale = wide * (max(high, 0) - min(low, 0))
        ends = [min(max(wide * min(low, 0) + scale * end, low), high) for end in (unit.low, unit.high)]
        np.testing.assert_allclose((bet.value, bet.low, bet.high), (rows.mean(), *ends), rtol=1e-6)
    assert bet.value == pytest.approx(rows.mean()) and bet.low <= bet.value <= bet.high and least <= bet.value <= most
    cut = np.minimum(weight, 2) * log.reward
    half = stats.norm.ppf(0.975) * cut.std(ddof=1) / 200**0.5
    lost = np.maximum(1 / 3 - 2 * chances, 0).sum(axis=1).mean()
    clipped = found.estimate("clipped at 2", "normal")
    ends = cut.mean() - half + min(low, 0) * lost, cut.mean() + half + max(high, 0) * lost
    np.testing.assert_allclose((clipped.value, clipped.low, clipped.high), (cut.mean(), *ends))


def every(found):
    """All estimates that a result states, and those of its differences."""
    for policy in found.policies:
        yield from (policy.headline, *policy.estimates)
    for difference in found.differences():
        yield from (difference.headline, *([difference.betting] if difference.betting else []))


@pytest.mark.slow
def test_no_estimate_is_stated_outside_of_its_interval():
    """Over logs of many shapes: few rows, heavy weights, sorted rewards, wrong propensities, any range of rewards."""
    rng, contradicted = np.random.default_rng(8), 0
    for number in range(120):
        n, arms = int(rng.integers(2, 300)), int(rng.integers(1, 5))
        low, high = sorted(rng.choice([-100.0, -1.0, 0.0, 0.5, 3.0, 1e6], 2, replace=False))
        chances = rng.dirichlet(np.full(arms, rng.choice([0.1, 1.0, 10.0])), n) * 0.999 + 0.001 / arms
        action = worlds.drawn_arms(rng, chances)
        reward = low + (high - low) * rng.beta(0.2, 0.3, n)
        if number % 3 == 0:
            reward = np.sort(reward)
        if number % 4 == 0:
            chances = np.full((n, arms), 1 / arms)
        known = {"probabilities": chances} if number % 2 else {"propensity": chances[np.arange(n), action]}
        options = {"adaptive": number % 5 == 0, "rewards": (low, high), "num_arms": arms}
        log = jb.read_log(action=action, reward=reward, **known, **options)
        found = jb.evaluate(log, {"u": "uniform", "a": "arm:0"})
        for e in every(found):
            assert not e.low > e.high
            assert not (e.value < e.low or e.value > e.high), e
            if e.contradicted:
                contradicted += 1
                assert math.isnan(e.value) and math.isnan(e.low) and e.words == "?"
        if any(p.headline.contradicted for p in found.policies):
            assert found.first_line.startswith("Do not use these values: see the notes")
        json.dumps(found.to_json(), allow_nan=False)
        str(found)
    assert contradicted > 0


def test_a_contradiction_is_said_first_and_nothing_is_claimed():
    """Rewards of 1 in the first half and 0 in the second: betting excludes the mean."""
    log = jb.read_log(
        action=np.arange(400) % 2, reward=np.arange(400) < 200, propensity=np.full(400, 0.5), adaptive=True
    )
    found = jb.evaluate(log, "uniform")
    assert found.only.headline.contradicted and found.only.by == "a contradiction" and math.isnan(found.value)
    assert found.first_line.startswith("Do not use these values")
    assert "0.5 is not in the betting interval" in found.notes[0]
    assert "check the propensities, the order of the rows" in found.notes[0]
    assert "value" not in found.to_json()["policies"][0]["headline"]


def test_where_intervals_are_made():
    kept = stated("X", "betting", Interval(0.4, 0.1, -0.2, 0.6), "so", (0.0, 1.0))
    assert (kept.value, kept.low, kept.high, kept.about) == (0.4, 0.0, 0.6, "so")
    beyond = stated("X", "betting", Interval(1.2, 0.1, 0.3, 1.4), "so", (0.0, 1.0))
    assert (beyond.value, beyond.low, beyond.high) == (1.2, 0.3, 1.4)
    below = stated("X", "betting", Interval(-0.2, 0.1, -0.3, 0.4), "so", (0.0, 1.0))
    assert (below.value, below.low, below.high) == (-0.2, -0.3, 0.4)
    for value, low, high in ((0.4, 0.5, 0.6), (0.7, 0.5, 0.6), (0.4, 0.6, 0.3)):
        assert stated("X", "normal", Interval(value, 0.1, low, high), "so").contradicted
    rounded = stated("X", "normal", Interval(0.3 + 1e-16, 0.0, 0.3 - 1e-16, 0.3 - 1e-16), "so")
    assert rounded.low <= rounded.value <= rounded.high and not rounded.contradicted


def test_the_headline_is_the_best_estimate_with_the_safe_interval():
    log, _ = drawn(1, adaptive=True)
    found = jb.evaluate(log, {"a": "uniform", "b": "arm:1"})
    for p, weight in ((found["a"], 1 / 3 / log.propensity), (found["b"], (log.action == 1) / log.propensity)):
        assert p.headline.estimator == "SNIPS" and p.headline.interval == "betting"
        assert p.value == pytest.approx((weight * log.reward).sum() / weight.sum())
        assert (p.low, p.high) == (p.betting.low, p.betting.high) and p.value != p.betting.value
    apart = found.compare("a", "b")
    assert apart.value == pytest.approx(found["a"].value - found["b"].value) and apart.low == apart.betting.low
    many = jb.evaluate(drawn(1, n=2000, adaptive=True)[0], {"a": "uniform", "b": "arm:1"})
    assert many.compare("a", "b").headline.interval == "betting" and many["a"].headline.interval == "betting"
    assert math.isnan(many["a"].estimate("IPS", "normal").low) and "dropped" in many["a"].estimate("DR", "normal").about
    mine = jb.evaluate(log, "uniform", model=lambda x, a, r: lambda new: np.full((len(new), 3), -0.3)).only
    assert mine.headline.estimator == "DR" and mine.value == pytest.approx(-1 + mine.rows.fitted.mean())
    normal = jb.evaluate(drawn(1, n=2000)[0], "uniform").only
    assert normal.by == "DR, normal"


def test_least_propensity_does_not_lengthen_the_interval_of_a_named_policy():
    rng = np.random.default_rng(0)
    chances = np.full((900, 3), 0.05)
    chances[np.arange(900), rng.integers(0, 3, 900)] += 0.85
    action = worlds.drawn_arms(rng, chances)
    rows = {"action": action, "reward": rng.random(900) < 0.1, "propensity": chances[np.arange(900), action]}
    for policy in ("uniform", "arm:1"):
        before = jb.evaluate(jb.read_log(**rows), policy)
        after = jb.evaluate(jb.read_log(**rows, least_propensity=0.05), policy)
        assert (after.only.betting.low, after.only.betting.high) == (before.only.betting.low, before.only.betting.high)
        assert after.only.rows.proved and not before.only.rows.proved
        assert any("give least_propensity with the log" in n for n in before.notes) == (
            before.only.headline.interval != "normal"
        )
    other = jb.evaluate(jb.read_log(**rows, adaptive=True), lambda x: [0.5, 0.5, 0])
    assert "give largest_weight, the largest probability of this policy over that of logging" in other.notes[-1]
    offered = np.ones((900, 3))
    masked = jb.read_log(**rows, available=offered, least_propensity=0.05)
    assert jb.evaluate(masked, "uniform").only.rows.bound == pytest.approx(10)  # e is 1 only where p is


def wealth(parts):
    """The wealth of all bettors together: the inverse of p, if p is below 1."""
    shares = [np.logaddexp.reduce([e.wealth for e in some]) - np.log(len(some)) for some in parts]
    return np.exp(np.logaddexp.reduce(shares) - np.log(len(shares)))


@pytest.mark.slow
@pytest.mark.parametrize("whole", [True, False])
def test_the_wealth_of_bets_is_1_in_the_mean(whole):
    """Over all 81 logs of four rows, each with its probability; with propensities alone it is at most 1."""
    rng = np.random.default_rng(3)
    chances = np.array([[0.001, 0.2, 0.799], [0.5, 0.5, 0.0], [0.3, 0.3, 0.4], [0.05, 0.9, 0.05]])
    policy = rng.dirichlet(np.ones(3), 4)
    total = 0.0
    for arms in itertools.product(range(3), repeat=4):
        action = np.array(arms)
        own = chances[np.arange(4), action]
        if not own.all():
            continue
        known = {"probabilities": chances} if whole else {"propensity": own}
        log = jb.read_log(action=action, reward=np.zeros(4), num_arms=3, **known)
        weight = policy[np.arange(4), action] / own
        parts = [*propensity_test.of_log(log), propensity_test.of_weights(log, policy, weight, None)]
        total += own.prod() * wealth(parts)
        assert propensity_test.probability(*parts) == pytest.approx(min(1, 1 / wealth(parts)))
    assert total == pytest.approx(1, rel=1e-12) if whole else 0.5 < total <= 1 + 1e-12


def test_a_mean_weight_that_is_too_small_is_evidence_if_the_bound_is_known():
    log = jb.read_log(action=np.zeros(3000, int), reward=np.zeros(3000), propensity=np.full(3000, 0.9), num_arms=2)
    uniform, weight = np.full((3000, 2), 0.5), np.full(3000, 0.5 / 0.9)
    assert diagnose(log, uniform, weight, 5.0).wrong  # (1/2)/.1 = 5: the mean of w is .56 for 1
    words = "the mean of w is 0.556, 1 is expected if every arm can be pulled"
    assert words in diagnose(log, uniform, weight, 5.0).alarms[0]
    likely = jb.read_log(action=np.arange(3000) % 2, reward=np.zeros(3000), propensity=np.full(3000, 0.9))
    assert "the mean of 1{p > 1/2}/p is 1.11, at most 1 is expected" in diagnose(likely, uniform, weight).alarms[0]


@pytest.mark.slow
@pytest.mark.statistical
def test_right_propensities_do_not_alarm_and_wrong_ones_do():
    """Level 1e-4 in each of 130 logs: a false failure in 1.3 %. Some are of a rule that learned, or heavy."""
    rng = np.random.default_rng(12)
    for number in range(120):
        n, arms = int(rng.integers(20, 500)), int(rng.integers(2, 9))
        chances = np.maximum(rng.dirichlet(np.full(arms, 0.1), n), 1e-9)
        chances /= chances.sum(axis=1, keepdims=True)
        action = worlds.drawn_arms(rng, chances)
        own = chances[np.arange(n), action]
        known = {"probabilities": chances} if number % 2 else {"propensity": own}
        log = jb.read_log(action=action, reward=np.zeros(n), num_arms=arms, **known)
        assert diagnose(log, np.full((n, arms), 1 / arms), 1 / arms / own).p > ALARM
    world = worlds.learner()
    for _ in range(10):
        log, policy = world.draw(rng, 300)
        assert not jb.evaluate(log, policy).only.diagnostics.wrong
    log, policy = worlds.eight("peaked").draw(rng, 2000)
    x = np.rint(7 * log.context[:, 0]).astype(int)
    for claim in (worlds.LOGGING["uniform"], worlds.LOGGING["softmax"], 0.04 + 0.8 * (worlds.LOGGING["peaked"] > 0.5)):
        other = jb.read_log(action=log.action, reward=log.reward, probabilities=claim[x])
        assert diagnose(other, policy, policy[np.arange(2000), log.action] / claim[x, log.action]).wrong


def test_equal_columns_and_columns_of_any_size_are_solved():
    rng = np.random.default_rng(2)
    x, action = rng.normal(size=300), rng.integers(0, 2, 300)
    reward = 0.5 + 0.1 * np.tanh(x) * (2 * action - 1)

    def value(*columns):
        log = jb.read_log(context=np.stack(columns, axis=1), action=action, reward=reward, propensity=np.full(300, 0.5))
        return jb.evaluate(log, "arm:1").value

    assert value(1e9 * x, 1e9 * x) == pytest.approx(value(1e9 * x), rel=1e-9)  # the penalty is nothing at this size
    assert value(1e100 * x, x * 0) == pytest.approx(value(1e9 * x), rel=1e-9)
    assert value(x + 1e12, x) == pytest.approx(value(x), abs=0.01)


def test_tiny_propensities_are_finite():
    propensity = np.full(100, 0.5)
    propensity[7] = 1e-149
    log = jb.read_log(action=np.arange(100) % 2, reward=np.ones(100), propensity=propensity)
    found = jb.evaluate(log, "uniform")
    assert found.only.diagnostics.ess == pytest.approx(1) and (found.low, found.high) == (0, 1)
    assert found.value == 1 and str(found)
    json.dumps(found.to_json(), allow_nan=False)


@pytest.mark.parametrize("numbers, words", [
    ((0.003, 0.0, 0.6), "0.0030 [0.0000, 0.6000]"), ((0.0037, 0.0025, 0.0049), "0.0037 [0.0025, 0.0049]"),
    ((0.03, 0.0, 0.6), "0.03 [0.00, 0.60]"), ((-0.00042, -0.5, 0.5), "-0.00042 [-0.50000, 0.50000]"),
    ((0.0, -0.5, 0.5), "0.0 [-0.5, 0.5]"), ((31.4, 30.1, 33.2), "31.4 [30.1, 33.2]"),
])  # fmt: skip
def test_rates_below_a_percent_have_digits_that_mean_something(numbers, words):
    assert with_interval(*numbers) == words


def test_bets_on_weights_alone_are_fair():
    """Over all 27 logs of three rows whose arms are all possible, the wealth is 1 in the mean, and not only at most."""
    chances = np.array([[0.01, 0.19, 0.8], [0.5, 0.25, 0.25], [0.3, 0.3, 0.4]])
    policy, total = np.array([[0.2, 0.3, 0.5], [1.0, 0, 0], [0, 0.5, 0.5]]), 0.0
    for arms in itertools.product(range(3), repeat=3):
        own, taken = chances[np.arange(3), arms], policy[np.arange(3), arms]
        log = jb.read_log(action=np.array(arms), reward=np.zeros(3), num_arms=3, propensity=own)
        total += own.prod() * np.exp(propensity_test.of_weights(log, policy, taken / own, None)[0].wealth)
    assert total == pytest.approx(1, rel=1e-12)
