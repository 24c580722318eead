"""Which pulls a session makes, how many at a time, and what it knows of them afterwards."""

import jax
import numpy as np
import pytest
from test_sessions import MEANS, PULLS, RULES, in_order, leaves, rewards_of

import jaxbandit as jb
from jaxbandit.decide.sessions.session import samples
from jaxbandit.engine.storage import files as storage

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


@pytest.mark.parametrize("kind", RULES)
def test_samples_are_the_rewards_of_each_arm_by_index(kind, tmp_path):
    s, found = played(RULES[kind], [1, 2, 3] * 4)
    assert [list(x) for x in samples(s)] == found
    jb.save_session(tmp_path / "s.npz", s)
    again = jb.load_session(tmp_path / "s.npz", RULES[kind])
    assert leaves(again) == leaves(s) and [list(x) for x in samples(again)] == found
    s, pulls = jb.ask(s, limit=3)
    assert [list(x) for x in samples(jb.tell(s, pulls.id[1:], [0.5] * (len(pulls.id) - 1)))] == found  # a gap before


def test_samples_of_sets_and_with_contexts_are_unknown():
    s, pulls = jb.ask(jb.session(jb.icb(3, k=2)))
    s = jb.tell(s, pulls.id, [0.5] * len(pulls.id))
    assert samples(s) is None and s.arms == ()
    s, pulls = jb.ask(jb.session(jb.lin_ucb(np.ones((2, 3, 2)) * np.eye(3, 2), horizon=60)), context=1)
    assert samples(jb.tell(s, pulls.id, 1.0)) is None


def test_a_file_without_arms_is_read_and_its_samples_are_unknown(tmp_path):
    s = in_order(RULES["batch"])
    jb.save_session(tmp_path / "s.npz", s)
    arrays = storage.read_arrays(tmp_path / "s.npz")
    for arms in (None, np.zeros(PULLS, np.int32), np.zeros(3, np.int32), np.full(PULLS, -1, np.int32)):
        changed = {name: value for name, value in arrays.items() if name != "arms"}
        storage.write_arrays(tmp_path / "s.npz", changed if arms is None else {**changed, "arms": arms})
        if arms is not None:
            with pytest.raises(ValueError, match=r"s.npz: damaged, arms must be"):
                jb.load_session(tmp_path / "s.npz", RULES["batch"])
            continue
        again = jb.load_session(tmp_path / "s.npz", RULES["batch"])
        assert samples(again) is None and again.totals.counts.tolist() == s.totals.counts.tolist()
        again, pulls = jb.ask(again)
        assert samples(jb.tell(again, pulls.id, rewards_of(pulls))) is None
        assert len(jax.tree.leaves(again.arms)) == len(again.history)
