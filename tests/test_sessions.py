"""Sessions: what they ask for, what they take, what they refuse, and that the order of telling is without effect."""

import jax
import numpy as np
import pytest

import jaxbandit as jb

pytestmark = pytest.mark.quickly_compiled
MEANS = np.array([0.2, 0.5, 0.6])
RULES = {
    "batch": jb.paired_race(3, epsilon=0.1),
    "draws": jb.thompson(3),
    "single": jb.ucb1(3),
}


def rewards_of(pulls):
    """A reward that is a function of (arm, index) alone."""
    return (MEANS[pulls.arm] * 1000 + pulls.index * 37 % 101) % 1000 / 1000


def leaves(session):
    return [np.asarray(leaf).tobytes() for leaf in jax.tree.leaves(session)]


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
    np.testing.assert_array_equal(
        jax.random.key_data(jb.pull_keys(back, given)), jax.random.key_data(jb.pull_keys(s, pulls))[:1]
    )
