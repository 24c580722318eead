"""Policies for means that change: equal actions and alarms, round by round, with references that keep all history.

In float64. Where two indices agree to 1e-9 the reference takes our action. The trajectories on coins without chance,
alarm times among them, are those of an independent program.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from player import made, play
from reference import non_stationary as reference
from reference import thompson as reference_thompson
from reference import ucb as reference_ucb

from jaxbandit.algorithms import (
    cusum_ucb,
    d_ucb,
    discounted_thompson,
    glr_klucb,
    kl_ucb,
    m_ucb,
    oracle_restart,
    sw_ucb,
    thompson,
    ucb1_auer,
)
from jaxbandit.algorithms.non_stationary.likelihood_ratio import split_ratio

pytestmark = pytest.mark.quickly_compiled

NUM_ARMS, ROUNDS = 3, 360
LAWS = ("bernoulli", "fractions", "edges")


def rewards_of(law):
    """Means change after a third and two thirds; at the edges arms give 0 or 1 for ever, and change then."""
    rng = np.random.default_rng(3)
    third = np.arange(ROUNDS) // (ROUNDS // 3)
    if law == "edges":
        return np.array([[0.0, 1.0, 1.0], [1.0, 1.0, 0.0], [0.0, 0.0, 0.0]])[third]
    means = np.array([[0.2, 0.5, 0.9], [0.9, 0.5, 0.1], [0.1, 0.5, 0.2]])[third]
    uniforms = rng.random((ROUNDS, NUM_ARMS))
    return (uniforms < means).astype(float) if law == "bernoulli" else means * uniforms


def ours(factory, rewards, static, traced):
    """Actions, rounds after which there was an alarm, and the noise."""
    found = play(made(factory, rewards.shape[1], **static), rewards, 7, **traced)
    alarms = [] if found.kinds is None else np.flatnonzero(np.diff(found.kinds[:, 1], prepend=0)).tolist()
    return found.actions, alarms, found.noise


CASES = {
    "d_ucb": (d_ucb, reference.d_ucb, {}, {"discount": 0.97, "xi": 0.4, "bound": 1.0}),
    "d_ucb kl": (d_ucb, reference.d_ucb, {"index": "kl"}, {"discount": 0.9}),
    "d_ucb 1": (d_ucb, reference.d_ucb, {}, {"discount": 1.0, "xi": 0.6, "bound": 2.0}),
    "sw_ucb": (sw_ucb, reference.sw_ucb, {"window": 50}, {"xi": 0.4, "bound": 1.5}),
    "sw_ucb kl": (sw_ucb, reference.sw_ucb, {"window": 37, "index": "kl"}, {}),
    "sw_ucb least": (sw_ucb, reference.sw_ucb, {"window": 3, "index": "kl"}, {}),
    "discounted_thompson": (discounted_thompson, reference.discounted_thompson, {}, {"discount": 0.95}),
    "oracle_restart": (oracle_restart, reference.oracle_restart, {"starts": (0, 100, 101, 250, 9000)}, {}),
    "glr_klucb": (glr_klucb, reference.glr_klucb, {"horizon": ROUNDS}, {"alpha": 0.1, "delta": 0.3, "scale": 1.0}),
    "glr_klucb global": (
        glr_klucb,
        reference.glr_klucb,
        {"restart": "global", "test_every": 3, "split_every": 2, "horizon": ROUNDS},
        {"alpha": 0.05, "delta": 0.01, "scale": 2.0},
    ),
    "glr_klucb thinned": (
        glr_klucb,
        reference.glr_klucb,
        {"marks": 6, "test_every": 2, "split_every": 3},
        {"alpha": 0.2, "delta": 0.2, "scale": 1.0},
    ),
    "cusum_ucb": (cusum_ucb, reference.cusum_ucb, {"min_pulls": 10}, {"alpha": 0.1, "threshold": 3.97, "xi": 0.5}),
    "cusum_ucb kl": (
        cusum_ucb,
        reference.cusum_ucb,
        {"min_pulls": 20, "index": "kl"},
        {"alpha": 0.05, "threshold": 2.97, "epsilon": 0.05},
    ),
    "m_ucb": (m_ucb, reference.m_ucb, {"window": 20}, {"threshold": 5.03, "gamma": 0.2, "xi": 0.5}),
    "m_ucb kl": (m_ucb, reference.m_ucb, {"window": 10, "index": "kl"}, {"threshold": 3.03, "gamma": 0.1}),
}
# No threshold is a sum of these rewards: rounding decides nothing.
DETECTORS = [name for name in CASES if name.split()[0] in ("glr_klucb", "cusum_ucb", "m_ucb")]
QUICK = ("d_ucb", "sw_ucb kl", "glr_klucb", "glr_klucb thinned", "cusum_ucb", "m_ucb kl", "oracle_restart")


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("case", [pytest.param(c, marks=() if c in QUICK else pytest.mark.slow) for c in CASES])
def test_same_actions_and_alarms(case, law):
    factory, play, static, traced = CASES[case]
    rewards = rewards_of(law)
    actions, alarms, noise = ours(factory, rewards, static, traced)
    noise = reference_thompson.words_in(noise) if factory is discounted_thompson else noise
    known = {name: value for name, value in static.items() if name != "horizon"}
    expected = play(rewards, noise, ties=actions, **known, **traced)
    if case in DETECTORS:
        expected, when = expected
        assert alarms == when
        assert alarms or law != "bernoulli", "without an alarm nothing is said of restarts"
    np.testing.assert_array_equal(actions, expected)


def test_ucb1_as_printed():
    rewards = rewards_of("bernoulli")
    actions, _, _ = ours(ucb1_auer, rewards, {}, {})
    index = lambda means, level: means + np.sqrt(2 * level)  # noqa: E731
    np.testing.assert_array_equal(actions, reference_ucb.play_index(index, rewards, ties=actions))


# Pulls, sum over r of A_r ((r mod 997) + 1), alarms.
GLR = {"horizon": 5000, "num_changes": 4}
TRAJECTORIES = {
    "kl_ucb": (kl_ucb, {}, [1883, 18, 3099], 2981238, 0),
    "sw_ucb": (sw_ucb, {"window": 206, "index": "kl"}, [2472, 356, 2172], 2280310, 0),
    "glr_klucb": (glr_klucb, GLR, [2845, 114, 2041], 2053950, 2),
    "glr_klucb, unknown horizon, enough marks": (
        glr_klucb,
        {"alpha": 0.05 * np.sqrt(12 * np.log(5000) / 5000), "delta": 1 / np.sqrt(60000), "marks": 600},
        [2845, 114, 2041],
        2053950,
        2,
    ),
    "m_ucb": (m_ucb, {"window": 150, "index": "kl", "horizon": 5000}, [2684, 330, 1986], 2089579, 1),
    "oracle_restart": (oracle_restart, {"starts": (0, 1000, 2000, 3000, 4000)}, [2902, 68, 2030], 2029985, 0),
}


def coins(means):
    """1 in round t where the fractional part of t sqrt(q_a) is below the mean, q = 2, 3, 5."""
    t = np.arange(1, len(means) + 1)[:, None]
    return (t * np.sqrt([2.0, 3.0, 5.0])[: means.shape[1]] % 1 < means).astype(float)


@pytest.mark.slow
@pytest.mark.parametrize("case", TRAJECTORIES)
def test_trajectories_without_chance(case):
    """Problem 1 of SMPyBandits, 5000 rounds."""
    factory, static, pulls, check, number = TRAJECTORIES[case]
    means = np.array([[0.3, 0.5, 0.9], [0.3, 0.2, 0.9], [0.3, 0.2, 0.1], [0.7, 0.2, 0.1], [0.7, 0.5, 0.1]])
    actions, alarms, _ = ours(factory, coins(np.repeat(means, 1000, 0)), static, {})
    assert np.bincount(actions, minlength=3).tolist() == pulls
    assert int((actions * (np.arange(5000) % 997 + 1)).sum()) == check
    assert len(alarms) == number


@pytest.mark.parametrize(
    ("factory", "static", "traced", "first"),
    [
        (glr_klucb, {"horizon": 500}, {"alpha": 0.0, "delta": 0.01}, 420),
        (glr_klucb, {"horizon": 500}, {"alpha": 0.0, "delta": 0.001}, 430),
        (glr_klucb, {"horizon": 500, "test_every": 1, "split_every": 1}, {"alpha": 0.0, "delta": 0.01}, 397),
        (glr_klucb, {"horizon": 500, "test_every": 1, "split_every": 1}, {"alpha": 0.0, "delta": 0.001}, 425),
        (cusum_ucb, {}, {"alpha": 0.0, "threshold": 7.0}, 332),
        (m_ucb, {"window": 100}, {"gamma": 0.0, "threshold": 12.0}, 342),
    ],
)
def test_alarm_times_without_chance(factory, static, traced, first):
    """One arm of mean 0.5 for 300 rounds, then 0.8; one arm is always pulled."""
    means = np.where(np.arange(500) < 300, 0.5, 0.8)[:, None]
    actions, alarms, _ = ours(factory, coins(means), static, traced)
    assert alarms[0] == first
    assert not actions.any()


PLAIN = {
    "oracle_restart": (oracle_restart, {"starts": (0,)}, kl_ucb),
    "glr_klucb": (glr_klucb, {"horizon": ROUNDS, "alpha": 0.0, "delta": 1e-30}, kl_ucb),
    "m_ucb": (m_ucb, {"window": 20, "index": "kl", "gamma": 0.0, "threshold": 11.0}, kl_ucb),
    "discounted_thompson": (discounted_thompson, {"discount": 1.0}, thompson),
    "sw_ucb": (sw_ucb, {"window": ROUNDS, "index": "kl"}, kl_ucb),  # no two indices tie here: see its docstring
}


@pytest.mark.slow
@pytest.mark.parametrize("case", PLAIN)
def test_where_nothing_changes_it_is_the_plain_algorithm(case):
    factory, static, plain = PLAIN[case]
    rewards = rewards_of("fractions" if case == "sw_ucb" else "bernoulli")
    np.testing.assert_array_equal(ours(factory, rewards, static, {})[0], ours(plain, rewards, {}, {})[0])


@pytest.mark.parametrize("x64", [False, True])
def test_the_ratio_of_a_split(x64):
    """Beside its definition in float64; the edges of its domain give 0."""
    rng = np.random.default_rng(1)
    total = rng.integers(2, 5000, 300)
    first = (total * rng.random(300)).astype(int)
    left = np.floor(first * rng.random(300) ** 2)
    right = np.floor((total - first) * rng.random(300) ** 2)
    left[:20], right[:20] = 0, 0  # all rewards 0
    left[20:40], right[20:40] = first[20:40], (total - first)[20:40]  # all 1
    with jax.enable_x64(x64):
        sums = [jnp.asarray(x, float) for x in (left, left + right)]
        ours = np.asarray(split_ratio(jnp.asarray(first, jnp.int32), sums[0], jnp.asarray(total, jnp.int32), sums[1]))
    inside = (first > 0) & (left + right > 0) & (left + right < total)
    s, m = np.where(inside, first, 1), np.where(inside, total, 2)
    mean = np.where(inside, (left + right) / m, 0.5)
    d = reference.d_kl
    expected = s * d(np.where(inside, left / s, 0.5), mean) + (m - s) * d(np.where(inside, right / (m - s), 0.5), mean)
    # In float32 the excess over the mean has lost up to 1e-7 of m, of a ratio near 0 much, of one near a level nothing.
    np.testing.assert_allclose(
        ours, np.where(inside, expected, 0), rtol=1e-11 if x64 else 2e-4, atol=1e-9 if x64 else 1e-3
    )
