"""Long runs in float32 lose no reward, equal sums give equal means, and a shift of all rewards changes nothing."""

from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from tiers import a_few

import jaxbandit as jb
from benchmarks import precision
from jaxbandit.algorithms.combinatorial import teams
from jaxbandit.base.contract import action_of
from jaxbandit.lab.specs.registry import ALGORITHMS
from jaxbandit.support.numerics import kahan_pair
from jaxbandit.theory.estimators import arm_means, counts, loss_sums

LONG = 2**22 - 1  # 2^24 is the largest horizon at which float32 is the default; a quarter of it shows every loss
# The numerators of hundredths that a long stream repeats: 0 and 1 with mean .99, and rewards between them.
STREAMS = {"0 and 1": [100] * 99 + [0], "tenths": [10, 20, 30, 10], "one of ten": [10]}


def _after(update, start, stream):
    """The state after LONG rewards of a stream of hundredths, by a loop that is compiled once."""
    rewards = jnp.asarray(np.array(stream, np.float32) / np.float32(100))

    @jax.jit
    def play(start):
        return lax.fori_loop(0, LONG, lambda t, state: update(state, rewards[t % len(stream)]), start)

    return play(start)


def _exact_mean(stream):
    """The mean of these float32 rewards, rounded once."""
    values = [Fraction(float(np.float32(x) / np.float32(100))) for x in stream]
    whole, rest = divmod(LONG, len(values))
    return float((whole * sum(values) + sum(values[:rest])) / LONG)


@pytest.mark.slow
@pytest.mark.parametrize("stream", STREAMS.values(), ids=STREAMS)
def test_a_mean_is_exact_to_two_roundings_on_long_runs(stream):
    updates = {
        "counts": (lambda state, r: counts.update(state, jnp.int32(1), r)[0], counts.init(2)),
        "from the first": (lambda state, r: counts.update(state, jnp.int32(1), r)[0], counts.init(2, from_first=True)),
        "teams": (lambda state, r: teams.update(state, jnp.array([False, True]), jnp.stack([r, r])), teams.init(2)),
    }
    for name, (update, start) in updates.items():
        found = _after(update, start, stream)
        arms = found.arms if name == "teams" else found
        first = 0.0 if arms.first is None else float(arms.first)
        assert int(arms.counts[1]) == LONG and int(arms.counts[0]) == 0 and float(arms.means[0]) == 0
        # A sum is rounded once, from 48 bits, and a quotient once; the deviations from the first reward are exact here.
        assert abs(float(arms.means[1]) + first - _exact_mean(stream)) <= 2 * 2.0**-24, name


def test_sums_of_zeros_and_ones_are_exact():
    found = _after(lambda state, r: counts.update(state, jnp.int32(0), r)[0], counts.init(2), STREAMS["0 and 1"])
    failures = LONG // 100
    assert float(found.sums[0]) == LONG - failures and float(found.rest[0]) == 0
    assert float(found.means[0]) == np.float32(LONG - failures) / np.float32(LONG)


def test_means_of_classical_gap_indices_are_sums_divided_by_counts():
    def update(state, r):
        estimate, n = state
        return arm_means.update(estimate, jnp.int32(1), r, n + 1), n + 1

    estimate, _ = _after(update, (arm_means.init(jnp.eye(2), 1.0), jnp.int32(0)), STREAMS["tenths"])
    # The mean of deviations from the first reward is rounded twice, and each of these deviations is exact.
    assert abs(float(estimate.means[1] + estimate.first) - _exact_mean(STREAMS["tenths"])) <= 2 * 2.0**-24


