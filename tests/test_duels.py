"""Judged pairs: the rule `duel_race`, its sessions, and what a certificate says of a winner, a cycle and draws."""

import itertools
import math
import re

import jax
import numpy as np
import pytest
from scipy import stats

import jaxbandit as jb
from benchmarks import duels
from jaxbandit.decide.duels.race import TYPICAL, order_of

pytestmark = pytest.mark.quickly_compiled

ROCK = np.array([[0.5, 0.9, 0.1, 0.9], [0.1, 0.5, 0.9, 0.6], [0.9, 0.1, 0.5, 0.6], [0.1, 0.4, 0.4, 0.5]])


@pytest.fixture(scope="module")
def rule():
    return jb.duel_race(4, delta=0.06)


def judged(rule, p, seed, most=100_000):
    """Play a session with probabilities p of the rows, a float64[4, 4] of which 0.5 off the diagonal are draws."""
    session, rng, pairs = jb.session(rule), np.random.default_rng(seed), jb.duel_pairs(4)
    while not session.stopped and session.num_told < most:
        session, pulls = jb.ask(session)
        chance = p[tuple(pairs[pulls.arm].T)]
        outcomes = np.where(chance == 0.5, 0.5, (rng.random(len(chance)) < chance) * 1.0)
        session = jb.tell(session, pulls.id[::-1], outcomes[::-1])
    return session


def by_hand(bounds, count, epsilon):
    """What the bounds say, by loops over arms."""
    pairs = list(itertools.combinations(range(count), 2))
    low, high, ahead, most = ({p: float(x[k]) for k, p in enumerate(pairs)} for x in bounds)
    low |= {p[::-1]: 1 - high[p] for p in pairs}
    high |= {p[::-1]: 1 - low[p] for p in pairs}
    ahead |= {p[::-1]: -most[p] for p in pairs}
    arms = range(count)
    left = [j for j in arms if not any(low[i, j] > 0.5 for i in arms if i != j)]
    lead = [j for j in arms if not any(ahead[i, j] > 0 for i in arms if i != j)]
    weak_winners = [i for i in arms if all(low[i, j] > 0.5 - epsilon for j in arms if i != j)]
    largest = [i for i in arms if all(ahead[i, j] > -epsilon for j in lead if i != j)]
    known = {p for p in low if low[p] > 0.5 or high[p] < 0.5 or (low[p] > 0.5 - epsilon and high[p] < 0.5 + epsilon)}
    asked = [p for p in pairs if p not in known and set(p) <= set(left)]
    asked = asked or [p for p in pairs if p not in known and set(p) & set(left)]
    if not left:
        asked = [] if largest else [p for p in pairs if set(p) & set(lead)]
    return left, lead, weak_winners, largest, [pair in ([] if weak_winners else asked) for pair in pairs]


def test_pairs_are_numbered_in_order():
    assert jb.duel_pairs(3).tolist() == [[0, 1], [0, 2], [1, 2]]
    assert jb.duel_pairs(6).tolist() == [list(pair) for pair in itertools.combinations(range(6), 2)]


