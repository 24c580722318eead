"""Arms that come and go in a session with contexts: the rule gets an Offer of those that are open."""

import jax.numpy as jnp
import numpy as np
import pytest
from test_session_contexts import RULE
from test_sessions import leaves

import jaxbandit as jb
from jaxbandit.decide.sessions.directory import read_session

pytestmark = pytest.mark.quickly_compiled
K, D = 4, 3
EPSILON, UCB = jb.algorithms.ridge_epsilon(K, (D,), epsilon=0.4), jb.algorithms.lin_ucb_disjoint(K, D)
X = np.random.default_rng(0).normal(size=(40, D))
CHANGES = {0: ("close_arms", [2, 3]), 10: ("open_arms", 2), 20: ("open_arms", 3), 30: ("close_arms", 0)}
OPEN = np.array([[True, True, t >= 10, t >= 20] if t < 30 else [False, True, True, True] for t in range(40)])


def reward(t, arm):
    return float((t * 7 + arm * 3) % 5) / 4


def played(change, ask, tell, rounds=range(40)):
    """Visits of which every fourth is answered nine visits later, and what they got."""
    got, late = [], []
    for t in rounds:
        if t in CHANGES:
            change(*CHANGES[t])
        pulls = ask(X[t])
        got.append((int(pulls.arm[0]), None if pulls.propensity is None else float(pulls.propensity[0])))
        late.append((t, pulls.id, got[-1][0]))
        if t % 4:
            tell(pulls.id, reward(t, got[-1][0]))
        while late and late[0][0] <= t - 9:
            told, id, arm = late.pop(0)
            if not told % 4:
                tell(id, reward(told, arm))
    return got


class InMemory:
    """A session that is changed in place; its asks get an Offer if `offers`, or its arms are closed."""

    def __init__(self, rule, offers):
        self.session, self.offers, self.t = jb.session(rule, seed=2), offers, -1

    def change(self, name, arms):
        if not self.offers:
            self.session = getattr(jb, name)(self.session, arms)

    def ask(self, x):
        self.t += 1
        self.session, pulls = jb.ask(self.session, context=jb.Offer(OPEN[self.t], x) if self.offers else x)
        return pulls

    def tell(self, ids, rewards):
        self.session = jb.tell(self.session, ids, rewards)


@pytest.mark.parametrize("rule", [EPSILON, UCB], ids=lambda rule: rule.name)
def test_closed_arms_are_arms_that_no_offer_has(rule):
    one, two = InMemory(rule, False), InMemory(rule, True)
    got = played(one.change, one.ask, one.tell)
    assert got == played(two.change, two.ask, two.tell)
    assert all(OPEN[t][arm] for t, (arm, _) in enumerate(got)) and {arm for arm, _ in got} == set(range(K))
    assert leaves(one.session)[:4] == leaves(two.session)[:4]
    logs = [each.session.log(least_propensity=0.1 if rule is EPSILON else None) for each in (one, two)]
    for name in ("context", "action", "reward", "available", *(["propensity"] if rule is EPSILON else [])):
        np.testing.assert_array_equal(getattr(logs[0], name), getattr(logs[1], name))
    ids = [t for t in range(40) if t % 4 or t <= 30]
    np.testing.assert_array_equal(logs[0].available, OPEN[ids])
    if rule is EPSILON:
        np.testing.assert_array_equal(logs[0].propensity, [got[t][1] for t in ids])
        exact = [0.4 / OPEN[t].sum() for t in ids]  # at least, of each arm that is open
        assert np.all(logs[0].propensity >= np.array(exact) - 1e-12)
        value = jb.evaluate(logs[0], "uniform").only.headline
        assert value.low <= value.value <= value.high


@pytest.mark.slow
@pytest.mark.parametrize("rule", [EPSILON, UCB], ids=lambda rule: rule.name)
def test_a_directory_goes_on_from_its_snapshot_as_from_its_log(rule, tmp_path, monkeypatch):
    import jaxbandit.decide.sessions.directory as module

    monkeypatch.setattr(module, "EVERY", 1)
    whole = InMemory(rule, False)
    got = played(whole.change, whole.ask, whole.tell)
    store, found = jb.session_directory(tmp_path, rule, seed=2), []

    def ask(x):
        nonlocal store
        if len(found) in (13, 25, 33):  # a process that is killed, with asks of closed arms open
            store._release()
            before = leaves(read_session(tmp_path, rule))[:4]
            (tmp_path / "snapshot.npz").rename(tmp_path / "kept")
            assert leaves(read_session(tmp_path, rule))[:4] == before
            (tmp_path / "kept").rename(tmp_path / "snapshot.npz")
            store = jb.session_directory(tmp_path, rule, seed=2)
        found.append(store.ask(context=x))
        return found[-1]

    def change(name, arms):
        getattr(store, name)(arms)

    assert played(change, ask, lambda ids, rewards: store.tell(ids, rewards)) == got
    for each in (store, whole):
        each.tell([32, 36], [1.0, 0.5])  # which arms had been open is in the snapshot of the last start
    assert leaves(store.session)[:4] == leaves(whole.session)[:4]
    np.testing.assert_array_equal(store.session.log().available, whole.session.log().available)
    store.close()
    jb.save_session(tmp_path / "file", whole.session)
    assert leaves(jb.load_session(tmp_path / "file", rule))[:4] == leaves(whole.session)[:4]


