"""Copies of a session: it is a value, so that a copy goes on as the session itself does."""

import copy
import pickle

import jax.numpy as jnp
import numpy as np
import pytest

import jaxbandit as jb

pytestmark = [pytest.mark.slow, pytest.mark.quickly_compiled]


def init(key):
    return jnp.zeros(2, jnp.int32)


def noise(key):
    return None


def select(noise, state, context):
    return jnp.argmin(state).astype(jnp.int32)


def update(state, context, action, reward):
    return state.at[action].add(1)


def pulls(state):
    return state


def begun(rule):
    state, asked = jb.ask(jb.session(rule))
    return jb.tell(state, asked.id, np.linspace(0, 1, len(asked.id)))


@pytest.mark.parametrize(
    "rule", [jb.algorithms.thompson(2), jb.algorithms.student_race(2)], ids=["thompson", "student_race"]
)
def test_a_copy_goes_on_as_the_session_does(rule):
    state = begun(rule)
    for other in (copy.copy(state), copy.deepcopy(state), copy.deepcopy({"an agent": state})["an agent"]):
        assert other.programs is state.programs and str(jb.certificate(other)) == str(jb.certificate(state))
        for one, two in zip(jb.ask(state, limit=4)[1], jb.ask(other, limit=4)[1], strict=True):
            np.testing.assert_array_equal(one, two)
    deep = copy.deepcopy(state)
    deep.totals.counts[0] = 99
    assert state.totals.counts[0] < 99


def test_a_session_is_pickled_if_its_rule_is_and_else_says_how_to_write_it():
    rule = jb.Algorithm(init=init, select=select, update=update, pulls=pulls, noise=noise)
    again = pickle.loads(pickle.dumps(begun(rule)))
    assert again.num_told == 1 and jb.ask(again)[1].arm.tolist() == [1]
    with pytest.raises(pickle.PicklingError) as refused:
        pickle.dumps(begun(jb.algorithms.thompson(2)))
    assert str(refused.value) == (
        "a session of thompson cannot be pickled, because its rule is made of functions; write it with "
        "save_session(path, session), and read it with load_session(path, rule)"
    )
