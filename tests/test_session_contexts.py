"""Sessions with contexts: each ask is decided at once, rewards come late or never, and the log is replayed exactly."""

import dataclasses
import json
import os
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from test_sessions import Killed, leaves

import jaxbandit as jb
from jaxbandit.base.contract import Choice, Chosen, Offer
from jaxbandit.decide.sessions.asks import BLOCK
from jaxbandit.decide.sessions.directory import LOG, read_session
from jaxbandit.decide.sessions.summary import summary_of
from jaxbandit.engine.rounds import keys

pytestmark = pytest.mark.quickly_compiled
K, D, TAU = 4, 3, 0.2
THETA = np.sin(1 + 3 * np.arange(K)[:, None] + 7 * np.arange(D)) / 2


def softmax(probability=True):
    """Ridge regression of each arm, and an arm with probability proportional to exp(x'theta / TAU)."""

    def select(u, state, context):
        offered = isinstance(context, Offer)
        scores = state[0] @ (context.features if offered else context) / TAU
        scores = jnp.where(context.available, scores, -jnp.inf) if offered else scores
        chances = jax.nn.softmax(scores)
        arm = jnp.minimum(jnp.sum(jnp.cumsum(chances) <= u, dtype=jnp.int32), K - 1)
        return Choice(arm, Chosen(chances[arm])) if probability else arm

    def update(state, context, selected, reward):
        x = context.features if isinstance(context, Offer) else context
        arm = selected.action if probability else selected
        (theta, inverse, counts), u = state, state[1][arm] @ x
        den = 1 + x @ u
        theta = theta.at[arm].add(u * (reward - x @ theta[arm]) / den)
        return theta, inverse.at[arm].add(-jnp.outer(u, u) / den), counts.at[arm].add(1)

    return jb.Algorithm(
        init=lambda key: (jnp.zeros((K, D)), jnp.stack([jnp.eye(D)] * K), jnp.zeros(K, jnp.int32)),
        select=select,
        update=update,
        pulls=lambda state: state[2],
        noise=jax.random.uniform,
        arms=jb.Arms(K, context=(D,)),
        rewards=jb.Rewards(0.0, 1.0),
        name="softmax",
    )


RULE, SILENT = softmax(), softmax(probability=False)


def reward_of(x, arm, rng):
    return float(rng.random() < 0.5 + 0.5 * np.tanh(x @ THETA[arm]))


def uniforms(number, seed=3):
    """The uniform numbers of the first rounds of a run."""
    with jax.enable_x64(True):
        words = keys.run_words(jb.run_key(seed, 0))[1]
        draw = jax.vmap(lambda t: jax.random.uniform(keys.round_key(words, t, "threefry4x32")))
        return np.asarray(jax.jit(draw)(jnp.arange(1, number + 1)))


class Ridge:
    """The rule in NumPy, by normal equations."""

    def __init__(self):
        self.v, self.b = np.stack([np.eye(D)] * K), np.zeros((K, D))

    def chances(self, x):
        scores = np.array([x @ np.linalg.solve(v, b) for v, b in zip(self.v, self.b, strict=True)]) / TAU
        weights = np.exp(scores - scores.max())
        return weights / weights.sum()

    def learn(self, x, arm, reward):
        self.v[arm] += np.outer(x, x)
        self.b[arm] += reward * x


def serve(store, users, rng, ridge=None):
    """Users come one by one; rewards come after up to 60 of them, in any order, and of one in five never."""
    late, u = {}, uniforms(users)
    for user in range(users):
        x = rng.normal(size=D)
        pulls = store.ask(context=x)
        assert pulls.id.tolist() == [user]  # nobody waits
        if ridge is not None:
            chances = ridge.chances(x)
            assert pulls.arm[0] == np.searchsorted(np.cumsum(chances), u[user], side="right")
        if rng.random() < 0.8:
            late.setdefault(user + int(rng.integers(1, 60)), []).append((user, x, int(pulls.arm[0])))
        for id_, x, arm in late.pop(user, []):
            reward = reward_of(x, arm, rng)
            store.tell(id_, reward)
            if ridge is not None:
                ridge.learn(x, arm, reward)


