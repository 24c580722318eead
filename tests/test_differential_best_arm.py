"""Equal pulls and equal stopping rounds of Track-and-Stop and the top-two rules and of their NumPy references."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import player
import pytest
from reference import top_two as top_two_reference
from reference import track_and_stop as track_and_stop_reference

import jaxbandit as jb
from jaxbandit.algorithms import top_two, track_and_stop
from jaxbandit.algorithms.best_arm import comparison
from jaxbandit.algorithms.best_arm.thresholds import pair_threshold
from jaxbandit.base.contract import Outcome
from jaxbandit.support.numerics import normal_of_words
from jaxbandit.theory.solvers.beta import draw_noise
from jaxbandit.theory.solvers.families import family

pytestmark = pytest.mark.quickly_compiled

ROUNDS = 800
SIGMA = 0.6
MEANS = np.array([0.2, 0.9, 0.4, 0.3])
DELTA = 0.1


def rewards_of(family):
    """Rewards by round and arm, of standard deviation SIGMA where they are Gaussian."""
    rng = np.random.default_rng(5)
    shape = (ROUNDS, len(MEANS))
    draw = {
        "bernoulli": lambda: rng.random(shape) < MEANS,
        "gaussian": lambda: MEANS + SIGMA * rng.normal(size=shape),
        "poisson": lambda: rng.poisson(MEANS, shape),
        "exponential": lambda: rng.exponential(MEANS, shape),
    }[family]
    return draw().astype(float)


def play(factory, own, rewards):
    return player.play(functools.partial(factory, len(MEANS), **own), rewards, seed=7, delta=DELTA, sigma=SIGMA)


@jax.jit
@jax.vmap
def normals(noise):
    """Those of the leader's draw and of the challenger's redraws, zeros without."""
    words = [jnp.zeros(len(MEANS), jnp.uint32) if noise.words is None else noise.words]
    if noise.redraws is not None:
        redraws = jax.vmap(lambda r: draw_noise(jax.random.fold_in(noise.redraws, r), len(MEANS)))(jnp.arange(64))
        words.extend(redraws)
    return normal_of_words(jnp.stack(words))


def agree(found, expected):
    pulls, arm = expected
    end = found.end()
    assert 10 < end < ROUNDS, end  # else the instance shows little
    np.testing.assert_array_equal(found.actions[:end], pulls)
    assert len(pulls) == end
    assert found.recommended[end] == [arm]


TOP_TWO = [
    ("eb", "tci", False, "bernoulli", "kt"),
    pytest.param("eb", "tc", False, "gaussian", "gauss", marks=pytest.mark.slow),
    pytest.param("ts", "ts", False, "bernoulli", "heuristic", marks=pytest.mark.slow),
    pytest.param("ts", "tci", True, "poisson", "heuristic", marks=pytest.mark.slow),
    pytest.param("ts", "tc", False, "exponential", "heuristic", marks=pytest.mark.slow),
    pytest.param("ucb", "ts", True, "gaussian", "heuristic", marks=pytest.mark.slow),
    pytest.param("ucb", "tci", True, "bernoulli", "heuristic", marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("leader", "challenger", "adaptive", "family", "threshold"), TOP_TWO)
def test_top_two(leader, challenger, adaptive, family, threshold):
    own = {"leader": leader, "challenger": challenger, "adaptive": adaptive, "family": family, "beta": 0.6}
    rewards = rewards_of(family)
    found = play(top_two, {**own, "threshold": threshold}, rewards)
    with jax.enable_x64(True):
        drawn = np.asarray(normals(found.noise))
    scale = SIGMA if family == "gaussian" else 1.0
    expected = top_two_reference.play(
        rewards / scale, found.noise.coin, drawn, found.actions, kind=threshold, delta=DELTA, **own
    )
    agree(found, expected)


@pytest.mark.parametrize("adaptive", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_top_two_with_slack(adaptive):
    """EB-TC_eps of two arms that are as good as each other within epsilon, which no rule tells apart."""
    own = {"leader": "eb", "challenger": "tc", "adaptive": adaptive, "family": "gaussian", "beta": 0.6}
    rewards = rewards_of("gaussian")
    rewards[:, 2] += 0.5
    found = play(top_two, {**own, "threshold": "gauss", "epsilon": 0.3}, rewards)
    given = rewards / SIGMA, found.noise.coin, np.zeros((ROUNDS, 1)), found.actions
    agree(found, top_two_reference.play(*given, kind="gauss", delta=DELTA, epsilon=0.3 / SIGMA, **own))


def test_slack_is_promised_and_for_gaussian_rewards_only():
    rule = top_two(3, family="gaussian", threshold="gauss", challenger="tc", epsilon=0.2)
    assert rule.promise.epsilon == 0.2 and rule.promise.proved and top_two(3).promise.epsilon == 0
    with pytest.raises(ValueError, match=r"^top_two: epsilon = 0.2, must be None with family = 'bernoulli'.*rewards$"):
        top_two(3, epsilon=0.2)
    with pytest.raises(ValueError, match=r"^top_two: epsilon = 0"):
        top_two(3, family="gaussian", threshold="gauss", epsilon=0.0)


TRACKING = [
    ("D", 1.1, "bernoulli", "kt"),
    pytest.param("C", 1.02, "gaussian", "kk", marks=pytest.mark.slow),
    pytest.param("D", 1.0, "poisson", "heuristic", marks=pytest.mark.slow),
    pytest.param("C", 1.0, "exponential", "heuristic", marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("tracking", "growth", "family", "threshold"), TRACKING)
def test_track_and_stop(tracking, growth, family, threshold):
    own = {"tracking": tracking, "growth": growth, "family": family}
    rewards = rewards_of(family)
    found = play(track_and_stop, {**own, "threshold": threshold}, rewards)
    scale = SIGMA if family == "gaussian" else 1.0
    expected = track_and_stop_reference.play(rewards / scale, found.actions, kind=threshold, delta=DELTA, **own)
    agree(found, expected)


def ended(algorithm, environment, **more):
    result = jb.identify(algorithm, environment, num_runs=64, **more, execution=jb.Execution(workers=1, progress=False))
    return result.arrays["outcome"], result


CAP = 300
RULES = [jb.algorithms.top_two, pytest.param(jb.algorithms.track_and_stop, marks=pytest.mark.slow)]


@pytest.mark.slow
def test_equal_means_are_censored_and_said_to_be():
    """Arms tie for ever; `test_edges.py` has every rule."""
    outcome, result = ended(jb.algorithms.top_two(2, delta=0.1), jb.environments.bernoulli([1.0, 1.0]), max_rounds=CAP)
    assert np.all(outcome == Outcome.MAX_ROUNDS)
    assert result.censored == 64


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
def test_means_of_0_and_1_are_told_apart_at_the_round_that_can_be_computed(rule):
    """Two arms of n pulls each, means 1 and 0: Z = 2 n log 2, against log(4 / delta) + log n."""
    outcome, result = ended(rule(2, delta=0.001), jb.environments.bernoulli([0.0, 1.0]), max_rounds=CAP)
    assert np.all(outcome == Outcome.STOPPED)
    assert np.all(result.arrays["recommendation"] == 1)
    n = result.arrays["pulls"].astype(float)
    z = n[:, 0] * np.log(n.sum(1) / n[:, 0]) + n[:, 1] * np.log(n.sum(1) / n[:, 1])
    assert np.all(z > np.log(4 / 0.001) + np.log(n).sum(1) / 2)
    assert np.all(n.sum(1) <= 20)  # equal pulls: 2 n log 2 > 8.3 + log n from n = 8 on; the coin adds some


@pytest.mark.slow
@pytest.mark.parametrize("rule", [jb.algorithms.top_two, jb.algorithms.track_and_stop])
def test_float32_stops_like_float64(rule):
    """The same chance, and decisions that differ by rounding alone: nearly all runs are the same, none is doubted."""
    found = {}
    for precision in ("float32", "float64"):
        outcome, found[precision] = ended(
            rule(len(MEANS), family="gaussian", threshold="heuristic", sigma=SIGMA, delta=DELTA),
            jb.environments.gaussian(MEANS, sigma=SIGMA),
            precision=precision,
        )
        assert np.all(outcome == Outcome.STOPPED)
    same = found["float32"].arrays["samples"] == found["float64"].arrays["samples"]
    assert np.mean(same) > 0.8


def test_a_threshold_or_leader_of_another_family_is_refused():
    for rule in (jb.algorithms.top_two, jb.algorithms.track_and_stop):
        with pytest.raises(ValueError, match=r"threshold = 'kt', must be one of .* with family = 'gaussian'"):
            rule(3, family="gaussian", threshold="kt")
    with pytest.raises(ValueError, match="leader = 'ucb', must be eb or ts"):
        jb.algorithms.top_two(3, leader="ucb", family="poisson", threshold="kk")


def test_a_promise_is_proved_where_the_threshold_is():
    for threshold, proved in (("heuristic", False), ("kk", True), ("kt", True)):
        for rule in (jb.algorithms.top_two, jb.algorithms.track_and_stop):
            assert rule(3, threshold=threshold).promise.proved is proved


def test_bernoulli_evidence_is_exact_up_to_the_rounding_of_pulls():
    """By NumPy in extended precision: a few roundings of all pulls, and exactly 0 where the other arm is no worse."""
    rng = np.random.default_rng(6)
    counts = rng.integers(1, 10 ** rng.integers(1, 8, 200), endpoint=True)
    sums = np.where(rng.random(200) < 0.1, counts * (rng.random(200) < 0.5), rng.binomial(counts, rng.random(200)))
    means = sums / counts

    @jax.jit
    def evidence(counts, means, a):
        law = comparison.known_family("bernoulli", "kt", 200, DELTA, 1.0)
        return law.evidence(comparison.nothing_seen(law, 200)._replace(counts=counts, means=means), a)

    def certainty(n, p):  # n log-likelihoods at their maximum
        q = 1 - p
        return n * (p * np.log(np.where(p > 0, p, 1)) + q * np.log(np.where(q > 0, q, 1)))

    with jax.enable_x64(True):
        for a in (0, 7, int(np.argmax(means)), int(np.argmin(means))):
            found = np.asarray(evidence(counts, means, a))
            p, both = means.astype(np.longdouble), counts + counts[a]
            middle = (counts * p + counts[a] * p[a]) / both
            expected = np.where(
                p < p[a], certainty(counts, p) + certainty(counts[a], p[a]) - certainty(both, middle), 0
            )
            assert (np.abs(found - expected) <= 1e-15 * both).all()
            assert (found[means >= means[a]] == 0).all() and (a != np.argmax(means) or found.max() > 1e4)


def test_the_threshold_kept_with_the_arms_is_that_of_their_pulls():
    for name, threshold in (("bernoulli", "kt"), ("gaussian", "gauss")):
        law = comparison.known_family(name, threshold, 3, DELTA, 1.0)
        arms = comparison.nothing_seen(law, 3)
        for arm in (0, 1, 2, 1, 1):
            arms = comparison.seen(law, arms, jnp.int32(arm), jnp.ones(()))
        whole = pair_threshold(threshold, 3, DELTA, family(name))
        expected = whole.level(jnp.int32(3), jnp.array([1, 3, 1]), jnp.int32(5))
        np.testing.assert_allclose(law.level(arms, jnp.int32(1), jnp.int32(5)), expected, rtol=1e-6)
