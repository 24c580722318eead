"""Sessions: what they ask for, what they take, what they refuse, and that the order of telling is without effect."""

import dataclasses
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxbandit as jb
from jaxbandit.base.contract import action_of
from jaxbandit.decide.sessions import directory, rewards
from jaxbandit.decide.sessions.arm_intervals import intervals
from jaxbandit.decide.sessions.changes import apply
from jaxbandit.decide.sessions.events import Event
from jaxbandit.decide.sessions.rewards import Totals
from jaxbandit.engine.rounds import keys
from jaxbandit.theory.normal_mixture import mixture_radius
from jaxbandit.theory.solvers import student

pytestmark = pytest.mark.quickly_compiled
MEANS = np.array([0.2, 0.5, 0.6])
RULES = {
    "batch": jb.algorithms.paired_race(3, delta=1e-9, epsilon=0.1),
    "draws": jb.algorithms.thompson(3),
    "single": jb.algorithms.ucb1(3),
}
PULLS = 24  # in each play below


def test_an_event_of_a_log_is_refused_by_the_name_of_its_function():
    start = jb.session(RULES["batch"])
    refused = (
        (Event("ask", limit=0), r"limit = 0, must be an integer in \[1, "),
        (Event("tell", [0], rewards=[0.5]), "id = 0 is unknown, must be one that was asked, but none was$"),
        (Event("tell_outside", arms=[start.num_arms], rewards=[0.5]), f"arm = {start.num_arms}, must be in "),
    )
    for event, said in refused:
        with pytest.raises(ValueError, match=rf"^{event.kind}: {said}"):
            apply(start, event)


def rewards_of(pulls):
    """In [0, 1], a function of the pull alone."""
    return (MEANS[pulls.arm] * 1000 + pulls.id * 37 % 101) % 1000 / 1000


def leaves(session):
    return [np.asarray(leaf).tobytes() for leaf in jax.tree.leaves(session)]


def in_order(rule, **options):
    """The session after PULLS pulls, each batch told as it was asked."""
    s = jb.session(rule, seed=3, **options)
    while s.counts.sum() < PULLS:
        s, pulls = jb.ask(s, limit=4)
        s = jb.tell(s, pulls.id, rewards_of(pulls))
    return s


class Killed(BaseException):
    """In place of kill -9."""


def in_any_order(rule, path, rng, monkeypatch):
    """The same in a directory: subsets in any order, duplicates, withdrawals, and kills in the middle of a line."""
    write = os.write

    def torn(descriptor, data):
        if rng.random() < 0.2:
            write(descriptor, data[: rng.integers(len(data))])
            raise Killed
        return write(descriptor, data)

    monkeypatch.setattr(os, "fsync", lambda descriptor: None)  # the system is not killed here, the process alone
    monkeypatch.setattr(os, "write", torn)
    told_so_far, kills = {}, 0
    while True:
        try:
            with jb.session_directory(path, rule, seed=3) as d:
                assert d.session.num_told == len(told_so_far)
                while d.session.counts.sum() < PULLS:
                    nothing_open = not d.session.pulls.choices  # what a rule draws depends on when it is asked
                    left = PULLS - d.session.pulls.end + len(d.session.pulls.waiting)  # a race asks ahead of its plan
                    pulls = d.ask(min(4 if nothing_open else int(rng.integers(1, 5)), left))
                    known = dict(zip(pulls.id.tolist(), rewards_of(pulls).tolist(), strict=True))
                    some = rng.permutation(pulls.id)[: rng.integers(1, len(pulls.id) + 1)].tolist()
                    if rng.random() < 0.3:
                        d.withdraw(some[0])
                    more = rng.permutation(some + some[:1] + list(told_so_far)[-2:]).tolist()
                    d.tell(more, [known.get(i, told_so_far.get(i)) for i in more])
                    told_so_far |= {i: known[i] for i in some}
                return d.session, kills
        except Killed:
            kills += 1


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["batch"])
def test_order_duplicates_withdrawals_and_kills_are_without_effect(kind, tmp_path, monkeypatch, orders=6):
    expected, rng, kills = leaves(in_order(RULES[kind])), np.random.default_rng(1), 0
    for i in range(orders):
        with monkeypatch.context() as patched:
            found, number = in_any_order(RULES[kind], tmp_path / str(i), rng, patched)
        assert leaves(found) == expected
        kills += number
    assert kills >= orders


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["draws", "single"])
def test_so_they_are_for_rules_without_batches(kind, tmp_path, monkeypatch):
    test_order_duplicates_withdrawals_and_kills_are_without_effect(kind, tmp_path, monkeypatch)


