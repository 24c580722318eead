"""Which pulls a session makes, how many at a time, and what it knows of them afterwards."""

import itertools

import jax
import numpy as np
import pytest
from test_sessions import MEANS, RULES, leaves, rewards_of

import jaxbandit as jb
from jaxbandit.decide.sessions.session import samples

pytestmark = pytest.mark.quickly_compiled


def played(rule, limits, seed=3):
    """A session told all pulls of an ask with each of these limits, and the rewards of each arm by index."""
    s, found = jb.session(rule, seed=seed), [[] for _ in MEANS]
    for limit in limits:
        s, pulls = jb.ask(s, limit=limit)
        s = jb.tell(s, pulls.id[::-1], rewards_of(pulls)[::-1])
        for arm, index, reward in zip(pulls.arm, pulls.index, rewards_of(pulls), strict=True):
            assert index == len(found[arm])
            found[arm].append(reward)
    return s, found


@pytest.mark.slow
@pytest.mark.parametrize("kind", RULES)
def test_samples_are_the_rewards_of_each_arm_by_index(kind, tmp_path):
    s, found = played(RULES[kind], [1, 2, 3] * 4)
    assert [list(x) for x in samples(s)] == found
    jb.save_session(tmp_path / "s.session", s)
    again = jb.load_session(tmp_path / "s.session", RULES[kind])
    assert leaves(again) == leaves(s) and [list(x) for x in samples(again)] == found
    s, pulls = jb.ask(s, limit=3)
    assert [list(x) for x in samples(jb.tell(s, pulls.id[1:], [0.5] * (len(pulls.id) - 1)))] == found  # a gap before


@pytest.mark.slow
def test_samples_of_sets_and_with_contexts_are_unknown():
    s, pulls = jb.ask(jb.session(jb.algorithms.icb(3, k=2)))
    s = jb.tell(s, pulls.id, [0.5] * len(pulls.id))
    assert samples(s) is None and s.pulls.arms == ()
    s, pulls = jb.ask(jb.session(jb.algorithms.lin_ucb(np.ones((2, 3, 2)) * np.eye(3, 2), horizon=60)), context=1)
    assert samples(jb.tell(s, pulls.id, 1.0)) is None


RACE = jb.algorithms.paired_race(5, delta=0.1, epsilon=0.01)
NORMAL = np.random.default_rng(0).normal(np.linspace(0, 1, 5)[:, None], 0.4, (5, 400))


def race(limits, order=lambda ids: ids):
    """Play RACE with these limits, over and over; the scores of a pull depend on its arm and index alone."""
    s, states, sizes = jb.session(RACE), [], []
    for limit in itertools.cycle(limits):
        if s.stopped:
            break
        s, pulls = jb.ask(s, limit=limit)
        sizes.append(len(pulls.id))
        for i in order(np.arange(len(pulls.id))):
            s = jb.tell(s, pulls.id[i], NORMAL[pulls.arm[i], pulls.index[i]])
            states.append((s.round, s.survivors.tolist(), [x.tobytes() for x in jax.tree.leaves(s.state)]))
    return s, states, sizes


@pytest.mark.slow
def test_a_race_fills_the_plate_and_decides_as_without():
    """The state after each plan has the same bytes, and as many plans decide; only pulls ahead are more."""
    plain, states, _ = race([None])
    by_round = {n: (survivors, state) for n, survivors, state in states}
    for limits in ([16], [3, 96], [7, 1, 12]):
        ahead, found, sizes = race(limits, lambda ids: ids[::-1])
        assert all(by_round[n] == (survivors, state) for n, survivors, state in found)
        assert ahead.round == plain.round and ahead.recommendation.tolist() == plain.recommendation.tolist() == [4]
        assert sizes == list(itertools.islice(itertools.cycle(limits), len(sizes)))
        extra = ahead.counts - plain.counts
        assert (extra >= 0).all() and extra.sum() < max(limits) + 5 * len(plain.counts)
        rows, fewer = samples(ahead), samples(plain)
        assert all(np.array_equal(row, NORMAL[a, : len(row)]) for a, row in enumerate(rows))
        assert all(np.array_equal(row[: len(some)], some) for row, some in zip(rows, fewer, strict=True))


def test_pulls_ahead_are_spread_over_the_survivors():
    s, pulls = jb.ask(jb.session(RACE), limit=96)
    assert pulls.arm.tolist() == ([*range(5)] * 20)[:96]
    assert pulls.index.tolist() == [i // 5 for i in range(96)]
    s = jb.tell(s, pulls.id, NORMAL[pulls.arm, pulls.index])
    alive = np.flatnonzero(s.survivors)
    assert 1 < len(alive) < 5
    s, pulls = jb.ask(s, limit=96)
    assert set(pulls.arm) == set(alive) and np.ptp(np.bincount(pulls.arm)[alive]) <= 1 and len(pulls.id) == 96
    assert jb.ask(s)[1].id.tolist() == pulls.id.tolist()  # without a limit nothing more, until the plan is known


def test_a_plate_with_failures_is_filled_again_and_the_rest_counts():
    s, pulls = jb.ask(jb.session(RACE), limit=20)
    good = np.delete(np.arange(20), [6, 13])
    s = jb.tell(s, pulls.id[good], NORMAL[pulls.arm, pulls.index][good])
    assert s.round == 2 and s.num_told == 18 and s.counts.sum() == 6  # the second plan lacks the pull that failed
    s, pulls = jb.ask(jb.withdraw(s, [6, 13]), limit=20)
    assert pulls.id.tolist() == [6, 13, *range(20, 38)] and pulls.index[:2].tolist() == [1, 2]
    s = jb.tell(s, pulls.id[:2], NORMAL[pulls.arm, pulls.index][:2])
    assert s.round == 5 and s.counts.sum() == 20


@pytest.mark.slow
def test_only_races_are_asked_ahead():
    for rule in (
        jb.algorithms.sequential_halving(5, budget=60),
        jb.algorithms.budgeted_race(5, epsilon=0.1, budget=100),
        jb.algorithms.xy_static(np.eye(5)),
    ):
        plan = len(jb.ask(jb.session(rule), limit=None)[1].id)
        assert len(jb.ask(jb.session(rule), limit=plan + 7)[1].id) == plan


def test_a_limit_that_means_everything_is_refused():
    with pytest.raises(ValueError, match=r"limit = 1000000000, must be at most 1048576, because paired_race returns"):
        jb.ask(jb.session(RACE), limit=10**9)
    assert len(jb.ask(jb.session(jb.algorithms.sequential_halving(5, budget=60)), limit=10**9)[1].id) == 20


@pytest.mark.slow
def test_a_plan_on_a_grid_takes_what_was_pulled_ahead(tmp_path):
    rule = jb.algorithms.kl_racing(3, delta=1e-6, grid=2.0)  # plans of 2, 2, 4, 8, .. pulls of each
    with jb.session_directory(tmp_path, rule) as d:
        for limit in (1, 20, 1):
            pulls = d.ask(limit)
            assert len(pulls.id) == limit
            d.tell(pulls.id, np.zeros(limit))
        end = d.session  # after 4 of each, which two plans received, the next needs 4 of each
        assert end.round == 3 and len(end.pulls.spare) == 22 - 3 * 4
        pulls = d.ask()
        assert pulls.arm.tolist() == [2, 2] and pulls.index.tolist() == [6, 7]
    with jb.session_directory(tmp_path, rule) as d:
        assert leaves(d.session) == leaves(jb.ask(end)[0])
    jb.save_session(tmp_path / "s.session", end)
    assert leaves(jb.load_session(tmp_path / "s.session", rule)) == leaves(end)