@pytest.mark.slow
def test_a_thousand_users_whose_rewards_come_late_or_never(tmp_path, monkeypatch):
    """Choices are those of the rule in NumPy, the log is replayed to the byte, and it values another policy.

    The estimate is compared with its own standard error: a false alarm in one of 10^4 seeds, and this one is fixed.
    """
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)  # the system is not killed here
    rng = np.random.default_rng(5)
    with jb.session_directory(tmp_path, RULE, seed=3) as store:
        serve(store, 1000, rng, Ridge())
        found = store.session
        assert found.num_told + len(found.pending) == 1000 and 150 < len(found.pending) < 300
        store.expire(before=900)
        assert store.session.pending.min() >= 900
    with jb.session_directory(tmp_path, RULE, seed=3) as store:
        assert leaves(store.session)[:4] == leaves(found)[:4] and store.session.pending.min() >= 900
        again = store.session
    assert leaves(read_session(tmp_path, RULE)) == leaves(again)
    log = again.log()
    assert log.adaptive and not log.estimated and len(log) == found.num_told and log.num_arms == K
    target = np.full((len(log), K), 0.1 / K) + 0.9 * np.eye(K)[1]
    truth = np.mean(np.sum(target * (0.5 + 0.5 * np.tanh(log.context @ THETA.T)), axis=1))
    weights = target[np.arange(len(log)), log.action] / log.propensity
    assert abs(np.mean(weights) - 1) < 4 * np.std(weights) / np.sqrt(len(log))
    assert abs(np.mean(weights * log.reward) - truth) < 4 * np.std(weights * log.reward) / np.sqrt(len(log))
    assert "betting" in str(jb.evaluate(log, target))  # a rule that learned wrote the log: no normal interval


def after(users, seed=3, told=0.7):
    """A session after some users, and their contexts; some rewards were told, in another order."""
    rng, s = np.random.default_rng(1), jb.session(RULE, seed=seed)
    x = rng.normal(size=(users, D))
    for row in x:
        s, _pulls = jb.ask(s, context=row)
    for id_ in rng.permutation(users)[: int(told * users)].tolist():
        s = jb.tell(s, id_, id_ * 37 % 101 / 100)
    return s, x


def test_each_ask_is_decided_by_the_rewards_so_far_and_each_reward_learned_at_once():
    s, ridge, u = jb.session(RULE, seed=3), Ridge(), uniforms(40)
    rng, asked = np.random.default_rng(0), {}
    for id_ in range(40):
        x = rng.normal(size=D)
        s, pulls = jb.ask(s, context=x)
        chances = ridge.chances(x)
        arm = np.searchsorted(np.cumsum(chances), u[id_], side="right")
        assert (pulls.id[0], pulls.arm[0]) == (id_, arm)
        asked[id_] = x, arm, chances[arm]
        for back in rng.permutation(list(asked))[: rng.integers(0, 3)].tolist():
            s = jb.tell(s, back, back / 40)
            ridge.learn(*asked[back][:2], back / 40)
            log = None if s.num_told < 2 else s.log()
            if log is not None:
                row = np.flatnonzero(np.all(log.context == asked[back][0], axis=1))[0]
                assert log.propensity[row] == pytest.approx(asked[back][2], rel=1e-9)
            del asked[back]
    np.testing.assert_array_equal(s.pending, sorted(asked))
    np.testing.assert_allclose(s.state[0], [np.linalg.solve(v, b) for v, b in zip(ridge.v, ridge.b)], rtol=1e-9)  # noqa: B905
    assert s.counts.sum() == s.num_told == 40 - len(asked)