def test_an_offer_of_somebody_is_cut_and_shares_are_those_of_the_offer():
    session = jb.close_arms(jb.session(EPSILON, seed=1), [0, 3])
    session, pulls = jb.ask(session, context=jb.Offer(np.array([True, False, True, True]), X[0]))
    assert pulls.arm.tolist() == [2] and pulls.propensity == [1.0]
    with pytest.raises(ValueError, match=r"of the arms only \[0 3\] are available, which are closed"):
        jb.ask(session, context=jb.Offer(np.array([True, False, False, True]), X[0]))
    plain = jb.session(EPSILON, seed=1)
    for t in range(12):
        plain, pulls = jb.ask(plain, context=X[t])
        plain = jb.tell(plain, pulls.id, reward(t, int(pulls.arm[0])))
    best = int(np.argmax(jb.shares(plain, context=X[0])))
    others = jb.shares(jb.close_arms(plain, best), context=X[0], draws=20_000)
    # .6 + .4 / 3 of the best of the others, and .4 / 3 of each of the rest: five standard errors
    assert others[best] == 0
    np.testing.assert_allclose(np.sort(others)[1:], [0.4 / 3, 0.4 / 3, 0.6 + 0.4 / 3], atol=5 * 0.5 / np.sqrt(20_000))


def test_a_correction_and_several_contexts_keep_what_was_closed():
    session = jb.close_arms(jb.session(EPSILON, seed=1), 0)
    session, pulls = jb.ask(session, contexts=X[:8])
    assert 0 not in pulls.arm
    session = jb.tell(session, pulls.id, [reward(t, arm) for t, arm in enumerate(pulls.arm)])
    session, more = jb.ask(jb.open_arms(session, 0), contexts=X[8:16])
    assert 0 in more.arm  # untried, so that it comes first
    session = jb.tell(session, more.id, np.ones(8))
    right = jb.amend(session, pulls.id[0], 0.75)
    assert right.log().available.sum(axis=1).tolist() == [3] * 8 + [4] * 8
    assert leaves(jb.amend(right, pulls.id[0], reward(0, pulls.arm[0])))[:4] == leaves(session)[:4]


def test_after_a_warm_up_with_closed_arms_no_visitor_waits(tmp_path, monkeypatch):
    with jb.session_directory(tmp_path, UCB) as store:
        store.close_arms(3)
        store.warm_up()
        calls, whole = [], type(store.session.programs).call

        def call(self, key, function, *given, **options):
            calls.append(key in self._compiled)
            return whole(self, key, function, *given, **options)

        monkeypatch.setattr(type(store.session.programs), "call", call)
        store.tell(store.ask(context=X[0]).id, 1.0)
        assert len(calls) > 1 and all(calls)


@pytest.mark.parametrize(
    ("rule", "arms", "message"),
    [
        (RULE._replace(select=lambda u, s, x: np.int32(0) + (x[0] > 0), name="mine"), 0, "mine takes no Offer"),
        (UCB, [0, 1, 2, 3], "all 4 arms would be closed"),
        (UCB, 4, "arm = 4"),
        (RULE._replace(arms=None, name="free"), 0, "free declares no contexts, so that arms can be closed after"),
        (
            RULE._replace(
                select=lambda u, s, x: jnp.arange(K) < 2, pulls=None, arms=RULE.arms._replace(set_size=2), name="pairs"
            ),
            0,
            "pairs acts on sets of arms, must act on single arms",
        ),
        (jb.algorithms.lin_ucb(np.stack([np.eye(3), -np.eye(3)]), horizon=100), 0, "close_arms: lin_ucb"),
    ],
    ids=lambda x: x.name if isinstance(x, jb.Algorithm) else "",
)
def test_what_cannot_be_closed_is_said_in_a_line(rule, arms, message):
    with pytest.raises(ValueError, match=message) as error:
        jb.close_arms(jb.session(rule), arms)
    assert "\n" not in str(error.value)
