"""Linear rules on contexts of floats learn a level by themselves, and no arm is preferred for having come first."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from player import play
from tiers import a_few

import jaxbandit as jb
from jaxbandit.base.contract import action_of

pytestmark = pytest.mark.quickly_compiled

ARMS, DIM, ROUNDS = 3, 2, 60
FEATURES = np.cos(np.arange(6.0)).reshape(3, 2)
RULES = {
    "lin_ucb_disjoint": lambda d, **o: jb.algorithms.lin_ucb_disjoint(ARMS, d, **o),
    "lin_ts_disjoint": lambda d, **o: jb.algorithms.lin_ts_disjoint(ARMS, d, **o),
    "lin_ucb_hybrid": lambda d, **o: jb.algorithms.lin_ucb_hybrid(FEATURES, d, **o),
    "lin_ucb_shared": lambda d, **o: jb.algorithms.lin_ucb_shared(ARMS, d, **o),
    "oful": lambda d, **o: jb.algorithms.lin_ucb_shared(ARMS, d, variant="oful", delta=0.1, regularization=0.01, **o),
    "lin_ts_shared": lambda d, **o: jb.algorithms.lin_ts_shared(ARMS, d, **o),
    "theory": lambda d, **o: jb.algorithms.lin_ts_shared(ARMS, d, variant="theory", delta=0.1, sigma=0.1, **o),
    "ridge_greedy": lambda d, **o: jb.algorithms.ridge_greedy(ARMS, (d,), **o),
    "ridge_epsilon": lambda d, **o: jb.algorithms.ridge_epsilon(ARMS, (d,), **o),
    "ridge_softmax": lambda d, **o: jb.algorithms.ridge_softmax(ARMS, (ARMS, d), **o),
}


def played(rule, contexts, rewards):
    return play(lambda: rule, rewards, contexts=contexts).actions


@pytest.mark.slow
@pytest.mark.parametrize("name", a_few(RULES))
def test_an_intercept_is_a_one_behind_each_row_and_the_default(name):
    make, rng = RULES[name], np.random.default_rng(1)
    shared = make(DIM).arms.context == (ARMS, DIM)
    contexts = rng.normal(size=(ROUNDS, ARMS, DIM) if shared else (ROUNDS, DIM))
    rewards = rng.normal(size=(ROUNDS, ARMS)) + 5 + np.arange(ARMS) * 0.1
    extended = np.concatenate([contexts, np.ones((*contexts.shape[:-1], 1))], -1)
    wanted = played(make(DIM + 1, intercept=False), extended, rewards)
    np.testing.assert_array_equal(played(make(DIM), contexts, rewards), wanted)
    assert not np.array_equal(played(make(DIM, intercept=False), contexts, rewards), wanted)
    with pytest.raises(ValueError, match="intercept = 1, must be"):
        make(DIM, intercept=1)


def test_the_radius_of_oful_counts_the_intercept_as_a_dimension():
    """Theorem 2 by NumPy: the actions are its own, and those of a radius with `dim` dimensions are others."""
    delta, prior, sigma, norm, rounds = 0.1, 0.01, 0.5, 1.5, 300
    rng = np.random.default_rng(5)
    contexts = rng.normal(size=(rounds, ARMS, DIM))
    rows = np.concatenate([contexts, np.ones((rounds, ARMS, 1))], -1)
    rewards = 0.5 + contexts @ np.array([0.3, -0.2]) + 0.1 * rng.normal(size=(rounds, ARMS))

    def by_numpy(dimensions):
        matrix, total, actions = prior * np.eye(DIM + 1), np.zeros(DIM + 1), []
        for x, y in zip(rows, rewards, strict=True):
            grown = np.linalg.slogdet(matrix)[1] - dimensions * np.log(prior)
            radius = sigma * np.sqrt(grown + 2 * np.log(1 / delta)) + np.sqrt(prior) * norm
            inverse = np.linalg.inv(matrix)
            width = np.sqrt(np.einsum("ai,ij,aj->a", x, inverse, x))
            actions.append(a := int(np.argmax(x @ inverse @ total + radius * width)))
            matrix, total = matrix + np.outer(x[a], x[a]), total + y[a] * x[a]
        return actions

    rule = jb.algorithms.lin_ucb_shared(
        ARMS, DIM, variant="oful", delta=delta, regularization=prior, sigma=sigma, theta_norm=norm
    )
    found = played(rule, contexts, rewards)
    np.testing.assert_array_equal(found, by_numpy(DIM + 1))
    assert (found != by_numpy(DIM)).any()


@pytest.mark.parametrize("rule", [jb.algorithms.lin_ucb_disjoint, jb.algorithms.lin_ts_disjoint])
def test_a_level_that_no_context_shows_is_learned(rule):
    """Arm 1 is better by .4 for everybody, and contexts are noise: without an intercept nobody could see it."""
    rng = np.random.default_rng(2)
    contexts = rng.normal(size=(600, DIM)) / 2
    rewards = np.array([0.3, 0.7]) + 0.05 * rng.normal(size=(600, 2))
    share = {i: (played(rule(2, DIM, intercept=i), contexts, rewards)[300:] == 1).mean() for i in (True, False)}
    assert share[True] > 0.9 and share[False] < 0.7


@pytest.mark.statistical
@pytest.mark.parametrize(
    "rule",
    [
        jb.algorithms.ridge_epsilon,
        jb.algorithms.ridge_greedy,
        jb.algorithms.ridge_softmax,
        jb.algorithms.logistic_epsilon,
    ],
)
def test_no_arm_is_preferred_for_having_come_first(rule):
    """Both arms are alike: the first is pulled in half of the rounds, within five standard errors of 400 runs: 6e-7."""
    rng = np.random.default_rng(4)
    contexts, rewards = rng.normal(size=(50, DIM)) / 2, np.full((50, 2), 0.75)
    made = rule(2, (DIM,))

    def run(key):
        def step(state, given):
            context, reward, own = given
            chosen = made.select(made.noise(own), state, context)
            return made.update(state, context, chosen, reward[action_of(chosen)]), action_of(chosen)

        given = jnp.asarray(contexts, jnp.float32), jnp.asarray(rewards, jnp.float32), jax.random.split(key, 50)
        return jax.lax.scan(step, made.init(key), given)[1]

    actions = np.asarray(jax.jit(jax.vmap(run))(jax.random.split(jax.random.key(1), 400)))
    first = (actions == 0).mean(axis=1)
    assert (actions[:, 0] != actions[:, 1]).mean() > 0.9  # each arm is tried before one comes again
    assert abs(first.mean() - 0.5) < 5 * max(first.std(ddof=1), 0.01) / 400**0.5