def test_several_contexts_are_as_many_asks_in_one_state():
    s, x = after(30)
    many, pulls = jb.ask(s, contexts=x[:5])
    one = s
    for row in range(5):
        one, pull = jb.ask(one, context=x[row])
        assert [pull.id[0], pull.arm[0], pull.index[0]] == [pulls.id[row], pulls.arm[row], pulls.index[row]]
    assert jax.tree.structure(one) == jax.tree.structure(many)
    for left, right in zip(jax.tree.leaves(one), jax.tree.leaves(many), strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-12)
    drawn, pulls = jb.ask(s, context=x[0], limit=5)  # so many independent draws
    assert leaves(drawn) == leaves(jb.ask(s, contexts=np.stack([x[0]] * 5))[0]) and len(set(pulls.arm.tolist())) > 1


def test_more_asks_than_a_block_and_than_a_program_takes():
    rng, s = np.random.default_rng(2), jb.session(RULE)
    x = rng.normal(size=(1100, D))
    s, pulls = jb.ask(s, contexts=x)
    assert pulls.id.tolist() == list(range(1100)) and len(s.pulls.blocks) == -(-1100 // BLOCK)
    later, same = jb.ask(s, context=x[1099])
    for arm in range(K):  # numbered by arm, also over two calls
        assert pulls.index[pulls.arm == arm].tolist() == list(range((pulls.arm == arm).sum()))
    assert same.index[0] == (pulls.arm == same.arm[0]).sum()
    assert same.id.tolist() == [1100] and len(jb.ask(later)[1].id) == 1101  # without a context, those that are open
    assert jb.ask(later, limit=3)[1].id.tolist() == [0, 1, 2]
    told = [700, 3, 1099, 256, 255]
    s = jb.tell(s, told, [0.1, 0.2, 0.3, 0.4, 0.5])
    assert [row.id for row in s.pulls.told] == told
    assert sorted(set(range(1100)) - set(told)) == s.pending.tolist()
    np.testing.assert_array_equal(s.log().context, x[sorted(told)])
    arms = pulls.arm[told]
    assert s.counts.tolist() == np.bincount(arms, minlength=K).tolist()
    arrays = [leaf for leaf in jax.tree.leaves(s.pulls.blocks) if isinstance(leaf, np.ndarray)]
    assert all(leaf.flags.owndata for leaf in arrays)  # so that nothing else stays in memory with an open ask
    assert sum(leaf.nbytes for leaf in arrays) / len(s.pending) <= 8 * (D + 2)  # context, arm, probability


def test_a_context_is_kept_as_it_was_when_it_was_given():
    x = np.ones(D)
    s, pulls = jb.ask(jb.session(RULE), context=x)
    other, _ = jb.ask(jb.session(RULE), context=x.copy())
    x[:] = 5.0  # the array of the caller, who may use it for the next visitor
    assert leaves(jb.tell(s, pulls.id, 1.0)) == leaves(jb.tell(other, pulls.id, 1.0))


def test_the_order_of_telling_counts_and_each_id_has_one_reward():
    s, _ = after(6, told=0)
    forward, backward = (jb.tell(s, order, np.array(order) / 10) for order in ([0, 1, 2, 3], [3, 2, 1, 0]))
    np.testing.assert_allclose(forward.state[0], backward.state[0], rtol=1e-12)
    one = s
    for id_ in (3, 2, 1, 0):
        one = jb.tell(one, id_, id_ / 10)
    assert leaves(one)[:4] == leaves(backward)[:4] and leaves(forward) != leaves(backward)
    assert leaves(jb.tell(forward, [2, 2, 0], [0.2, 0.2, 0.0])) == leaves(forward)
    for ids, rewards, message in (
        ([2], [0.3], r"id = 2: reward = 0.3, but 0.2 was reported before; .* which amend corrects"),
        ([4, 4], [0.3, 0.4], "id = 4: reward = 0.4, but 0.3 was reported before"),
        ([6], [0.3], r"id = 6 is unknown, must be in \[0, 5\]"),
        ([4], [1.5], r"id = 4: reward = 1.5, must be in \[0, 1\]"),
    ):
        with pytest.raises(ValueError, match=message):
            jb.tell(forward, ids, rewards)


def test_asks_that_are_withdrawn_or_expire_are_forgotten():
    s, x = after(10, told=0)
    s = jb.tell(jb.expire(jb.withdraw(s, [7, 2]), before=4), 8, 0.5)
    assert s.pending.tolist() == [4, 5, 6, 9] and s.num_told == 1
    state = leaves(s)[:4]
    later, pulls = jb.ask(s, context=x[0])
    assert pulls.id.tolist() == [10] and leaves(later)[:4] == state
    for call, message in (
        (lambda: jb.tell(s, 7, 0.5), "tell: id = 7 was withdrawn or has expired, its context is forgotten"),
        (lambda: jb.withdraw(s, 0), "withdraw: id = 0 was withdrawn or has expired, must be one that is pending"),
        (lambda: jb.expire(s, 8), "expire: id = 8 already has a reward, must be one that is pending"),
        (lambda: jb.expire(s, 11), "expire: id = 11 is unknown"),
        (lambda: jb.amend(s, 7, 0.5), "amend: id = 7 has no reward yet, it was withdrawn or has expired"),
        (lambda: jb.amend(s, 9, 0.5), "amend: id = 9 has no reward yet, report it with tell"),
        (lambda: jb.tell_outside(s, 0, 0.5), "tell_outside: softmax has contexts"),
    ):
        with pytest.raises(ValueError, match=message) as refusal:
            call()
        assert "\n" not in str(refusal.value)
    assert jb.expire(s, before=100).pending.tolist() == []


def test_a_corrected_reward_is_learned_as_if_it_had_been_told():
    s, _ = after(8, told=0)
    order, values = [5, 1, 6, 3], np.array([0.1, 0.9, 0.4, 0.2])
    wrong = jb.tell(s, order, values)
    right = jb.tell(s, order, [0.1, 0.7, 0.4, 1.0])
    assert leaves(jb.amend(wrong, [3, 1], [1.0, 0.7])) == leaves(right)
    assert jb.amend(wrong, 1, 0.9) is wrong


REFUSED = {
    "no context": ({}, "context = None, must be given: softmax needs a context"),
    "another shape": ({"context": [1.0, 2.0]}, r"context has shape \[2\], must be \[3\] shared by the arms"),
    "no numbers": ({"context": "abc"}, r"context must be numbers, float\[3\]"),
    "not finite": ({"context": [1.0, np.nan, 0.0]}, r"context\[1\] = nan, must be finite"),
    "contexts of another shape": ({"contexts": [[1.0, 2.0]]}, r"contexts has shape \[1, 2\], must be \[n, 3\]"),
    "one of several": ({"contexts": [[1.0, 2.0, 3.0], [0, np.inf, 0]]}, r"contexts\[1, 1\] = inf, must be finite"),
    "none of several": ({"contexts": []}, "contexts must be several"),
    "both": ({"context": [1.0] * 3, "contexts": [[1.0] * 3]}, "context and contexts, both are given"),
    "limit": ({"contexts": [[1.0] * 3], "limit": 2}, "limit and contexts, both are given"),
    "mask": ({"context": Offer(np.ones(2, bool), np.ones(3))}, r"available is bool\[2\], must be bool\[4\]"),
    "ints": ({"context": Offer(np.ones(4), np.ones(3))}, r"available is float64\[4\], must be bool\[4\]"),
    "nothing": ({"context": Offer(np.zeros(4, bool), np.ones(3))}, "context: no arm is available"),
    "only a mask": ({"context": Offer(np.ones(4, bool))}, r"context: features has shape \[\], must be \[3\]"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_contexts_are_checked_in_one_line(name):
    given, message = REFUSED[name]
    with pytest.raises(ValueError, match=message) as refusal:
        jb.ask(jb.session(RULE), **given)
    assert "\n" not in str(refusal.value) and str(refusal.value).startswith("ask: ")


@pytest.mark.slow
def test_the_form_of_the_first_context_is_that_of_all():
    s, x = after(2, told=0)
    with pytest.raises(ValueError, match=r"context = Offer\(bool\[4\], float64\[3\]\), must be float64\[3\] like"):
        jb.ask(s, context=Offer(np.ones(K, bool), x[0]))
    own = RULE._replace(arms=None, name="own")  # it declares nothing
    s, _ = jb.ask(jb.session(own), context=[1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match=r"context = int64\[3\], must be float64\[3\] like"):
        jb.ask(s, context=[1, 2, 3])
    with pytest.raises(ValueError, match="must be left out: ucb1 does not use contexts"):
        jb.ask(jb.session(jb.algorithms.ucb1(3)), contexts=[1, 2])


@pytest.mark.slow
def test_an_offer_masks_arms_and_rules_that_ignore_it_are_refused():
    rng, s = np.random.default_rng(0), jb.session(RULE, seed=3)
    for _ in range(12):
        available = rng.random(K) < 0.4
        available[rng.integers(K)] = True
        s, pulls = jb.ask(s, context=Offer(available, rng.normal(size=D)))
        assert available[pulls.arm[0]]
        s = jb.tell(s, pulls.id, 0.5)
    log = s.log()
    assert log.available.shape == (12, K) and log.context.shape == (12, D)
    with pytest.raises(ValueError, match="paired_race ignores which arms are available in the session"):
        jb.ask(jb.session(jb.algorithms.paired_race(K, delta=0.1, epsilon=0.1)), context=Offer(np.ones(K, bool)))

    def seen(context):
        return jnp.argmin(context.available) + jnp.argmax(context.features)

    blind = RULE._replace(select=lambda u, state, context: (2 + 0 * seen(context)).astype(jnp.int32), name="blind")
    with pytest.raises(ValueError, match=r"blind chose 2, must be available, but only \[0 1\] are"):
        jb.ask(jb.session(blind), context=Offer(np.array([True, True, False, False]), np.ones(D)))

    def pairs(noise, state, context):
        return (jnp.arange(K) < 2) | (0 * seen(context) > 0)

    arms = RULE.arms._replace(set_size=2)
    sets = RULE._replace(select=pairs, pulls=None, arms=arms, update=lambda state, *rest: state, name="pairs")
    s, pulls = jb.ask(jb.session(sets), context=Offer(np.array([True, True, False, False]), np.ones(D)))
    assert pulls.arm.tolist() == [[True, True, False, False]]
    with pytest.raises(ValueError, match=r"pairs chose .*must be available, but only \[0 2\] are"):
        jb.ask(jb.session(sets), context=Offer(np.array([True, False, True, False]), np.ones(D)))


@pytest.mark.slow
def test_a_rule_that_can_do_without_takes_an_offer_from_the_first_ask_on():
    """An arm that comes later is one that was not available before."""
    rule, s = jb.algorithms.ucb1(3), jb.session(jb.algorithms.ucb1(3))
    chosen = []
    for t in range(6):
        s, pulls = jb.ask(s, context=Offer(np.array([True, t != 2, t >= 4])))
        chosen.append(int(pulls.arm[0]))
        s = jb.tell(s, pulls.id, 1.0)
    assert chosen[:2] == [0, 1] and chosen[2] == 0 and chosen[4] == 2 and s.recommendation is None
    assert s.log().context is None and s.log().propensity is None
    with pytest.raises(ValueError, match="an Offer, but the pulls before had none"):
        jb.ask(jb.ask(jb.session(rule))[0], context=Offer(np.ones(3, bool)))


@pytest.mark.parametrize("users", [0, 1, 300])
def test_a_saved_session_goes_on_where_it_was(users, tmp_path):
    s, x = after(users, told=0.5)
    s = jb.expire(s, before=users // 4)
    jb.save_session(tmp_path / "a.session", s)
    loaded = jb.load_session(tmp_path / "a.session", RULE)
    assert leaves(loaded) == leaves(s) and jax.tree.structure(loaded) == jax.tree.structure(s)
    row = x[0] if users else np.ones(D)
    assert leaves(jb.ask(loaded, context=row)[0]) == leaves(jb.ask(s, context=row)[0])


def test_a_directory_holds_asks_and_rewards_in_their_order_and_is_replayed_to_the_byte(tmp_path, monkeypatch):
    write, rng, kills = os.write, np.random.default_rng(4), 0

    def torn(descriptor, data):
        if rng.random() < 0.15:
            write(descriptor, data[: rng.integers(len(data))])
            raise Killed
        return write(descriptor, data)

    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    monkeypatch.setattr(os, "write", torn)
    before, done = None, 0
    while done < 40:
        try:
            with jb.session_directory(tmp_path, RULE, seed=3) as store:
                assert before is None or leaves(store.session) == before
                while done < 40:
                    before = leaves(store.session)
                    done += 1
                    if done % 7 == 0:
                        store.ask(contexts=rng.normal(size=(3, D)))
                    elif done % 3 or len(store.session.pending) < 5:
                        store.ask(context=np.float32(rng.normal(size=D)).tolist())
                    elif done % 4:
                        store.tell(rng.permutation(store.session.pending)[:2], rng.random(2))
                    else:
                        store.withdraw(store.session.pending[:1])
                before = leaves(store.session)
        except Killed:
            kills += 1
            done -= 1
    assert kills >= 2
    entries = [json.loads(line) for line in (tmp_path / LOG).read_text().splitlines()]
    kinds = [set(entry) - {"sum", "rewards"} for entry in entries]
    assert all(kind in ({"tell"}, {"withdraw"}, {"ask", "context"}, {"ask", "contexts"}) for kind in kinds)
    monkeypatch.undo()
    with jb.session_directory(tmp_path, RULE, seed=3) as store:
        assert leaves(store.session) == before


def test_an_ask_is_on_the_disk_before_its_arm_is_shown(tmp_path, monkeypatch):
    synced = []
    with jb.session_directory(tmp_path, RULE) as store:
        monkeypatch.setattr(os, "fsync", lambda descriptor: synced.append(os.fstat(descriptor).st_size))
        store.ask(context=np.ones(D))
        assert synced[-1] == (tmp_path / LOG).stat().st_size > 0
        store.ask()  # those that are open: nothing is written
        assert len(synced) == 1


def test_a_certificate_with_contexts_says_nothing_about_the_means_of_arms(tmp_path):
    s, _ = after(20)
    known = jb.certificate(s)
    assert known.means is None and known.low is None and known.achieved is None and known.recommendation is None
    assert known.pulls.sum() == s.num_told and "identically" not in str(known)
    assert re.search(r"given its context and its arm", str(known)) and "14 pulls told, 6 pending" in repr(s)
    html = s._repr_html_()
    cells = re.findall(r"<td[^>]*>([^<]*)</td>", html)
    assert cells[1 : 3 * K : 3] == [""] * K and "session.log()" in html
    with jb.session_directory(tmp_path, RULE) as store:
        store.tell(store.ask(contexts=np.ones((3, D))).id[:2], [0.0, 1.0])
    (tmp_path / "certificate.json").unlink()
    summary = summary_of(tmp_path)
    assert summary.certificate.means is None and summary.num_told == 2 and summary.pending == [2]


@pytest.mark.slow
def test_the_log_of_a_session_has_exact_propensities_in_the_order_of_ids():
    s, x = after(40)
    log = s.log(least_propensity=1e-6)
    told = sorted(set(range(40)) - set(s.pending.tolist()))
    np.testing.assert_array_equal(log.context, x[told])
    np.testing.assert_array_equal(log.reward, [id_ * 37 % 101 / 100 for id_ in told])
    np.testing.assert_allclose(log.propensity, 1 / K, rtol=1e-12)  # all asks were made before the first reward
    assert (log.adaptive, log.estimated, log.num_arms, log.rewards) == (True, False, K, (0.0, 1.0))
    assert log.least_propensity == 1e-6
    with pytest.raises(ValueError, match="log: 1 asks have a reward, must be at least 2"):
        jb.tell(after(3, told=0)[0], 1, 0.5).log()
    silent, pulls = jb.ask(jb.session(SILENT), contexts=x)
    assert jb.tell(silent, pulls.id, np.zeros(40)).log().propensity is None
    sure = RULE._replace(
        noise=lambda key: None, select=lambda u, state, x: jnp.argmax(x).astype(jnp.int32), name="sure"
    )
    sure = sure._replace(update=lambda state, context, action, reward: state)
    s, pulls = jb.ask(jb.session(sure), contexts=x)
    with pytest.raises(ValueError, match=r"^log: propensity_draws = 0, must be an integer in \[1, 1000000\]$"):
        s.log(propensity_draws=0)
    with pytest.raises(ValueError, match=r"^log: propensity_draws = 9, must be left out: sure is deterministic$"):
        jb.tell(s, pulls.id, np.zeros(40)).log(propensity_draws=9)


@pytest.mark.slow
def test_estimated_propensities_are_shares_of_draws_in_the_state_of_the_ask():
    """Against the exact ones of the same choices: c ~ Bin(m, p) and (c + 1)/(m + 1), at most 5 deviations of 60."""
    known, estimated = jb.session(RULE, seed=3), jb.session(SILENT, seed=3)
    rng, m = np.random.default_rng(8), 400
    for t in range(60):
        x = rng.normal(size=D)
        (known, one), (estimated, two) = jb.ask(known, context=x), jb.ask(estimated, context=x)
        assert one.arm[0] == two.arm[0]
        if t % 3 == 2:
            ids = known.pending[::2]
            values = rng.random(len(ids))
            known, estimated = jb.tell(known, ids, values), jb.tell(estimated, ids, values)
    exact, found = known.log().propensity, estimated.log(propensity_draws=m)
    assert found.estimated and exact.std() > 0.1
    shares = (found.propensity * (m + 1) - 1) / m
    z = (shares - exact) / np.sqrt(exact * (1 - exact) / m)
    assert np.abs(z).max() < 5 and 0.6 < z.std() < 1.5
    np.testing.assert_array_equal(estimated.log(propensity_draws=m).propensity, found.propensity)


@pytest.mark.slow
def test_the_log_of_a_session_without_contexts():
    s, pulls = jb.ask(jb.session(jb.algorithms.thompson(3), seed=1), limit=5)
    s = jb.tell(s, pulls.id[[4, 1, 2]], [1.0, 0.0, 1.0])
    log = s.log()
    assert log.action.tolist() == pulls.arm[[1, 2, 4]].tolist() and log.reward.tolist() == [0.0, 1.0, 1.0]
    assert log.context is None and log.propensity is None and log.adaptive
    with pytest.raises(ValueError, match="propensity_draws must be left out: the session has no contexts"):
        s.log(propensity_draws=5)
    race, pulls = jb.ask(jb.session(jb.algorithms.icb(3, k=2)))
    with pytest.raises(ValueError, match="log: icb acts on sets of arms"):
        jb.tell(race, pulls.id[:2], [0.5, 0.5]).log()


def test_a_session_is_a_pytree_with_its_asks():
    s, _ = after(5)
    copied = jax.tree.map(lambda x: x, s)
    assert leaves(copied) == leaves(s) and dataclasses.is_dataclass(copied) and copied.pulls.end == 5
