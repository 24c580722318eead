"""Visitors without contexts do not wait for each other: each ask of a rule that draws is a draw of its own."""

import jax
import numpy as np
import pytest

import jaxbandit as jb

pytestmark = pytest.mark.quickly_compiled
RULES = {"thompson": jb.algorithms.thompson(3), "epsilon_greedy": jb.algorithms.epsilon_greedy(3, epsilon=0.5)}


def visited(rule, number):
    """A session after so many asks without a reward, and the arms."""
    state, arms = jb.session(rule, seed=3), []
    for visitor in range(number):
        state, pulls = jb.ask(state)
        assert pulls.id.tolist() == [visitor]
        arms.append(int(pulls.arm[0]))
    return state, np.array(arms)


@pytest.mark.slow
@pytest.mark.parametrize("name", RULES)
def test_each_visitor_gets_a_draw_of_the_state(name):
    """These are the draws of one call, and 60 draws from the prior do not leave an arm out: probability 1e-10."""
    state, arms = visited(RULES[name], 60)
    together = jb.ask(jb.session(RULES[name], seed=3), limit=60)[1]
    np.testing.assert_array_equal(arms, together.arm)
    assert name != "thompson" or len(set(arms.tolist())) == 3
    assert state.pending.tolist() == list(range(60))
    np.testing.assert_array_equal(jb.ask(state, limit=9)[1].id, np.arange(9))  # a limit returns those that wait


@pytest.mark.slow
@pytest.mark.parametrize("name", RULES)
def test_the_rule_learns_in_the_order_of_ids_as_far_as_all_have_answered(name):
    state, arms = visited(RULES[name], 6)
    rewards = (arms == 1) * 1.0
    late = jb.tell(state, [1, 2, 5], rewards[[1, 2, 5]])
    assert late.counts.sum() == 0 and late.pulls.given == 0
    early = jb.tell(late, 0, rewards[0])
    assert early.counts.sum() == early.pulls.given == 3
    begun = jb.session(RULES[name], seed=3)
    begun = jb.tell(jb.ask(begun, limit=3)[0], range(3), rewards[:3])
    for one, two in zip(*map(jax.tree.leaves, (begun.state, early.state)), strict=True):
        np.testing.assert_array_equal(one, two)
    # what will not answer is given up, and what has answered is learned from
    whole = jb.expire(early, [3, 4])
    assert whole.counts.sum() == 4 and not len(whole.pending) and jb.ask(whole)[1].id.tolist() == [6]
    back = jb.withdraw(early, [3])
    assert jb.ask(back)[1].id.tolist() == [3]  # a pull that was given back comes first


@pytest.mark.parametrize("name", RULES)
def test_such_a_session_is_saved_and_corrected_as_others(name, tmp_path):
    state, arms = visited(RULES[name], 8)
    state = jb.tell(state, [0, 1, 4], (arms[[0, 1, 4]] == 1) * 1.0)
    state, pulls = jb.ask(state)
    jb.save_session(tmp_path / "session.session", state)
    again = jb.load_session(tmp_path / "session.session", RULES[name])
    for each in (state, again):
        each = jb.tell(each, [3, 2, *pulls.id], [0.0, 1.0, 1.0])
        each = jb.amend(each, 1, 0.0)
        assert each.counts.sum() == 5 and jb.ask(each)[1].id.tolist() == [9]
        if each is not state:
            np.testing.assert_array_equal(jb.ask(each)[1].arm, jb.ask(each)[1].arm)