def test_squares_are_compensated():
    """n p (1 - p) of rewards of 0 and 1 with p = .99, of which a plain sum loses the share of the successes."""

    def update(state, r):
        arms, squares = state
        after, _ = counts.update(arms, jnp.int32(0), r)
        return after, counts.add_square(squares, arms, after, jnp.int32(0), r)

    start = counts.init(1)
    _, squares = _after(update, (start, counts.no_squares(start)), STREAMS["0 and 1"])
    p = (LONG - LONG // 100) / LONG
    # Each addend is off by the rounding of a mean, 3e-8 of a deviation of .01: 3e-6, either way.
    assert float(squares[0][0]) == pytest.approx(LONG * p * (1 - p), rel=1e-5)


def test_other_sums_of_many_addends_are_compensated():
    """Targets of tracking, prices of knapsacks and losses: a third, added LONG times."""
    third = np.float32(1 / 3)
    pair = jax.jit(lambda: lax.fori_loop(0, LONG, lambda _, x: kahan_pair(x, jnp.full(1, third)), jnp.zeros((2, 1))))()
    losses = jax.jit(
        lambda: lax.fori_loop(0, LONG, lambda _, x: loss_sums.add(x, jnp.full(1, third)), loss_sums.init(1))
    )()
    for total in (pair[0, 0], losses.sums[0]):
        assert abs(float(total) - LONG * float(third)) <= 0.0625  # half a unit in the last place of a sum of 1.4e6


@pytest.mark.parametrize("x64", [False, True])
def test_arms_of_equal_sums_have_equal_means_in_whatever_order_rewards_came(x64):
    """Running means would differ in the last place."""
    rng = np.random.default_rng(0)
    rewards = (np.arange(97) < 41).astype(float)
    with jax.enable_x64(x64):
        orders = jnp.stack([jnp.asarray(rng.permutation(rewards), jnp.result_type(float)) for _ in range(200)])

        @jax.jit
        def play(orders):
            def step(state, row):
                for arm in range(2):
                    state, _ = counts.update(state, jnp.int32(arm), row[arm])
                return state, None

            def one(pair):
                return lax.scan(step, counts.init(2), pair.T)[0].means

            return jax.vmap(one)(orders.reshape(100, 2, -1))

        means = np.asarray(play(orders))
    assert (means == means[0, 0]).all() and means[0, 0] == np.asarray(41, means.dtype) / np.asarray(97, means.dtype)


def _actions(rule, rewards):
    """The actions of a rule on rewards[rounds, arms], and after each what it recommends and whether it would stop."""

    def play(rewards):
        keys = jax.random.split(jax.random.key(0, impl="threefry2x32"), len(rewards))
        start = rule.init(jax.random.key(1, impl="threefry2x32"))

        def step(state, row):
            reward, key = row
            chosen = rule.select(rule.noise(key), state, None)
            action = action_of(chosen)
            state = rule.update(state, None, chosen, reward[action])
            more = () if rule.stop is None else (*rule.recommend(state), rule.stop(state))
            return state, jnp.stack([jnp.asarray(x, jnp.int32) for x in (action, *more)])

        return lax.scan(step, start, (rewards, keys))[1]

    return np.asarray(jax.jit(play)(rewards))


# Rules that know the zero of the rewards: a second moment about it.
ABOUT_ZERO = {"robust_ucb"}
SHIFTED = [name for name in precision.rules("gaussian") if name not in ABOUT_ZERO]


@pytest.mark.quickly_compiled
@pytest.mark.parametrize("name", a_few(SHIFTED, 4))
def test_a_shift_of_all_rewards_changes_no_action(name):
    """Rewards are multiples of 2^-10, so that float64 holds them exactly beside 2^38."""
    rng = np.random.default_rng(1)
    rewards = np.round(rng.normal([0.5, 0.0], 1.0, (400, 2)) * 2**10) / 2**10
    with jax.enable_x64(True):
        rule = precision.make(name, precision.INSTANCES["1000/999.9"], 400)
        plain, shifted = (_actions(rule, jnp.asarray(rewards + shift)) for shift in (0.0, 2.0**38))
    np.testing.assert_array_equal(plain, shifted)
    assert len(set(plain[:, 0].tolist())) == 2 or name == "fixed_arm"


def _identifying():
    """Rules that find the best of plain arms, with Gaussian families, unless they are declared for a range."""
    made = {}
    for name, entry in ALGORITHMS.items():
        parameters = entry.parameters()
        best = entry.setting == "arms" and entry.question in ("confidence", "budget")
        if not best or entry.rewards.startswith("in "):
            continue
        given = {key: value for key, value in ENOUGH.items() if key in parameters and parameters[key].required}
        families = ("gaussian", "student") if "unknown variances" in entry.rewards and "family" in parameters else ()
        for family in families or (("gaussian",) if "family" in parameters else (None,)):
            more = {} if family is None else {"family": family, "threshold": THRESHOLDS[family]}
            made[name if family is None else f"{name} {family}"] = getattr(jb.algorithms, name)(3, **given, **more)
    return made


ENOUGH = {"epsilon": 0.05, "budget": 600}
THRESHOLDS = {"gaussian": "gauss", "student": "interval"}
IDENTIFYING = _identifying()
COUNTS_ROUNDING = ("student_race", "paired_race", "budgeted_race")  # `student.resolution` of their rewards


@pytest.mark.slow
@pytest.mark.quickly_compiled
@pytest.mark.parametrize("name", a_few(IDENTIFYING, 4))
def test_a_shift_of_all_rewards_changes_no_answer(name):
    """Multiples of 2^-6 beside 2^46, whose last digit that is, or beside 2^20 where what rounding may change counts."""
    shift = 2.0 ** (20 if name in COUNTS_ROUNDING else 46)
    rng = np.random.default_rng(2)
    rewards = np.round(rng.normal([0.0, 0.5, 0.3], 1.0, (600, 3)) * 2**6) / 2**6
    with jax.enable_x64(True):
        plain, shifted = (_actions(IDENTIFYING[name], jnp.asarray(rewards + x)) for x in (0.0, shift))
    np.testing.assert_array_equal(plain, shifted)
    assert len(np.unique(plain[:, 0])) == 3


# Rules of different kinds. With running means the regret after 3 10^5 rounds with .999/.996 was 111 for 13 in float64
# (kl_ucb), 75 for 4 (imed) and 141 for 23 (bayes_ucb_gaussian_unknown).
SLICE = [
    ("kl_ucb", ".999/.996", 300_000),
    ("ucb_v", ".999/.996", 300_000),
    ("imed", ".999/.996", 300_000),
    ("bayes_ucb_gaussian_unknown", ".999/.996", 300_000),
    ("kl_ucb", "1000/999.9", 300_000),
]


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("name, label, rounds", SLICE)
def test_float32_equals_float64_within_the_sampling_error(name, label, rounds):
    """False alarms: 4e-4 for each of the five. `python -m benchmarks precision` plays every rule for 10^6 rounds."""
    instance = precision.INSTANCES[label]
    found = precision.compare(name, instance, rounds)
    assert found["standard_errors"] <= precision.LIMIT, found


@pytest.mark.slow
def test_sums_of_batches_are_minus_one_base_for_the_whole_race():
    """The base is the first batch's mean, 12 / 4 = 3; two batches leave the sums 3 + 50 and 9 + 10, minus 4 times 3."""
    rule = jb.algorithms.successive_elimination(2)
    state = rule.init(jax.random.key(0))
    for sums in ([3.0, 9.0], [50.0, 10.0]):
        state = rule.batch.absorb(state, jnp.array([2, 2]), jnp.array(sums))
    assert (state.sums + state.fresh).tolist() == [41.0, 7.0]
