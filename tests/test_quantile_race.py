"""The quantile race: equal to its reference round by round, its memory, its edges, its guarantee."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from player import play
from reference import quantile_race as reference
from reference.unknown_variance import race

import jaxbandit as jb
from jaxbandit.theory.quantile_bounds import quantile_sequence

pytestmark = [pytest.mark.slow, pytest.mark.quickly_compiled]

PULLS = 1600
TABLES = 6


def tables():
    """Rewards of four arms: normal, log-normal, rounded, of two values, of unequal scales, and of drifting scale."""
    rng = np.random.default_rng(11)
    normal, chances = rng.normal(size=(PULLS, 4)), rng.uniform(size=(PULLS, 4))
    shift = np.array([0.0, 0.8, -0.5, 0.3])
    return np.array(
        [
            normal + shift,
            np.exp(normal + shift),
            np.round(normal + 2 * shift),
            1.0 * (chances < [0.3, 0.9, 0.2, 0.6]),
            (normal + shift) * [0.1, 2.0, 1.0, 0.5],
            (normal + shift) * np.linspace(3, 0.1, PULLS)[:, None],
        ]
    )


def make(**traced):
    return jb.algorithms.quantile_race(4, max_pulls=PULLS, **traced)


@pytest.mark.parametrize(
    ("p", "delta", "epsilon"), [(0.5, 0.05, 0.4), (0.9, 0.2, 0.1), (0.5, 0.1, 0.0), (0.1, 0.2, 0.0), (0.3, 0.6, 0.2)]
)
def test_same_pulls_and_same_stop_as_the_reference(p, delta, epsilon):
    actions, stopped, recommended, *_ = play(make, tables(), p=p, delta=delta, epsilon=epsilon)
    ends = []
    for r, table in enumerate(tables()):
        expected, arm = race(table, reference.quantile, PULLS, p=p, delta=delta, epsilon=epsilon)
        ends.append(end := int(np.argmax(stopped[r])) if stopped[r].any() else PULLS)
        assert len(expected) == end
        np.testing.assert_array_equal(actions[r, :end], expected)
        assert arm is None or recommended[r, end, 0] == arm
    assert min(ends) > 12 and sum(end < PULLS for end in ends) >= 2, ends


def test_bounds_are_those_of_the_host():
    """Also of arms that the race gave up, and where the bounds meet. The last survivor is pulled until the end."""
    with jax.enable_x64(True):
        found = play(make, tables(), p=0.5, delta=0.1, epsilon=0.0)
        actions, interval = found.actions, found.last.statistic.interval
    for r, table in enumerate(tables()):
        rounds = min(np.count_nonzero(actions[r] == arm) for arm in set(actions[r, -4:]))  # complete ones
        for arm in range(4):
            scores = table[actions[r] == arm, arm][:rounds]
            assert quantile_sequence(scores, 0.5, 0.1 / 4) == (interval.low[r, arm], interval.high[r, arm])


def bounds(rewards, max_pulls, **options):
    """After each round, [rounds, 2]: the interval, the number of rewards inside and whether the memory is full; which
    arms survive, and which one would be recommended [rounds].
    """
    rule = jb.algorithms.quantile_race(2, max_pulls=max_pulls, **options)

    def body(state, row):
        state = rule.batch.absorb(state, rule.batch.plan(state), row)
        statistic = state.statistic
        inside = jnp.sum(statistic.between < jnp.inf, 1)
        return state, (*statistic.interval, inside, statistic.full, state.survivors, rule.recommend(state)[0])

    start = rule.init(jax.random.key(0))
    return jax.device_get(jax.jit(lambda rewards: jax.lax.scan(body, start, rewards)[1])(jnp.asarray(rewards)))


def test_a_full_memory_leaves_the_bounds_as_they_are():
    """Six rewards for one pull: the sixth gives both bounds of delta / 2 = 0.05; there is no place for more inside."""
    rewards = np.random.default_rng(2).normal(size=(60, 2))
    with jax.enable_x64(True):
        low, high, inside, full, survivors, _ = bounds(rewards, 1, delta=0.1)
        ample = bounds(rewards, 60, delta=0.1)
    first = full.argmax(0)
    assert survivors.all() and full[-1].all() and (first > 6).all() and (inside <= 6).all()
    for arm, when in enumerate(first):
        for ours, exact in ((low, ample[0]), (high, ample[1])):
            np.testing.assert_array_equal(ours[:when, arm], exact[:when, arm])
            assert (ours[when:, arm] == ours[when - 1, arm]).all() and exact[-1, arm] != ours[-1, arm]


def test_the_memory_is_enough_for_max_pulls():
    """Of 900 normal rewards fewer than 3.7 sqrt(n), as many as the ranks differ by; there is room for 180."""
    rewards = np.random.default_rng(3).normal(size=(900, 2))
    with jax.enable_x64(True):
        low, high, inside, full, survivors, named = bounds(rewards, 900, delta=0.1)
    assert not full.any() and 40 < inside.max() < 3.7 * 30
    assert quantile_sequence(rewards[:, 0], 0.5, 0.05) == (low[-1, 0], high[-1, 0])
    assert survivors.all() and (named == low.argmax(1)).all()
    assert (named != np.cumsum(rewards, 0).argmax(1)).any()  # the largest mean is not asked for


def test_equal_rewards_end_the_race_where_the_bounds_meet():
    """Two arms of equal constants: all of their quantiles are equal, and the bounds show it after six pulls each."""
    with jax.enable_x64(True):
        low, high, _, _, survivors, _ = bounds(np.full((8, 2), 0.25), 100, delta=0.1)
    assert np.isinf(low[4]).all() and (low[5] == 0.25).all() and (high[5] == 0.25).all()
    assert survivors[4].all() and survivors[5].tolist() == [True, False]


@functools.partial(jax.jit, static_argnames=("num_arms",))
def ends(rewards, num_arms, epsilon):
    """Pulls until the median race stops, and its recommendation, for tables of rewards [runs, rounds, num_arms]."""
    rule = jb.algorithms.quantile_race(num_arms, epsilon=epsilon, max_pulls=2000)

    def run(rows):
        def body(state, row):
            after = rule.batch.absorb(state, rule.batch.plan(state), row)
            return jax.tree.map(functools.partial(jnp.where, rule.stop(state)), state, after), None

        state, _ = jax.lax.scan(body, rule.init(jax.random.key(0)), rows)
        return jnp.sum(state.counts), rule.recommend(state)[0], rule.stop(state)

    return jax.vmap(run)(rewards)


@pytest.mark.statistical
def test_pulls_and_errors_are_those_of_another_simulation():
    """Within three standard errors of the difference, a false alarm in 0.8 % of the seeds; rare events do not deceive.
    At most delta = 0.05 of the runs may be wrong; 7 of 60 have a probability of 0.03 if it is exactly that.
    """
    rng, runs = np.random.default_rng(1), 60
    pauses = rng.uniform(size=(runs, 200, 2)) < [0, 0.01]
    times = ([10.5, 10.0] + 200 * pauses) * np.exp(0.02 * rng.normal(size=pauses.shape))
    log_normal = np.exp(rng.normal(np.log([1, 1.2, 1.2, 1.5]), 0.5, (runs, 1500, 4)))
    cases = {
        "normal": (rng.normal([0.8, 0.78, 0.78, 0.76], 0.03, (runs, 500, 4)), 0.01, 0, 295, 14),
        "log-normal losses": (-log_normal, 0.1, 0, 1048, 46),
        "rare pauses": (-times, 0.05, 1, 22, 1),
    }
    for name, (rewards, epsilon, arm, expected, se) in cases.items():
        with jax.enable_x64(True):
            pulls, named, stopped = jax.device_get(ends(jnp.asarray(rewards), rewards.shape[2], epsilon))
        assert stopped.mean() > 0.98 and np.count_nonzero(named != arm) < 7, name
        assert abs(pulls.mean() - expected) < 3 * np.hypot(se, pulls.std() / np.sqrt(runs)), (name, pulls.mean())


def test_the_certificate_of_a_session_is_about_the_quantile():
    rule, rng = jb.algorithms.quantile_race(2, p=0.9, delta=0.1, epsilon=0.5), np.random.default_rng(0)
    session = jb.session(rule, seed=0)
    while not session.stopped:
        session, pulls = jb.ask(session)
        session = jb.tell(session, pulls.id, rng.normal(size=len(pulls.id)) + 3 * pulls.arm)
    certificate = jb.certificate(session)
    assert (
        certificate.statistic == "0.9-quantile"
        and certificate.achieved == 0
        and "by the 0.9-quantile" in certificate.known
    )
    assert certificate.recommendation.tolist() == [1]
    truth = 1.2815515655446004 + 3 * np.arange(2)  # of a normal distribution
    assert (certificate.low <= truth).all() and (truth <= certificate.high).all()
    assert (certificate.low <= certificate.means).all() and (certificate.means <= certificate.high).all()