@pytest.mark.slow
def test_what_is_asked_for_are_the_pairs_that_may_still_decide(rule):
    """Against loops, for random bounds of which some leave one arm, some several, and some none."""
    rng, numbers = np.random.default_rng(0), set()
    for _ in range(600):
        count, epsilon = int(rng.integers(2, 6)), float(rng.choice([0.0, 0.1]))
        center, half = rng.random(count * (count - 1) // 2), rng.choice([0.03, 0.1, 0.4])
        low, high = np.clip(center - half, 0, 1), np.clip(center + half, 0, 1)
        lead, size = rng.normal(size=count) / 5, rng.choice([0.02, 0.2])
        gaps = np.array([lead[i] - lead[j] for i, j in itertools.combinations(range(count), 2)])
        bounds = low, high, gaps - size, gaps + size
        state = jax.tree.map(np.asarray, rule.init(jax.random.key(0)))
        state = state._replace(low=low, high=high, lead_low=bounds[2], lead_high=bounds[3], epsilon=epsilon)
        k = order_of(state, count)
        *expected, needed = by_hand(bounds, count, epsilon)
        found = [np.flatnonzero(x).tolist() for x in (k.candidates, k.leaders, k.weak_winners, k.largest)]
        assert found == expected and k.open_pairs.tolist() == needed
        numbers.add((min(len(expected[0]), 2), any(needed), epsilon > 0))
    assert numbers == set(itertools.product((0, 1, 2), (False, True), (False, True))) - {(2, False, False)}


def test_bounds_are_those_of_the_normal_mixture_at_the_level_of_a_pair(rule):
    """At a bound the mixture sqrt(c / (n + c)) exp(2 S^2 / (n + c)) of S = n (mean - p) is one over the level."""
    session = jb.session(rule)
    for outcomes in ([1, 0, 1, 0.5, 0, 1], [1, 1, 1, 0.5, 0, 0]):
        session, pulls = jb.ask(session)
        assert pulls.arm.tolist() == list(range(6))
        session = jb.tell(session, pulls.id, outcomes)
    k, level = jb.duel_certificate(session), 0.8 * 0.06 / 6
    assert k.delta == pytest.approx(0.06) and k.duels[0, 1] == 2 and k.wins[0, 2] == 0.5 and k.wins[2, 1] == 0.5
    twice = -2 * math.log(level)
    c = TYPICAL / (twice + math.log1p(twice))
    for _ in range(38):
        session, pulls = jb.ask(session)
        session = jb.tell(session, pulls.id, np.full(6, 0.5))
    low, high = np.asarray(session.state.low), np.asarray(session.state.high)
    radius = high[2] - 21 / 40  # of pair (0, 3), which has won twice
    assert low[2] == pytest.approx(21 / 40 - radius) and radius < 0.4
    assert math.sqrt(c / (40 + c)) * math.exp(2 * (40 * radius) ** 2 / (40 + c)) == pytest.approx(1 / level)


def test_a_condorcet_winner(rule):
    p = np.full((4, 4), 0.5)
    p[2], p[:, 2] = 0.8, 0.2
    session = judged(rule, p, 0)
    k = jb.duel_certificate(session, ["a", "b", "c", "d"])
    assert session.stopped and (k.kind, k.winner, k.cycle) == ("Condorcet", 2, ())
    assert k.words == "c beats each of the 3 others (Condorcet winner), with probability at least 0.94"
    assert k.order.beats.tolist() == [[False] * 4, [False] * 4, [True, True, False, True], [False] * 4]
    assert int(k.duels.sum()) == 2 * session.num_told and k.to_json()["arms"][2]["beats"] == [0, 1, 3]
    # The bounds of the wins on average are the means of those of an arm's pairs, the second arm's mirrored.
    state, pairs = jax.tree.map(np.asarray, session.state), jb.duel_pairs(4).tolist()
    for arm, shown in enumerate(k.to_json()["arms"]):
        own = [(n, pair[0] == arm) for n, pair in enumerate(pairs) if arm in pair]
        low = np.mean([state.low[n] if first else 1 - state.high[n] for n, first in own])
        high = np.mean([state.high[n] if first else 1 - state.low[n] for n, first in own])
        assert (shown["borda_low"], shown["borda_high"]) == (pytest.approx(low), pytest.approx(high))
    # Draws are half a win, as often as they come: pairs without the winner are never decided.
    assert k.wins[0, 1] == 0.5 and "a" in str(k).splitlines()[5]


def test_a_cycle_is_said_and_the_borda_winner_is_found(rule):
    """Arm 0 beats 1, 1 beats 2, 2 beats 0; by the means over the others, 0 has (.9 + .1 + .9) / 3, the largest."""
    early = jb.duel_certificate(judged(rule, ROCK, 1, most=300))
    assert early.kind == "undecided" and early.winner is None and len(early.cycle) == 3
    turns = [early.cycle[i:] + early.cycle[:i] for i in range(3)]
    assert (0, 1, 2) in turns and "there is a cycle" in early.words and "undecided, which one wins most" in early.words
    assert "on average: arm 0, arm 1, arm 2; no one beats all others" in early.words
    session = judged(rule, ROCK, 1)
    k = jb.duel_certificate(session)
    assert session.stopped and (k.kind, k.winner, k.epsilon) == ("Borda", 0, 0.0)
    assert k.order.lead[0, 1] > 0 and k.delta == pytest.approx(0.06)
    assert k.words.startswith("arm 0 wins most on average (Borda winner); no one beats all others: there is a cycle, ")


def test_leads_are_bounded_by_the_rounds_in_which_everybody_was_met(rule):
    """By loops over whole rounds since every arm is beaten, told one by one in a random order."""
    low, high = np.array([0.6, 0.0, 0.0, 0.6, 0.0, 0.6]), np.array([1.0, 0.4, 1.0, 1.0, 1.0, 1.0])
    state = jax.tree.map(np.asarray, rule.init(jax.random.key(0)))
    # While arm 0 is not beaten, nothing is counted.
    state = rule.update(state._replace(low=low, high=np.ones(6)), None, np.int32(0), np.float32(1.0))
    state = state._replace(high=high)
    assert not order_of(jax.tree.map(np.asarray, state), 4).candidates.any()
    rng, pairs, wins = np.random.default_rng(4), jb.duel_pairs(4), np.zeros((4, 4))
    least, most, update = np.full(6, -1.0), np.ones(6), jax.jit(rule.update)
    twice = -2 * math.log(0.2 * 0.06 / 6)
    c = TYPICAL / (twice + math.log1p(twice))
    for n in range(1, 41):
        for pair in rng.permutation(6):
            i, j = pairs[pair]
            reward = float(rng.random() < 0.3)
            wins[i, j], wins[j, i] = wins[i, j] + reward, wins[j, i] + 1 - reward
            state = update(state, None, np.int32(pair), np.float32(reward))
        # sqrt(c / (n + c)) exp(s^2 / (2 variance (n + c))) = 1 / level, of the sum s of n differences of wins, in which
        # 2 (K - 2) duels have variance at most 1/4 and the one of both arms counts twice
        reach = math.sqrt((4 / 4 + 1) * (n + c) * (twice + math.log((n + c) / c)))
        ahead = np.array([wins[i].sum() - wins[j].sum() for i, j in pairs])
        least, most = np.maximum(least, (ahead - reach) / (3 * n)), np.minimum(most, (ahead + reach) / (3 * n))
        np.testing.assert_allclose([state.lead_low, state.lead_high], [least, most], atol=1e-5)
    assert (most - least < 1).all() and np.asarray(state.cycle_duels).tolist() == [40] * 6


def test_arms_that_are_alike_are_settled_by_epsilon():
    """Two equal arms that beat the two others: the first of both is named, with the epsilon that is not known away."""
    p = np.full((4, 4), 0.5)
    p[2:, :2], p[:2, 2:] = 0.9, 0.1
    p[2, 3], p[3, 2] = 0.51, 0.49
    session = judged(jb.duel_race(4, delta=0.1, epsilon=0.2), p, 0)
    k = jb.duel_certificate(session, ["a", "b", "c", "d"])
    assert session.stopped and k.kind == "Condorcet" and k.winner in (2, 3) and k.epsilon == pytest.approx(0.2)
    won = r"wins against each of the 3 others more than 0.3 of duels, with probability at least 0.9"
    assert re.fullmatch(f"[cd] {won}", k.words) and k.to_json()["epsilon"] == k.epsilon
    with pytest.raises(ValueError, match=r"duel_race: epsilon = 0.5, must be"):
        jb.duel_race(4, epsilon=0.5)


def test_nothing_is_known_at_first_and_equal_arms_are_never_decided(rule):
    k = jb.duel_certificate(jb.session(rule))
    assert k.words == "undecided: not known to be beaten by another one: arm 0, arm 1, arm 2, arm 3"
    assert np.isnan(k.wins).all() and "0 duels" in str(k)
    session = judged(rule, np.full((4, 4), 0.5), 0, most=600)
    assert not session.stopped and jb.duel_certificate(session).kind == "undecided"


def test_a_session_of_pairs_is_like_any_other(rule, tmp_path):
    """Outcomes may be corrected, and a directory holds them; what is corrected is as if it had been told at first."""
    session, pulls = jb.ask(jb.session(rule))
    wrong = jb.tell(session, pulls.id, [0, 1, 1, 1, 1, 1])
    right = jb.tell(session, pulls.id, [1, 1, 1, 1, 1, 1])
    mended = jb.duel_certificate(jb.amend(wrong, pulls.id[0], 1))
    assert mended.wins[0, 1] == 1 and mended.to_json() == jb.duel_certificate(right).to_json()
    with jb.session_directory(tmp_path / "d", rule) as directory:
        directory.tell(directory.ask().id, [1, 1, 1, 1, 1, 1])
    with jb.session_directory(tmp_path / "d", rule) as directory:
        assert jb.duel_certificate(directory.session).to_json() == jb.duel_certificate(right).to_json()
    with pytest.raises(ValueError, match=r"reward = 2.0, must be in \[0, 1\]"):
        jb.tell(session, pulls.id[0], 2)


def test_outcomes_that_change_contradict_what_is_assumed(rule):
    session = jb.session(rule)
    for outcome in np.repeat([0.7, 0.3], 40):
        session, pulls = jb.ask(session)
        session = jb.tell(session, pulls.id, np.where(pulls.arm == 0, outcome, 0.5))
    k = jb.duel_certificate(session)
    assert k.contradiction == k.words and "the duels of arm 0 and arm 1" in k.words
    assert k.kind == "undecided" and k.order.candidates.all() and "contradiction" in k.to_json()


def test_all_but_one_is_not_all_and_bounds_that_exclude_each_other_claim_nothing(rule):
    """Arm 0 beats 1 and 2, and its bounds against 3 contain 1/2; then they exclude each other."""
    session = jb.session(rule)
    low, high = np.array([0.6, 0.6, 0.4, 0.0, 0.0, 0.0]), np.ones(6)
    k = jb.duel_certificate(session.but(state=session.state._replace(low=low, high=high)))
    assert k.winner is None and k.words == "undecided: not known to be beaten by another one: arm 0, arm 3"
    low[2] = 0.6
    assert jb.duel_certificate(session.but(state=session.state._replace(low=low, high=high))).winner == 0
    high[3] = -0.1
    k = jb.duel_certificate(session.but(state=session.state._replace(low=low, high=high)))
    assert "bounds of a pair at two times exclude each other" in k.contradiction and k.winner is None


def test_what_cannot_be_certified_is_one_line(rule):
    with pytest.raises(ValueError, match="session is one of thompson, must be one of duel_race"):
        jb.duel_certificate(jb.session(jb.algorithms.thompson(3)))
    with pytest.raises(ValueError, match="names has 2 entries, must have one for each of 4 arms"):
        jb.duel_certificate(jb.session(rule), ["a", "b"])
    with pytest.raises(ValueError, match=r"duel_race: delta = 1.5, must be a number in \(0, 1\)"):
        jb.duel_race(4, delta=1.5)
    with pytest.raises(ValueError, match="num_arms = 1, must be an integer >= 2"):
        jb.duel_pairs(1)


@pytest.mark.slow
@pytest.mark.statistical
def test_the_choice_of_six_is_wrong_at_most_delta_of_the_time():
    """60 runs of two cases; with an error rate of delta, more than 8 of 60 wrong ones have a probability of .005."""
    assert stats.binom.sf(8, 60, 0.05) < 0.006
    worlds = duels.worlds()
    for name in ("ranked", "one arm wins .6, others even"):
        row = duels.of_world(name, *worlds[name], 60)
        assert row["wrong"] <= 8 and row["right"] >= 52 and row["cycles"] <= 8
        assert "ranked" in duels.table([row | {"world": "ranked"}])