SCRIPT = """
import sys
import jaxbandit as jb
from test_sessions import RULES, rewards_of
with jb.session_directory(sys.argv[1], RULES["batch"], seed=3) as d:
    while True:
        pulls = d.ask(1)
        d.tell(pulls.id, rewards_of(pulls))
        print(pulls.id[0], flush=True)
"""


@pytest.mark.slow
def test_what_was_told_before_kill_9_is_there(tmp_path):
    path = [str(Path(__file__).parent), *sys.path]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, path))}
    command = [sys.executable, "-c", SCRIPT, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        seen = [int(process.stdout.readline()) for _ in range(7)]
        process.send_signal(signal.SIGKILL)
        seen += [int(line) for line in process.stdout]
    with jb.session_directory(tmp_path, RULES["batch"], seed=3) as d:
        assert d.session.counts.sum() >= len(seen) == seen[-1] + 1
        while d.session.counts.sum() < PULLS:
            pulls = d.ask()
            d.tell(pulls.id, rewards_of(pulls))
        if d.session.counts.sum() == PULLS:
            assert leaves(d.session) == leaves(in_order(RULES["batch"]))


@pytest.mark.slow
@pytest.mark.parametrize("kind", RULES)
def test_untold_pulls_come_first_and_withdrawn_ones_again(kind):
    s, pulls = jb.ask(jb.session(RULES[kind], seed=3), limit=3)
    assert len(pulls.id) == (1 if kind == "single" else 3)
    again = jb.ask(s, limit=2)[1]
    assert again.id.tolist() == pulls.id[:2].tolist() and again.arm.tolist() == pulls.arm[:2].tolist()
    assert s.pending.tolist() == pulls.id.tolist()
    back = jb.withdraw(s, pulls.id[0])
    assert back.pending.tolist() == pulls.id[1:].tolist()
    back, given = jb.ask(back, limit=1)
    assert given.id[0] == pulls.id[0] and back.pending.tolist() == pulls.id.tolist()


def test_pulls_of_a_batch_come_arm_by_arm_with_their_index():
    s = jb.session(jb.algorithms.sequential_halving(4, budget=80))  # 10 pulls of each in the first of two rounds
    s, pulls = jb.ask(s, limit=25)
    assert pulls.arm.tolist() == [0] * 10 + [1] * 10 + [2] * 5
    assert pulls.index.tolist() == [*range(10), *range(10), *range(5)]
    s, pulls = jb.ask(s)
    assert len(pulls.id) == 40 and len(jb.ask(s)[1].id) == 40
    s = jb.tell(s, pulls.id[::-1], (pulls.arm[::-1] >= 2) * 0.5)
    assert s.survivors.tolist() == [False, False, True, True] and s.counts.tolist() == [10] * 4
    s, pulls = jb.ask(s)
    assert pulls.arm.tolist() == [2] * 20 + [3] * 20 and pulls.index[0] == 10 and pulls.id[0] == 40
    assert jb.tell(s, pulls.id, pulls.arm * 1.0).recommendation.tolist() == [3]


@pytest.mark.slow
def test_draws_are_those_of_the_next_rounds_from_one_state():
    rule = RULES["draws"]
    s = in_order(rule)
    _, pulls = jb.ask(s, limit=4)
    with jax.enable_x64(True):
        words = keys.run_words(jb.run_key(3, 0))[1]

        @jax.jit
        def arms(state, rounds):
            noise = jax.vmap(lambda t: rule.noise(keys.round_key(words, t, "threefry4x32")))(rounds)
            return jax.vmap(lambda noise: action_of(rule.select(noise, state, None)))(noise)

        expected = arms(s.state, jnp.arange(PULLS + 1, PULLS + 5))
    assert pulls.arm.tolist() == np.asarray(expected).tolist()
    assert len(jb.ask(s)[1].id) == 1  # without a limit, one draw


@pytest.mark.parametrize("paired", [False, True])
def test_keys_are_those_of_seed_index_and_arm(paired):
    s, pulls = jb.ask(jb.session(RULES["batch"], seed=3, paired=paired))
    root = jax.random.key(3)
    for key, arm, index in zip(jb.pull_keys(s, pulls), pulls.arm, pulls.index, strict=True):
        expected = jax.random.fold_in(root, index)
        expected = expected if paired else jax.random.fold_in(expected, arm)
        np.testing.assert_array_equal(jax.random.key_data(key), jax.random.key_data(expected))


@pytest.mark.parametrize("kind", RULES)
def test_a_saved_session_goes_on_where_it_was(kind, tmp_path):
    s, pulls = jb.ask(in_order(RULES[kind]), limit=3)
    s = jb.withdraw(jb.tell(s, pulls.id[-1:], [0.25]), pulls.id[:1]) if kind != "single" else s
    jb.save_session(tmp_path / "a.session", s)
    assert leaves(jb.load_session(tmp_path / "a.session", RULES[kind])) == leaves(s)
    with pytest.raises(ValueError, match=r"a.session: of another session: rule"):
        jb.load_session(tmp_path / "a.session", RULES["draws" if kind == "single" else "single"])
    (tmp_path / "a.session").write_bytes((tmp_path / "a.session").read_bytes()[:100])
    with pytest.raises(ValueError, match="damaged"):
        jb.load_session(tmp_path / "a.session", RULES[kind])


def test_history_is_kept_in_few_parts_that_length_alone_decides():
    rng, history, count = np.random.default_rng(0), (), 0
    values = rng.random(1000)
    while count < 1000:
        step = int(rng.integers(1, 40))
        history, count = rewards.longer(history, values[count : count + step]), min(count + step, 1000)
        assert [len(part) for part in history] == [1 << b for b in reversed(range(10)) if count >> b & 1]
    ids = rng.permutation(1000)
    np.testing.assert_array_equal(rewards.values_of(history, ids), values[ids])


REFUSED = {
    "nan": (lambda s, p: jb.tell(s, p.id, [0.5, np.nan, 0.5]), "id = 1: reward = nan, must be finite"),
    "infinite": (lambda s, p: jb.tell(s, 2, np.inf), "id = 2: reward = inf, must be finite"),
    "unknown": (lambda s, p: jb.tell(s, 3, 0.5), r"id = 3 is unknown, must be in \[0, 2\]"),
    "negative": (lambda s, p: jb.tell(s, -1, 0.5), "id = -1 is unknown"),
    "another number": (lambda s, p: jb.tell(jb.tell(s, 2, 0.5), [0, 2], 0.25), "one number for each of 2 ids"),
    "told twice": (
        lambda s, p: jb.tell(jb.tell(s, 2, 0.5), 2, 0.25),
        "id = 2: reward = 0.25, but 0.5 was reported before",
    ),
    "twice at once": (
        lambda s, p: jb.tell(s, [1, 1], [0.5, 0.25]),
        "id = 1: reward = 0.25, but 0.5 was reported before",
    ),
    "twice later": (lambda s, p: jb.tell(jb.tell(s, p.id, [0.5] * 3), 0, 0.25), "id = 0: .* 0.5 was reported before"),
    "a vector": (lambda s, p: jb.tell(s, 1, [[0.5, 0.2]]), "id = 1: rewards have shape"),
    "a word": (lambda s, p: jb.tell(s, 1, "high"), "rewards = 'high', must be numbers"),
    "an id that is none": (lambda s, p: jb.tell(s, 1.5, 0.5), "ids = float64"),
    "pulls in the place of their ids": (lambda s, p: jb.tell(s, p, 0.5), "ids is a Pulls, .* give pulls.id"),
    "withdrawn unknown": (lambda s, p: jb.withdraw(s, 9), "id = 9 is unknown"),
    "withdrawn told": (lambda s, p: jb.withdraw(jb.tell(s, 1, 0.5), 1), "id = 1 already has a reward"),
    "context": (lambda s, p: jb.ask(s, context=1), "context = 1, must be left out"),
    "limit": (lambda s, p: jb.ask(s, limit=0), "limit = 0, must be an integer"),
    "no algorithm": (lambda s, p: jb.session(jb.algorithms.ucb1), "is a function ucb1, must be an Algorithm; call it"),
    "failure": (lambda s, p: jb.session(RULES["single"], on_failure=2.0), "on_failure = 2.0, must be"),
    "paired sets": (lambda s, p: jb.session(jb.algorithms.icb(3, k=2), paired=True), "paired = True, must be False"),
    "range": (
        lambda s, p: jb.tell(jb.ask(jb.session(RULES["single"]))[0], 0, 1.5),
        r"id = 0: reward = 1.5, must be in \[0, 1\]",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_are_one_line_and_change_nothing(name):
    function, message = REFUSED[name]
    s, pulls = jb.ask(jb.session(RULES["batch"], seed=3))
    before = leaves(s)
    with pytest.raises(ValueError, match=message) as refusal:
        function(s, pulls)
    assert "\n" not in str(refusal.value) and leaves(s) == before


def test_a_failure_may_count_as_a_number():
    s, pulls = jb.ask(jb.session(RULES["batch"], on_failure=0.0))
    s = jb.tell(s, pulls.id, [np.nan, 0.5, -np.inf])
    assert s.totals.means.tolist() == [0.0, 0.5, 0.0]
    assert leaves(jb.tell(s, 0, np.nan)) == leaves(s)


def test_a_failure_is_stored_as_its_number(tmp_path):
    with jb.session_directory(tmp_path, RULES["batch"], on_failure=0.25) as d:
        d.tell(d.ask().id[:2], [np.nan, 1])
    last = json.loads((tmp_path / directory.LOG).read_text(encoding="utf-8").splitlines()[-1])
    assert last.pop("sum") and last == {"tell": [0, 1], "rewards": [0.25, 1.0]}


@pytest.mark.slow
def test_contexts_are_asked_for_and_checked():
    s = jb.session(jb.algorithms.lin_ucb(np.ones((2, 3, 2)) * np.eye(3, 2), horizon=60))
    for context, message in ((None, "must be given"), (2, r"must be an integer in \[0, 1\]")):
        with pytest.raises(ValueError, match=message):
            jb.ask(s, context=context)
    with pytest.raises(ValueError, match=r"^ask: contexts\[1\] = 2, must be an integer in \[0, 1\]$"):
        jb.ask(s, contexts=[0, 2])
    s, pulls = jb.ask(s, context=1)
    assert jb.ask(s)[1].arm.tolist() == pulls.arm.tolist()
    s, other = jb.ask(s, context=0)  # nobody waits
    s = jb.tell(s, 0, 1.0)
    assert other.id.tolist() == s.pending.tolist() == [1]
    assert jb.certificate(s).means is None and "pulls" in str(jb.certificate(s))


class Sums(NamedTuple):
    """What the rule below was told."""

    counts: jax.Array
    sums: jax.Array
    squares: jax.Array


def test_a_batch_with_squares_gets_them_with_its_sums():
    def absorb(state, pulls, sums, squares):
        return Sums(state.counts + pulls, state.sums + sums, state.squares + squares)

    rule = jb.Algorithm(
        init=lambda key: Sums(jnp.zeros(2, int), jnp.zeros(2), jnp.zeros(2)),
        select=lambda noise, state, context: jnp.zeros((), jnp.int32),
        update=lambda state, context, action, reward: state,
        pulls=lambda state: state.counts,
        batch=jb.contract.Batch(lambda state: jnp.array([3, 2]), absorb, squares=True),
    )
    s, pulls = jb.ask(jb.session(rule))
    s = jb.tell(s, pulls.id, [1.0, 2.0, 4.0, 3.0, 0.5])
    assert s.state.sums.tolist() == [7.0, 3.5] and s.state.squares.tolist() == [21.0, 9.25]
    with pytest.raises(ValueError, match="must be counts >= 0"):
        jb.session(rule._replace(batch=jb.contract.Batch(lambda state: jnp.zeros(2, int), absorb, squares=True)))


def test_contexts_may_be_arrays_of_a_rule_of_ones_own(tmp_path):
    """An arm is pulled if its entry of the context is the largest; saved with its pull open."""
    rule = jb.Algorithm(
        init=lambda key: jnp.zeros(3, jnp.int32),
        select=lambda noise, state, context: jnp.argmax(context["x"]).astype(jnp.int32),
        update=lambda state, context, action, reward: state.at[action].add(1),
        pulls=lambda state: state,
    )
    s = jb.session(rule)
    for arm in (2, 0):
        s, pulls = jb.ask(s, context={"x": np.eye(3)[arm]})
        assert pulls.arm.tolist() == [arm]
        jb.save_session(tmp_path / "s.session", s)
        s = jb.tell(s, pulls.id, 1.0)
    assert s.counts.tolist() == [1, 0, 1] and s.recommendation is None


def test_the_flag_of_the_process_is_not_touched():
    assert in_order(RULES["batch"]).totals.sums.dtype == np.float64
    assert not jax.config.read("jax_enable_x64") and jnp.zeros(1).dtype == jnp.float32


def test_totals_are_means_and_variances_to_the_last_digits():
    rng = np.random.default_rng(2)
    arms, values = rng.integers(0, 3, 5000), 1e6 + 1e-3 * rng.standard_normal(5000)
    totals = rewards.no_totals(4)
    for part in np.array_split(np.arange(5000), 37):
        totals = rewards.with_rewards(totals, arms[part], values[part])
    for arm in range(3):
        own = values[arms == arm].astype(np.longdouble)
        assert totals.means[arm] == pytest.approx(float(own.mean()), rel=1e-15)
        assert totals.variances[arm] == pytest.approx(float(own.var()), rel=1e-9)
    assert np.isnan(totals.means[3]) and np.isnan(totals.variances[3])


@pytest.mark.slow
def test_certificate_of_a_proved_rule():
    s = in_order(RULES["batch"]._replace(promise=jb.contract.Promise(0.05, 0.1)), paired=True)
    c = jb.certificate(s)
    assert (c.rule, c.guarantee, c.stopped) == ("paired_race", jb.contract.Promise(0.05, 0.1, 1, True), False)
    n, values = s.counts, rewards.values_of(s.pulls.history, np.arange(int(s.counts.sum())))
    arms = np.tile(np.arange(3), 8)  # nobody is dropped in these rounds
    assert n.tolist() == [8, 8, 8] and c.coverage == 0.95
    for arm in range(3):
        own = values[arms == arm]
        with jax.enable_x64(True):
            log_level = jnp.log(0.05 / 3)
            ratio = student.squared_radius(jnp.float64(8), log_level, student.default_c2(log_level))
        half = np.sqrt(own.var() * float(ratio))
        assert 0 < half < 1
        assert c.means[arm] == pytest.approx(own.mean()) and c.high[arm] - c.low[arm] == pytest.approx(2 * half)
    assert any("normal" in line for line in c.assumptions) and any("common key" in line for line in c.assumptions)
    assert "once the rule stops" in str(c) and json.loads(json.dumps(c.to_json()))["arms"][2]["pulls"] == 8


def test_certificate_of_a_rule_without_a_promise():
    c = jb.certificate(in_order(RULES["single"]))
    assert c.promise == "none" and c.guarantee is None and "delta" not in c.to_json()
    assert (c.low >= 0).all() and (c.high <= 1).all() and "guarantee: none" in str(c)
    assert not any("normal" in line for line in c.assumptions)  # the rewards are bounded
    fresh = jb.certificate(jb.session(RULES["single"]))
    assert fresh.low.tolist() == [0.0] * 3 and np.isnan(fresh.means).all() and "mean" not in fresh.to_json()["arms"][0]


@pytest.mark.parametrize("kind", RULES)
@pytest.mark.parametrize("pulled", [False, True])
def test_a_certificate_is_rebuilt_from_its_json(kind, pulled):
    told = jb.certificate(in_order(RULES[kind]) if pulled else jb.session(RULES[kind]))
    for c in (told, dataclasses.replace(told, means=None, low=None, high=None, coverage=None, recommendation=None)):
        again = jb.Certificate.from_json(json.loads(json.dumps(c.to_json())))
        for field in dataclasses.fields(c):
            expected, found = getattr(c, field.name), getattr(again, field.name)
            np.testing.assert_array_equal(found, expected, err_msg=field.name)
            assert getattr(found, "dtype", type(found)) == getattr(expected, "dtype", type(expected)), field.name


@pytest.mark.slow
def test_what_a_proof_takes_is_named():
    def taken(rule):
        return " ".join(jb.certificate(jb.session(rule)).assumptions)

    for name in ("paired_race", "mine"):  # nothing is recognized by its name
        words = taken(RULES["batch"]._replace(name=name))
        assert "owes its mean to rare large rewards" in words and "a rival has rare failures" in words
        assert "does not declare" not in words
    own = RULES["batch"]._replace(assumptions=())
    assert "does not declare" in taken(own)
    assert "noise has mean 0" in taken(own._replace(assumptions=("noise has mean 0",)))
    assert "sub-Gaussian with sigma = 0.5" in taken(own._replace(rewards=jb.Rewards(sigma=0.5)))


def test_each_rule_declares_what_its_promise_takes():
    """The words of pages on these rules; a rule of a known scale or range has them in its `rewards`."""
    linear = "lingape m_lingape lingifa xy_static g_static xy_adaptive rage lin_game lazy_track_and_stop".split()
    for name in linear:
        found = getattr(jb.algorithms, name)(np.eye(3)).assumptions
        assert found == ("the means are linear in the features",), name
    for name in ("saqm", "sa_foa", "icb", "exhaustive", "adaptive_full_bandit"):
        found = getattr(jb.algorithms, name)(5, k=2).assumptions
        assert found == ("a set's mean is the sum of its arms' means",), name
    for name in ("lucb", "ugape", "successive_elimination", "betting_race", "bernstein_race", "kl_racing"):
        assert getattr(jb.algorithms, name)(3).assumptions == (), name
    for rule in (
        jb.algorithms.student_race(3),
        jb.algorithms.kim_nelson(3, epsilon=0.1),
        jb.algorithms.top_two(3, family="student", threshold="interval"),
        jb.algorithms.track_and_stop(3, family="student", threshold="interval"),
    ):
        assert "normal" in rule.assumptions[0] and "rare" in rule.assumptions[0], rule.name
    assert jb.algorithms.top_two(3).assumptions == ()


@pytest.mark.slow
def test_what_may_be_unseen_is_said_of_each_recommended_arm_and_survivor():
    s = in_order(RULES["batch"]._replace(promise=jb.contract.Promise(0.05, 0.1)))
    found = jb.certificate(s)
    assert found.pulls.tolist() == [8, 8, 8] and found.survivors.all()
    expected = 1 - (0.05 / 3) ** (1 / 8)  # for all arms at once
    np.testing.assert_allclose(found.unseen, expected)
    assert 0.4 < expected < 0.41
    (line,) = found.rare_events()
    assert line == "arm 0, arm 1, arm 2: 8 pulls: what happens in fewer than 41 % of them may not have been seen"
    content = found.to_json()
    assert content["rare_events"] == [line]
    assert [arm["unseen"] for arm in content["arms"]] == pytest.approx([expected] * 3)
    for shown in (str(found), found._repr_html_()):
        assert line in shown and "with probability 0.95 for all arms at once" in shown
    other = dataclasses.replace(
        found, pulls=np.array([8, 0, 100]), survivors=np.array([True, True, False]), recommendation=np.array([2])
    )
    assert other.rare_events(["first", "second", "third"], "trainings") == [
        "third: 100 trainings: what happens in fewer than 4.1 % of them may not have been seen",
        "first: 8 trainings: what happens in fewer than 41 % of them may not have been seen",
    ]
    assert other.unseen[1] == 1
    many = dataclasses.replace(found, pulls=np.full(25, 8), survivors=np.ones(25, bool))
    assert "arm 9 and 15 more: 8 pulls" in many.rare_events()[0]


def test_a_certificate_without_intervals_says_nothing_of_rare_events():
    bare = dataclasses.replace(jb.certificate(in_order(RULES["batch"])), coverage=None, low=None, high=None)
    assert bare.unseen is None and bare.rare_events() == [] and "rare_events" not in bare.to_json()
    assert "unseen" not in bare.to_json()["arms"][0] and "for all arms at once" not in str(bare)
    damaged = {**jb.certificate(in_order(RULES["batch"])).to_json(), "coverage": 1.5}
    with pytest.raises(ValueError, match=r"coverage = 1.5, must be in"):
        jb.Certificate.from_json(damaged)


def test_an_arm_without_a_reward_is_not_known_and_one_reward_is_one():
    totals = Totals(np.array([0, 1, 2]), np.zeros(3), np.zeros(3), np.zeros(3))
    low, high, _ = intervals(totals, jb.Rewards(sigma=1.0), 0.95)
    radius = mixture_radius(np.array([1, 2]), 1.0, (1 - 0.95) / 3, 20)
    np.testing.assert_array_equal((low, high), [[-np.inf, *-radius], [np.inf, *radius]])
    assert radius[0] > radius[1]


@pytest.mark.statistical
def test_bounded_intervals_hold_at_all_times():
    """A fair coin, 4,000 sequences of 300: one that ever misses its mean has probability 0.05 at most.

    Had it just that, 4,000 would show a share of 0.063 or more one time in 10,000.
    """
    rewards = np.random.default_rng(5).integers(0, 2, (4000, 300)) * 1.0
    n = np.arange(1, 301)
    radius = mixture_radius(n, 0.5, 0.05, 20)
    missed = (np.abs(np.cumsum(rewards, 1) / n - 0.5) > radius).any(1).mean()
    assert 0.005 < missed < 0.063


@pytest.mark.slow
def test_a_directory_of_another_session_is_refused(tmp_path):
    with jb.session_directory(tmp_path, RULES["batch"], seed=3, meta={"names": ["a", "b", "c"]}) as d:
        d.tell(d.ask(2).id, [0.5, 0.25])
        with (
            pytest.raises(ValueError, match="in use by process"),
            jb.session_directory(tmp_path, RULES["batch"], seed=3),
        ):
            pass
        watched = directory.read_session(tmp_path, RULES["batch"])
        assert watched.counts.tolist() == [1, 1, 0]
    for rule, options, message in (
        (RULES["single"], {"seed": 3}, "rule paired_race, here ucb1"),
        (RULES["batch"], {"seed": 4}, "seed 3, here 4"),
        (jb.algorithms.paired_race(3, epsilon=0.2), {"seed": 3}, "epsilon 0.1, here 0.2"),
        (RULES["batch"], {"seed": 3, "meta": {}}, "the description of its arms differs"),
    ):
        with pytest.raises(ValueError, match=message), jb.session_directory(tmp_path, rule, **options):
            pass
    with jb.session_directory(tmp_path, RULES["batch"], seed=3) as d:
        assert d.session.counts.tolist() == [1, 1, 0] and d.meta == {"names": ["a", "b", "c"]}


def test_a_line_without_its_end_never_counted(tmp_path):
    with jb.session_directory(tmp_path, RULES["batch"]) as d:
        d.tell(d.ask().id, [0.5, 0.25, 0.125])
    with pytest.raises(KeyboardInterrupt), jb.session_directory(tmp_path, RULES["batch"]) as d:
        d.ask()
        raise KeyboardInterrupt
    log = tmp_path / directory.LOG
    lines = log.read_text().splitlines(keepends=True)
    log.write_text("".join(lines)[:-1])
    with jb.session_directory(tmp_path, RULES["batch"]) as d:
        assert len(d.session.pending) == 0 and d.session.counts.tolist() == [1, 1, 1]
        assert directory.read_session(tmp_path, RULES["batch"]).counts.tolist() == [1, 1, 1]
        d.ask()
    assert log.read_text() == "".join(lines)


def test_a_disk_that_is_full_leaves_the_log_whole(tmp_path, monkeypatch):
    with jb.session_directory(tmp_path, RULES["batch"]) as d:
        pulls = d.ask()
        write = os.write
        monkeypatch.setattr(os, "write", lambda descriptor, data: write(descriptor, data[:5]))
        with pytest.raises(OSError, match="5 of"):
            d.tell(pulls.id, [0.5, 0.25, 0.125])
        assert d.session.counts.tolist() == [0, 0, 0]
        monkeypatch.undo()
        d.tell(pulls.id, [0.5, 0.25, 0.125])
    with jb.session_directory(tmp_path, RULES["batch"]) as d:
        assert d.session.counts.tolist() == [1, 1, 1]


if __name__ == "__main__":  # a thousand orders, some minutes
    import tempfile

    for kind, orders in (("batch", 600), ("draws", 300), ("single", 100)):
        with tempfile.TemporaryDirectory() as path:
            play = test_order_duplicates_withdrawals_and_kills_are_without_effect
            play(kind, Path(path), pytest.MonkeyPatch(), orders)
        print(kind, orders, "orders: the same bytes", flush=True)
