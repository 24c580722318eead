"""A session directory gives the buffers of its state to the next one; nobody who holds a session sees that."""

import jax
import numpy as np
import pytest

import jaxbandit as jb
from jaxbandit.base import side_by_side

pytestmark = pytest.mark.quickly_compiled
RNG = np.random.default_rng(0)
VISITS = RNG.normal(size=(12, 2))
RULE = jb.algorithms.lin_ucb_disjoint(3, 2)


def leaves(session):
    return [np.array(x) for x in jax.tree.leaves(session.state)]


def same(one, other):
    return all(np.array_equal(x, y) for x, y in zip(one, other, strict=True))


def reference(visits):
    """The sessions after each of these visits, as values that share no buffers."""
    sessions = [jb.session(RULE)]
    for i, x in enumerate(visits):
        session, pulls = jb.ask(sessions[-1], context=x)
        sessions.append(jb.tell(session, pulls.id, i % 2))
    return sessions


def visit(store, i):
    store.tell(store.ask(context=VISITS[i]).id, i % 2)


def test_sessions_that_were_handed_out_keep_their_numbers(tmp_path):
    wanted = reference(VISITS)
    with jb.session_directory(tmp_path / "d", RULE) as store:
        kept, copies = [], []
        for i in range(len(VISITS)):
            if i in (0, 3, 4, 9):
                kept.append((i, store.session))
                copies.append(leaves(kept[-1][1]))
            visit(store, i)
        last = store.session
        visit(store, 0)
        visit(store, 0)
    for (i, session), copy in zip(kept, copies, strict=True):
        assert same(leaves(session), copy) and same(copy, leaves(wanted[i]))
    assert same(leaves(last), leaves(wanted[-1]))
    after, pulls = jb.ask(kept[1][1], context=VISITS[5])  # another branch
    assert jb.tell(after, pulls.id, 1.0).num_told == 4


def test_the_buffers_are_given_away_where_nobody_holds_the_session(tmp_path):
    with jb.session_directory(tmp_path / "d", RULE) as store:
        visit(store, 0)
        state = jax.tree.leaves(store._now.session.state)
        visit(store, 1)
        assert any(x.is_deleted() for x in state)


def test_a_refusal_leaves_the_session_of_others_alone(tmp_path):
    with jb.session_directory(tmp_path / "d", RULE) as store:
        visit(store, 0)
        held = store.session
        copy = leaves(held)
        with pytest.raises(ValueError, match="id = 7 is unknown"):
            store.tell(7, 1.0)
        visit(store, 1)
        visit(store, 2)
        assert same(leaves(held), copy)


def test_a_line_that_cannot_be_written_changes_nothing(tmp_path, monkeypatch):
    wanted = reference(VISITS)
    with jb.session_directory(tmp_path / "d", RULE) as store:
        visit(store, 0)
        pulls = store.ask(context=VISITS[1])
        with monkeypatch.context() as patch:

            def full(*given, **options):
                raise OSError(28, "No space left on device")

            patch.setattr(store._log, "append", full)
            with pytest.raises(OSError, match="No space"):
                store.tell(pulls.id, 1.0)
        assert store.session.num_told == 1 and store.session.pending.tolist() == [1]
        assert same(leaves(store.session), leaves(wanted[1]))
        store.tell(pulls.id, 1.0)
        assert same(leaves(store.session), leaves(wanted[2]))
    with jb.session_directory(tmp_path / "d", RULE) as store:
        assert same(leaves(store.session), leaves(wanted[2]))


@pytest.mark.slow
@pytest.mark.parametrize(
    "rule",
    [
        jb.algorithms.lin_ucb_disjoint(4, 3),
        jb.algorithms.logistic_ts(4, (3,)),
        jb.algorithms.lin_ucb_hybrid(RNG.normal(size=(4, 2)), 3),
    ],
    ids=lambda rule: rule.name,
)
def test_an_update_of_one_run_touches_the_model_of_its_arm_alone(rule):
    with jax.enable_x64(True):
        state, x = rule.init(jax.random.key(0)), RNG.normal(size=(6, 3))
        for i in range(6):
            arm = np.int32(i % 3)
            with side_by_side.declared():
                wanted = rule.update(state, x[i], arm, np.float64(i % 2))
            found = rule.update(state, x[i], arm, np.float64(i % 2))
            for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
                # The same few operations in programs of another shape, so that roundings may differ.
                np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14)
            state = found
