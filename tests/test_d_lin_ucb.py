"""D-LinUCB: equal actions, round by round, with its reference, and what forgetting is for."""

import jax
import numpy as np
import pytest
from player import play
from reference import contextual_linear, d_lin_ucb

import jaxbandit as jb
from jaxbandit.base.contract import Offer

pytestmark = pytest.mark.quickly_compiled

ROUNDS, ARMS, DIM = 250, 4, 3
VECTOR, MATRIX = (
    world(ROUNDS, ARMS, DIM) for world in (contextual_linear.vector_world, contextual_linear.matrix_world)
)
MASK = contextual_linear.mask(ROUNDS, ARMS)
THEORY = {"variant": "theory", "sigma": 0.3, "theta_norm": 0.3}
CASES = {
    "a model for each arm": ((DIM,), 0.97, {"alpha": 0.4, "regularization": 0.2}),
    "one model": ((ARMS, DIM), 0.97, {"alpha": 0.4, "regularization": 0.2}),
    "theory, a model for each arm": ((DIM,), 0.99, THEORY | {"delta": 0.1, "regularization": 0.5}),
    "theory, one model": ((ARMS, DIM), 0.99, THEORY | {"horizon": ROUNDS, "intercept": False}),
    "theory, nothing forgotten": ((ARMS, DIM), 1.0, THEORY | {"horizon": ROUNDS}),
}


@pytest.mark.parametrize("name", CASES)
def test_plays_as_its_reference(name):
    """Half of the rewards are those of other arms, so that an old row is worse than none."""
    shape, discount, given = CASES[name]
    contexts, _, rewards = (VECTOR if len(shape) == 1 else MATRIX)[:3]
    rewards = np.where(np.arange(ROUNDS)[:, None] < ROUNDS // 2, rewards, np.roll(rewards, 1, axis=1))
    one = int(given.get("intercept", True))
    rows = contextual_linear.with_ones(contexts) if one else contexts
    rows = d_lin_ucb.blocks(rows, ARMS) if len(shape) == 1 else rows
    prior = given.get("regularization", 1.0)
    rule = jb.algorithms.d_lin_ucb(ARMS, shape, discount=discount, **given)
    width = lambda t: given["alpha"]  # noqa: E731
    if "variant" in given:
        delta = given.get("delta", 1 / ROUNDS)
        width = d_lin_ucb.theory(discount, prior, 0.3, 0.3, delta, 1 + one, rows.shape[2])
    found = play(lambda: rule, rewards, contexts=Offer(MASK, contexts), x64=True).actions
    np.testing.assert_array_equal(found, d_lin_ucb.play(rows, rewards, discount, width, prior, MASK))
    assert len(np.unique(found)) == ARMS


@pytest.mark.parametrize(("shape", "other"), [((DIM,), "lin_ucb_disjoint"), ((ARMS, DIM), "lin_ucb_shared")])
def test_with_discount_one_it_is_lin_ucb(shape, other):
    contexts, _, rewards = (VECTOR if len(shape) == 1 else MATRIX)[:3]
    rules = jb.algorithms.d_lin_ucb(ARMS, shape, discount=1.0), getattr(jb.algorithms, other)(ARMS, DIM)
    # In W = V the spread is |x| in V^-1, that of LinUCB.
    one, two = (play(lambda rule=rule: rule, rewards, contexts=contexts, x64=True).actions for rule in rules)
    np.testing.assert_array_equal(one, two)


def test_an_arm_that_is_not_pulled_is_forgotten():
    rule = jb.algorithms.d_lin_ucb(2, (1,), discount=0.5, intercept=False)
    state, x = rule.init(jax.random.key(0)), np.ones(1)
    for arm in (0, 1, 1):
        state = rule.update(state, x, np.int32(arm), np.float32(1.0))
    sums = state.models  # weights 1/4 of arm 0, 1/2 and 1 of arm 1, all exact in binary
    assert sums.matrix[:, 0, 0].tolist() == [0.25, 1.5] and sums.moment[:, 0].tolist() == [0.25, 1.5]
    assert sums.squares[:, 0, 0].tolist() == [0.0625, 1.25]


def test_what_is_wrong_is_refused():
    with pytest.raises(ValueError, match=r"^d_lin_ucb: delta = None without a horizon, must"):
        jb.algorithms.d_lin_ucb(3, (4,), variant="theory")
    with pytest.raises(ValueError, match=r"^d_lin_ucb: shape = \(4, 2\), must be \(dim,\), .* or \(3, dim\)"):
        jb.algorithms.d_lin_ucb(3, (4, 2))
    with pytest.raises(ValueError, match=r"^d_lin_ucb: discount = 0"):
        jb.algorithms.d_lin_ucb(3, (4,), discount=0.0)
