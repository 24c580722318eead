"""A session directory as a service keeps it: opened and closed by calls, and compiled before the first visitor."""

import numpy as np
import pytest

import jaxbandit as jb
from jaxbandit.decide.sessions.directory import LOG, read_session

pytestmark = pytest.mark.quickly_compiled
DISJOINT = jb.algorithms.lin_ucb_disjoint(3, 2)


def test_a_directory_is_open_until_it_is_closed(tmp_path):
    store = jb.session_directory(tmp_path, DISJOINT)
    store.tell(store.ask(context=[1.0, 2.0]).id, 1.0)
    with pytest.raises(ValueError, match="in use by"):
        jb.session_directory(tmp_path, DISJOINT)
    store.close()
    store.close()  # has no effect
    assert not (tmp_path / ".lock").exists() and (tmp_path / "certificate.json").exists()
    with pytest.raises(ValueError, match="was closed, so that nothing can be written"):
        store.ask(context=[1.0, 2.0])
    assert store.session.num_told == 1
    with jb.session_directory(tmp_path, DISJOINT) as again:
        assert again.session.num_told == 1


def test_an_error_in_a_with_statement_closes_the_directory_without_a_certificate(tmp_path):
    with pytest.raises(KeyError), jb.session_directory(tmp_path, DISJOINT) as store:
        store.ask(context=[1.0, 2.0])
        raise KeyError
    assert not (tmp_path / "certificate.json").exists() and not (tmp_path / ".lock").exists()
    with jb.session_directory(tmp_path, DISJOINT):
        pass


def test_a_refusal_to_open_leaves_nothing_locked(tmp_path):
    jb.session_directory(tmp_path, DISJOINT).close()
    with pytest.raises(ValueError, match="of another session"):
        jb.session_directory(tmp_path, DISJOINT, seed=1)
    jb.session_directory(tmp_path, DISJOINT).close()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rule", "context"),
    [
        (jb.algorithms.lin_ucb_disjoint(3, 4), np.ones(4)),
        (jb.algorithms.ridge_softmax(3, (3, 2), temperature=0.5), np.ones((3, 2))),
        (jb.algorithms.lin_ucb(np.stack([np.eye(3), -np.eye(3)]), horizon=100), 1),
        (jb.algorithms.thompson(5), None),
        (jb.algorithms.paired_race(6, delta=0.1, epsilon=0.1), None),
    ],
    ids=lambda x: x.name if isinstance(x, jb.Algorithm) else "",
)
def test_after_a_warm_up_the_first_visitor_waits_for_no_compiler(rule, context, tmp_path, monkeypatch):
    with jb.session_directory(tmp_path / "d", rule) as store:
        before = store.session
        store.warm_up()
        assert store.session.end == before.end == 0 and (tmp_path / "d" / LOG).read_bytes() == b""
        calls = []
        whole = type(before.programs).call

        def call(self, key, function, *given, **options):
            calls.append(key in self._compiled)
            return whole(self, key, function, *given, **options)

        monkeypatch.setattr(type(before.programs), "call", call)
        store.warm_up()
        assert all(calls)
        pulls = store.ask(context=context)
        store.tell(pulls.id, np.ones(len(pulls.id)) / 2)
        assert len(calls) > 1 and all(calls)
    with jb.session_directory(tmp_path / "e", rule) as store:  # as without a warm-up
        again = store.ask(context=context)
        store.tell(again.id, np.ones(len(again.id)) / 2)
    assert np.array_equal(pulls.arm, again.arm)
    assert (tmp_path / "d" / LOG).read_bytes() == (tmp_path / "e" / LOG).read_bytes()


def test_a_rule_that_declares_no_context_is_warmed_up_with_an_example(tmp_path):
    from test_session_contexts import K

    rule = jb.Algorithm(
        init=lambda key: np.zeros(K),
        select=lambda noise, state, context: np.int32(0) + (context["x"].sum() > 0).astype(np.int32),
        update=lambda state, context, selected, reward: state.at[selected].add(reward),
        pulls=lambda state: (state * 0).astype(np.int32),
        name="of a table",
    )
    with jb.session_directory(tmp_path, rule) as store:
        with pytest.raises(ValueError, match="context"):
            store.warm_up()
        store.warm_up({"x": np.ones(3)})
        store.tell(store.ask(context={"x": np.ones(3)}).id, 1.0)
    assert read_session(tmp_path, rule).num_told == 1


