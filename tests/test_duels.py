"""Judged pairs: the rule `duel_race`, its sessions, and what a certificate says of a winner, a cycle and draws."""

import itertools
import math

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


def by_hand(low, high, count):
    """What the bounds say, by loops over arms."""
    pairs = list(itertools.combinations(range(count), 2))
    least = {pair: low[k] for k, pair in enumerate(pairs)} | {pair[::-1]: 1 - high[k] for k, pair in enumerate(pairs)}
    most = {pair: high[k] for k, pair in enumerate(pairs)} | {pair[::-1]: 1 - low[k] for k, pair in enumerate(pairs)}
    beaten = {j for (i, j), bound in least.items() if bound > 0.5}
    left = [i for i in range(count) if i not in beaten]
    means = [[sum(b[i, j] for j in range(count) if j != i) / (count - 1) for i in range(count)] for b in (least, most)]
    lead = [i for i in range(count) if means[1][i] >= max(means[0])]
    if len(left) > 1:
        asked = [pair for pair in pairs if set(pair) <= set(left)]
    else:
        asked = [pair for pair in pairs if set(pair) & set(left or (lead if len(lead) > 1 else []))]
    known = {pair for pair in least if least[pair] > 0.5}
    if left:
        asked = [pair for pair in asked if pair not in known and pair[::-1] not in known]
    return left, lead, [pair in asked for pair in pairs], means


def test_pairs_are_numbered_in_order():
    assert jb.duel_pairs(3).tolist() == [[0, 1], [0, 2], [1, 2]]
    assert jb.duel_pairs(6).tolist() == [list(pair) for pair in itertools.combinations(range(6), 2)]


def test_what_is_asked_for_are_the_pairs_that_may_still_decide():
    """Against loops, for random bounds of which some leave one arm, some several, and some none."""
    rng, numbers = np.random.default_rng(0), set()
    for _ in range(300):
        count = int(rng.integers(2, 6))
        center, half = rng.random((2, count * (count - 1) // 2)) * [[1.0], [rng.choice([0.03, 0.4])]]
        low, high = np.clip(center - half, 0, 1), np.clip(center + half, 0, 1)
        k, (left, lead, needed, means) = order_of(low, high, count), by_hand(low, high, count)
        assert np.flatnonzero(k.candidates).tolist() == left and np.flatnonzero(k.leaders).tolist() == lead
        assert k.open_pairs.tolist() == needed and np.allclose([k.borda_low, k.borda_high], means)
        numbers.add((min(len(left), 2), any(needed)))
    assert numbers == {(0, False), (0, True), (1, False), (1, True), (2, True)}


def test_bounds_are_those_of_the_normal_mixture_at_the_level_of_a_pair(rule):
    """At a bound the mixture sqrt(c / (n + c)) exp(2 S^2 / (n + c)) of S = n (mean - p) is one over the level."""
    session = jb.session(rule)
    for outcomes in ([1, 0, 1, 0.5, 0, 1], [1, 1, 1, 0.5, 0, 0]):
        session, pulls = jb.ask(session)
        assert pulls.arm.tolist() == list(range(6))
        session = jb.tell(session, pulls.id, outcomes)
    k, level = jb.duel_certificate(session), 0.06 / 6
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
    # Draws are half a win, as often as they come: pairs without the winner are never decided.
    assert k.wins[0, 1] == 0.5 and "a" in str(k).splitlines()[5]


def test_a_cycle_is_said_and_the_borda_winner_is_found(rule):
    """Arm 0 beats 1, 1 beats 2, 2 beats 0; by the means over the others, 0 has (.9 + .1 + .9) / 3, the largest."""
    early = jb.duel_certificate(judged(rule, ROCK, 1, most=300))
    assert early.kind == "undecided" and early.winner is None and len(early.cycle) == 3
    turns = [early.cycle[i:] + early.cycle[:i] for i in range(3)]
    assert (0, 1, 2) in turns and "there is a cycle" in early.words and "undecided, which one wins most" in early.words
    session = judged(rule, ROCK, 1)
    k = jb.duel_certificate(session)
    assert session.stopped and (k.kind, k.winner) == ("Borda", 0) and k.order.borda_low[0] > 0.5
    assert k.words.startswith("arm 0 wins most on average (Borda winner); no one beats all others: there is a cycle, ")


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
        row = duels.of_world(name, worlds[name], 60)
        assert row["wrong"] <= 8 and row["right"] >= 52 and row["cycles"] <= 8
        assert "ranked" in duels.table([row | {"world": "ranked"}])
