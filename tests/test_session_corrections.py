"""Corrected rewards, pulls that nobody asked for, pulls without an answer, and closed arms."""

import inspect
import json
import os
from concurrent.futures import ThreadPoolExecutor

import jax
import numpy as np
import pytest
from test_session_pulls import NORMAL, RACE
from test_sessions import RULES, Killed, leaves, rewards_of

import jaxbandit as jb
from jaxbandit.decide.sessions.changes import CHANGES, Changes
from jaxbandit.decide.sessions.events import event_of
from jaxbandit.decide.sessions.session import samples
from jaxbandit.decide.sessions.stored import book_of, read
from jaxbandit.decide.sessions.summary import summary_of

pytestmark = pytest.mark.quickly_compiled


def state(session):
    return [np.asarray(leaf).tobytes() for leaf in jax.tree.leaves(session.state)]


def play(s, asks, limit=4, wrong=()):
    """Ask and tell; rewards of these ids are wrong by 0.1."""
    for _ in range(asks):
        s, pulls = jb.ask(s, limit=limit)
        s = jb.tell(s, pulls.id, rewards_of(pulls) + 0.1 * np.isin(pulls.id, wrong))
    return s


@pytest.mark.slow
@pytest.mark.parametrize("kind", RULES)
def test_an_amended_session_is_the_one_that_was_told_the_right_reward(kind, tmp_path):
    s = play(jb.session(RULES[kind], seed=3), 5)
    wrong = jb.session(RULES[kind], seed=3)
    arms = np.concatenate(s.pulls.arms)
    ids = np.flatnonzero(arms == arms[-1])[-2:]  # late enough to change no choice
    right = np.concatenate(s.pulls.history)[ids]
    wrong = play(wrong, 5, wrong=ids)
    assert np.array_equal(np.concatenate(wrong.pulls.arms), arms) and leaves(wrong) != leaves(s)
    assert leaves(jb.amend(wrong, ids, right)) == leaves(s)
    assert jb.amend(s, ids, right) is s
    open_, pulls = jb.ask(s, limit=3)
    told = jb.tell(open_, pulls.id[1:], [0.25] * (len(pulls.id) - 1))
    if len(pulls.id) > 1:
        assert leaves(jb.amend(jb.amend(told, pulls.id[1], 0.75), pulls.id[1], 0.25)) == leaves(told)
    again = jb.amend(jb.amend(told, 0, 0.875), 0, float(np.concatenate(s.pulls.history)[0]))
    assert leaves(again) == leaves(told)
    jb.save_session(tmp_path / "s.session", jb.amend(told, 0, 0.875))
    assert leaves(jb.load_session(tmp_path / "s.session", RULES[kind])) == leaves(jb.amend(told, 0, 0.875))


@pytest.mark.slow
def test_a_race_goes_on_where_a_correction_takes_it():
    """Arm 0 was eliminated by wrong rewards; corrected, the race asks for the pulls of arm 0 that are missing."""
    scores = NORMAL.copy()
    scores[0] += 2.0  # the best arm
    s, wrong = jb.session(RACE), []
    while not s.stopped:
        s, pulls = jb.ask(s)
        wrong += pulls.id[pulls.arm == 0].tolist()
        s = jb.tell(s, pulls.id, scores[pulls.arm, pulls.index] - 9.0 * (pulls.arm == 0))
    assert s.recommendation.tolist() != [0] and not s.survivors[0]
    right = jb.amend(s, wrong, scores[0, : len(wrong)])
    assert right.survivors[0] and samples(right)[0].tolist() == scores[0, : len(wrong)].tolist()
    assert right.totals.means[0] == pytest.approx(scores[0, : len(wrong)].mean())
    while not right.stopped:
        right, pulls = jb.ask(right)
        assert right.survivors[pulls.arm].all() and (pulls.index >= [len(samples(right)[a]) for a in pulls.arm]).all()
        right = jb.tell(right, pulls.id, scores[pulls.arm, pulls.index])
    plain = jb.session(RACE)
    while not plain.stopped:
        plain, pulls = jb.ask(plain)
        plain = jb.tell(plain, pulls.id, scores[pulls.arm, pulls.index])
    assert state(right) == state(plain) and right.recommendation.tolist() == [0] and right.round == plain.round