RIDGE = jb.algorithms.ridge_softmax(4, (3,), temperature=0.5)


def test_propensities_are_those_of_the_log_and_the_shares_of_draws():
    session, rng, asked, known = jb.session(RIDGE, seed=1), np.random.default_rng(0), {}, {}
    for i in range(12):
        session, pulls = jb.ask(session, contexts=rng.normal(size=(2, 3)))
        asked |= dict(zip(pulls.id.tolist(), pulls.propensity.tolist(), strict=True))
        session = jb.tell(session, pulls.id, np.full(2, i % 2))
    np.testing.assert_array_equal(session.log().propensity, [asked[i] for i in range(24)])
    x = rng.normal(size=3)
    found = jb.shares(session, context=x, draws=40_000)
    for _ in range(60):
        session, pulls = jb.ask(session, context=x)
        known[int(pulls.arm[0])] = float(pulls.propensity[0])
    assert len(known) == 4 and abs(sum(known.values()) - 1) < 1e-12
    # Five standard errors of four shares: false alarms in less than 3e-6 of all seeds.
    assert all(abs(found[arm] - p) < 5 * np.sqrt(p * (1 - p) / 40_000) for arm, p in known.items())


@pytest.mark.slow
def test_shares_of_thompson_are_the_probabilities_of_its_posteriors():
    session = jb.session(jb.algorithms.thompson(3), seed=1)
    session = jb.tell_outside(session, [0, 0, 0, 1, 1, 1, 2, 2, 2], [1, 1, 1, 0, 1, 0, 0, 0, 0])
    rng, n = np.random.default_rng(0), 10**6
    drawn = np.stack([rng.beta(1 + ones, 4 - ones, n) for ones in (3, 1, 0)])
    wanted = np.bincount(np.argmax(drawn, axis=0), minlength=3) / n
    found = jb.shares(session, draws=50_000)
    # Five standard errors of the difference.
    assert np.all(abs(found - wanted) < 5 * np.sqrt(wanted * (1 - wanted) * (1 / n + 1 / 50_000)))
    closed = jb.shares(jb.close_arms(session, 0), draws=50_000)
    np.testing.assert_allclose(closed, np.array([0, found[1], found[2]]) / found[1:].sum(), rtol=1e-12)
    assert np.array_equal(jb.shares(session, draws=1_000), jb.shares(session, draws=1_000))
    after, pulls = jb.ask(session)
    assert pulls.propensity is None and after.end == 10 and session.end == 9


def test_shares_of_a_rule_that_does_not_draw_are_its_choice():
    session = jb.session(DISJOINT)
    session, pulls = jb.ask(session, context=[1.0, 0.0])
    session = jb.tell(session, pulls.id, 1.0)
    assert jb.shares(session, context=[1.0, 0.0])[pulls.arm[0]] == 1


def test_exp3_says_its_probabilities_unless_arms_are_closed():
    session = jb.session(jb.algorithms.exp3_plus_plus(3), seed=1)
    session, pulls = jb.ask(session)
    np.testing.assert_allclose(pulls.propensity, [1 / 3], rtol=1e-12)
    session = jb.tell(session, pulls.id, 0.0)
    assert jb.ask(jb.close_arms(session, 0))[1].propensity is None


@pytest.mark.parametrize(
    ("rule", "context", "message"),
    [
        (
            jb.algorithms.paired_race(3, delta=0.1, epsilon=0.1),
            None,
            "paired_race plans batches, must decide",
        ),
        (DISJOINT, None, "context = None, must be given: lin_ucb_disjoint needs a context"),
        (jb.algorithms.thompson(3), np.ones(2), r"must be left out: thompson takes none"),
        (DISJOINT, np.ones(3), r"context has shape \[3\], must be \[2\] shared by the arms"),
    ],
)
def test_shares_that_are_refused(rule, context, message):
    with pytest.raises(ValueError, match=message):
        jb.shares(jb.session(rule), context=context)