def everything(d):
    """All that changes a session with a rule that draws, in a directory."""
    pulls = d.ask(4)
    d.tell(pulls.id[[0, 3]], [0.5, 0.25])
    d.tell_outside([2, 0, 2], [0.75, 0.125, 1.0])
    d.expire(pulls.id[1])
    d.amend(pulls.id[3], 0.375)
    d.withdraw(pulls.id[2])
    d.ask(4)
    d.tell(pulls.id[2], 1.0)
    d.amend([4, 0], [0.0, 0.625])
    d.close_arms([0, 1])
    d.tell(d.ask(5).id, [0.5] * 5)
    d.open_arms(1)
    d.tell_outside(1, 0.5)
    d.ask(3)
    d.expire(before=10)


@pytest.mark.slow
def test_everything_is_logged_replayed_and_known_without_the_rule(tmp_path):
    with jb.session_directory(tmp_path, RULES["draws"], seed=3) as d:
        everything(d)
        end = d.session
    with jb.session_directory(tmp_path, RULES["draws"], seed=3) as d:
        assert leaves(d.session) == leaves(end)
        jb.save_session(tmp_path / "s.session", end)
    assert leaves(jb.load_session(tmp_path / "s.session", RULES["draws"])) == leaves(end)
    book = book_of(read(tmp_path))
    history = np.concatenate(end.pulls.history)
    known = {i: float(x) for i, x in enumerate(history) if not np.isnan(x)}
    assert {i: x for i, x in book.rewards.items() if i < len(history)} == known
    assert book.arms[: len(history)] == np.concatenate(end.pulls.arms).tolist()
    assert sorted(book.waits) == end.pending.tolist() and len(book.rewards) == end.num_told
    (tmp_path / "certificate.json").unlink()
    found = summary_of(tmp_path)
    assert found.certificate.pulls.tolist() == end.counts.tolist() and found.pending == end.pending.tolist()
    np.testing.assert_allclose(found.certificate.means, end.totals.means)
    assert "nothing to repair" in jb.repair_session(tmp_path, RULES["draws"])
    lines = (tmp_path / "log.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "log.jsonl").write_bytes(b"".join(lines[:8]) + b"x\n" + b"".join(lines[8:]))
    assert "8 rewards" not in (said := jb.repair_session(tmp_path, RULES["draws"])) and "lost" in said
    assert "6 rewards in 8 lines are kept" in said
    with jb.session_directory(tmp_path, RULES["draws"], seed=3) as d:
        assert samples(d.session) is not None and d.session.num_told == 6


def test_numbers_after_everything(tmp_path):
    """By hand: what is in the totals, and the state of Thompson sampling, which counts rewards."""
    with jb.session_directory(tmp_path, RULES["draws"], seed=3) as d:
        everything(d)
        s = d.session
    arms, values = np.concatenate(s.pulls.arms), np.concatenate(s.pulls.history)
    first = [0.625, np.nan, 1.0, 0.375, 0.0, 0.125, 1.0]
    np.testing.assert_array_equal(values, [*first, *[0.5] * 6, *[np.nan] * 0])
    assert arms[4:7].tolist() == [2, 0, 2] and arms[7:12].tolist() == [2] * 5 and arms[12] == 1
    known = ~np.isnan(values)
    assert s.counts.tolist() == np.bincount(arms[known], minlength=3).tolist()
    np.testing.assert_allclose(s.totals.means, np.bincount(arms[known], values[known]) / s.counts)
    assert s.programs.algorithm.pulls(s.state).tolist() == s.counts.tolist()  # the rule knows all of them
    rows = samples(s)
    assert all(row.tolist() == values[known & (arms == a)].tolist() for a, row in enumerate(rows))
    assert s.pending.tolist() == [13, 14, 15] and s.recommendation.tolist() != [0]


def test_a_visitor_who_never_answers_stalls_nobody():
    for kind in ("draws", "single"):
        s, pulls = jb.ask(play(jb.session(RULES[kind], seed=3), 3), limit=3)
        before, told = state(s), s.num_told
        assert jb.ask(s, limit=3)[1].id.tolist() == pulls.id.tolist()
        s = jb.expire(s, before=int(pulls.id[-1]) + 1)
        assert state(s) == before and s.num_told == told and not len(s.pending)
        s, more = jb.ask(s, limit=3)
        assert more.id[0] == pulls.id[-1] + 1
        if kind == "single":
            assert more.arm == pulls.arm and more.index == pulls.index + 1
        s = jb.tell(s, more.id, [0.5] * len(more.id))
        assert s.num_told == told + len(more.id) and len(np.concatenate(samples(s))) == s.num_told
        with pytest.raises(ValueError, match=f"id = {pulls.id[0]} has expired; report its reward with tell_outside"):
            jb.tell(s, pulls.id[0], 1.0)
        late = jb.tell_outside(s, pulls.arm[0], 1.0)
        assert late.num_told == s.num_told + 1 and state(late) != state(s)


def test_before_is_not_included():
    s, pulls = jb.ask(jb.session(RULES["draws"]), limit=4)
    assert jb.expire(s, before=2).pending.tolist() == [2, 3] == pulls.id[2:].tolist()


def test_rewards_of_rules_that_use_the_probability_of_a_pull_are_not_given_again():
    s, pulls = jb.ask(jb.session(jb.algorithms.exp3(3, horizon=100)))
    s = jb.tell(s, pulls.id, 0.5)
    with pytest.raises(ValueError, match="amend: id = 0: exp3 has received its reward, and takes more than the arm"):
        jb.amend(s, 0, 0.25)
    told = jb.tell_outside(s, [0, 1], [1.0, 0.0])
    assert told.num_told == told.counts.sum() == 3 and state(told) == state(s)


def test_pulls_ahead_of_an_eliminated_arm_may_expire():
    s, pulls = jb.ask(jb.session(RACE), limit=60)
    scores = NORMAL[pulls.arm, pulls.index] + 5.0 * (pulls.arm == 4)
    late = pulls.id[(pulls.arm == 0)][-2:]
    s = jb.tell(s, np.setdiff1d(pulls.id, late), np.delete(scores, late))
    assert s.pending.tolist() == late.tolist() and (s.stopped or not s.survivors[0])
    assert s.counts.sum() == late[0]
    s = jb.expire(s, late)
    assert s.counts.sum() == 58 and len(samples(s)[0]) == 10


def test_all_pulls_may_expire_once_a_race_has_stopped():
    s, pulls = jb.ask(jb.session(RACE), limit=3000)
    best, scores = pulls.arm == 4, NORMAL[pulls.arm, pulls.index % 400] + 5.0 * (pulls.arm == 4)
    late = pulls.id[best][-2:]
    with pytest.raises(ValueError, match=f"expire: id = {late[0]}: .* needs the rewards of its whole plan"):
        jb.expire(s, late)
    s = jb.tell(s, np.setdiff1d(pulls.id, late), np.delete(scores, late))
    assert s.stopped and s.survivors[4] and s.pending.tolist() == late.tolist()
    assert jb.expire(s, late).pending.tolist() == []


def test_samples_of_a_paired_session_end_where_a_pull_expired():
    s = jb.session(RULES["draws"], seed=3, paired=True)
    s, pulls = jb.ask(s, limit=12)
    arm = int(np.bincount(pulls.arm).argmax())
    of_arm = pulls.id[pulls.arm == arm]
    assert len(of_arm) > 2
    s = jb.tell(jb.expire(s, of_arm[1]), np.delete(pulls.id, of_arm[1]), np.delete(rewards_of(pulls), of_arm[1]))
    assert samples(s)[arm].tolist() == rewards_of(pulls)[of_arm[:1]].tolist() and s.counts[arm] == len(of_arm) - 1


def test_rewards_from_outside_teach_single_pulls_and_not_races():
    told = jb.tell_outside(jb.session(RULES["single"]), [0, 1, 2] * 10, [0.0, 0.25, 1.0] * 10)
    assert jb.ask(told)[1].arm.tolist() == [2] and told.counts.tolist() == [10] * 3
    race, pulls = jb.ask(jb.session(RACE), limit=3)
    told = jb.tell_outside(race, [0, 4], [9.0, -9.0])
    assert told.num_told == 2 and told.counts.sum() == 0  # after the pulls that were asked for before
    told, more = jb.ask(told)
    assert more.id.tolist() == [0, 1, 2, 5, 6] and more.arm.tolist() == [0, 1, 2, 3, 4] and not more.index.any()
    plain, pulls = jb.ask(race)
    told, plain = (jb.tell(x, p.id, NORMAL[:, 0]) for x, p in ((told, more), (plain, pulls)))
    assert state(told) == state(plain) and told.round == 2 and told.counts.tolist() == [2, 1, 1, 1, 2]
    assert samples(told)[0].tolist() == [NORMAL[0, 0], 9.0]
    amended = jb.amend(told, [3, 0], [8.0, 1.5])
    assert samples(amended)[0].tolist() == [1.5, 8.0]
    assert not len(amended.pulls.spare)  # the rule never gets those from outside
    asked, pulls = jb.ask(race)
    assert state(amended) == state(jb.tell(asked, pulls.id, [1.5, *NORMAL[1:, 0]]))


def test_closed_arms_are_not_drawn_and_not_recommended():
    s = play(jb.session(RULES["draws"], seed=3), 10)
    best = int(s.recommendation[0])
    closed = jb.close_arms(s, best)
    assert closed.recommendation is None and jb.ask(s, limit=20)[1].arm.tolist().count(best)
    _, pulls = jb.ask(closed, limit=40)
    assert best not in pulls.arm and len(pulls.id) == 40
    assert leaves(jb.open_arms(closed, best)) == leaves(s)
    only = jb.tell(*(lambda x, p: (x, p.id, rewards_of(p)))(*jb.ask(closed, limit=40)))
    assert only.round > only.num_told + 1  # draws that fell on the closed arm are not used again


REFUSED = {
    "amend pending": (lambda s: jb.amend(s, 5, 0.5), "amend: id = 5 has no reward yet, report it with tell"),
    "amend unknown": (lambda s: jb.amend(s, 99, 0.5), "amend: id = 99 is unknown"),
    "amend expired": (lambda s: jb.amend(jb.expire(s, 4), 4, 0.5), "it has expired; report"),
    "amend nan": (lambda s: jb.amend(s, 0, np.nan), "amend: id = 0: reward = nan, must be finite"),
    "amend range": (lambda s: jb.amend(s, 0, 2.0), r"amend: id = 0: reward = 2.0, must be in \[0, 1\]"),
    "amend twice": (lambda s: jb.amend(s, [0, 0], [0.5, 0.25]), "amend: id = 0: reward = 0.25, but 0.5"),
    "outside arm": (lambda s: jb.tell_outside(s, [0, 3], [0, 0]), r"arm = 3, must be in \[0, 2\]"),
    "outside negative": (lambda s: jb.tell_outside(s, -1, 0), r"arm = -1, must be in \[0, 2\]"),
    "outside nan": (lambda s: jb.tell_outside(s, 1, np.nan), "tell_outside: arm = 1: reward = nan, must be finite"),
    "outside shape": (lambda s: jb.tell_outside(s, [0, 1], [0.5]), "one number for each of 2 arms"),
    "outside word": (lambda s: jb.tell_outside(s, "a", [0.5]), "arms = <U1.*must be one arm or a list"),
    "expire told": (lambda s: jb.expire(s, 0), "expire: id = 0 already has a reward"),
    "expire twice": (lambda s: jb.expire(jb.expire(s, 5), 5), "expire: id = 5 has expired"),
    "expire nothing": (lambda s: jb.expire(s), "ids or before, neither is given"),
    "expire both": (lambda s: jb.expire(s, 5, before=6), "ids or before, both are given"),
    "withdraw expired": (lambda s: jb.withdraw(jb.expire(s, 5), 5), "withdraw: id = 5 has expired"),
    "close all": (lambda s: jb.close_arms(s, [0, 1, 2]), "all 3 arms would be closed"),
    "close unknown": (lambda s: jb.close_arms(s, 3), "close_arms: arm = 3"),
    "open unknown": (lambda s: jb.open_arms(s, 3), "open_arms: arm = 3"),
    "close single": (lambda s: jb.close_arms(jb.session(RULES["single"]), 0), "ucb1 is deterministic"),
    "close race": (lambda s: jb.close_arms(jb.session(RACE), 0), "paired_race plans batches"),
    "expire race": (
        lambda s: jb.expire(jb.ask(jb.session(RACE))[0], 1),
        "id = 1: paired_race needs the rewards of its",
    ),
    "outside paired": (lambda s: jb.tell_outside(jb.session(RACE, paired=True), 0, 0.5), "the session is paired"),
    "outside sets": (lambda s: jb.tell_outside(jb.session(jb.algorithms.icb(3, k=2)), 0, 0.5), "acts on sets of arms"),
    "amend sets": (
        lambda s: (lambda x, p: jb.amend(jb.tell(x, p.id, [0.5] * len(p.id)), 0, 0.25))(
            *jb.ask(jb.session(jb.algorithms.icb(3, k=2)))
        ),
        "takes more than the arm of a pull",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_are_one_line_and_change_nothing(name):
    function, message = REFUSED[name]
    s = jb.ask(play(jb.session(RULES["draws"], seed=3), 1), limit=3)[0]
    before = leaves(s)
    with pytest.raises(ValueError, match=message) as refusal:
        function(s)
    assert "\n" not in str(refusal.value) and leaves(s) == before


@pytest.mark.slow
def test_a_rule_that_insists_on_closed_arms_is_refused():
    rule = jb.algorithms.epsilon_greedy(2, epsilon=0.0)
    s = jb.tell_outside(jb.session(rule), [0, 1], [1.0, 0.0])
    if s.programs.kind == "draws":
        with pytest.raises(ValueError, match="drew closed arms 10,000 times in a row; open them"):
            jb.ask(jb.close_arms(s, 0))


def test_lines_of_corrections_that_do_not_fit_are_refused(tmp_path):
    with jb.session_directory(tmp_path, RULES["draws"], seed=3) as d:
        d.tell(d.ask(2).id[:1], [0.5])
    first, *_ = d.session.events
    assert json.loads((tmp_path / "log.jsonl").read_text().splitlines()[0])["ask"] == first.arms.tolist()
    for entry in (
        {"amend": [1], "rewards": [0.5]},
        {"amend": [2], "rewards": [0.5]},
        {"amend": [0], "rewards": []},
        {"tell_outside": [3], "rewards": [0.5]},
        {"tell_outside": [0], "rewards": [None]},
        {"expire": [2]},
        {"close_arms": [-1]},
        {"open_arms": ["x"]},
    ):
        with pytest.raises(ValueError, match="line 3: "):
            book_of(read(tmp_path)).enter(event_of(entry))


def test_a_kill_in_the_middle_of_a_line_leaves_the_session_before_it(tmp_path, monkeypatch):
    def torn(descriptor, data):
        write(descriptor, data[: len(data) // 2])
        raise Killed

    write, rule = os.write, RULES["draws"]
    with jb.session_directory(tmp_path, rule, seed=3) as d:
        d.tell(d.ask(4).id[:2], [0.5, 0.25])
    for call in (
        lambda d: d.amend(0, 0.75),
        lambda d: d.tell_outside([1, 1], [0.0, 1.0]),
        lambda d: d.expire(2),
        lambda d: d.close_arms(0),
        lambda d: d.open_arms(0),
    ):
        with jb.session_directory(tmp_path, rule, seed=3) as d:
            before = d.session
            with monkeypatch.context() as patched, pytest.raises(Killed):
                patched.setattr(os, "write", torn)
                call(d)
            assert d.session is before
        with jb.session_directory(tmp_path, rule, seed=3) as d:
            assert leaves(d.session) == leaves(before)
            call(d)
            assert leaves(d.session) != leaves(before)


def test_threads_that_tell_amend_and_report_from_outside_take_turns(tmp_path):
    with jb.session_directory(tmp_path, RULES["draws"], seed=3) as d:
        pulls = d.ask(16)

        def work(i):
            d.tell(pulls.id[i], 0.5)
            d.tell_outside(i % 3, 0.25)
            d.amend(pulls.id[i], 0.75)

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(work, range(16)))
        end = d.session
    assert end.num_told == 32 and sorted(np.concatenate(end.pulls.history)) == [0.25] * 16 + [0.75] * 16
    with jb.session_directory(tmp_path, RULES["draws"], seed=3) as d:
        assert leaves(d.session) == leaves(end)


def test_every_change_is_public_and_a_method_of_a_directory():
    assert {"tell", "withdraw", "close_arms"} < {*CHANGES} <= {*vars(Changes)} & {*jb.__all__}
    for name, function in CHANGES.items():
        method, given = (list(inspect.signature(f).parameters.values()) for f in (getattr(Changes, name), function))
        assert getattr(jb, name) is function and method[1:] == given[1:]


def test_a_repair_counts_a_corrected_reward_once(tmp_path):
    with jb.session_directory(tmp_path, RULES["draws"], seed=3) as d:
        pulls = d.ask(2)
        d.tell(pulls.id, [0.5, 0.25])
        d.amend(pulls.id[:1], [0.75])
        d.tell_outside([1, 2], [0.5, 0.5])
        d.tell_outside([1], [1.0])
    log = tmp_path / "log.jsonl"
    lines = log.read_text().splitlines(keepends=True)
    log.write_text("".join([*lines[:3], lines[3].replace("0.5", "0.6", 1), lines[4]]))
    said = jb.repair_session(tmp_path, RULES["draws"])
    assert "2 rewards in 3 lines are kept; 3 rewards in damaged lines or after them are lost" in said


def test_no_ids_and_no_arms_leave_no_event():
    s, _ = jb.ask(jb.session(RULES["draws"], seed=3), limit=2)
    for change in (lambda: jb.withdraw(s, []), lambda: jb.expire(s, []), lambda: jb.tell_outside(s, [], [])):
        assert change() is s
